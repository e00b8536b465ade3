"""Seriation: agents in an order that puts similar ones side by side, so that a heat map shows its blocks.

Clusters are merged by average linkage (UPGMA: Sokal and Michener, "A statistical method for evaluating systematic
relationships", 1958): the two whose members are most similar on average, until one is left. At each merge the two
orders are joined by the ends that are most similar, each turned round where that helps (a common greedy form of leaf
ordering, Gruvaeus and Wainer 1972; the order is not the optimal one).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Ints, as_square


def by_similarity(similarity: npt.ArrayLike) -> Ints:
    """An order of the agents with similar ones side by side.

    Args:
        similarity: (m, m), symmetric, larger for more alike; NaN counts as the least similar.

    Returns:
        (m,) a permutation of the columns.

    Raises:
        ValueError: the matrix is not square.

    >>> by_similarity([[1, 0, 0.9, 0], [0, 1, 0, 0.8], [0.9, 0, 1, 0.1], [0, 0.8, 0.1, 1]]).tolist()
    [0, 2, 3, 1]
    """
    given = as_square(similarity)
    m = len(given)
    if not m:
        return np.zeros(0, dtype=np.int64)
    alike = np.where(np.isnan(given), np.nanmin(given, initial=0.0), given)
    linkage = alike.copy()
    np.fill_diagonal(linkage, -np.inf)
    orders: list[list[int]] = [[j] for j in range(m)]
    for _ in range(m - 1):
        first, second = divmod(int(linkage.argmax()), m)
        first, second = min(first, second), max(first, second)
        sizes = len(orders[first]), len(orders[second])
        merged = (sizes[0] * linkage[first] + sizes[1] * linkage[second]) / sum(sizes)
        linkage[first, :] = linkage[:, first] = merged
        linkage[first, first] = -np.inf
        linkage[second, :] = linkage[:, second] = -np.inf
        left, right = orders[first], orders[second]
        ends = [(alike[a[-1], b[0]], a, b) for a in (left, left[::-1]) for b in (right, right[::-1])]
        _, a, b = max(ends, key=lambda end: end[0])
        orders[first], orders[second] = a + b, []
    return np.array(orders[0], dtype=np.int64)
