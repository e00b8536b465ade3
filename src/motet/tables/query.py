r"""Queries: one line of a small language, computed on a table of text cells; nothing that is written in it is ever run.

>>> flats = read_table("city,price\nParis,3\nParis,5\nLyon,2")
>>> computed(read_query("Query: mean(price) where city = Paris"), flats).line
'mean(price) where city = Paris is 4, from 2 of 2 rows'
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from statistics import fmean
from typing import NamedTuple

from motet.ballot import read_lines
from motet.errors import UsageError
from motet.tables.grid import grid_of
from motet.tables.source import Source, plain, reading

ROWS = 100_000
"""Rows of a table that count."""
CELL, NAME, LISTED, NAMED = 40, 80, 50, 40
"""Characters of a listed cell and of a column's name, cells of a list, columns that an error names."""
_OPERATIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "sum": math.fsum,
    "mean": fmean,
    "min": min,
    "max": max,
}
NUMBER = re.compile(r"(?<![A-Za-z0-9_.])[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_COLUMN = r"[^()]{0,80}(?:\([^()]{0,40}\)[^()]{0,40})?"
"""A column, which may say its unit in brackets."""
_AND = re.compile(r"(?i) and (?=(?:(?! and )[^<>=!]){1,90}(?:!=|[<>=]))")
"""Between conditions: what follows is one; "Trinidad and Tobago" stays whole."""


class Rows(NamedTuple):
    """A table: its columns, its rows, and whether it has more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: bool


class Query(NamedTuple):
    """An operation on a column, and conditions: column, comparison, value."""

    operation: str
    column: str
    where: tuple[tuple[str, str, str], ...] = ()


def read_table(given: str) -> Rows:
    r"""A table from a path, or from CSV as text.

    Raises:
        UsageError: it is no table; says why.

    >>> read_table("city,price\nParis,3\nLyon,2")
    Rows(columns=('city', 'price'), rows=(('Paris', '3'), ('Lyon', '2')), more=False)
    """
    if "\n" in given.strip():
        try:
            lines = [
                row for row in islice(csv.reader(io.StringIO(given), strict=True), ROWS + 2) if any(map(str.strip, row))
            ]
        except csv.Error as error:
            raise UsageError(f"the text is no CSV: {error}") from None
        if not lines or "\0" in given:
            raise UsageError("there is nothing in it" if not lines else "it has NUL bytes: it is binary, not text")
        columns, rows = lines[0], lines[1:]
    else:
        path = plain(given)
        with reading(path):
            grid = grid_of(Source(path))
            columns, rows = list(grid.columns), [row for _, row in islice(grid.rows, ROWS + 1)]
    columns = [" ".join(name.split())[:NAME] for name in columns]
    uneven = next((place for place, row in enumerate(rows, 2) if len(row) != len(columns)), None)
    if uneven is not None or not rows or len(set(map(str.lower, columns))) < len(columns):
        problem = f"row {uneven} is not as long as the header" if uneven else "no rows, or two columns of one name"
        raise UsageError(f"it is no table: {problem}")
    return Rows(tuple(columns), tuple(map(tuple, rows[:ROWS])), len(rows) > ROWS)


class Computed(NamedTuple):
    """What a query gave: the values, and a line that says what they are."""

    values: tuple[str, ...]
    line: str


def read_query(text: str) -> Query | None:
    r"""The query on the last line that begins so; None if it can't be read.

    >>> read_query("So:\nQuery: `mean(price) where city = 'Paris' and year >= 2020`")
    Query(operation='mean', column='price', where=(('city', '=', 'Paris'), ('year', '>=', '2020')))
    >>> read_query("Query: drop(table)") is None
    True
    """
    for line in read_lines(text, "query")[-1:]:
        form = rf"(?i)(count|sum|mean|min|max|list) ?\(({_COLUMN})\)(?: where (.{{1,400}}))?"
        found = re.fullmatch(form, line.strip(" .;`"))
        parts = _AND.split(found[3]) if found and found[3] else []
        where = [re.fullmatch(r"([^<>=!]{1,90})(!=|<=|>=|=|<|>)([^<>=]{1,80})", part) for part in parts]
        if found and all(where):
            conditions = tuple((_bare(each[1]), each[2], _bare(each[3])) for each in where if each)
            return Query(found[1].lower(), _bare(found[2]), conditions)
    return None


def readable(columns: Sequence[str]) -> list[str]:
    """The columns that a query can name: not "a > b", "sales and costs", nor one in quotes.

    >>> readable(["price (EUR)", "a > b"])
    ['price (EUR)']
    """
    queries = {name: f"Query: list({name}) where {name} = 1 and {name} = 2" for name in columns}
    known = {name: Query("list", name, ((name, "=", "1"), (name, "=", "2"))) for name in columns}
    return [name for name in columns if read_query(queries[name]) == known[name]]


def computed(query: Query, table: Rows) -> Computed:
    r"""What a query gives.

    Raises:
        UsageError: a column does not exist, a condition compares numbers with words, or there is nothing to compute
            from.

    >>> flats = read_table("city,price\nParis,3\nParis,?\nLyon,2")
    >>> computed(Query("mean", "price", (("city", "=", "paris"),)), flats).line
    'mean(price) where city = paris is 3, from 1 of 2 rows (in the others it is no number)'
    """
    operation, column, where = query
    at = {name.lower(): place for place, name in enumerate(table.columns)}
    whole = operation == "count" and column in ("", "*")
    for name in [*([] if whole else [column]), *(each[0] for each in where)]:
        if name.lower() not in at:
            raise UsageError(f"there is no column {name!r}; there are: {', '.join(table.columns[:NAMED])}")
    for name, sign, value in where:
        there = [cell for row in table.rows if (cell := row[at[name.lower()]].strip())]
        if sign not in ("=", "!=") and there and not any(_comparable(cell, value) for cell in there):
            raise UsageError(f"{name!r} can't be compared with {value!r}: it has {there[0][:CELL]!r}, for instance")
    rows = [row for row in table.rows if all(_holds(row[at[name.lower()]], sign, value) for name, sign, value in where)]
    cells = ["*" if whole else row[at[column.lower()]].strip() for row in rows]
    used = [cell for cell in cells if cell]
    more = ""
    if operation in _OPERATIONS:
        numbers = [known for cell in cells if (known := number(cell)) is not None]
        if not numbers or math.isinf(total := sum(map(abs, numbers))):
            problem = f"its numbers are too large ({total:g})" if numbers else "none of them has a number there"
            raise UsageError(f"{len(rows)} rows meet the conditions, and in {column!r} {problem}")
        values, used = [_written(_OPERATIONS[operation](numbers))], used[: len(numbers)]
    elif operation == "count":
        values = [str(len(used))]
    else:
        distinct = list(dict.fromkeys(used))
        values = [cell if len(cell) <= CELL else f"{cell[:CELL]}…" for cell in distinct[:LISTED]]
        more = f" and {len(distinct) - LISTED} more" if len(distinct) > LISTED else ""
    conditions = f" where {' and '.join(map(' '.join, where))}" if where else ""
    line = f"{operation}({column or '*'}){conditions} is {', '.join(values) or 'nothing'}{more}, from {len(used)} of "
    line += f"{len(rows)} rows" + (f" among the first {ROWS:,}" if table.more else "")
    others = " (in the others it is no number)" if operation in _OPERATIONS and len(used) < len(rows) else ""
    return Computed(tuple(values), line + others)


def _bare(text: str) -> str:
    return text.strip(" \t'\"`*")


def _written(value: float) -> str:
    """A number as people write it: whole ones with all their digits, as far as those are sure."""
    return f"{value + 0.0:.0f}" if value.is_integer() and abs(value) < 2**53 else f"{value:.10g}"


def number(cell: str) -> float | None:
    """The number in a cell; None if it has something else.

    >>> number("1,250.5"), number("1,5"), number("nan")
    (1250.5, None, None)
    """
    cell = cell.strip()
    known = float(cell.replace(",", "")) if NUMBER.fullmatch(cell) else math.inf
    return known if math.isfinite(known) else None


def _comparable(cell: str, value: str) -> bool:
    """Whether there is an order between them: both are numbers or both are words, and neither is empty."""
    return bool(cell.strip() and value) and (number(cell) is None) == (number(value) is None)


def _holds(cell: str, sign: str, value: str) -> bool:
    """Whether a cell meets a condition: as numbers if both are, as words without case if neither is."""
    a, b = number(cell), number(value)
    if sign not in ("=", "!=") and not _comparable(cell, value):
        return False
    left, right = cell.strip().casefold(), value.casefold()
    less, same = (a < b, a == b) if a is not None and b is not None else (left < right, left == right)
    return {"=": same, "!=": not same, "<": less, "<=": less or same, ">": not (less or same), ">=": not less}[sign]
