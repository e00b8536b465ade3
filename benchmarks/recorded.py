"""What mixing gains on recorded answers of real models, for the methods that need no more than what members answer.

    python benchmarks/recorded.py --cap 500 --jobs 2 --out benchmarks/results/recorded.json

Half of a set's items, drawn at random, is graded: on it members are ranked, weights and profiles are learned by the
methods' own functions, and a query scorer and a reviewer are fitted. On the other half the compositions are performed
with agents that replay what was recorded, and which hold no grade: those are looked up when the answer is there. So 20
times. Every choice (who is best, which three, how much a vote counts) is made on the graded half.

Where only right or wrong is recorded, an agent's solution is a text of its own, so nobody agrees and no vote is
defined: what is left is to choose one agent before it is asked, or one solution after all were made.

* The query scorer, of the question alone: ridge regression of who is right on the item's topic and, where questions
  are recorded, the embedded question (`motet.embed`); the penalty by leave-one-out on the graded half.
* The reviewer, of one solution: logistic regression, on the graded half, of its being right on which members gave it,
  how many different answers there are and how large the largest rival's share is. Where nobody agrees: on who made it,
  on which topic, and how long it is for its maker, where tokens are recorded.

The interval of a mean difference is the corrected resampled t of Nadeau and Bengio (Machine Learning 52, 2003): the
halves of 20 splits overlap, so that their scatter alone would flatter.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from motet import ModelAgent, Plurality, Vote, perform
from motet.backends.recorded import Recorded
from motet.compose.adaptive_vote import AdaptiveVote
from motet.compose.anchor_fusion import AnchorFusion
from motet.compose.committee import Committee
from motet.compose.roundtable import Roundtable, learn
from motet.compose.route_moa import RouteMoA
from motet.compose.symbolic_moe import SymbolicMoE, profile
from motet.embed import embed
from motet.measure.arrays import NONE, UNKNOWN, Floats, Ints
from motet.measure.equivalence import student
from motet.message import Chat, Reply
from motet.route.base import Forecast
from motet.run import Agent, Run
from motet.tables.folder import matrices
from motet.tables.grid import grid_of
from motet.tables.read import read
from motet.tables.source import Source
from motet.tables.table import Table

CLASSES: Mapping[str, int | None] = {
    "mmlu_pro": 10,
    "zeroeval_math_l5": None,
    "bfcl_2024_08": None,
    "swebench_lite": None,
}
"""The sets, and how many answers there are to choose from; None where they are open."""
FEW, SOME = 3, 7
GROUPS = 5
"""Topics that questions without any are grouped into, by meaning."""
PENALTIES = (0.1, 1.0, 10.0, 100.0, 1000.0)
BEST, FEW_VOTE, HALF_VOTE = "best single", f"vote of {FEW}", f"majority of {FEW} (½)"


# ---- what was recorded


@dataclass(frozen=True, eq=False)
class Recording:
    """A set of recorded results, with a text for every answer, and what is known of each question.

    Args:
        table: who answered what, and what is right.
        answered: whether answers are recorded; else every agent's solution is a text of its own.
        vectors: the embedded questions; no columns where none are recorded.
        classes: how many answers there are to choose from; None where they are open.
    """

    table: Table
    answered: bool
    vectors: Floats
    classes: int | None

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each text."""
        return {text: number for number, text in enumerate(self.table.answer_texts)}

    def right(self, row: int, text: str) -> float:
        """The grade of an answer, as of whoever gave it."""
        assert self.table.answers is not None
        giver = int(np.flatnonzero(self.table.answers[row] == self.numbers[text])[0])
        return float(self.table.correct[row, giver])


def recording(table: Table, texts: Mapping[str, str], classes: int | None = None) -> Recording:
    """A table with the questions' texts, where they are recorded, by item."""
    answered, (n, m) = table.answers is not None, table.correct.shape
    if not answered:
        made = tuple(f"the solution of {agent}" for agent in table.agents)
        unknown = np.full(n, UNKNOWN, dtype=np.int64)
        table = replace(table, answers=np.tile(np.arange(m), (n, 1)), gold=unknown, answer_texts=made)
    vectors = embed([texts[item] for item in table.items]) if texts else np.zeros((n, 0))
    return Recording(table, answered, vectors, classes)


def load(folder: Path) -> Recording:
    """Read a folder of matrices."""
    grid = grid_of(Source(matrices(folder)["items"]))
    place = grid.columns.index("question") if "question" in grid.columns else 0
    texts = {cells[0]: cells[place] for _, cells in grid.rows} if place else {}
    return recording(read(folder).complete(), texts, CLASSES.get(folder.name))


# ---- what is learned on the graded half


def grouped(vectors: Floats, train: Ints, rng: np.random.Generator) -> tuple[str, ...]:
    """Topics of questions that have none: k-means of the graded half's, and the nearest of them for the others."""
    centres = vectors[rng.choice(train, GROUPS, replace=False)]
    for _ in range(20):
        nearest = (vectors[train] @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)
        means = [vectors[train][nearest == place].mean(axis=0) for place in range(GROUPS) if (nearest == place).any()]
        centres = np.array(means + list(centres[len(means) :]))
    nearest = (vectors @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1)
    return tuple(f"group {place}" for place in nearest)


def ridge(x: Floats, y: Floats, train: Ints) -> Floats:
    """What ridge regression on the rows of `train` makes of every row, with the penalty that leave-one-out prefers."""
    mean, base = x[train].mean(axis=0), y[train].mean(axis=0)
    u, s, v = np.linalg.svd(x[train] - mean, full_matrices=False)
    target = u.T @ (y[train] - base)
    found: list[tuple[float, Floats]] = []
    for penalty in PENALTIES:
        kept = s**2 / (s**2 + penalty)
        left = y[train] - base - (u * kept) @ target
        without = left / (1 - 1 / len(train) - (u**2 @ kept))[:, None]
        found.append((float((without**2).mean()), base + (x - mean) @ (v.T * (s / (s**2 + penalty))) @ target))
    return min(found, key=lambda each: each[0])[1]


def logistic(x: Floats, y: Floats, penalty: float = 1.0) -> Floats:
    """The weights of a logistic regression, by Newton's method."""
    weights = np.zeros(x.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (y - chance) - penalty * weights
        step = np.linalg.solve((x.T * (chance * (1 - chance))) @ x + penalty * np.eye(len(weights)), slope)
        weights += step
        if np.abs(step).max() < 1e-6:
            break
    return weights


@dataclass(frozen=True, eq=False)
class Function:
    """An agent that is a function of the chat: it calls no model."""

    say: Callable[[Chat], str]
    name: str

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        return Reply(self.say(chat))


class Learned:
    """All that is known once half of the items is graded.

    Args:
        of: the recording, of which the grades of `train` alone are used.
        train: the rows that are graded.
        seed: of the groups of questions that have no topic.
    """

    def __init__(self, of: Recording, train: Ints, seed: int) -> None:
        self.of, self.train = of, train
        table = of.table
        self.graded = table.correct[train]
        self.order = np.argsort(-self.graded.mean(axis=0), kind="stable")
        known = table.topics or (grouped(of.vectors, train, np.random.default_rng(seed)) if of.vectors.size else ())
        self.topics = known or ("all",) * len(table.items)
        named = list(dict.fromkeys(self.topics))
        self.about = np.eye(len(named))[[named.index(topic) for topic in self.topics]]
        # Blind: what members replay from holds no grade, not even one that nobody reads.
        self.blind = replace(table, correct=np.zeros_like(table.correct), gold=None)
        self.questions = [f"{topic}: {item}" for topic, item in zip(self.topics, table.items, strict=True)]
        self.rows = {question: row for row, question in enumerate(self.questions)}
        asked = dict(zip(self.questions, table.items, strict=True))
        self.members = [ModelAgent(Recorded(self.blind, name, asked), name) for name in table.agents]
        y = np.full(table.correct.shape, np.nan)
        y[train] = self.graded
        self.forecast = ridge(np.hstack([self.about, of.vectors]), y, train).clip(0, 1)
        self.place = {name: place for place, name in enumerate(table.agents)}

    def best(self, count: int) -> list[ModelAgent]:
        """The best on the graded half, best first."""
        return [self.members[place] for place in self.order[:count]]

    @cached_property
    def classes(self) -> int:
        """Answers to choose from: where they are open, the most different ones that a graded item got."""
        assert self.blind.answers is not None
        most = max(len(set(given) - {NONE}) for given in self.blind.answers[self.train].tolist())
        return self.of.classes or (max(2, most) if self.of.answered else 2)

    def table_of(self, topics: Sequence[str], classes: int) -> dict[str, dict[str, float]]:
        """Roundtable's table: only who answers is graded, since who does not has no vote."""
        assert self.blind.answers is not None
        given = self.blind.answers[self.train] != NONE
        grades = (
            (name, topics[row], float(self.graded[number, place]))
            for number, row in enumerate(self.train)
            for place, name in enumerate(self.of.table.agents)
            if given[number, place]
        )
        return learn(grades, classes=classes)

    def weights(self, classes: int) -> dict[str, float]:
        """The same without topics."""
        return {name: row["all"] for name, row in self.table_of(["all"] * len(self.topics), classes).items()}

    def profiles(self) -> dict[str, dict[str, float]]:
        """Everybody's profile, with the topics as skills."""
        skills = [[self.topics[row]] for row in self.train]
        return {
            name: profile(zip(skills, (self.graded[:, place] > 0.5).tolist(), strict=True))
            for place, name in enumerate(self.of.table.agents)
        }

    async def route(self, chat: Chat, agents: Sequence[Agent], run: Run, k: int) -> list[Forecast]:
        """A router: the query scorer."""
        row = self.rows[chat.question]
        found = [Forecast(seat, float(self.forecast[row, self.place[who.name]])) for seat, who in enumerate(agents)]
        return sorted(found, key=lambda each: -each.quality)

    async def sure(self, chat: Chat, reply: Reply, run: Run) -> float:
        """A scorer: what the query scorer forecasts of who replies."""
        return float(self.forecast[self.rows[chat.question], self.place[reply.agent]])

    def keywords(self) -> Function:
        """Names the topic as the skill that a question takes."""
        return Function(lambda chat: f"Keywords: {self.topics[self.rows[chat.messages[0].text]]}", "keywords")

    def reviewer(self, count: int) -> Function:
        """Grades a solution of the best `count`: its chance to be right as the logistic regression has it."""
        members = self.order[:count]
        seen = partial(self._agreement if self.of.answered else self._authorship, members)
        assert self.blind.answers is not None
        rows = [
            (row, number) for row in self.train for number in set(self.blind.answers[row, members].tolist()) - {NONE}
        ]
        texts = self.of.table.answer_texts
        right = np.array([self.of.right(row, texts[number]) for row, number in rows])
        weights = logistic(np.array([seen(row, number) for row, number in rows]), right)

        def say(chat: Chat) -> str:
            (solution,) = chat.heard
            looks = seen(self.rows[chat.messages[0].text], self.of.numbers[solution.text])
            return f"Grade: {10 / (1 + np.exp(-looks @ weights)):.4f}"

        return Function(say, "reviewer")

    def _agreement(self, members: Ints, row: int, number: int) -> Floats:
        """Who gave this answer, the largest share of another, how many there are."""
        assert self.blind.answers is not None
        given = self.blind.answers[row, members]
        rivals = np.unique(given[(given != number) & (given != NONE)], return_counts=True)[1]
        return np.array([*(given == number), rivals.max(initial=0) / len(members), len(rivals), 1.0], dtype=float)

    def _authorship(self, members: Ints, row: int, number: int) -> Floats:
        """Who made it, on which topic, how long it is for its maker."""
        author = (members == number).astype(float)
        length = self._lengths[row, number]
        return np.array([*author, *np.outer(author, self.about[row]).ravel(), length, 1.0])

    @cached_property
    def _lengths(self) -> Floats:
        """Logarithms of tokens, standardised for each agent on the graded half; 0 where nothing is known."""
        if self.blind.tokens is None:
            return np.zeros(self.blind.correct.shape)
        logs = np.log(np.where(self.blind.tokens > 0, self.blind.tokens, np.nan))
        some = np.isfinite(logs[self.train]).sum(axis=0) > 1
        known = logs[self.train][:, some]
        found = np.zeros(logs.shape)
        found[:, some] = (logs[:, some] - np.nanmean(known, axis=0)) / np.maximum(np.nanstd(known, axis=0), 1e-9)
        return np.nan_to_num(found)


# ---- who is compared


def arms(known: Learned) -> dict[str, Agent]:
    """The baselines and the methods, as far as they are defined for what was recorded."""
    best, everybody = known.best, len(known.members)
    all_, route = best(everybody), known.route
    table, profiles, words = known.table_of(known.topics, known.classes), known.profiles(), known.keywords()
    found: dict[str, Agent] = {BEST: best(1)[0]}
    recruiting = partial(SymbolicMoE, all_, Plurality(), words, profiles, draws=1)
    routing = partial(RouteMoA, all_, Plurality(), route, layers=1, weights=(1.0, 0.0, 0.0))
    if not known.of.answered:
        found |= {
            f"roundtable's best of {SOME}": Roundtable(best(SOME), table, best_single=True),
            "symbolic-moe, top 1": recruiting(k=1, recruit="top"),
            "symbolic-moe, 1 drawn": recruiting(k=1),
            "route-moa, 1": routing(k=1),
        }
    else:
        weights = known.weights(known.classes)
        found |= {f"vote of {each}": Vote(best(each)) for each in (FEW, SOME, everybody)}
        found |= {f"weighted vote of {each}": Vote(best(each), Plurality(weights)) for each in (SOME, everybody)}
        if known.of.classes is None:
            found[f"weighted vote of {everybody}, K = 2"] = Vote(all_, Plurality(known.weights(2)))
        found |= {f"adaptive vote of {each}": AdaptiveVote(best(each)) for each in (SOME, everybody)}
        found |= {f"roundtable of {each}": Roundtable(best(each), table) for each in (SOME, everybody)}
        found |= {
            f"symbolic-moe, top {FEW}": recruiting(k=FEW, recruit="top"),
            f"symbolic-moe, {FEW} drawn": recruiting(k=FEW),
            "route-moa, 1": routing(k=1),
            f"route-moa, {FEW}": routing(k=FEW),
            f"anchor fusion of {SOME}": AnchorFusion(best(SOME), draws=1, confidence=known.sure),
        }
    sizes = (FEW, SOME, everybody) if known.of.answered else (FEW, SOME)
    found |= {f"committee of {each}": Committee(best(each), known.reviewer(each), votes=1) for each in sizes}
    return found


class Performed(NamedTuple):
    """What an arm did on the items asked: whether it was right, and the members' answers that it took."""

    right: Floats
    calls: Floats
    texts: list[str]


async def performed(agent: Agent, known: Learned, rows: Ints, seed: int) -> Performed:
    """Put the items to an agent; the grades are looked up when the answer is there."""
    # A seed an item: with one for all, whoever draws at random would draw alike on every item.
    n = len(known.questions)
    results = [await perform(agent, known.questions[row], seed=seed * n + int(row)) for row in rows]
    texts = [result.reply.text if result.reply else "" for result in results]
    right = [known.of.right(row, text) if text else 0.0 for row, text in zip(rows, texts, strict=True)]
    return Performed(np.array(right), np.array([float(result.usage.calls) for result in results]), texts)


def halves(n: int, seed: int, cap: int) -> tuple[Ints, Ints]:
    """The rows to learn on, and those to be asked, of which there are so many at the most."""
    order = np.random.default_rng(seed).permutation(n)
    return np.sort(order[: n // 2]), np.sort(order[n // 2 :][:cap])


def split(of: Recording, seed: int, cap: int) -> dict[str, Performed]:
    """Everybody on one split."""
    train, test = halves(len(of.table.items), seed, cap)
    known = Learned(of, train, seed)
    done = {name: asyncio.run(performed(agent, known, test, seed)) for name, agent in arms(known).items()}
    correct = of.table.correct[test]
    if not of.answered:
        # No method, as it goes by the grades: the vote of the best few, if all that is wrong were one answer.
        won = correct[:, known.order[:FEW]].mean(axis=1) > 0.5
        done[HALF_VOTE] = Performed(won.astype(float), np.full(len(test), float(FEW)), [])
    done["random member"] = Performed(correct.mean(axis=1), np.ones(len(test)), [])
    done["oracle"] = Performed(correct.max(axis=1), np.full(len(test), float(correct.shape[1])), [])
    return done


# ---- the figures


def quantile(freedom: int) -> float:
    """The 97.5 % quantile of Student's t, to the third digit.

    >>> quantile(19)
    2.094
    """
    return bisect_left(range(13_000), 0.975, key=lambda t: student(t / 1000, freedom)) / 1000


def difference(gains: Floats, ratio: float) -> list[float]:
    """The mean gain over splits and its interval, in points; `ratio` is of items asked to items learned on."""
    half = quantile(len(gains) - 1) * float(gains.std(ddof=1)) * float(np.sqrt(1 / len(gains) + ratio))
    mean = float(gains.mean())
    return [round(100 * each, 2) for each in (mean, mean - half, mean + half)]


def measured(of: Recording, splits: int, cap: int, seed: int) -> dict[str, object]:
    """All splits of a set."""
    began = time.perf_counter()
    n = len(of.table.items)
    done = [split(of, seed + number, cap) for number in range(splits)]
    train, test = (len(rows) for rows in halves(n, seed, cap))
    against = FEW_VOTE if of.answered else HALF_VOTE
    means = {name: np.array([each[name].right.mean() for each in done]) for name in done[0]}
    lines = [
        {
            "method": name,
            "accuracy": round(100 * float(found.mean()), 2),
            "sd": round(100 * float(found.std(ddof=1)), 2),
            "to_best": None if name == BEST else difference(found - means[BEST], test / train),
            "to_vote": None if name == against else difference(found - means[against], test / train),
            "calls": round(float(np.mean([each[name].calls.mean() for each in done])), 2),
        }
        for name, found in means.items()
    ]
    seconds = round(time.perf_counter() - began, 1)
    shape = {"items": n, "agents": len(of.table.agents), "learned_on": train, "asked": test}
    return {**shape, "against": against, "methods": lines, "seconds": seconds}


def measured_in(folder: Path, splits: int, cap: int, seed: int) -> dict[str, object]:
    """All splits of the set in a folder."""
    return measured(load(folder), splits, cap, seed)


def markdown(found: Mapping[str, object]) -> str:
    """The table of a set."""

    def gain(given: Sequence[float] | None) -> str:
        return "" if given is None else "{:+.1f} [{:+.1f}, {:+.1f}]".format(*given).replace("-", "−")

    rows = [f"| method | right | sd | to {BEST} | to {found['against']} | calls |", "|---|---|---|---|---|---|"]
    for line in found["methods"]:  # type: ignore[attr-defined]
        gains = f"{gain(line['to_best'])} | {gain(line['to_vote'])}"
        rows.append(f"| {line['method']} | {line['accuracy']:.1f} | {line['sd']:.1f} | {gains} | {line['calls']:.3g} |")
    return "\n".join(rows)


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=os.environ.get("MOTET_RECORDED"), help="of the sets' folders")
    parser.add_argument("--sets", nargs="+", default=list(CLASSES))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--cap", type=int, default=1000, help="items asked a split, at the most")
    parser.add_argument("--seed", type=int, default=0, help="of the first split")
    parser.add_argument("--jobs", type=int, default=1, help="sets measured side by side")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    if options.splits < 2:
        parser.error("an interval takes at least 2 splits")
    if options.folder is None:
        parser.error("no recorded results: give --folder, or set MOTET_RECORDED")
    began = time.perf_counter()
    sets: dict[str, object] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        asked = partial(measured_in, splits=options.splits, cap=options.cap, seed=options.seed)
        for name, found in zip(
            options.sets, pool.map(asked, [options.folder / name for name in options.sets]), strict=True
        ):
            sets[name] = found
            print(f"## {name}: {found['items']} items, {found['agents']} agents\n\n{markdown(found)}\n", flush=True)
    report = {
        "benchmark": "methods that need only members' answers, on recorded results of real models",
        "splits": options.splits,
        "cap": options.cap,
        "seed": options.seed,
        "sets": sets,
        "seconds": round(time.perf_counter() - began, 1),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "command": " ".join(["python", *sys.argv]),
    }
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
