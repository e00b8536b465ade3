"""Contraction: how much of its diversity a group loses by interacting.

    contraction ratio = mean diversity of interacting groups / mean diversity of independent groups

Below 1 the groups contract: their members explore less together than as many do apart. Diversity is any number a
group (`semantic_diversity`, `lexical_diversity`, a Vendi score, `value_diversity`); groups on both sides must have the
same number of members and texts, because most of these numbers depend on it. The interval resamples the groups of
each side; where the same tasks are on both sides in the same order, it resamples tasks.

What collapses and why: Chen et al., "Diversity Collapse in Multi-Agent LLM Systems: Structural Coupling and Collective
Failure in Open-Ended Idea Generation" (2026); against nominal groups of as many independent members, as in Diehl and
Stroebe, JPSP 53 (1987). Inferred: the ratio of means as its summary, and its interval.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.bootstrap import Estimate, bootstrap_means, item_means
from motet.measure.interval import percentile


def contraction_ratio(
    interacting: npt.ArrayLike,
    independent: npt.ArrayLike,
    *,
    paired: bool = False,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """The diversity that is left when a group interacts.

    Args:
        interacting: (a,) diversity of each interacting group.
        independent: (b,) diversity of each group whose members worked alone.
        paired: whether the two hold the same tasks in the same order.
        level: coverage of the interval.
        resamples: how many.
        seed: of the generator.

    Returns:
        The ratio and its interval; NaN where independent groups have no diversity.

    Raises:
        ValueError: a value is missing or negative, or the two are not paired.

    >>> contraction_ratio([0.25, 0.25], [0.5, 0.5])
    Estimate(value=0.5, interval=Interval(low=0.5, high=0.5))
    """
    inside, apart = item_means(interacting), item_means(independent)
    if min(inside.min(), apart.min()) < 0:
        raise ValueError("a diversity is not negative: these hold one below 0")
    if paired:
        if len(inside) != len(apart):
            raise ValueError(f"diversities of {len(inside)} and {len(apart)} tasks are not paired")
        draws = bootstrap_means(np.column_stack([inside, apart]), resamples=resamples, seed=seed)
        above, below = draws[:, 0], draws[:, 1]
    else:
        above = bootstrap_means(inside[:, None], resamples=resamples, seed=seed)[:, 0]
        below = bootstrap_means(apart[:, None], resamples=resamples, seed=seed + 1)[:, 0]
    some = below > 0
    value = float(inside.mean() / apart.mean()) if apart.mean() > 0 else float("nan")
    return Estimate(value, percentile(above[some] / below[some], level))
