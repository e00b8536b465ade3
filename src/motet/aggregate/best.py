"""Best: the reply that a scorer scores highest; the first of equals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from motet.errors import UsageError
from motet.message import Chat, Reply, chosen
from motet.run import Run
from motet.score.base import Scorer


@dataclass(frozen=True)
class Best:
    """The reply with the highest score; best-of-n when one agent is drawn n times.

    Args:
        score: how good a reply is, from 0 to 1.
    """

    score: Scorer

    async def __call__(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply:
        scores = await scored(self.score, chat, replies, run)
        best = max(range(len(replies)), key=lambda place: scores[place])
        return chosen(replies[best], replies)


async def scored(score: Scorer, chat: Chat, replies: Sequence[Reply], run: Run) -> list[float]:
    """The score of each reply, side by side; each is offered with its score, so that a spent purse gives the best."""

    async def one(reply: Reply, part: Run) -> float:
        found = await sound(score, chat, reply, part)
        run.offer(reply, found)
        return found

    return await run.parts(partial(one, reply) for reply in replies)


async def sound(score: Scorer, chat: Chat, reply: Reply, run: Run) -> float:
    """The score of a reply.

    Raises:
        UsageError: it is NaN, of which nothing is more or less, so that the choice would go to anybody.
    """
    found = await score(chat, reply, run)
    if found != found:
        raise UsageError(f"a scorer gave NaN for the reply of {reply.agent}: scores are from 0 to 1; mend the scorer")
    return found
