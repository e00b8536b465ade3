"""One value for each event loop: connections, semaphores and their like belong to the loop they were made in.

>>> import asyncio
>>> counters = PerLoop(list)
>>> async def twice() -> bool:
...     return counters.get() is counters.get()
>>> asyncio.run(twice())
True
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Makes a value the first time it is asked for in an event loop; values of closed loops are let go.

    Args:
        make: makes one; called inside the running loop.
        drop: told of each value whose loop was closed without `take`.
    """

    __slots__ = ("_drop", "_make", "_values")

    def __init__(self, make: Callable[[], T], drop: Callable[[T], None] | None = None) -> None:
        self._make, self._drop = make, drop
        self._values: dict[asyncio.AbstractEventLoop, T] = {}

    def get(self) -> T:
        """The running loop's value."""
        loop = asyncio.get_running_loop()
        value = self._values.get(loop)
        if value is None:
            self.sweep()
            value = self._values[loop] = self._make()
        return value

    def take(self) -> T | None:
        """The running loop's value, no longer kept here; None if it has none."""
        return self._values.pop(asyncio.get_running_loop(), None)

    def sweep(self, *, every: bool = False) -> None:
        """Let go of the values of closed loops, or of `every` loop."""
        for loop in list(self._values):
            if every or loop.is_closed():
                value = self._values.pop(loop)
                if self._drop is not None:
                    self._drop(value)
