"""Pruning: what is older than a moment goes, a little at a time, so that other processes can write in between.

What a kept run paid for stays whole, however old it is; so does a run that some process has open.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import msgspec

from motet.journal.database import transaction
from motet.journal.run import lock, lock_file

STEP = 5_000
"""Calls deleted in one transaction."""


class Pruned(msgspec.Struct, frozen=True):
    """How many runs, records of theirs, and calls were deleted."""

    runs: int
    records: int
    calls: int


_NEWER = "(SELECT count(*) FROM runs n WHERE n.kind = r.kind AND n.id > r.id)"
"""How many runs of its kind were opened after the run `r`."""


def prune(path: Path, connection: sqlite3.Connection, before: float, keep: int) -> Pruned:
    """Delete what is older than a moment, in seconds since 1970, but for the newest so many runs of each kind."""
    kept = f"SELECT made FROM runs r WHERE {_NEWER} < ?"
    since = min([before, *(float(made) for (made,) in connection.execute(kept, (keep,)))])
    runs, records = _forget(path, connection, f"SELECT id FROM runs r WHERE made < ? AND {_NEWER} >= ?", before, keep)
    # The newest call stays, so that its number is not used again for another.
    old = (
        "SELECT id FROM calls WHERE id > ? AND made < ? AND id < (SELECT max(id) FROM calls) "
        "AND (run IS NULL OR run NOT IN (SELECT id FROM runs)) ORDER BY id LIMIT ?"
    )
    calls = last = 0
    while True:
        with transaction(connection):
            numbers = connection.execute(old, (last, since, STEP)).fetchall()
            connection.executemany("DELETE FROM outcomes WHERE call = ?", numbers)
            connection.executemany("DELETE FROM calls WHERE id = ?", numbers)
        if not numbers:
            return Pruned(runs, records, calls)
        calls += len(numbers)
        last = numbers[-1][0]


def limit(path: Path, connection: sqlite3.Connection, kind: str, keep: int) -> int:
    """Delete the oldest runs of a kind but for the newest so many; how many there were."""
    older = "SELECT id FROM runs WHERE kind = ? ORDER BY id DESC LIMIT -1 OFFSET ?"  # a negative limit is none
    return _forget(path, connection, older, kind, keep)[0]


def remove(path: Path, connection: sqlite3.Connection, name: str) -> tuple[int, int]:
    """Delete one run, unless it is open; how many there were, and how many results of it."""
    return _forget(path, connection, "SELECT id FROM runs WHERE name = ?", name)


def _forget(path: Path, connection: sqlite3.Connection, which: str, *values: object) -> tuple[int, int]:
    """Delete runs that nobody has open, with their records; how many there were of both."""
    runs = records = 0
    for (number,) in connection.execute(which, values).fetchall():
        held = lock(path, number)
        if held is None:
            continue
        try:
            with transaction(connection):
                records += connection.execute("DELETE FROM records WHERE run = ?", (number,)).rowcount
                runs += connection.execute("DELETE FROM runs WHERE id = ?", (number,)).rowcount
        finally:
            held.close()
        lock_file(path, number).unlink(missing_ok=True)  # this number never comes again
    return runs, records
