"""Many tests at once: p-values adjusted so that a list of comparisons can be read as one.

Holm keeps the chance of even one false finding below alpha; Benjamini and Hochberg keep the expected share of false
ones among the findings below it. With p sorted ascending, k tests, i from 1:

    Holm                 adj_(i) = max over j ≤ i of min(1, (k - j + 1) p_(j))
    Benjamini-Hochberg   adj_(i) = min over j ≥ i of min(1, k p_(j) / j)

Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statistics 6 (1979). Benjamini and
Hochberg, "Controlling the False Discovery Rate", JRSS B 57 (1995); it holds for independent or positively dependent
tests, which comparisons with one shared best agent usually are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats


def holm(p: npt.ArrayLike) -> Floats:
    """Adjust for the chance of any false finding (family-wise error).

    Args:
        p: (k,) p-values.

    Returns:
        (k,) adjusted, in the order given: those at most alpha are findings at level alpha.

    Raises:
        ValueError: they are no p-values.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values, order = _sorted(p)
    k = len(values)
    adjusted = np.maximum.accumulate(np.minimum(1.0, values * np.arange(k, 0, -1)))
    return _back(adjusted, order)


def benjamini_hochberg(p: npt.ArrayLike) -> Floats:
    """Adjust for the share of false findings (false discovery rate).

    Args:
        p: (k,) p-values.

    Returns:
        (k,) adjusted, in the order given.

    Raises:
        ValueError: they are no p-values.

    >>> benjamini_hochberg([0.01, 0.5, 0.02]).tolist()
    [0.03, 0.5, 0.03]
    """
    values, order = _sorted(p)
    k = len(values)
    scaled = np.minimum(1.0, values * k / np.arange(1, k + 1))
    return _back(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _sorted(p: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.intp]]:
    values = np.asarray(p, dtype=float)
    if values.ndim != 1 or not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"p-values are a list of numbers from 0 to 1; these are {values.tolist()}")
    order = np.argsort(values, kind="stable")
    return values[order], order


def _back(adjusted: Floats, order: npt.NDArray[np.intp]) -> Floats:
    result = np.empty_like(adjusted)
    result[order] = adjusted
    return result
