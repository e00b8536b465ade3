"""Virtual time: hours pass at once, in order."""

from __future__ import annotations

import asyncio
import time

import pytest

from motet.clock import run_virtual


def test_time_jumps_in_order() -> None:
    """Sleepers wake in the order of their times, and no real time passes."""
    woken: list[tuple[int, float]] = []

    async def sleeper(hours: int) -> None:
        await asyncio.sleep(hours * 3600)
        woken.append((hours, asyncio.get_running_loop().time()))

    async def work() -> None:
        await asyncio.gather(*map(sleeper, (3, 1, 2)))

    began = time.monotonic()
    run_virtual(work())
    assert woken == [(1, 3600), (2, 7200), (3, 10800)]
    assert time.monotonic() - began < 1


def test_timeouts_are_virtual_too() -> None:
    """A timeout fires at its time."""

    async def work() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(100):
                await asyncio.sleep(101)
        return asyncio.get_running_loop().time()

    assert run_virtual(work()) == 100


def test_a_thread_is_waited_for() -> None:
    """With no timer set, what comes from outside still arrives."""

    async def work() -> str:
        return await asyncio.to_thread(lambda: "from outside")

    assert run_virtual(work()) == "from outside"


def test_errors_come_out() -> None:
    """What the coroutine raises is raised."""

    async def work() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        run_virtual(work())
