"""The exact interval of a share against scipy, and its coverage worked out exactly."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from motet.measure.clopper_pearson import clopper_pearson


def reference(successes: int, n: int, level: float) -> tuple[float, float]:
    """The interval by scipy's quantiles of the beta distribution."""
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, successes, n - successes + 1)) if successes else 0.0
    high = float(stats.beta.ppf(1 - tail, successes + 1, n - successes)) if successes < n else 1.0
    return low, high


@given(st.data(), st.integers(1, 1_000_000), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_it_is_the_quantile_of_the_beta_distribution(data: st.DataObject, n: int, level: float) -> None:
    """Both ends agree with scipy to 1e-9, for any count out of up to a million."""
    successes = data.draw(st.integers(0, n))
    assert clopper_pearson(successes, n, level) == pytest.approx(reference(successes, n, level), abs=1e-9)


@pytest.mark.parametrize("successes", [0, 1, 2, 500_000, 999_998, 999_999, 1_000_000])
def test_the_ends_of_the_range_are_as_precise(successes: int) -> None:
    """Near 0 and near 1 the small distance to the end is right to 8 digits, not only to 1e-9."""
    low, high = clopper_pearson(successes, 1_000_000)
    expected = reference(successes, 1_000_000, 0.95)
    assert low == pytest.approx(expected[0], rel=1e-8)
    assert 1 - high == pytest.approx(1 - expected[1], rel=1e-8)


def test_it_covers_at_least_at_its_nominal_rate() -> None:
    """For every share and several n the exact probability that the interval holds the share is at least the level."""
    shares = np.linspace(0.001, 0.999, 333)
    for n in (1, 2, 5, 20, 60):
        for level in (0.8, 0.95):
            ends = np.array([clopper_pearson(k, n, level) for k in range(n + 1)])
            held = (ends[:, :1] <= shares) & (shares <= ends[:, 1:])
            covered = (stats.binom.pmf(np.arange(n + 1)[:, None], n, shares) * held).sum(axis=0)
            assert covered.min() >= level - 1e-12, (n, level)


@given(st.data(), st.integers(1, 500))
def test_successes_and_failures_mirror_each_other(data: st.DataObject, n: int) -> None:
    """The interval of the failures is that of the successes, seen from the other end; and it holds the share."""
    successes = data.draw(st.integers(0, n))
    low, high = clopper_pearson(successes, n)
    mirrored = clopper_pearson(n - successes, n)
    assert (low, high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-12)
    assert low <= successes / n <= high


def test_it_is_fast() -> None:
    """A hundred intervals out of a million take well under two seconds."""
    start = time.perf_counter()
    for successes in range(0, 1_000_000, 10_000):
        clopper_pearson(successes, 1_000_000)
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (-1, 5), (6, 5), (2.5, 5)])
def test_it_refuses_what_is_no_share(successes: int, n: int) -> None:
    """More than there are, none at all, or a fraction of an item."""
    with pytest.raises(ValueError, match="is no share"):
        clopper_pearson(successes, n)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_it_refuses_what_is_no_level(level: float) -> None:
    """A percentage is no level."""
    with pytest.raises(ValueError, match="a level lies between 0 and 1"):
        clopper_pearson(1, 5, level)
