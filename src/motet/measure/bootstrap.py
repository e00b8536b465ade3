"""The bootstrap: how sure a mean over items is, or a difference between two agents on the same items.

Items are drawn with replacement, all that belongs to an item together, and the figure is computed again; the middle
`level` of these draws is the interval. Repeats of an item are no new items: a matrix of repeats is averaged item by
item first, and rows that belong together (repeats in rows, questions on one text) are drawn together by their
cluster. A draw of clusters of unequal size is the ratio (sum of their values) / (sum of their sizes).

    theta* = Σ_c w_c S_c / Σ_c w_c N_c        w ~ Multinomial(clusters, 1/clusters)

Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7 (1979); clusters as in Field and
Welsh, "Bootstrapping clustered data", JRSS B 69 (2007). The interval is the plain percentile one: for means of
bounded values on tens of items or more its coverage is within about a point of nominal; with fewer it is too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints
from motet.measure.interval import Interval, percentile

CELLS: Final = 4_000_000
"""Weights held at a time: 32 MB."""


class Estimate(NamedTuple):
    """A figure and its interval, both in the figure's unit."""

    value: float
    interval: Interval


def weights(n: int, resamples: int, seed: int = 0) -> Iterator[Floats]:
    """How often each of `n` things is in each resample, a few resamples at a time.

    Args:
        n: how many there are.
        resamples: how many resamples are drawn in all.
        seed: of the generator.

    Yields:
        (some, n); each row sums to n.

    >>> [chunk.sum(axis=1).tolist() for chunk in weights(3, 2)]
    [[3.0, 3.0]]
    """
    if n < 1 or resamples < 1:
        raise ValueError(f"{resamples} resamples of {n} things cannot be drawn: at least one of each is needed")
    drawn = np.random.default_rng(seed)
    step = max(1, CELLS // n)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        picks = drawn.integers(0, n, size=(rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(picks.ravel(), minlength=rows * n).reshape(rows, n).astype(float)


def bootstrap_means(
    values: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, resamples: int = 2000, seed: int = 0
) -> Floats:
    """The mean of each column in each resample; all columns share the resampled items.

    Args:
        values: (n, m), no NaN.
        clusters: (n,) what each row belongs to; left out, each row stands alone.
        resamples: how many.
        seed: of the generator.

    Returns:
        (resamples, m).

    Raises:
        ValueError: the shapes do not fit, or a value is not finite.

    >>> bootstrap_means([[1.0, 0.0], [1.0, 0.0]], resamples=3).tolist()
    [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or not table.size or not np.isfinite(table).all():
        raise ValueError(f"a table of finite values with at least one item is needed; this has the shape {table.shape}")
    sums, sizes = cluster_sums(table, clusters)
    draws = [(chunk @ sums) / (chunk @ sizes)[:, None] for chunk in weights(len(sums), resamples, seed)]
    return np.concatenate(draws)


def cluster_sums(table: Floats, clusters: npt.ArrayLike | None) -> tuple[Floats, Floats]:
    """Sum the rows of each cluster, and count them.

    Args:
        table: (n, m).
        clusters: (n,) labels; None: each row is its own cluster.

    Returns:
        Sums (c, m) and sizes (c,).

    Raises:
        ValueError: there are not n labels.

    >>> cluster_sums(np.ones((3, 1)), ["a", "b", "a"])[0].tolist()
    [[2.0], [1.0]]
    """
    if clusters is None:
        return table, np.ones(len(table))
    labels = np.asarray(clusters)
    if labels.shape != (len(table),):
        raise ValueError(f"{len(table)} rows need as many cluster labels; these have the shape {labels.shape}")
    number: Ints = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    sizes = np.bincount(number).astype(float)
    sums = np.zeros((len(sizes), table.shape[1]))
    np.add.at(sums, number, table)
    return sums, sizes


def item_means(values: npt.ArrayLike) -> Floats:
    """One value an item: a vector as it is, a matrix of items by repeats averaged over the repeats.

    Raises:
        ValueError: it is neither, is empty, or holds a value that is not finite.

    >>> item_means([[1, 0], [1, 1]]).tolist()
    [0.5, 1.0]
    """
    table = np.asarray(values, dtype=float)
    if table.ndim not in (1, 2) or not table.size or not np.isfinite(table).all():
        raise ValueError(
            f"finite values, one an item or items by repeats, are needed; the shape is {table.shape}, "
            f"{int((~np.isfinite(table)).sum())} are not finite"
        )
    means: Floats = table if table.ndim == 1 else table.mean(axis=1)
    return means


def paired_differences(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """First minus second, item by item, repeats averaged.

    Raises:
        ValueError: they have different numbers of items.

    >>> paired_differences([1, 0], [0, 0]).tolist()
    [1.0, 0.0]
    """
    a, b = item_means(first), item_means(second)
    if len(a) != len(b):
        raise ValueError(f"outcomes of {len(a)} and {len(b)} items are not paired")
    return a - b


def bootstrap_mean(
    values: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """A mean over items and its percentile interval.

    Args:
        values: (n,) one an item, or (n, r) r repeats of each, which are averaged first.
        clusters: (n,) what each row belongs to, when rows are not independent.
        level: nominal coverage.
        resamples: how many; 2,000 leave a Monte Carlo error of about 1 % of the interval's width.
        seed: of the generator.

    Returns:
        The mean and its interval.

    Raises:
        ValueError: the values are not finite, or do not fit the clusters.

    >>> bootstrap_mean([1, 1, 0, 0] * 25, seed=1).interval
    Interval(low=0.4, high=0.6)
    """
    means = item_means(values)
    draws = bootstrap_means(means[:, None], clusters=clusters, resamples=resamples, seed=seed)
    return Estimate(float(means.mean()), percentile(draws, level))


def bootstrap_difference(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """The mean paired difference of two agents on the same items, and its percentile interval.

    Args:
        first: (n,) or (n, r), what the first agent scored.
        second: (n,) or (n, s), the second's scores on the same items in the same order.
        clusters: as in `bootstrap_mean`.
        level: nominal coverage.
        resamples: how many.
        seed: of the generator.

    Returns:
        First minus second, and its interval.

    Raises:
        ValueError: the two are not paired, or not finite.

    >>> bootstrap_difference([1, 1, 1], [0, 0, 0])
    Estimate(value=1.0, interval=Interval(low=1.0, high=1.0))
    """
    difference = paired_differences(first, second)
    return bootstrap_mean(difference, clusters=clusters, level=level, resamples=resamples, seed=seed)
