"""Ordered fallbacks: when an endpoint fails for good, the next one is asked.

>>> import asyncio
>>> from motet.backends.scripted import Scripted
>>> from motet.message import Request
>>> dead = Scripted([BackendError("connect", "refused")], name="dead")
>>> both = Fallback((dead, Scripted("here", name="alive")))
>>> reply = asyncio.run(both.complete(Request("dead")))
>>> reply.text, reply.model, reply.usage.calls
('here', 'alive', 2)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from motet.backend import HOLD, Backend, Card, Price, checked
from motet.backends.wrapper import closing
from motet.errors import DEADLY, RETRYABLE, Attempt, BackendError, ConfigError
from motet.message import Delta, Reply, Request


@dataclass(frozen=True)
class Fallback:
    """Backends of which the first that works answers; `Reply.model` says which it was.

    The next one is asked when a failure may pass or is the endpoint's (retryable or deadly kinds), not when it is the
    request's: too long a prompt is too long elsewhere. A stream is not taken up again once it has said something.

    Args:
        backends: in the order they are asked.
        name: what it is called in requests and traces; by default as the first one.
    """

    backends: Sequence[Backend]
    name: str = ""

    def __post_init__(self) -> None:
        if not self.backends:
            raise ConfigError("a fallback needs at least one model", key="fallback")
        object.__setattr__(self, "backends", tuple(self.backends))
        if not self.name:
            object.__setattr__(self, "name", self.backends[0].name)

    @cached_property
    def card(self) -> Card:
        """What holds whichever answers: the smallest context, the highest prices, what all of them can do."""
        cards = [backend.card for backend in self.backends]
        contexts = [card.context for card in cards if card.context is not None]
        prices = [card.price for card in cards if card.price is not None]
        price = (
            Price(
                input=max(price.input for price in prices),
                output=max(price.output for price in prices),
                cached=max(price.input if price.cached is None else price.cached for price in prices),
                second=max(price.second for price in prices),
            )
            if prices
            else None
        )
        return Card(
            context=min(contexts, default=None),
            price=price,
            local=all(card.local for card in cards),
            completes=all(card.completes for card in cards),
            logprobs=all(card.logprobs for card in cards),
            tools=all(card.tools for card in cards),
            grammar=all(card.grammar for card in cards),
            reports_usage=any(card.reports_usage for card in cards),
            checked=True,
        )

    def count(self, text: str) -> int:
        """The highest of the backends' counts."""
        return max(backend.count(text) for backend in self.backends)

    async def complete(self, request: Request) -> Reply:
        """The reply of the first backend that gives one.

        Raises:
            BackendError: the last one's, with the attempts at all of them.
        """
        falls = _Falls(self, request)
        for backend in falls:
            try:
                return falls.landed(backend, await backend.complete(request))
            except BackendError as error:
                falls.failed(backend, error)
        raise falls.last()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The stream of the first backend that says something.

        Raises:
            BackendError: the last one's, with the attempts at all of them.
        """
        falls = _Falls(self, request)
        for backend in falls:
            begun = False
            try:
                async with closing(backend.stream(request)) as pieces:
                    async for delta in pieces:
                        if delta.reply is not None:
                            delta = msgspec.structs.replace(delta, reply=falls.landed(backend, delta.reply))
                        begun = True
                        yield delta
                return
            except BackendError as error:
                falls.failed(backend, error, final=begun)
        raise falls.last()


class _Falls:
    """The backends to ask, one after the other, and what came of those before."""

    __slots__ = ("_attempts", "_began", "_calls", "_clock", "_error", "_fallback", "_request", "_where")

    def __init__(self, fallback: Fallback, request: Request) -> None:
        self._fallback, self._request = fallback, request
        self._attempts: list[Attempt] = []
        self._error: BackendError | None = None
        self._where = ""
        self._calls = 0
        self._clock = asyncio.get_running_loop().time
        self._began = 0.0

    def __iter__(self) -> Iterator[Backend]:
        deadline, hold = self._request.deadline, HOLD.get()
        for backend in self._fallback.backends:
            self._began = self._clock()
            if self._error is not None and deadline is not None and self._began >= deadline:
                return
            # Where nothing was sent (no key, an open breaker), the call that was set aside is still there.
            if self._error is not None and self._error.calls and hold is not None and not hold.another():
                return
            yield backend

    def landed(self, backend: Backend, reply: Reply) -> Reply:
        """`reply`, with every call that it took, its usage checked and priced as that of who gave it."""
        reply, _ = checked(backend, self._request, reply, self._clock() - self._began)
        usage = msgspec.structs.replace(reply.usage, calls=self._calls + reply.usage.calls)
        return msgspec.structs.replace(reply, usage=usage, model=reply.model or backend.name)

    def failed(self, backend: Backend, error: BackendError, *, final: bool = False) -> None:
        """Note a failure; raises if the next backend is not to be asked."""
        tries = error.attempts
        if not tries:
            tries = (Attempt(error.kind, error.text, error.status, self._clock() - self._began),)
        self._calls += error.calls
        self._attempts += [msgspec.structs.replace(one, text=f"{backend.name}: {one.text}") for one in tries]
        self._error, self._where = error, backend.name
        if final or not (error.retry or error.kind in RETRYABLE or error.kind in DEADLY):
            raise self.last() from None

    def last(self) -> BackendError:
        """The last error, with the attempts of all."""
        error = self._error
        assert error is not None
        return error.but(text=f"{self._where}: {error.text}", attempts=self._attempts, calls=self._calls)
