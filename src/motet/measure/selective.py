"""Selective accuracy: how accurate answers are if only the surest share of them is given.

Items are sorted by confidence; at coverage c the surest share c is answered, and the risk is the share of wrong ones
among those. Items of equal confidence come in random order, in expectation: each counts as the mean of its like.

    risk(k/n) = mean of the k surest items' errors      AURC = 1/n Σ_k risk(k/n)
    E-AURC = AURC - the AURC of a confidence that puts all right answers first

AURC is the mean error for a confidence that says nothing; E-AURC is 0 for a perfect one.

El-Yaniv and Wiener, JMLR 11 (2010); AURC and E-AURC: Geifman, Uziel and El-Yaniv, "Bias-Reduced Uncertainty
Estimation for Deep Neural Classifiers" (2019). Inferred: ties, which the papers leave to the sorting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Risk at every coverage.

    Attributes:
        coverage: (n,) 1/n to 1.
        risk: (n,) share wrong among those answered.
        aurc: mean of the risks.
        excess: aurc minus the least possible with as many errors.
    """

    coverage: Floats
    risk: Floats
    aurc: float
    excess: float


def risk_coverage(confidence: npt.ArrayLike, correct: npt.ArrayLike) -> RiskCoverage:
    """The risk-coverage curve.

    Args:
        confidence: (n,) any numbers; only their order counts.
        correct: (n,) 1 right, 0 wrong, or shares.

    Returns:
        The curve and its areas.

    Raises:
        ValueError: lengths differ, or a value is missing.

    >>> risk_coverage([0.9, 0.8, 0.1, 0.0], [1, 1, 0, 0]).risk.round(3).tolist()
    [0.0, 0.0, 0.333, 0.5]
    """
    sure, right = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=float)
    if sure.shape != right.shape or sure.ndim != 1 or not sure.size or np.isnan(sure).any():
        raise ValueError(f"a confidence and an outcome an item are needed; these have {sure.shape} and {right.shape}")
    if not ((right >= 0) & (right <= 1)).all():
        raise ValueError("correctness lies between 0 and 1, and none may be missing")
    _, like = np.unique(-sure, return_inverse=True)
    mean_error = np.bincount(like, 1 - right) / np.bincount(like)
    counts = np.arange(1, len(sure) + 1)
    risk = np.cumsum(mean_error[np.sort(like)]) / counts
    least = np.cumsum(np.sort(1 - right)) / counts
    area = float(risk.mean())
    return RiskCoverage(counts / len(sure), risk, area, area - float(least.mean()))


def accuracy_at(confidence: npt.ArrayLike, correct: npt.ArrayLike, coverage: float) -> float:
    """Accuracy on the surest share of items.

    Args:
        confidence: (n,) as in `risk_coverage`.
        correct: (n,) as in `risk_coverage`.
        coverage: the share answered, above 0 to 1; rounded up to whole items.

    Returns:
        A share.

    Raises:
        ValueError: as `risk_coverage`, or the coverage is no such share.

    >>> accuracy_at([0.9, 0.8, 0.1, 0.0], [1, 1, 0, 0], 0.5)
    1.0
    """
    if not 0 < coverage <= 1:
        raise ValueError(f"a coverage lies above 0 and at most at 1; this is {coverage}")
    curve = risk_coverage(confidence, correct)
    last = int(np.ceil(round(coverage * len(curve.risk), 9))) - 1
    return 1 - float(curve.risk[last])


def coverage_at(confidence: npt.ArrayLike, correct: npt.ArrayLike, accuracy: float) -> float:
    """The largest share of items that can be answered with at least this accuracy.

    Args:
        confidence: (n,) as in `risk_coverage`.
        correct: (n,) as in `risk_coverage`.
        accuracy: asked for, a share.

    Returns:
        A share; 0 where not even the surest item is accurate enough.

    Raises:
        ValueError: as `risk_coverage`.

    >>> coverage_at([0.9, 0.8, 0.1, 0.0], [1, 1, 0, 0], 0.6)
    0.75
    """
    curve = risk_coverage(confidence, correct)
    enough = np.flatnonzero(curve.risk <= 1 - accuracy + 1e-12)
    return float(curve.coverage[enough[-1]]) if enough.size else 0.0
