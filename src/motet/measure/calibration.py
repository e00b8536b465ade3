"""Calibration: do the confidences an agent states mean what they say, and do they tell right from wrong?

    Brier   mean (p - y)² = reliability - resolution + uncertainty + residual
            reliability Σ n_k (p_k - y_k)² / n, resolution Σ n_k (y_k - y)² / n, uncertainty y (1 - y)
    ECE     Σ n_k |y_k - p_k| / n
    AUC     P(score of a right answer > score of a wrong one) + P(equal) / 2

k goes over bins of confidence, p_k and y_k are the mean confidence and the share right in them. Murphy's three terms
are exact (residual 0) where a bin holds one confidence only, which is the default; wider bins leave the residual of
Stephenson, Coelho and Jolliffe, "Two Extra Components in the Brier Score Decomposition" (2008).

Brier (1950); Murphy, J. Applied Meteorology 12 (1973); Guo et al., "On Calibration of Modern Neural Networks" (2017)
for ECE with 15 bins of equal width; bins of equal mass as Nixon et al., "Measuring Calibration in Deep Learning"
(2019). AUC is Mann and Whitney's U (1947). ECE depends on the bins and is biased upwards on few items; Brier does not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints
from motet.measure.ranks import midranks
from motet.measure.wilson import wilson


@dataclass(frozen=True)
class Brier:
    """The Brier score and its parts: score = reliability - resolution + uncertainty + residual.

    Attributes:
        score: mean squared error of the confidences; 0 is perfect, 0.25 is saying one half always.
        reliability: how far confidences are from the shares right at them; small is good.
        resolution: how far these shares are from the overall one; large is good.
        uncertainty: how hard the items are to tell apart: the variance of being right.
        residual: what is lost within bins; 0 without bins.
    """

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    residual: float


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Share right against confidence, bin by bin; empty bins are left out.

    Attributes:
        confidence: (b,) mean confidence.
        accuracy: (b,) share right.
        count: (b,) items.
        low: (b,) Wilson interval of the share right, lower end.
        high: (b,) upper end.
    """

    confidence: Floats
    accuracy: Floats
    count: Ints
    low: Floats
    high: Floats


def brier(confidence: npt.ArrayLike, correct: npt.ArrayLike, *, bins: int | None = None) -> Brier:
    """The Brier score and Murphy's decomposition.

    Args:
        confidence: (n,) stated probabilities of being right.
        correct: (n,) 1 right, 0 wrong, or the share of samples that were.
        bins: bins of equal width; left out, each distinct confidence is one.

    Returns:
        The score and its parts.

    Raises:
        ValueError: lengths differ, or a value lies outside 0 to 1.

    >>> brier([1, 1, 0, 0], [1, 0, 0, 0]).score
    0.25
    """
    p, y = _paired(confidence, correct)
    group = np.unique(p, return_inverse=True)[1] if bins is None else _bins(p, bins, equal_mass=False)
    count, mean_p, mean_y = _means(group, p, y)
    share = count / len(p)
    score = float(((p - y) ** 2).mean())
    reliability = float((share * (mean_p - mean_y) ** 2).sum())
    resolution = float((share * (mean_y - y.mean()) ** 2).sum())
    uncertainty = float(y.var())
    residual = 0.0 if bins is None else score - reliability + resolution - uncertainty
    return Brier(score, reliability, resolution, uncertainty, residual)


def ece(confidence: npt.ArrayLike, correct: npt.ArrayLike, *, bins: int = 15, equal_mass: bool = False) -> float:
    """Expected calibration error.

    Args:
        confidence: (n,) stated probabilities of being right.
        correct: (n,) 1 right, 0 wrong, or shares.
        bins: how many; 15 as in Guo et al.
        equal_mass: bins of about equal numbers of items (equal confidences stay together), not of equal width.

    Returns:
        From 0, calibrated, to 1.

    Raises:
        ValueError: as `brier`, or no bins.

    >>> round(ece([0.9, 0.9, 0.1], [1, 1, 0]), 3)
    0.1
    """
    p, y = _paired(confidence, correct)
    count, mean_p, mean_y = _means(_bins(p, bins, equal_mass=equal_mass), p, y)
    return float((count * np.abs(mean_p - mean_y)).sum() / len(p))


def reliability_curve(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    bins: int = 10,
    equal_mass: bool = False,
    level: float = 0.95,
) -> ReliabilityCurve:
    """Share right against confidence, to be drawn against the diagonal.

    Args:
        confidence: (n,) stated probabilities of being right.
        correct: (n,) 1 right, 0 wrong, or shares.
        bins: how many; 10 are readable.
        equal_mass: as in `ece`.
        level: coverage of the intervals.

    Returns:
        One point a bin that is not empty, by rising confidence.

    Raises:
        ValueError: as `ece`.

    >>> reliability_curve([0.1, 0.1, 0.9], [0, 0, 1]).accuracy.tolist()
    [0.0, 1.0]
    """
    p, y = _paired(confidence, correct)
    count, mean_p, mean_y = _means(_bins(p, bins, equal_mass=equal_mass), p, y)
    ends = np.array(
        [wilson(min(a * c, c), int(c), level) for a, c in zip(mean_y.tolist(), count.tolist(), strict=True)]
    )
    return ReliabilityCurve(mean_p, mean_y, count.astype(np.int64), ends[:, 0], ends[:, 1])


def auc(score: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """The area under the ROC curve: the chance that a positive scores above a negative, ties as half.

    Args:
        score: (n,) any numbers; only their order counts.
        positive: (n,) 1 or 0.

    Returns:
        1/2 for a score that tells nothing; NaN where all are positive or none is.

    Raises:
        ValueError: lengths differ, a score is missing, or a label is not 0 or 1.

    >>> auc([0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1])
    0.875
    """
    values, labels = np.asarray(score, dtype=float), np.asarray(positive, dtype=float)
    if values.shape != labels.shape or values.ndim != 1 or not values.size or np.isnan(values).any():
        raise ValueError(f"a score and a label each are needed; these have {values.shape} and {labels.shape}, or NaN")
    if not np.isin(labels, (0.0, 1.0)).all():
        raise ValueError("a label is 0 or 1: say which share of samples counts as right")
    ones = int(labels.sum())
    zeros = len(labels) - ones
    if not ones or not zeros:
        return float("nan")
    above = float(midranks(values)[labels == 1].sum()) - ones * (ones + 1) / 2
    return above / (ones * zeros)


def _paired(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> tuple[Floats, Floats]:
    p, y = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=float)
    if p.shape != y.shape or p.ndim != 1 or not p.size:
        raise ValueError(f"a confidence and an outcome an item are needed; these have {p.shape} and {y.shape}")
    for name, values in (("confidence", p), ("correctness", y)):
        if not ((values >= 0) & (values <= 1)).all():
            at = int(np.argmin((values >= 0) & (values <= 1)))
            raise ValueError(f"{name} lies between 0 and 1; item {at} has {float(values[at])}")
    return p, y


def _bins(p: Floats, bins: int, *, equal_mass: bool) -> npt.NDArray[np.intp]:
    """The bin of each: (0, 1/bins], and so on, 0 in the first; or by the quantiles of the confidences themselves."""
    if bins < 1:
        raise ValueError(f"{bins} bins hold nothing: at least one is needed")
    inner = np.arange(1, bins) / bins
    edges = np.quantile(p, inner, method="inverted_cdf") if equal_mass else inner
    return np.searchsorted(edges, p, side="left")


def _means(group: npt.NDArray[np.intp], p: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Count, mean confidence and mean correctness of each bin that is not empty."""
    count = np.bincount(group).astype(float)
    full = count > 0
    return (
        count[full],
        np.bincount(group, p)[full] / count[full],
        np.bincount(group, y)[full] / count[full],
    )
