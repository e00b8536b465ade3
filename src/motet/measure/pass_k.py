"""pass@k and pass^k: the chance that any, or that all, of k fresh samples are right.

With n samples of which c were right, both are unbiased for k ≤ n: every choice of k of the n counts once.

    pass@k = 1 - C(n-c, k) / C(n, k)        at least one of k right: what a perfect checker of k samples reaches
    pass^k = C(c, k) / C(n, k)              all k right: what a user meets who needs it to work every time

pass@k: Chen et al., "Evaluating Large Language Models Trained on Code" (2021). pass^k: Yao et al., "tau-bench" (2024).
Both are per item; a benchmark's figure is their mean over items.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints


def pass_at_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> Floats:
    """The chance that at least one of k samples is right.

    Args:
        n: samples of each cell; any shape, or one number for all.
        c: right ones among them, of a shape that fits.
        k: samples drawn, from 1 to the least n.

    Returns:
        Shares, in the common shape of `n` and `c`.

    Raises:
        ValueError: more right than sampled, or fewer samples than k.

    >>> pass_at_k(10, [0, 1, 10], 5).round(3).tolist()
    [0.0, 0.5, 1.0]
    """
    samples, right = _counts(n, c, k)
    return 1 - _share_of_choices(samples - right, samples, k)


def pass_hat_k(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> Floats:
    """The chance that all of k samples are right.

    Args:
        n: samples of each cell; any shape, or one number for all.
        c: right ones among them, of a shape that fits.
        k: samples drawn, from 1 to the least n.

    Returns:
        Shares, in the common shape of `n` and `c`.

    Raises:
        ValueError: more right than sampled, or fewer samples than k.

    >>> pass_hat_k(4, [4, 3, 1], 2).round(3).tolist()
    [1.0, 0.5, 0.0]
    """
    samples, right = _counts(n, c, k)
    return _share_of_choices(right, samples, k)


def _counts(n: npt.ArrayLike, c: npt.ArrayLike, k: int) -> tuple[Ints, Ints]:
    samples, right = np.broadcast_arrays(np.asarray(n), np.asarray(c))
    if samples.dtype.kind not in "iu" or right.dtype.kind not in "iu":
        raise ValueError(f"counts of samples are whole numbers; these are {samples.dtype} and {right.dtype}")
    if ((right < 0) | (right > samples)).any():
        raise ValueError("between none and all of the samples of a cell were right: some count lies outside")
    if k < 1 or (samples.size and k > samples.min()):
        raise ValueError(f"{k} of {samples.min() if samples.size else 0} samples cannot be drawn: k goes from 1 to n")
    return samples.astype(np.int64), right.astype(np.int64)


def _share_of_choices(some: Ints, of: Ints, k: int) -> Floats:
    """C(some, k) / C(of, k), as a product of k fractions, none of which can overflow."""
    share = np.ones(some.shape)
    for i in range(k):
        share *= np.maximum(some - i, 0) / (of - i)
    return share
