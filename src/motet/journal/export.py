"""A journal as JSON lines: first the runs, then their records, then the calls, each oldest first."""

from __future__ import annotations

import sqlite3
import zlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from motet.journal.database import USED, unpack, wrong
from motet.journal.run import RunInfo
from motet.message import Usage

CHUNK = 500
"""Rows read at once: an export holds up nobody, and takes no more memory for a larger journal."""


class RunLine(RunInfo, frozen=True, tag="run"):
    """A named run."""


class RecordLine(msgspec.Struct, frozen=True, tag="record"):
    """A record of a run; a payload that is not JSON is text in Base64."""

    run: str
    task: str
    arm: str
    draw: int
    made: float
    payload: msgspec.Raw


class CallLine(msgspec.Struct, frozen=True, tag="call"):
    """A call; `state` is null if no end is known, and `outcome` is the reply, or the failure, without the usage."""

    key: str
    backend: str
    model: str
    code: str
    run: str | None
    made: float
    request: msgspec.Raw
    state: str | None
    ended: float | None
    outcome: msgspec.Raw | None
    usage: Usage | None


def lines(path: Path, connection: sqlite3.Connection) -> Iterator[bytes]:
    """The lines, each with its line end.

    Raises:
        MotetError: a row is damaged.
    """
    for values in _rows(connection, "SELECT id, name, kind, config, made FROM runs WHERE id > ?"):
        yield _line(RunLine(*values))
    statement = (
        "SELECT e.id, r.name, e.task, e.arm, e.draw, e.made, e.payload "
        "FROM records e JOIN runs r ON r.id = e.run WHERE e.id > ?"
    )
    for run, task, arm, draw, made, payload in _rows(connection, statement):
        yield _line(RecordLine(run, task, arm, draw, made, _payload(_whole(path, payload))))
    statement = (
        f"SELECT c.id, c.key, s.backend, s.model, s.code, r.name, c.made, c.request, o.state, o.made, o.body, {USED} "
        "FROM calls c JOIN steps s ON s.id = c.step LEFT JOIN runs r ON r.id = c.run "
        "LEFT JOIN outcomes o ON o.call = c.id WHERE c.id > ?"
    )
    for key, backend, model, code, name, made, request, state, ended, body, *used in _rows(connection, statement):
        outcome = None if body is None else msgspec.Raw(_whole(path, body))
        usage = None if body is None else Usage(*used)
        asked = msgspec.Raw(_whole(path, request))
        yield _line(CallLine(key.hex(), backend, model, code, name, made, asked, state, ended, outcome, usage))


def _rows(connection: sqlite3.Connection, statement: str) -> Iterator[list[Any]]:
    """The rows of a statement after their number, which it takes, chunk by chunk."""
    last = 0
    while True:
        rows = connection.execute(f"{statement} ORDER BY 1 LIMIT {CHUNK}", (last,)).fetchall()
        for last, *values in rows:  # noqa: B007  (the last one is where the next chunk begins)
            yield values
        if len(rows) < CHUNK:
            return


def _whole(path: Path, stored: bytes) -> bytes:
    try:
        return unpack(stored)
    except zlib.error as error:
        raise wrong(path, f"a row of it is damaged ({error}): move it away") from error


def _payload(content: bytes) -> msgspec.Raw:
    try:
        msgspec.json.decode(content)
        content = msgspec.json.format(content, indent=-1)  # on one line
    except (msgspec.DecodeError, UnicodeError):
        content = msgspec.json.encode(b64encode(content).decode())
    return msgspec.Raw(content)


def _line(line: msgspec.Struct) -> bytes:
    return msgspec.json.encode(line) + b"\n"
