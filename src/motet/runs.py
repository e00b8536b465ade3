"""Kept runs: in the journal, with all that happened and every call that they paid for, written as it happens.

A run is a named one of the kind `ask`; its records are the events of its trace, a few together. They hold questions and
answers, never keys. Nothing waits for them: events go to the journal's writer within one turn of the event loop, so a
kill loses the last moment at most, and a run that has ended is there as a whole. `MOTET_HOME` moves the journal; the
newest `KEPT` runs are kept, and what older ones paid for stays in the ledger.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

import msgspec

from motet.backend import Backend
from motet.errors import MotetError, UsageError
from motet.message import encoded
from motet.trace import AnyEvent, Event, Streamed, Trace, line

if TYPE_CHECKING:
    from motet.journal import Journal, OpenRun

KEPT = 1000
KIND = "ask"
TASK = "events"
"""What the records of a run are filed under; their draws number them."""
UNTOLD = "?"
"""The code of calls of a model of which nobody said what it is: a reply that goes by its name alone is never served."""
_events: msgspec.json.Decoder[list[AnyEvent]] = msgspec.json.Decoder(list[AnyEvent])


class Keeper:
    """Keeps one run while its block lasts: a watcher of its events, and what its backends are wrapped in.

    A disk that is full or read-only, or a damaged journal, must not cost an answer: keeping stops, and `trouble` says
    why.

    Args:
        run: its id.
        models: what each model is, by its backend's name (see `motet.spec.Config.identities`).

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from motet import ModelAgent, Scripted, perform
    >>> async def kept(run: str) -> str:
    ...     async with Keeper(run) as keeper:
    ...         agent = ModelAgent(Scripted("4"), "a")
    ...         await perform(agent, "2 + 2?", watchers=[keeper], wrap=keeper.wrap, run_id=run)
    ...     return keeper.trouble
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, MOTET_HOME=folder):
    ...     asyncio.run(kept("first")), len(load("first"))
    ('', 6)
    """

    def __init__(self, run: str, models: Mapping[str, str] | None = None) -> None:
        self.run, self.trouble = run, ""
        self._models = models or {}
        self._wrapped: dict[str, Backend] = {}
        self._journal: Journal | None = None
        self._open: OpenRun | None = None
        self._told: list[Event] = []
        self._written: list[asyncio.Future[int]] = []

    @property
    def begun(self) -> bool:
        """Whether anything of the run is kept."""
        return bool(self._written) and not self.trouble

    async def __aenter__(self) -> Keeper:
        try:
            await asyncio.to_thread(self._begin)  # which waits for whoever is writing
        except MotetError as error:
            self._fail(error)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._hand_over()
            if self._written:
                await asyncio.wait(self._written)
        finally:
            if self._open is not None:
                self._open.close()

    def __call__(self, event: Event) -> None:
        if self._open is None or self.trouble or isinstance(event, Streamed):
            return
        if not self._told:
            asyncio.get_running_loop().call_soon(self._hand_over)
        self._told.append(event)

    def wrap(self, backend: Backend) -> Backend:
        """A backend whose calls this run pays for, as the journal sees it; one with a cache keeps that."""
        known = self._wrapped.get(backend.name)
        if known is None:
            known = self._wrapped[backend.name] = self._around(backend) if self._open is not None else backend
        return known

    def _around(self, backend: Backend) -> Backend:
        from motet.backends.cached import Cached
        from motet.backends.journaled import Journaled, version_of

        assert self._journal is not None
        if isinstance(backend, Cached):  # what its memory knows is no call
            return replace(backend, backend=self._around(backend.backend))
        if isinstance(backend, Journaled) and backend.journal.path == self._journal.path:
            return replace(backend, journal=self._journal, run=self.run, trouble=self._fail)
        model = self._models.get(backend.name)
        code = UNTOLD if model is None else version_of(model)
        return Journaled(backend, self._journal, code, self.run, serves=False, trouble=self._fail)

    def _begin(self) -> None:
        from motet.journal import Journal, default_path

        journal = Journal.shared(default_path())
        journal.limit(KIND, KEPT - 1)
        self._open = journal.open_run(self.run, KIND)
        self._journal = journal

    def _hand_over(self) -> None:
        """Give what happened since the last time to the journal's writer."""
        told, self._told = self._told, []
        if not told or self._journal is None:
            return
        try:
            future = self._journal.record(self.run, TASK, "", len(self._written), encoded(told))
        except MotetError as error:
            self._fail(error)
        else:
            future.add_done_callback(self._settled)
            self._written.append(future)

    def _settled(self, future: asyncio.Future[int]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is not None:
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.trouble = self.trouble or f"the run could not be kept: {error}"


class TraceFile:
    """A watcher that writes each event of a run to a file as it happens, as a line of JSON.

    Writing stops where the disk is full; `trouble` says why.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.trouble = path, ""
        self._file: TextIO | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Streamed) or self.trouble:
            return
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("w", encoding="utf-8")
            self._file.write(line(event))  # type: ignore[arg-type]  # every stored event is one of AnyEvent
            self._file.flush()
        except OSError as error:
            self.trouble = f"the trace could not be written to {self.path}: {error.strerror or error}"

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None


def kept() -> list[str]:
    """The ids of the kept runs, newest first."""
    return _names(_journal())


def load(run: str) -> Trace:
    """The trace of a kept run (its id, or the beginning of one), of `last`, or of a trace file.

    Raises:
        UsageError: there is no such run, or several begin so.
        MotetError: the file is no trace, or the journal is damaged.
    """
    if Path(run).suffix == ".jsonl" or "/" in run:
        return _of_file(Path(run))
    journal = _journal()
    return _of_run(journal, _find(run, _names(journal)))


def summaries(limit: int) -> Iterator[tuple[str, Trace | None]]:
    """The newest kept runs by their ids; None for one that is damaged."""
    journal = _journal()
    for run in _names(journal)[:limit]:
        try:
            yield run, _of_run(journal, run)
        except MotetError:
            yield run, None


def _names(journal: Journal | None) -> list[str]:
    return [run.name for run in reversed(journal.runs(KIND, recorded=True))] if journal is not None else []


def _find(run: str, runs: list[str]) -> str:
    if run == "last" and runs:
        return runs[0]
    found = [each for each in runs if each == run] or [each for each in runs if each.startswith(run)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} runs begin with {run!r}: {', '.join(found[:5])} …")
    raise UsageError(f"there is no run {run!r}: `motet trace list` shows the {len(runs)} kept ones")


def _of_run(journal: Journal | None, run: str) -> Trace:
    trace = Trace()
    for record in journal.records(run) if journal is not None else ():
        try:
            trace.events += _events.decode(record.payload)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise MotetError(f"the run {run} is damaged: its record {record.draw} holds no events ({error})") from None
    return trace


def _of_file(path: Path) -> Trace:
    if not path.is_file():
        raise UsageError(f"there is no trace file {path}")
    try:
        # "surrogateescape": a kill may tear the last line inside a character; elsewhere the line is named
        return Trace.from_jsonl(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError as error:
        raise MotetError(f"{path} can't be read as a trace: {error}") from None
    except MotetError as error:
        raise MotetError(f"{path}: {error}") from None


def _journal() -> Journal | None:
    """The journal, if there is one: to look for runs makes none."""
    from motet.journal import Journal, default_path

    path = default_path()
    return Journal.shared(path) if path.is_file() else None
