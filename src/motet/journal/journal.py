"""The journal: what every call was, written down before it is made; what came of it and what it cost, after.

It is the cache (a reply that is whole and usable is never asked for again), the ledger (what a run has spent, what was
under way when a process was killed) and the place of named runs and what they write down, in one SQLite file that
processes share. Nothing in it is ever changed, only added, until it is pruned.

    >>> import asyncio, tempfile
    >>> from motet.journal.call import Call
    >>> from motet.message import Message, Reply, Request, Usage
    >>> folder = tempfile.TemporaryDirectory()
    >>> call = Call(Request("m", (Message("user", "What is 17 * 23?"),)), backend="m", code="1")
    >>> async def pay(journal: Journal) -> None:
    ...     intent = await journal.begin(call)
    ...     await journal.finish(intent, Reply("391", usage=Usage(calls=1, usd=0.01)))
    >>> with Journal(f"{folder.name}/journal.sqlite") as journal:
    ...     asyncio.run(pay(journal))
    ...     journal.known(call.request.key, "m", "1").text, journal.spent().usd, journal.unfinished()
    ('391', 0.01, [])
    >>> folder.cleanup()
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary, finalize

import msgspec

from motet.errors import BackendError, Failure, MotetError, UsageError
from motet.journal import export, pruning
from motet.journal.call import Call
from motet.journal.database import SUMS, USED, connect, telling, transaction, unpack, wrong
from motet.journal.pruning import Pruned
from motet.journal.run import OpenRun, Record, RunInfo, lock, myself
from motet.journal.stats import Stats, size, stats
from motet.journal.writer import Row, Step, Table, Work, Writer
from motet.message import Reply, Request, Usage, encoded
from motet.paths import state_dir

T = TypeVar("T")
NOTHING = Usage()


class Writes(Protocol):
    """Whatever bytes are written to."""

    def write(self, content: bytes, /) -> object: ...


def default_path() -> Path:
    """The journal of this user: the calls of `ask` and `bench`, and their runs."""
    return state_dir() / "journal.sqlite"


class Journal:
    """A journal in a file. Its methods may be called from any thread; those that give a future, in an event loop.

    The others wait: reading takes microseconds, opening a run and what is under housekeeping as long as other processes
    write. What was waited for survives a kill at any moment; a power failure may take the last seconds. Around a fork
    the journal is closed, and opens by itself on both sides.

    Args:
        path: the file; it and its folder are made if they are not there.
        now: whether it is opened at once; else when something is first asked of it, which then raises the same.

    Raises:
        MotetError: the file is no journal, or a newer motet's, or damaged, or can't be opened. It is left as it was.
    """

    def __init__(self, path: str | os.PathLike[str], *, now: bool = True) -> None:
        self.path = Path(path).absolute()
        self._writing, self._reading = threading.Lock(), threading.RLock()
        self._writer: Writer | None = None
        self._reader: sqlite3.Connection | None = None
        self._runs: dict[str, int] = {}
        if now:
            with self._writing:
                self._opened()
        _journals.add(self)

    @classmethod
    def shared(cls, path: str | os.PathLike[str]) -> Journal:
        """The one journal that this process has of a file, as long as anybody uses it; not opened yet if it is new."""
        path = Path(path).absolute()
        with _fork:
            return _shared.get(path) or _shared.setdefault(path, cls(path, now=False))

    def __repr__(self) -> str:
        return f"Journal({str(self.path)!r})"

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is queued and close the file; what is asked of this journal later opens it again."""
        with self._writing, self._reading:
            self._close()

    # ---- calls

    def known(self, key: str, backend: str, code: str = "", *, unusable: bool = False) -> Reply | None:
        """The first usable reply to a call, with the usage it had when it was made; None if there is none.

        Args:
            key: the request's (see `motet.Request`): content, model, seed and number of the draw.
            backend: the backend's name.
            code: what else the reply depends on.
            unusable: whether one will do as well that had nothing to say, or was cut off at the length that was asked
                for; but never one that a budget cut short.

        Raises:
            MotetError: the file is damaged or can't be read.
        """
        rows = self._read(_ENDED if unusable else _KNOWN, bytes.fromhex(key), backend, code)
        if not rows:
            return None
        body, *usage = rows[0]
        reply = self._decoded(body, Reply)
        return msgspec.structs.replace(reply, usage=Usage(*usage))

    def begin(self, call: Call) -> asyncio.Future[int]:
        """Write down that a call is about to be made; it may be made when the future is done.

        Returns:
            A future of the intent, which `finish` or `fail` wants.

        Raises:
            UsageError: the run was never opened.
            MotetError: (from the future) it can't be written, so the call is better not made.
        """
        request = msgspec.structs.replace(call.request, deadline=None, allowance=None)
        run = self._run(call.run) if call.run else None
        key = bytes.fromhex(call.request.key)
        return self._append("calls", (key, run, time.time()), encoded(request), call.step)

    def finish(self, intent: int, reply: Reply, *, short: bool = False) -> asyncio.Future[int]:
        """Write down what a call gave and what it used. It is queued at once, also if nobody waits for the future.

        Args:
            intent: the call's.
            reply: what it gave.
            short: whether it was granted fewer tokens than were asked for, so that a cut says nothing of the model.

        Raises:
            MotetError: (from the future) it can't be written.
        """
        body = encoded(msgspec.structs.replace(reply, usage=Usage()))
        state = "short" if short and reply.state == "cut" else reply.state
        return self._outcome(intent, state, body, reply.usage)

    def fail(self, intent: int, error: BackendError, usage: Usage = NOTHING) -> asyncio.Future[int]:
        """Write down how a call failed and what it used all the same; it will be made again when it is asked for.

        Raises:
            MotetError: (from the future) it can't be written.
        """
        failure = Failure("", error.kind, error.text, error.status, error.attempts)
        return self._outcome(intent, f"failed/{error.kind}", encoded(failure), usage)

    def unfinished(self, run: str = "") -> list[Call]:
        """Calls that were begun and of which no end is known, oldest first, of one run or of all.

        They are under way, or were when a process was killed: upstream may want to be paid for them.
        """
        rows = self._read(_UNFINISHED, self._run(run) if run else None)
        return [
            Call(self._decoded(request, Request), backend, code, name or "") for request, backend, code, name in rows
        ]

    def spent(self, run: str = "", since: float = 0.0) -> Usage:
        """What calls used that have ended, failed ones included.

        Args:
            run: only the calls that this run paid for.
            since: only those that ended since then, in seconds since 1970.
        """
        (sums,) = self._read(_SPENT, self._run(run) if run else None, since)
        return Usage(*sums)

    def typical(self, backend: str) -> Usage | None:
        """What a call to a backend that was answered used on average, in whole tokens; None if there was none."""
        rows = self._read(_TYPICAL, backend)
        if not rows or rows[0][0] is None:
            return None
        given, output, usd, seconds = rows[0]
        return Usage(1, input=round(given), output=round(output), usd=usd, seconds=seconds)

    # ---- runs

    def open_run(self, name: str, kind: str, config: str = "", *, join: bool = False) -> OpenRun:
        """Begin a named run, or go on with it.

        Args:
            name: its name; any text.
            kind: what makes it.
            config: how it is asked for. A run that is there already keeps the one it was opened with first: compare.
            join: go on with it also if another process does so too.

        Raises:
            UsageError: another process, or another part of this one, has it open; says which.
        """

        def find(connection: sqlite3.Connection) -> tuple[int, RunInfo, str, bool]:
            with transaction(connection):
                values = (name, kind, config, time.time(), "" if join else myself())
                insert = "INSERT OR IGNORE INTO runs (name, kind, config, made, owner) VALUES (?, ?, ?, ?, ?)"
                new = connection.execute(insert, values).rowcount == 1
                select = "SELECT id, kind, config, made, owner FROM runs WHERE name = ?"
                number, kind_, config_, made, owner = connection.execute(select, (name,)).fetchone()
                return number, RunInfo(name, kind_, config_, made), owner, new

        def own(connection: sqlite3.Connection) -> None:
            with transaction(connection):
                connection.execute("UPDATE runs SET owner = ? WHERE id = ?", (myself(), number))

        if not name:
            raise UsageError("a run without a name can't be gone on with: give it one")
        number, info, owner, new = self._do(find)
        held = lock(self.path, number)
        if held is None:
            if not join:
                _, _, owner, _ = self._do(find)
                who = owner or "another process"
                raise UsageError(
                    f"the run {name!r} is being carried on by {who}: wait for it, stop it, or join it (--join)"
                )
        elif not new:
            self._do(own)
        self._runs[name] = number
        return OpenRun(info, new, held)

    def record(self, run: str, task: str, arm: str, draw: int, payload: bytes) -> asyncio.Future[int]:
        """Write down a record of a run; the same task, arm and draw again changes nothing.

        Raises:
            UsageError: the run was never opened.
            MotetError: (from the future) it can't be written.
        """
        return self._append("records", (self._run(run), task, arm, draw, time.time()), payload)

    def recorded(self, run: str, task: str, arm: str, draw: int) -> bytes | None:
        """What was written down of one result of a run; None if nothing was."""
        rows = self._read(_RECORDED, self._run(run), task, arm, draw)
        return self._unpacked(rows[0][0]) if rows else None

    def records(self, run: str, arm: str | None = None) -> Iterator[Record]:
        """The results of a run, in the order they were written; those of one arm where it is named."""
        number, last = self._run(run), 0
        while rows := self._read(_RECORDS, number, last, arm):
            for _, task, whose, draw, made, payload in rows:
                yield Record(task, whose, draw, self._unpacked(payload), made)
            last = rows[-1][0]

    def newest(self, kind: str) -> str | None:
        """The name of the run of a kind to which something was written last."""
        rows = self._read(_NEWEST, kind)
        return str(rows[0][0]) if rows else None

    def counts(self, run: str) -> dict[str, int]:
        """How many results each arm of a run has."""
        return dict(self._read("SELECT arm, count(*) FROM records WHERE run = ? GROUP BY arm", self._run(run)))

    def runs(self, kind: str = "", *, recorded: bool = False) -> list[RunInfo]:
        """Every run, in the order in which they were opened first.

        Args:
            kind: only those of this kind.
            recorded: only those of which something was written down.
        """
        return [RunInfo(*values) for values in self._read(_RUNS, kind, not recorded)]

    def limit(self, kind: str, keep: int) -> int:
        """Delete the oldest runs of a kind, with their records, but for the newest so many and those that are open.

        What they have paid for stays: known, and in the ledger.

        Returns:
            How many were deleted.
        """

        def work(connection: sqlite3.Connection) -> int:
            return pruning.limit(self.path, connection, kind, keep)

        found = self._do(work)
        self._runs.clear()
        return found

    def remove(self, run: str) -> int:
        """Delete a run with its results, of which it gives the number; its calls stay known.

        Raises:
            UsageError: there is no such run, or somebody carries on with it.
        """
        self._run(run)
        runs, records = self._do(lambda connection: pruning.remove(self.path, connection, run))
        if not runs:
            raise UsageError(f"the run {run!r} is being carried on: wait for it, or stop it")
        self._runs.pop(run, None)
        return records

    # ---- housekeeping

    def stats(self) -> Stats:
        """What lies in the file."""
        with self._connection() as connection:
            return stats(self.path, connection)

    def vacuum(self) -> tuple[int, int]:
        """Give back to the disk what pruning left free.

        Returns:
            Bytes before and after.

        Raises:
            MotetError: there is no room for the copy that this makes, or another process is writing.
        """

        def work(connection: sqlite3.Connection) -> tuple[int, int]:
            before = size(self.path)
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return before, size(self.path)

        return self._do(work)

    def prune(self, *, older_than: float | None = None, keep: int | None = None) -> Pruned:
        """Delete what is old: runs with their records, and calls with their replies.

        Args:
            older_than: what is older than so many seconds goes; all if None.
            keep: but the newest so many runs of each kind stay, and every call made since the oldest of those was
                opened.

        Raises:
            UsageError: neither is given, or one makes no sense.
        """
        if older_than is None and keep is None:
            raise UsageError("what is to be pruned: say how old it is, or how many runs are to be kept")
        if not (older_than or 0) >= 0 or not (keep or 0) >= 0:
            raise UsageError(f"pruning what is older than {older_than} s but for {keep} runs makes no sense")
        before = time.time() - (older_than or 0)

        found = self._do(lambda connection: pruning.prune(self.path, connection, before, keep or 0))
        self._runs.clear()
        return found

    def export(self, stream: Writes) -> int:
        """Write everything as JSON lines (see `docs/design/journal.md`); how many there are."""
        count = 0
        with telling(self.path), self._connection() as connection:
            found = export.lines(self.path, connection)
        while True:
            with self._connection():
                line = next(found, None)
            if line is None:
                return count
            stream.write(line)
            count += 1

    # ---- inside

    def _outcome(self, intent: int, state: str, body: bytes, usage: Usage) -> asyncio.Future[int]:
        return self._append("outcomes", (intent, time.time(), state, *msgspec.structs.astuple(usage)), body)

    def _append(
        self, table: Table, values: tuple[object, ...], content: bytes, step: Step | None = None
    ) -> asyncio.Future[int]:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        with self._writing:
            self._opened().put(Row(table, values, content, future, step))
        return future

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Something to be done with the connection that writes; waits for it."""
        job = Work(work)
        with self._writing:
            self._opened().put(job)
        return job.future.result()

    def _opened(self) -> Writer:
        if self._writer is None:
            self._writer = Writer(self.path)
            finalize(self, self._writer.stop).atexit = False  # should nobody close it; at exit `_close_all` waits
        return self._writer

    def _opened_reader(self) -> sqlite3.Connection:
        if self._reader is None:
            self._reader = connect(self.path, writes=False)
            finalize(self, self._reader.close).atexit = False
        return self._reader

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """The connection that reads, for as long as the block lasts."""
        if self._reader is None:
            with self._writing:
                self._opened()
        with self._reading, telling(self.path):
            yield self._opened_reader()

    def _read(self, statement: str, *values: object) -> list[Any]:
        if self._reader is None:
            with self._writing:  # before the other lock, as everywhere
                self._opened()  # makes the file, or brings it up to date
        with self._reading:
            try:
                return self._opened_reader().execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise wrong(self.path, error) from error

    def _run(self, name: str) -> int:
        number = self._runs.get(name)
        if number is None:
            rows = self._read("SELECT id FROM runs WHERE name = ?", name)
            if not rows:
                raise UsageError(f"the journal {self.path} has no run {name!r}: open it first")
            number = self._runs[name] = int(rows[0][0])
        return number

    def _unpacked(self, stored: bytes) -> bytes:
        try:
            return unpack(stored)
        except zlib.error as error:
            raise self._damaged(error) from error

    def _decoded(self, stored: bytes, kind: type[T]) -> T:
        content = self._unpacked(stored)
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> MotetError:
        return wrong(self.path, f"a row of it is damaged ({error}): move it away")

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._reader is not None:
            self._reader.close()
            self._reader = None


_KNOWN = (
    f"SELECT o.body, {USED} FROM calls c JOIN steps s ON s.id = c.step "
    "JOIN outcomes o ON o.call = c.id "
    "WHERE c.key = ? AND s.backend = ? AND s.code = ? AND o.state = 'ok' ORDER BY c.id LIMIT 1"
)
_ENDED = _KNOWN.replace("= 'ok'", "IN ('ok', 'cut', 'empty', 'abstained')")
_UNFINISHED = (
    "SELECT c.request, s.backend, s.code, r.name FROM calls c JOIN steps s ON s.id = c.step "
    "LEFT JOIN runs r ON r.id = c.run LEFT JOIN outcomes o ON o.call = c.id "
    "WHERE o.call IS NULL AND (?1 IS NULL OR c.run = ?1) ORDER BY c.id"
)
_SPENT = (
    f"SELECT {SUMS} FROM outcomes o JOIN calls c ON c.id = o.call WHERE (?1 IS NULL OR c.run = ?1) AND o.made >= ?2"
)
_NEWEST = (
    "SELECT r.name FROM runs r WHERE r.kind = ? AND EXISTS (SELECT 1 FROM records e WHERE e.run = r.id) "
    "ORDER BY (SELECT max(e.id) FROM records e WHERE e.run = r.id) DESC LIMIT 1"
)
_TYPICAL = (
    "SELECT avg(o.input), avg(o.output), avg(o.usd), avg(o.seconds) FROM outcomes o JOIN calls c ON c.id = o.call "
    "JOIN steps s ON s.id = c.step WHERE s.backend = ? AND o.state = 'ok'"
)
_RECORDED = "SELECT payload FROM records WHERE run = ? AND task = ? AND arm = ? AND draw = ?"
_RECORDS = (
    "SELECT id, task, arm, draw, made, payload FROM records WHERE run = ?1 AND id > ?2 AND (?3 IS NULL OR arm = ?3) "
    "ORDER BY id LIMIT 500"
)

_RUNS = (
    "SELECT name, kind, config, made FROM runs WHERE (?1 = '' OR kind = ?1) "
    "AND (?2 OR EXISTS (SELECT 1 FROM records WHERE run = runs.id)) ORDER BY id"
)

_journals: WeakSet[Journal] = WeakSet()
_shared: WeakValueDictionary[Path, Journal] = WeakValueDictionary()
_forking: list[Journal] = []
_fork = threading.Lock()


def _before_fork() -> None:
    # SQLite's locks and memory may not be carried over a fork (sqlite.org/howtocorrupt.html, 2.7), so nothing is open
    # while it happens.
    _fork.acquire()
    for journal in list(_journals):
        journal._writing.acquire()
        journal._reading.acquire()
        journal._close()
        _forking.append(journal)


def _after_fork() -> None:
    while _forking:
        journal = _forking.pop()
        journal._reading.release()
        journal._writing.release()
    _fork.release()


@atexit.register
def _close_all() -> None:
    for journal in list(_journals):
        journal.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
