"""Two runs side by side: each arm that both have, on the tasks that both have.

>>> from motet.bench.cell import Cell
>>> runs = [Sheet.of([Cell(str(i), "a", 0, float(i < right), "full") for i in range(20)]) for right in (10, 18)]
>>> [(each.arm, round(each.difference, 2), each.wins) for each in contrasts(*runs)]
[('a', 0.4, 8)]
"""

from __future__ import annotations

import msgspec
import numpy as np

from motet.bench.contrast import Contrast, contrast, corrected
from motet.bench.run import BenchRun, Opening
from motet.bench.sheet import Sheet
from motet.diagnosis.text import between, chance, percent, points
from motet.errors import UsageError
from motet.measure.arrays import Floats
from motet.page.page import Block, Rows, Section, Words


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of two runs, and the share of the common tasks that each arm got right in it."""

    run: str
    date: str
    version: str
    right: dict[str, float]


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs: `contrasts` are of the second against the first, an arm each, with Holm's correction over all.

    `tasks` are the ones that both runs have; `differs` says what else is not the same in both.
    """

    first: Side
    second: Side
    tasks: int
    contrasts: tuple[Contrast, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    differs: tuple[str, ...]


def contrasts(first: Sheet, second: Sheet, *, seed: int = 0) -> list[Contrast]:
    """Each arm that both have, the second against the first, on the tasks that both have."""
    tasks = [task for task in first.tasks if task in set(second.tasks)]
    found = [
        contrast(arm, _of(second, arm, tasks), arm, _of(first, arm, tasks), seed=seed)
        for arm in first.arms
        if arm in second.columns
    ]
    return corrected([each for each in found if each is not None])


def compare(first: BenchRun, second: BenchRun) -> Compared:
    """Compare two runs.

    Raises:
        UsageError: they are one, have no task or no arm in common, or know a task as different questions.
    """
    if first.name == second.name:
        raise UsageError(f"{first.name!r} is one run: name another beside it")
    common = [task for task in first.tasks if task in second.tasks]
    if not common:
        raise UsageError(f"{first.name!r} and {second.name!r} have no task in common")
    other = [task for task in common if first.tasks[task] != second.tasks[task]]
    if other:
        raise UsageError(f"the task {other[0]!r} is another question in {second.name!r}: they can't be compared")
    sheets = [first.sheet(), second.sheet()]
    found = contrasts(*sheets, seed=first.opening.seed)
    if not found:
        raise UsageError(f"{first.name!r} and {second.name!r} have no arm in common that answered the same tasks")
    arms = [set(run.arms) for run in (first, second)]
    return Compared(
        first=_side(first, sheets[0], common),
        second=_side(second, sheets[1], common),
        tasks=len(common),
        contrasts=tuple(found),
        only_first=tuple(sorted(arms[0] - arms[1])),
        only_second=tuple(sorted(arms[1] - arms[0])),
        differs=tuple(_differs(first.opening, second.opening)),
    )


def sections(compared: Compared) -> list[Section]:
    """The comparison as people read it."""
    sides = (compared.first, compared.second)
    columns = ["who", *(side.run for side in sides), "difference", "95 %", "p", "won", "lost"]
    rows = [
        [
            each.arm,
            *(percent(side.right.get(each.arm)) for side in sides),
            points(each.difference),
            between(each.interval),
            chance(each.p_holm).removeprefix("p ").removeprefix("= "),
            str(each.wins),
            str(each.losses),
        ]
        for each in compared.contrasts
    ]
    blocks: list[Block] = [Rows(columns, rows)]
    clear = [each for each in compared.contrasts if each.p_holm < 0.05]
    said = "; ".join(f"{each.arm} {points(each.difference)} points" for each in clear)
    blocks.append(Words(f"Clearly changed: {said}." if clear else "No arm is shown to have changed.", "verdict"))
    blocks.append(Words(f"On the {compared.tasks:,} tasks that both have; p is Holm’s over the table.", "note"))
    if compared.differs:
        blocks.append(Words(f"They differ in {', '.join(compared.differs)}.", "warning"))
    for side, only in zip(sides, (compared.only_first, compared.only_second), strict=True):
        if only:
            blocks.append(Words(f"Only in {side.run}: {', '.join(only)}.", "note"))
    return [Section(f"{compared.second.run} against {compared.first.run}", blocks)]


def _of(sheet: Sheet, arm: str, tasks: list[str]) -> Floats:
    place = {task: number for number, task in enumerate(sheet.tasks)}
    chosen: Floats = sheet.scores(arm)[[place[task] for task in tasks]]
    return chosen


def _side(run: BenchRun, sheet: Sheet, tasks: list[str]) -> Side:
    scores = {arm: _of(sheet, arm, tasks) for arm in sheet.arms}
    right = {arm: float(np.nanmean(values)) for arm, values in scores.items() if np.isfinite(values).any()}
    return Side(run=run.name, date=run.opening.date, version=run.opening.version, right=right)


def _differs(first: Opening, second: Opening) -> list[str]:
    found = []
    if first.asking != second.asking:
        found.append("how tasks are asked or graded")
    for word in ("seed", "draws", "version", "machine"):
        if getattr(first, word) != getattr(second, word):
            found.append(f"{word} ({getattr(first, word)}, {getattr(second, word)})")
    models = sorted(name for name in first.models.keys() & second.models.keys()
                    if first.models[name] != second.models[name])  # fmt: skip
    if models:
        found.append(f"what these models are: {', '.join(models)}")
    old, new = ({arm.name: arm.key for arm in opening.arms} for opening in (first, second))
    if not found:
        made = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
        found += [f"how these are made: {', '.join(made)}"] if made else []
    return found
