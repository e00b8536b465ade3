"""Effective channels K*: how many different things a pool of agents says, from embeddings of its outputs.

    K*    = exp(H(λ)), H Shannon entropy, λ the eigenvalues of the covariance of the m agents' outputs on one item,
            embedded at unit length, divided by their sum; the figure of a pool is the mean over items
    Vendi = exp(H(λ)) with the eigenvalues of the Gram matrix instead, from which no mean has been taken; here of all
            outputs to all items together

Centred or not makes another number. Centred, K* counts the directions in which the agents differ from one another: 1
where there is at most one (all alike, or two agents), m - 1 where all m are orthogonal, and what all outputs to an item
have in common does not enter. Not centred (`centred=False`) it counts different outputs, the Vendi score of each item:
1 where all are alike and m where they are orthogonal; what they have in common, for texts on one question a good deal,
pulls it to 1. Among right and among wrong answers K* is that of the agents that have an item right, or wrong; ΔK* of an
agent is K* less the K* of the others.

Yang et al., "Understanding Agent Scaling in LLM-Based Multi-Agent Systems via Diversity", arXiv:2602.03794 (2026), code
SafeRL-Lab/Agent-Scaling; Friedman and Dieng, "The Vendi Score: A Diversity Evaluation Metric for Machine Learning",
TMLR (2023), code vertaix/Vendi-Score. The first defines K* by the eigenvalues of the covariance, which is centred, as
is the default here. Its code calls MᵀM the covariance and does not centre it: to compare with its figures, pass
`centred=False`. In all else the code is followed: embeddings are scaled to unit length; items with fewer than two
outputs are left out; a group of one answer counts 1 and an empty group is left out; per item, then averaged. Its other
mode averages each agent's embeddings over the items first: `of_means`. Inferred: the jackknife interval, and ΔK* on a
random part of the items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Bools, Floats, as_correct
from motet.measure.interval import Interval

_TINY: Final = 1e-12
_CELLS: Final = 4_000_000
"""Numbers of working memory in one block of items: 32 MB."""


@dataclass(frozen=True, eq=False)
class Channels:
    """The effective channels of a pool. All figures are numbers of channels, and NaN where no item gives one.

    Attributes:
        k_star: the mean over items of K*, from 1 to m - 1, or to m where not centred.
        interval: its jackknife interval over items.
        per_item: (n,) K* of each item; NaN where fewer than two agents have an output.
        right: the mean K* among the agents that have an item right; NaN without `correct`.
        right_interval: its jackknife interval.
        wrong: the mean K* among the agents that have an item wrong; NaN without `correct`.
        wrong_interval: its jackknife interval.
        delta: (m,) ΔK* of each agent, the mean of K* less that of the others over the items where it has an output.
        delta_intervals: (m,) their jackknife intervals.
        of_means: K* of the agents' mean embeddings, over the items that all have an output to: how different they are
            on average, not item by item.
        vendi: the Vendi score of all outputs to all items as one sample; it is large because the items differ.
    """

    k_star: float
    interval: Interval
    per_item: Floats
    right: float
    right_interval: Interval
    wrong: float
    wrong_interval: Interval
    delta: Floats
    delta_intervals: tuple[Interval, ...]
    of_means: float
    vendi: float


def channels(
    embeddings: npt.ArrayLike,
    correct: npt.ArrayLike | None = None,
    *,
    centred: bool = True,
    level: float = 0.95,
    delta_items: int = 300,
    seed: int = 0,
) -> Channels:
    """The effective channels of a pool.

    Args:
        embeddings: (n, m, d), a vector for each output, of any length; NaN or 0 throughout where there is none.
        correct: (n, m) of 0 and 1, NaN where unknown; left out, there is no K* among right and among wrong answers.
        centred: take away an item's mean vector first, as a covariance does, so that K* counts the directions in which
            the agents differ, at most m - 1. False counts different outputs, at most m, as the public code does.
            Vendi is never centred.
        level: the nominal coverage of the intervals.
        delta_items: ΔK* takes m eigenvalue problems an item, so it is computed on at most as many, drawn at random:
            a second for 28 agents; the time grows with the fourth power of m.
        seed: of that draw.

    Returns:
        The figures and their intervals.

    Raises:
        ValueError: an array is not such a one.

    >>> outputs = [[[1, 0, 0], [0, 2, 0], [0, 0, 1]], [[3, 0, 0], [1, 0, 0], [1, 0, 0]]]
    >>> [round(channels(outputs, centred=centred).k_star, 6) for centred in (True, False)]
    [1.5, 2.0]
    """
    vectors = np.asarray(embeddings)
    if vectors.ndim != 3 or not vectors.size or vectors.dtype.kind not in "fiu":
        raise ValueError(f"embeddings are numbers, items by agents by dimensions; these have the shape {vectors.shape}")
    n, m, d = vectors.shape
    present = _present(vectors)
    right, wrong = _outcomes(correct, present)
    k, k_right, k_wrong = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
    size = max(1, _CELLS // (m * max(m, d)))
    for start in range(0, n, size):
        block = slice(start, start + size)
        gram = _gram(vectors[block], present[block])
        k[block] = _k_star(gram, present[block], centred)
        k_right[block] = _k_star(gram, right[block], centred)
        k_wrong[block] = _k_star(gram, wrong[block], centred)
    paired = present.sum(axis=1) >= 2
    k[~paired] = k_right[~paired] = k_wrong[~paired] = np.nan

    chosen = np.flatnonzero(paired)
    if chosen.size > delta_items:
        chosen = np.sort(np.random.default_rng(seed).choice(chosen, size=delta_items, replace=False))
    deltas = np.full((chosen.size, m), np.nan)
    for row, item in enumerate(chosen.tolist()):
        # All pools of all agents but one, as one stack of matrices.
        others = np.logical_and(present[item], ~np.eye(m, dtype=bool))
        gram = np.broadcast_to(_gram(vectors[item : item + 1], present[item : item + 1]), (m, m, m))
        deltas[row] = np.where(present[item], k[item] - _k_star(gram, others, centred), np.nan)

    complete: Bools = np.asarray(present.all(axis=1))
    of_means = math.nan
    if complete.any():
        # The mean of unit vectors, not scaled again: as in the public code, an agent that varies weighs less.
        total = np.zeros((m, d))
        for start in range(0, n, size):
            kept = vectors[start : start + size][complete[start : start + size]].astype(float)
            total += (kept / np.linalg.norm(kept, axis=2, keepdims=True)).sum(axis=0)
        of_means = float(_k_star((total @ total.T)[None], np.ones((1, m), dtype=bool), centred)[0])
    return Channels(
        k_star=_mean(k),
        interval=jackknife(k, level),
        per_item=k,
        right=_mean(k_right),
        right_interval=jackknife(k_right, level),
        wrong=_mean(k_wrong),
        wrong_interval=jackknife(k_wrong, level),
        delta=np.array([_mean(column) for column in deltas.T]),
        delta_intervals=tuple(jackknife(column, level) for column in deltas.T),
        of_means=of_means,
        vendi=vendi(vectors[present]) if present.any() else math.nan,
    )


def vendi(vectors: npt.ArrayLike) -> float:
    """The Vendi score of a sample of vectors with the cosine kernel: the effective number of different ones.

    Args:
        vectors: (k, d), of any length but 0.

    Returns:
        From 1 to the smaller of k and d.

    Raises:
        ValueError: there is no vector, or one has no direction.

    >>> round(vendi([[1, 0], [0, 3], [2, 0], [0, 1]]), 6)
    2.0
    """
    sample = np.asarray(vectors)
    if sample.ndim != 2 or not sample.size:
        raise ValueError(f"vectors are rows of a table with at least one; this has the shape {sample.shape}")
    k, d = sample.shape
    lengths = np.linalg.norm(sample, axis=1)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError(
            f"vector {int(np.argmin(np.isfinite(lengths) & (lengths > 0)))} has no direction: leave it out"
        )
    # Both products have the same eigenvalues but for zeros; the smaller one is solved.
    if k <= d:
        unit = sample.astype(float) / lengths[:, None]
        kernel = unit @ unit.T
    else:
        kernel = np.zeros((d, d))
        size = max(1, _CELLS // d)
        for start in range(0, k, size):
            unit = sample[start : start + size].astype(float) / lengths[start : start + size, None]
            kernel += unit.T @ unit
    return float(_effective(np.linalg.eigvalsh(kernel)))


def jackknife(values: npt.ArrayLike, level: float = 0.95) -> Interval:
    """The jackknife interval of a mean over items.

    Leaving each item out in turn gives (n - 1)/n Σ (mean without i - mean)² as the variance, which for a mean is the
    sample variance divided by n.

    Args:
        values: (n,), a value for each item; NaN ones are left out.
        level: the nominal coverage, by the normal distribution.

    Returns:
        The ends; NaN with fewer than two values.

    >>> low, high = jackknife([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (0.868, 3.132)
    """
    kept = np.asarray(values, dtype=float).ravel()
    kept = kept[~np.isnan(kept)]
    if kept.size < 2:
        return Interval(math.nan, math.nan)
    half = NormalDist().inv_cdf((1 + level) / 2) * float(kept.std(ddof=1)) / math.sqrt(kept.size)
    centre = float(kept.mean())
    return Interval(centre - half, centre + half)


def _present(vectors: npt.NDArray[np.generic]) -> Bools:
    """(n, m): which outputs have an embedding."""
    absent = np.isnan(vectors)
    partly = absent.any(axis=2) & ~absent.all(axis=2)
    broken = partly | np.isinf(vectors).any(axis=2)
    if broken.any():
        row, column = np.argwhere(broken)[0]
        raise ValueError(f"the embedding of item {row}, agent {column} has NaN or infinite parts")
    present: Bools = ~absent.all(axis=2) & (vectors != 0).any(axis=2)
    return present


def _outcomes(correct: npt.ArrayLike | None, present: Bools) -> tuple[Bools, Bools]:
    """Which outputs are right, and which wrong."""
    if correct is None:
        return np.zeros_like(present), np.zeros_like(present)
    table = as_correct(correct, missing=True)
    if table.shape != present.shape:
        raise ValueError(f"embeddings of {present.shape} items and agents do not match correctness of {table.shape}")
    if ((table > 0) & (table < 1)).any():
        raise ValueError("an output is right or wrong; give the correctness of the output that was embedded, 0 or 1")
    return (table == 1) & present, (table == 0) & present


def _gram(vectors: npt.NDArray[np.generic], present: Bools) -> Floats:
    """(b, m, m): the cosines between the outputs to each item, 0 for those that are not there."""
    unit = np.where(present[:, :, None], vectors, 0).astype(float)
    unit /= np.where(present, np.linalg.norm(unit, axis=2), 1)[:, :, None]
    result: Floats = unit @ unit.transpose(0, 2, 1)
    return result


def _k_star(gram: Floats, members: Bools, centred: bool) -> Floats:
    """(b,): K* of each Gram matrix among some of its agents; NaN where there are none."""
    count = members.sum(axis=1)
    chosen = members[:, :, None] & members[:, None, :]
    # An output whose row and column are 0 adds an eigenvalue of 0, which is as good as not being there.
    matrix = np.where(chosen, gram, 0.0)
    if centred:
        means = matrix.sum(axis=2) / np.maximum(count, 1)[:, None]
        middle = means.sum(axis=1) / np.maximum(count, 1)
        matrix = np.where(chosen, matrix - means[:, :, None] - means[:, None, :] + middle[:, None, None], 0.0)
    return np.where(count > 0, _effective(np.linalg.eigvalsh(matrix)), np.nan)


def _effective(eigenvalues: Floats) -> Floats:
    """The exponential of the entropy of eigenvalues, along the last axis; 1 where all are 0."""
    positive = np.maximum(eigenvalues, 0)
    total = positive.sum(axis=-1, keepdims=True)
    share = positive / np.where(total > _TINY, total, 1)
    entropy = -(share * np.log(np.where(share > _TINY, share, 1))).sum(axis=-1)
    return np.asarray(np.exp(entropy))


def _mean(values: Floats) -> float:
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if kept.size else math.nan
