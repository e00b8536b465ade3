"""The seam: a `Scorer` says how good a reply is."""

from __future__ import annotations

from typing import Protocol

from motet.message import Chat, Reply
from motet.run import Run

AS_ZERO = "that counts as 0"
"""How a scorer's note ends where it gives 0 because it could not tell."""


class Scorer(Protocol):
    """Says how good a reply to a chat is, from 0 (worthless, or nothing known) to 1.

    It may ask agents through the run. An unusable reply scores 0.
    """

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float: ...
