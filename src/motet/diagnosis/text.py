"""How figures are written for people: shares in per cent, intervals in brackets, p-values no finer than they are."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percent(share: float | None) -> str:
    """A share, in per cent with one decimal.

    >>> percent(0.6981), percent(None), percent(float("nan"))
    ('69.8 %', '–', '–')
    """
    return "–" if share is None or not math.isfinite(share) else f"{100 * share:.1f} %"


def points(difference: float | None) -> str:
    """A difference of shares, in percentage points with its sign.

    >>> points(0.019), points(-0.101)
    ('+1.9', '−10.1')
    """
    if difference is None or not math.isfinite(difference):
        return "–"
    return f"{100 * difference:+.1f}".replace("-", "−")


def between(interval: Sequence[float] | None) -> str:
    """An interval of shares, in per cent.

    >>> between((0.052, 0.064))
    '[5.2, 6.4]'
    """
    if interval is None or not all(math.isfinite(end) for end in interval):
        return "–"
    return f"[{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]".replace("-", "−")


def figure(value: float | None) -> str:
    """A number with three significant digits.

    >>> figure(0.06612), figure(12345.6), figure(-2.0), figure(0.00001049)
    ('0.0661', '12,346', '−2', '0.0000105')
    """
    if value is None or not math.isfinite(value):
        return "–"
    if abs(value) < 1e-12:  # what sums of floats leave of a nought
        value = 0.0
    if 0 < abs(value) < 1e-4:
        shown = f"{value:.{2 - math.floor(math.log10(abs(value)))}f}".rstrip("0")
    else:
        shown = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return shown.replace("-", "−")


def chance(p: float) -> str:
    """A p-value.

    >>> chance(0.034), chance(1e-9), chance(1.0)
    ('p = 0.034', 'p < 0.001', 'p = 1')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def names(several: Sequence[str], most: int = 5) -> str:
    """Names in a sentence.

    >>> names(["a", "b", "c"]), names(list("abcdefg"))
    ('a, b and c', 'a, b, c, d, e and 2 more')
    """
    if len(several) > most:
        return f"{', '.join(several[:most])} and {len(several) - most} more"
    return " and ".join([", ".join(several[:-1]), several[-1]] if len(several) > 1 else several)
