"""The file of a journal: its schema, how an older one is brought up to it, and what is refused before it is touched.

`MIGRATIONS[n]` are the statements that make schema n + 1 of schema n; an empty file has schema 0. Schemas are only
ever added to: a statement that was released is never changed.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from motet.errors import MotetError

APPLICATION = 0x6D6F746A
"""What marks an SQLite file as a journal of motet's: "motj", in its header."""
BUSY = 30.0
"""Seconds to wait for another process that is writing."""
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE steps (id INTEGER PRIMARY KEY, backend TEXT NOT NULL, model TEXT NOT NULL, code TEXT NOT NULL, "
        "UNIQUE (backend, model, code))",
        # AUTOINCREMENT: the number of a run is never used again, since its lock goes by it.
        "CREATE TABLE runs (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, "
        "config TEXT NOT NULL, made REAL NOT NULL, owner TEXT NOT NULL DEFAULT '')",
        "CREATE TABLE calls (id INTEGER PRIMARY KEY, step INTEGER NOT NULL, key BLOB NOT NULL, run INTEGER, "
        "made REAL NOT NULL, request BLOB NOT NULL)",
        "CREATE INDEX calls_by_key ON calls (key, step)",
        "CREATE TABLE outcomes (call INTEGER PRIMARY KEY, made REAL NOT NULL, state TEXT NOT NULL, "
        "calls INTEGER NOT NULL, input INTEGER NOT NULL, cached INTEGER NOT NULL, output INTEGER NOT NULL, "
        "reasoning INTEGER NOT NULL, usd REAL NOT NULL, seconds REAL NOT NULL, saved_calls INTEGER NOT NULL, "
        "saved_usd REAL NOT NULL, body BLOB NOT NULL)",
        "CREATE TABLE records (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, task TEXT NOT NULL, arm TEXT NOT NULL, "
        "draw INTEGER NOT NULL, made REAL NOT NULL, payload BLOB NOT NULL, UNIQUE (run, task, arm, draw))",
    ),
)

USAGE = ("calls", "input", "cached", "output", "reasoning", "usd", "seconds", "saved_calls", "saved_usd")
"""The columns of an outcome that say what was used, in the order of `motet.Usage`."""
USED = ", ".join(f"o.{name}" for name in USAGE)
"""What the outcome `o` used."""
SUMS = ", ".join(f"coalesce(sum(o.{name}), 0)" for name in USAGE)
"""All that was used by the outcomes `o`."""

_TODO = {
    sqlite3.SQLITE_FULL: "the disk is full: make room",
    sqlite3.SQLITE_READONLY: "it can't be written: make it and its folder writable, or name another file",
    sqlite3.SQLITE_CANTOPEN: "it can't be opened: make it and its folder writable, or name another file",
    sqlite3.SQLITE_BUSY: f"another process has been writing for {BUSY:.0f} s: try again when it is done",
    sqlite3.SQLITE_CORRUPT: "it is damaged: move it away",
    sqlite3.SQLITE_NOTADB: "it is damaged: move it away",
}


def wrong(path: Path, why: str | BaseException) -> MotetError:
    """Why a journal can't be used, in a line that says what to do."""
    if isinstance(why, sqlite3.Error):
        todo = _TODO.get(getattr(why, "sqlite_errorcode", 0) & 0xFF)
        why = f"{todo} ({why})" if todo else f"{why}: move it away, or name another file"
    elif isinstance(why, OSError):
        why = f"{why.strerror or why}: make room for it, or name another file"
    return MotetError(f"the journal {path} can't be used: {why}")


@contextmanager
def telling(path: Path) -> Iterator[None]:
    """A block in which what SQLite or the system refuses is told as a `MotetError`."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise wrong(path, error) from error


def connect(path: Path, *, writes: bool) -> sqlite3.Connection:
    """A connection to a journal, in autocommit; the one that writes makes the file and brings it up to date.

    Raises:
        MotetError: the file is no journal, or a newer motet's, or damaged, or can't be opened. It is left as it was.
    """
    with telling(path):
        if writes:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                with path.open("rb") as file:
                    _look(path, file.read(100))
        connection = sqlite3.connect(path, timeout=BUSY, isolation_level=None, check_same_thread=False)
        try:
            if writes:
                _prepare(path, connection)
            else:
                connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
        return connection


def _look(path: Path, header: bytes) -> None:
    """Refuse a file by its header (see sqlite.org/fileformat.html), before SQLite itself opens and changes it."""
    if not header:
        return
    schema, version, application = (int.from_bytes(header[at : at + 4]) for at in (40, 60, 68))
    if header[:16] != b"SQLite format 3\0" or (application != APPLICATION and (application or schema)):
        raise wrong(path, "it is no journal of motet's: name another file")
    _known(path, version)


def _known(path: Path, version: int) -> None:
    if version > len(MIGRATIONS):
        raise wrong(path, f"its schema is {version}, and this motet knows {len(MIGRATIONS)}: use a newer motet")


def _prepare(path: Path, connection: sqlite3.Connection) -> None:
    until = time.monotonic() + BUSY
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:
            # Changing the mode of a new file does not wait for others that are doing the same.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = NORMAL")
    if _version(connection) < len(MIGRATIONS):
        with transaction(connection):
            for version in range(_version(connection), len(MIGRATIONS)):
                for statement in MIGRATIONS[version]:
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version + 1}")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
    _known(path, _version(connection))


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction that has the right to write from its first moment: it waits for others, and is never refused."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def pack(content: bytes) -> bytes:
    """`content` as it is stored: zlib at its fastest level, or a zero byte in front of what is too short for it."""
    packed = zlib.compress(content, 1) if len(content) >= 64 else b""
    return packed if packed and len(packed) <= len(content) else b"\0" + content


def unpack(stored: bytes) -> bytes:
    """What `pack` was given.

    Raises:
        zlib.error: it is damaged.
    """
    return stored[1:] if stored[:1] == b"\0" else zlib.decompress(stored)
