"""Surprisingly popular: the paper's own example, and a crowd whose majority is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from motet.measure.arrays import NONE
from motet.measure.plurality import plurality
from motet.measure.surprisingly_popular import surprisingly_popular


def test_philadelphia_is_not_the_capital() -> None:
    """Two thirds say yes and expect nearly all to; the third who say no expect most to be wrong: no wins."""
    answers = [[1] * 65 + [0] * 35]
    shares = np.array([[[0.1, 0.9]] * 65 + [[0.25, 0.75]] * 35])
    assert plurality(answers).tolist() == [1]
    assert surprisingly_popular(answers, shares).tolist() == [0]


def test_informed_minority_wins_over_many_items() -> None:
    """Whoever knows expects the crowd's error, whoever does not expects agreement: right nearly always, both forms."""
    rng = np.random.default_rng(0)
    knows = rng.random((500, 40)) < 0.35
    answers = np.where(knows, 1, 0)
    guesses = np.zeros_like(answers)
    shares = np.where(knows[:, :, None], [0.75, 0.25], [0.9, 0.1])
    assert (plurality(answers) == 0).mean() > 0.9
    assert (surprisingly_popular(answers, guesses) == 1).mean() == 1
    assert (surprisingly_popular(answers, shares) == 1).mean() > 0.99


def test_guesses_are_shares_with_all_weight_on_one_answer() -> None:
    """The two forms agree where each predicts a single answer, with silent agents and predictions left out."""
    rng = np.random.default_rng(1)
    answers, guesses = rng.integers(-1, 4, size=(200, 6)), rng.integers(-1, 5, size=(200, 6))
    shares = np.where(guesses[:, :, None] == NONE, np.nan, (guesses[:, :, None] == np.arange(5)).astype(float))
    assert surprisingly_popular(answers, guesses).tolist() == surprisingly_popular(answers, shares).tolist()


def test_without_predictions_it_is_plurality() -> None:
    """Nothing predicted leaves the shares of votes, ties to the best-placed."""
    answers = np.random.default_rng(2).integers(-1, 3, size=(100, 5))
    assert surprisingly_popular(answers, np.full((100, 5), NONE)).tolist() == plurality(answers).tolist()


def test_order_of_items_does_not_matter() -> None:
    """Permuting items permutes the winners."""
    rng = np.random.default_rng(3)
    answers, guesses = rng.integers(4, size=(50, 5)), rng.integers(4, size=(50, 5))
    order = rng.permutation(50)
    whole, moved = surprisingly_popular(answers, guesses), surprisingly_popular(answers[order], guesses[order])
    assert moved.tolist() == whole[order].tolist()


def test_bad_input_is_refused() -> None:
    """Predictions that fit no cell, too few answers' shares, and shares above 1 are named."""
    with pytest.raises(ValueError, match="one guess a cell"):
        surprisingly_popular([[0, 1]], [[0, 1, 1]])
    with pytest.raises(ValueError, match="do not fit"):
        surprisingly_popular([[0, 1]], np.ones((1, 2, 1)))
    with pytest.raises(ValueError, match="between 0 and 1"):
        surprisingly_popular([[0, 1]], np.full((1, 2, 2), 1.5))
