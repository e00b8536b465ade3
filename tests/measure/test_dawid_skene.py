"""Dawid and Skene: planted error rates are recovered, and one EM step is the paper's."""

from __future__ import annotations

import numpy as np
import pytest

from motet.measure.arrays import NONE, Ints
from motet.measure.dawid_skene import SMOOTHING, dawid_skene, one_coin
from motet.measure.plurality import plurality


def planted(n: int, quality: list[float], classes: int, seed: int = 0) -> tuple[Ints, Ints]:
    """Gold and answers of agents whose wrong answers are spread evenly."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(classes, size=n)
    wrong = (gold[:, None] + rng.integers(1, classes, size=(n, len(quality)))) % classes
    return gold, np.where(rng.random((n, len(quality))) < quality, gold[:, None], wrong)


def step(answers: Ints, classes: int, posterior: np.ndarray) -> np.ndarray:
    """One M and E step, written as the paper's sums."""
    n, m = answers.shape
    prior = (posterior.sum(axis=0) + SMOOTHING) / (n + SMOOTHING * classes)
    rates = np.full((m, classes, classes), SMOOTHING)
    for i in range(n):
        for j in range(m):
            if answers[i, j] != NONE:
                rates[j, :, answers[i, j]] += posterior[i]
    rates /= rates.sum(axis=2, keepdims=True)
    out = np.empty_like(posterior)
    for i in range(n):
        for k in range(classes):
            out[i, k] = prior[k] * np.prod([rates[j, k, answers[i, j]] for j in range(m) if answers[i, j] != NONE])
    return out / out.sum(axis=1, keepdims=True)


def test_steps_are_those_of_the_paper() -> None:
    """After three steps from the shares of votes, the posteriors are those of plain loops."""
    rng = np.random.default_rng(0)
    answers = rng.integers(-1, 3, size=(300, 4))
    answers[:, 0] = rng.integers(3, size=300)
    posterior = np.stack([(answers == k).sum(axis=1) for k in range(3)], axis=1).astype(float)
    posterior /= posterior.sum(axis=1, keepdims=True)
    for _ in range(3):
        posterior = step(answers, 3, posterior)
    found = dawid_skene(answers, 3, iterations=3, tolerance=-np.inf)
    assert found.posterior == pytest.approx(posterior)
    assert (found.iterations, found.converged) == (3, False)


def test_planted_error_rates_are_recovered() -> None:
    """Qualities and a lopsided confusion come back to within sampling error, and the expert outvotes the crowd."""
    gold, answers = planted(4000, [0.95, 0.6, 0.5, 0.45, 0.4, 0.4, 0.4], 4)
    rng = np.random.default_rng(1)
    answers[:, 1] = np.where((gold == 2) & (rng.random(4000) < 0.8), 3, answers[:, 1])
    found = dawid_skene(answers)
    assert found.converged
    assert found.quality == pytest.approx((answers == gold[:, None]).mean(axis=0), abs=0.03)
    assert found.confusion[1, 2, 3] == pytest.approx((answers[gold == 2, 1] == 3).mean(), abs=0.05)
    assert (found.winner == gold).mean() > (plurality(answers) == gold).mean() + 0.05


def test_one_coin_recovers_quality_of_open_answers() -> None:
    """Answers whose numbers mean nothing from item to item: qualities come back and beat plurality."""
    gold, answers = planted(3000, [0.9, 0.45, 0.4, 0.4, 0.35, 0.35], 6, seed=2)
    shift = np.random.default_rng(3).integers(100, size=(3000, 1)) * 10
    found = one_coin(answers + shift)
    assert found.converged
    assert found.quality == pytest.approx((answers == gold[:, None]).mean(axis=0), abs=0.06)
    right = gold + shift[:, 0]
    assert (found.winner == right).mean() > (plurality(answers + shift) == right).mean() + 0.05
    assert ((found.confidence > 0) & (found.confidence <= 1)).all()


@pytest.mark.parametrize("permute", ["items", "agents"])
def test_order_does_not_matter(permute: str) -> None:
    """Permuting items or agents permutes what is found."""
    _, answers = planted(200, [0.8, 0.7, 0.6, 0.5], 3, seed=4)
    order = np.random.default_rng(5).permutation(answers.shape[permute == "agents"])
    moved = answers[order] if permute == "items" else answers[:, order]
    for whole, part in ((dawid_skene(answers), dawid_skene(moved)), (one_coin(answers), one_coin(moved))):
        if permute == "items":
            assert part.winner.tolist() == whole.winner[order].tolist()
            assert part.quality == pytest.approx(whole.quality, abs=1e-6)
        else:
            assert part.quality == pytest.approx(whole.quality[order], abs=1e-6)


def test_silence_is_left_out() -> None:
    """An item without answers has no winner; an agent that never answers has no one-coin quality."""
    answers = np.array([[0, 0, NONE], [NONE, NONE, NONE], [1, 1, NONE]])
    classes, coins = dawid_skene(answers), one_coin(answers)
    assert classes.winner.tolist() == coins.winner.tolist() == [0, NONE, 1]
    assert np.isnan(coins.quality).tolist() == [False, False, True]
    assert coins.confidence.tolist() == [1, 0, 1]
    empty = one_coin(np.full((2, 2), NONE))
    assert empty.winner.tolist() == [NONE, NONE]
    assert empty.converged


def test_extremes_are_sound() -> None:
    """One item, one agent, and everyone always agreeing give finite numbers."""
    for answers in ([[0]], [[2], [1]], [[1, 1, 1]] * 3):
        classes, coins = dawid_skene(answers), one_coin(answers)
        assert np.isfinite(classes.posterior).all()
        assert classes.winner.tolist() == coins.winner.tolist() == [row[0] for row in answers]
        assert (coins.quality > 0.5).all()


def test_bad_input_is_refused() -> None:
    """A class beyond those announced is named."""
    with pytest.raises(ValueError, match="classes below 2"):
        dawid_skene([[0, 2]], classes=2)
