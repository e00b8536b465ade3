"""What a run shows: how good each arm was, at what cost, and whether any mixture is better than the best member.

>>> from motet.bench.runner import Cell
>>> cells = [Cell(str(i), arm, 0, float(i < right), "full") for i in range(40) for arm, right in (("a", 20), ("v", 31))]
>>> found = results(cells, members=["a"])
>>> [(line.arm, line.right, line.wins, line.losses) for line in found.lines]
[('a', 0.5, 0, 0), ('v', 0.775, 11, 0)]
>>> found.verdict
'v is better than a, the best member, by 27.5 points (11 tasks won, 0 lost; p < 0.001, Holm).'
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from motet.bench.runner import Cell
from motet.diagnosis.text import chance
from motet.measure.arrays import Floats
from motet.measure.bootstrap import bootstrap_difference
from motet.measure.interval import Interval
from motet.measure.mcnemar import mcnemar
from motet.measure.multiplicity import holm
from motet.measure.permutation import sign_flip
from motet.measure.wilson import wilson

UNFIT = 0.1
"""The share of failed or ungraded answers of an arm above which nothing should be concluded from it."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One arm.

    `right` is its mean score over the tasks it was graded on, with Wilson's interval where scores are 0 or 1.
    `difference` is to the best member on the tasks that both were graded on, with a paired bootstrap interval; `wins`
    and `losses` are the tasks on which it did better and worse; `p` is exact McNemar's, or a sign flip's where scores
    are graded, and `p_holm` that corrected over all mixtures; null for members. Calls, tokens, USD and seconds are a
    task's, and what its answer would take alone: calls shared with other arms are counted in each.
    """

    arm: str
    member: bool
    tasks: int
    right: float
    interval: Interval | None
    difference: float | None
    difference_interval: Interval | None
    wins: int
    losses: int
    p: float | None
    p_holm: float | None
    calls: float
    tokens_in: float
    tokens_out: float
    usd: float
    seconds_p50: float
    seconds_p95: float
    abstained: int
    failed: int
    ungraded: int
    unfit: bool


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """All arms, members first; `saved_calls` and `saved_usd` are what sharing and earlier processes saved."""

    lines: tuple[Line, ...]
    best_member: str | None
    verdict: str
    saved_calls: int
    saved_usd: float
    usd: float


def results(cells: Iterable[Cell], *, members: Sequence[str] = (), seed: int = 0) -> Results:
    """Make the table.

    Args:
        cells: what a run gave.
        members: the arms that are members of the others; the best of them is what mixtures are compared with.
        seed: of the intervals.

    Returns:
        The results.
    """
    by_arm: dict[str, list[Cell]] = {}
    for cell in cells:
        by_arm.setdefault(cell.arm, []).append(cell)
    tasks = list(dict.fromkeys(cell.task for several in by_arm.values() for cell in several))
    scores = {arm: _scores(several, tasks) for arm, several in by_arm.items()}
    known = [arm for arm in by_arm if arm in members and np.isfinite(scores[arm]).any()]
    best = max(known, key=lambda arm: float(np.nanmean(scores[arm])), default=None)
    order = [*(arm for arm in by_arm if arm in members), *(arm for arm in by_arm if arm not in members)]
    lines = [_line(arm, by_arm[arm], scores[arm], arm in members, scores.get(best or ""), seed) for arm in order]
    tested = [place for place, line in enumerate(lines) if line.p is not None]
    corrected = holm([lines[place].p or 0.0 for place in tested]).tolist() if tested else []
    for place, value in zip(tested, corrected, strict=True):
        lines[place] = msgspec.structs.replace(lines[place], p_holm=float(value))
    every = [cell.usage for several in by_arm.values() for cell in several]
    return Results(
        lines=tuple(lines),
        best_member=best,
        verdict=_verdict(lines, best),
        saved_calls=sum(usage.saved_calls for usage in every),
        saved_usd=sum(usage.saved_usd for usage in every),
        usd=sum(usage.usd for usage in every),
    )


def _scores(cells: Iterable[Cell], tasks: Sequence[str]) -> Floats:
    """(tasks,) mean scores over draws; NaN where nothing was graded."""
    kept: dict[str, list[float]] = {}
    for cell in cells:
        if cell.score is not None:
            kept.setdefault(cell.task, []).append(cell.score)
    return np.array([sum(kept[task]) / len(kept[task]) if task in kept else math.nan for task in tasks])


def _line(arm: str, cells: list[Cell], scores: Floats, member: bool, best: Floats | None, seed: int) -> Line:
    graded = scores[np.isfinite(scores)]
    whole = bool(np.isin(graded, (0, 1)).all())
    difference = interval = p = None
    wins = losses = 0
    if best is not None and not member:
        both = np.isfinite(scores) & np.isfinite(best)
        if both.any():
            own, other = scores[both], best[both]
            estimate = bootstrap_difference(own, other, seed=seed)
            difference, interval = estimate.value, estimate.interval
            wins, losses = int((own > other).sum()), int((own < other).sum())
            exact = whole and bool(np.isin(other, (0, 1)).all())
            p = mcnemar(own > 0, other > 0).p if exact else sign_flip(own, other, seed=seed).p
    failed = sum(cell.state == "failed" for cell in cells)
    ungraded = sum(cell.score is None for cell in cells)
    seconds = np.array([cell.seconds for cell in cells])
    usage = [cell.alone for cell in cells]
    return Line(
        arm=arm,
        member=member,
        tasks=len(graded),
        right=float(graded.mean()) if graded.size else math.nan,
        interval=wilson(float(graded.sum()), len(graded)) if whole and graded.size else None,
        difference=difference,
        difference_interval=interval,
        wins=wins,
        losses=losses,
        p=p,
        p_holm=None,
        calls=_mean(each.calls for each in usage),
        tokens_in=_mean(each.input for each in usage),
        tokens_out=_mean(each.output for each in usage),
        usd=_mean(each.usd for each in usage),
        seconds_p50=float(np.quantile(seconds, 0.5)),
        seconds_p95=float(np.quantile(seconds, 0.95)),
        abstained=sum(cell.state == "abstained" for cell in cells),
        failed=failed,
        ungraded=ungraded,
        unfit=failed + ungraded > UNFIT * len(cells),
    )


def _mean(values: Iterable[float]) -> float:
    several = list(values)
    return sum(several) / len(several)


def _verdict(lines: Sequence[Line], best: str | None) -> str:
    unfit = [line.arm for line in lines if line.unfit]
    left_out = f"Too many answers failed or could not be graded to conclude anything of {', '.join(unfit)}."
    mixtures = [each for each in lines if each.p_holm is not None and each.difference is not None and not each.unfit]
    if unfit and (best in unfit or not mixtures):
        return left_out
    if best is None or not mixtures:
        return "There is nothing to compare: name mixtures, and let their members answer alone."
    return f"{_compared(mixtures, best)} {left_out}" if unfit else _compared(mixtures, best)


def _compared(mixtures: Sequence[Line], best: str) -> str:
    top = max(mixtures, key=lambda line: line.difference or 0.0)
    told = f"({top.wins} tasks won, {top.losses} lost; {chance(top.p_holm or 0.0)}, Holm)"
    gain = 100 * (top.difference or 0.0)
    if gain > 0 and (top.p_holm or 0.0) < 0.05:
        return f"{top.arm} is better than {best}, the best member, by {gain:.1f} points {told}."
    return (
        f"No mixture is shown to be better than {best}, the best member; the nearest is {top.arm}, {gain:+.1f} {told}."
    )
