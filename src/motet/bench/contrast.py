"""Two arms on the same tasks: how much better one is, and how sure that is.

>>> a, b = np.array([1.0] * 9 + [0.0]), np.array([1.0] * 3 + [0.0] * 7)
>>> found = contrast("a", a, "b", b)
>>> found.tasks, round(found.difference, 2), found.wins, found.losses, found.p
(10, 0.6, 6, 0, 0.03125)
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from motet.measure.arrays import Floats
from motet.measure.bootstrap import bootstrap_difference
from motet.measure.interval import Interval
from motet.measure.mcnemar import mcnemar
from motet.measure.multiplicity import holm
from motet.measure.permutation import sign_flip


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """`arm` against `other` on the `tasks` that both were graded on.

    `difference` is of their mean scores, with a paired bootstrap interval; `wins` and `losses` are the tasks on which
    `arm` did better and worse; `p` is exact McNemar's, or a sign flip's where scores are graded, and `p_holm` that
    corrected over all comparisons of its table.
    """

    arm: str
    other: str
    tasks: int
    difference: float
    interval: Interval
    wins: int
    losses: int
    p: float
    p_holm: float


def contrast(arm: str, own: Floats, other: str, others: Floats, *, seed: int = 0) -> Contrast | None:
    """Compare two arms.

    Args:
        arm: the name of the first.
        own: (tasks,) its scores; NaN where there is none.
        other: the name of the second.
        others: (tasks,) its scores.
        seed: of the interval.

    Returns:
        The comparison; None if no task was graded for both.
    """
    both = np.isfinite(own) & np.isfinite(others)
    if not both.any():
        return None
    a, b = own[both], others[both]
    estimate = bootstrap_difference(a, b, seed=seed)
    exact = bool(np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all())
    p = mcnemar(a > 0, b > 0).p if exact else sign_flip(a, b, seed=seed).p
    return Contrast(
        arm=arm,
        other=other,
        tasks=len(a),
        difference=estimate.value,
        interval=estimate.interval,
        wins=int((a > b).sum()),
        losses=int((a < b).sum()),
        p=p,
        p_holm=p,
    )


def corrected(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """The same comparisons, with Holm's correction over all of them."""
    if not contrasts:
        return []
    values = holm([each.p for each in contrasts]).tolist()
    return [msgspec.structs.replace(each, p_holm=float(value)) for each, value in zip(contrasts, values, strict=True)]
