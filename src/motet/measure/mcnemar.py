"""McNemar's exact test: do two agents that answered the same items differ in accuracy?

Only the items on which they differ tell: b that the first alone got right, c that the second alone did. If they are
equally good, b is Binomial(b + c, 1/2); the p-value is the two-sided exact one, 2 P(X ≤ min(b, c)), at most 1.

McNemar, "Note on the sampling error of the difference between correlated proportions or percentages", Psychometrika
12 (1947); the exact form is the sign test on the discordant pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Outcomes = Sequence[bool] | npt.NDArray[np.bool_] | npt.NDArray[np.integer] | npt.NDArray[np.floating]


class McNemar(NamedTuple):
    """The two kinds of items that tell, and what they say.

    Attributes:
        only_first: items only the first agent got right.
        only_second: items only the second did.
        p: the two-sided p-value.
    """

    only_first: int
    only_second: int
    p: float


def mcnemar(first: Outcomes, second: Outcomes) -> McNemar:
    """The exact test on paired outcomes.

    Args:
        first: (n,) whether the first agent was right, an entry an item; a sequence or an array of 0 and 1.
        second: the same for the second, in the same order.

    Returns:
        The discordant items, and the two-sided p-value.

    Raises:
        ValueError: the two are not of one length, or an array holds anything but 0 and 1.

    >>> mcnemar([True] * 9 + [False], [False] * 9 + [True])
    McNemar(only_first=9, only_second=1, p=0.021484375)
    """
    if len(first) != len(second):
        raise ValueError(f"outcomes of {len(first)} and {len(second)} items are not paired")
    if isinstance(first, Sequence) and isinstance(second, Sequence):
        only_first = sum(a and not b for a, b in zip(first, second, strict=True))
        only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    else:
        only_first, only_second = _discordant(first, second)
    return McNemar(only_first, only_second, exact_sign(only_first, only_second))


def _discordant(first: Outcomes, second: Outcomes) -> tuple[int, int]:
    """The same counts for arrays. Only whoever has arrays pays for the import."""
    import numpy as np

    pair = np.asarray(first), np.asarray(second)
    for values in pair:
        if values.ndim != 1 or ((values != 0) & (values != 1)).any():
            raise ValueError("an outcome is 0 or 1, one an item: shares of samples go to a permutation test")
    a, b = (values.astype(bool) for values in pair)
    return int((a & ~b).sum()), int((b & ~a).sum())


def exact_sign(wins: int, losses: int) -> float:
    """The two-sided exact p-value of a sign test.

    >>> exact_sign(5, 5), exact_sign(0, 0)
    (1.0, 1.0)
    """
    n, least = wins + losses, min(wins, losses)
    # Each binomial coefficient from the one before: thousands of discordant items take milliseconds.
    term = tail = 1
    for k in range(least):
        term = term * (n - k) // (k + 1)
        tail += term
    return min(1.0, tail / (1 << (n - 1))) if n else 1.0
