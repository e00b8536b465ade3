"""Mixture-of-Agents: layers of proposers, each layer hearing the one before, and an aggregator at the end.

Wang, Wang, Athiwaratkun, Zhang and Zou, "Mixture-of-Agents Enhances Large Language Model Capabilities", arXiv
2406.04692; read in the public code: togethercomputer/MoA. There, three layers are two layers of proposers and the
aggregator; here `layers` counts the layers of proposers, so their default is `layers=2`.

Differences: members' texts stand fenced and shuffled in the user's turn, not numbered in the system message, and
the wording is motet's own. A proposer that fails in one layer is missing from that layer only if it is not dead. If a
later layer has no usable reply at all, the one before it stands.

Shape: proposers × layers calls and the aggregator's, layers + 1 in series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate import Aggregator
from motet.aggregate.synthesize import NOTE
from motet.compose.base import at_least
from motet.message import Chat, Reply, hear
from motet.run import Agent, Run


@dataclass(frozen=True)
class MixtureOfAgents:
    """Proposers that hear each other's last replies, layer by layer, then one reply made of the last layer's.

    Args:
        proposers: who answers in every layer.
        aggregate: makes the reply of the last layer's replies; the paper's is `Synthesize(agent)`.
        layers: layers of proposers; 1 is a panel with an aggregator.
        note: what proposers are told about the replies they hear.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import MixtureOfAgents, ModelAgent, Scripted, Synthesize, perform
    >>> a, b = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Lyon", "Paris"))
    >>> result = asyncio.run(perform(MixtureOfAgents([a, b], Synthesize(b)), "Capital of France?"))
    >>> result.text, result.usage.calls
    ('Paris', 5)
    """

    also_known_as: ClassVar = ("Mixture-of-Agents", "layered mixture")

    proposers: Sequence[Agent]
    aggregate: Aggregator
    layers: int = 2
    note: str = NOTE
    grace: float | None = None
    name: str = "moa"

    def __post_init__(self) -> None:
        at_least(1, "proposers", self.proposers, self.name)
        at_least(1, "layers", self.layers, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies = await run.all((run.ask(agent, chat) for agent in self.proposers), grace=self.grace)
        for _ in range(1, self.layers):
            run.offer(replies[0])
            heard = hear(chat, replies, self.note)
            replies = await run.all((run.ask(agent, heard) for agent in self.proposers), need=0) or replies
        run.offer(replies[0])
        return await self.aggregate(chat, replies, run)
