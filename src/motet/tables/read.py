r"""Any file of recorded outcomes as one `Table`: looks at it, tells the format, reads it, and says what it guessed.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder, "results.csv")
...     _ = path.write_text("item,small,large\nq1,1,0\nq2,0,1\n")
...     table = read(path)
>>> table.format, table.agents
('wide', ('small', 'large'))
>>> print(*table.notes, sep="\n")
read as a wide table: one row an item, one column an agent (told from the content)
columns separated by commas
"""

from __future__ import annotations

import difflib
import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from motet.errors import UsageError
from motet.measure.arrays import Ints
from motet.tables.alpaca_eval import alpaca_eval, is_alpaca_eval
from motet.tables.cells import Amounts, Counts, number
from motet.tables.draft import Draft, by_name, listed
from motet.tables.folder import folder, is_folder
from motet.tables.inspect_log import inspect_log, is_inspect
from motet.tables.lm_eval import is_lm_eval, lm_eval
from motet.tables.long import is_long, long
from motet.tables.look import Look, look
from motet.tables.source import plain
from motet.tables.swe_bench import is_swe_bench, swe_bench
from motet.tables.table import Table
from motet.tables.wide import GOLD, align_gold, is_wide, numbers, pairs, texts, wide

_LOOKED_AT: Final = 1000
"""Files of a folder that are looked at to name those that are not used."""

PathLike = str | os.PathLike[str]
Gold = Mapping[str, str] | None
"""The right answer of each item, where they are given beside the table."""


class Format(NamedTuple):
    """A way of writing outcomes down.

    Attributes:
        says: what the notes call it.
        fits: whether what was seen is of this format.
        read: makes a draft of one or more paths.
        many: whether several paths make one table.
    """

    says: str
    fits: Callable[[Look], bool]
    read: Callable[[Sequence[Look], Gold], Draft]
    many: bool = False


def _is_wide(seen: Look) -> bool:
    """Correctness, or answers with the right ones in a column of their own."""
    return is_wide(seen.columns, seen.rows) or (GOLD in seen.columns[1:] and not is_long(seen.columns))


def _read_wide(looks: Sequence[Look], gold: Gold) -> Draft:
    grid = looks[0].grid()
    draft = wide(grid, gold)
    draft.notes.insert(0, grid.how)
    return draft


def _read_long(looks: Sequence[Look], gold: Gold) -> Draft:
    grid = looks[0].grid()
    draft = long(grid, gold)
    draft.notes.insert(0, grid.how)
    return draft


FORMATS: Final[Mapping[str, Format]] = {
    "wide": Format("a wide table: one row an item, one column an agent", _is_wide, _read_wide),
    "long": Format("a long table: one row an outcome", lambda seen: is_long(seen.columns), _read_long),
    "folder": Format(
        "a folder of matrices",
        lambda seen: seen.kind == "folder" and is_folder(seen.path),
        lambda looks, _: folder(looks[0].path),
    ),
    "lm-eval": Format("sample logs of lm-evaluation-harness", is_lm_eval, lambda looks, _: lm_eval(looks), many=True),
    "inspect": Format("logs of Inspect", is_inspect, lambda looks, _: inspect_log(looks), many=True),
    "alpaca-eval": Format("annotations of AlpacaEval", is_alpaca_eval, lambda looks, _: alpaca_eval(looks), many=True),
    "swe-bench": Format("reports of SWE-bench", is_swe_bench, lambda looks, _: swe_bench(looks), many=True),
}
"""What `--format` may say."""


def read(
    path: PathLike | Sequence[PathLike],
    *,
    answers: PathLike | None = None,
    gold: PathLike | None = None,
    cost: PathLike | None = None,
    tokens: PathLike | None = None,
    latency: PathLike | None = None,
    samples: PathLike | int | None = None,
    groups: PathLike | None = None,
    format: str | None = None,
) -> Table:
    """Read recorded outcomes.

    Args:
        path: a file or a folder; several where a format has one file an agent.
        answers: a wide file of the agents' answers.
        gold: the right answers: two columns, the item and its answer, or any file of items with a column `gold`.
            A wide table with `gold` and without `answers` holds answers itself.
        cost: a wide file of USD.
        tokens: a wide file of tokens.
        latency: a wide file of seconds.
        samples: how many draws each cell averages: one number, or a wide file.
        groups: two columns, the agent and its family.
        format: one of `FORMATS`; by default it is told from the content.

    Returns:
        The table; its notes say what was guessed and what was left out.

    Raises:
        UsageError: whatever keeps these files from being one table, with the file, the line, and what to do.
    """
    paths = [plain(path)] if isinstance(path, (str, os.PathLike)) else [plain(one) for one in path]
    if not paths:
        raise UsageError("no table: give a file or a folder")
    right = None if gold is None else pairs(plain(gold), "gold")
    looks = [look(one) for one in paths]
    name = _format(looks, format, answered=right is not None)
    chosen = FORMATS[name]
    if len(looks) > 1 and not chosen.many:
        raise UsageError(f"{len(looks)} files, and {paths[0]} is {chosen.says}: give one of them")
    with _without_collector():
        draft = chosen.read(looks, right if answers is None else None)
    draft.notes.insert(0, f"read as {chosen.says}" + ("" if format else " (told from the content)"))
    other = _passed_over(looks, chosen) if name != "folder" else []
    if other:
        draft.notes.append(f"not used: {listed(other)}")
    items, agents = draft.items, draft.agents
    if answers is not None:
        draft.answers, notes = texts(plain(answers), items, agents)
        draft.notes += notes
    if right is not None and gold is not None:
        if draft.answers is None:
            raise UsageError(f"{paths[0]}: right answers are given, but no answers to compare: add --answers")
        draft.gold = align_gold(right, items, plain(gold))
    for field, side in (("cost", cost), ("tokens", tokens), ("seconds", latency)):
        if side is not None:
            values, notes = numbers(plain(side), Amounts(), items, agents)
            setattr(draft, field, values)
            draft.notes += notes
    if samples is not None:
        draft.samples = _samples(samples, draft)
    if groups is not None:
        draft.families = _families(plain(groups), agents)
    source = str(paths[0]) if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    # A name that is not UTF-8 could be written neither to JSON nor to a page.
    return draft.table(source.encode("utf-8", "replace").decode(), name)


def _passed_over(looks: Sequence[Look], known: Format) -> list[str]:
    """Files in the folders given that are of another format."""
    other = []
    for seen in looks:
        for name in seen.names[:_LOOKED_AT] if seen.kind == "folder" else ():
            if (path := seen.path / name).is_file():
                try:
                    fits = known.fits(look(path))
                except UsageError:
                    fits = False
                other += [] if fits else [name]
    return other


@contextmanager
def _without_collector() -> Iterator[None]:
    """A long table is millions of small objects in no cycle; looking for cycles among them takes as long as reading."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _format(looks: Sequence[Look], asked: str | None, *, answered: bool) -> str:
    """The one format that all of these are of."""
    if asked is not None:
        if asked not in FORMATS:
            near = difflib.get_close_matches(asked, FORMATS, 1)
            raise UsageError(
                f"no format is called {asked!r}{f'; did you mean {near[0]!r}?' if near else ''}; "
                f"there are {', '.join(FORMATS)}"
            )
        return asked
    found = [_told(seen, answered) for seen in looks]
    for seen, name in zip(looks, found, strict=True):
        if name != found[0]:
            raise UsageError(
                f"{looks[0].path} is {FORMATS[found[0]].says}, {seen.path} is {FORMATS[name].says}: "
                "give files of one format"
            )
    return found[0]


def _told(seen: Look, answered: bool) -> str:
    fitting = [name for name, known in FORMATS.items() if known.fits(seen)]
    if len(fitting) > 1:
        says = " and ".join(FORMATS[name].says for name in fitting)
        flags = " or ".join(f"--format {name}" for name in fitting)
        raise UsageError(f"{seen.path} could be {says}: say which with {flags}")
    if fitting:
        return fitting[0]
    # Rows that fit nothing strictly are a wide table with a mistake, or of answers: reading it tells which.
    if seen.kind == "separated" or (seen.columns and (answered or _mostly_numbers(seen))):
        return "wide"
    raise UsageError(_unknown(seen))


def _mostly_numbers(seen: Look) -> bool:
    """Whether most of the cells beside the ids are numbers or empty."""
    cells = [number(text.strip()) is not None for row in seen.rows for text in row[1:]]
    return 2 * sum(cells) > len(cells)


def _unknown(seen: Look) -> str:
    what = " ".join(", ".join(sorted(seen.keys)[:6] or seen.names[:4]).split())
    return (
        f"{seen.path}: not a format that is known here ({what or 'nothing in it'}); a wide table has a row an item and "
        "a column an agent, a long one has columns item, agent and correct; "
        f"or say which it is with --format: {', '.join(FORMATS)}"
    )


def _samples(samples: PathLike | int, draft: Draft) -> Ints:
    shape = (len(draft.items), len(draft.agents))
    try:
        count = int(os.fspath(samples)) if not isinstance(samples, int) else samples
    except ValueError:
        assert not isinstance(samples, int)
        values, notes = numbers(plain(samples), Counts(), draft.items, draft.agents)
        draft.notes += notes
        return values.astype(np.int64)
    if not 1 <= count < 1 << 31:
        raise UsageError(f"--samples {count}: at least one draw a cell, and no more than there can be")
    return np.full(shape, count, dtype=np.int64)


def _families(path: Path, agents: Sequence[str]) -> list[str]:
    families = pairs(path, "family")
    lacking = [agent for agent in agents if agent not in families]
    if lacking:
        raise UsageError(
            f"{path}: {len(lacking)} of {len(agents)} agents have no family, the first is {lacking[0]!r}; "
            "add a row for each, the family may be empty"
        )
    return by_name(families, agents)
