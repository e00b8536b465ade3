"""Self-MoA: many draws of the one best agent, aggregated; at once, or through a sliding window.

Li, Lin, Xia and Jin, "Rethinking Mixture-of-Agents: Is Mixing Different Large Language Models Beneficial?", arXiv
2502.00674. Their finding: draws of the best model, aggregated, often beat a mixture of different ones, since a
mixture's quality falls with its members' average. In the sequential form (Self-MoA-Seq) the aggregator sees a window
of fixed length: the synthesis so far, and as many new draws as there is room for; so any number of draws fits any
context. Their window is 6 with 3 places kept for the synthesis so far, which is thereby favoured (section 5). Their
repository, wenzhe-li/Self-MoA, has a README and no code (read at 4d82ef7 and 3b515dd): that the first window holds
draws only is inferred.

Shape: draws + 1 calls, 2 in series; with a window, draws + one aggregation a window, in series after the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate import Synthesize
from motet.aggregate.plurality import plurality
from motet.compose.base import at_least
from motet.errors import UsageError
from motet.message import Chat, Reply, hear
from motet.run import Agent, Run


@dataclass(frozen=True)
class SelfMoA:
    """Draws of one agent, made into one reply.

    Args:
        agent: who answers, `draws` times. Its temperature should not be 0.
        aggregator: who makes one reply of them; the same agent if None, as in the paper.
        draws: how many draws; 6 in the paper.
        window: texts the aggregator sees at a time; None shows all at once (the parallel form), 6 is the paper's.
        kept: places of the window that the synthesis so far takes.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> agent = ModelAgent(Scripted("Paris"), "geographer")
    >>> asyncio.run(perform(SelfMoA(agent, draws=3), "Capital of France?")).usage.calls
    4
    """

    also_known_as: ClassVar = ("Self-MoA", "Self-MoA-Seq")

    agent: Agent
    aggregator: Agent | None = None
    draws: int = 6
    window: int | None = None
    kept: int = 3
    grace: float | None = None
    name: str = "self-moa"

    def __post_init__(self) -> None:
        at_least(1, "draws", self.draws, self.name)
        if self.window is not None and not 0 < self.kept < self.window:
            raise UsageError(
                f"{self.name}: {self.kept} places of a window of {self.window} are kept for the synthesis so far: "
                f"keep at least 1 and leave at least 1 for new draws"
            )
        at_least(1, "places kept", self.kept, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        aggregate = Synthesize(self.aggregator or self.agent)
        drawn = await run.all((run.ask(self.agent, chat) for _ in range(self.draws)), grace=self.grace)
        run.offer(drawn[0])
        if self.window is None:
            return await aggregate(chat, drawn, run)
        return await self._through_window(aggregate, self.window, chat, drawn, run)

    async def _through_window(
        self, aggregate: Synthesize, window: int, chat: Chat, drawn: Sequence[Reply], run: Run
    ) -> Reply:
        shown, rest, fresh = drawn[:window], drawn[window:], window - self.kept
        while rest:
            asked = run.ask(aggregate.agent, hear(chat, shown, aggregate.note))  # only the last is the answer
            written = await run.all([asked], need=0)
            if not written:
                run.note("a synthesis on the way failed; the most frequent answer is taken instead")
            best = run.offer(written[0] if written else plurality(shown, question=chat.question))
            shown, rest = [*[best] * self.kept, *rest[:fresh]], rest[fresh:]
        return await aggregate(chat, shown, run)
