"""Kappa against scikit-learn and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from motet.measure.kappa import cohen, fleiss

CODINGS = st.tuples(st.integers(2, 30), st.integers(2, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 3))
)


@settings(max_examples=80)
@given(CODINGS)
def test_agree_with_the_libraries(codings: np.ndarray) -> None:
    """Cohen's is scikit-learn's, Fleiss' statsmodels'; one label only has none; names do not matter."""
    one, two = codings[:, 0], codings[:, 1]
    if len(set(one) | set(two)) > 1:
        assert cohen(one, two) == pytest.approx(cohen_kappa_score(one, two))
        assert cohen(two, one) == pytest.approx(cohen(one, two))
    else:
        assert math.isnan(cohen(one, two))
    if len(np.unique(codings)) > 1:
        assert fleiss(codings) == pytest.approx(fleiss_kappa(aggregate_raters(codings)[0]))
        assert fleiss(np.array(list("wxyz"))[codings]) == pytest.approx(fleiss(codings))
    else:
        assert math.isnan(fleiss(codings))


def test_published_example() -> None:
    """The widely printed table of 10 items by 14 coders has 0.210."""
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    assert fleiss([np.repeat(np.arange(5), row) for row in counts]) == pytest.approx(0.210, abs=5e-4)


def test_extremes() -> None:
    """Full agreement is 1, none at all is -1, independent coders are near 0."""
    drawn = np.random.default_rng(0)
    one, two = drawn.integers(0, 3, (2, 20_000))
    assert cohen(one, one) == fleiss(np.column_stack([one, one])) == 1
    assert cohen([0, 1], [1, 0]) == -1
    assert cohen(one, two) == pytest.approx(0, abs=0.02)


def test_bad_input_is_refused() -> None:
    """Different items, no items, one coder."""
    with pytest.raises(ValueError, match="the same items"):
        cohen([1, 2], [1])
    with pytest.raises(ValueError, match="the same items"):
        cohen([], [])
    with pytest.raises(ValueError, match="two or more codings"):
        fleiss([[1], [2]])
