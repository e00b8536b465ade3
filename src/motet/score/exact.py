"""Exact: 1 if the answer is one of the accepted ones, else 0. For tasks whose answers are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.answer import right
from motet.message import Chat, Reply
from motet.run import Run


@dataclass(frozen=True)
class Exact:
    """Whether the answer is accepted.

    Args:
        accepted: the accepted answers; compared as `motet.answer.right` does.
    """

    accepted: Sequence[str]

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        return float(reply.usable and right(reply.text, self.accepted, chat.question))
