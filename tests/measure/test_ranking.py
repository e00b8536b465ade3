"""The ranking of agents by their means."""

from __future__ import annotations

import numpy as np

from motet.measure.ceiling import ceiling
from motet.measure.ranking import by_mean, ranking


def test_means_that_differ_by_rounding_are_equal() -> None:
    """Equal shares, summed in another order, leave agents in the order of the columns; the ceiling names the first."""
    shares = np.random.default_rng(0).random(50)
    correct = np.column_stack([np.roll(shares, step) for step in range(20)])
    assert len(set(correct.mean(axis=0).tolist())) > 1  # in their last digit
    assert ranking(correct).tolist() == list(range(20))
    assert ceiling(correct, resamples=10).best == 0


def test_order() -> None:
    """Best first, ties by column, agents without results last."""
    assert by_mean([0.5, float("nan"), 0.75, 0.5]).tolist() == [2, 0, 3, 1]
