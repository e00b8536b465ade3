r"""A first look at a file or folder: what it is written in, and enough of its content to tell which format that is.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder, "results.csv")
...     _ = path.write_text("item,a,b\nq1,1,0\n")
...     look(path).columns
('item', 'a', 'b')
"""

from __future__ import annotations

import itertools
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

from motet.errors import UsageError
from motet.tables.grid import Grid, cell, csv_grid, json_grid, json_lines, parquet_grid
from motet.tables.source import PARQUET, ZIP, Source, decoded, reading

Kind = Literal["folder", "zip", "parquet", "document", "lines", "separated"]
ROWS: Final = 20
"""Rows that are looked at."""
TRIED: Final = 5
"""Files of a folder by which its format is told."""


@dataclass
class Look:
    """What can be seen of a path without knowing its format.

    Args:
        path: the file or folder.
        kind: a folder, a zip archive, Parquet, one JSON document, JSON lines, or separated values.
        source: the file; None for a folder.
        document: the JSON document.
        columns: the header of a file of rows, or the keys of its first JSON object.
        rows: its first rows, as text.
        names: what is in the folder or the archive.
    """

    path: Path
    kind: Kind
    source: Source | None = None
    document: object = None
    columns: tuple[str, ...] = ()
    rows: list[list[str]] = field(default_factory=list)
    names: tuple[str, ...] = ()

    @cached_property
    def keys(self) -> frozenset[str]:
        """The top-level keys of a JSON object, be it the document or the first line."""
        return frozenset(self.document) if isinstance(self.document, dict) else frozenset(self.columns)

    def grid(self) -> Grid:
        """All rows.

        Raises:
            UsageError: this is no file of rows.
        """
        if self.source is not None:
            if self.kind == "separated":
                return csv_grid(self.source)
            if self.kind == "parquet":
                return parquet_grid(self.source)
            if self.kind == "lines":
                return json_grid(self.source, json_lines(self.source), "one JSON object a line")
            if isinstance(self.document, list):
                return json_grid(self.source, enumerate(self.document, start=1), "a JSON list of objects")
        what = {"folder": "a folder", "zip": "an archive"}.get(self.kind, "a JSON document")
        raise UsageError(f"{self.path}: {what}, not a table of rows")


def look(path: Path) -> Look:
    """Look at a path.

    Raises:
        UsageError: it is not there, empty, too large, or nothing that a table is written in.
    """
    with reading(path):
        if path.is_dir():
            names = tuple(sorted(entry.name for entry in path.iterdir() if not entry.name.startswith(".")))
            if not names:
                raise UsageError(f"{path}: an empty folder")
            return Look(path, "folder", names=names)
    source = Source(path)
    if source.head.startswith(ZIP):
        return _zip(source)
    if source.head.startswith(PARQUET):
        return _rows(Look(path, "parquet", source))
    start = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start in (b"{", b"["):
        return _json(source)
    return _rows(Look(path, "separated", source))


def _zip(source: Source) -> Look:
    with reading(source.path):
        try:
            with zipfile.ZipFile(source.path) as archive:
                names = tuple(archive.namelist())
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise UsageError(f"{source.path}: a damaged archive ({error}); make or fetch it again") from error
    if any(name.startswith("xl/") for name in names):
        raise UsageError(f"{source.path}: a spreadsheet; save it as CSV")
    return Look(source.path, "zip", source, names=names)


def _json(source: Source) -> Look:
    """One document, or one object a line: the first line is a whole object, and another one follows."""
    with reading(source.path), source.binary(text=True) as stream:
        lines = [line for line in itertools.islice(stream, 2 * ROWS) if line.strip()]
    first = _decoded(lines[0].removeprefix(b"\xef\xbb\xbf"))
    if isinstance(first, dict) and len(lines) > 1:
        rows = [value for line in lines[:ROWS] if isinstance(value := _decoded(line), dict)]
        return Look(
            source.path,
            "lines",
            source,
            columns=tuple(first),
            rows=[[cell(row.get(name)) for name in first] for row in (first, *rows)],
        )
    with reading(source.path):
        try:
            document = decoded(source.bytes())
        except ValueError as error:
            raise UsageError(f"{source.path}: looks like JSON, but is not ({error}); fix it") from error
    found = Look(source.path, "document", source, document=document)
    if isinstance(document, list):
        objects = [row for row in document[:ROWS] if isinstance(row, dict)]
        if objects:
            found.columns = tuple(objects[0])
            found.rows = [[cell(row.get(name)) for name in found.columns] for row in objects]
    return found


def _decoded(line: bytes) -> object:
    try:
        return decoded(line)
    except (ValueError, RecursionError):
        return None


def _rows(found: Look) -> Look:
    grid = found.grid()
    found.columns = grid.columns
    found.rows = [row for _, row in itertools.islice(grid.rows, ROWS)]
    return found


def files_in(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """The files in a folder and the folders in it whose names match, in the order of their paths."""
    with reading(folder):
        found = {path for pattern in patterns for path in folder.rglob(pattern) if path.is_file()}
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def holds(seen: Look, patterns: Sequence[str], fits: Callable[[Look], bool]) -> bool:
    """Whether this file is of a format, or one of the first files with such names in this folder is."""
    if seen.kind != "folder":
        return fits(seen)
    return any(fits(look(path)) for path in files_in(seen.path, patterns)[:TRIED])


def each(looks: Sequence[Look], patterns: Sequence[str], fits: Callable[[Look], bool], needs: str) -> Iterator[Look]:
    """The files of a format: those given, and those in the folders given.

    Args:
        looks: what was given.
        patterns: names of such files in a folder.
        fits: whether a file is of the format; others in a folder are passed over.
        needs: what such a file holds, for the error.

    Raises:
        UsageError: a file that was given is of another format, or a folder has none of it.
    """
    for seen in looks:
        if seen.kind == "folder":
            fitting = (inner for path in files_in(seen.path, patterns) if fits(inner := look(path)))
            first = next(fitting, None)
            if first is None:
                raise UsageError(f"{seen.path}: no file in it holds {needs}")
            yield first
            yield from fitting
        elif fits(seen):
            yield seen
        else:
            raise UsageError(f"{seen.path}: does not hold {needs}")


def mapping(value: object) -> Mapping[str, object]:
    """A JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}
