"""Where runs are kept: one JSON-lines file a run, written as it happens, so that a kill loses nothing that was said.

The files hold questions and answers, never keys. `MOTET_HOME` moves them; `KEPT` of them are kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from motet.errors import ConfigError, MotetError, UsageError
from motet.paths import state_dir
from motet.trace import Event, RunStarted, Streamed, Trace, line

KEPT = 1000


def folder() -> Path:
    """The folder of the kept runs; made when the first one is written."""
    return state_dir() / "runs"


class Keeper:
    """A watcher that writes each event of a run to its file as it happens.

    A disk that is full or read-only must not cost an answer: writing stops, and `trouble` says why.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.trouble = ""
        self._file: TextIO | None = None

    def __call__(self, event: Event) -> None:
        if isinstance(event, Streamed) or self.trouble:
            return
        try:
            if self._file is None:
                if self.path is None and isinstance(event, RunStarted):
                    self.path = folder() / f"{event.run}.jsonl"
                if self.path is None:
                    return
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("w", encoding="utf-8")
            self._file.write(line(event))  # type: ignore[arg-type]  # every stored event is one of AnyEvent
            self._file.flush()
        except (OSError, ConfigError) as error:
            why = error.strerror if isinstance(error, OSError) else None
            self.trouble = f"the run could not be kept in {self.path or 'its folder'}: {why or error}"

    def close(self) -> None:
        """Close the file, and let the oldest runs beyond `KEPT` go."""
        if self._file is not None:
            with contextlib.suppress(OSError, ConfigError):
                self._file.close()
                if self.path is not None and self.path.parent == folder():
                    for old in kept()[KEPT:]:
                        old.unlink(missing_ok=True)
            self._file = None


def kept() -> list[Path]:
    """The files of the kept runs, newest first."""
    return sorted(folder().glob("*.jsonl"), key=lambda path: path.name, reverse=True) if folder().is_dir() else []


def load(run: str) -> Trace:
    """The trace of a kept run (its id, or the beginning of one), of `last`, or of a trace file.

    Raises:
        UsageError: there is no such run, or several begin so.
        MotetError: the file is no trace.
    """
    path = _find(run)
    try:
        # "surrogateescape": a kill may tear the last line inside a character; elsewhere the line is named
        return Trace.from_jsonl(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError as error:
        raise MotetError(f"{path} can't be read as a trace: {error}") from None
    except MotetError as error:
        raise MotetError(f"{path}: {error}") from None


def _find(run: str) -> Path:
    if Path(run).suffix == ".jsonl" or "/" in run:
        if Path(run).is_file():
            return Path(run)
        raise UsageError(f"there is no trace file {run}")
    files = kept()
    if run == "last" and files:
        return files[0]
    found = [path for path in files if path.stem == run] or [path for path in files if path.stem.startswith(run)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{len(found)} runs begin with {run!r}: {', '.join(path.stem for path in found[:5])} …")
    raise UsageError(f"there is no run {run!r} in {folder()}: `motet trace list` shows the {len(files)} kept ones")


def summaries(limit: int) -> Iterator[tuple[Path, Trace | None]]:
    """The newest kept runs; None for a file that is no trace."""
    for path in kept()[:limit]:
        try:
            yield path, load(str(path))
        except MotetError:
            yield path, None
