"""Ranks: how firm a ranking of agents is, and whether it says anything about their ranking elsewhere.

Stability: items are resampled, the same for all agents, and the agents ranked again; counted is how often each lands
on each place. Equal means within a resample are put in random order, so that two copies of an agent share a place
half and half. Validity: the correlation between the scores here and the scores elsewhere of the same agents, with a
bootstrap interval over agents, since the question is about agents that are not yet known.

    Pearson    cov(x, y) / (sd(x) sd(y))
    Spearman   Pearson of the mid-ranks
    Kendall    tau-b: Σ sign(x_i - x_j) sign(y_i - y_j) / √(pairs untied in x · pairs untied in y)

Spearman, Am. J. Psychology 15 (1904); Kendall, Biometrika 33 (1945) for ties. Rank sets by bootstrap: Goldstein and
Spiegelhalter, "League Tables and Their Limitations", JRSS A 159 (1996).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints, as_correct, quotient
from motet.measure.bootstrap import Estimate, bootstrap_means, weights
from motet.measure.interval import percentile
from motet.measure.ranking import by_mean


@dataclass(frozen=True, eq=False)
class RankStability:
    """Where each agent lands when the items are drawn again.

    Attributes:
        places: (m, m); row agent, column place (0 first): the share of resamples.
        first: (m,) share of resamples in which the agent is first.
        low: (m,) the best place within the interval, 0 for first.
        high: (m,) the worst.
        best: column of the agent that is first on the items as they are.
        best_is_first: its share of first places.
    """

    places: Floats
    first: Floats
    low: Ints
    high: Ints
    best: int
    best_is_first: float


@dataclass(frozen=True)
class Validity:
    """How the ranking here goes with the ranking elsewhere; each with its interval, NaN where one is constant."""

    pearson: Estimate
    spearman: Estimate
    kendall: Estimate


def rank_stability(
    correct: npt.ArrayLike, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> RankStability:
    """How firm a ranking by mean correctness is.

    Args:
        correct: (n, m), no missing cells.
        level: coverage of the places' intervals.
        resamples: how many.
        seed: of the generator.

    Returns:
        The distribution of each agent's place.

    Raises:
        ValueError: as `as_correct`.

    >>> rank_stability([[1, 0], [1, 0], [1, 1]] * 20).best_is_first
    1.0
    """
    table = as_correct(correct)
    m = table.shape[1]
    # Sums of equal columns may differ in the last digit, depending on where the columns stand.
    draws = np.round(bootstrap_means(table, resamples=resamples, seed=seed), 12)
    lots = np.random.default_rng([seed, 1]).random(draws.shape)
    order = np.lexsort((lots, -draws), axis=1)
    places = np.zeros((m, m))
    np.add.at(places, (order, np.broadcast_to(np.arange(m), order.shape)), 1.0)
    places /= resamples
    reached = np.cumsum(places, axis=1)
    best = int(by_mean(table.mean(axis=0))[0])
    tail = (1 - level) / 2 - 1e-9
    return RankStability(
        places,
        places[:, 0],
        (reached <= tail).sum(axis=1).astype(np.int64),
        (reached < 1 - tail - 2e-9).sum(axis=1).astype(np.int64),
        best,
        float(places[best, 0]),
    )


def predictive_validity(
    here: npt.ArrayLike, elsewhere: npt.ArrayLike, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Validity:
    """Whether scores here predict scores elsewhere.

    Args:
        here: (m,) a score an agent.
        elsewhere: (m,) the scores of the same agents on other items, in the same order.
        level: coverage of the intervals.
        resamples: how many, of agents.
        seed: of the generator.

    Returns:
        Pearson, Spearman and Kendall (tau-b), each with a percentile interval; resamples in which a score is constant
        are left out of it.

    Raises:
        ValueError: the two differ in length, hold fewer than three agents, or are not finite.

    >>> predictive_validity([0.2, 0.5, 0.9], [0.1, 0.3, 0.4]).kendall.value
    1.0
    """
    x, y = np.asarray(here, dtype=float), np.asarray(elsewhere, dtype=float)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 3 or not np.isfinite(x).all() or not np.isfinite(y).all():
        raise ValueError(
            f"the same three or more agents need a finite score on both sides; these have {x.shape} and {y.shape}"
        )
    own = np.ones((1, len(x)))
    draws = list(weights(len(x), resamples, seed))
    return Validity(
        *(
            Estimate(float(measure(own, x, y)[0]), percentile(np.concatenate([measure(w, x, y) for w in draws]), level))
            for measure in (_pearson, _spearman, _kendall)
        )
    )


def midranks(values: npt.ArrayLike) -> Floats:
    """Ranks from 1, equal values sharing the mean of theirs.

    >>> midranks([5, 1, 5]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, number, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2)[number]
    return ranks


def _within(above: Floats, below: Floats) -> Floats:
    """A correlation: NaN where a side is constant but for rounding, and no more than 1 by rounding."""
    return np.clip(quotient(above, below, least=1e-12), -1, 1)


def _correlated(w: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson with weights (resamples, m); x and y are (m,) or (resamples, m)."""
    total = w.sum(axis=1, keepdims=True)
    dx = x - (w * x).sum(axis=1, keepdims=True) / total
    dy = y - (w * y).sum(axis=1, keepdims=True) / total
    return _within((w * dx * dy).sum(axis=1), np.sqrt((w * dx * dx).sum(axis=1)) * np.sqrt((w * dy * dy).sum(axis=1)))


def _pearson(w: Floats, x: Floats, y: Floats) -> Floats:
    # Scaled to 0..1 first, so that "constant" does not depend on the unit.
    spans = [np.ptp(values) or 1.0 for values in (x, y)]
    return _correlated(w, (x - x.min()) / spans[0], (y - y.min()) / spans[1])


def _spearman(w: Floats, x: Floats, y: Floats) -> Floats:
    ranks = [w @ ((v[:, None] < v) + (v[:, None] == v) / 2) for v in (x, y)]
    return _correlated(w, ranks[0], ranks[1])


def _kendall(w: Floats, x: Floats, y: Floats) -> Floats:
    signs = [np.sign(v[:, None] - v) for v in (x, y)]

    def form(matrix: Floats) -> Floats:
        sums: Floats = ((w @ matrix) * w).sum(axis=1)
        return sums

    return _within(form(signs[0] * signs[1]), np.sqrt(form(signs[0] ** 2)) * np.sqrt(form(signs[1] ** 2)))
