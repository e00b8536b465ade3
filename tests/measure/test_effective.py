"""Effective numbers of agents against their definitions, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.measure.correlation import phi
from motet.measure.effective import design_effect, participation_ratio


@given(st.integers(1, 30), st.floats(0, 1))
def test_equal_correlations(m: int, rho: float) -> None:
    """With one common correlation both are known: m/(1 + (m-1)ρ), and m/(1 + (m-1)ρ²)."""
    matrix = np.full((m, m), rho)
    np.fill_diagonal(matrix, 1)
    assert design_effect(matrix) == pytest.approx(m / (1 + (m - 1) * rho))
    assert participation_ratio(matrix) == pytest.approx(m / (1 + (m - 1) * rho**2))


def test_participation_is_that_of_the_eigenvalues() -> None:
    """On a random correlation matrix it is (Σ λ)² / Σ λ² with numpy's eigenvalues."""
    matrix = np.corrcoef(np.random.default_rng(0).normal(size=(8, 20)))
    values = np.linalg.eigvalsh(matrix)
    assert participation_ratio(matrix) == pytest.approx(values.sum() ** 2 / (values**2).sum())


def test_the_design_effect_is_that_of_an_average() -> None:
    """The average of correlated standardised agents varies as that of so many independent ones."""
    rng = np.random.default_rng(1)
    draws = math.sqrt(0.3) * rng.normal(size=(50_000, 1)) + math.sqrt(0.7) * rng.normal(size=(50_000, 6))
    assert design_effect(np.corrcoef(draws.T)) == pytest.approx(1 / draws.mean(axis=1).var(), rel=0.03)


@given(st.integers(1, 6), st.integers(0, 99))
def test_copies_and_constants(copies: int, seed: int) -> None:
    """Copies of one agent are worth one; agents that are always right are left out; the order does not matter."""
    rng = np.random.default_rng(seed)
    one = (np.arange(20) < rng.integers(1, 20)).astype(float)
    table = np.column_stack([one] * copies + [np.ones(20)])
    matrix = phi(table)
    assert design_effect(matrix) == pytest.approx(1)
    assert participation_ratio(matrix) == pytest.approx(1)
    other = np.column_stack([rng.random((20, 3)) < 0.5, table])
    order = rng.permutation(other.shape[1])
    for measure in (design_effect, participation_ratio):
        assert measure(phi(other)) == pytest.approx(measure(phi(other[:, order])), nan_ok=True)


def test_extremes() -> None:
    """Opposite agents cancel each other; without a defined agent or pair there is no number."""
    assert design_effect([[1, -1], [-1, 1]]) == math.inf
    assert math.isnan(design_effect([[math.nan]]))
    assert math.isnan(participation_ratio([[math.nan]]))
    assert math.isnan(design_effect([[1, math.nan], [math.nan, 1]]))
    with pytest.raises(ValueError, match=r"square matrix, agents by agents; this has the shape \(1, 2\)"):
        design_effect([[1, 0]])
    with pytest.raises(ValueError, match="square"):
        participation_ratio([1, 0])
