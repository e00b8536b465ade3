"""The sign-flip test: against scipy's permutation test, McNemar's test, and its size where the agents are alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from motet.measure.mcnemar import mcnemar
from motet.measure.permutation import sign_flip


def scipy_p(first: np.ndarray, second: np.ndarray, resamples: float = np.inf) -> float:
    """Scipy's two-sided p-value for the mean paired difference."""
    result = stats.permutation_test(
        (first - second,),
        lambda d, axis: np.mean(d, axis=axis),
        permutation_type="samples",
        n_resamples=resamples,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    return float(result.pvalue)


@pytest.mark.parametrize("seed", range(5))
def test_small_samples_agree_with_scipy(seed: int) -> None:
    """All assignments of ten differences of different size give scipy's exact p-value."""
    drawn = np.random.default_rng(seed)
    first, second = drawn.normal(0.4, 1, 10), drawn.normal(0, 1, 10)
    found = sign_flip(first, second)
    assert found.exact
    assert found.p == pytest.approx(scipy_p(first, second))


def test_large_samples_agree_with_scipy() -> None:
    """Sampled p-values are scipy's within the noise of sampling."""
    drawn = np.random.default_rng(7)
    first, second = drawn.normal(0.2, 1, 100), drawn.normal(0, 1, 100)
    found = sign_flip(first, second, resamples=40_000)
    assert not found.exact
    assert found.p == pytest.approx(scipy_p(first, second, 40_000), abs=0.01)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=300))
def test_right_and_wrong_give_mcnemar(pairs: list[tuple[bool, bool]]) -> None:
    """On outcomes of 0 and 1 it is McNemar's exact test at any size."""
    first, second = np.array(pairs).T
    found = sign_flip(first, second)
    assert found.exact
    assert found.p == pytest.approx(mcnemar(first, second)[2])


def test_exact_and_sampled_agree_on_shares() -> None:
    """Shares of five samples are counted exactly when few, and sampling gives the same."""
    drawn = np.random.default_rng(8)
    first, second = drawn.binomial(5, 0.6, 40) / 5, drawn.binomial(5, 0.45, 40) / 5
    exact = sign_flip(first, second)
    noisy = sign_flip(first + 1e-7 * drawn.random(40), second, resamples=50_000)
    assert exact.exact
    assert not noisy.exact
    assert exact.p == pytest.approx(noisy.p, abs=0.006)


def test_size_is_nominal() -> None:
    """Agents that are alike differ at 5 % in at most about 5 of 100 of 1,500 draws, sampled p-values included."""
    drawn = np.random.default_rng(9)
    found = [sign_flip(*drawn.normal(size=(2, 30)), resamples=199, seed=i).p <= 0.05 for i in range(1500)]
    assert 0.035 <= np.mean(found) <= 0.065


def test_clusters_are_flipped_together() -> None:
    """Ten copies of each item in rows give the p-value of the items alone."""
    drawn = np.random.default_rng(10)
    first, second = drawn.normal(0.5, 1, 12), drawn.normal(0, 1, 12)
    rows = np.repeat(first, 10), np.repeat(second, 10)
    together = sign_flip(*rows, clusters=np.repeat(np.arange(12), 10))
    assert together.p == pytest.approx(sign_flip(first, second).p)
    assert sign_flip(*rows).p < together.p


def test_extremes() -> None:
    """Equal agents have p 1; a sampled p-value is never 0; swapped agents have the same p."""
    assert sign_flip([1, 0, 1], [1, 0, 1]).p == 1.0
    drawn = np.random.default_rng(11)
    values = 1 + drawn.random(200)
    assert sign_flip(values, np.zeros(200), resamples=99).p == 0.01
    assert sign_flip(values[:9], values[9:18]).p == sign_flip(values[9:18], values[:9]).p
    with pytest.raises(ValueError, match="not paired"):
        sign_flip([1], [1, 0])
