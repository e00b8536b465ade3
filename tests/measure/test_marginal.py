"""What an agent brings that no other one can replace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.measure.ceiling import ceiling
from motet.measure.marginal import marginal


@given(st.integers(1, 30), st.integers(2, 8), st.integers(0, 1000), st.booleans())
def test_is_what_the_oracle_loses(n: int, m: int, seed: int, drawn: bool) -> None:
    """Leaving each agent out by hand lowers the oracle by its value, for whole cells and for shares of samples."""
    rng = np.random.default_rng(seed)
    table = rng.random((n, m)) if drawn else (rng.random((n, m)) < rng.random(m)).astype(float)
    whole = ceiling(table, resamples=10).oracle
    lost = [whole - ceiling(np.delete(table, j, axis=1), resamples=10).oracle for j in range(m)]
    assert marginal(table) == pytest.approx(lost, abs=1e-12)


def test_copies_are_worth_nothing_alone() -> None:
    """Two copies of an agent have no marginal value; alone, an agent has its own quality."""
    table = np.array([[1, 0], [1, 1], [0, 0]])
    assert marginal(table[:, [0, 0, 1]])[:2].tolist() == [0, 0]
    assert marginal(table[:, :1]).tolist() == pytest.approx([2 / 3])


def test_bad_tables_are_refused() -> None:
    """A missing cell and a vector are named."""
    with pytest.raises(ValueError, match="missing"):
        marginal([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="items by agents"):
        marginal([1.0])
