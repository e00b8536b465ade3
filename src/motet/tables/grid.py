"""Rows of named columns, from CSV, TSV, semicolons, JSON lines, a JSON list or Parquet: wide and long tables are these.

Every cell is text, "" where there is none, so that one rule reads the values of all of them.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from motet.errors import UsageError
from motet.tables.source import PARQUET, ZIP, Source, decoded, reading
from motet.tables.table import CELLS

DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NO_NAME: Final = "__index_level_0__"
"""What a data frame's index without a name is called in Parquet."""
_SAID: Final = re.compile(r'"?sep=([,;\t])"?[,;\t]*', re.IGNORECASE)
"""A first line that tells spreadsheets the separator."""
_LOOKED: Final = 20
"""Lines by which the delimiter is told."""


@dataclass
class Grid:
    """A header and rows, each as long as it.

    Args:
        source: the file.
        columns: their names, as they stand there.
        rows: line number (row number in Parquet) and cells; read once.
        how: what was found out about it, for the notes.
    """

    source: Source
    columns: tuple[str, ...]
    rows: Iterator[tuple[int, list[str]]]
    how: str

    def at(self, line: int, problem: object) -> UsageError:
        """A problem with one line, as an error."""
        return UsageError(f"{self.source.path}:{line}: {problem}")


def grid_of(source: Source) -> Grid:
    """Read a file of rows, whatever it is written in: told by its content.

    Raises:
        UsageError: it is an archive or a JSON document that is no list.
    """
    if source.head.startswith(PARQUET):
        return parquet_grid(source)
    if source.head.startswith(ZIP):
        raise UsageError(f"{source.path}: an archive or a spreadsheet where rows are needed; save it as CSV")
    start = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start == b"{":
        return json_grid(source, json_lines(source), "one JSON object a line")
    if start == b"[":
        return json_grid(source, enumerate(json_list(source), start=1), "a JSON list of objects")
    return csv_grid(source)


def csv_grid(source: Source) -> Grid:
    """Read separated values; the separator is told from the first lines.

    Raises:
        UsageError: two separators fit, quotes are open, or a row has another length than the header.
    """
    with reading(source.path):
        delimiter = _delimiter(source)
        lines = _csv_lines(source, delimiter)
        _, columns = next(lines, (0, []))
        if columns and columns[0].lower() == "sep=" and not any(columns[1:]):
            _, columns = next(lines, (0, []))
        if not columns:
            raise UsageError(f"{source.path}: an empty file")
    names = [name.strip() for name in columns]
    width = len(names)
    while len(names) > 1 and not names[-1]:
        names.pop()  # spreadsheets keep columns that once held something
    rows = _even(source, lines, width, len(names))
    return Grid(source, tuple(names), rows, f"columns separated by {DELIMITERS[delimiter]}")


def _csv_lines(source: Source, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    with reading(source.path), source.text() as text:
        reader = csv.reader(text, delimiter=delimiter, strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except csv.Error as error:
            raise csv.Error(f"line {reader.line_num}: {error}") from error


def _even(
    source: Source, lines: Iterable[tuple[int, list[str]]], width: int, named: int
) -> Iterator[tuple[int, list[str]]]:
    """Rows of `width` cells, of which the first `named` are those of columns with names."""
    for line, row in lines:
        if (len(row) != width or not row[0]) and not any(text.strip() for text in row):
            continue  # a line of separators, as spreadsheets leave at the end
        if len(row) != width:
            raise UsageError(
                f"{source.path}:{line}: {len(row)} columns where the header has {width}; fill in or remove the line"
            )
        if named < width:
            for column in range(named, width):
                if row[column].strip():
                    raise UsageError(f"{source.path}:{line}: column {column + 1} has no name; name or remove it")
            row = row[:named]
        yield line, row


def _delimiter(source: Source) -> str:
    with source.text() as text:
        head = list(itertools.islice(text, _LOOKED))
    if head and (said := _SAID.fullmatch(head[0].strip("\r\n "))):
        return said[1]
    fits: dict[str, int] = {}
    widest: dict[str, int] = {}
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(head, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if rows and len(rows[0]) > 1:
            widest[delimiter] = len(rows[0])
            if all(len(row) == len(rows[0]) for row in rows[: len(rows) - 1] or rows):
                fits[delimiter] = len(rows)
    # A wrong separator can put a quote at the start of a column, which then swallows the lines after it.
    fits = {delimiter: count for delimiter, count in fits.items() if count == max(fits.values())}
    if len(fits) > 1:
        both = " or ".join(DELIMITERS[delimiter] for delimiter in fits)
        raise UsageError(f"{source.path}: the columns may be separated by {both}; use one of them only")
    # Without any fit, the one that parts the header most: the first uneven row is told with its line.
    return next(iter(fits), None) or max(widest, key=lambda delimiter: widest[delimiter], default=",")


def json_grid(source: Source, objects: Iterable[tuple[int, object]], how: str) -> Grid:
    """Read objects, one a row; a column is any key that one of them has."""
    found: list[tuple[int, Mapping[str, object]]] = []
    columns: dict[str, None] = {}
    for line, row in objects:
        if not isinstance(row, dict):
            raise UsageError(f"{source.path}:{line}: a JSON object is needed, with one value a column")
        found.append((line, row))
        columns.update(dict.fromkeys(row))
    names = tuple(columns)
    rows = ((line, [cell(row.get(name)) for name in names]) for line, row in found)
    return Grid(source, tuple(name.strip() for name in names), rows, how)


def json_lines(source: Source) -> Iterator[tuple[int, object]]:
    """The values of a file with one JSON value a line, with their line numbers.

    Raises:
        UsageError: a line is no JSON; names it.
    """
    with reading(source.path), source.binary(text=True) as stream:
        for number, line in enumerate(stream, start=1):
            line = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if line.strip():
                try:
                    yield number, decoded(line)
                except ValueError as error:
                    raise UsageError(f"{source.path}:{number}: {error}; fix or remove this line") from error


def json_list(source: Source) -> list[object]:
    """The values of a file that is one JSON list.

    Raises:
        UsageError: it is not.
    """
    with reading(source.path):
        try:
            return msgspec.json.decode(source.bytes(), type=list[object])
        except msgspec.DecodeError as error:
            raise UsageError(f"{source.path}: {error}; a JSON list of objects is needed") from error


def parquet_grid(source: Source) -> Grid:
    """Read Parquet; the index of a data frame comes first, as it would in CSV.

    Raises:
        UsageError: pyarrow is not installed, or the file is damaged or too large.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(f"{source.path}: Parquet needs pyarrow: pip install 'motet[parquet]'") from None
    with reading(source.path), source.binary() as stream:
        try:
            file = pq.ParquetFile(io.BytesIO(stream.read()))
            names = [str(name) for name in file.schema_arrow.names]
            index = (file.schema_arrow.pandas_metadata or {}).get("index_columns", [])
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise UsageError(f"{source.path}: not readable as Parquet ({str(error).splitlines()[0]})") from error
    if file.metadata.num_rows * len(names) > CELLS:
        raise UsageError(f"{source.path}: more than {CELLS:,} cells; split it by items")
    order = sorted(range(len(names)), key=lambda place: names[place] not in index)

    def rows() -> Iterator[tuple[int, list[str]]]:
        number = itertools.count(1)
        try:
            for batch in file.iter_batches(batch_size=1_000):
                columns = [[cell(value) for value in batch.column(place).to_pylist()] for place in order]
                for row in zip(*columns, strict=True):
                    yield next(number), list(row)
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            raise UsageError(f"{source.path}: not readable as Parquet ({str(error).splitlines()[0]})") from error

    return Grid(source, tuple("" if names[place] == _NO_NAME else names[place] for place in order), rows(), "Parquet")


def cell(value: object) -> str:
    """A value of JSON or Parquet as the text of a cell.

    >>> [cell(value) for value in (True, 1, 1.0, 0.25, None, "a", [1])]
    ['true', '1', '1', '0.25', '', 'a', '[1]']
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if value != value else str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, (dict, list)):
        return msgspec.json.encode(value).decode()
    return str(value)
