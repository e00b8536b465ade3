"""What lies in a journal."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from motet.journal.database import SUMS
from motet.message import Usage


class Stats(msgspec.Struct, frozen=True):
    """What lies in a journal.

    Args:
        path: its file.
        bytes: its size, with what is written and not yet moved into it.
        schema: the version of its schema.
        runs: named runs.
        records: what they have written down: graded answers, events.
        calls: calls that were begun.
        states: how those ended: `ok` (such a reply is served again), `abstained`, `cut`, `empty`, or `failed/` and
            the kind of failure.
        unfinished: calls that were begun and of which no end is known: they are under way, or were when a process was
            killed, and may have been paid.
        usage: what the ended ones used.
        first: when the oldest call was begun, in seconds since 1970; None if there is none.
        last: the same of the newest.
    """

    path: str
    bytes: int
    schema: int
    runs: int
    records: int
    calls: int
    states: dict[str, int]
    unfinished: int
    usage: Usage
    first: float | None
    last: float | None


def stats(path: Path, connection: sqlite3.Connection) -> Stats:
    """What lies there now, at one moment."""
    connection.execute("BEGIN")
    try:

        def one(statement: str) -> Any:
            return connection.execute(statement).fetchone()[0]

        return Stats(
            path=str(path),
            bytes=size(path),
            schema=one("PRAGMA user_version"),
            runs=one("SELECT count(*) FROM runs"),
            records=one("SELECT count(*) FROM records"),
            calls=one("SELECT count(*) FROM calls"),
            states=dict(connection.execute("SELECT state, count(*) FROM outcomes GROUP BY state ORDER BY state")),
            unfinished=one("SELECT count(*) FROM calls WHERE id NOT IN (SELECT call FROM outcomes)"),
            usage=Usage(*connection.execute(f"SELECT {SUMS} FROM outcomes o").fetchone()),
            first=one("SELECT (SELECT made FROM calls ORDER BY id LIMIT 1)"),
            last=one("SELECT (SELECT made FROM calls ORDER BY id DESC LIMIT 1)"),
        )
    finally:
        connection.execute("COMMIT")


def size(path: Path) -> int:
    """Bytes of a journal on the disk."""
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
