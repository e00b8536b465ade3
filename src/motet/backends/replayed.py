"""Replayed: a backend that answers from the record of an earlier run and never calls anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from motet.backend import Backend, Card, deltas
from motet.errors import BackendError, ReplayMiss
from motet.message import Delta, Reply, Request
from motet.record import Record
from motet.trace import CallFailed


@dataclass(frozen=True)
class Replayed:
    """`backend` as it answered in `record`.

    Raises (when called):
        BackendError: the call failed then, in the same way.
        ReplayMiss: the record does not hold this call.
    """

    backend: Backend
    record: Record

    @property
    def name(self) -> str:
        """The model's name."""
        return self.backend.name

    @property
    def card(self) -> Card:
        """The model's card."""
        return self.backend.card

    async def complete(self, request: Request) -> Reply:
        """The recorded reply."""
        event = self.record.calls.get(request.key)
        if event is None:
            raise ReplayMiss(
                f"the record of run {self.record.started.run} has no call {request.key[:12]} to {self.name}: "
                f"the agents, the question or the seed are not those of that run"
            )
        if isinstance(event, CallFailed):
            raise BackendError(event.kind, event.text, status=event.status, attempts=event.attempts)
        return event.reply

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta

    def count(self, text: str) -> int:
        """The model's own count."""
        return self.backend.count(text)
