"""Files that are whole or not there: written beside their place under another name, and then put into it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from motet.bench.run import BenchRun
from motet.errors import UsageError


def check(path: Path, run: BenchRun) -> None:
    """Refuse a place where anything but a plain file would be replaced, or the journal itself.

    Raises:
        UsageError: it is a folder, a device or a pipe, or the journal.
    """
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder: give a file")
        if not path.exists():
            return
        if not path.is_file():
            raise UsageError(f"{path} is no plain file: give another one")
        if path.samefile(run.journal.path):
            raise UsageError(f"{path} would replace the journal, which is read: give another file")
        source = Path(run.opening.source)
        if run.opening.source and source.is_file() and path.samefile(source):
            raise UsageError(f"{path} would replace the suite: give another file")
    except OSError as error:
        raise _unwritten(path, error) from None


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A stream of what `path` will hold once all of it is written.

    Raises:
        UsageError: it can't be written, as on a full disk; nothing has changed then.
    """
    target = Path(os.path.realpath(path))  # a link stays one
    with several(target.parent, [target.name], told=path, make=False) as [stream]:
        yield stream


@contextmanager
def several(
    folder: Path,
    names: Sequence[str],
    *,
    told: Path | None = None,
    make: bool = True,
    stale: Callable[[], Sequence[Path]] = tuple,
) -> Iterator[list[BinaryIO]]:
    """Streams of files in one folder, which appear together, when all of them are written.

    Args:
        folder: where they will lie.
        names: of the files.
        told: what errors speak of; the folder unless given.
        make: whether the folder is made where it is missing.
        stale: which files go then, unless one of the new ones takes their place.

    Raises:
        UsageError: they can't be written; nothing has changed then.
    """
    told = told or folder
    made = False
    # A name is no part of the temporary one, which would be too long where the name is nearly so.
    parts = [folder / f".motet-{os.getpid()}-{place}.part" for place in range(len(names))]
    try:
        if make and not folder.exists():
            folder.mkdir()
            made = True
        try:
            with ExitStack() as stack:
                yield [stack.enter_context(part.open("wb")) for part in parts]
            finished = [folder / name for name in names]
            for part, path in zip(parts, finished, strict=True):
                os.replace(part, path)
            for path in stale():
                if path not in finished:
                    path.unlink(missing_ok=True)
            made = False
        finally:
            for part in parts:
                part.unlink(missing_ok=True)
            if made:
                folder.rmdir()
    except OSError as error:
        raise _unwritten(told, error) from None


def _unwritten(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} can't be written ({error.strerror or error}): give another place")
