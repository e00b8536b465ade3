"""The seam: an `Aggregator` makes one reply of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from motet.message import Chat, Reply
from motet.run import Run


class Aggregator(Protocol):
    """Makes one reply of several.

    Gets the chat the replies answer, at least one usable reply, and the run. Gives a member's reply, or a new one
    whose `sources` name the replies it was made from.
    """

    async def __call__(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply: ...
