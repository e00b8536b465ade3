"""Copies or mixture against enumeration of all draws and committees."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from motet.measure.copies import copies_or_mixture, mixing_gap
from motet.measure.majority import majority_right
from motet.measure.plurality import Ties, plurality_right

TIES: tuple[Ties, ...] = ("best", "expected")


def sampled(n: int, quality: list[float], s: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correctness and answers of agents whose draws depend on the item."""
    rng = np.random.default_rng(seed)
    chance = np.clip(np.array(quality)[None, :, None] + rng.normal(0, 0.3, (n, len(quality), 1)), 0, 1)
    right = (rng.random((n, len(quality), s)) < chance).astype(float)
    return right, np.where(right == 1, 0, rng.integers(-1, 4, size=right.shape))


def test_all_draws_and_committees_written_down() -> None:
    """Any-right is exact, and the vote within noise of the mean over every draw of every committee."""
    right, answers = sampled(25, [0.6, 0.55, 0.5, 0.5], 4)
    answers = np.where(right == 1, 0, np.where(answers == 0, 9, answers))
    gold = np.zeros(25, dtype=int)
    subsets = [list(each) for each in combinations(range(4), 3)]
    copies = [(agent, draws) for agent in range(4) for draws in subsets]
    mixed = [(agents, list(draws)) for agents in subsets for draws in product(range(4), repeat=3)]
    # `combinations` lists places and draws in rising order: the best-placed agent, and the first draw, stand first.
    best_first = np.argsort(-right.mean(axis=(0, 2)), kind="stable")
    for ties in TIES:
        found = copies_or_mixture(right, answers, k=3, tolerance=1, ties=ties, draws=1500, resamples=200).matched
        assert found is not None
        for side, cells in ((found.copies, copies), (found.mixture, mixed)):
            picked = [(best_first[agents], draws) for agents, draws in cells]
            votes = [plurality_right(answers[:, a, d], gold, ties=ties).mean() for a, d in picked]
            reach = [right[:, a, d].max(axis=1).mean() for a, d in picked]
            assert side.vote == pytest.approx(np.mean(votes), abs=0.008)
            assert side.any_right == pytest.approx(np.mean(reach))
    majority = copies_or_mixture(right, k=3, tolerance=1, draws=1500, resamples=200).matched
    assert majority is not None
    expected = np.mean([majority_right(right[:, a, d]).mean() for a, d in mixed])
    assert majority.mixture.vote == pytest.approx(expected, abs=0.01)


def test_several_right_answers_count() -> None:
    """Correctness comes from the draws, so two ways to write the right answer are both right."""
    right = np.ones((6, 3, 3))
    answers = np.arange(3)[None, :, None] + np.zeros((6, 3, 3), dtype=int)
    found = copies_or_mixture(right, answers, k=3)
    assert found.best.mixture.vote == found.best.copies.vote == 1


def test_copies_of_one_model_under_many_names_change_nothing() -> None:
    """If all agents draw alike, copies and mixture reach the same, and the intervals hold 0."""
    rng = np.random.default_rng(1)
    chance = rng.random((400, 1, 1))
    right = (rng.random((400, 6, 8)) < chance).astype(float)
    found = copies_or_mixture(right, k=5)
    assert found.matched is not None
    assert len(found.pool) == 6
    assert found.matched.any_right_interval.low < 0.01
    assert found.matched.any_right_interval.high > -0.01
    assert abs(found.matched.vote_gain) < 0.02


def test_unlike_errors_make_mixtures_pay() -> None:
    """Agents that know different items gain by mixing; each alone repeats itself."""
    part = np.arange(300) % 5
    right = np.repeat((part[:, None] != np.arange(5)).astype(float)[:, :, None], 6, axis=2)
    found = copies_or_mixture(right, k=5)
    assert found.matched is not None
    assert found.matched.copies == pytest.approx((0.8, 0.8))
    assert found.matched.mixture == pytest.approx((1, 1))
    assert found.matched.vote_interval.low > 0.1


def test_intervals_cover() -> None:
    """In 300 tables the nominal 90 % interval of the any-right gain holds the true gain about 90 times in 100."""
    rng = np.random.default_rng(2)
    held = 0
    for seed in range(300):
        chance = rng.choice([0.2, 0.9], size=(60, 2, 1))
        right = (rng.random((60, 2, 4)) < chance).astype(float)
        found = copies_or_mixture(right, k=2, tolerance=1, draws=1, seed=seed, level=0.9, resamples=300).matched
        assert found is not None
        # Same agent: E[1 - (1-p)²]; different agents: 1 - E[1-p]².
        truth = (1 - 0.45**2) - (1 - (0.8**2 + 0.1**2) / 2)
        held += found.any_right_interval.low <= truth <= found.any_right_interval.high
    assert 0.84 <= held / 300 <= 0.95


def test_the_pool_is_what_the_tolerance_says() -> None:
    """The pool starts at the best agent with k - 1 others within the tolerance below it; without one there is none."""
    right = np.zeros((10, 3, 3))
    right[:9, 2], right[:8, 0], right[:7, 1] = 1, 1, 1
    found = copies_or_mixture(right, k=2, tolerance=0.1)
    assert found.pool.tolist() == [2, 0]
    assert found.quality == pytest.approx([0.8, 0.7, 0.9])
    none = copies_or_mixture(right, k=3, tolerance=0.1)
    assert none.matched is None
    assert none.pool.tolist() == []
    # An agent far above the others has no match, and they match one another.
    right[:5, 0], right[:4, 1] = 0, 0
    assert copies_or_mixture(right, k=2, tolerance=0.05).pool.tolist() == [0, 1]


def test_ties_go_to_the_best_placed() -> None:
    """Three draws that all differ: the first recorded decides among copies, the best agent in a mixture."""
    right, answers = np.zeros((40, 3, 3)), np.broadcast_to(np.arange(9).reshape(3, 3), (40, 3, 3))
    right[:, 2, 0] = 1
    right[:10, 0, 1] = 1
    found = copies_or_mixture(right, answers, k=3).best
    # All three copies of agent 2 vote, and the first is right; of a mixture its one draw of three decides.
    assert found.copies.vote == 1
    assert found.mixture.vote == pytest.approx(1 / 3, abs=0.02)
    assert copies_or_mixture(right, answers, k=3, ties="expected").best.copies.vote == pytest.approx(1 / 3)
    assert mixing_gap(right, answers, k=3, draws=300).gain.max() < 0
    with pytest.raises(ValueError, match="ties are decided by"):
        copies_or_mixture(right, answers, k=3, ties="first")  # type: ignore[arg-type]


def test_mixing_starts_to_hurt() -> None:
    """Agents ever weaker than a noisy best one: the gain falls with the gap and ends where the line says."""
    rng = np.random.default_rng(3)
    easy = rng.random((2000, 6, 1)) < np.array([0.65, 0.6, 0.5, 0.35, 0.15, 0.0])[None, :, None]
    right = (rng.random((2000, 6, 10)) < np.where(easy, 0.9, 0.4)).astype(float)
    found = mixing_gap(right, k=5, draws=20)
    assert found.agents.tolist() == [1, 2, 3, 4, 5]
    assert found.gain[0] > 0.01
    assert found.gain[-1] < -0.03
    assert (np.diff(found.gain) < 0.01).all()
    assert found.gap[0] <= found.helps_up_to < found.gap[-1]
    assert found.gap[0] < found.break_even < found.gap[-1]


def test_bad_input_is_refused() -> None:
    """Too many draws for the table, shares in place of draws, answers of another shape and a single agent."""
    with pytest.raises(ValueError, match="k lies between 2 and the 2"):
        copies_or_mixture(np.ones((3, 2, 4)), k=3)
    with pytest.raises(ValueError, match="each 0 or 1"):
        copies_or_mixture(np.full((3, 2, 4), 0.5), k=2)
    with pytest.raises(ValueError, match="whole numbers of the shape"):
        copies_or_mixture(np.ones((3, 2, 4)), np.ones((3, 2), dtype=int), k=2)
    with pytest.raises(ValueError, match="two agents"):
        mixing_gap(np.ones((3, 1, 4)), k=2)
