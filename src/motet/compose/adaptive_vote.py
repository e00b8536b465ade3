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
go by them, the Beta criterion by heads, since it is about draws. Whoever abstains or fails has no vote: a wave goes on
with those who did vote, and somebody else may be asked instead.

This is no field of `Vote`, since a rule that stops has to count the votes itself: `Vote` takes any aggregator and asks
everybody at once.

Shape: one call an agent at the most, in waves; at 0.95 the first wave is of 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar

from motet.aggregate import Plurality
from motet.aggregate.plurality import tally
from motet.compose.base import at_least
from motet.errors import TooFewReplies, UsageError
from motet.message import Chat, Reply
from motet.run import Agent, Run


def likelier(first: float, second: float) -> float:
    """The probability that the answer given `first` times is truly likelier than the one given `second` times.

    >>> likelier(4, 0), likelier(3, 1)
    (0.96875, 0.8125)
    """
    draws = int(first + second) + 1
    return sum(math.comb(draws, heads) for heads in range(int(first) + 1)) / (1 << draws)


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
        if not 0.5 < self.confidence <= 1:
            raise UsageError(f"{self.name} stops at a confidence of {self.confidence}: give more than 0.5, 1 at most")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies: list[Reply] = []
        waiting = list(self.agents)
        while waiting:
            heads = tally(replies, question=chat.question)
            votes = tally(replies, self.weights, chat.question)
            if len(replies) >= self.need and self._decided(heads, votes, waiting):
                break
            wave = max(self._wave(heads, votes, waiting), self.need - len(replies))
            asks = [run.ask(agent, chat) for agent in waiting[:wave]]
            del waiting[:wave]
            with suppress(TooFewReplies):  # nobody in this wave voted
                replies += await run.all(asks, grace=self.grace)
                if len(replies) >= self.need:
                    run.offer(await self._counted(chat, replies, run))
        if len(replies) < self.need:
            raise TooFewReplies(self.need, len(replies), run.missing, run.abstained)
        return await self._counted(chat, replies, run)

    async def _counted(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply:
        return await Plurality(self.weights)(chat, replies, run)

    def _decided(self, heads: Mapping[str, float], votes: Mapping[str, float], waiting: Sequence[Agent]) -> bool:
        """Whether the leader is likely enough to win, or can't be overtaken by what those who wait may say."""
        if not votes:
            return False
        leader, *rivals = sorted(votes, key=lambda said: -votes[said])  # the first given is the first of equals
        if self.confidence < 1 and likelier(heads[leader], heads[rivals[0]] if rivals else 0) >= self.confidence:
            return True
        left = sum(map(self._weight, waiting))
        order = list(votes)
        overtaken = ((votes[rival] + left, order.index(leader) > order.index(rival)) for rival in rivals)
        return left <= votes[leader] and all(rival <= (votes[leader], False) for rival in overtaken)

    def _wave(self, heads: Mapping[str, float], votes: Mapping[str, float], waiting: Sequence[Agent]) -> int:
        """How many more votes it takes at the least, all for the leader, until the vote is decided."""
        leader = max(votes, key=lambda said: votes[said], default="")
        for size, agent in enumerate(waiting, 1):
            heads = {**heads, leader: heads.get(leader, 0) + 1}
            votes = {**votes, leader: votes.get(leader, 0) + self._weight(agent)}
            if self._decided(heads, votes, waiting[size:]):
                return size
        return len(waiting)

    def _weight(self, agent: Agent) -> float:
        return self.weights.get(agent.name, 1.0)
