"""The one writer of a process: a thread that takes whatever is queued and commits it together.

A lone row is written as soon as it comes. Under load more come while some are written, and share the next transaction;
all who wait for it in one event loop are woken at once.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from motet.journal.database import USAGE, connect, pack, transaction, wrong

T = TypeVar("T")
MOST = 4096
"""Rows of one transaction at most, so that other processes get their turn."""
Table = Literal["calls", "outcomes", "records"]
Step = tuple[str, str, str]
"""Backend, model and version of the code."""

# What is told twice (a record, an outcome) stays as it was told first.
_INSERT: dict[Table, str] = {
    "calls": "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)",
    "outcomes": f"INSERT OR IGNORE INTO outcomes VALUES ({', '.join('?' * (4 + len(USAGE)))})",
    "records": "INSERT OR IGNORE INTO records (run, task, arm, draw, made, payload) VALUES (?, ?, ?, ?, ?, ?)",
}


class Row:
    """A row to append, and the future of an event loop that is told when it is there.

    Its last column is `content`, which is packed by the writer: zlib lets go of the interpreter for a moment, which
    costs an event loop its turn. A call's first two, its number and that of its step, are found by the writer too.
    """

    __slots__ = ("content", "future", "loop", "step", "table", "values")

    def __init__(
        self,
        table: Table,
        values: tuple[object, ...],
        content: bytes,
        future: asyncio.Future[int],
        step: Step | None = None,
    ) -> None:
        self.table, self.values, self.content, self.step = table, values, content, step
        self.future, self.loop = future, future.get_loop()


class Work(Generic[T]):
    """Anything else that is to be done with the connection that writes, by itself."""

    __slots__ = ("do", "future")

    def __init__(self, do: Callable[[sqlite3.Connection], T]) -> None:
        self.do = do
        self.future: concurrent.futures.Future[T] = concurrent.futures.Future()


class Writer:
    """The thread and its connection.

    Args:
        path: the journal's file; it is made if it is not there.

    Raises:
        MotetError: it can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = connect(path, writes=True)
        self._steps: dict[Step, int] = {}
        self._queue: queue.SimpleQueue[Row | Work[Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="motet-journal", daemon=True)
        self._thread.start()

    def put(self, job: Row | Work[Any]) -> None:
        """Queue a job; jobs are done in the order in which they come."""
        self._queue.put(job)

    def stop(self) -> None:
        """Have the thread do what is queued, close the connection and end; does not wait for it."""
        self._queue.put(None)

    def close(self) -> None:
        """Stop, and wait for it."""
        self.stop()
        self._thread.join()

    def _run(self) -> None:
        while True:
            jobs = [self._queue.get()]
            with suppress(queue.Empty):
                while len(jobs) < MOST:
                    jobs.append(self._queue.get_nowait())
            for kind, group in groupby(jobs, type):
                if kind is Row:
                    rows: Sequence[Row] = list(group)  # type: ignore[arg-type]  # they are grouped by their type
                    _tell(zip(rows, self._append(rows), strict=True))
                elif kind is Work:
                    for work in group:
                        self._do(work)  # type: ignore[arg-type]
            if jobs[-1] is None:
                self._connection.close()
                return

    def _do(self, work: Work[Any]) -> None:
        try:
            work.future.set_result(work.do(self._connection))
        except (OSError, sqlite3.Error) as error:
            work.future.set_exception(wrong(self._path, error))
        except BaseException as error:
            work.future.set_exception(error)

    def _append(self, rows: Sequence[Row]) -> Sequence[int | BaseException]:
        """Append rows in one transaction; the number of each, or why it is not there."""
        try:
            packed = [pack(row.content) for row in rows]  # before anybody has to wait for this transaction
            with transaction(self._connection):
                return self._insert(rows, packed)
        except Exception as error:
            self._steps.clear()  # what was added to them is gone
            if len(rows) > 1 and getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
                # Where one is too large for what is left of the disk, the others may fit.
                return [found for row in rows for found in self._append([row])]
            known = isinstance(error, sqlite3.Error)
            return [wrong(self._path, error) if known else error for _ in rows]

    def _insert(self, rows: Sequence[Row], packed: Sequence[bytes]) -> list[int]:
        values: dict[Table, list[tuple[object, ...]]] = {"calls": [], "outcomes": [], "records": []}
        numbers = []
        number = self._last() if any(row.step is not None for row in rows) else 0
        for row, content in zip(rows, packed, strict=True):
            if row.step is None:
                values[row.table].append((*row.values, content))
            else:
                number += 1
                values["calls"].append((number, self._step(row.step), *row.values, content))
            numbers.append(number)
        for table, several in values.items():
            if several:
                self._connection.executemany(_INSERT[table], several)
        return numbers

    def _last(self) -> int:
        """The number of the newest call; nobody can add another while this transaction has the right to write."""
        return int(self._connection.execute("SELECT coalesce(max(id), 0) FROM calls").fetchone()[0])

    def _step(self, step: Step) -> int:
        found = self._steps.get(step)
        if found is None:
            self._connection.execute("INSERT OR IGNORE INTO steps (backend, model, code) VALUES (?, ?, ?)", step)
            select = "SELECT id FROM steps WHERE backend = ? AND model = ? AND code = ?"
            found = self._steps[step] = int(self._connection.execute(select, step).fetchone()[0])
        return found


def _tell(told: Iterable[tuple[Row, int | BaseException]]) -> None:
    """Wake those who wait, each event loop once."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[int], int | BaseException]]] = {}
    for row, result in told:
        loops.setdefault(row.loop, []).append((row.future, result))
    for loop, several in loops.items():
        with suppress(RuntimeError):  # the loop has ended; what was written stays
            loop.call_soon_threadsafe(_settle, several)


def _settle(several: Iterable[tuple[asyncio.Future[int], int | BaseException]]) -> None:
    for future, result in several:
        if future.done():
            continue
        if isinstance(result, BaseException):
            future.set_exception(result)
        else:
            future.set_result(result)
