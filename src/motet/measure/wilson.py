"""The Wilson interval of a share: how sure an accuracy is, given how many items it was measured on.

    centre ± half = (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)

Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22 (1927). Unlike the textbook
interval it stays inside 0 to 1 and keeps its coverage near the ends and for small n (Brown, Cai and DasGupta 2001).
"""

from __future__ import annotations

import math
from statistics import NormalDist

from motet.measure.interval import Interval


def wilson(successes: float, n: int, level: float = 0.95) -> Interval:
    """The interval of a share.

    Args:
        successes: how many of the `n` were right; a fraction counts as such.
        n: how many there were, at least 1.
        level: the nominal coverage.

    Returns:
        Lower and upper end, shares from 0 to 1.

    Raises:
        ValueError: `successes` is not between 0 and `n`, or `n` is not positive.

    >>> low, high = wilson(65, 100)
    >>> round(low, 3), round(high, 3)
    (0.553, 0.736)
    """
    if n < 1 or not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is no share")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / n
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    return Interval(max(0.0, centre - half), min(1.0, centre + half))
