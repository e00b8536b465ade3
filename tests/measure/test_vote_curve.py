"""The vote curve against voting anew with each committee."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from motet.measure.arrays import Floats, Ints
from motet.measure.majority import majority_right
from motet.measure.plurality import Ties, plurality_right
from motet.measure.ranking import ranking
from motet.measure.vote_curve import Poll, vote_curve

ANSWERS = hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.integers(-1, 3))
SHARES = hnp.arrays(
    float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.sampled_from([0.0, 0.3, 1.0])
)


@given(ANSWERS, st.sampled_from(["best", "expected"]))
@settings(max_examples=60)
def test_the_k_best_are_what_plurality_says(answers: Ints, ties: Ties) -> None:
    """Adding a vote at a time gives what counting each committee from scratch gives, by both rules for ties."""
    gold = np.zeros(len(answers), dtype=int)
    correct = answers == 0
    curve = vote_curve(correct, answers, gold, ties=ties, draws=1)
    order = ranking(correct)
    assert curve.members.tolist() == order.tolist()
    alone = plurality_right(answers[:, order[:1]], gold, ties=ties)
    for k in range(1, answers.shape[1] + 1):
        vote = plurality_right(answers[:, order[:k]], gold, ties=ties)
        assert curve.best[k - 1] == pytest.approx(vote.mean())
        assert curve.harmed[k - 1] == pytest.approx((alone * (1 - vote)).sum())
        assert curve.rescued[k - 1] == pytest.approx(((1 - alone) * vote).sum())


@given(ANSWERS, st.integers(0, 9), st.sampled_from(["best", "expected"]))
@settings(max_examples=60)
def test_agents_may_join_in_any_order(answers: Ints, seed: int, ties: Ties) -> None:
    """Ties go by the placing, not by who came first; each item may have an order of its own."""
    n, m = answers.shape
    rng = np.random.default_rng(seed)
    gold, place = np.zeros(n, dtype=int), rng.permutation(m)
    poll = Poll(answers, gold, ties, place)
    one = rng.permutation(m)
    for k, right in enumerate(poll.join(one), 1):
        members = [agent for agent in place if agent in one[:k]]
        assert right == pytest.approx(plurality_right(answers[:, members], gold, ties=ties))
    each = rng.permuted(np.repeat(np.arange(m)[:, None], n, axis=1), axis=0)
    for k, right in enumerate(poll.join(each), 1):
        for item in range(n):
            members = [agent for agent in place if agent in each[:k, item]]
            assert right[item] == pytest.approx(
                plurality_right(answers[item : item + 1, members], gold[:1], ties=ties)[0]
            )


@given(SHARES)
@settings(max_examples=60)
def test_without_answers_it_is_the_majority(correct: Floats) -> None:
    """Also with fractional cells, where harm and rescue are summed over all outcomes of the members."""
    curve = vote_curve(correct, draws=1)
    order = ranking(correct)
    for k in range(1, correct.shape[1] + 1):
        part = correct[:, order[:k]]
        assert curve.best[k - 1] == pytest.approx(majority_right(part).mean())
    harmed = 0.0
    for row in correct[:, order].tolist():
        for outcome in product((0, 1), repeat=len(row)):
            chance = np.prod([p if x else 1 - p for x, p in zip(outcome, row, strict=True)])
            harmed += chance * outcome[0] * (1 - majority_right([outcome])[0])
    assert curve.harmed[-1] == pytest.approx(harmed)
    n = len(correct)
    assert curve.best * n == pytest.approx(curve.best[0] * n + curve.rescued - curve.harmed)


def test_random_committees_average_all_committees() -> None:
    """The mean over random orders is the mean over all committees of each size, and the band holds it."""
    rng = np.random.default_rng(0)
    answers = np.where(rng.random((60, 6)) < [0.9, 0.7, 0.6, 0.5, 0.4, 0.3], 0, rng.integers(1, 4, size=(60, 6)))
    correct, gold = answers == 0, np.zeros(60, dtype=int)
    order = ranking(correct)
    votes, counted = vote_curve(correct, answers, gold, draws=3000), vote_curve(correct, draws=3000)
    for k in range(1, 7):
        every = [[agent for agent in order if agent in chosen] for chosen in combinations(range(6), k)]
        plurality = [plurality_right(answers[:, members], gold).mean() for members in every]
        assert votes.random[k - 1] == pytest.approx(np.mean(plurality), abs=0.01)
        assert counted.random[k - 1] == pytest.approx(
            np.mean([majority_right(correct[:, members]).mean() for members in every]), abs=0.01
        )
        assert votes.random_low[k - 1] - 1e-9 <= votes.random[k - 1] <= votes.random_high[k - 1] + 1e-9


def test_fractional_cells_leave_the_random_mean_unbiased() -> None:
    """Drawing the cells anew for each order averages to the exact expectation."""
    correct = np.random.default_rng(1).random((40, 3))
    curve = vote_curve(correct, draws=3000)
    pairs = [majority_right(correct[:, list(pair)]).mean() for pair in combinations(range(3), 2)]
    assert curve.random[1] == pytest.approx(np.mean(pairs), abs=0.01)


def test_a_perfect_agent_and_its_copies() -> None:
    """Three perfect agents outvote two that are always wrong; nothing is harmed, and the curve may stop early."""
    correct = np.tile([0, 1, 1, 0, 1], (5, 1))
    curve = vote_curve(correct, largest=4, draws=3)
    assert curve.members.tolist() == [1, 2, 4, 0]
    assert curve.best.tolist() == [1, 1, 1, 1]
    assert curve.harmed.tolist() == curve.rescued.tolist() == [0, 0, 0, 0]


def test_bad_input_is_refused() -> None:
    """Answers without gold, tables of two shapes and no draws are named."""
    with pytest.raises(ValueError, match="without gold"):
        vote_curve([[1]], [[0]])
    with pytest.raises(ValueError, match=r"shape \(1, 2\), answers \(1, 1\)"):
        vote_curve([[1, 0]], [[0]], [0])
    with pytest.raises(ValueError, match="at least one draw"):
        vote_curve([[1]], draws=0)
