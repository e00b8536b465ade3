"""Vote: ask agents side by side and take the answer that most of them give.

With one agent drawn several times it is *self-consistency* (Wang et al., "Self-Consistency Improves Chain of Thought
Reasoning in Language Models", arXiv 2203.11171; 40 draws there, as many as are wanted here): `Vote([agent] * 5)`.

Weights are the aggregator's: `Vote(agents, Plurality({"calculator": 4}))`. Who abstains has no vote for or against
anything and is not missing; who fails or gives an empty reply has none either and is. If all abstain there is no
answer, and the error says so. A vote that stops asking once it is decided is `AdaptiveVote`.

Shape: one call an agent, all at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate import Aggregator, Plurality
from motet.compose.base import at_least
from motet.message import Chat, Reply
from motet.run import Agent, Run


@dataclass(frozen=True)
class Vote:
    """The answer most agents give.

    Args:
        agents: who votes; an agent named several times is drawn several times. Ties go to the one named first.
        aggregate: how the votes are counted.
        need: usable replies that are enough.
        grace: seconds to wait for the slow once `need` have answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "four", "5")]
    >>> asyncio.run(perform(Vote(agents), "2 + 2?")).text
    '4'
    """

    also_known_as: ClassVar = ("majority vote", "self-consistency")

    agents: Sequence[Agent]
    aggregate: Aggregator = Plurality()
    need: int = 1
    grace: float | None = None
    name: str = "vote"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "replies it needs", self.need, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        asks = (run.ask(agent, chat) for agent in self.agents)
        replies = await run.all(asks, need=self.need, grace=self.grace)
        return await self.aggregate(chat, replies, run)
