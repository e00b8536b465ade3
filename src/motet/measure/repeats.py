"""Repeats: what running an agent again shows about how far a single run can be trusted.

Of r runs of one agent on each item:

    distinct          number of different answers (or paths) among an item's runs; consistent agents have 1
    failure AUC       the chance that a failed run's item shows more of them than a successful run's; 1/2: no sign
    flip rate         share of pairs of runs of an item that differ, mean over items
    test-retest       correlation of outcomes over items between two runs, mean over pairs of runs
    best - mean       what reporting the best of r runs adds to what a run is worth

Distinct paths per ten runs and accuracy by their number: Mehta, "When Agents Disagree With Themselves: Measuring
Behavioral Consistency in LLM-Based Agents" (2026). Test-retest is the classical reliability of one run (Lord and
Novick 1968), Pearson's phi on right and wrong. Inferred: the AUC, which asks the paper's question without its cuts at
two and six paths; it counts runs, not items, so that an item half right counts on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints, as_answers, as_correct, run_places, run_starts
from motet.measure.calibration import auc


@dataclass(frozen=True)
class RunGap:
    """What choosing among runs makes of an agent.

    Attributes:
        mean: mean correctness of a run.
        best: that of the best of the runs, chosen afterwards.
        worst: that of the worst.
        gap: best minus mean; it is luck where the runs are alike, and grows with their number.
        any: share of items that any run got right (with shares of samples, the mean of the best).
    """

    mean: float
    best: float
    worst: float
    gap: float
    any: float


def distinct(answers: npt.ArrayLike) -> Ints:
    """How many different answers, or paths, an item's runs show.

    Args:
        answers: (n, r) numbers of the answers, or of the paths (equal numbers: the same sequence of actions); `NONE`
            counts as an outcome of its own, since a run that ends without an answer is a different one.

    Returns:
        (n,) from 1 to r.

    Raises:
        ValueError: as `as_answers`.

    >>> distinct([[3, 3, 3], [3, -1, 5]]).tolist()
    [1, 3]
    """
    ranked = np.sort(as_answers(answers), axis=1)
    count: Ints = run_starts(ranked).sum(axis=1).astype(np.int64)
    return count


def failure_auc(correct: npt.ArrayLike, answers: npt.ArrayLike) -> float:
    """How well the number of distinct answers, or paths, tells failed runs from successful ones.

    Args:
        correct: (n, r) 1 right, 0 wrong.
        answers: (n, r) of the same runs, as in `distinct`.

    Returns:
        From 0 to 1; 1/2 where it tells nothing, NaN where all runs fail or none does.

    Raises:
        ValueError: the shapes differ, or an outcome is not 0 or 1.

    >>> failure_auc([[1, 1], [0, 0]], [[1, 1], [1, 2]])
    1.0
    """
    right, count = _told(correct, answers)
    return auc(np.repeat(count, right.shape[1]), 1 - right.ravel())


def accuracy_by_distinct(correct: npt.ArrayLike, answers: npt.ArrayLike) -> tuple[Floats, Ints]:
    """How accurate items are whose runs show one, two, ... different answers, or paths.

    Args:
        correct: (n, r).
        answers: (n, r) of the same runs, as in `distinct`.

    Returns:
        (r,) mean correctness of the items with 1, 2, ... r of them, NaN where there are none, and (r,) their number.

    Raises:
        ValueError: the shapes differ, or as `as_correct`.

    >>> accuracy_by_distinct([[1, 1], [1, 0]], [[1, 1], [1, 2]])[0].tolist()
    [1.0, 0.5]
    """
    right, count = _told(correct, answers)
    r = right.shape[1]
    items = np.bincount(count, minlength=r + 1)[1:]
    total = np.bincount(count, right.mean(axis=1), minlength=r + 1)[1:]
    return np.where(items > 0, total / np.maximum(items, 1), np.nan), items.astype(np.int64)


def flip_rate(outcomes: npt.ArrayLike) -> float:
    """How often two runs of an item differ.

    Args:
        outcomes: (n, r) whole numbers or 0 and 1, at least two runs; answers, paths, or right and wrong. `NONE` is an
            outcome of its own.

    Returns:
        Mean over items of the share of pairs of runs that differ.

    Raises:
        ValueError: fewer than two runs, or values that are no labels.

    >>> round(flip_rate([[1, 1, 1], [1, 1, 0]]), 3)
    0.333
    """
    return float(_pairs_apart(outcomes).mean())


def retest_correlation(correct: npt.ArrayLike) -> float:
    """How well a run's outcomes predict another's.

    Args:
        correct: (n, r), at least two runs.

    Returns:
        Mean Pearson correlation over pairs of runs; pairs with a constant run are left out, NaN where all are.

    Raises:
        ValueError: as `as_correct`, or a single run.

    >>> round(retest_correlation([[1, 1], [0, 0], [1, 1]]), 6)
    1.0
    """
    right = _runs(correct)
    centred = right - right.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    usable = spread > 1e-9
    if usable.sum() < 2:
        return float("nan")
    unit = centred[:, usable] / spread[usable]
    r = unit.shape[1]
    # The sum over all pairs of runs, without their matrix.
    total = float((unit.sum(axis=1) ** 2).sum()) - r
    return float(np.clip(total / (r * (r - 1)), -1, 1))


def run_gap(correct: npt.ArrayLike) -> RunGap:
    """What the best of an agent's runs adds to an average one.

    Args:
        correct: (n, r), a column a run over all items.

    Returns:
        Mean, best and worst run, and any right.

    Raises:
        ValueError: as `as_correct`, or a single run.

    >>> run_gap([[1, 0], [1, 1]]).gap
    0.25
    """
    right = _runs(correct)
    runs = right.mean(axis=0)
    mean, best = float(runs.mean()), float(runs.max())
    return RunGap(mean, best, float(runs.min()), best - mean, float(right.max(axis=1).mean()))


def _told(correct: npt.ArrayLike, answers: npt.ArrayLike) -> tuple[Floats, Ints]:
    right = as_correct(correct)
    if np.shape(answers) != right.shape:
        raise ValueError(f"each run needs an answer and an outcome; these have {np.shape(answers)} and {right.shape}")
    return right, distinct(answers)


def _runs(correct: npt.ArrayLike) -> Floats:
    right = as_correct(correct)
    if right.shape[1] < 2:
        raise ValueError("a single run has nothing to be compared with: at least two runs an item are needed")
    return right


def _pairs_apart(outcomes: npt.ArrayLike) -> Floats:
    """Item by item, the share of pairs of runs that differ."""
    table = np.asarray(outcomes)
    if table.dtype.kind == "b" or (table.dtype.kind == "f" and bool((table == np.round(table)).all())):
        table = table.astype(np.int64)
    labels = as_answers(table)
    r = labels.shape[1]
    if r < 2:
        raise ValueError("a single run has nothing to be compared with: at least two runs an item are needed")
    # Each value at place j of its run of equals makes j pairs with those before it.
    alike = run_places(np.sort(labels, axis=1)).sum(axis=1)
    apart: Floats = 1 - alike / (r * (r - 1) / 2)
    return apart
