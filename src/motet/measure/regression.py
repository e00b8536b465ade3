"""Regression of a mixture's quality on its members' average quality and their diversity.

    t_c = α + β_q q_c + β_d d_c + ε_c        ordinary least squares over committees c

Li et al., "Rethinking Mixture-of-Agents: Is Mixing Different Large Language Models Beneficial?" (2025), section on the
trade-off of quality and diversity: over many mixtures they regress the result t on the mean accuracy q of the members
and on the diversity d of their outputs, and find that quality counts for more. Coefficients of columns brought to unit
standard deviation say which of the two moves the result more; they are given beside the plain ones.

Standard errors are the usual ones, σ² (XᵀX)⁻¹ with σ² = RSS / (c - 3). Committees that share members are not
independent, so they are too small if all committees of one pool are taken; inferred, and said here so that nobody
reads them as more than a guide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats


@dataclass(frozen=True)
class Regression:
    """The fitted line.

    Attributes:
        intercept: α: what a mixture of quality and diversity 0 would reach.
        quality: β_q: what one more unit of average quality adds.
        diversity: β_d: what one more unit of diversity adds.
        intercept_error: the standard error of α.
        quality_error: the standard error of β_q.
        diversity_error: the standard error of β_d.
        quality_standard: β_q in standard deviations of the result for one of quality.
        diversity_standard: β_d in standard deviations of the result for one of diversity.
        r2: the share of the result's variance that the line explains; NaN if the result does not vary.
        committees: how many committees it was fitted on.
    """

    intercept: float
    quality: float
    diversity: float
    intercept_error: float
    quality_error: float
    diversity_error: float
    quality_standard: float
    diversity_standard: float
    r2: float
    committees: int


def mixture_regression(mixture: npt.ArrayLike, quality: npt.ArrayLike, diversity: npt.ArrayLike) -> Regression:
    """Fit the line.

    Args:
        mixture: (c,) the quality of each committee's combined answer.
        quality: (c,) the mean quality of its members.
        diversity: (c,) how much they differ, in any unit, such as their mean pairwise disagreement.

    Returns:
        Coefficients, standard errors and the share explained.

    Raises:
        ValueError: the three do not have one length, there are fewer than four committees, or quality and diversity
            do not vary independently, so that no line is determined.

    >>> fit = mixture_regression([0.5, 0.7, 0.6, 0.8], [0.4, 0.6, 0.4, 0.6], [0.1, 0.1, 0.2, 0.2])
    >>> round(fit.quality, 6), round(fit.diversity, 6), round(fit.r2, 6)
    (1.0, 1.0, 1.0)
    """
    result, mean, spread = (np.asarray(values, dtype=float) for values in (mixture, quality, diversity))
    if result.ndim != 1 or not result.shape == mean.shape == spread.shape or len(result) < 4:
        raise ValueError(
            f"at least four committees are needed, each with its quality and diversity; the shapes are "
            f"{result.shape}, {mean.shape}, {spread.shape}"
        )
    if not all(np.isfinite(values).all() for values in (result, mean, spread)):
        raise ValueError("a committee has a value that is not finite: leave it out")
    # Centred and scaled columns keep the rank test and the inverse sound whatever the unit of diversity.
    columns = np.stack([mean, spread], axis=1)
    centre, scale = columns.mean(axis=0), columns.std(axis=0)
    if (scale <= 1e-12).any():
        raise ValueError("quality or diversity is the same in all committees: its effect cannot be told")
    design = np.column_stack([np.ones(len(result)), (columns - centre) / scale])
    slopes, _, rank, _ = np.linalg.lstsq(design, result, rcond=1e-10)
    if rank < 3:
        raise ValueError("quality and diversity rise and fall together: their effects cannot be told apart")
    rest = result - design @ slopes
    inverse: Floats = np.linalg.inv(design.T @ design)
    covariance = inverse * float(rest @ rest) / (len(result) - 3)
    back = np.array([[1.0, *(-centre / scale)], [0, 1 / scale[0], 0], [0, 0, 1 / scale[1]]])
    plain = back @ slopes
    errors = np.sqrt(np.diag(back @ covariance @ back.T))
    varied = float(result.std())
    return Regression(
        intercept=float(plain[0]),
        quality=float(plain[1]),
        diversity=float(plain[2]),
        intercept_error=float(errors[0]),
        quality_error=float(errors[1]),
        diversity_error=float(errors[2]),
        quality_standard=float(slopes[1] / varied) if varied else float("nan"),
        diversity_standard=float(slopes[2] / varied) if varied else float("nan"),
        r2=float(1 - rest.var() / varied**2) if varied else float("nan"),
        committees=len(result),
    )
