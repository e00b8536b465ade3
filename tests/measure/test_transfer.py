"""Transfer: luck does not carry over, skill does."""

from __future__ import annotations

import numpy as np
import pytest

from motet.measure.committee import best_committees
from motet.measure.transfer import committee_transfer, transfer


def test_luck_does_not_transfer() -> None:
    """Among forty equal agents the best pair shines on its own half and is an average pair on the other."""
    correct = (np.random.default_rng(0).random((100, 40)) < 0.5).astype(float)
    found = committee_transfer(correct, 2, repeats=40)
    assert found.in_sample > 0.85
    assert found.out_of_sample == pytest.approx(0.75, abs=0.05)
    assert found.single_in_sample > 0.6
    assert found.single_out_of_sample == pytest.approx(0.5, abs=0.05)
    assert found.agreement < 0.5
    assert found.band.low <= found.out_of_sample <= found.band.high


def test_skill_transfers() -> None:
    """Two agents that cover each other are chosen every time and keep their figure; the gain is paired."""
    half = np.arange(200) % 2 == 0
    weak = np.random.default_rng(1).random((200, 8)) < 0.3
    correct = np.column_stack([half, ~half, weak]).astype(float)
    found = committee_transfer(correct, 2, repeats=20)
    assert (found.members, found.agreement) == ((0, 1), 1)
    assert found.out_of_sample == 1
    assert found.gain == pytest.approx(found.out_of_sample - found.single_out_of_sample)
    assert found.gain_band.low > 0.3


def test_the_parts_do_not_meet() -> None:
    """The chooser sees the stated share of items, no item twice, and another part each time."""
    seen = []

    def choose(items: np.ndarray) -> tuple[int]:
        seen.append(tuple(items.tolist()))
        return (0,)

    correct = np.arange(20)[:, None] % 2
    found = transfer(correct, choose, lambda members: correct[:, 0], repeats=8, share=0.3)
    assert {len(set(items)) for items in seen} == {6}
    assert len(set(seen)) == 8
    inside = np.mean([correct[list(items)].mean() for items in seen])
    assert found.in_sample == pytest.approx(inside)
    assert found.out_of_sample == pytest.approx((10 - 6 * inside) / 14)


def test_a_vote_transfers_by_its_own_objective() -> None:
    """With plurality, choosing and scoring count what plurality counts, and a seed repeats."""
    rng = np.random.default_rng(2)
    answers = np.where(rng.random((120, 5)) < 0.6, 0, rng.integers(1, 4, size=(120, 5)))
    correct, gold = (answers == 0).astype(float), np.zeros(120, dtype=int)
    found = committee_transfer(correct, 3, objective="plurality", answers=answers, gold=gold, repeats=10)
    again = committee_transfer(correct, 3, objective="plurality", answers=answers, gold=gold, repeats=10)
    assert found == again
    top = best_committees(correct, 3, objective="plurality", answers=answers, gold=gold).best[0].quality
    assert found.out_of_sample <= top + 0.05


def test_bad_input_is_refused() -> None:
    """One item cannot be split, a limit that no committee meets and a score of another length are named."""
    with pytest.raises(ValueError, match="1 items cannot be split"):
        committee_transfer([[1, 0]], 1)
    with pytest.raises(ValueError, match="no committee of 1 costs at most"):
        committee_transfer([[1, 0]] * 4, 1, cost=[2, 2], max_cost=1)
    with pytest.raises(ValueError, match="4 items need"):
        transfer([[1, 0]] * 4, lambda items: (0,), lambda members: [1.0])
