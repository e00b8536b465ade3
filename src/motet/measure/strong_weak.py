"""Routing between a strong and a weak agent: how much of the gap between them a router closes, for how many calls.

A router's score orders the items; those above a threshold go to the strong agent. Going through all thresholds gives
a curve of accuracy over the share c of strong calls, from the weak agent at c = 0 to the strong one at c = 1.

    PGR(c)  = (accuracy(c) - weak) / (strong - weak)        performance gap recovered
    APGR    = ∫ PGR(c) dc from 0 to 1                       1/2 for a router that draws lots
    CPT(x)  = the least c with PGR(c) ≥ x                   call-performance threshold; x for lots

Ong et al., "RouteLLM: Learning to Route LLMs with Preference Data" (2024), section 2. Inferred: items of equal score
are routed alike, and between two thresholds lots are drawn, so the curve is linear there. The paper's APGR is the mean
over ten shares of calls, its code (lm-sys/RouteLLM) the trapezoid over the thresholds it tried, about ten; here it is
the exact area over all thresholds. Its CPT interpolates accuracy as if that never fell; here the first crossing counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats


@dataclass(frozen=True, eq=False)
class Routed:
    """A router between two agents, at every threshold.

    Attributes:
        share: (t,) shares of strong calls, from 0 to 1.
        accuracy: (t,) at these shares; linear in between.
        weak: accuracy of the weak agent alone.
        strong: that of the strong one.
    """

    share: Floats
    accuracy: Floats
    weak: float
    strong: float


def pgr(accuracy: float, weak: float, strong: float) -> float:
    """Performance gap recovered.

    Args:
        accuracy: of the router.
        weak: of the weak agent.
        strong: of the strong agent.

    Returns:
        0 for the weak agent's accuracy, 1 for the strong one's; NaN where the strong agent is no better.

    >>> pgr(0.75, 0.5, 1.0)
    0.5
    """
    return (accuracy - weak) / (strong - weak) if strong > weak else float("nan")


def routed(score: npt.ArrayLike, weak: npt.ArrayLike, strong: npt.ArrayLike) -> Routed:
    """The curve of a router.

    Args:
        score: (n,) how much the router wants the strong agent; only the order counts.
        weak: (n,) correctness of the weak agent.
        strong: (n,) correctness of the strong agent, on the same items.

    Returns:
        Accuracy at every threshold, from none to all calls to the strong agent.

    Raises:
        ValueError: the lengths differ, or a value is missing.

    >>> routed([0.9, 0.1], weak=[0, 1], strong=[1, 1]).accuracy.tolist()
    [0.5, 1.0, 1.0]
    """
    want, w, s = (np.asarray(values, dtype=float) for values in (score, weak, strong))
    if not want.shape == w.shape == s.shape or want.ndim != 1 or not want.size:
        raise ValueError(
            f"one score and two outcomes an item are needed; these have {want.shape}, {w.shape}, {s.shape}"
        )
    if np.isnan(want).any() or not (np.isfinite(w) & np.isfinite(s)).all():
        raise ValueError("some scores or outcomes are missing: leave these items out")
    order = np.argsort(-want, kind="stable")
    gained = np.concatenate(([0.0], np.cumsum((s - w)[order])))
    # A threshold lies only between different scores: equal ones are routed alike.
    cuts = np.concatenate(([0], np.flatnonzero(np.diff(want[order])) + 1, [len(want)]))
    return Routed(cuts / len(want), w.mean() + gained[cuts] / len(want), float(w.mean()), float(s.mean()))


def apgr(curve: Routed) -> float:
    """Average performance gap recovered, over all shares of strong calls.

    Args:
        curve: what `routed` gave.

    Returns:
        1/2 is a router that draws lots; NaN where the strong agent is no better.

    >>> apgr(routed([0.9, 0.1], weak=[0, 1], strong=[1, 1]))
    0.75
    """
    area = float((np.diff(curve.share) * (curve.accuracy[1:] + curve.accuracy[:-1])).sum() / 2)
    return pgr(area, curve.weak, curve.strong)


def cpt(curve: Routed, x: float) -> float:
    """Call-performance threshold: the least share of strong calls that recovers `x` of the gap.

    Args:
        curve: what `routed` gave.
        x: the share of the gap, from 0 to 1; the paper reports 0.5 and 0.8.

    Returns:
        A share of calls; NaN where the strong agent is no better.

    Raises:
        ValueError: `x` is not between 0 and 1.

    >>> cpt(routed([0.9, 0.1], weak=[0, 1], strong=[1, 1]), 0.5)
    0.25
    """
    if not 0 <= x <= 1:
        raise ValueError(f"the share of the gap lies between 0 and 1; this is {x}")
    if not curve.strong > curve.weak:
        return float("nan")
    target = curve.weak + x * (curve.strong - curve.weak)
    # All calls to the strong agent recover all of the gap, whatever rounding says.
    first = min(int(np.argmax(curve.accuracy >= target - 1e-12)), len(curve.share) - 1)
    if first == 0:
        return 0.0
    low, high = float(curve.accuracy[first - 1]), float(curve.accuracy[first])
    part = min(1.0, (target - low) / (high - low)) if high > low else 1.0
    return float(curve.share[first - 1] + part * (curve.share[first] - curve.share[first - 1]))
