"""Shapley values against the average over all orders."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from motet.measure.arrays import Floats
from motet.measure.plurality import plurality_right
from motet.measure.shapley import shapley_any_right, shapley_plurality

SHARES = hnp.arrays(
    float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=4), elements=st.sampled_from([0.0, 0.2, 0.5, 1.0])
)


def over_all_orders(m: int, value: Callable[[list[int]], float]) -> Floats:
    """The definition."""
    total = np.zeros(m)
    orders = list(permutations(range(m)))
    for order in orders:
        for place, agent in enumerate(order):
            before = value(sorted(order[:place])) if place else 0.0
            total[agent] += value(sorted(order[: place + 1])) - before
    return total / len(orders)


@given(hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.sampled_from([0.0, 1.0])))
@settings(max_examples=40)
def test_any_right_is_the_average_over_orders(correct: Floats) -> None:
    """The closed form equals the definition, and the values add up to what all reach together."""
    shares = shapley_any_right(correct)
    value = over_all_orders(correct.shape[1], lambda members: float(correct[:, members].max(axis=1).mean()))
    assert shares == pytest.approx(value)
    assert shares.sum() == pytest.approx(correct.max(axis=1).mean())


@given(SHARES)
@settings(max_examples=40)
def test_fractional_cells_are_expected_values(correct: Floats) -> None:
    """The quadrature is exact: it equals the sum over all outcomes of the cells."""
    expected = np.zeros(correct.shape[1])
    for row in correct:
        for outcome in product((0, 1), repeat=len(row)):
            chance = np.prod(np.where(outcome, row, 1 - row))
            expected += chance * np.array(outcome) / max(sum(outcome), 1) / len(correct)
    shares = shapley_any_right(correct)
    assert shares == pytest.approx(expected, abs=1e-12)
    assert shares.sum() == pytest.approx((1 - (1 - correct).prod(axis=1)).mean())


def test_fractional_values_hold_for_many_agents() -> None:
    """With 200 agents of equal cells each gets an equal part; a wrong product would under- or overflow."""
    shares = shapley_any_right(np.full((3, 200), 0.4))
    assert shares == pytest.approx(np.full(200, (1 - 0.6**200) / 200))


def test_plurality_is_the_average_over_orders() -> None:
    """Sampled values are within four standard errors of the definition and add up exactly."""
    rng = np.random.default_rng(0)
    answers = np.where(rng.random((30, 5)) < [0.8, 0.6, 0.5, 0.4, 0.3], 0, rng.integers(-1, 3, size=(30, 5)))
    gold = np.zeros(30, dtype=int)
    for ties in ("best", "expected"):
        value = over_all_orders(
            5, lambda members, t=ties: float(plurality_right(answers[:, members], gold, ties=t).mean())
        )
        found = shapley_plurality(answers, gold, ties=ties, orders=400)
        assert (abs(found.value - value) < 4 * found.error + 1e-9).all()
        assert found.value.sum() == pytest.approx(plurality_right(answers, gold, ties=ties).mean())


def test_the_standard_error_is_the_spread_of_repeats() -> None:
    """Over 200 seeds the values scatter as their stated errors say."""
    answers = np.random.default_rng(1).integers(0, 3, size=(20, 6))
    gold = np.zeros(20, dtype=int)
    runs = [shapley_plurality(answers, gold, orders=10, seed=seed) for seed in range(200)]
    scatter = np.std([run.value for run in runs], axis=0)
    stated = np.sqrt(np.mean([run.error**2 for run in runs], axis=0))
    assert stated == pytest.approx(scatter, rel=0.2)


def test_dummies_and_twins() -> None:
    """An agent that is never right adds nothing to any-right, and twins get the same."""
    correct = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 0]])
    shares = shapley_any_right(correct)
    assert shares[3] == 0
    assert shares[0] == shares[1]
    assert shapley_any_right(np.zeros((2, 3))).tolist() == [0, 0, 0]


def test_bad_input_is_refused() -> None:
    """One order has no sampling error."""
    with pytest.raises(ValueError, match="two orders"):
        shapley_plurality([[0]], [0], orders=1)
