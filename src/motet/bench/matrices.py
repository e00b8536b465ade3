"""A folder of recorded results as a suite: the questions that were recorded can be asked again.

`items.csv` (or `.csv.gz`, `.tsv`) has one row an item, its id first, and the columns

    question  the question (or `prompt`, or `input`)
    gold      the right answer (or `target`, or `answer`)
    options   the options as a JSON list, where it is multiple choice (or `choices`)
    category  what it is about (or `topic`, `subject`, …)

Further columns are metadata. An item whose right answer is blank is left out, and the suite's source says how many are.
The results beside it are what `motet.tables` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from motet.bench.rows import tasks_of
from motet.bench.task import Suite
from motet.errors import UsageError
from motet.tables.folder import TOPICS, matrices
from motet.tables.grid import Grid, grid_of
from motet.tables.source import Source

_COLUMNS: Final = {
    "input": ("question", "prompt", "input"),
    "target": ("gold", "target", "answer"),
    "choices": ("options", "choices"),
    "topic": TOPICS,
}
"""The columns of items.csv that make a task, each by the names it may have, in order of choice."""


def matrices_suite(path: Path) -> Suite:
    """Read the questions of a folder of matrices.

    Args:
        path: the folder.

    Returns:
        The suite, named after the folder; graded as choices where there are options, else as exact answers.

    Raises:
        UsageError: there is no `items.csv`, it has no questions or no right answers, or a row is no task.
    """
    found = matrices(path).get("items")
    if found is None:
        raise UsageError(f"{path}: a folder without items.csv is no suite; give a file of tasks")
    grid = grid_of(Source(found))
    lower = [name.lower() for name in grid.columns]
    places = {ours: _place(lower, names) for ours, names in _COLUMNS.items()}
    for ours, names in list(_COLUMNS.items())[:2]:
        if places[ours] is None:
            what = "questions can't be asked" if ours == "input" else "answers can't be graded"
            raise UsageError(f"{found}: there is no column {' or '.join(names)}, so its {what}")
    rows = list(_rows(grid, places))
    known = [(number, row) for number, row in rows if "target" in row]
    if rows and not known:
        raise UsageError(
            f"{found}: the column {grid.columns[places['target'] or 0]} is empty, so no answer can be graded"
        )
    tasks = tasks_of(known, str(found))
    choices = any(task.choices for task in tasks)
    left = (
        f", without {len(rows) - len(known)} items whose right answer is not recorded" if len(rows) > len(known) else ""
    )
    return Suite(path.resolve().name, tasks, source=f"{path}{left}", scorer="choice" if choices else "exact")


def _place(columns: Sequence[str], names: Sequence[str]) -> int | None:
    return next((columns.index(name) for name in names if name in columns[1:]), None)


def _rows(grid: Grid, places: dict[str, int | None]) -> Iterator[tuple[int, dict[str, object]]]:
    taken = {place for place in places.values() if place is not None}
    for number, cells in grid.rows:
        row: dict[str, object] = {"id": cells[0]}
        row |= {ours: cells[place] for ours, place in places.items() if place is not None and cells[place].strip()}
        if "choices" in row:
            try:
                row["choices"] = msgspec.json.decode(str(row["choices"]), type=list[str])
            except msgspec.MsgspecError as error:
                raise grid.at(number, f"the options are no JSON list of texts: {error}") from error
        row["metadata"] = {
            name: cells[place]
            for place, name in enumerate(grid.columns)
            if place and place not in taken and cells[place]
        }
        yield number, row
