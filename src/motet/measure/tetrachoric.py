"""The tetrachoric correlation: how correlated two agents' abilities are, behind their right and wrong answers.

Each agent is taken to be right where a standard normal ability minus the item's difficulty lies above the agent's own
threshold; the tetrachoric correlation ρ is that between two such abilities. Unlike phi it is not held down when one
agent is much better than the other. With p₁, p₂ the shares right and p₁₁ the share both have right, it is the root of

    Φ₂(Φ⁻¹(p₁), Φ⁻¹(p₂), ρ) = p₁₁

which is the maximum-likelihood estimate: a 2x2 table has as many free cells as there are unknowns.

Pearson, "Mathematical contributions to the theory of evolution VII", Phil. Trans. A 195 (1900). Zero cells as in
Brown, "Algorithm AS 116: the tetrachoric correlation and its asymptotic standard error", Applied Statistics 26 (1977):
a single empty cell is given half an item, the others adjusted so that both agents keep their shares right; two empty
cells on a diagonal (always the same outcome, or always the opposite) give +1 or -1. An agent that is always right or
always wrong has no threshold, and NaN.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, as_correct
from motet.measure.normal import arc_density, arc_integral, quantile

_STEPS: Final = 60
_PRECISION: Final = 1e-10
_BLOCK: Final = 50_000


def tetrachoric(correct: npt.ArrayLike) -> Floats:
    """The tetrachoric correlation of every pair of agents.

    Args:
        correct: (n, m) of 0 and 1; NaN where a cell is missing. A pair is compared on the items that both have.

    Returns:
        (m, m), symmetric, with 1 on the diagonal; NaN for an agent (on the pair's common items) that is always right
        or always wrong.

    Raises:
        ValueError: the table is not such a one. Shares of samples have no such correlation: choose a sample, or
            round, first.

    >>> tetrachoric([[1, 1], [1, 1], [1, 0], [0, 1], [0, 0], [0, 0]]).round(4).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    table = as_binary(correct, missing=True)
    seen = ~np.isnan(table)
    right = np.where(seen, table, 0.0)
    present = seen.astype(float)
    both, total, alone = right.T @ right, present.T @ present, right.T @ present
    m = table.shape[1]
    first, second = np.triu_indices(m, 1)
    found = tetrachoric_counts(both[first, second], alone[first, second], alone[second, first], total[first, second])
    matrix = np.eye(m)
    matrix[first, second] = matrix[second, first] = found
    own = np.diagonal(both)
    constant = (own == 0) | (own == np.diagonal(total))
    matrix[constant, constant] = np.nan
    return matrix


def tetrachoric_counts(both: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, n: npt.ArrayLike) -> Floats:
    """The tetrachoric correlations of many 2x2 tables at once.

    Args:
        both: how many items both agents have right.
        first: how many the first has right.
        second: how many the second has right.
        n: how many items there are. All four are broadcast against each other.

    Returns:
        The correlations in the common shape, to 1e-9; NaN where an agent is constant or there is no item.

    >>> tetrachoric_counts([30, 50, 0, 5], [50, 50, 50, 100], [50, 50, 50, 5], 100).round(4).tolist()
    [0.309, 1.0, -1.0, nan]
    """
    counts = np.broadcast_arrays(*(np.asarray(each, dtype=float) for each in (both, first, second, n)))
    flat = np.stack([each.ravel() for each in counts])
    # Blocks keep the working arrays in the processor's cache, which more than doubles the speed of a large call.
    parts = [_roots(*flat[:, start : start + _BLOCK]) for start in range(0, flat.shape[1], _BLOCK)]
    return np.concatenate(parts).reshape(counts[0].shape) if parts else np.empty(counts[0].shape)


def as_binary(values: npt.ArrayLike, *, missing: bool = False) -> Floats:
    """Check a matrix of correctness that holds nothing but 0 and 1.

    Args:
        values: (n, m) of 0 and 1.
        missing: whether NaN, a missing cell, is allowed.

    Returns:
        The matrix as floats.

    Raises:
        ValueError: it is no matrix of correctness, or holds shares.

    >>> as_binary([[0.5]])
    Traceback (most recent call last):
    ValueError: only 0 and 1 have a tetrachoric correlation; item 0, agent 0 has 0.5: take one sample of each cell
    """
    table = as_correct(values, missing=missing)
    between = (table > 0) & (table < 1)
    if between.any():
        row, column = np.argwhere(between)[0]
        raise ValueError(
            f"only 0 and 1 have a tetrachoric correlation; item {row}, agent {column} has "
            f"{float(table[row, column])}: take one sample of each cell"
        )
    return table


def _roots(both: Floats, first: Floats, second: Floats, n: Floats) -> Floats:
    """One block of `tetrachoric_counts`, in one dimension."""
    result = np.full(both.shape, np.nan)
    defined = (first > 0) & (first < n) & (second > 0) & (second < n)
    both, first, second, n = both[defined], first[defined], second[defined], n[defined]
    least, most = np.maximum(0.0, first + second - n), np.minimum(first, second)
    same = (both >= most) & (first == second)
    opposite = (both <= least) & (first + second == n)
    # Half an item in an empty cell, with both margins kept, moves `both` by a half away from its extreme.
    target = np.clip(both, np.minimum(least + 0.5, most), np.maximum(most - 0.5, least)) / n
    p, q = first / n, second / n
    angle = _angles(target - p * q, _thresholds(first, n), _thresholds(second, n))
    result[defined] = np.where(same, 1.0, np.where(opposite, -1.0, np.sin(angle)))
    return result


def _thresholds(right: Floats, n: Floats) -> Floats:
    """Φ⁻¹ of shares, each distinct one worked out once: many pairs share few agents."""
    shares, index = np.unique(right / n, return_inverse=True)
    return quantile(shares)[index]


def _angles(excess: Floats, h: Floats, k: Floats) -> Floats:
    """Solve Φ₂(h, k, sin θ) - Φ(h) Φ(k) = `excess` for θ by Newton's method inside a shrinking bracket."""
    low, high = np.full(h.shape, -np.pi / 2), np.full(h.shape, np.pi / 2)
    # At θ = 0 the slope is known, so that the first step of Newton's method costs no integral.
    angle = np.clip(excess / arc_density(h, k, np.zeros_like(h)), -1.2, 1.2)
    active = np.arange(h.size)
    for _ in range(_STEPS):
        if not active.size:
            break
        at, x, y = angle[active], h[active], k[active]
        error = arc_integral(x, y, at) - excess[active]
        low[active] = np.where(error < 0, at, low[active])
        high[active] = np.where(error < 0, high[active], at)
        move = error / np.maximum(arc_density(x, y, at), 1e-300)
        step = at - move
        # Newton leaves the bracket where the slope is nearly 0; halving the bracket always moves on.
        inside = (step >= low[active]) & (step <= high[active])
        angle[active] = np.where(inside, step, (low[active] + high[active]) / 2)
        active = active[np.abs(angle[active] - at) > _PRECISION]
    return angle
