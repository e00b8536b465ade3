r"""Work that may never end, in a process that can be killed.

`ask_worker` hands one piece of work to a child process and waits for a limited time. The child stays for the next
piece; one whose time was over is killed, and the next piece gets a new one. As many work side by side as there are
cores.

    >>> import asyncio
    >>> asyncio.run(ask_worker("regex", ["the answer is 42", [r"\d+"]], 5.0))
    True
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Final

from motet.errors import MotetError, UsageError

START_SECONDS: Final = 60.0
"""What a worker may take to be ready: importing sympy takes a second or two, and much longer from a cold disk."""
MEGABYTES: Final = 2048
"""Memory that a worker may have, where the system can limit it."""
_IDLE: Final[dict[str, list[_Worker]]] = {}
_LOCK: Final = threading.Lock()


async def ask_worker(kind: str, work: object, seconds: float) -> object:
    """Have a piece of work done.

    Args:
        kind: `maths` or `regex`: what `worker_child.py` can do.
        work: JSON data.
        seconds: how long it may take once it has begun.

    Returns:
        What the child says; None if the time was over or the child died of the work.

    Raises:
        UsageError: the library it needs is not installed.
        MotetError: the child can't be started.
    """
    return await asyncio.get_running_loop().run_in_executor(threads(), _do, kind, work, seconds)


@cache
def threads() -> ThreadPoolExecutor:
    """The threads in which children are waited for."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="motet-worker")


def _do(kind: str, work: object, seconds: float) -> object:
    with _LOCK:
        idle = _IDLE.setdefault(kind, [])
        worker = idle.pop() if idle else None
    worker = worker or _Worker(kind)
    answer = worker.ask(work, seconds)
    if worker.alive:
        with _LOCK:
            idle.append(worker)
    return None if answer is None else answer.get("found")


class _Worker:
    """A child process that does one kind of work, a line of JSON at a time.

    Args:
        kind: the work.
        flags: of Python; with -I neither the folder it is started in nor the environment decides what it imports.
    """

    def __init__(self, kind: str, flags: tuple[str, ...] = ("-I",)) -> None:
        child = Path(__file__).with_name("worker_child.py")
        self._process = subprocess.Popen(
            [sys.executable, *flags, str(child), kind, str(MEGABYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C at a terminal is for the program: it lets what is under way finish
        )
        self.alive = True
        ready = self._read(START_SECONDS)
        if ready is None or "missing" in ready:
            self.stop()
            if ready is not None:
                raise UsageError(f"{ready['missing']} is not installed: pip install 'motet[{kind}]'")
            raise MotetError(f"the worker for {kind} could not be started within {START_SECONDS:g} s; try again")

    def ask(self, work: object, seconds: float) -> dict[str, object] | None:
        """What the child makes of a piece of work; None, and the child is gone, if it took too long or died."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([seconds, work]).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            self.stop()
            return None
        return self._read(seconds)

    def _read(self, seconds: float) -> dict[str, object] | None:
        assert self._process.stdout is not None
        # Killing the child ends the read, on every system alike.
        alarm = threading.Timer(seconds, self._process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            line = self._process.stdout.readline()
        finally:
            alarm.cancel()
        if not line.endswith(b"\n") or self._process.poll() is not None:
            self.stop()
            return None
        found: dict[str, object] = json.loads(line)
        return found

    def stop(self) -> None:
        """Kill the child and take its pipes away."""
        self.alive = False
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what could not be written any more
                    pipe.close()
        self._process.wait()


@atexit.register
def stop_workers() -> None:
    """Kill the children that wait for work."""
    with _LOCK:
        for worker in [worker for idle in _IDLE.values() for worker in idle]:
            worker.stop()
        _IDLE.clear()
