"""A backend that asks only once: replies are kept in a store, and calls of one key share one flight.

    >>> import asyncio
    >>> from motet.backends.scripted import Scripted
    >>> from motet.message import Message
    >>> model = Scripted("hello")
    >>> cached = Cached(model, Memory())
    >>> request = Request("scripted", (Message("user", "hi"),))
    >>> [asyncio.run(cached.complete(request)).usage.calls for _ in range(2)]
    [1, 0]
    >>> len(model.requests)
    1

The key is `Request.key`: content, seed and number of the draw. Kept are only replies that are whole and usable: never
an error, never one that was cut or is empty, and no abstention, which is quick to have again. A reply that was known,
or that another caller's call brought, has a usage without calls and says what it saved; a run sees it beforehand by
`lookup` and reserves nothing for it.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
import warnings
import zlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import msgspec

from motet.backend import checked, deltas
from motet.backends.wrapper import Wrapper, closing
from motet.errors import BackendError, MotetError, UsageError
from motet.message import Delta, Reply, Request


class Store(Protocol):
    """Where replies are kept by key. Both calls are quick: they run on the event loop."""

    def get(self, key: str) -> Reply | None:
        """The reply that was put there, if there is one."""
        ...

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply; the same key again is the same reply."""
        ...


class Memory:
    """A store in memory: the `size` replies used last.

    Raises:
        UsageError: a size below 1.
    """

    def __init__(self, size: int = 4096) -> None:
        if size < 1:
            raise UsageError(f"a cache of {size} replies makes no sense: give 1 or more")
        self.size = size
        self._replies: OrderedDict[str, Reply] = OrderedDict()

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, key: str) -> Reply | None:
        """The reply of this key, which is now the one used last."""
        reply = self._replies.get(key)
        if reply is not None:
            self._replies.move_to_end(key)
        return reply

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply, and forget the one that was not used for longest when there are too many."""
        self._replies[key] = reply
        self._replies.move_to_end(key)
        if len(self._replies) > self.size:
            self._replies.popitem(last=False)


APPLICATION = 0x6D6F7465
"""What marks an SQLite file as a cache of motet's: "mote", in its header."""
VERSION = 1
"""The schema that this motet reads and writes."""
BUSY = 30.0
"""Seconds to wait for another process that is writing."""
_SCHEMA = "CREATE TABLE replies (key TEXT PRIMARY KEY, reply BLOB NOT NULL, made REAL NOT NULL)"
_inherited: list[sqlite3.Connection] = []


class File:
    """A store in an SQLite file, which processes and threads may share.

    A killed process loses nothing that was put; a power failure may lose the last replies, and nothing else.

    Args:
        path: the file; it and its folder are made if they are not there.

    Raises:
        MotetError: the file is no cache of motet's, or a newer motet's, or damaged, or can't be opened. It is left
            as it was.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._lock = threading.Lock()
        self._connection, self._process = self._open(), os.getpid()

    def __repr__(self) -> str:
        return f"File({str(self.path)!r})"

    def __len__(self) -> int:
        return int(self._do("SELECT count(*) FROM replies")[0][0])

    def get(self, key: str) -> Reply | None:
        """The reply of this key, if there is one.

        Raises:
            MotetError: the file is damaged or can't be read.
        """
        rows = self._do("SELECT reply FROM replies WHERE key = ?", key)
        if not rows:
            return None
        try:
            return msgspec.msgpack.decode(zlib.decompress(rows[0][0]), type=Reply)
        except (zlib.error, msgspec.DecodeError, TypeError) as error:
            raise self._wrong(f"its reply {key} is damaged: {error}") from error

    def put(self, key: str, reply: Reply) -> None:
        """Keep a reply.

        Raises:
            MotetError: it can't be written: the disk is full, the file read-only, or held by another process.
        """
        body = zlib.compress(msgspec.msgpack.encode(reply), 1)
        # In a transaction of its own a statement that writes takes the lock before it reads, as BEGIN IMMEDIATE
        # does, so it waits for other writers and can't be refused half-way.
        self._do("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", key, body, time.time())

    def close(self) -> None:
        """Close the file; what is asked of this store later opens it again."""
        with self._lock:
            self._connection.close()
            self._process = 0

    def _do(self, statement: str, *values: object) -> list[Any]:
        with self._lock:
            if self._process != os.getpid():
                if self._process:
                    _inherited.append(self._connection)  # of the process that forked: not ours to use, nor to close
                self._connection, self._process = self._open(), os.getpid()
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._wrong(str(error)) from error

    def _open(self) -> sqlite3.Connection:
        connection = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                with self.path.open("rb") as file:
                    self._look(file.read(100))
            connection = sqlite3.connect(self.path, timeout=BUSY, isolation_level=None, check_same_thread=False)
            self._prepare(connection)
        except (OSError, sqlite3.Error) as error:
            if connection is not None:
                connection.close()
            raise self._wrong(str(error)) from error
        except MotetError:
            if connection is not None:
                connection.close()
            raise
        return connection

    def _look(self, header: bytes) -> None:
        """Refuse a file by its header (see sqlite.org/fileformat.html), before SQLite itself opens and changes it."""
        if not header:
            return
        schema, version, application = (int.from_bytes(header[at : at + 4]) for at in (40, 60, 68))
        if header[:16] != b"SQLite format 3\0" or (application != APPLICATION and (application or schema)):
            raise self._wrong("it is not a cache of motet's")
        self._known(version)

    def _known(self, version: int) -> None:
        if version > VERSION:
            raise self._wrong(f"its schema is {version}, and this motet knows {VERSION}: use a newer motet")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the table if this is the first process here, and set how the connection works."""
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
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version < VERSION:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if not version:
                    connection.execute(_SCHEMA)
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {VERSION}")
        self._known(version)

    def _wrong(self, text: str) -> MotetError:
        return MotetError(f"the cache {self.path} can't be used: {text}; make room, move it away, or name another file")


class _Flight:
    """A call under way: its task, who waits for it, and the pieces that have come, if it streams."""

    __slots__ = ("news", "pieces", "task", "waiting")

    def __init__(self) -> None:
        self.task: asyncio.Task[tuple[Reply, Reply]]
        self.waiting = 0
        self.pieces: list[Delta] = []
        self.news = asyncio.Event()

    def tell(self, *_: object) -> None:
        """Wake whoever waits for pieces."""
        self.news.set()
        self.news = asyncio.Event()


_flights: WeakKeyDictionary[Store, dict[tuple[asyncio.AbstractEventLoop, str], _Flight]] = WeakKeyDictionary()
"""Calls under way by store, so that every wrapper around one store, however short-lived, knows of them."""


@dataclass(frozen=True)
class Cached(Wrapper):
    """A backend with a memory.

    In one event loop a key that is asked for again while its call is under way is not called again, also from other
    runs; only if that call was cut, or failed in a way that may pass, is it made once more for those who joined it.
    A call ends when nobody waits for it any more, and not before. A reply that can't be kept (a full disk) is given
    all the same, with a warning.

    Args:
        backend: who is asked for what is not known.
        store: where replies are kept: `Memory`, `File`, or anything with their `get` and `put`.
    """

    store: Store

    def lookup(self, request: Request) -> Reply | None:
        """The reply that is known, with the usage it had when it was made.

        Raises:
            MotetError: the store is damaged.
        """
        return self.store.get(request.key)

    async def complete(self, request: Request) -> Reply:
        """The reply that is known, or on its way, or else the backend's."""
        while True:
            known = self.lookup(request)
            if known is not None:
                return _saved(known)
            async with self._aboard(request, streaming=False) as (flight, first):
                try:
                    reply, kept = await asyncio.shield(flight.task)
                except BackendError as error:
                    if first or not error.retry:
                        raise
                    continue
                if first:
                    return reply
                if kept.state != "cut":
                    return _saved(kept)
            # It was perhaps the purse or the deadline of whoever made the call that ended it early: try again.

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same in pieces: in one if it is known, as they come if the call streams."""
        known = self.lookup(request)
        if known is not None:
            async for delta in deltas(_saved(known)):
                yield delta
            return
        async with self._aboard(request, streaming=True) as (flight, first):
            seen = 0
            while seen < len(flight.pieces) or not flight.task.done():
                if seen == len(flight.pieces):
                    await flight.news.wait()
                    continue
                yield flight.pieces[seen]
                seen += 1
            reply, kept = flight.task.result()
            if not seen and reply.text:
                yield Delta(text=reply.text)
            yield Delta(reply=reply if first else _saved(kept))

    @asynccontextmanager
    async def _aboard(self, request: Request, *, streaming: bool) -> AsyncIterator[tuple[_Flight, bool]]:
        """The call of this key, and whether it was started here; cancelled when the last to wait for it leaves."""
        flights, place = _flights.setdefault(self.store, {}), (asyncio.get_running_loop(), request.key)
        flight = flights.get(place)
        first = flight is None
        if flight is None:
            flight = flights[place] = _Flight()
            flight.task = asyncio.create_task(self._fly(request, flight, streaming))

            def landed(task: asyncio.Task[tuple[Reply, Reply]], flight: _Flight = flight) -> None:
                if flights.get(place) is flight:
                    del flights[place]
                if not task.cancelled():
                    task.exception()  # looked at: everybody may have left
                flight.tell()

            flight.task.add_done_callback(landed)
        flight.waiting += 1
        try:
            yield flight, first
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                del flights[place]  # whoever comes now must not join a call that is being cancelled
                flight.task.cancel()
                await asyncio.wait([flight.task])

    async def _fly(self, request: Request, flight: _Flight, streaming: bool) -> tuple[Reply, Reply]:
        """Call the backend and keep what it says: its reply as it is, and as it is kept, counted and priced."""
        clock = asyncio.get_running_loop().time
        began, reply = clock(), None
        if streaming:
            async with closing(self.backend.stream(request)) as stream:
                async for delta in stream:
                    reply = delta.reply or reply
                    if delta.text or delta.reasoning:
                        flight.pieces.append(Delta(delta.text, delta.reasoning))
                        flight.tell()
            if reply is None:
                raise BackendError("cut", f"the stream of {self.name} ended without a reply")
        else:
            reply = await self.backend.complete(request)
        kept, _ = checked(self.backend, request, reply, clock() - began)
        if kept.usable:
            try:
                self.store.put(request.key, kept)
            except MotetError as error:
                warnings.warn(f"a reply of {self.name} was not kept: {error}", RuntimeWarning, stacklevel=2)
        return reply, kept


def _saved(reply: Reply) -> Reply:
    return msgspec.structs.replace(reply, usage=reply.usage.as_saved())
