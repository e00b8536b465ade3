"""The ranking of agents by mean correctness, which says who is the best, who comes next, and who is best-placed.

    place of j = 1 + #{k : mean_k > mean_j} + #{k before j : mean_k = mean_j}

Every measure that takes agents "best first" takes them in this order, so that equal agents stand in the same order in
a vote, in a committee and in a table.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Ints, as_correct


def ranking(correct: npt.ArrayLike) -> Ints:
    """Columns by mean correctness, best first; ties in the order of the columns.

    Args:
        correct: (n, m), no cell missing.

    Returns:
        (m,) columns.

    Raises:
        ValueError: see `as_correct`.

    >>> ranking([[0, 1, 1], [0, 1, 0]]).tolist()
    [1, 2, 0]
    """
    return by_mean(as_correct(correct).mean(axis=0))


def by_mean(means: npt.ArrayLike) -> Ints:
    """The same from the means themselves; those that are NaN, of agents without results, come last.

    Args:
        means: (m,).

    Returns:
        (m,) columns.

    >>> by_mean([0.2, float("nan"), 0.7]).tolist()
    [2, 0, 1]
    """
    # Means of shares differ in their last digit by how they were summed: rounding makes equal what is equal.
    order: Ints = np.argsort(-np.asarray(means, dtype=float).round(12), kind="stable").astype(np.int64)
    return order
