"""Disparity between groups: does the same item fare differently when only the group named in it changes?

    flip rate                  share of pairs of groups with a different decision, mean over items: that is
                               `repeats.flip_rate`, with a column a group
    mean absolute difference   mean over items and pairs of groups of |score - score'|
    spread                     highest minus lowest mean score of a group

The spread of many groups is large by chance alone: of six equal groups the highest and the lowest lie 2.25 times as
far apart as two runs of one group do. So a spread must be set against a null of the same arity. If the group does not
matter, the scores of an item (its runs included) may be handed out among the groups at random:

    p = (1 + permutations within items with a spread at least as large) / (1 + resamples)
    excess = spread - mean spread of the permutations

Counterfactual flips and differences as in Huang et al., "Reducing Sentiment Bias in Language Models via
Counterfactual Evaluation" (2020); permutation within blocks: Pitman (1938). The arity-matched null is inferred from
the problem, and so is `expected_range`, the bridge for those who have nothing but two runs (Tippett 1925).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats
from motet.measure.bootstrap import CELLS

STEPS: Final = 4001


@dataclass(frozen=True)
class Spread:
    """The spread of the groups' means against that of groups that do not differ.

    Attributes:
        observed: highest minus lowest group mean.
        expected: the same under the null, with as many groups.
        excess: observed minus expected.
        limit: what the null stays below in `level` of the cases.
        p: one-sided p-value.
    """

    observed: float
    expected: float
    excess: float
    limit: float
    p: float


def mean_absolute_difference(scores: npt.ArrayLike) -> float:
    """How far apart two groups' scores of the same item are, on average.

    Args:
        scores: (n, g) an item's score as each group, or (n, g, r) with r runs, which are averaged first.

    Returns:
        Mean over items and pairs of groups, in the scores' unit.

    Raises:
        ValueError: fewer than two groups, or a value that is not finite.

    >>> mean_absolute_difference([[1.0, 3.0], [2.0, 2.0]])
    1.0
    """
    ranked = np.sort(_cube(scores).mean(axis=2), axis=1)
    g = ranked.shape[1]
    # The value at place j is the larger one of j pairs and the smaller one of g - 1 - j.
    return float((ranked @ (2 * np.arange(g) - (g - 1))).mean() / (g * (g - 1) / 2))


def group_spread(
    scores: npt.ArrayLike, *, per_item: bool = False, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Spread:
    """Whether the groups differ by more than as many equal groups would.

    Args:
        scores: (n, g) an item's score as each group, or (n, g, r) with r runs of each.
        per_item: take the spread item by item (of the runs' means) and average it, which also finds groups that fare
            differently from item to item; it needs at least two runs, since one alone says nothing of chance.
        level: of the limit.
        resamples: permutations drawn.
        seed: of the generator.

    Returns:
        The spread, its null, and the p-value.

    Raises:
        ValueError: fewer than two groups, values that are not finite, or a single run with `per_item`.

    >>> found = group_spread([[0.0, 0.0, 1.0]] * 12)
    >>> found.observed, found.p < 0.01
    (1.0, True)
    """
    cube = _cube(scores)
    n, g, r = cube.shape
    if per_item and r < 2:
        raise ValueError("the spread of an item needs at least two runs a group: one says nothing of chance")
    flat = cube.reshape(n, g * r)
    drawn = np.random.default_rng(seed)
    step = max(1, CELLS // flat.size)
    null = []
    for start in range(0, resamples, step):
        copies = np.broadcast_to(flat, (min(step, resamples - start), *flat.shape))
        null.append(_spread(drawn.permuted(copies, axis=2).reshape(-1, n, g, r), per_item))
    draws = np.concatenate(null)
    observed = float(_spread(cube[None], per_item)[0])
    expected = float(draws.mean())
    beyond = int((draws >= observed - 1e-12).sum())
    return Spread(
        observed, expected, observed - expected, float(np.quantile(draws, level)), (1 + beyond) / (1 + resamples)
    )


def expected_range(groups: int) -> float:
    """The expected highest minus lowest of so many equal groups, in standard deviations of one.

    Args:
        groups: at least 2.

    Returns:
        Of a normal distribution: ∫ 1 - Φ^g - (1 - Φ)^g. The ratio of two such numbers translates a difference of two
        runs into the spread that as many equal groups would show.

    Raises:
        ValueError: fewer than two groups.

    >>> round(expected_range(6) / expected_range(2), 2)
    2.25
    """
    if groups < 2:
        raise ValueError(f"{groups} groups have no spread: at least two are needed")
    at = np.linspace(-9, 9, STEPS)
    below = np.array([NormalDist().cdf(x) for x in at.tolist()])
    return float((1 - below**groups - (1 - below) ** groups).sum() * (at[1] - at[0]))


def _spread(cubes: Floats, per_item: bool) -> Floats:
    """(copies, n, g, r) to (copies,)."""
    means = cubes.mean(axis=3)
    spread: Floats = np.ptp(means, axis=2).mean(axis=1) if per_item else np.ptp(means.mean(axis=1), axis=1)
    return spread


def _cube(scores: npt.ArrayLike) -> Floats:
    cube = np.asarray(scores, dtype=float)
    if cube.ndim == 2:
        cube = cube[:, :, None]
    if cube.ndim != 3 or not cube.size or cube.shape[1] < 2 or not np.isfinite(cube).all():
        raise ValueError(
            f"finite scores of items by two or more groups (by runs) are needed; these have {np.shape(scores)}"
        )
    return cube
