"""Adaptive vote: ask until the vote is decided, not until everybody has voted.

Adaptive-Consistency: Aggarwal, Madaan, Yang and Mausam, "Let's Sample Step by Step: Adaptive-Consistency for Efficient
Reasoning and Coding with LLMs", arXiv 2305.11860; read in the public code: Pranjal2041/AdaptiveConsistency
(`adaptive_consistency/stopping_criterias.py` and `main.py`). Of the two most frequent answers, given a and b times, the
first is truly the likelier with the probability that a Beta(a + 1, b + 1) variable exceeds a half; asking ends when
that is at least `confidence`. Defaults from there: 0.95, which takes at least 4 votes, all alike. (The paper draws 40
times at most: `AdaptiveVote([agent] * 40)`.) The code's integral is a sum of binomial coefficients for whole numbers,
and is computed as that. Its other criteria (Dirichlet, entropy, majority) are left out: Beta is its default.

Asking also ends when the leader can no longer be overtaken, whatever those who were not asked would say; with
`confidence=1` that alone counts, and the answer is the full vote's, always.

Differences: the paper draws one at a time; here each wave asks as many as the vote needs at the least to be decided,
all at once, so that no call is wasted and fewer are in series. Weights are motet's: the vote and "can't be overtaken"
go by them (who has a negative one may still speak against the leader), the Beta criterion by heads, since it is about
draws: the leader's, and those of whichever other answer has most. Whoever abstains or fails has no vote: a wave goes on
with those who did vote, and somebody else may be asked instead.

This is no field of `Vote`, since a rule that stops has to count the votes itself: `Vote` takes any aggregator and asks
everybody at once.

Shape: one call an agent at the most, in waves; at 0.95 the first wave is of 4.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar

from motet.aggregate.camps import camps
from motet.compose.base import at_least, finite
from motet.errors import TooFewReplies, UsageError
from motet.message import Chat, Reply, chosen
from motet.run import Agent, Run


def likelier(first: float, second: float) -> float:
    """The probability that the answer given `first` times is truly likelier than the one given `second` times.

    >>> likelier(4, 0), likelier(3, 1)
    (0.96875, 0.8125)
    """
    draws = int(first + second) + 1
    ways = total = 1
    for heads in range(1, int(first) + 1):
        ways = ways * (draws - heads + 1) // heads  # from the one before: `comb` anew takes seconds of a large vote
        total += ways
    return total / (1 << draws)


@dataclass(frozen=True)
class AdaptiveVote:
    """The answer most agents give, asked in waves until it is decided.

    Args:
        agents: who votes, in the order they are asked; an agent named several times is drawn several times.
        confidence: how sure to be that more votes would not change the answer; 1 stops only when they can't.
        weights: votes of an agent, by name; 1 for whoever is not named.
        need: usable replies that are enough.
        grace: seconds to wait for the slow of a wave once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> result = asyncio.run(perform(AdaptiveVote([ModelAgent(Scripted("4"), "sure")] * 40), "2 + 2?"))
    >>> result.text, result.usage.calls
    ('4', 4)
    """

    also_known_as: ClassVar = ("Adaptive-Consistency", "early-stopping vote")

    agents: Sequence[Agent]
    confidence: float = 0.95
    weights: Mapping[str, float] = field(default_factory=dict)
    need: int = 1
    grace: float | None = None
    name: str = "adaptive-vote"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "replies it needs", self.need, self.name)
        finite(self.name, weights=self.weights)
        if not 0.5 < self.confidence <= 1:
            raise UsageError(f"{self.name} stops at a confidence of {self.confidence}: give more than 0.5, 1 at most")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies: list[Reply] = []
        first: dict[str, Reply] = {}
        heads: dict[str, float] = {}
        votes: dict[str, float] = {}
        best: Reply | None = None
        waiting = list(self.agents)
        while waiting:
            if len(replies) >= self.need and self._decided(heads, votes, waiting):
                run.note("the vote was decided before all were asked")
                break
            wave = max(self._wave(heads, votes, waiting), self.need - len(replies))
            asks = [run.ask(agent, chat) for agent in waiting[:wave]]
            del waiting[:wave]
            with suppress(TooFewReplies):  # nobody in this wave voted
                fresh = await run.all(asks, grace=self.grace)
                replies += fresh
                for said, places in camps(fresh, chat.question).items():
                    first.setdefault(said, fresh[places[0]])
                    heads[said] = heads.get(said, 0) + len(places)
                    for place in places:
                        votes[said] = votes.get(said, 0.0) + self.weights.get(fresh[place].agent, 1.0)
                if len(replies) >= self.need:
                    best = run.offer(chosen(first[_leader(votes)], replies))
        if best is None:
            raise TooFewReplies(self.need, len(replies), run.missing, run.abstained)
        return best

    def _decided(self, heads: Mapping[str, float], votes: Mapping[str, float], waiting: Sequence[Agent]) -> bool:
        """Whether the leader is likely enough to win, or can't be overtaken by what those who wait may say."""
        if not votes:
            return False
        leader = _leader(votes)
        second = max((given for said, given in heads.items() if said != leader), default=0)
        if self.confidence < 1 and likelier(heads[leader], second) >= self.confidence:
            return True
        left = sum(map(self._weight, waiting))
        lead, place = votes[leader], list(votes).index(leader)
        rivals = ((given + left, place > at) for at, given in enumerate(votes.values()) if at != place)
        return left <= lead and all(rival <= (lead, False) for rival in rivals)

    def _wave(self, heads: Mapping[str, float], votes: Mapping[str, float], waiting: Sequence[Agent]) -> int:
        """How many more votes it takes at the least, all for the leader, until the vote is decided."""
        leader = _leader(votes) if votes else ""

        def decided(size: int) -> bool:
            more = sum(map(self._weight, waiting[:size]))
            then = {**heads, leader: heads.get(leader, 0) + size}
            return self._decided(then, {**votes, leader: votes.get(leader, 0) + more}, waiting[size:])

        return bisect_left(range(1, len(waiting)), True, key=decided) + 1

    def _weight(self, agent: Agent) -> float:
        """How far an agent can still bring a rival nearer to the leader: a negative vote for the leader does so too."""
        return abs(self.weights.get(agent.name, 1.0))


def _leader(votes: Mapping[str, float]) -> str:
    return max(votes, key=lambda said: votes[said])  # the first given is the first of equals
