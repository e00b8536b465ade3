"""Adjusted p-values against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from motet.measure.multiplicity import benjamini_hochberg, holm

P = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), min_size=1, max_size=40)


@settings(max_examples=40)
@given(P)
def test_agree_with_statsmodels(p: list[float]) -> None:
    """Both adjustments are those of statsmodels, ties included."""
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])


@given(P)
def test_properties(p: list[float]) -> None:
    """No adjusted value is below its p-value, Holm's is never the smaller, and the order is kept."""
    strict, lenient = holm(p), benjamini_hochberg(p)
    assert (strict >= lenient - 1e-12).all()
    assert (lenient >= np.array(p) - 1e-12).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(strict[order]) >= 0).all()
    assert (np.diff(lenient[order]) >= 0).all()


def test_holm_keeps_its_promise() -> None:
    """With ten true nulls, any false finding at 5 % comes in at most about 5 of 100 of 2,000 draws."""
    drawn = np.random.default_rng(0)
    assert np.mean([(holm(drawn.random(10)) <= 0.05).any() for _ in range(2000)]) <= 0.06


def test_bad_input_is_refused() -> None:
    """Numbers outside 0 to 1, NaN and tables are no list of p-values; an empty list stays empty."""
    for p in ([1.2], [float("nan")], [[0.1]]):
        with pytest.raises(ValueError, match="from 0 to 1"):
            holm(p)
    assert benjamini_hochberg([]).tolist() == []
