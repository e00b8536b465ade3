"""A circuit breaker: an endpoint that fails again and again is left alone for a while, then tried with one call.

    >>> breaker = Breaker(failures=2, name="m at localhost")
    >>> for _ in range(2):
    ...     breaker.permit().settle(BackendError("server", "no"))
    >>> breaker.state
    'open'
    >>> breaker.permit()
    Traceback (most recent call last):
    motet.errors.BackendError: circuit_open: m at localhost failed 2 times in a row (server: no); next try in 15 s

One breaker stands for one model at one endpoint and may be shared by any number of backends.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from motet.errors import DEADLY, BackendError

TRIPS = DEADLY - {"rate_limit", "circuit_open"}
"""Kinds that count. A rate limit is deadly for an agent, but says how long to wait: leaving the endpoint alone is the
retry loop's work then, not the breaker's."""


class Breaker:
    """Counts deadly failures in a row; opens, and closes again when one call has gone well.

    Args:
        failures: how many in a row open it.
        window: seconds within which they have to fall.
        cooldown: seconds it stays open; then one call is let through as a probe.
        name: whom it stands for, in errors.
        clock: seconds; by default the running event loop's, as for deadlines.
    """

    __slots__ = (
        "__weakref__",
        "_clock",
        "_last",
        "_opened",
        "_probing",
        "_times",
        "cooldown",
        "failures",
        "name",
        "window",
    )

    def __init__(
        self,
        failures: int = 5,
        window: float = 30.0,
        cooldown: float = 15.0,
        name: str = "the endpoint",
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.failures, self.window, self.cooldown, self.name = failures, window, cooldown, name
        self._clock = clock or _now
        self._times: deque[float] = deque(maxlen=failures)
        self._opened: float | None = None
        self._probing = False
        self._last = ""

    def __repr__(self) -> str:
        return f"Breaker({self.name!r}, {self.state})"

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """`half-open` is when a probe may go, or is under way."""
        if self._opened is None:
            return "closed"
        return "half-open" if self._probing or self._clock() >= self._opened + self.cooldown else "open"

    def permit(self) -> Permit:
        """Leave to make one call, to be settled or released.

        Raises:
            BackendError: of kind `circuit_open`; no call is to be made.
        """
        if self._opened is None:
            return Permit(self, probe=False)
        left = self._opened + self.cooldown - self._clock()
        if left > 0 or self._probing:
            when = f"next try in {left:.0f} s" if left > 0 else "a try is under way"
            raise BackendError(
                "circuit_open", f"{self.name} failed {len(self._times)} times in a row ({self._last}); {when}"
            )
        self._probing = True
        return Permit(self, probe=True)

    def _failed(self, error: BackendError, *, probe: bool) -> None:
        now = self._clock()
        self._last = f"{error.kind}: {error.text}"
        while self._times and now - self._times[0] > self.window:
            self._times.popleft()
        self._times.append(now)
        # A call that was under way when the breaker opened tells nothing new.
        if probe or (self._opened is None and len(self._times) >= self.failures):
            self._opened = now

    def _worked(self) -> None:
        self._opened = None
        self._times.clear()


def _now() -> float:
    """The event loop's clock, or where none is running the one that event loops have but for tests."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return time.monotonic()


class Permit:
    """Leave to make one call. Only the first `settle` or `release` counts."""

    __slots__ = ("_breaker", "_open", "_probe")

    def __init__(self, breaker: Breaker, *, probe: bool) -> None:
        self._breaker, self._probe, self._open = breaker, probe, True

    def settle(self, error: BackendError | None = None) -> None:
        """Say how the call went. An error that is not deadly shows that the endpoint is alive."""
        if self._open:
            self.release()
            if error is not None and error.kind in TRIPS:
                self._breaker._failed(error, probe=self._probe)
            else:
                self._breaker._worked()

    def release(self) -> None:
        """Give the permit back without a word on the endpoint, as when the call was cancelled."""
        if self._open:
            self._open = False
            if self._probe:
                self._breaker._probing = False
