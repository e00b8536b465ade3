"""An interval: the lower and the upper end of what a figure may be, and the quantiles of draws that give one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt


class Interval(NamedTuple):
    """The two ends of an interval, in the unit of the figure it belongs to.

    >>> Interval(0.25, 0.75).high
    0.75
    """

    low: float
    high: float


def percentile(draws: npt.ArrayLike, level: float = 0.95) -> Interval:
    """The percentile interval of bootstrap draws: the middle `level` of them.

    Args:
        draws: one value a resample; those that are not finite are left out.
        level: the nominal coverage.

    Returns:
        The ends; both NaN where no draw is finite.

    >>> [round(end) for end in percentile(range(101), level=0.9)]
    [5, 95]
    """
    import numpy as np  # here, since an `Interval` must not cost the import

    values = np.asarray(draws, dtype=float).ravel()
    values = values[np.isfinite(values)]
    if not values.size:
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))
