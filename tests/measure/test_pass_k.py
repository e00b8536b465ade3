"""pass@k and pass^k against all choices of samples, the exact binomials, and as unbiased estimates."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from motet.measure.pass_k import pass_at_k, pass_hat_k


@settings(max_examples=60)
@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_all_choices(case: tuple[int, int, int]) -> None:
    """They are the shares of all choices of k samples with any, and with only, right ones."""
    n, c, k = case
    choices = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(np.mean([any(choice) for choice in choices]))
    assert pass_hat_k(n, c, k) == pytest.approx(np.mean([all(choice) for choice in choices]))


def test_thousands_of_samples() -> None:
    """Large counts neither overflow nor lose digits, and arrays are broadcast."""
    c = np.array([0, 3, 500, 997, 1000])
    expected = [1 - comb(1000 - x, 100) / comb(1000, 100) for x in c.tolist()]
    assert pass_at_k(1000, c, 100) == pytest.approx(expected)
    assert pass_hat_k(1000, c, 100) == pytest.approx(stats.hypergeom.pmf(100, 1000, c, 100))
    assert pass_at_k(np.full((2, 3), 4), np.ones((2, 3), dtype=int), 2).shape == (2, 3)


def test_unbiased() -> None:
    """Over 20,000 draws their mean is the true 1 - (1 - p)^k and p^k."""
    c = np.random.default_rng(0).binomial(10, 0.3, 20_000)
    assert pass_at_k(10, c, 4).mean() == pytest.approx(1 - 0.7**4, abs=0.005)
    assert pass_hat_k(10, c, 4).mean() == pytest.approx(0.3**4, abs=0.002)


def test_bad_input_is_refused() -> None:
    """More right than sampled, k beyond n, shares instead of counts."""
    with pytest.raises(ValueError, match="lies outside"):
        pass_at_k(3, 4, 1)
    with pytest.raises(ValueError, match="4 of 3 samples"):
        pass_hat_k([5, 3], [1, 1], 4)
    with pytest.raises(ValueError, match="whole numbers"):
        pass_at_k(3, 0.5, 1)
