"""What pairwise correlation predicts for beta, the share of items that all agents have wrong, and how far off it is.

Each agent j is wrong where a standard normal variable falls below its own threshold t_j = Φ⁻¹(share wrong). With one
common factor z, the difficulty of the item, and a correlation ρ that is the same for all pairs,

    beta(ρ) = ∫ Π_j Φ((t_j - √ρ z) / √(1 - ρ)) φ(z) dz

where ρ is the mean tetrachoric correlation. The underpricing ratio is observed beta / beta(ρ): above 1, agents fail
together more often than their pairwise correlations let expect, so that beta cannot be read off from them. The full
copula keeps each pair's own correlation; it is drawn (Monte Carlo) from the nearest positive semi-definite matrix, as
pairwise estimates need not fit together.

The integral is a sum in equal steps (the trapezoidal rule). For moderate ρ that is as accurate as Gauss-Hermite
quadrature, both to 1e-9; but near 1 the integrand turns into a step, where 100 Gauss-Hermite nodes are off by 0.007
(200 agents, ρ = 0.99) and the sum, whose step shrinks along, still by less than 1e-9.

Chen, "When Does Combining Language Models Help? A Co-Failure Ceiling on Routing, Voting, and Mixture-of-Agents Across
67 Frontier Models", arXiv:2606.27288 (2026); the one-factor model is Vasicek, "The distribution of loan portfolio
value", Risk 15 (2002); the nearest correlation matrix is Higham, "Computing the nearest correlation matrix", IMA J.
Numer. Anal. 22 (2002). Inferred: a negative mean correlation is taken as 0; the number of draws; and the bootstrap of
the ratio (items drawn anew, shares and correlations estimated anew in each resample).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints, quotient
from motet.measure.bootstrap import weights as resampled
from motet.measure.correlation import mean_pairwise
from motet.measure.interval import Interval, percentile
from motet.measure.normal import cdf, pdf, quantile
from motet.measure.tetrachoric import as_binary, tetrachoric, tetrachoric_counts

_REACH: Final = 8.5
"""The factor is integrated from minus this to this many standard deviations; outside lies a probability of 2e-17."""

_CELLS: Final = 4_000_000
"""Cells of working memory in one block of pairs: 32 MB."""

_LEAST_STEP: Final = 0.005
"""Finer steps are not taken: above ρ = 0.9996 the result is within 0.001."""


@dataclass(frozen=True)
class Underpricing:
    """Observed beta against what the one-factor copula predicts from pairwise correlation.

    Attributes:
        observed: the share of items that every agent has wrong.
        predicted: that of the one-factor copula.
        rho: the mean tetrachoric correlation; NaN where no pair has one.
        ratio: `observed` / `predicted`; NaN where the prediction is 0.
        ratio_interval: its percentile bootstrap interval over items.
    """

    observed: float
    predicted: float
    rho: float
    ratio: float
    ratio_interval: Interval


@dataclass(frozen=True)
class FullCopula:
    """Beta under the Gaussian copula with every pair's own tetrachoric correlation.

    Attributes:
        beta: the share of draws in which all agents are wrong.
        standard_error: the Monte Carlo error of `beta`.
        repair: the largest change of a correlation that the nearest positive semi-definite matrix took; 0 if it was
            one.
    """

    beta: float
    standard_error: float
    repair: float


def single_factor(wrong: npt.ArrayLike, rho: float) -> float:
    """Beta of the one-factor Gaussian copula.

    Args:
        wrong: (m,) the share of items each agent has wrong.
        rho: the common correlation, at most 1. Below 0 there is no such model for many agents, and 0 is taken.

    Returns:
        The predicted share of items that all have wrong.

    Raises:
        ValueError: there is no agent, a share lies outside 0 to 1, or the correlation is above 1 or NaN.

    >>> round(single_factor([0.5, 0.5], 0.5), 6)  # 1/4 + arcsin(ρ)/2π
    0.333333
    >>> single_factor([0.2, 0.5], 0.0), single_factor([0.2, 0.5], 1.0)
    (0.1, 0.2)
    """
    shares = np.asarray(wrong, dtype=float)
    if shares.ndim != 1 or not shares.size:
        raise ValueError(f"one share wrong for each agent is needed, at least one; these have the shape {shares.shape}")
    if not rho <= 1:
        raise ValueError(f"a correlation is at most 1; this is {rho}")
    thresholds = quantile(shares)
    if rho <= 0:
        return float(shares.prod())
    if rho == 1:
        return float(shares.min())
    # The integrand bends over the width of the steepest factor, √((1 - ρ)/ρ), or of φ itself, and a product of many
    # agents bends faster: a quarter of that width leaves an error below 1e-9 for 2 to 200 agents.
    step = max(min(1.0, math.sqrt((1 - rho) / rho)) / 4, _LEAST_STEP)
    factor = np.arange(-_REACH, _REACH + step, step)
    conditional = cdf((thresholds[:, None] - math.sqrt(rho) * factor) / math.sqrt(1 - rho))
    return float(conditional.prod(axis=0) @ pdf(factor) * step)


def underpricing(
    correct: npt.ArrayLike, *, level: float = 0.95, resamples: int = 200, pairs: int = 1000, seed: int = 0
) -> Underpricing:
    """How far pairwise correlation underprices the items that all agents have wrong.

    Args:
        correct: (n, m) of 0 and 1, at least two agents.
        level: the nominal coverage of the interval.
        resamples: bootstrap draws. 200, as each solves for all correlations again; the ends of a 95 % interval then
            have themselves an error of about a twentieth of its width.
        pairs: of a pool with more pairs than this, the resamples follow a random choice of as many: how its mean moves
            from its value on all items is added to the mean of all pairs.
        seed: of the draws and of that choice.

    Returns:
        Observed and predicted beta, their ratio and its interval.

    Raises:
        ValueError: the table is not such a one, a cell is missing, or there is one agent only.

    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=(4000, 1)) + rng.normal(size=(4000, 5))
    >>> found = underpricing(ability > 0)
    >>> round(found.rho, 2), round(found.ratio, 1)
    (0.49, 1.0)
    """
    table = as_binary(correct)
    n, m = table.shape
    if m < 2:
        raise ValueError("pairwise correlation needs at least two agents; this table has one")
    first, second = np.triu_indices(m, 1)
    rho = mean_pairwise(tetrachoric(table))
    observed = float((table == 0).all(axis=1).mean())
    predicted = _predicted(table.mean(axis=0), rho)
    if first.size > pairs:
        chosen = np.sort(np.random.default_rng(seed).choice(first.size, size=pairs, replace=False))
        first, second = first[chosen], second[chosen]
    reference = float(_mean_correlations(table, np.ones((1, n)), first, second)[0])
    failed = (table == 0).all(axis=1).astype(float)
    ratios: list[float] = []
    for weights in resampled(n, resamples, seed):
        moved = rho + _mean_correlations(table, weights, first, second) - reference
        right, together = weights @ table / n, weights @ failed / n
        priced = [_predicted(right[draw], moved[draw]) for draw in range(len(weights))]
        ratios += quotient(together, priced).tolist()
    return Underpricing(observed, predicted, rho, float(quotient(observed, predicted)), percentile(ratios, level))


def full_copula(correct: npt.ArrayLike, *, draws: int = 200_000, seed: int = 0) -> FullCopula:
    """Beta of the Gaussian copula with each pair's own correlation, by Monte Carlo.

    It is meant for small pools: with m agents there are m (m - 1) / 2 correlations to estimate, so that many items a
    pair are needed, and the repair grows. The time does not forbid large ones.

    Args:
        correct: (n, m) of 0 and 1; NaN where a cell is missing.
        draws: simulated items; the default gives a beta of 5 % to about 0.05 points.
        seed: of the draws.

    Returns:
        The predicted beta and its error.

    Raises:
        ValueError: the table is not such a one, or an agent has no item.

    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=(4000, 1)) + rng.normal(size=(4000, 5))
    >>> abs(full_copula(ability > 0).beta - 1 / 6) < 0.02
    True
    """
    table = as_binary(correct, missing=True)
    seen = ~np.isnan(table)
    if not seen.any(axis=0).all():
        raise ValueError(f"agent {int(np.argmin(seen.any(axis=0)))} has no item at all: leave it out")
    thresholds = quantile(1 - np.where(seen, table, 0).sum(axis=0) / seen.sum(axis=0))
    estimated = tetrachoric(table)
    # A constant agent has an infinite threshold: it is wrong in all draws or in none, whatever it correlates with.
    estimated[np.isnan(estimated)] = 0
    np.fill_diagonal(estimated, 1)
    matrix = nearest_correlation(estimated)
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0))
    rng = np.random.default_rng(seed)
    m = len(matrix)
    size = max(1, 2_000_000 // m)
    failed = 0
    for start in range(0, draws, size):
        normals = rng.standard_normal((min(size, draws - start), m)) @ root.T
        failed += int((normals < thresholds).all(axis=1).sum())
    beta = failed / draws
    return FullCopula(beta, math.sqrt(beta * (1 - beta) / draws), float(np.abs(matrix - estimated).max()))


def nearest_correlation(matrix: npt.ArrayLike) -> Floats:
    """The positive semi-definite matrix with a unit diagonal that is nearest to a symmetric one.

    Alternating projections with Dykstra's correction, at most 200 rounds; nearest by the sum of squared differences.

    Args:
        matrix: (m, m), symmetric, without NaN.

    Returns:
        The nearest correlation matrix, the matrix itself if it is one.

    >>> nearest_correlation([[1, 0.9, 0.1], [0.9, 1, 0.9], [0.1, 0.9, 1]]).round(3).tolist()
    [[1.0, 0.77, 0.185], [0.77, 1.0, 0.77], [0.185, 0.77, 1.0]]
    """
    unit = np.array(matrix, dtype=float)
    if np.linalg.eigvalsh(unit)[0] >= -1e-12:
        return unit
    correction = np.zeros_like(unit)
    for _ in range(200):
        shifted = unit - correction
        values, vectors = np.linalg.eigh(shifted)
        projected = (vectors * np.maximum(values, 0)) @ vectors.T
        correction = projected - shifted
        following = projected.copy()
        np.fill_diagonal(following, 1)
        done = np.abs(following - unit).max() < 1e-8
        unit = following
        if done:
            break
    # The last projection was onto the unit diagonal; scaling the semi-definite one instead satisfies both exactly.
    scale = np.sqrt(np.diagonal(projected))
    result: Floats = projected / np.outer(scale, scale)
    np.fill_diagonal(result, 1)
    return result


def _predicted(right: Floats, rho: float) -> float:
    """Where no pair has a correlation, at most one agent is not constant, and independence is no assumption."""
    return single_factor(np.clip(1 - right, 0, 1), 0.0 if math.isnan(rho) else min(float(rho), 1.0))


def _mean_correlations(table: Floats, weights: Floats, first: Ints, second: Ints) -> Floats:
    """(r,): the mean tetrachoric correlation of the given pairs, each item counted as in a row of `weights` (r, n)."""
    n = len(table)
    right = weights @ table
    sums, counts = np.zeros(len(weights)), np.zeros(len(weights))
    size = max(1, _CELLS // n)
    for start in range(0, first.size, size):
        one, other = first[start : start + size], second[start : start + size]
        # The products of pairs of columns make one large matrix product of what would be many small ones.
        both = weights @ (table[:, one] * table[:, other])
        found = tetrachoric_counts(both, right[:, one], right[:, other], n)
        defined = ~np.isnan(found)
        sums += np.where(defined, found, 0).sum(axis=1)
        counts += defined.sum(axis=1)
    return quotient(sums, counts)
