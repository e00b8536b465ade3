"""Majority against enumeration and scipy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import binom

from motet.measure.arrays import Floats
from motet.measure.majority import count_right, majority_right, wins
from motet.measure.plurality import plurality_right

SHARES = hnp.arrays(
    float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.sampled_from([0.0, 0.25, 0.7, 1.0])
)


def enumerated(row: list[float]) -> float:
    """Sum over all outcomes of the members."""
    total = 0.0
    for outcome in product((0, 1), repeat=len(row)):
        chance = np.prod([p if x else 1 - p for x, p in zip(outcome, row, strict=True)])
        total += chance * (1.0 if 2 * sum(outcome) > len(row) else 0.5 if 2 * sum(outcome) == len(row) else 0.0)
    return total


@given(SHARES)
def test_fractional_cells_give_the_enumerated_expectation(correct: Floats) -> None:
    """The recursion over members sums the same outcomes as writing them all down."""
    assert majority_right(correct) == pytest.approx([enumerated(row) for row in correct.tolist()])


def test_equal_cells_are_binomial() -> None:
    """Equal probabilities give scipy's binomial, over more rows than one block has."""
    chances = count_right(np.full((600, 40), 0.3))
    assert chances == pytest.approx(np.tile(binom.pmf(np.arange(41), 40, 0.3), (600, 1)))


@given(SHARES)
def test_members_may_be_reordered(correct: Floats) -> None:
    """Nobody is better placed in a majority."""
    assert majority_right(correct[:, ::-1]) == pytest.approx(majority_right(correct))


def test_it_is_the_pessimistic_reading_of_a_vote() -> None:
    """Plurality, with ties drawn evenly, equals it where wrong answers agree and is never below where they differ."""
    rng = np.random.default_rng(0)
    right = rng.random((500, 5)) < 0.5
    gold = np.zeros(500, dtype=int)
    agree, differ = np.where(right, 0, 1), np.where(right, 0, np.arange(1, 6))
    assert plurality_right(agree, gold, ties="expected").tolist() == majority_right(right).tolist()
    assert (plurality_right(differ, gold, ties="expected") >= majority_right(right)).all()
    assert plurality_right(differ, gold, ties="expected").mean() > majority_right(right).mean()


def test_an_even_split_is_half() -> None:
    """Two of four get half, one voter decides alone, and a missing cell is refused."""
    assert wins(2, 4) == 0.5
    assert majority_right([[1], [0]]).tolist() == [1, 0]
    with pytest.raises(ValueError, match="1 cells are missing"):
        majority_right([[1, float("nan")]])
