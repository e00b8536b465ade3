"""Five debate protocols side by side, among copies and among unlike agents, on agents whose truth is known.

    python benchmarks/debates.py --out benchmarks/results/debates.json

The protocols are those that Zhang et al., "Stop Overvaluing Multi-Agent Debate - We Must Rethink Evaluation and Embrace
Model Heterogeneity", arXiv 2502.08788, compare with self-consistency, as motet has them. Three agents, each right in 65
of 100 questions. *Copies* are draws of one model: most of what makes one err makes all err. *Unlike* agents are three
models that share little. Every office (judge, recruiter, evaluator, summarizer, leader) is held by one of the three.

An agent that listens recognises a right answer among those it hears with probability `discrimination`, else follows
their majority with probability `conformity`, else stays with its own. In an office it forms an opinion in just that
way, and rules by it: for the side that gives the answer it holds, against one that does not. So nobody knows more in an
office than elsewhere. A summary carries one answer, its author's.

Each protocol is compared with votes of as many calls as it made on average, and of as many tokens: of one of the copies
(self-consistency) and, if its agents are unlike, of those in turn. Besides: what conformity costs, beside the same
computed without motet; and how much diversity is left in groups that hear each other, by topology.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import report

from motet import Debate, ModelAgent, perform
from motet.aggregate.plurality import plurality
from motet.backends.simulated import Simulated, World
from motet.compose.agent_verse import AgentVerse
from motet.compose.chat_eval import ChatEval
from motet.compose.multi_persona import MultiPersona
from motet.compose.tit_for_tat import TitForTat
from motet.measure.contraction import contraction_ratio
from motet.measure.diversity import value_diversity
from motet.measure.mcnemar import mcnemar
from motet.message import Chat, Reply, Request
from motet.run import Agent, Run
from motet.topology import Alone, Full, Ring, Sparse, Star, Topology

ACCURACY = 0.65
WITHIN = 0.8
SHARED = 0.1
WRONG = 3
LISTENERS = {
    "discriminating": {"discrimination": 0.5, "conformity": 0.2},
    "conforming": {"discrimination": 0.0, "conformity": 0.8},
}
ROLES = "1. somebody who knows the field\n2. somebody who doubts\n3. somebody who counts"
FENCED = re.compile(r'<reply id="(\w+)">\n(.*?)\n</reply>', re.DOTALL)
Bools = npt.NDArray[np.bool_]


# ---- agents


class Member(Simulated):
    """A simulated model that can hold an office: it rules by the opinion that it has once it has heard the others."""

    async def complete(self, request: Request) -> Reply:
        """Its reply, with a ballot at the end where one is wanted."""
        reply = await super().complete(request)
        ballot = self._ballot(request)
        return msgspec.structs.replace(reply, text=f"{reply.text}\n{ballot}") if ballot else reply

    def _ballot(self, request: Request) -> str:
        prompt = request.text
        if "begins with its number" in prompt:
            return ROLES
        if '"Verdict: ' not in prompt and '"Grade: "' not in prompt:
            return ""
        thought = self.think(request)
        given = [(name, thought.question.answer_in(text)) for name, text in FENCED.findall(prompt)]
        if '"Verdict: CONTINUE"' in prompt:
            return f"Verdict: {next((name for name, answer in given if answer == thought.answer), 'CONTINUE')}"
        holds = given[-1][1] == thought.answer
        if '"Grade: "' in prompt:
            return f"Grade: {9 if holds else 2}"
        return f"Verdict: {'AGREE' if holds else 'DISAGREE'}"


def member(world: World, name: str, *, family: str = "", **how: float) -> ModelAgent:
    """An agent of a world, whose replies are long enough to say "The answer is"."""
    return ModelAgent(Member(name, world, family=family, tokens_sigma=0.0, **how), name)  # type: ignore[arg-type]


def team(world: World, kind: str, listener: str, within: float = WITHIN) -> list[ModelAgent]:
    """Three agents: copies of one model, or unlike ones."""
    how = {"accuracy": ACCURACY, "rho": SHARED, "within": within} | LISTENERS[listener]
    return [member(world, f"{kind}-{place}", family="one" if kind == "copies" else "", **how) for place in range(3)]


PROTOCOLS: Mapping[str, Callable[[Sequence[Agent]], Agent]] = {
    "society of minds": lambda team: Debate(team),
    "tit for tat": lambda team: TitForTat(team[:2], team[2]),
    "chat-eval, one by one": lambda team: ChatEval(team),
    "chat-eval, simultaneous": lambda team: ChatEval(team, talk="simultaneous"),
    "chat-eval, summarized": lambda team: ChatEval(team, talk="summarized"),
    "agent-verse, vertical": lambda team: AgentVerse(team, evaluator=team[2]),
    "agent-verse, horizontal": lambda team: AgentVerse(team, evaluator=team[2], structure="horizontal"),
    "multi-persona": lambda team: MultiPersona(team),
}


@dataclass(frozen=True)
class Outcome:
    """What became of some questions: whether each was answered right, and calls and tokens a question."""

    right: Bools
    calls: float
    tokens: float


async def outcome(agent: Agent, world: World, n: int) -> Outcome:
    """Put the world's first n questions to an agent."""
    right, calls, tokens = [], 0, 0
    for question in world.questions(n):
        result = await perform(agent, question.text)
        right.append(question.answer_in(result.text) == question.gold)
        calls, tokens = calls + result.usage.calls, tokens + result.usage.tokens
    return Outcome(np.array(right), calls / n, tokens / n)


@dataclass(frozen=True)
class Keep:
    """An aggregator that keeps what was said, and gives the first of it."""

    kept: list[Sequence[Reply]] = field(default_factory=list)

    async def __call__(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply:
        self.kept.append(replies)
        return replies[0]


class Votes:
    """Votes of any number of draws, of agents in turn: every vote is of the first of the same draws."""

    def __init__(self, agents: Sequence[Agent], draws: int, world: World, n: int) -> None:
        keep = Keep()
        asked = Debate([agents[place % len(agents)] for place in range(draws)], rounds=1, aggregate=keep)
        self.tokens = asyncio.run(outcome(asked, world, n)).tokens / draws
        self.said = list(zip(world.questions(n), keep.kept, strict=True))

    def of(self, draws: int) -> Outcome:
        """What a vote of the first so many gives."""
        given = [(question, plurality(replies[:draws], question=question.text)) for question, replies in self.said]
        right = [question.answer_in(reply.text) == question.gold for question, reply in given]
        return Outcome(np.array(right), draws, draws * self.tokens)


def against(one: Bools, other: Bools) -> dict[str, float]:
    """How much better the first is, in points, with a 95 % interval, and McNemar's p."""
    gain = one.astype(float) - other
    half = 1.96 * gain.std(ddof=1) / np.sqrt(len(gain))
    low, mean, high = (round(100 * float(x), 2) for x in (gain.mean() - half, gain.mean(), gain.mean() + half))
    return {"gain": mean, "low": low, "high": high, "p": float(f"{mcnemar(one, other).p:.3g}")}


def table(world: World, listener: str, n: int) -> list[dict[str, object]]:
    """Every protocol among copies and among unlike agents that listen so, against votes of as many calls and tokens."""
    teams = {kind: team(world, kind, listener) for kind in ("copies", "unlike")}
    found = {
        (kind, name): asyncio.run(outcome(protocol(agents), world, n))
        for kind, agents in teams.items()
        for name, protocol in PROTOCOLS.items()
    }
    each = asyncio.run(outcome(teams["copies"][0], world, n)).tokens
    most = max(round(made.tokens / each) for made in found.values())
    votes = {kind: Votes(agents[:1] if kind == "copies" else agents, most, world, n) for kind, agents in teams.items()}

    def row(kind: str, protocol: str, made: Outcome) -> dict[str, object]:
        named: dict[str, object] = {"listener": listener, "team": kind, "protocol": protocol}
        return named | {
            "accuracy": round(float(made.right.mean()), 4),
            "calls": round(made.calls, 2),
            "tokens": round(made.tokens),
        }

    rows = [row(kind, f"vote of {draws}", votes[kind].of(draws)) for kind in teams for draws in (1, 3)]
    for (kind, name), made in found.items():
        told: list[dict[str, object]] = []
        for of in ("copies", "unlike") if kind == "unlike" else ("copies",):
            for by, draws in {"calls": round(made.calls), "tokens": round(made.tokens / each)}.items():
                right = votes[of].of(draws).right
                base: dict[str, object] = {"of": of, "by": by, "draws": draws}
                told.append(base | {"accuracy": round(float(right.mean()), 4)} | against(made.right, right))
        rows.append(row(kind, name, made) | {"votes": told})
    return rows


# ---- how like copies may be

LIKENESS = (0.5, 0.8, 0.95, 1.0)


def likeness(world: World, n: int) -> list[dict[str, object]]:
    """A society of minds of copies against self-consistency, by how much of a copy's error is in all of them."""
    rows: list[dict[str, object]] = []
    for listener in LISTENERS:
        for within in LIKENESS:
            agents = team(world, "copies", listener, within)
            found = asyncio.run(outcome(Debate(agents), world, n))
            vote = Votes(agents[:1], round(found.calls), world, n).of(round(found.calls))
            row: dict[str, object] = {"listener": listener, "within": within, "calls": round(found.calls, 2)}
            row |= {"debate": round(float(found.right.mean()), 4), "vote": round(float(vote.right.mean()), 4)}
            rows.append(row | against(found.right, vote.right))
    return rows


# ---- what conformity costs

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
ROUNDS = (2, 4)


def followers(world: World, conformity: float, count: int = 5) -> list[ModelAgent]:
    """Agents that err independently and recognise nothing, but follow the majority as often as is said."""
    return [member(world, f"m{place}", accuracy=ACCURACY, conformity=conformity) for place in range(count)]


def expected(conformity: float, rounds: int, count: int = 5, n: int = 200_000, seed: int = 0) -> float:
    """The share of right answers of such a debate, computed with numpy alone: 0 is the right answer."""
    rng = np.random.default_rng(seed)
    said = np.where(rng.random((n, count)) < ACCURACY, 0, rng.integers(1, WRONG + 1, (n, count)))
    for _ in range(1, rounds):
        votes = (said[:, :, None] == np.arange(WRONG + 1)).astype(float)
        heard = votes.sum(axis=1, keepdims=True) - votes
        majority = (heard + rng.random(heard.shape) / 2).argmax(axis=2)  # one of the tied, by lot
        said = np.where(rng.random((n, count)) < conformity, majority, said)
    votes = (said[:, :, None] == np.arange(WRONG + 1)).sum(axis=1)
    first = np.take_along_axis(votes, said, axis=1).argmax(axis=1)  # the first who is of a largest camp
    return float((np.take_along_axis(said, first[:, None], axis=1) == 0).mean())


def conformity(world: World, n: int) -> list[dict[str, object]]:
    """Debates of followers against the vote of the same first answers."""
    rows: list[dict[str, object]] = []
    apart = expected(0.0, 1)
    for share in SHARES:
        agents = followers(world, share)
        vote = asyncio.run(outcome(Debate(agents, rounds=1), world, n))
        for rounds in ROUNDS:
            found = asyncio.run(outcome(Debate(agents, rounds=rounds), world, n))
            row: dict[str, object] = {"conformity": share, "rounds": rounds}
            row |= {"debate": round(float(found.right.mean()), 4), "vote": round(float(vote.right.mean()), 4)}
            row |= against(found.right, vote.right)
            row["expected"] = round(100 * (expected(share, rounds) - apart), 2)
            rows.append(row)
    return rows


# ---- how much diversity is left

TOPOLOGIES: Mapping[str, Topology] = {
    "one other, drawn": Sparse(1),
    "two neighbours": Ring(),
    "three others, drawn": Sparse(3),
    "everybody": Full(),
    "the same one (authority)": Star(),
}


def diversity(world: World, topology: Topology, share: float, rounds: int, n: int) -> list[float]:
    """The share of pairs of six agents that say different things after so many rounds, on each question."""
    agents = [member(world, f"d{place}", accuracy=0.2, conformity=share) for place in range(6)]
    keep = Keep()
    debate = Debate(agents, rounds=rounds, topology=topology, aggregate=keep, stop_at_agreement=False)
    asyncio.run(outcome(debate, world, n))
    found = []
    for question, replies in zip(world.questions(n), keep.kept, strict=True):
        answers = [question.answer_in(reply.text) for reply in replies]
        found.append(value_diversity([[answers.index(answer) for answer in answers]]))
    return found


def contraction(seed: int, n: int) -> list[dict[str, object]]:
    """What is left of the diversity of six agents with 21 answers to choose from, by whom each hears."""
    world = World(seed=seed, wrong=20)
    apart = diversity(world, Alone(), 0.5, 2, n)
    rows: list[dict[str, object]] = []
    for name, topology in TOPOLOGIES.items():
        for rounds in ROUNDS:
            ratio = contraction_ratio(diversity(world, topology, 0.5, rounds, n), apart, paired=True)
            low, value, high = (round(x, 4) for x in (ratio.interval.low, ratio.value, ratio.interval.high))
            rows.append({"hears": name, "rounds": rounds, "ratio": value, "low": low, "high": high})
    return rows


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=400, help="questions a protocol")
    parser.add_argument("--seed", type=int, default=3, help="of the world")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    began = time.perf_counter()
    world = World(seed=options.seed, wrong=WRONG)
    figures = {
        "benchmark": "five debate protocols among copies and among unlike agents, against votes of as many calls",
        "n": options.n,
        "seed": options.seed,
        "accuracy": ACCURACY,
        "within": WITHIN,
        "rho": SHARED,
        "listeners": LISTENERS,
        "protocols": [row for listener in LISTENERS for row in table(world, listener, options.n)],
        "likeness": likeness(world, options.n),
        "conformity": conformity(world, 5 * options.n),
        "contraction": contraction(options.seed, options.n // 4),
    }
    report.write(figures, options.out, began)


if __name__ == "__main__":
    main()
