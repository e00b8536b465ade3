"""Perfect routers and cascades against loops, and as bounds on all others."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from motet.measure.perfect import perfect_cascade, perfect_router

OUTCOMES = st.integers(0, 2**32 - 1).map(
    lambda seed: (
        np.random.default_rng(seed).integers(0, 2, (9, 3)).astype(float),
        np.random.default_rng(seed + 1).uniform(0, 2, (9, 3)),
    )
)


@settings(max_examples=60)
@given(OUTCOMES)
def test_router_is_a_loop(table: tuple[np.ndarray, np.ndarray]) -> None:
    """Item by item: the cheapest that is right, and if none is, the agent that is cheapest on average."""
    correct, cost = table
    cheapest = min(range(3), key=lambda j: cost[:, j].mean())
    choice = []
    for i in range(9):
        right = [j for j in range(3) if correct[i, j]]
        choice.append(min(right, key=lambda j: cost[i, j]) if right else cheapest)
    found = perfect_router(correct, cost)
    assert found.choice.tolist() == choice
    assert found.quality == correct.any(axis=1).mean()
    assert found.cost == pytest.approx(np.mean([cost[i, j] for i, j in enumerate(choice)]))


@settings(max_examples=60)
@given(OUTCOMES)
def test_cascade_is_a_loop(table: tuple[np.ndarray, np.ndarray]) -> None:
    """Item by item: pay each in order until one is right. No order beats the perfect router's quality."""
    correct, cost = table
    for order in itertools.permutations(range(3), 2):
        paid = right = 0.0
        for i in range(9):
            for j in order:
                paid += cost[i, j]
                if correct[i, j]:
                    right += 1
                    break
        found = perfect_cascade(correct, cost, order)
        assert (found.quality, found.cost) == pytest.approx((right / 9, paid / 9))
        assert found.calls[0] == 1
        assert found.quality <= perfect_router(correct, cost).quality


def test_shares_are_fresh_draws() -> None:
    """With shares of samples, quality and cost are those of simulated draws, also of one agent asked again."""
    drawn = np.random.default_rng(0)
    share, cost = np.array([[0.3, 0.6]]), np.array([[1.0, 4.0]])
    found = perfect_cascade(share, cost, [0, 0, 1])
    draws = drawn.random((200_000, 3)) < [0.3, 0.3, 0.6]
    asked = np.cumsum(np.cumsum(draws, axis=1) - draws, axis=1) == 0
    assert found.quality == pytest.approx(draws.any(axis=1).mean(), abs=0.005)
    assert found.cost == pytest.approx((asked * [1, 1, 4]).sum(axis=1).mean(), abs=0.02)


@settings(max_examples=30)
@given(arrays(float, (6, 4), elements=st.sampled_from([0.0, 1.0])))
def test_extremes(correct: np.ndarray) -> None:
    """A free perfect agent makes everything free; one agent alone leaves no choice; order is bounded."""
    cost = np.ones((6, 5))
    cost[:, 4] = 0
    table = np.column_stack([correct, np.ones(6)])
    found = perfect_router(table, cost)
    assert (found.quality, found.cost) == (1, 0)
    alone = perfect_router(correct[:, :1], cost[:, :1])
    assert (alone.quality, alone.cost) == (correct[:, 0].mean(), 1)


def test_bad_input_is_refused() -> None:
    """Missing cells, other shapes, an order of nobody or of somebody unknown."""
    with pytest.raises(ValueError, match="negative or missing"):
        perfect_router([[1]], [[math.nan]])
    with pytest.raises(ValueError, match="the shape"):
        perfect_router([[1, 0]], [[1]])
    for order in ([], [2], [-1]):
        with pytest.raises(ValueError, match="names columns"):
            perfect_cascade([[1, 0]], [[1, 1]], order)
