"""Workers: kept for the next piece of work, killed when they take too long, and plain about what is missing."""

from __future__ import annotations

import asyncio
import time

import pytest

from motet.errors import UsageError
from motet.score import worker
from motet.score.worker import ask_worker, stop_workers

ENDLESS = ["a" * 40 + "b", ["(a+)+$"]]


async def test_a_worker_is_used_again() -> None:
    """A second piece of work goes to the same process; after a time-out there is a new one."""
    stop_workers()
    assert await ask_worker("regex", ["abc", ["b"]], 10.0) is True
    (first,) = worker._IDLE["regex"]
    assert await ask_worker("regex", ["abc", ["x"]], 10.0) is False
    assert worker._IDLE["regex"] == [first]
    assert await ask_worker("regex", ENDLESS, 0.3) is None
    assert first._process.poll() is not None
    assert worker._IDLE["regex"] == []
    assert await ask_worker("regex", ["abc", ["b"]], 10.0) is True


async def test_a_worker_that_died_is_replaced() -> None:
    """A process that was killed from outside costs one answer at most, and raises nothing."""
    assert await ask_worker("regex", ["abc", ["b"]], 10.0) is True
    for each in worker._IDLE["regex"]:
        each._process.kill()
        each._process.wait()
    assert await ask_worker("regex", ["abc", ["b"]], 10.0) in (None, True)
    assert await ask_worker("regex", ["abc", ["b"]], 10.0) is True


async def test_the_loop_goes_on() -> None:
    """While a piece of work takes its time, other tasks run."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    began = time.monotonic()
    assert await ask_worker("regex", ENDLESS, 0.5) is None
    ticking.cancel()
    assert time.monotonic() - began < 10
    assert ticks > 5


def test_a_missing_library_is_told() -> None:
    """Without its library the worker says what to install; -S hides all that is installed."""
    with pytest.raises(UsageError, match=r"math_verify is not installed: pip install 'motet\[maths\]'"):
        worker._Worker("maths", ("-I", "-S"))
