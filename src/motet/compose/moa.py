"""Mixture-of-Agents: layers of proposers, each layer hearing the one before, and an aggregator at the end.

Wang, Wang, Athiwaratkun, Zhang and Zou, "Mixture-of-Agents Enhances Large Language Model Capabilities", arXiv
2406.04692; read in the public code: togethercomputer/MoA. There, three layers are two layers of proposers and the
aggregator; here `layers` counts the layers of proposers, so their default is `layers=2`. The paper lets every layer
have agents of its own (`later`); its code asks the same ones in all.

With `residual` every layer, the aggregator too, hears what all earlier layers said, and not only the one before: the
residual connection of the papers that followed, since what the first layer knew is lost where the second misreads it
(Xie et al., "RMoA: Optimizing Mixture-of-Agents through Diversity Maximization and Residual Compensation", arXiv
2505.24442; `attention_moa` is the one of Wen et al.). Here the replies themselves are heard again; their summaries of
what changed between layers are not made.

Differences: members' texts stand fenced and shuffled in the user's turn, not numbered in the system message, and
the wording is motet's own. A proposer that fails in one layer is missing from that layer only if it is not dead. If a
later layer has no usable reply at all, the one before it stands.

Shape: proposers × layers calls and the aggregator's, layers + 1 in series; with `residual` as many, of longer prompts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate import Aggregator
from motet.aggregate.synthesize import NOTE
from motet.compose.base import at_least
from motet.errors import UsageError
from motet.message import Chat, Reply, hear
from motet.run import Agent, Run


@dataclass(frozen=True)
class MixtureOfAgents:
    """Proposers that hear each other's last replies, layer by layer, then one reply made of the last layer's.

    Args:
        proposers: who answers in every layer, but for those that `later` gives others.
        aggregate: makes the reply of the last layer's replies; the paper's is `Synthesize(agent)`.
        layers: layers of proposers; 1 is a panel with an aggregator.
        later: the proposers of the second layer, of the third and so on; a layer that is given none asks `proposers`.
        residual: whether the replies of all earlier layers are heard, and not only those of the one before.
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
    later: Sequence[Sequence[Agent]] = ()
    residual: bool = False
    note: str = NOTE
    grace: float | None = None
    name: str = "moa"

    def __post_init__(self) -> None:
        at_least(1, "proposers", self.proposers, self.name)
        at_least(1, "layers", self.layers, self.name)
        if len(self.later) >= self.layers:
            raise UsageError(
                f"{self.name} has {self.layers} layers, and proposers are given for {len(self.later)} after the first: "
                f"give layers={len(self.later) + 1}, or proposers for fewer"
            )

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies: list[Reply] = []
        for layer, agents in enumerate(self._by_layer(), 1):
            heard = hear(chat, replies, self.note) if replies else chat
            asks = (run.ask(agent, heard) for agent in agents)
            said = await run.all(asks, need=0 if replies else 1, grace=self.grace)
            if not said:
                run.note(f"nobody answered in layer {layer}; the replies of the one before stand")
            replies = [*said, *replies] if self.residual else said or replies
            run.offer(replies[0])
        return await self.aggregate(chat, replies, run)

    def _by_layer(self) -> Sequence[Sequence[Agent]]:
        """The proposers of each layer."""
        rest = self.layers - 1 - len(self.later)
        return [self.proposers, *(own or self.proposers for own in self.later), *[self.proposers] * rest]
