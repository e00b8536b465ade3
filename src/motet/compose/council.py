"""Council: agents answer, rank each other's answers blind, and a chair writes the reply knowing the ranking.

The shape that karpathy/llm-council made known: first opinions, anonymous review, a chairman's final response. Here the
ranking is a Borda count over ballots that could be read; the chair hears the replies in that order, best first.

Shape: 2 calls a member and the chair's, 3 in series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate.borda import ranked
from motet.compose.base import at_least
from motet.message import Chat, Reply, hear
from motet.prompt import next_labels
from motet.run import Agent, Run

NOTE = (
    "A council answered this; below are its replies, ranked by the council itself, the best first. Check them, and "
    "give the one reply that the council should give, without mentioning the council."
)


@dataclass(frozen=True)
class Council:
    """Members answer and rank blind; the chair gives the reply.

    If the chair gives no usable reply, the best ranked one is given, and that is noted.

    Args:
        members: who answers and ranks.
        chair: who gives the reply; the first member if None.
        note: what the chair is told.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> members = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Lyon", "Paris")]
    >>> asyncio.run(perform(Council(members, chair=members[1]), "Capital of France?")).text
    'Paris'
    """

    also_known_as: ClassVar = ("LLM council",)

    members: Sequence[Agent]
    chair: Agent | None = None
    note: str = NOTE
    grace: float | None = None
    name: str = "council"

    def __post_init__(self) -> None:
        at_least(1, "members", self.members, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies = await run.all((run.ask(member, chat) for member in self.members), grace=self.grace)
        run.offer(replies[0])
        order = await ranked(self.members, chat, replies, run) if len(replies) > 1 else list(replies)
        if order is None:
            run.note("no ballot of the council could be read; the chair sees the replies in the members' order")
            order = list(replies)
        run.offer(order[0])
        asked = hear(chat, order, self.note, next_labels(chat, len(order)))
        given = await run.all([run.answer(self.chair or self.members[0], asked)], need=0)
        if given:
            return given[0]
        run.note("the chair gave no reply; the best ranked one is given instead")
        return order[0]
