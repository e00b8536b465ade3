"""The normal distribution against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from motet.measure.normal import arc_density, bivariate, cdf, pdf, quantile

BOUNDS = st.floats(-6, 6)


def conditional(h: float, k: float, rho: float) -> float:
    """Φ₂ by another route: the mean over X ≤ h of the conditional probability that Y ≤ k."""

    def integrand(x: float) -> float:
        return float(stats.norm.pdf(x) * stats.norm.cdf((k - rho * x) / math.sqrt(1 - rho * rho)))

    turn = [k / rho] if rho and -9 < k / rho < h else None
    return float(integrate.quad(integrand, -9, h, points=turn, epsabs=1e-12, limit=400)[0])


def test_the_univariate_functions_are_scipys() -> None:
    """Density, distribution function and quantile agree to 1e-14, also far out in the tails."""
    x = np.linspace(-12, 12, 2001).reshape(3, 667)
    assert pdf(x) == pytest.approx(stats.norm.pdf(x), rel=1e-13)
    assert cdf(x) == pytest.approx(stats.norm.cdf(x), rel=1e-12)
    p = np.concatenate([[0, 1], np.logspace(-300, -1, 50), np.linspace(0.01, 0.99, 99)])
    assert quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-12, abs=1e-12)
    assert np.isnan(quantile([np.nan])).all()
    assert cdf([-np.inf, np.inf]).tolist() == [0, 1]


@pytest.mark.parametrize("rho", [-0.999, -0.9, -0.5, 0.0, 0.3, 0.7, 0.93, 0.99, 0.999])
def test_bivariate_is_the_integral_of_the_conditional(rho: float) -> None:
    """It agrees to 1e-7 with adaptive quadrature of another formula, near the diagonal too, up to |ρ| = 0.999."""
    rng = np.random.default_rng(7)
    h = rng.uniform(-3.5, 3.5, 24)
    k = np.where(np.arange(24) % 2, rng.uniform(-3.5, 3.5, 24), math.copysign(1, rho) * h + rng.normal(0, 0.05, 24))
    expected = [conditional(*pair, rho) for pair in zip(h.tolist(), k.tolist(), strict=True)]
    assert bivariate(h, k, rho) == pytest.approx(expected, abs=1e-7)


def test_bivariate_at_the_origin_is_known() -> None:
    """At (0, 0) it is 1/4 + arcsin(ρ)/2π for every ρ, ±1 included."""
    rho = np.linspace(-1, 1, 201)
    assert bivariate(0, 0, rho) == pytest.approx(0.25 + np.arcsin(rho) / (2 * np.pi), abs=1e-12)


@given(BOUNDS, BOUNDS, st.floats(-0.999, 0.999))
def test_bivariate_obeys_its_identities(h: float, k: float, rho: float) -> None:
    """It is symmetric, lies within the Fréchet bounds, and with -k and -ρ adds up to the margin."""
    value = float(bivariate(h, k, rho))
    low, high = float(cdf(h)), float(cdf(k))
    assert value == pytest.approx(float(bivariate(k, h, rho)), abs=1e-9)
    assert max(0.0, low + high - 1) - 1e-9 <= value <= min(low, high) + 1e-9
    assert value + float(bivariate(h, -k, -rho)) == pytest.approx(low, abs=1e-9)


def test_bivariate_takes_limits() -> None:
    """Infinite bounds give the margins, ρ = ±1 the Fréchet bounds, and shapes are broadcast."""
    assert bivariate([np.inf, -np.inf], 0.3, 0.6) == pytest.approx([float(cdf(0.3)), 0], abs=1e-12)
    assert bivariate(0.2, [[0.1], [0.5]], [1, -1]) == pytest.approx(
        np.array([[cdf(0.1), cdf(0.2) + cdf(0.1) - 1], [cdf(0.2), cdf(0.2) + cdf(0.5) - 1]])
    )


def test_the_density_is_the_derivative() -> None:
    """The slope of Φ₂ in arcsin(ρ) is what the density says, which Newton's method relies on."""
    for angle in (-1.2, -0.4, 0.0, 0.9, 1.3):
        rise = (bivariate(0.4, -0.3, math.sin(angle + 1e-5)) - bivariate(0.4, -0.3, math.sin(angle - 1e-5))) / 2e-5
        density = arc_density(np.array([0.4]), np.array([-0.3]), np.array([angle]))
        assert density[0] == pytest.approx(float(rise), rel=1e-6)


def test_it_refuses_what_has_no_value() -> None:
    """A probability or a correlation out of range."""
    with pytest.raises(ValueError, match=r"probability lies between 0 and 1; this is 1\.5"):
        quantile([0.5, 1.5])
    with pytest.raises(ValueError, match=r"correlation lies between -1 and 1; this is -2"):
        bivariate(0, 0, -2)
