"""Selective accuracy against averages over random orders, and between its bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.measure.selective import accuracy_at, coverage_at, risk_coverage

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30)


def test_ties_are_the_mean_over_orders() -> None:
    """The curve is the mean of those that random orders of equal confidences give."""
    drawn = np.random.default_rng(0)
    sure, right = drawn.integers(0, 4, 25), drawn.random(25) < 0.6
    total = np.zeros(25)
    for _ in range(4000):
        order = np.lexsort((drawn.random(25), -sure))
        total += np.cumsum(~right[order]) / np.arange(1, 26)
    assert risk_coverage(sure, right).risk == pytest.approx(total / 4000, abs=0.03)


@settings(max_examples=80)
@given(PAIRS)
def test_bounds(pairs: list[tuple[int, bool]]) -> None:
    """Full coverage has the mean error, the excess is never negative and 0 for a perfect confidence."""
    sure, right = np.array(pairs, dtype=float).T
    found = risk_coverage(sure, right)
    assert found.risk[-1] == pytest.approx(1 - right.mean())
    assert found.excess >= -1e-12
    assert risk_coverage(right, right).excess == pytest.approx(0)
    assert risk_coverage(np.zeros(len(right)), right).aurc == pytest.approx(1 - right.mean())
    assert accuracy_at(sure, right, 1.0) == pytest.approx(right.mean())
    share = coverage_at(sure, right, 0.8)
    assert share == 0 or accuracy_at(sure, right, share) >= 0.8 - 1e-9


def test_small_case_by_hand() -> None:
    """Risks 0, 1/2, 1/3, 1/2: their mean, and the coverages they allow."""
    found = risk_coverage([4, 3, 2, 1], [1, 0, 1, 0])
    assert found.aurc == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)
    assert found.excess == pytest.approx(found.aurc - (0 + 0 + 1 / 3 + 1 / 2) / 4)
    assert coverage_at([4, 3, 2, 1], [1, 0, 1, 0], 0.6) == 0.75
    assert coverage_at([4, 3], [0, 1], 0.9) == 0
    assert accuracy_at([4, 3, 2, 1], [1, 0, 1, 0], 0.3) == 0.5


def test_bad_input_is_refused() -> None:
    """Other lengths, missing values, and coverages that are no share."""
    with pytest.raises(ValueError, match="an outcome an item"):
        risk_coverage([0.1], [1, 0])
    with pytest.raises(ValueError, match="missing"):
        risk_coverage([0.1], [math.nan])
    with pytest.raises(ValueError, match="a coverage lies"):
        accuracy_at([0.1], [1], 0)
