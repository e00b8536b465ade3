"""Router curves against a loop over thresholds, scikit-learn's areas, and routers whose figures are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc

from motet.measure.strong_weak import apgr, cpt, pgr, routed

TABLE = st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), min_size=1, max_size=40)


@settings(max_examples=80)
@given(TABLE)
def test_curve_is_a_loop_over_thresholds(rows: list[tuple[int, bool, bool]]) -> None:
    """Share and accuracy at each threshold are what routing at it gives; APGR is scikit-learn's area."""
    score, weak, strong = np.array(rows, dtype=float).T
    curve = routed(score, weak, strong)
    expected = [(0.0, weak.mean())]
    for threshold in sorted(set(score), reverse=True):
        up = score >= threshold
        expected.append((up.mean(), np.where(up, strong, weak).mean()))
    assert np.column_stack([curve.share, curve.accuracy]) == pytest.approx(np.array(expected))
    if strong.mean() > weak.mean():
        gap = (curve.accuracy - weak.mean()) / (strong.mean() - weak.mean())
        assert apgr(curve) == pytest.approx(auc(curve.share, gap))
        # The curve may touch the target at a threshold only, between two points of any grid.
        grid = np.union1d(np.linspace(0, 1, 20_001), curve.share)
        crossed = grid[np.argmax(np.interp(grid, curve.share, gap) >= 0.5 - 1e-9)]
        assert cpt(curve, 0.5) == pytest.approx(crossed, abs=1e-4)
    else:
        assert math.isnan(apgr(curve))
        assert math.isnan(cpt(curve, 0.5))


def test_lots_and_oracle() -> None:
    """Equal scores draw lots: APGR 1/2, CPT(x) = x. The oracle needs only the items where the strong one gains."""
    drawn = np.random.default_rng(0)
    weak, strong = drawn.random(1000) < 0.6, drawn.random(1000) < 0.8
    lots = routed(np.zeros(1000), weak, strong)
    assert apgr(lots) == pytest.approx(0.5)
    assert [cpt(lots, x) for x in (0, 0.2, 0.5, 0.8, 1)] == pytest.approx([0, 0.2, 0.5, 0.8, 1])
    oracle = routed(strong.astype(int) - weak.astype(int), weak, strong)
    gains = (strong & ~weak).mean()
    assert cpt(oracle, 0.5) == pytest.approx(0.5 * (strong.mean() - weak.mean()))
    assert oracle.accuracy.max() == pytest.approx(weak.mean() + gains)
    assert apgr(oracle) > 1 > apgr(lots)


def test_pgr_ends() -> None:
    """The weak agent recovers nothing, the strong one all; without a gap there is nothing to recover."""
    assert pgr(0.6, 0.6, 0.8) == 0
    assert pgr(0.8, 0.6, 0.8) == pytest.approx(1)
    assert math.isnan(pgr(0.5, 0.7, 0.7))


def test_bad_input_is_refused() -> None:
    """Different lengths, missing scores, shares of the gap that are none."""
    with pytest.raises(ValueError, match="two outcomes an item"):
        routed([1], [1, 0], [1, 1])
    with pytest.raises(ValueError, match="missing"):
        routed([math.nan], [1], [1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        cpt(routed([1], [0], [1]), 1.5)
