"""At most so many calls in flight: the next ones wait their turn, first come, first served.

    >>> import asyncio
    >>> from motet.backends.scripted import Scripted
    >>> from motet.message import Request
    >>> one_by_one = Limiter(1)
    >>> a, b = Limited(Scripted("a"), one_by_one), Limited(Scripted("b"), one_by_one)
    >>> async def both() -> list[str]:
    ...     return [reply.text for reply in await asyncio.gather(a.complete(Request("a")), b.complete(Request("b")))]
    >>> asyncio.run(both())
    ['a', 'b']

Waiting here rather than at the endpoint keeps the clocks of a call from running before its turn has come.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from motet.backends.perloop import PerLoop
from motet.backends.wrapper import Wrapper, closing
from motet.errors import BackendError, ConfigError
from motet.message import Delta, Reply, Request


class Limiter:
    """Places for calls in flight, to be shared by the backends of one endpoint; each event loop has its own.

    Args:
        places: calls in flight at most.
    """

    __slots__ = ("__weakref__", "_semaphores", "places")

    def __init__(self, places: int) -> None:
        if places < 1:
            raise ConfigError(f"{places} calls at once make none: give at least 1", key="max_concurrency")
        self.places = places
        self._semaphores = self._open()

    def __repr__(self) -> str:
        return f"Limiter({self.places})"

    def narrow(self, places: int) -> None:
        """Have no more places than `places` from now on; calls under way or in the queue are not counted among them.

        Raises:
            ConfigError: there would be none.
        """
        if Limiter(places).places < self.places:
            self.places = places
            self._semaphores = self._open()

    def _open(self) -> PerLoop[asyncio.Semaphore]:
        places = self.places
        return PerLoop(lambda: asyncio.Semaphore(places))

    async def place(self, deadline: float | None = None) -> asyncio.Semaphore:
        """Wait for a place; it is given back with `release()` on what is returned.

        Args:
            deadline: when to give up waiting, on the event loop's clock.

        Raises:
            BackendError: of kind `timeout`, when the deadline came first.
        """
        semaphore = self._semaphores.get()
        if deadline is None or not semaphore.locked():
            await semaphore.acquire()
            return semaphore
        try:
            async with asyncio.timeout_at(deadline):
                await semaphore.acquire()
        except TimeoutError:
            text = f"the deadline passed while waiting for one of {self.places} places"
            raise BackendError("timeout", text, retry=False, calls=0) from None
        return semaphore


@dataclass(frozen=True)
class Limited(Wrapper):
    """A backend of which only so many calls are in flight at once.

    Args:
        backend: what is called.
        limit: how many, or a `Limiter` that other backends share.
    """

    limit: int | Limiter

    def __post_init__(self) -> None:
        if isinstance(self.limit, int):
            object.__setattr__(self, "limit", Limiter(self.limit))

    @property
    def limiter(self) -> Limiter:
        """The places."""
        assert isinstance(self.limit, Limiter)
        return self.limit

    async def complete(self, request: Request) -> Reply:
        """The inner reply, when its turn has come."""
        place = await self.limiter.place(request.deadline)
        try:
            return await self.backend.complete(request)
        finally:
            place.release()

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The inner stream, when its turn has come; it holds its place until it ends or is closed."""
        place = await self.limiter.place(request.deadline)
        try:
            async with closing(self.backend.stream(request)) as pieces:
                async for delta in pieces:
                    yield delta
        finally:
            place.release()
