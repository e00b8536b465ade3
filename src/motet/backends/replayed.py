"""Replayed: a backend that answers from the record of an earlier run and never calls anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from motet.backend import deltas
from motet.backends.wrapper import Wrapper
from motet.errors import BackendError, ReplayMiss
from motet.message import Delta, Reply, Request
from motet.record import Record
from motet.trace import CallFailed


@dataclass(frozen=True)
class Replayed(Wrapper):
    """`backend` as it answered in `record`.

    Raises (when called):
        BackendError: the call failed then, in the same way.
        ReplayMiss: the record does not hold this call.
    """

    record: Record

    async def complete(self, request: Request) -> Reply:
        """The recorded reply."""
        event = self.record.calls.get(request.key)
        if event is None:
            raise ReplayMiss(
                f"the record of run {self.record.started.run} has no call {request.key[:12]} to {self.name}: "
                f"the agents, the question or the seed are not those of that run"
            )
        if isinstance(event, CallFailed):
            calls = event.usage.calls
            raise BackendError(event.kind, event.text, status=event.status, attempts=event.attempts, calls=calls)
        return event.reply

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta
