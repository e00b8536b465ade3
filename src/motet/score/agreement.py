"""Agreement: the share of other answers that are the same as this one.

With one agent drawn several times it is self-consistency as confidence (Wang et al., arXiv 2203.11171); with
several agents, agreement between models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.answer import answer
from motet.message import Chat, Reply
from motet.run import Agent, Run


@dataclass(frozen=True)
class Agreement:
    """The share of `agents` whose own answer is the same; 0 if none of them answers.

    Args:
        agents: who is asked; name an agent several times to draw it several times.
    """

    agents: Sequence[Agent]

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        from motet.normalise import same

        if not reply.usable:
            return 0.0
        others = await run.all((run.ask(agent, chat) for agent in self.agents), need=0)
        given = answer(reply.text, chat.question)
        return sum(same(given, answer(other.text, chat.question)) for other in others) / len(others) if others else 0.0
