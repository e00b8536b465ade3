"""The one retry loop: full jitter, obeys Retry-After, within the deadline, the budget and the breaker.

    >>> import asyncio
    >>> from motet.backends.scripted import Scripted
    >>> from motet.message import Request
    >>> flaky = Scripted([BackendError("server", "oops"), "yes"])
    >>> reply = asyncio.run(Retried(flaky, base=0.001).complete(Request("scripted")))
    >>> reply.text, reply.usage.calls
    ('yes', 2)

Waits are drawn from the request's key, so that the same run waits the same; the shape (base, cap and attempts) is that
of the OpenAI client, with full jitter instead of its quarter, since a mixture's calls fail together and must not come
back together.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from motet.backend import HOLD
from motet.backends.breaker import Breaker, Permit
from motet.backends.wrapper import Wrapper, closing
from motet.errors import Attempt, BackendError, ConfigError
from motet.message import Delta, Reply, Request


@dataclass(frozen=True)
class Retried(Wrapper):
    """A backend that tries again when a failure may pass.

    Args:
        backend: what is tried.
        attempts: tries at most, the first included.
        base: seconds that the first wait has at most; each further one has twice as many.
        cap: seconds that a wait has at most.
        patience: the longest Retry-After in seconds that is obeyed; who asks for more gets no other try.
        breaker: stops calls to what fails again and again; None for none. Share one between backends for the same
            model at the same endpoint.
        sleep: how to wait; for tests.

    Raises:
        ConfigError: there is to be no attempt at all.
    """

    attempts: int = 4
    base: float = 0.5
    cap: float = 8.0
    patience: float = 120.0
    breaker: Breaker | None = field(default_factory=Breaker, compare=False)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ConfigError(f"{self.attempts} attempts make no call: give at least 1", key="attempts")

    async def complete(self, request: Request) -> Reply:
        """The reply of the first try that succeeds.

        Raises:
            BackendError: the last one, with every attempt.
        """
        tries = _Tries(self, request)
        while True:
            with await tries.next() as trial:
                try:
                    return trial.succeeded(await self.backend.complete(request))
                except BackendError as error:
                    trial.failed(error)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The stream of the first try that says something; what fails after that is not tried again.

        Raises:
            BackendError: the last one, with every attempt.
        """
        tries = _Tries(self, request)
        while True:
            with await tries.next() as trial:
                begun = False
                try:
                    async with closing(self.backend.stream(request)) as pieces:
                        async for delta in pieces:
                            if delta.reply is not None:
                                delta = msgspec.structs.replace(delta, reply=trial.succeeded(delta.reply))
                            begun = True
                            yield delta
                    return
                except BackendError as error:
                    trial.failed(error, last=begun)


class _Tries:
    """The tries of one request so far, and whether there is another."""

    __slots__ = ("_attempts", "_began", "_calls", "_clock", "_last", "_loop", "_made", "_permit", "_random", "_request")

    def __init__(self, loop: Retried, request: Request) -> None:
        self._loop, self._request = loop, request
        self._random: random.Random | None = None
        self._permit: Permit | None = None
        self._clock = asyncio.get_running_loop().time
        self._began = 0.0
        self._made = self._calls = 0
        self._attempts: list[Attempt] = []
        self._last: BackendError | None = None

    async def next(self) -> _Tries:
        """Wait as long as is due, and get leave for another try; the last error is raised when there is none."""
        loop = self._loop
        if self._last is not None:
            await loop.sleep(self._wait(self._last))
        if loop.breaker is not None:
            try:
                self._permit = loop.breaker.permit()
            except BackendError:
                if self._last is None:
                    raise
                raise self._given_up("the breaker opened") from None
        if self._last is not None:
            hold = HOLD.get()
            if hold is not None and not hold.another():
                self.__exit__()
                raise self._given_up("the budget has no call left") from None
        self._made += 1
        self._began = self._clock()
        return self

    def __enter__(self) -> _Tries:
        return self

    def __exit__(self, *_: object) -> None:
        if self._permit is not None:
            self._permit.release()  # does nothing where the try was settled

    def succeeded(self, reply: Reply) -> Reply:
        """`reply`, with every call that it took."""
        if self._permit is not None:
            self._permit.settle()
        if not self._attempts:
            return reply
        calls = self._calls + max(1, reply.usage.calls)
        return msgspec.structs.replace(reply, usage=msgspec.structs.replace(reply.usage, calls=calls))

    def failed(self, error: BackendError, *, last: bool = False) -> None:
        """Note a failed try; raises if there is not to be another."""
        now, deadline = self._clock(), self._request.deadline
        late = deadline is not None and now >= deadline
        if self._permit is not None and not late:  # that our time ran out says nothing about the endpoint
            self._permit.settle(error)
        self._attempts += error.attempts or [Attempt(error.kind, error.text, error.status, now - self._began)]
        self._calls += error.calls
        self._last = error
        if last or late or not error.retry or self._made >= self._loop.attempts:
            raise self._given_up("") from None

    def _wait(self, error: BackendError) -> float:
        """Seconds until the next try; raises if that is too long."""
        loop = self._loop
        if self._random is None:
            self._random = random.Random(self._request.key)
        wait = self._random.uniform(0, min(loop.cap, loop.base * 2 ** (self._made - 1)))
        asked = error.retry_after or 0.0
        if asked > loop.patience:
            raise self._given_up(f"it asks to wait {asked:.0f} s, longer than {loop.patience:.0f} s")
        # Jitter on top of what was asked for: all calls that were turned away were told the same.
        wait += asked
        if self._request.deadline is not None and self._clock() + wait >= self._request.deadline:
            raise self._given_up(f"the next try, in {wait:.1f} s, would pass the deadline")
        return wait

    def _given_up(self, why: str) -> BackendError:
        error = self._last
        assert error is not None
        text = f"{error.text}; not tried again: {why}" if why else error.text
        return error.but(text=text, attempts=self._attempts, calls=self._calls)
