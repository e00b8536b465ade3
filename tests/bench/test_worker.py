"""Workers: kept for the next piece of work, killed when they take too long, and plain about what is missing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

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


@pytest.mark.skipif(sys.platform != "linux", reason="its processes are not to be looked at in this way")
def test_work_ends_though_nobody_is_left_to_end_it() -> None:
    """When its program is killed in the middle of endless work, a worker ends soon after its time."""
    program = (
        "import asyncio, sys, motet.score.worker as worker\n"
        "asyncio.run(worker.ask_worker('regex', ['abc', ['b']], 9))\n"
        "print(worker._IDLE['regex'][0]._process.pid, flush=True)\n"
        f"asyncio.run(worker.ask_worker('regex', {ENDLESS!r}, 0.5))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(0.2)
    parent.kill()
    parent.communicate()
    ends = time.monotonic() + 20
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        while time.monotonic() < ends:
            os.kill(child, 0)
            if " Z " in Path(f"/proc/{child}/stat").read_text():  # it has ended, and nobody wants to know
                return
            time.sleep(0.05)
        os.kill(child, 9)
        raise AssertionError("it goes on")
