"""A backend that asks only once: replies are kept in a store, and calls of one key share one flight.

    >>> import asyncio
    >>> from motet.backends.scripted import Scripted
    >>> from motet.message import Message
    >>> model = Scripted("hello")
    >>> cached = Cached(model, Memory())
    >>> request = Request("scripted", (Message("user", "hi"),))
    >>> [asyncio.run(cached.complete(request)).usage.calls for _ in range(2)]
    [1, 0]
    >>> len(model.requests)
    1

The key is `Request.key`: content, seed and number of the draw. Kept are only replies that are whole and usable: never
an error, never one that was cut or is empty, and no abstention, which is quick to have again. A reply that was known,
or that another caller's call brought, has a usage without calls and says what it saved; a run sees it beforehand by
`lookup` and reserves nothing for it.
"""

from __future__ import annotations

import asyncio
import warnings
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakKeyDictionary

import msgspec

from motet.backend import checked, deltas
from motet.backends.wrapper import Wrapper, closing
from motet.errors import BackendError, MotetError, UsageError
from motet.message import Delta, Reply, Request


class Store(Protocol):
    """Where replies are kept by key. Both calls are quick: they run on the event loop."""

    def get(self, key: str) -> Reply | None:
        """The reply that was put there, if there is one."""
        ...

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; the same key again is the same reply."""
        ...


class Memory:
    """A store in memory: the `size` replies used last.

    Raises:
        UsageError: a size below 1.
    """

    def __init__(self, size: int = 4096) -> None:
        if size < 1:
            raise UsageError(f"a cache of {size} replies makes no sense: give 1 or more")
        self.size = size
        self._replies: OrderedDict[str, Reply] = OrderedDict()

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, key: str) -> Reply | None:
        """The reply of this key, which is now the one used last."""
        reply = self._replies.get(key)
        if reply is not None:
            self._replies.move_to_end(key)
        return reply

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply, and forget the one that was not used for longest when there are too many."""
        self._replies[key] = reply
        self._replies.move_to_end(key)
        if len(self._replies) > self.size:
            self._replies.popitem(last=False)


class _Flight:
    """A call under way: its task, who waits for it, and the pieces that have come, if it streams."""

    __slots__ = ("news", "pieces", "task", "waiting")

    def __init__(self) -> None:
        self.task: asyncio.Task[tuple[Reply, Reply]]
        self.waiting = 0
        self.pieces: list[Delta] = []
        self.news = asyncio.Event()

    def tell(self, *_: object) -> None:
        """Wake whoever waits for pieces."""
        self.news.set()
        self.news = asyncio.Event()


_flights: WeakKeyDictionary[Store, dict[tuple[asyncio.AbstractEventLoop, str], _Flight]] = WeakKeyDictionary()
"""Calls under way by store, so that every wrapper around one store, however short-lived, knows of them."""


@dataclass(frozen=True)
class Cached(Wrapper):
    """A backend with a memory.

    In one event loop a key that is asked for again while its call is under way is not called again, also from other
    runs; only if that call was cut, or failed in a way that may pass, is it made once more for those who joined it.
    A call ends when nobody waits for it any more, and not before. A reply that can't be kept (a full disk) is given
    all the same, with a warning.

    Args:
        backend: who is asked for what is not known.
        store: where replies are kept: `Memory`, or anything with its `get` and `put`.
    """

    store: Store

    def lookup(self, request: Request) -> Reply | None:
        """The reply that is known, with the usage it had when it was made.

        Raises:
            MotetError: the store is damaged.
        """
        return self.store.get(request.key)

    async def complete(self, request: Request) -> Reply:
        """The reply that is known, or on its way, or else the backend's."""
        while True:
            known = self.lookup(request)
            if known is not None:
                return _saved(known)
            async with self._aboard(request, streaming=False) as (flight, first):
                try:
                    reply, kept = await asyncio.shield(flight.task)
                except BackendError as error:
                    if first or not error.retry:
                        raise
                    continue
                if first:
                    return reply
                if kept.state != "cut":
                    return _saved(kept)
            # It was perhaps the purse or the deadline of whoever made the call that ended it early: try again.

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same in pieces: in one if it is known, as they come if the call streams."""
        known = self.lookup(request)
        if known is not None:
            async for delta in deltas(_saved(known)):
                yield delta
            return
        async with self._aboard(request, streaming=True) as (flight, first):
            seen = 0
            while seen < len(flight.pieces) or not flight.task.done():
                if seen == len(flight.pieces):
                    await flight.news.wait()
                    continue
                yield flight.pieces[seen]
                seen += 1
            reply, kept = flight.task.result()
            if not seen and reply.text:
                yield Delta(text=reply.text)
            yield Delta(reply=reply if first else _saved(kept))

    @asynccontextmanager
    async def _aboard(self, request: Request, *, streaming: bool) -> AsyncIterator[tuple[_Flight, bool]]:
        """The call of this key, and whether it was started here; cancelled when the last to wait for it leaves."""
        flights, place = _flights.setdefault(self.store, {}), (asyncio.get_running_loop(), request.key)
        flight = flights.get(place)
        if flight is not None and flight.task.done():  # not taken away yet: who joins it now would join it for ever
            flight = None
        first = flight is None
        if flight is None:
            flight = flights[place] = _Flight()
            flight.task = asyncio.create_task(self._fly(request, flight, streaming))

            def landed(task: asyncio.Task[tuple[Reply, Reply]], flight: _Flight = flight) -> None:
                if flights.get(place) is flight:
                    del flights[place]
                if not task.cancelled():
                    task.exception()  # looked at: everybody may have left
                flight.tell()

            flight.task.add_done_callback(landed)
        flight.waiting += 1
        try:
            yield flight, first
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                del flights[place]  # whoever comes now must not join a call that is being cancelled
                flight.task.cancel()
                await asyncio.wait([flight.task])

    async def _fly(self, request: Request, flight: _Flight, streaming: bool) -> tuple[Reply, Reply]:
        """Call the backend and keep what it says: its reply as it is, and as it is kept, counted and priced."""
        clock = asyncio.get_running_loop().time
        began, reply = clock(), None
        if streaming:
            async with closing(self.backend.stream(request)) as stream:
                async for delta in stream:
                    reply = delta.reply or reply
                    if delta.text or delta.reasoning:
                        flight.pieces.append(Delta(delta.text, delta.reasoning))
                        flight.tell()
            if reply is None:
                raise BackendError("cut", f"the stream of {self.name} ended without a reply")
        else:
            reply = await self.backend.complete(request)
        kept, _ = checked(self.backend, request, reply, clock() - began)
        if kept.usable:
            try:
                self.store.put(request.key, kept)
            except MotetError as error:
                warnings.warn(f"a reply of {self.name} was not kept: {error}", RuntimeWarning, stacklevel=2)
        return reply, kept


def _saved(reply: Reply) -> Reply:
    return msgspec.structs.replace(reply, usage=reply.usage.as_saved())
