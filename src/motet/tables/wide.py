"""A wide table: one row an item, one column an agent, the item's id first.

    item,small,large
    q1,1,0
    q2,0.4,true

A cell is 1, 0, true, false, a share of draws that were right, or empty where nothing is recorded. With the right
answers, in `--gold` or in a column `gold`, cells are answers instead. A column `topic` is what items are about.
The matrices beside a table (`--answers`, `--cost`, ...) have the same shape; rows and columns are matched by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from motet.errors import UsageError
from motet.measure.arrays import Floats
from motet.tables.cells import Numbers, Shares
from motet.tables.draft import Draft, Texts, check_cells, kept, listed
from motet.tables.grid import Grid, grid_of
from motet.tables.source import Source

GOLD: Final = "gold"
TOPIC: Final = "topic"
_BITS: Final = frozenset({"0", "1", "", None})
T = TypeVar("T")


def is_wide(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first rows of a table are ids and correctness.

    >>> is_wide(["item", "a"], [["q1", "1"]]), is_wide(["item", "a"], [["q1", "B"]])
    (True, False)
    """
    agents = [column for column in range(1, len(columns)) if columns[column] != TOPIC]
    shares = Shares()
    try:
        for row in rows:
            shares.row([row[column] for column in agents])
    except ValueError:
        return False
    return bool(agents and rows)


def wide(grid: Grid, gold: Mapping[str, str] | None = None) -> Draft:
    """Read a wide table.

    Args:
        grid: the rows.
        gold: the right answer of each item; given, cells are answers.

    Returns:
        The draft, with correctness or with answers.

    Raises:
        UsageError: a value that is none, an id or agent that comes twice, too many cells.
    """
    extra = {name: grid.columns.index(name, 1) for name in (GOLD, TOPIC) if grid.columns[1:].count(name) == 1}
    columns = [column for column in range(1, len(grid.columns)) if column not in extra.values()]
    agents = _agents(grid, columns)
    beside: dict[str, list[str]] = {name: [] for name in extra}

    def noting(take: Callable[[int, list[str]], T]) -> Callable[[int, list[str]], T]:
        def both(line: int, row: list[str]) -> T:
            for name, column in extra.items():
                beside[name].append(kept(row[column]) if name == GOLD else row[column].strip())
            return take(line, row)

        return both if extra else take

    if gold is None and GOLD not in extra:
        items, results = _rows(grid, noting(_numbers(grid, columns, Shares())), len(agents))
        correct = np.array(results, dtype=np.float64).reshape(len(items), len(agents))
        return Draft(items, agents, correct=correct, topics=beside.get(TOPIC))
    items, rows = _rows(grid, noting(_texts(columns)), len(agents))
    right = align_gold(gold, items, grid.source.path) if gold is not None else beside[GOLD]
    odd = next((text for text in right if text not in _BITS), None)
    if odd is not None and all(text in _BITS for row in rows for text in row):
        raise UsageError(
            f"{grid.source.path}: its cells are 0 and 1, but right answers are like {odd!r}: "
            "give the agents' answers with --answers, or leave the right ones out"
        )
    draft = Draft(items, agents, answers=_object(rows, len(agents)), gold=right, topics=beside.get(TOPIC))
    draft.notes.append("the cells are read as answers, as the right answers are given")
    return draft


def numbers(path: Path, values: Numbers, items: Sequence[str], agents: Sequence[str]) -> tuple[Floats, list[str]]:
    """Read a matrix of numbers beside a table.

    Args:
        path: the matrix, wide.
        values: how its cells are read.
        items: the table's items.
        agents: the table's agents.

    Returns:
        The matrix in the table's order; notes on what it holds besides.

    Raises:
        UsageError: it lacks an item or an agent of the table, or holds a value that is none.
    """
    grid = grid_of(Source(path))
    columns = list(range(1, len(grid.columns)))
    own = _agents(grid, columns)
    ids, rows = _rows(grid, _numbers(grid, columns, values), len(own))
    order, across, notes = _aligned(path, ids, own, items, agents)
    return np.array(rows, dtype=np.float64).reshape(len(ids), len(own))[np.ix_(order, across)], notes


def texts(path: Path, items: Sequence[str], agents: Sequence[str]) -> tuple[Texts, list[str]]:
    """Read a matrix of answers beside a table; as `numbers`. An empty cell is ""."""
    grid = grid_of(Source(path))
    columns = list(range(1, len(grid.columns)))
    own = _agents(grid, columns)
    ids, rows = _rows(grid, _texts(columns, empty=""), len(own))
    order, across, notes = _aligned(path, ids, own, items, agents)
    return _object(rows, len(own))[np.ix_(order, across)], notes


def header(path: Path) -> tuple[list[str], list[str]]:
    """The items and agents of a matrix."""
    grid = grid_of(Source(path))
    agents = _agents(grid, list(range(1, len(grid.columns))))
    items, _ = _rows(grid, lambda _line, _row: None, len(agents))
    return items, agents


def pairs(path: Path, what: str) -> dict[str, str]:
    """Read a file of two columns under a header: the right answer of each item, the family of each agent.

    Args:
        path: the file.
        what: the second column's usual name, which is looked for where there are more than two.

    Raises:
        UsageError: it has fewer columns, or more without one called so; a name comes twice.
    """
    grid = grid_of(Source(path))
    names = [name.lower() for name in grid.columns]
    if len(names) != 2 and what not in names[1:]:
        raise UsageError(f"{path}: two columns are needed, a name and its {what}; this has {listed_columns(grid)}")
    column = 1 if len(names) == 2 else names.index(what, 1)
    keys, values = _rows(grid, lambda _line, row: row[column] if what == GOLD else row[column].strip(), 1)
    return dict(zip(keys, values, strict=True))


def align_gold(gold: Mapping[str, str], items: Sequence[str], path: Path) -> list[str]:
    """The right answers in the order of the items.

    Raises:
        UsageError: items have none; says how many, and the first.
    """
    lacking = [item for item in items if item not in gold]
    if lacking:
        raise UsageError(
            f"{path}: {len(lacking)} of {len(items)} items have no right answer in --gold, the first is {lacking[0]!r}"
        )
    return [gold[item] for item in items]


def listed_columns(grid: Grid) -> str:
    """The first columns' names, for an error."""
    shown = ", ".join(" ".join(name.split())[:40] or "(no name)" for name in grid.columns[:6])
    return shown + (", ..." if len(grid.columns) > 6 else "")


def _agents(grid: Grid, columns: Sequence[int]) -> list[str]:
    seen: dict[str, int] = {}
    for column in columns:
        name = grid.columns[column]
        if not name:
            raise UsageError(f"{grid.source.path}: column {column + 1} has no name; name the agent or remove it")
        if name in seen:
            raise UsageError(
                f"{grid.source.path}: columns {seen[name] + 1} and {column + 1} are both called {name!r}; "
                "give each agent its own name"
            )
        seen[name] = column
    if not seen:
        raise UsageError(
            f"{grid.source.path}: one column, {listed_columns(grid)!r}, and no agents; "
            "a table has the item first, then one column an agent, separated by commas, semicolons or tabs"
        )
    return list(seen)


def _rows(grid: Grid, take: Callable[[int, list[str]], T], agents: int) -> tuple[list[str], list[T]]:
    """The ids, and what `take` makes of each row."""
    first: dict[str, int] = {}
    rows: list[T] = []
    for line, row in grid.rows:
        item = row[0].strip()
        if not item:
            raise grid.at(line, "no item id in the first column")
        if item in first:
            raise grid.at(line, f"{item!r} again, first on line {first[item]}; in a wide table each item has one row")
        first[item] = line
        rows.append(take(line, row))
        check_cells(len(rows), agents, 1, grid.source.path)
    return list(first), rows


def _numbers(grid: Grid, columns: Sequence[int], values: Numbers) -> Callable[[int, list[str]], Floats]:
    pick = _pick(columns)

    def take(line: int, row: list[str]) -> Floats:
        try:
            return values.row(pick(row))
        except ValueError:
            for column in columns:  # which one it was
                try:
                    values[row[column]]
                except ValueError as error:
                    raise grid.at(line, f"agent {grid.columns[column]!r}: {error}") from error
            raise

    return take


def _texts(columns: Sequence[int], empty: str | None = None) -> Callable[[int, list[str]], list[str | None]]:
    pick = _pick(columns)
    return lambda _line, row: [kept(text) or empty for text in pick(row)]


def _pick(columns: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    return itemgetter(*columns) if len(columns) > 1 else lambda row: [row[columns[0]]]


def _object(rows: Sequence[Sequence[str | None]], width: int) -> Texts:
    found = np.empty((len(rows), width), dtype=object)
    for place, row in enumerate(rows):
        found[place] = row
    return found


def _aligned(
    path: Path, own_items: Sequence[str], own_agents: Sequence[str], items: Sequence[str], agents: Sequence[str]
) -> tuple[list[int], list[int], list[str]]:
    """The rows and columns of a matrix in the table's order, and notes on what the table does not have."""
    notes = []
    places = []
    for what, own, wanted in (("items", own_items, items), ("agents", own_agents, agents)):
        place = {name: number for number, name in enumerate(own)}
        lacking = [name for name in wanted if name not in place]
        if lacking:
            raise UsageError(
                f"{path}: lacks {len(lacking)} of the table's {len(wanted)} {what}, the first is {lacking[0]!r}; "
                f"it has {len(own)}, the first {own[0] if own else None!r}: use the same names, cells may be empty"
            )
        if len(own) > len(wanted):
            known = set(wanted)
            spare = [name for name in own if name not in known]
            notes.append(f"{path}: {len(spare)} {what} that the table does not have are not used: {listed(spare)}")
        places.append([place[name] for name in wanted])
    return places[0], places[1], notes
