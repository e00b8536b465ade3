"""The one-factor and the full Gaussian copula: against quadrature and simulation, and on planted correlations."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, optimize, special, stats

from motet.measure.arrays import Bools, Floats
from motet.measure.copula import full_copula, nearest_correlation, single_factor, underpricing
from motet.measure.normal import bivariate

WRONG = hnp.arrays(float, st.integers(1, 12), elements=st.floats(0.02, 0.98))


def simulated(n: int, thresholds: Floats, rho: float, seed: int) -> Bools:
    """Right or wrong of agents whose abilities have one common factor."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(n, 1)), rng.normal(size=(n, len(thresholds)))
    return math.sqrt(rho) * common + math.sqrt(1 - rho) * own > thresholds


@settings(max_examples=40)
@given(WRONG, st.floats(0.01, 0.9999))
def test_one_factor_is_the_integral(wrong: Floats, rho: float) -> None:
    """It agrees with adaptive quadrature of the same integral by scipy, also where the integrand is a step."""
    thresholds = stats.norm.ppf(wrong)

    def integrand(z: float) -> float:
        return float(stats.norm.pdf(z) * special.ndtr((thresholds - math.sqrt(rho) * z) / math.sqrt(1 - rho)).prod())

    ends = np.unique(np.clip([-9, *(thresholds / math.sqrt(rho)), 9], -9, 9))
    expected = sum(
        integrate.quad(integrand, *ends[k : k + 2], epsabs=1e-11, limit=200)[0] for k in range(len(ends) - 1)
    )
    assert single_factor(wrong, rho) == pytest.approx(expected, abs=1e-3 if rho > 0.9996 else 1e-8)


@pytest.mark.parametrize("rho", [0.05, 0.3, 0.6])
def test_one_factor_agrees_with_gauss_hermite(rho: float) -> None:
    """For moderate correlations scipy's Gauss-Hermite nodes give the same, for 30 agents."""
    wrong = np.linspace(0.1, 0.8, 30)
    nodes, weights = special.roots_hermitenorm(100)
    inner = special.ndtr((stats.norm.ppf(wrong)[:, None] - math.sqrt(rho) * nodes) / math.sqrt(1 - rho))
    expected = float(inner.prod(axis=0) @ weights / math.sqrt(2 * math.pi))
    assert single_factor(wrong, rho) == pytest.approx(expected, abs=1e-9)


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0, 1))
def test_two_agents_are_the_bivariate_normal(first: float, second: float, rho: float) -> None:
    """For a pair it is Φ₂ of the two thresholds."""
    h, k = stats.norm.ppf([first, second])
    assert single_factor([first, second], rho) == pytest.approx(
        float(bivariate(h, k, rho)), abs=1e-3 if rho > 0.999 else 1e-7
    )


@given(WRONG, st.floats(0, 0.99))
def test_one_factor_lies_between_independence_and_copies(wrong: Floats, rho: float) -> None:
    """It rises with ρ from the product of the shares to the least one, and agents that never or always fail fit in."""
    value = single_factor(wrong, rho)
    assert wrong.prod() - 1e-9 <= value <= wrong.min() + 1e-9
    assert value <= single_factor(wrong, min(1.0, rho + 0.01)) + 1e-9
    assert single_factor(wrong[::-1], rho) == pytest.approx(value)
    assert single_factor([*wrong, 1.0], rho) == pytest.approx(value)
    assert single_factor([*wrong, 0.0], rho) == 0
    assert single_factor(wrong, -0.1) == pytest.approx(wrong.prod())


def test_a_planted_correlation_is_recovered_and_priced_right() -> None:
    """Data of the one-factor model give back its ρ, and beta as predicted: the ratio is 1 within its interval."""
    thresholds = np.linspace(-0.6, 0.9, 8)
    found = underpricing(simulated(20_000, thresholds, 0.5, 1), resamples=60)
    assert found.rho == pytest.approx(0.5, abs=0.02)
    assert found.predicted == pytest.approx(single_factor(stats.norm.cdf(thresholds), 0.5), rel=0.05)
    assert found.ratio == found.observed / found.predicted
    assert found.ratio_interval.low < 1 < found.ratio_interval.high
    assert found.ratio_interval.high - found.ratio_interval.low < 0.2


def test_the_ratios_interval_covers() -> None:
    """Over 150 tables of the one-factor model the 90 % interval of the ratio holds 1 about 90 times in 100."""
    held = 0
    for seed in range(150):
        table = simulated(400, np.array([-0.3, 0.0, 0.4]), 0.4, seed)
        low, high = underpricing(table, level=0.9, resamples=100, seed=seed).ratio_interval
        held += low <= 1 <= high
    assert 0.83 <= held / 150 <= 0.96


def test_a_common_shock_is_underpriced() -> None:
    """Items that nobody can get right, among others on which the agents are independent, give a ratio far above 1."""
    rng = np.random.default_rng(3)
    table = (rng.random((4000, 12)) < 0.7) & (rng.random((4000, 1)) >= 0.04)
    found = underpricing(table, resamples=60)
    assert found.observed == pytest.approx(0.04, abs=0.01)
    assert found.ratio_interval.low > 2


def test_a_choice_of_pairs_stands_for_all() -> None:
    """With few of the pairs in the resamples, prediction and ratio stay and the interval hardly moves."""
    table = simulated(3000, np.linspace(-0.5, 0.5, 24), 0.3, 4)
    every, some = underpricing(table, resamples=100, pairs=1000), underpricing(table, resamples=100, pairs=60)
    assert (some.rho, some.predicted, some.ratio) == (every.rho, every.predicted, every.ratio)
    width = every.ratio_interval.high - every.ratio_interval.low
    assert some.ratio_interval == pytest.approx(every.ratio_interval, abs=0.25 * width)


def test_the_default_is_fast_enough() -> None:
    """28 agents on 6,000 items take at most ten seconds with the default number of resamples."""
    table = simulated(6000, np.linspace(-0.5, 0.5, 28), 0.5, 5)
    start = time.perf_counter()
    underpricing(table)
    assert time.perf_counter() - start < 10


def test_the_full_copula_is_the_multivariate_normal() -> None:
    """On data of unequal correlations it gives scipy's multivariate normal probability, within Monte Carlo error."""
    truth = np.array([[1, 0.8, 0.2, 0], [0.8, 1, 0.2, 0], [0.2, 0.2, 1, 0.5], [0, 0, 0.5, 1]])
    thresholds = np.array([0.3, -0.2, 0.4, 0.1])
    table = np.random.default_rng(6).multivariate_normal(np.zeros(4), truth, size=60_000) > thresholds
    found = full_copula(table)
    assert found.repair == 0
    assert found.beta == pytest.approx(stats.multivariate_normal.cdf(thresholds, cov=truth), abs=0.006)
    assert found.standard_error == pytest.approx(math.sqrt(found.beta * (1 - found.beta) / 200_000))
    assert found == full_copula(table)
    again = [full_copula(table, draws=4000, seed=seed).beta for seed in range(40)]
    assert np.std(again) == pytest.approx(full_copula(table, draws=4000).standard_error, rel=0.4)


def test_the_full_copula_keeps_what_the_mean_loses() -> None:
    """Two families of near copies: the full copula prices beta about right where the common correlation does not."""
    rng = np.random.default_rng(7)
    family = np.repeat(rng.normal(size=(20_000, 2)), 5, axis=1)
    table = 0.95 * family + math.sqrt(1 - 0.95**2) * rng.normal(size=(20_000, 10)) > 0
    found = underpricing(table, resamples=20)
    assert full_copula(table).beta == pytest.approx(found.observed, rel=0.1)
    assert abs(found.ratio - 1) > 0.15


def test_constant_agents_and_missing_cells() -> None:
    """An agent that is never right changes nothing, one that always is makes beta 0; missing cells are left out."""
    table = simulated(3000, np.array([0.1, 0.3, 0.0]), 0.4, 8).astype(float)
    found = underpricing(table, resamples=20)
    hopeless = underpricing(np.column_stack([table, np.zeros(3000)]), resamples=20)
    assert (hopeless.rho, hopeless.predicted) == pytest.approx((found.rho, found.predicted))
    perfect = underpricing(np.column_stack([table, np.ones(3000)]), resamples=5)
    assert (perfect.observed, perfect.predicted) == (0, 0)
    assert math.isnan(perfect.ratio)
    assert full_copula(np.column_stack([table, np.ones(3000)]), draws=1000).beta == 0
    assert full_copula(np.column_stack([table, np.zeros(3000)])).beta == pytest.approx(
        full_copula(table).beta, abs=0.004
    )
    table[::9, 1] = math.nan
    assert full_copula(table).beta == pytest.approx(found.predicted, abs=0.03)
    assert math.isnan(underpricing([[1, 0]], resamples=5).rho)
    assert underpricing([[0, 0], [0, 0]], resamples=5).ratio == 1


@settings(max_examples=40)
@given(hnp.arrays(float, (5, 5), elements=st.floats(-1, 1)))
def test_the_nearest_correlation_matrix_is_one(raw: Floats) -> None:
    """It is positive semi-definite with a unit diagonal, and a matrix that is one already stays as it is."""
    matrix = (raw + raw.T) / 2
    np.fill_diagonal(matrix, 1)
    found = nearest_correlation(matrix)
    assert np.linalg.eigvalsh(found)[0] >= -1e-7
    assert np.diagonal(found) == pytest.approx(np.ones(5))
    assert nearest_correlation(found) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_the_nearest_correlation_matrix_is_the_nearest(seed: int) -> None:
    """Searching over all such matrices, as products of unit vectors, scipy finds no nearer one, and the same one."""
    rng = np.random.default_rng(seed)
    matrix = np.triu(rng.uniform(-1, 1, size=(4, 4)), 1)
    matrix = matrix + matrix.T + np.eye(4)
    assert np.linalg.eigvalsh(matrix)[0] < -0.01

    def product(parameters: Floats) -> Floats:
        rows = parameters.reshape(4, 4)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows @ rows.T)

    def distance(parameters: Floats) -> float:
        return float(((product(parameters) - matrix) ** 2).sum())

    searched = min((optimize.minimize(distance, rng.normal(size=16)) for _ in range(4)), key=lambda result: result.fun)
    assert nearest_correlation(matrix) == pytest.approx(product(searched.x), abs=1e-3)


def test_bad_input_is_refused() -> None:
    """No agent, one agent, shares, missing cells, an agent without items, impossible correlations."""
    with pytest.raises(ValueError, match="at least one; these have the shape"):
        single_factor([], 0.5)
    for rho in (1.1, math.nan):
        with pytest.raises(ValueError, match="a correlation is at most 1"):
            single_factor([0.5], rho)
    with pytest.raises(ValueError, match="at least two agents"):
        underpricing([[1], [0]])
    with pytest.raises(ValueError, match="take one sample of each cell"):
        underpricing([[0.5, 1]])
    with pytest.raises(ValueError, match="cells are missing"):
        underpricing([[math.nan, 1]])
    with pytest.raises(ValueError, match="agent 0 has no item at all"):
        full_copula([[math.nan, 1]])
