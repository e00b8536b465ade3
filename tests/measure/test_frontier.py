"""The frontier against a linear programme, brute force and RouterBench's own numbers; intervals by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from motet.measure.arrays import as_cost
from motet.measure.frontier import _hull_cost, _hull_quality, aiq, equal_cost, equal_quality, hull, pareto

POINTS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=12)


def best_mix(cost: np.ndarray, quality: np.ndarray, budget: float) -> float:
    """The best mix's quality by linear programming; NaN where no mix is so cheap."""
    found = linprog(-quality, A_ub=[cost], b_ub=[budget], A_eq=[np.ones(len(cost))], b_eq=[1], bounds=(0, 1))
    return -float(found.fun) if found.success else math.nan


@settings(max_examples=100)
@given(POINTS)
def test_pareto_is_brute_force(points: list[tuple[int, int]]) -> None:
    """An agent is on the frontier exactly if no other dominates it, of equal points the first."""
    c, q = np.array(points, dtype=float).T
    expected = [
        j
        for j in range(len(c))
        if not any(
            c[k] <= c[j] and q[k] >= q[j] and (c[k] < c[j] or q[k] > q[j] or k < j) for k in range(len(c)) if k != j
        )
    ]
    found = pareto(q, c).tolist()
    assert sorted(found) == expected
    assert (np.diff(c[found]) > 0).all()


@settings(max_examples=60)
@given(POINTS, st.floats(0, 14))
def test_hull_is_the_best_mix(points: list[tuple[int, int]], budget: float) -> None:
    """The hull's height at any budget is the optimum of the linear programme, and its cost the inverse."""
    c, q = np.array(points, dtype=float).T
    height, expected = _hull_quality(q, c, budget), best_mix(c, q, budget)
    assert height == pytest.approx(expected, abs=1e-6, nan_ok=True)
    if not math.isnan(height):
        assert _hull_cost(q, c, height) <= budget + 1e-9
    assert math.isnan(_hull_cost(q, c, float(q.max()) + 0.1))
    assert set(hull(q, c)) <= set(pareto(q, c))


def test_aiq_is_the_mean_of_the_programme() -> None:
    """AIQ is the mean of the programme's optimum over the range, below the cheapest agent nothing."""
    drawn = np.random.default_rng(0)
    c, q = drawn.uniform(1, 9, 8), drawn.random(8)
    for low, high in ((float(c.min()), float(c.max())), (0.0, 12.0), (0.0, 0.5), (2.0, 6.0)):
        grid = np.linspace(low, high, 4001)
        assert aiq(q, c, within=(low, high)) == pytest.approx(
            np.mean([0 if math.isnan(h := _hull_quality(q, c, at)) else h for at in grid]), abs=2e-3
        )
    assert aiq(q, c) == aiq(q, c, within=(float(c.min()), float(c.max())))


def test_aiq_as_routerbench_computes_it() -> None:
    """Its code's figure, area from the cheapest point divided by the dearest cost, is the range from 0 here."""
    c, q = [1.0, 2.0, 4.0], [0.2, 0.6, 0.7]
    area = (0.2 + 0.6) / 2 * 1 + (0.6 + 0.7) / 2 * 2 + 0.7 * 1
    assert aiq(q, c, within=(0, 5)) == pytest.approx(area / 5)
    assert aiq([0.4], [3.0]) == 0.4


def test_intervals_cover() -> None:
    """With known rates and costs, the 95 % interval of the mix's cost holds the true one in about 95 of 100 of 300."""
    drawn = np.random.default_rng(1)
    rates, prices = np.array([0.3, 0.8, 0.6]), np.array([1.0, 3.0, 4.0])
    truth = _hull_cost(rates[:2], prices[:2], 0.6)
    held = 0
    for seed in range(300):
        correct = drawn.random((300, 3)) < rates
        cost = prices * drawn.uniform(0.5, 1.5, (300, 3))
        found = equal_quality(correct, cost, 2, resamples=200, seed=seed)
        held += found.interval.low <= truth <= found.interval.high
    assert 0.91 <= held / 300 <= 0.98


def test_equal_quality_and_cost() -> None:
    """Both are the hull of the others at the agent's own mean; unreachable ones are NaN and counted."""
    drawn = np.random.default_rng(2)
    correct, cost = drawn.random((100, 4)) < [0.2, 0.5, 0.7, 0.6], drawn.uniform(1, 2, (100, 4)) * [1, 2, 8, 5]
    q, c = correct.mean(axis=0), cost.mean(axis=0)
    found = equal_quality(correct, cost, 3, resamples=100)
    assert (found.own, found.mixed) == (c[3], _hull_cost(q[:3], c[:3], q[3]))
    assert found.ratio.low <= found.mixed / found.own <= found.ratio.high
    assert equal_cost(correct, cost, 3, resamples=100).mixed == _hull_quality(q[:3], c[:3], c[3])
    best = equal_quality(np.eye(2)[[1, 1, 1]], np.ones((3, 2)), 1, resamples=20)
    assert math.isnan(best.mixed)
    assert best.reached == 0
    assert math.isnan(best.interval.low)


def test_bad_input_is_refused() -> None:
    """Missing or negative costs, other shapes, a lone agent, a range the wrong way round."""
    with pytest.raises(ValueError, match="1 costs are negative or missing, the first at \\(1,\\)"):
        as_cost([1, math.nan], (2,))
    with pytest.raises(ValueError, match="shape"):
        pareto([0.5], [1, 2])
    with pytest.raises(ValueError, match="cannot be set against others"):
        equal_quality([[1]], [[1]], 0)
    with pytest.raises(ValueError, match="from low to high"):
        aiq([1], [1], within=(2, 1))
