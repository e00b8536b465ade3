"""Equivalence and power: are two agents as good as the same, and what difference could the items show at all?

A difference that is not significant is no sign of equality. The two one-sided tests (TOST) reject "the difference is
at least `margin`, one way or the other"; what they reject is being apart. With d the mean paired difference:

    p = max( P(T ≥ t(-margin)), P(T ≤ t(margin)) ),  t(δ) = (d - δ) / standard error under δ

The interval of coverage 2 level - 1 that belongs to it lies inside ±margin exactly where p < 1 - level. Outcomes of 0
and 1 take Tango's score statistic, whose standard error is that of the likeliest outcome rates with difference δ, so
that few or no discordant items do not feign certainty; other scores take Student's t on n - 1 degrees of freedom.

    Tango: t(δ) = (b - c - nδ) / √(n (2q + δ(1 - δ))),  q = (√(B² - 8nC) - B) / 4n,
           B = (2n - b + c) δ - b - c,  C = -c δ (1 - δ)        b, c: items only the first, only the second had right

    minimum detectable effect: the δ of  δ√n = z_(1-α/2) √ψ + z_power √(ψ - δ²)          ψ: share of discordant items

Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15 (1987); Tango, "Equivalence test and confidence interval for
the difference in proportions for the paired-sample design", Statistics in Medicine 17 (1998); the power formula:
Connor, "Sample Size for Testing Differences in Proportions for the Paired-Sample Design", Biometrics 43 (1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from motet.measure.bootstrap import item_means, paired_differences
from motet.measure.interval import Interval


@dataclass(frozen=True)
class Equivalence:
    """What the two one-sided tests found.

    Attributes:
        difference: mean of first minus second.
        interval: of the difference, with coverage 2 level - 1 (0.90 at the usual level).
        p: the p-value of not being equivalent; small means equivalent within the margin.
        equivalent: whether p < 1 - level.
        method: "score" for outcomes of 0 and 1, "t" for others.
    """

    difference: float
    interval: Interval
    p: float
    equivalent: bool
    method: str


def tost(first: npt.ArrayLike, second: npt.ArrayLike, margin: float, *, level: float = 0.95) -> Equivalence:
    """Test whether two agents' mean scores on the same items lie within `margin` of each other.

    Args:
        first: (n,) or (n, r) repeats, which are averaged first.
        second: (n,) or (n, s), the same items in the same order.
        margin: the largest difference that does not matter, above 0; there is no default, because that is a
            decision and no statistic.
        level: one minus the size of the test.

    Returns:
        The difference, its interval, and the p-value.

    Raises:
        ValueError: they are not paired, or fewer than two items, or the margin is not positive.

    >>> same = tost([1, 0] * 100, [1, 0] * 99 + [0, 1], margin=0.05)
    >>> same.equivalent, same.method
    (True, 'score')
    """
    differences = paired_differences(first, second)
    n = len(differences)
    if n < 2 or not margin > 0:
        raise ValueError(f"equivalence needs at least two items and a margin above 0; here are {n} and {margin}")
    difference = float(differences.mean())
    quantile: float
    if all(np.isin(item_means(values), (0.0, 1.0)).all() for values in (first, second)):
        if margin >= 1:
            raise ValueError(f"shares never differ by more than 1: a margin of {margin} tests nothing")
        method = "score"
        b, c = int((differences > 0).sum()), int((differences < 0).sum())

        def statistic(delta: float) -> float:
            return _tango(b, c, n, delta)

        cdf: Callable[[float], float] = NormalDist().cdf
        quantile = NormalDist().inv_cdf(level)
        ends = Interval(_root(statistic, quantile), _root(statistic, -quantile))
    else:
        method = "t"
        error = float(differences.std(ddof=1)) / math.sqrt(n)

        def statistic(delta: float) -> float:
            return (difference - delta) / error if error else math.copysign(math.inf, difference - delta)

        def cdf(t: float) -> float:
            return student(t, n - 1)

        quantile = _root(lambda t: -student(t, n - 1), -level, reach=1e6)
        ends = Interval(difference - quantile * error, difference + quantile * error)
    p = max(cdf(-statistic(-margin)), cdf(statistic(margin)))
    return Equivalence(difference, ends, p, p < 1 - level, method)


def _tango(b: int, c: int, n: int, delta: float) -> float:
    slope = (2 * n - b + c) * delta - b - c
    root = math.sqrt(max(0.0, slope * slope + 8 * n * c * delta * (1 - delta)))
    variance = n * ((root - slope) / (2 * n) + delta * (1 - delta))
    gap = b - c - n * delta
    if variance <= 1e-12 * n:
        return 0.0 if abs(gap) < 1e-9 * n else math.copysign(math.inf, gap)
    return gap / math.sqrt(variance)


def _root(falling: Callable[[float], float], target: float, reach: float = 1.0) -> float:
    """Where a function that falls from -reach to reach passes `target`, by halving."""
    low, high = -reach, reach
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > target else (low, middle)
    return (low + high) / 2


def student(t: float, freedom: int) -> float:
    """The distribution function of Student's t for whole degrees of freedom.

    A finite sum in θ = atan(t/√ν), Abramowitz and Stegun 26.7.3 and 26.7.4; absolute error about 1e-14.

    Args:
        t: where.
        freedom: ν, at least 1.

    Returns:
        P(T ≤ t).

    >>> round(student(2.228138852, 10), 6)
    0.975
    """
    if math.isinf(t):
        return 0.0 if t < 0 else 1.0
    theta = math.atan(t / math.sqrt(freedom))
    odd = freedom % 2
    steps = np.arange(1, (freedom - odd) // 2)
    ratios = (2 * steps / (2 * steps + 1)) if odd else ((2 * steps - 1) / (2 * steps))
    terms = 1 + np.cumprod(ratios * math.cos(theta) ** 2).sum() if freedom > 1 else 0.0
    inside = 2 / math.pi * (theta + math.sin(theta) * math.cos(theta) * terms) if odd else math.sin(theta) * terms
    return min(1.0, max(0.0, 0.5 + float(inside) / 2))


def minimum_detectable_effect(n: int, discordance: float, *, power: float = 0.8, level: float = 0.95) -> float:
    """The least difference in accuracy that McNemar's test finds with the given power.

    Args:
        n: items both agents answered.
        discordance: share of them on which one is right and the other wrong, above 0.
        power: chance of finding a difference of that size; 0.8 is the convention of Cohen (1988).
        level: one minus the size of the two-sided test.

    Returns:
        The difference, a share; NaN where even the largest that the discordance allows would not be found so often.

    Raises:
        ValueError: no items, or shares outside their range, or a power below one half.

    >>> round(minimum_detectable_effect(1000, 0.2), 4)
    0.0396
    """
    if n < 1 or not 0 < discordance <= 1 or not 0.5 <= power < 1:
        raise ValueError(f"{n} items with discordance {discordance} and power {power}: no such comparison")
    size, found = NormalDist().inv_cdf((1 + level) / 2), NormalDist().inv_cdf(power)
    under = n + found**2 - size**2
    if under < 0:
        return math.nan
    effect = math.sqrt(discordance) * (size * math.sqrt(n) + found * math.sqrt(under)) / (n + found**2)
    return effect if effect <= discordance else math.nan
