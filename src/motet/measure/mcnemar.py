"""McNemar's exact test: do two agents that answered the same items differ in accuracy?

Only the items on which they differ tell: b that the first alone got right, c that the second alone did. If they are
equally good, b is Binomial(b + c, 1/2); the p-value is the two-sided exact one, 2 P(X ≤ min(b, c)), at most 1.

McNemar, "Note on the sampling error of the difference between correlated proportions or percentages", Psychometrika
12 (1947); the exact form is the sign test on the discordant pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> tuple[int, int, float]:
    """The exact test on paired outcomes.

    Args:
        first: whether the first agent was right, an entry an item.
        second: the same for the second, in the same order.

    Returns:
        Items only the first got right, items only the second did, and the two-sided p-value.

    Raises:
        ValueError: the two are not of one length.

    >>> mcnemar([True] * 9 + [False], [False] * 9 + [True])
    (9, 1, 0.021484375)
    """
    if len(first) != len(second):
        raise ValueError(f"outcomes of {len(first)} and {len(second)} items are not paired")
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    return only_first, only_second, exact_sign(only_first, only_second)


def exact_sign(wins: int, losses: int) -> float:
    """The two-sided exact p-value of a sign test.

    >>> exact_sign(5, 5), exact_sign(0, 0)
    (1.0, 1.0)
    """
    n, least = wins + losses, min(wins, losses)
    tail: int = sum(math.comb(n, k) for k in range(least + 1))
    return min(1.0, tail / 2 ** (n - 1)) if n else 1.0
