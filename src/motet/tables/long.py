"""A long table: one row an outcome, of one agent on one item.

    item,agent,correct,answer,gold,cost,sample
    q1,small,1,Paris,Paris,0.0001,1
    q1,small,0,Lyon,Paris,0.0001,2

`item`, `agent` and `correct` are needed, or `answer` and `gold` in place of `correct`; the rest may be left out, other
columns are not used. Rows of one agent on one item are samples of it and need a `sample` number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from motet.errors import UsageError
from motet.tables.cells import Amounts, Shares
from motet.tables.draft import Draft, kept
from motet.tables.grid import Grid
from motet.tables.records import Outcome, Records

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "item": ("item", "item_id", "question_id", "task_id", "instance_id"),
    "agent": ("agent", "model", "model_id", "agent_name", "model_name"),
    "correct": ("correct", "right", "resolved", "passed", "is_correct"),
    "answer": ("answer", "prediction", "response"),
    "gold": ("gold", "target"),
    "cost": ("cost", "usd", "cost_usd"),
    "tokens": ("tokens", "total_tokens"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "seconds": ("seconds", "latency", "latency_s"),
    "sample": ("sample", "run", "trial", "epoch"),
    "confidence": ("confidence",),
    "topic": ("topic", "category", "subject"),
    "family": ("family",),
}
"""What a column may be called, in any case; of several that are there the first counts, and a note names the others."""

_FACTS: Final = (("gold", "item", "gold"), ("topics", "item", "topic"), ("families", "agent", "family"))
"""What a row says of its item or agent: the field of `Records`, of which of the two, and the column."""


def columns_of(names: Sequence[str]) -> dict[str, int]:
    """Which columns hold what.

    >>> columns_of(["item_id", "Model", "correct", "note"])
    {'item': 0, 'agent': 1, 'correct': 2}
    """
    lower = [name.lower() for name in names]
    return {what: lower.index(name) for what, known in NAMES.items() for name in reversed(known) if name in lower}


def is_long(names: Sequence[str]) -> bool:
    """Whether a header has what a long table needs."""
    found = columns_of(names)
    return {"item", "agent"} <= found.keys() and bool({"correct", "answer"} & found.keys())


def long(grid: Grid, gold: Mapping[str, str] | None = None) -> Draft:
    """Read a long table.

    Args:
        grid: the rows.
        gold: the right answer of each item, in place of a column `gold`.

    Returns:
        The draft.

    Raises:
        UsageError: a column that is needed is not there or there twice, a value that is none, an outcome that comes
            twice without saying which sample it is.
    """
    place = columns_of(grid.columns)
    for needed in ("item", "agent"):
        if needed not in place:
            raise UsageError(f"{grid.source.path}: a long table needs a column {needed!r}")
    if not {"correct", "answer"} & place.keys():
        raise UsageError(f"{grid.source.path}: a long table needs a column `correct`, or `answer` and `gold`")
    _no_twins(grid, place.values())
    records = Records(gold=dict(gold or {}))
    shares, amounts = Shares(), Amounts()
    # A column that is not there is read from the "" that is put after each row: a table of millions of rows is common.
    column = {what: place.get(what, -1) for what in NAMES}
    answered = "answer" in place
    facts = [
        (kind, whose, place[what])
        for kind, whose, what in (
            ("gold", "item", "gold"),
            ("topics", "item", "topic"),
            ("families", "agent", "family"),
        )
        if what in place and not (gold and what == "gold")
    ]
    for line, row in grid.rows:
        row.append("")
        item, agent = row[column["item"]].strip(), row[column["agent"]].strip()
        if not item or not agent:
            raise grid.at(line, f"no {'agent' if item else 'item'} in this row")
        try:
            tokens = amounts[row[column["tokens"]]]
            if tokens != tokens:
                tokens = amounts[row[column["input_tokens"]]] + amounts[row[column["output_tokens"]]]
            outcome = Outcome(
                shares[row[column["correct"]]],
                kept(row[column["answer"]]) if answered else None,
                amounts[row[column["cost"]]],
                tokens,
                amounts[row[column["seconds"]]],
                shares[row[column["confidence"]]],
            )
        except ValueError as error:
            raise grid.at(line, f"{_culprit(row, column)}{error}") from error
        try:
            records.add(line, item, agent, outcome, row[column["sample"]].strip())
            for kind, whose, where in facts:
                records.fact(
                    kind, item if whose == "item" else agent, row[where] if kind == "gold" else row[where].strip()
                )
        except ValueError as error:
            raise grid.at(line, error) from error
    unused = [name for column, name in enumerate(grid.columns) if name and column not in place.values()]
    if unused:
        records.notes.append(f"columns not used: {', '.join(unused[:8])}{', ...' if len(unused) > 8 else ''}")
    return records.draft(grid.source.path)


def _culprit(row: Sequence[str], column: Mapping[str, int]) -> str:
    """Which column of a row can't be read, for an error."""
    for what in ("correct", "confidence", "cost", "tokens", "input_tokens", "output_tokens", "seconds"):
        values = Shares() if what in ("correct", "confidence") else Amounts()
        try:
            values[row[column[what]]]
        except ValueError:
            return f"{what}: "
    return ""


def _no_twins(grid: Grid, used: Iterable[int]) -> None:
    lower = [name.lower() for name in grid.columns]
    for column in used:
        if lower.count(lower[column]) > 1:
            raise UsageError(f"{grid.source.path}: two columns are called {grid.columns[column]!r}; remove one")
