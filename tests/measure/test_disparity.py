"""Disparity against loops and published constants; the null's size and power by simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from motet.measure.disparity import expected_range, group_spread, mean_absolute_difference


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(2, 6))
def test_difference_is_a_loop(seed: int, g: int) -> None:
    """It is the mean over all items and pairs of groups, in whatever order the groups stand."""
    scores = np.random.default_rng(seed).random((7, g))
    expected = np.mean([[abs(a - b) for a, b in itertools.combinations(row, 2)] for row in scores])
    assert mean_absolute_difference(scores) == pytest.approx(expected)
    assert mean_absolute_difference(scores[:, ::-1]) == pytest.approx(expected)


def test_two_groups_are_the_sign_flip_test() -> None:
    """With two groups, permuting within items is flipping signs: scipy's exact p-value within the noise."""
    drawn = np.random.default_rng(0)
    scores = drawn.normal([0.0, 0.5], 1, (12, 2))
    theirs = stats.permutation_test(
        (scores[:, 0] - scores[:, 1],),
        lambda d, axis: np.abs(d.mean(axis=axis)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert group_spread(scores, resamples=20_000).p == pytest.approx(theirs.pvalue, abs=0.012)


@pytest.mark.parametrize("per_item", [False, True])
def test_size_and_expectation(per_item: bool) -> None:
    """Six equal groups exceed the null in about 5 of 100 of 600 draws, and their mean spread is the expected one."""
    drawn = np.random.default_rng(1)
    found = [group_spread(drawn.normal(size=(15, 6, 2)), per_item=per_item, resamples=200, seed=i) for i in range(600)]
    assert 0.025 <= np.mean([one.p <= 0.05 for one in found]) <= 0.075
    assert np.mean([one.excess for one in found]) == pytest.approx(0, abs=0.02)


def test_arity_is_matched() -> None:
    """Six equal groups are expected to lie 2.25 times as far apart as two, which is no disparity."""
    drawn = np.random.default_rng(2)
    wide = [group_spread(drawn.normal(size=(60, 6)), resamples=60, seed=i) for i in range(150)]
    narrow = [group_spread(drawn.normal(size=(60, 2)), resamples=60, seed=i) for i in range(150)]
    ratio = np.mean([one.expected for one in wide]) / np.mean([one.expected for one in narrow])
    assert ratio == pytest.approx(expected_range(6) / expected_range(2), rel=0.05)


def test_planted_disparity_is_found() -> None:
    """A group scored lower throughout is found, with p above 0; one that fares differently by item, item by item."""
    drawn = np.random.default_rng(3)
    noise = drawn.normal(0, 0.5, (80, 4, 3))
    assert group_spread(noise + np.array([0, 0, 0, -0.4])[:, None], resamples=300).p == 1 / 301
    by_item = noise.copy()
    by_item[:, 3] += drawn.choice([-1, 1], (80, 1))
    assert group_spread(by_item, per_item=True, resamples=300).p < 0.01
    assert group_spread(noise, per_item=True, resamples=300).p > 0.05


def test_range_has_the_published_constants() -> None:
    """The constants d2 of control charts for 2 to 10 (Tippett 1925)."""
    published = {2: 1.128, 3: 1.693, 4: 2.059, 5: 2.326, 6: 2.534, 7: 2.704, 8: 2.847, 9: 2.970, 10: 3.078}
    for g, d2 in published.items():
        assert expected_range(g) == pytest.approx(d2, abs=6e-4)


def test_bad_input_is_refused() -> None:
    """One group, missing scores, one run for a spread by item."""
    for scores in ([[1.0]], [1.0, 2.0], [[1.0, float("nan")]]):
        with pytest.raises(ValueError, match="two or more groups"):
            mean_absolute_difference(scores)
    with pytest.raises(ValueError, match="two runs a group"):
        group_spread([[1.0, 2.0]], per_item=True)
    with pytest.raises(ValueError, match="no spread"):
        expected_range(1)
