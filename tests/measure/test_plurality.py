"""Plurality against a count by hand, and what must not change it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from motet.measure.arrays import NONE, UNKNOWN, Ints
from motet.measure.plurality import as_ties, plurality, plurality_right, tally

TABLES = hnp.arrays(np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.integers(-1, 4))


def by_hand(row: list[int]) -> tuple[int, set[int]]:
    """The winner of one item and all answers tied with it."""
    counts = Counter(answer for answer in row if answer != NONE)
    if not counts:
        return NONE, set()
    tied = {answer for answer in counts if counts[answer] == max(counts.values())}
    return next(answer for answer in row if answer in tied), tied


@given(TABLES)
def test_winner_is_the_one_counted_by_hand(answers: Ints) -> None:
    """The first voter of the tied answers decides; nobody answering elects nobody."""
    assert plurality(answers).tolist() == [by_hand(row)[0] for row in answers.tolist()]


@given(TABLES, st.integers(0, 4))
def test_both_rules_for_ties(answers: Ints, right: int) -> None:
    """The best-placed rule gives 0 or 1, the even draw the share of the right answer among the tied."""
    gold = np.full(len(answers), right)
    hand = [by_hand(row) for row in answers.tolist()]
    assert plurality_right(answers, gold).tolist() == [float(winner == right) for winner, _ in hand]
    even = [(right in tied) / max(len(tied), 1) for _, tied in hand]
    assert plurality_right(answers, gold, ties="expected") == pytest.approx(even)


@given(TABLES)
def test_order_of_items_and_names_of_answers_do_not_matter(answers: Ints) -> None:
    """Permuting items permutes the winners; renumbering answers renumbers them."""
    order = np.random.default_rng(len(answers)).permutation(len(answers))
    assert plurality(answers[order]).tolist() == plurality(answers)[order].tolist()
    renamed = np.where(answers == NONE, NONE, 40_000 - 3 * answers)
    back = plurality(renamed)
    assert np.where(back == NONE, NONE, (40_000 - back) // 3).tolist() == plurality(answers).tolist()


@given(TABLES)
def test_whole_weights_are_repeated_votes(answers: Ints) -> None:
    """An agent of weight 2 votes like two agents of weight 1 side by side; one of weight 0 breaks no count."""
    weights = np.arange(1, answers.shape[1] + 1)
    assert plurality(answers, weights).tolist() == plurality(np.repeat(answers, weights, axis=1)).tolist()


def test_sums_in_another_order_still_tie() -> None:
    """0.1 + 0.2 is not 0.3 in binary, and still neither beats the other: the best-placed voter decides."""
    assert plurality([[0, 1, 1]], [0.3, 0.1, 0.2]).tolist() == [0]
    assert plurality([[1, 1, 0]], [0.1, 0.2, 0.3]).tolist() == [1]


def test_tally_lists_each_answer_once() -> None:
    """Entries are sorted by item and answer, and each cell points to its entry."""
    count = tally([[3, NONE, 1, 3], [NONE, NONE, NONE, 0]])
    assert count.item.tolist() == [0, 0, 1]
    assert count.answer.tolist() == [1, 3, 0]
    assert count.votes.tolist() == [1, 2, 1]
    assert count.first.tolist() == [2, 0, 3]
    assert count.group.tolist() == [[1, NONE, 0, 1], [NONE, NONE, NONE, 2]]


def test_silence_and_unknown_gold_are_never_right() -> None:
    """Nobody answering is wrong by both rules, and so is any answer to an item whose gold nobody gave."""
    for ties in ("best", "expected"):
        assert plurality_right([[NONE, NONE], [0, 0]], [0, UNKNOWN], ties=as_ties(ties)).tolist() == [0, 0]


def test_bad_input_is_refused() -> None:
    """Weights that do not fit, ties by an unknown rule and gold of another length are named."""
    with pytest.raises(ValueError, match="2 agents need as many finite weights"):
        plurality([[0, 1]], [1, float("nan")])
    with pytest.raises(ValueError, match="not by 'coin'"):
        as_ties("coin")
    with pytest.raises(ValueError, match="1 items need as many right answers"):
        plurality_right([[0, 1]], [0, 1])
