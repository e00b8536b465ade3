"""Weighted voting: the weights are the optimal ones, and what they earn is measured on other items."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logit

from motet.measure.plurality import plurality_right
from motet.measure.weighted import cross_fitted, log_odds


def test_weights_are_the_logit() -> None:
    """Two classes give scipy's logit; more classes add the same to all."""
    quality = np.array([0.2, 0.5, 0.9])
    assert log_odds(quality) == pytest.approx(logit(quality))
    assert log_odds(quality, classes=4) == pytest.approx(logit(quality) + np.log(3))


def test_no_other_rule_of_five_voters_is_right_more_often() -> None:
    """Over all 32 outcomes, siding with the heavier side is right as often as the likelier side is."""
    quality = np.array([0.9, 0.7, 0.6, 0.55, 0.35])
    outcomes = np.array(list(product((0, 1), repeat=5)))
    chance = np.where(outcomes == 1, quality, 1 - quality).prod(axis=1)
    vote = plurality_right(outcomes, np.ones(32, dtype=int), ties="expected", weights=log_odds(quality))
    likelier = np.maximum(chance, chance[::-1]).sum() / 2
    assert chance @ vote == pytest.approx(likelier)


def test_multiclass_weights_are_maximum_likelihood() -> None:
    """With four classes and equally likely wrong answers, the winner is the class of the largest likelihood."""
    rng = np.random.default_rng(0)
    quality = np.array([0.8, 0.5, 0.4, 0.3])
    answers = rng.integers(4, size=(300, 4))
    given = np.where(answers[:, :, None] == np.arange(4), quality[:, None], (1 - quality[:, None]) / 3)
    best = given.prod(axis=1).argmax(axis=1)
    assert plurality_right(answers, best, weights=log_odds(quality, classes=4)).all()


def test_smoothing_adds_half_an_item_each_way() -> None:
    """9 of 9 becomes 9.5 of 10; without it a quality of 0 or 1 is refused."""
    assert log_odds([1.0], items=9) == pytest.approx(logit([0.95]))
    with pytest.raises(ValueError, match="infinite weight"):
        log_odds([1.0])


def test_weights_find_the_expert() -> None:
    """Where one agent knows and four guess, learned weights come near the expert, which plurality does not."""
    rng = np.random.default_rng(1)
    gold = rng.integers(2, size=1000)
    answers = np.where(rng.random((1000, 5)) < [0.95, 0.55, 0.5, 0.5, 0.5], gold[:, None], 1 - gold[:, None])
    vote = cross_fitted(answers, gold)
    assert vote.right.mean() > 0.93 > 0.85 > plurality_right(answers, gold).mean()
    assert np.bincount(vote.fold).tolist() == [200] * 5


def test_cross_fitting_does_not_flatter() -> None:
    """On coin tosses, weights learned on the items they vote on win; learned on other folds, they do not."""
    rng = np.random.default_rng(2)
    honest, flattering = [], []
    for seed in range(60):
        gold, answers = rng.integers(2, size=40), rng.integers(2, size=(40, 15))
        honest.append(cross_fitted(answers, gold, seed=seed).right.mean())
        quality = (answers == gold[:, None]).mean(axis=0)
        flattering.append(plurality_right(answers, gold, weights=log_odds(quality, items=40)).mean())
    assert abs(np.mean(honest) - 0.5) < 0.04
    assert np.mean(flattering) > 0.65


def test_silence_counts_neither_way() -> None:
    """An agent right on all it answers keeps a large weight, however rarely it answers."""
    gold = np.zeros(100, dtype=int)
    answers = np.column_stack([np.zeros(100, dtype=int), np.where(np.arange(100) % 4 == 0, 0, -1)])
    assert (cross_fitted(answers, gold).weights > 3).all()


def test_the_number_of_classes_reaches_the_weights() -> None:
    """Four classes add log 3 to the weights of two; left out, the most answers that an item got are the classes."""
    rng = np.random.default_rng(3)
    answers = np.vstack([rng.integers(4, size=(59, 4)), [0, 1, 2, 3]])
    gold = np.zeros(60, dtype=int)
    two, four = (cross_fitted(answers, gold, classes=classes).weights for classes in (2, 4))
    assert four == pytest.approx(two + np.log(3))
    assert cross_fitted(answers, gold).weights.tolist() == four.tolist()


def test_bad_input_is_refused() -> None:
    """Shares outside 0 to 1, one class and more folds than items are named."""
    with pytest.raises(ValueError, match="shares from 0 to 1"):
        log_odds([1.2])
    with pytest.raises(ValueError, match="at least two classes"):
        log_odds([0.5], classes=1)
    with pytest.raises(ValueError, match="5 folds of 2 items"):
        cross_fitted([[0], [0]], [0, 0])
