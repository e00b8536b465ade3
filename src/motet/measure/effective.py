"""How many independent agents a pool of correlated ones is worth.

    design effect        m / (1 + (m - 1) ρ), ρ the mean pairwise correlation: the number of independent agents whose
                         average would vary as little as the average of these m
    participation ratio  (Σ λ)² / Σ λ², λ the eigenvalues of the correlation matrix: how many directions hold the
                         variance; m where all are uncorrelated, 1 where all are copies

Both are computed from a correlation matrix, usually `phi`. The first sees only the average, so that one agent among
many copies hardly counts; the second also sees groups.

Kish, "Survey Sampling" (1965), for the design effect; Gao and Ganguli, "On simplicity and complexity in the brave new
world of large-scale neuroscience", Curr. Opin. Neurobiol. 32 (2015), for the participation ratio. Inferred: agents
whose correlations are undefined because they are always right or always wrong are left out of both.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, as_square
from motet.measure.correlation import mean_pairwise


def design_effect(correlation: npt.ArrayLike) -> float:
    """The effective number of agents by the design effect.

    Args:
        correlation: (m, m) correlations of all pairs; an agent with NaN on the diagonal is left out.

    Returns:
        At least 1 where ρ lies between 0 and 1, infinite where ρ is at its least, -1/(m - 1), as then the errors cancel
        in the average. NaN where no pair is defined; 1 for one agent.

    Raises:
        ValueError: the matrix is not square.

    >>> design_effect([[1, 0.5, 0.5], [0.5, 1, 0.5], [0.5, 0.5, 1]])
    1.5
    """
    matrix = _defined(correlation)
    m = len(matrix)
    if m < 2:
        return float(m) if m else math.nan
    inflation = 1 + (m - 1) * mean_pairwise(matrix)
    return math.inf if inflation <= 1e-12 else m / inflation


def participation_ratio(correlation: npt.ArrayLike) -> float:
    """The effective number of agents by the participation ratio.

    Args:
        correlation: (m, m) correlations of all pairs; an agent with NaN on the diagonal is left out.

    Returns:
        From 1 to m; NaN where no agent is defined or another pair is NaN (agents without a common item).

    Raises:
        ValueError: the matrix is not square.

    >>> round(participation_ratio([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]), 6)
    2.0
    """
    matrix = _defined(correlation)
    # The sum of the eigenvalues is the trace, that of their squares the sum of all squared entries.
    return float(np.trace(matrix) ** 2 / (matrix**2).sum()) if matrix.size else math.nan


def _defined(correlation: npt.ArrayLike) -> Floats:
    matrix = as_square(correlation)
    kept = ~np.isnan(np.diagonal(matrix))
    defined: Floats = matrix[np.ix_(kept, kept)]
    return defined
