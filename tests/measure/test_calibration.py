"""Calibration against scikit-learn, against loops, and on confidences whose calibration is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from motet.measure.calibration import auc, brier, ece, reliability_curve

PAIRS = st.lists(st.tuples(st.integers(0, 20).map(lambda v: v / 20), st.booleans()), min_size=1, max_size=60)


@settings(max_examples=80)
@given(PAIRS, st.sampled_from([None, 1, 5, 10]))
def test_brier_and_its_parts(pairs: list[tuple[float, bool]], bins: int | None) -> None:
    """The score is scikit-learn's, the parts sum to it, and without bins Murphy's three alone do."""
    p, y = np.array(pairs, dtype=float).T
    found = brier(p, y, bins=bins)
    assert found.score == pytest.approx(
        brier_score_loss(y, p, pos_label=1) if 0 < y.mean() < 1 else ((p - y) ** 2).mean()
    )
    assert found.reliability - found.resolution + found.uncertainty + found.residual == pytest.approx(found.score)
    assert found.uncertainty == pytest.approx(y.mean() * (1 - y.mean()))
    assert min(found.reliability, found.resolution) >= 0
    if bins is None:
        assert found.residual == 0


@settings(max_examples=80)
@given(PAIRS)
def test_auc_is_scikit_learns(pairs: list[tuple[float, bool]]) -> None:
    """Ties included; one class only has none; turning the scores round mirrors it."""
    p, y = np.array(pairs, dtype=float).T
    if not 0 < y.mean() < 1:
        assert math.isnan(auc(p, y))
        return
    assert auc(p, y) == pytest.approx(roc_auc_score(y, p))
    assert auc(-p, y) == pytest.approx(1 - auc(p, y))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_curve_is_scikit_learns(strategy: str) -> None:
    """Points are those of calibration_curve, intervals those of statsmodels, ECE their weighted distance."""
    drawn = np.random.default_rng(1)
    p = drawn.random(500)
    y = drawn.random(500) < p**2
    mass = strategy == "quantile"
    curve = reliability_curve(p, y, equal_mass=mass)
    accuracy, confidence = calibration_curve(y, p, n_bins=10, strategy=strategy)
    # scikit-learn interpolates its quantiles, which moves an item at an edge.
    assert curve.accuracy == pytest.approx(accuracy, abs=0.03 if mass else 1e-12)
    assert curve.confidence == pytest.approx(confidence, abs=0.01 if mass else 1e-12)
    low, high = proportion_confint(curve.accuracy * curve.count, curve.count, method="wilson")
    assert curve.low == pytest.approx(low)
    assert curve.high == pytest.approx(high)
    expected = (curve.count * np.abs(curve.accuracy - curve.confidence)).sum() / 500
    assert ece(p, y, bins=10, equal_mass=mass) == pytest.approx(expected)


def test_equal_confidences_stay_together() -> None:
    """Bins of equal mass never part equal confidences, so a constant confidence has one bin."""
    p, y = np.full(100, 0.7), np.arange(100) < 60
    assert reliability_curve(p, y, equal_mass=True).count.tolist() == [100]
    assert ece(p, y, equal_mass=True) == pytest.approx(0.1)


def test_planted_calibration_is_recovered() -> None:
    """Honest confidences have little error in both kinds of bins; shifted ones have the shift."""
    drawn = np.random.default_rng(2)
    p = drawn.uniform(0.2, 0.6, 40_000)
    y = drawn.random(40_000) < p
    for mass in (False, True):
        assert ece(p, y, equal_mass=mass) < 0.012
        assert ece(p + 0.3, y, equal_mass=mass) == pytest.approx(0.3, abs=0.012)
    assert brier(p, y, bins=15).reliability < 2e-4


def test_extremes_and_shares() -> None:
    """A perfect forecast has score 0; shares of samples count as such; edges belong to the bin below."""
    assert brier([1, 0], [1, 0]) == brier([1, 0, 1, 0], [1, 0, 1, 0])
    assert brier([1, 0], [1, 0]).score == 0
    assert brier([0.5], [0.5]).score == 0
    assert ece([0.0, 1.0], [0, 1]) == 0
    assert reliability_curve([0.05, 0.1, 0.15, 0.2], [1, 1, 1, 1], bins=10).count.tolist() == [2, 2]
    assert ece([0.05, 0.1, 0.15], [0, 0, 1], bins=10) == pytest.approx((2 * 0.075 + 0.85) / 3)


def test_bad_input_is_refused() -> None:
    """Confidences in percent, missing values, other lengths, labels that are shares, no bins."""
    with pytest.raises(ValueError, match="item 1 has 70"):
        brier([0.5, 70], [1, 0])
    with pytest.raises(ValueError, match="confidence lies between"):
        ece([math.nan], [1])
    with pytest.raises(ValueError, match="an outcome an item"):
        brier([0.5], [1, 0])
    with pytest.raises(ValueError, match="label is 0 or 1"):
        auc([0.5], [0.5])
    with pytest.raises(ValueError, match="0 bins"):
        ece([0.5], [1], bins=0)
