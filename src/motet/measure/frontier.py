"""The frontier of quality against cost: which agents are worth their price, and what any mix of them costs.

An agent is on the Pareto frontier if no other is at least as good for at most its cost, and better or cheaper. Between
two agents lies every mix of them (each item goes to one or the other by lot), so that what is for sale is the upper
convex hull of the points from the cheapest to the best agent, and its level beyond: the non-decreasing convex hull.

    hull(c) = max over mixes w of Σ w_j quality_j  with  Σ w_j cost_j ≤ c
    AIQ     = 1 / (c_high - c_low) ∫ hull(c) dc  from c_low to c_high

Hu et al., "RouterBench: A Benchmark for Multi-LLM Routing System" (2024), section 3. Inferred: the paper divides by
the width of the cost range, its code (withmartian/routerbench) integrates from the cheapest point to the dearest of
all compared routers and divides by the latter; here the range is an argument, and below the cheapest agent, where
nothing can be bought, the hull is 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints, as_correct, as_cost
from motet.measure.bootstrap import weights
from motet.measure.interval import Interval, percentile


@dataclass(frozen=True)
class Matched:
    """What a mix of the other agents does at an agent's own quality, or at its own cost.

    Attributes:
        own: the agent's cost (or quality).
        mixed: that of the mix; NaN where no mix of the others reaches the agent's quality (or is as cheap).
        interval: of `mixed`, over the resamples in which there is one.
        ratio: of `mixed` to `own`, with the same resamples.
        reached: share of resamples in which there is one.
    """

    own: float
    mixed: float
    interval: Interval
    ratio: Interval
    reached: float


def pareto(quality: npt.ArrayLike, cost: npt.ArrayLike) -> Ints:
    """The agents that are worth their price.

    Args:
        quality: (m,) mean quality.
        cost: (m,) mean cost an item.

    Returns:
        Columns on the frontier, cheapest first; of several with the same cost and quality, the first.

    Raises:
        ValueError: shapes differ, or a value is missing.

    >>> pareto([0.5, 0.4, 0.9, 0.8], [1, 2, 3, 3]).tolist()
    [0, 2]
    """
    q, c = _points(quality, cost)
    order = np.lexsort((np.arange(len(c)), -q, c))
    before = np.concatenate(([-np.inf], np.maximum.accumulate(q[order])[:-1]))
    return order[q[order] > before].astype(np.int64)


def hull(quality: npt.ArrayLike, cost: npt.ArrayLike) -> Ints:
    """The agents of which the best mixes are made: the corners of the non-decreasing convex hull.

    Args:
        quality: (m,) mean quality.
        cost: (m,) mean cost an item.

    Returns:
        Columns, from the cheapest to the best.

    Raises:
        ValueError: as `pareto`.

    >>> hull([0.0, 0.4, 1.0], [1, 2, 3]).tolist()
    [0, 2]
    """
    q, c = _points(quality, cost)
    corners: list[int] = []
    for new in pareto(q, c).tolist():
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (q[b] - q[a]) * (c[new] - c[a]) > (q[new] - q[a]) * (c[b] - c[a]):
                break
            corners.pop()
        corners.append(new)
    return np.array(corners, dtype=np.int64)


def _hull_quality(quality: npt.ArrayLike, cost: npt.ArrayLike, budget: float) -> float:
    """The best quality of a mix that costs at most `budget` an item on average.

    Returns:
        The quality; NaN below the cheapest agent.

    >>> _hull_quality([0.5, 0.9], [1, 3], 2)
    0.7
    """
    q, c = _points(quality, cost)
    corners = hull(q, c)
    return float(np.interp(budget, c[corners], q[corners], left=np.nan))


def _hull_cost(quality: npt.ArrayLike, cost: npt.ArrayLike, target: float) -> float:
    """The least mean cost an item of a mix that is at least as good as `target`.

    Returns:
        The cost; NaN above the best agent.

    >>> round(_hull_cost([0.5, 0.9], [1, 3], 0.7), 3)
    2.0
    """
    q, c = _points(quality, cost)
    corners = hull(q, c)
    return float(np.interp(target, q[corners], c[corners], right=np.nan))


def aiq(quality: npt.ArrayLike, cost: npt.ArrayLike, *, within: tuple[float, float] | None = None) -> float:
    """Average improvement in quality: the mean height of the hull over a range of costs.

    Args:
        quality: (m,) mean quality, of agents or of one router at several settings.
        cost: (m,) mean cost an item.
        within: the range of costs, the same for all that are compared; left out, from the cheapest to the dearest here.

    Returns:
        A quality; at a range of no width, the hull's height there.

    Raises:
        ValueError: the range is the wrong way round, or as `pareto`.

    >>> round(aiq([0.5, 0.9], [1, 3]), 3), round(aiq([0.5, 0.9], [1, 3], within=(1, 5)), 3)
    (0.7, 0.8)
    """
    q, c = _points(quality, cost)
    low, high = within if within is not None else (float(c.min()), float(c.max()))
    if not low <= high:
        raise ValueError(f"a range of costs goes from low to high; this goes from {low} to {high}")
    corners = hull(q, c)
    if high == low:
        return float(np.interp(low, c[corners], q[corners], left=0.0))
    start = max(low, float(c[corners[0]]))
    if start >= high:
        return 0.0
    at = np.unique(np.concatenate(([start, high], np.clip(c[corners], start, high))))
    height = np.interp(at, c[corners], q[corners])
    return float((np.diff(at) * (height[1:] + height[:-1])).sum() / 2 / (high - low))


def equal_quality(
    correct: npt.ArrayLike,
    cost: npt.ArrayLike,
    agent: int,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Matched:
    """What the best mix of the other agents costs at the quality of one agent.

    Items are drawn again with their outcomes and costs, and everything is computed anew: the agent's quality, the
    others' hull, and the mix on it.

    Args:
        correct: (n, m), no missing cells.
        cost: (n, m), the same unit everywhere.
        agent: column of the agent; it is not part of the mix.
        level: coverage of the intervals.
        resamples: how many.
        seed: of the generator.

    Returns:
        Mean costs an item.

    Raises:
        ValueError: shapes differ, cells are missing, or there is no other agent.

    >>> equal_quality([[0, 1, 1], [1, 1, 1]], [[1, 3, 4], [1, 3, 4]], 2, resamples=20).mixed
    3.0
    """
    return _matched(correct, cost, agent, level, resamples, seed, by_quality=True)


def equal_cost(
    correct: npt.ArrayLike,
    cost: npt.ArrayLike,
    agent: int,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Matched:
    """How good the best mix of the other agents is at the mean cost of one agent.

    Args:
        correct: (n, m), no missing cells.
        cost: (n, m), the same unit everywhere.
        agent: column of the agent; it is not part of the mix.
        level: coverage of the intervals.
        resamples: how many.
        seed: of the generator.

    Returns:
        Mean qualities.

    Raises:
        ValueError: as `equal_quality`.

    >>> equal_cost([[0, 1, 1], [0, 1, 1]], [[1, 3, 2], [1, 3, 2]], 2, resamples=20).mixed
    0.5
    """
    return _matched(correct, cost, agent, level, resamples, seed, by_quality=False)


def _matched(
    correct: npt.ArrayLike,
    cost: npt.ArrayLike,
    agent: int,
    level: float,
    resamples: int,
    seed: int,
    *,
    by_quality: bool,
) -> Matched:
    right = as_correct(correct)
    paid = as_cost(cost, right.shape)
    n, m = right.shape
    if not 0 <= agent < m or m < 2:
        raise ValueError(f"agent {agent} of {m} cannot be set against others: columns go from 0 to {m - 1}")

    def once(q: Floats, c: Floats) -> tuple[float, float]:
        others = np.delete(q, agent), np.delete(c, agent)
        if by_quality:
            return float(c[agent]), _hull_cost(*others, float(q[agent]))
        return float(q[agent]), _hull_quality(*others, float(c[agent]))

    own, mixed = once(right.mean(axis=0), paid.mean(axis=0))
    draws = np.array(
        [
            once(q, c)
            for chunk in weights(n, resamples, seed)
            for q, c in zip(chunk @ right / n, chunk @ paid / n, strict=True)
        ]
    )
    some = draws[:, 0] > 0
    return Matched(
        own,
        mixed,
        percentile(draws[:, 1], level),
        percentile(draws[some, 1] / draws[some, 0], level),
        float(np.isfinite(draws[:, 1]).mean()),
    )


def _points(quality: npt.ArrayLike, cost: npt.ArrayLike) -> tuple[Floats, Floats]:
    q = np.asarray(quality, dtype=float)
    if q.ndim != 1 or not q.size or not np.isfinite(q).all():
        raise ValueError(f"one finite quality an agent is needed; these have the shape {q.shape}")
    return q, as_cost(cost, q.shape)
