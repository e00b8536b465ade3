"""A clock that jumps: run asyncio code in virtual time, as fast as its work allows.

    >>> async def wait() -> float:
    ...     await asyncio.sleep(3600)
    ...     return asyncio.get_running_loop().time()
    >>> run_virtual(wait())
    3600.0

Whenever nothing is ready the clock jumps to the next timer. Nothing that waits for the outside world (sockets,
threads) may run in it.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine
from typing import TypeVar

Returned = TypeVar("Returned")


class _Jumping(selectors.SelectSelector):
    """A selector that never waits: it tells the loop how long it would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:  # nothing is ready and no timer is set: only the outside could go on
            return super().select(0.01)
        self.waited += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time starts at 0 and jumps from timer to timer."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._jumping.waited

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Wait for threads as long as it takes: a limit in virtual seconds would be over at once."""
        await super().shutdown_default_executor()


def run_virtual(work: Coroutine[object, object, Returned]) -> Returned:
    """Run a coroutine to its end in virtual time. No other event loop may be running in this thread."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)


def run_virtual_apart(work: Callable[[], Coroutine[object, object, Returned]]) -> Returned:
    """The same in a thread of its own, for where an event loop may be running; waits for it.

    >>> async def nothing() -> str:
    ...     return "done"
    >>> run_virtual_apart(nothing)
    'done'
    """
    found: list[Returned] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(run_virtual(work()))
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="motet-virtual")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]
