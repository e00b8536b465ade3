"""Tetrachoric correlations against maximum likelihood with scipy, and a planted correlation."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize, stats

from motet.measure.arrays import Floats
from motet.measure.normal import bivariate
from motet.measure.tetrachoric import tetrachoric, tetrachoric_counts

TABLES = hnp.arrays(float, st.tuples(st.integers(2, 25), st.integers(2, 4)), elements=st.sampled_from([0.0, 1.0]))
CELLS = st.integers(1, 400)


@settings(max_examples=50)
@given(CELLS, CELLS, CELLS, CELLS)
def test_it_is_the_root_of_its_equation(a: int, b: int, c: int, d: int) -> None:
    """With it and the margins, scipy's bivariate normal gives back the share that both have right."""
    n = a + b + c + d
    rho = float(tetrachoric_counts(a, a + b, a + c, n))
    h, k = stats.norm.ppf((a + b) / n), stats.norm.ppf((a + c) / n)
    assert -1 < rho < 1
    assert stats.multivariate_normal.cdf([h, k], cov=[[1, rho], [rho, 1]]) == pytest.approx(a / n, abs=1e-7)


def test_it_is_the_maximum_of_the_likelihood() -> None:
    """Maximising the likelihood over thresholds and correlation together, by scipy, ends in the same correlation."""
    a, b, c, d = 30, 12, 25, 60
    n = a + b + c + d

    def loss(parameters: Floats) -> float:
        h, k, z = parameters
        both = float(bivariate(h, k, math.tanh(z)))
        first, second = stats.norm.cdf(h), stats.norm.cdf(k)
        shares = np.clip([both, first - both, second - both, 1 - first - second + both], 1e-12, 1)
        return -float(np.array([a, b, c, d]) @ np.log(shares))

    fitted = optimize.minimize(
        loss, [0, 0, 0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    )
    assert float(tetrachoric_counts(a, a + b, a + c, n)) == pytest.approx(math.tanh(fitted.x[2]), abs=1e-6)


@pytest.mark.parametrize("rho", [-0.8, -0.3, 0.0, 0.4, 0.75, 0.95])
def test_a_planted_correlation_is_recovered(rho: float) -> None:
    """From 40,000 simulated items with thresholds of its own for each agent, the true correlation comes out."""
    rng = np.random.default_rng(11)
    abilities = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], size=40_000)
    assert tetrachoric(abilities > [0.8, -0.3])[0, 1] == pytest.approx(rho, abs=0.025)


@settings(max_examples=60)
@given(TABLES, st.integers(0, 99))
def test_its_symmetries(table: Floats, seed: int) -> None:
    """Order of items does not matter, agents permute; swapping right and wrong keeps it, and for one agent negates."""
    found = tetrachoric(table)
    rng = np.random.default_rng(seed)
    order = rng.permutation(table.shape[1])
    assert tetrachoric(rng.permutation(table)[:, order]) == pytest.approx(
        found[np.ix_(order, order)], abs=1e-9, nan_ok=True
    )
    assert tetrachoric(1 - table) == pytest.approx(found, abs=1e-9, nan_ok=True)
    turned = table.copy()
    turned[:, 0] = 1 - turned[:, 0]
    assert tetrachoric(turned)[0, 1:] == pytest.approx(-found[0, 1:], abs=1e-9, nan_ok=True)
    constant = table.mean(axis=0) % 1 == 0
    assert np.isnan(found).tolist() == (constant[:, None] | constant).tolist()
    assert (np.abs(found[~np.isnan(found)]) <= 1).all()


def test_empty_cells() -> None:
    """One empty cell is given half an item with both margins kept; two on a diagonal give ±1; a constant agent NaN."""
    only_first_empty = float(tetrachoric_counts(20, 20, 50, 100))
    assert only_first_empty == pytest.approx(float(tetrachoric_counts(19.5, 20, 50, 100)), abs=1e-12)
    both_empty = float(tetrachoric_counts(0, 20, 30, 100))
    assert both_empty == pytest.approx(float(tetrachoric_counts(0.5, 20, 30, 100)), abs=1e-12)
    assert tetrachoric_counts([40, 0], [40, 40], [40, 60], 100).tolist() == [1, -1]
    assert np.isnan(tetrachoric_counts([0, 30, 0], [0, 100, 0], [30, 30, 0], [100, 100, 0])).all()


def test_extreme_margins_and_near_copies_converge() -> None:
    """One item in a hundred thousand, or copies that differ on a single item, still satisfy the equation."""
    both, first, second = (
        np.array([1, 1, 49_999, 99_997]),
        np.array([2, 50_000, 50_000, 99_998]),
        np.array([2, 2, 50_000, 99_998]),
    )
    rho = tetrachoric_counts(both, first, second, 100_000)
    h, k = stats.norm.ppf(first / 1e5), stats.norm.ppf(second / 1e5)
    assert bivariate(h, k, rho) == pytest.approx(both / 1e5, abs=1e-8)


def test_missing_cells_are_left_out_pair_by_pair() -> None:
    """Each pair's value is that of the table of the items that both have."""
    rng = np.random.default_rng(2)
    table = (rng.normal(size=(300, 1)) + rng.normal(size=(300, 4)) > 0).astype(float)
    table[rng.random(table.shape) < 0.3] = np.nan
    found = tetrachoric(table)
    for i in range(4):
        for j in range(i):
            common = table[~np.isnan(table[:, [i, j]]).any(axis=1)][:, [i, j]]
            assert found[i, j] == pytest.approx(tetrachoric(common)[0, 1], abs=1e-9)


def test_two_hundred_agents_are_fast() -> None:
    """All 19,900 correlations of 200 agents take a few seconds."""
    rng = np.random.default_rng(4)
    table = rng.normal(size=(2000, 1)) + rng.normal(size=(2000, 200)) > rng.normal(size=200)
    start = time.perf_counter()
    found = tetrachoric(table)
    assert time.perf_counter() - start < 5
    assert np.mean(found[np.triu_indices(200, 1)]) == pytest.approx(0.5, abs=0.05)


def test_shares_are_refused() -> None:
    """A share of samples has no such correlation, and the message says what to do."""
    with pytest.raises(ValueError, match=r"item 1, agent 0 has 0\.5: take one sample"):
        tetrachoric([[1, 0], [0.5, 1]])
