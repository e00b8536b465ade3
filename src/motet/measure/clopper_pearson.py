"""The Clopper-Pearson interval of a share: the exact one, which never covers less often than it says.

    low  = the α/2     quantile of Beta(k, n - k + 1), 0 where k = 0
    high = the 1 - α/2 quantile of Beta(k + 1, n - k), 1 where k = n

for k successes in n trials and α = 1 - level: the shares that a two-sided binomial test at α would not reject.

Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26
(1934). The regularised incomplete beta function is Lentz's evaluation of its continued fraction (Numerical Recipes,
6.4), and its inverse Newton's method kept inside a bracket.
"""

from __future__ import annotations

import math
from typing import Final

from motet.measure.interval import Interval

_TINY: Final = 1e-300
_PRECISION: Final = 1e-15


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval of a share.

    Args:
        successes: how many of the `n` were so, a whole number.
        n: how many there were, at least 1.
        level: the nominal coverage; the true one is at least this, and more for small `n`.

    Returns:
        Lower and upper end, shares from 0 to 1.

    Raises:
        ValueError: `successes` is not between 0 and `n`, `n` is not positive, or `level` not between 0 and 1.

    >>> low, high = clopper_pearson(349, 5998)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.0644)
    >>> round(clopper_pearson(0, 100).high, 4)
    0.0362
    """
    if n < 1 or not 0 <= successes <= n or successes != int(successes):
        raise ValueError(f"{successes} of {n} is no share of whole items")
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, as 0.95 does; this is {level}")
    tail = (1 - level) / 2
    low = _beta_quantile(tail, successes, n - successes + 1) if successes else 0.0
    # The upper end is one minus the lower end of the failures, which keeps its precision near 1.
    high = 1 - _beta_quantile(tail, n - successes, successes + 1) if successes < n else 1.0
    return Interval(low, high)


def _beta_quantile(probability: float, a: float, b: float) -> float:
    """The x at which the distribution function of Beta(a, b) is `probability`."""
    low, high, x = 0.0, 1.0, a / (a + b)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(200):
        reached = _incomplete_beta(a, b, x, scale)
        if reached < probability:
            low = x
        else:
            high = x
        density = math.exp(scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
        step = x - (reached - probability) / density if density else -1.0
        # Newton overshoots where the density is nearly flat in a far tail; halving the bracket always moves on.
        following = step if low <= step <= high else (low + high) / 2
        if abs(following - x) <= 1e-14 * x:
            return following
        x = following
    return x


def _incomplete_beta(a: float, b: float, x: float, scale: float) -> float:
    """The regularised incomplete beta function; `scale` is the logarithm of 1/B(a, b)."""
    front = math.exp(scale + a * math.log(x) + b * math.log1p(-x))
    # The fraction converges fast only on its own side of the mean; the other side is its mirror image.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function; it takes about the root of max(a, b) terms."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for k in range(1, 100_000):
        even = k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k))
        d, c = 1 / _away(1 + even * d), _away(1 + even / c)
        value *= d * c
        odd = -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
        d, c = 1 / _away(1 + odd * d), _away(1 + odd / c)
        value *= d * c
        if abs(d * c - 1) < _PRECISION:
            break
    return value


def _away(value: float) -> float:
    """Keep a divisor away from zero."""
    return value if abs(value) > _TINY else _TINY
