"""Kappa: how far coders agree beyond what their habits alone would bring about.

    kappa = (agreement - chance) / (1 - chance)

    Cohen    two coders; chance = Σ_l p_l q_l with each coder's own shares of the labels
    Fleiss   any number; agreement = mean over items of the share of pairs that agree, chance = Σ_l p_l²

1 is full agreement, 0 what chance brings, below 0 less than that. Where one label is so common that chance alone is
full agreement, kappa has no value.

Cohen, "A Coefficient of Agreement for Nominal Scales" (1960); Fleiss, "Measuring Nominal Scale Agreement Among Many
Raters", Psychological Bulletin 76 (1971).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, quotient


def cohen(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Agreement of two coders.

    Args:
        first: (n,) labels, numbers or texts.
        second: (n,) the other coder's, in the same order.

    Returns:
        Kappa; NaN where both use one and the same label only.

    Raises:
        ValueError: they coded different numbers of items, or none.

    >>> cohen(["a", "a", "b", "b"], ["a", "a", "b", "a"])
    0.5
    """
    counts = _counts([np.asarray(first), np.asarray(second)])
    agreement = float((counts == 2).any(axis=1).mean())
    labels = np.unique(np.concatenate([np.asarray(first), np.asarray(second)]))
    shares = [(np.asarray(coder)[:, None] == labels).mean(axis=0) for coder in (first, second)]
    return float(beyond_chance(agreement, shares[0] @ shares[1]))


def fleiss(labels: npt.ArrayLike) -> float:
    """Agreement of several coders, who need not be the same from item to item.

    Args:
        labels: (n, c) numbers or texts, c ≥ 2 codings of each item.

    Returns:
        Kappa; NaN where only one label is used.

    Raises:
        ValueError: it is no such table.

    >>> round(fleiss([["a", "a", "a"], ["b", "b", "b"], ["a", "b", "b"]]), 3)
    0.55
    """
    table = np.asarray(labels)
    if table.ndim != 2 or table.shape[1] < 2 or not table.size:
        raise ValueError(f"items by two or more codings are needed; these have the shape {table.shape}")
    counts = _counts(list(table.T))
    coders = table.shape[1]
    agreement = float(((counts * (counts - 1)).sum(axis=1) / (coders * (coders - 1))).mean())
    shares = counts.mean(axis=0) / coders
    return float(beyond_chance(agreement, (shares**2).sum()))


def beyond_chance(agreement: npt.ArrayLike, chance: npt.ArrayLike) -> Floats:
    """Kappa from its two parts.

    Args:
        agreement: any shape, from 0 to 1.
        chance: the agreement that is expected by chance.

    Returns:
        The shape of the two together; NaN where chance alone is full agreement.

    >>> beyond_chance([0.75, 1.0], [0.5, 1.0]).tolist()
    [0.5, nan]
    """
    expected = np.asarray(chance, dtype=float)
    return quotient(np.asarray(agreement, dtype=float) - expected, 1 - expected, least=1e-12)


def _counts(coders: list[npt.NDArray[np.generic]]) -> Floats:
    """(n, l): how many coders gave an item each label."""
    n = len(coders[0]) if coders[0].ndim else 0
    if not n or any(coder.shape != (n,) for coder in coders):
        raise ValueError(f"coders label the same items; these have the shapes {[coder.shape for coder in coders]}")
    labels, number = np.unique(np.concatenate(coders), return_inverse=True)
    cells = np.tile(np.arange(n), len(coders)) * len(labels) + number
    return np.bincount(cells, minlength=n * len(labels)).reshape(n, len(labels)).astype(float)
