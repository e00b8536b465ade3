"""Best: the reply that a scorer scores highest; the first of equals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from motet.message import Chat, Reply
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
        scores = await run.parts(partial(self.score, chat, reply) for reply in replies)
        best = max(range(len(replies)), key=lambda place: scores[place])
        return msgspec.structs.replace(replies[best], agent="", sources=tuple(reply.id for reply in replies))
