"""Named runs, and the lock that lets one process at a time carry on with each.

The lock is one that the system holds: an empty SQLite file in an exclusive transaction. So it ends with its process,
however that ends, on every system, and no process has to guess whether another is still alive.
"""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path
from types import TracebackType

import msgspec

from motet.journal.database import telling


class RunInfo(msgspec.Struct, frozen=True):
    """A named run, as it was opened first.

    Args:
        name: unique in its journal.
        kind: what made it: `ask` or `bench`, say.
        config: how it was asked for, as text; whoever goes on with it compares.
        made: when it was first opened, in seconds since 1970.
    """

    name: str
    kind: str
    config: str
    made: float


class Record(msgspec.Struct, frozen=True):
    """What a run has written down: a bench each graded answer, an `ask` the events of its trace, a few together.

    Args:
        task: what was asked, or what it is.
        arm: who was asked.
        draw: the how manieth time, from 0.
        payload: whatever the run keeps of it; JSON is exported as it is.
        made: when, in seconds since 1970.
    """

    task: str
    arm: str
    draw: int
    payload: bytes
    made: float


class OpenRun:
    """A named run that this process carries on with, until it is closed or the process ends.

    Attributes:
        info: the run, as it was opened first.
        new: whether that was now.
    """

    __slots__ = ("_lock", "info", "new")

    def __init__(self, info: RunInfo, new: bool, lock: sqlite3.Connection | None) -> None:
        self.info, self.new, self._lock = info, new, lock

    def close(self) -> None:
        """Leave the run to others."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> OpenRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def myself() -> str:
    """This process, as another is told of it."""
    return f"process {os.getpid()} on {platform.node() or 'this host'}"


def lock(journal: Path, number: int) -> sqlite3.Connection | None:
    """The lock of a run, until it is closed; None if another has it."""
    file = lock_file(journal, number)
    with telling(journal):
        file.parent.mkdir(exist_ok=True)
        held = sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            held.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            held.close()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                return None
            raise
    return held


def lock_file(journal: Path, number: int) -> Path:
    """Where the lock of a run lies.

    It stays when the run is closed: to delete a lock that others may be opening would let two of them in.
    """
    return journal.with_name(f"{journal.name}-runs") / f"{number}.lock"
