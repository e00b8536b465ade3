"""NSED, N-Way Self-Evaluating Deliberation: a broker picks the team, everybody reviews everybody, votes are quadratic.

Pecerskis and Smirnovs, "Mixture-of-Models: Unifying Heterogeneous Agents via N-Way Self-Evaluating Deliberation", arXiv
2601.16863. Read: its abstract, summaries, and the documents of the public agent kit (peeramid-labs/quorum-rs:
docs/reference/glossary.md, docs/explanation/agent-ranking.md); the orchestrator, which does what is told here, is not
public. Four parts, and what of them is inferred:

* *Dynamic Expertise Broker*: choosing models for roles is a knapsack with a cost limit. Here (`seated`) each role has
  one seat, an agent takes one seat at most, seats may stay empty, the sum of `value` is as high as the `limit` on the
  sum of `cost` allows; solved exactly. Values and costs are data (the paper's are live telemetry).
* *N-to-N peer review*: every agent grades every other's proposal blind, never its own (the diagonal is masked). A
  grade from 0 to 10 becomes a signed one from -1 to 1, as in the kit.
* *Quadratic voting*: votes cost their square. Here (`quadratic`) a reviewer has `credits`; a grade asks for its size
  times all of them, and where all grades together ask for too much they share them; votes are the signed root.
  An integer number of credits is paid, never more than there are. 100 is the usual number of voice credits.
* *Semantic forget gate*: the consensus state loops back into the next round. Here it is the strength of each answer,
  state = gamma × state + votes of this round, where texts that give the same answer are one; what is weaker than one
  vote is forgotten, and agents hear only what is not, in the words that were supported most, not the whole history.

It ends when the leader has the share `conviction` of all strength that is left (after the kit's winner conviction,
which is the share of all support, for and against, and adds up over rounds there), or after `rounds`. The paper finds
the best round to be the fifth or sixth, and worse after; 3 is motet's choice, for the cost, and so is gamma 0.5. Where
no review of a round can be read, each proposal counts one vote; where nothing keeps a vote's support, the best
supported of the last round is given. Both are noted.

Shape: N × N calls a round for a team of N, 2 × rounds in series, at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import copysign, inf, sqrt
from typing import ClassVar

from motet.aggregate.camps import camps
from motet.compose.base import at_least, finite
from motet.errors import UsageError
from motet.measure.knapsack import seated
from motet.message import Chat, Reply, hear
from motet.run import Agent, Run
from motet.score.judge import NOTE as REVIEW
from motet.score.review import reviewed

NOTE = (
    "Below is what is left of what was proposed for this before, after others reviewed it. It may still be wrong. Keep "
    "what holds, correct what does not, and give your own full answer."
)
SCALE = 10


def quadratic(grades: Sequence[float | Fraction], credits: int) -> list[float]:
    """The votes that a reviewer's signed grades (-1 to 1) buy: the square of each is what it pays, a whole number.

    >>> quadratic([1, -1, 0], 100) == [sqrt(50), -sqrt(50), 0]
    True
    """
    sizes = [abs(Fraction(grade)) for grade in grades]
    paid = [int(size * credits / max(Fraction(1), sum(sizes, Fraction(0)))) for size in sizes]
    return [copysign(sqrt(each), grade) for each, grade in zip(paid, grades, strict=True)]


@dataclass(frozen=True)
class NSED:
    """Rounds of proposals, blind reviews and quadratic votes; the answer that is left strongest.

    Args:
        agents: who may be on the team.
        rounds: rounds at most.
        gamma: the share of a strength that is kept from round to round.
        conviction: the leader's share of all strength that ends it early.
        credits: what each reviewer may spend on votes in a round.
        roles: what the holder of each role is told, by the role's name; without roles all are peers.
        value: what each agent is worth in each role, by their names; 1 where it is not told. A peer's role is "".
        cost: what each agent costs, in any unit.
        limit: what the team may cost; None for any.
        note: what agents are told about what is left of former rounds.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> said = {"ann": "4", "bob": "5", "cat": "four"}
    >>> def script(name):
    ...     grade = lambda text: "Grade: 1" if "5" in text else "Grade: 9"
    ...     return lambda request: grade(request.text) if "Grade" in request.text else said[name]
    >>> agents = [ModelAgent(Scripted(script(name), name=name), f"agent {name}") for name in said]
    >>> result = asyncio.run(perform(NSED(agents), "2 + 2?"))
    >>> result.text, result.usage.calls  # the wrong answer is forgotten in the first round
    ('4', 9)
    """

    also_known_as: ClassVar = ("N-Way Self-Evaluating Deliberation", "Mixture-of-Models")

    agents: Sequence[Agent]
    rounds: int = 3
    gamma: float = 0.5
    conviction: float = 1.0
    credits: int = 100
    roles: Mapping[str, str] = field(default_factory=dict)
    value: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    cost: Mapping[str, float] = field(default_factory=dict)
    limit: float | None = None
    note: str = NOTE
    grace: float | None = None
    name: str = "nsed"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        at_least(1, "credits", self.credits, self.name)
        finite(self.name, value=self.value)
        for name, share in (("gamma", self.gamma), ("conviction", self.conviction)):
            if not 0 <= share <= 1:
                raise UsageError(f"{self.name}: {name} can't be {share:g}: give a share from 0 to 1")
        untold = 0.0 if self.limit is None else -1.0
        bad = [agent.name for agent in self.agents if not self.cost.get(agent.name, untold) >= 0]
        if bad:
            raise UsageError(f"{self.name}: give a cost of 0 or more for {', '.join(bad)}: the limit is on their sum")
        if len(self.team) < 2:
            raise UsageError(f"{self.name}: fewer than 2 agents have a seat: raise the limit, or give more roles")

    @property
    def team(self) -> dict[int, str]:
        """The places of the agents on the team, with their roles."""
        seats = list(self.roles) or [""] * len(self.agents)
        values = [{role: self.value.get(a.name, {}).get(role, 1.0) for role in seats} for a in self.agents]
        costs = [self.cost.get(agent.name, 0.0) for agent in self.agents]
        return seated(values, costs, seats, inf if self.limit is None else self.limit)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        team = {place: chat.note(self.roles[role]) if role else chat for place, role in self.team.items()}
        strength: dict[str, float] = {}
        texts: dict[str, Reply] = {}
        for round in range(self.rounds):
            left = [texts[answer] for answer in strength]
            asks = {
                place: run.ask(self.agents[place], hear(told, left, self.note) if left else told)
                for place, told in team.items()
            }
            proposals = await run.each(asks, need=0 if round else 1, grace=self.grace)
            if not proposals:
                run.note("nobody proposed anything in a further round; what was left before it stands")
                break
            run.offer(texts[_leader(strength)] if strength else next(iter(proposals.values())))
            support = await self._support(chat, proposals, run)
            ranked = sorted(proposals, key=lambda place: -support[place])
            fresh: dict[str, float] = {}
            for answer, camp in camps([proposals[place] for place in ranked], chat.question).items():
                fresh[answer] = sum(support[ranked[place]] for place in camp)
                texts[answer] = proposals[ranked[camp[0]]]
            found = {each: self.gamma * strength.get(each, 0) + fresh.get(each, 0) for each in {**strength, **fresh}}
            strength = {each: votes for each, votes in found.items() if votes >= 1}  # the forget gate
            best = texts[_leader(strength)] if strength else proposals[ranked[0]]
            run.offer(best)
            if strength and max(strength.values()) >= self.conviction * sum(strength.values()):
                if round + 1 < self.rounds:
                    run.note(f"round {round + 1} of {self.rounds} left a leader strong enough, so it is the last")
                break
        if not strength:
            run.note("no proposal has a vote's support left; the best supported of the last round is given")
        return best

    async def _support(self, chat: Chat, proposals: Mapping[int, Reply], run: Run) -> dict[int, float]:
        """The votes that each proposal got from the others."""
        pairs = [(by, of) for by in proposals for of in proposals if by != of]  # the diagonal is masked
        reviews = {(by, of): (self.agents[by], proposals[of]) for by, of in pairs}
        grades = await reviewed(reviews, chat, run, REVIEW, scale=SCALE, grace=self.grace)
        if not grades:
            if pairs:
                run.note("no review of a round could be read: each of its proposals counts one vote")
            return dict.fromkeys(proposals, 1.0)
        support = dict.fromkeys(proposals, 0.0)
        for reviewer in proposals:
            given = {of: 2 * Fraction(grade) / SCALE - 1 for (by, of), grade in grades.items() if by == reviewer}
            for of, votes in zip(given, quadratic(list(given.values()), self.credits), strict=True):
                support[of] += votes
        return support


def _leader(strength: Mapping[str, float]) -> str:
    return max(strength, key=lambda answer: strength[answer])
