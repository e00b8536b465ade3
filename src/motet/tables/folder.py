"""A folder of matrices: one wide file for each thing that is recorded, all with the same items and agents.

    correct.csv      needed: 1, 0 or the share of right samples
    items.csv        one row an item, its id first: `gold` the right answer, `category` (or `topic`, ...) its topic
    models.csv       one row an agent, its name first: `family`
    answer.csv       answers, comparable between agents
    samples.csv      how many samples a cell averages; or trials.csv, with successes.csv in place of correct.csv
    cost_usd.csv  input_tokens.csv  output_tokens.csv  latency_s.csv  confidence.csv
    samples*.jsonl   single samples: {"item_id": "q1", "run": "small", "answers": ["a", "b"], "correct": [1, 0]}
    preference.csv   in place of correct.csv: the share of judges that preferred the agent's answer

Any of them may be gzipped (`.csv.gz`) or separated by tabs (`.tsv`). Only correct.csv, or what stands in its place, has
to be there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from motet.errors import UsageError
from motet.measure.arrays import Floats
from motet.tables.cells import Amounts, Counts, Numbers, Shares
from motet.tables.draft import Draft, Texts, check_cells, kept, unasked
from motet.tables.grid import grid_of, json_lines
from motet.tables.source import Source
from motet.tables.table import unrecorded
from motet.tables.wide import header, numbers, texts, wide

ENDINGS: Final = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
RESULTS: Final = ("correct", "successes", "preference")
"""The matrices that say how right a cell is, in order of choice."""
TOPICS: Final = ("topic", "category", "subject", "repo", "platform")
"""Columns of items.csv that say what an item is about, in order of choice."""
_AMOUNTS: Final = ("cost_usd", "input_tokens", "output_tokens", "latency_s")
_KNOWN: Final = frozenset((*RESULTS, *_AMOUNTS, "answer", "samples", "trials", "confidence", "items", "models"))


def matrices(folder: Path) -> dict[str, Path]:
    """The separated files in a folder, by name without ending."""
    return {
        path.name.removesuffix(ending): path
        for path in sorted(folder.iterdir())
        for ending in ENDINGS
        if path.name.endswith(ending)
    }


def is_folder(folder: Path) -> bool:
    """Whether a folder has a matrix of results, or of what is often mistaken for them."""
    return bool(matrices(folder).keys() & {*RESULTS, "answer", "score"})


def folder(path: Path) -> Draft:
    """Read a folder of matrices.

    Args:
        path: the folder.

    Returns:
        The draft.

    Raises:
        UsageError: there is no matrix of results, or one of the files is wrong.
    """
    if not path.is_dir():
        raise UsageError(f"{path}: a folder of matrices is needed, and this is a file")
    found = matrices(path)
    draft = _results(path, found)
    items, agents = draft.items, draft.agents

    def matrix(name: str, values: Numbers) -> Floats | None:
        if name not in found:
            return None
        values_of, notes = numbers(found[name], values, items, agents)
        draft.notes += notes
        return values_of

    samples = matrix("samples", Counts())
    trials = samples if samples is not None else matrix("trials", Counts())
    if trials is not None:
        draft.samples = trials.astype(np.int64)
    draft.cost = matrix("cost_usd", Amounts())
    draft.seconds = matrix("latency_s", Amounts())
    draft.confidence = matrix("confidence", Shares())
    draft.tokens = _tokens(matrix("input_tokens", Amounts()), matrix("output_tokens", Amounts()), draft)
    if "items" in found:
        _read_items(found["items"], draft)
    if "models" in found:
        families = _column(found["models"], ("family",), agents, "agents")
        draft.families = families[1] if families else None
    if "answer" in found:
        draft.answers, notes = texts(found["answer"], items, agents)
        draft.notes += notes
    for name in sorted(path.glob("samples*.jsonl*")):
        _read_draws(name, draft)
    unused = sorted(found.keys() - _KNOWN)
    if unused:
        draft.notes.append(f"not used: {', '.join(unused)}")
    return draft


def _results(path: Path, found: dict[str, Path]) -> Draft:
    name = next((name for name in RESULTS if name in found), None)
    if name is None:
        if "answer" in found:
            raise UsageError(f"{path}: answers without right ones have no correctness; add a matrix correct.csv")
        if "score" in found:
            raise UsageError(f"{path}: scores are no correctness; add a matrix correct.csv with shares from 0 to 1")
        raise UsageError(f"{path}: no matrix of results; add correct.csv, one row an item and one column an agent")
    if name != "successes":
        draft = wide(grid_of(Source(found[name])))
        if name == "preference":
            draft.notes.append("preferences are read as correctness: 1 preferred to the baseline, 0.5 a tie")
        return draft
    if "trials" not in found:
        raise UsageError(f"{path}: successes.csv needs trials.csv beside it")
    items, agents = header(found[name])
    won, _ = numbers(found[name], Counts(), items, agents)
    tried, notes = numbers(found["trials"], Counts(), items, agents)
    if (won > tried).any():
        row, column = np.argwhere(won > tried)[0]
        raise UsageError(f"{path}: more successes than trials at item {items[row]!r}, agent {agents[column]!r}")
    share = unrecorded(won.shape)
    np.divide(won, tried, out=share, where=tried > 0)
    return Draft(items, agents, correct=share, notes=notes)


def _tokens(into: Floats | None, out: Floats | None, draft: Draft) -> Floats | None:
    if into is not None and out is not None:
        return into + out
    if into is not None or out is not None:
        draft.notes.append(f"tokens are those {'in' if out is None else 'out'} only, as the others are not recorded")
    return into if out is None else out


def _read_items(path: Path, draft: Draft) -> None:
    gold = _column(path, ("gold",), draft.items, "items")
    if gold:
        draft.gold = gold[1]
    topics = _column(path, TOPICS, draft.items, "items")
    if topics:
        draft.topics = topics[1]
        if topics[0] != "topic":
            draft.notes.append(f"topics are the column {topics[0]!r} of {path.name}")


def _column(path: Path, names: Sequence[str], wanted: Sequence[str], what: str) -> tuple[str, list[str]] | None:
    """The first of these columns that is there, in the order of `wanted`; "" where it has no row."""
    grid = grid_of(Source(path))
    lower = [name.lower() for name in grid.columns]
    name = next((name for name in names if name in lower[1:]), None)
    if name is None:
        return None
    column = lower.index(name, 1)
    values = {row[0].strip(): (kept(row[column]) if name == "gold" else row[column].strip()) for _, row in grid.rows}
    lacking = [key for key in wanted if key not in values]
    if lacking:
        raise UsageError(f"{path}: lacks {len(lacking)} of {len(wanted)} {what}, the first is {lacking[0]!r}")
    return name, [values[key] for key in wanted]


class _Line(msgspec.Struct):
    """One agent's samples on one item."""

    item_id: str | int
    correct: list[float | bool]
    answers: list[str | int | float | None] | None = None
    run: str = ""
    model: str = ""
    agent: str = ""


def _read_draws(path: Path, draft: Draft) -> None:
    """Take the single samples; agents and items that the matrices do not have are left out."""
    rows = {item: place for place, item in enumerate(draft.items)}
    columns = {agent: place for place, agent in enumerate(draft.agents)}
    cells: dict[tuple[int, int], _Line] = {}
    skipped = 0
    for number, value in json_lines(Source(path)):
        try:
            line = msgspec.convert(value, _Line)
        except msgspec.ValidationError as error:
            raise UsageError(f"{path}:{number}: {error}; a line has item_id, run, answers and correct") from error
        agent = line.run or line.model or line.agent
        if any(not 0 <= right <= 1 for right in line.correct):
            raise UsageError(f"{path}:{number}: correctness is between 0 and 1")
        if line.answers is not None and len(line.answers) != len(line.correct):
            raise UsageError(f"{path}:{number}: {len(line.answers)} answers, {len(line.correct)} results")
        if str(line.item_id) in rows and agent in columns:
            cell = (rows[str(line.item_id)], columns[agent])
            if cell in cells:
                raise UsageError(
                    f"{path}:{number}: {agent!r} on {line.item_id!r} again; one line holds all its samples"
                )
            cells[cell] = line
        else:
            skipped += 1
    slots = max((len(line.correct) for line in cells.values()), default=0)
    if skipped:
        draft.notes.append(f"{path.name}: {skipped} lines of items or agents that are in no matrix are not used")
    if not slots:
        return
    shape = (len(rows), len(columns), slots)
    check_cells(*shape, path)
    correct = unrecorded(shape)
    answers: Texts = np.full(shape, None, dtype=object)
    for cell, line in cells.items():
        correct[cell][: len(line.correct)] = line.correct
        if line.answers is not None:
            answers[cell][: len(line.correct)] = ["" if text is None else kept(str(text)) for text in line.answers]
    draft.draw_correct = correct
    draft.draw_answers = None if unasked(answers).all() else answers
    sampled = len({column for _, column in cells})
    draft.notes.append(f"{path.name}: up to {slots} single samples a cell, of {sampled} of {len(columns)} agents")
