"""The regression against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from motet.measure.regression import mixture_regression


def test_it_is_ordinary_least_squares() -> None:
    """Coefficients, standard errors and R² are those of statsmodels, also where diversity has another unit."""
    rng = np.random.default_rng(0)
    quality, diversity = rng.uniform(0.4, 0.8, 60), rng.uniform(0, 900, 60)
    mixture = 0.1 + 0.9 * quality + 0.0002 * diversity + rng.normal(0, 0.02, 60)
    fit = mixture_regression(mixture, quality, diversity)
    told = sm.OLS(mixture, sm.add_constant(np.column_stack([quality, diversity]))).fit()
    assert (fit.intercept, fit.quality, fit.diversity) == pytest.approx(tuple(told.params))
    assert (fit.intercept_error, fit.quality_error, fit.diversity_error) == pytest.approx(tuple(told.bse))
    assert fit.r2 == pytest.approx(told.rsquared)
    scaled = np.column_stack([each / each.std() for each in (quality, diversity)])
    standard = sm.OLS(mixture / mixture.std(), sm.add_constant(scaled)).fit()
    assert (fit.quality_standard, fit.diversity_standard) == pytest.approx(tuple(standard.params[1:]))


def test_intervals_cover() -> None:
    """In 2,000 draws, two standard errors either way hold the planted slope about 95 times in 100."""
    rng = np.random.default_rng(1)
    quality, diversity = rng.random(40), rng.random(40)
    held = 0
    for _ in range(2000):
        fit = mixture_regression(0.7 * quality + rng.normal(0, 0.1, 40), quality, diversity)
        held += abs(fit.quality - 0.7) < 2.026 * fit.quality_error
    assert 0.935 <= held / 2000 <= 0.965


def test_what_cannot_be_told_is_refused() -> None:
    """Too few committees, no variation, and two causes that always go together; a constant result has no R²."""
    with pytest.raises(ValueError, match="at least four"):
        mixture_regression([1, 2, 3], [1, 2, 3], [1, 2, 4])
    with pytest.raises(ValueError, match="the same in all"):
        mixture_regression([1, 2, 3, 4], [1, 1, 1, 1], [1, 2, 4, 3])
    with pytest.raises(ValueError, match="rise and fall together"):
        mixture_regression([1, 2, 3, 4], [1, 2, 3, 5], [2, 4, 6, 10])
    with pytest.raises(ValueError, match="not finite"):
        mixture_regression([1, 2, 3, float("nan")], [1, 2, 3, 5], [1, 3, 2, 2])
    assert np.isnan(mixture_regression([1, 1, 1, 1], [1, 2, 3, 5], [1, 3, 2, 2]).r2)
