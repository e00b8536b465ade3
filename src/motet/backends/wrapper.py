"""What every backend over a backend shares: it goes by the inner one's name, card and count."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from motet.backend import Backend, Card
from motet.message import Delta


@dataclass(frozen=True)
class Wrapper:
    """A backend around `backend`; the subclass gives `complete` and `stream`."""

    backend: Backend

    @property
    def name(self) -> str:
        """The inner backend's name."""
        return self.backend.name

    @property
    def card(self) -> Card:
        """The inner backend's card."""
        return self.backend.card

    def count(self, text: str) -> int:
        """The inner backend's count."""
        return self.backend.count(text)


@asynccontextmanager
async def closing(stream: AsyncIterator[Delta]) -> AsyncIterator[AsyncIterator[Delta]]:
    """A block after which `stream` is closed, so that who hangs up outside is heard inside at once.

    Left to the garbage collector, a stream that nobody reads any more keeps its connection until it is collected.
    """
    try:
        yield stream
    finally:
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
