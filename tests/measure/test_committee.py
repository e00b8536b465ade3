"""The best committees against trying all of them."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from motet.measure import committee
from motet.measure.arrays import Floats
from motet.measure.committee import Objective, best_committees, committee_right, feasible, largest_pool
from motet.measure.majority import majority_right
from motet.measure.ranking import ranking

TABLES = hnp.arrays(
    float, st.tuples(st.integers(1, 12), st.integers(2, 7)), elements=st.sampled_from([0.0, 0.0, 1.0, 1.0])
)
SHARES = hnp.arrays(
    float, st.tuples(st.integers(1, 8), st.integers(2, 6)), elements=st.sampled_from([0.0, 0.25, 0.6, 1.0])
)


def all_of_them(
    correct: Floats,
    size: int,
    objective: Objective,
    cost: Floats | None = None,
    max_cost: float = math.inf,
    answers: np.ndarray | None = None,
) -> list[tuple[float, float, tuple[int, ...]]]:
    """Every committee within the cost: (quality, cost, members), best first, members best-placed first."""
    order = ranking(correct).tolist()
    gold = None if answers is None else np.zeros(len(correct), dtype=int)
    every = []
    for places in combinations(range(correct.shape[1]), size):
        members = tuple(order[place] for place in places)
        price = 0.0 if cost is None else float(cost[list(members)].sum())
        if price <= max_cost + 1e-12:
            quality = committee_right(members, correct, answers, gold, objective=objective).mean()
            every.append((-round(float(quality), 9), price, places, members))
    return [(-quality, price, members) for quality, price, _, members in sorted(every)]


@given(st.one_of(TABLES, SHARES), st.integers(1, 6), st.integers(1, 12))
@settings(max_examples=150)
def test_any_right_is_exact_in_order(correct: Floats, size: int, top: int) -> None:
    """The list is the beginning of all committees in order, ties included, for cells of 0 and 1 and for shares."""
    size = min(size, correct.shape[1])
    found = best_committees(correct, size, top=top, width=1)
    assert found.exact
    assert found.gap == 0
    expected = all_of_them(correct, size, "any_right")[:top]
    assert [each.members for each in found.best] == [members for _, _, members in expected]
    assert [each.quality for each in found.best] == pytest.approx([quality for quality, _, _ in expected])


@given(TABLES, st.integers(1, 5), st.floats(0, 12))
@settings(max_examples=100)
def test_the_cost_is_kept_to(correct: Floats, size: int, limit: float) -> None:
    """Within a cost, the list is that of all committees within it; of equal quality the cheaper comes first."""
    m = correct.shape[1]
    size = min(size, m)
    cost = np.array([3.0, 1.0, 2.0, 2.0, 0.5, 4.0, 1.0])[:m]
    found = best_committees(correct, size, cost=cost, max_cost=limit)
    expected = all_of_them(correct, size, "any_right", cost, limit)[:10]
    assert [(each.members, each.cost) for each in found.best] == [(members, price) for _, price, members in expected]


@pytest.mark.parametrize("objective", ["plurality", "majority"])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_votes_are_exact_in_order(objective: Objective, size: int) -> None:
    """Plurality and majority give the beginning of all committees in order, with and without a cost."""
    rng = np.random.default_rng(size)
    answers = np.where(rng.random((40, 7)) < 0.5, 0, rng.integers(-1, 4, size=(40, 7)))
    correct, gold, cost = (answers == 0).astype(float), np.zeros(40, dtype=int), rng.uniform(0, 2, 7)
    for limit in (math.inf, 3.0):
        found = best_committees(
            correct, size, objective=objective, answers=answers, gold=gold, cost=cost, max_cost=limit
        )
        expected = all_of_them(correct, size, objective, cost, limit, answers)[:10]
        assert found.exact
        assert [each.members for each in found.best] == [members for _, _, members in expected]
        assert [each.quality for each in found.best] == pytest.approx([quality for quality, _, _ in expected])


@given(st.integers(1, 200), st.integers(1, 6), st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_right_votes_are_counted_by_bits(n: int, size: int, seed: int) -> None:
    """The count of 64 items at a time is `majority_right`, for even and odd sizes and part-filled words."""
    rng = np.random.default_rng(seed)
    correct = (rng.random((n, 8)) < rng.random()).astype(float)
    groups = np.array([rng.choice(8, size, replace=False) for _ in range(5)])
    judge = committee._majority(committee._Pool(correct, np.zeros(8), size, math.inf))
    assert judge(groups).tolist() == [n - majority_right(correct[:, group]).sum() for group in groups]


def test_majority_of_fractional_cells() -> None:
    """The members of the best majority are found where cells are shares."""
    correct = np.random.default_rng(3).random((20, 6))
    found = best_committees(correct, 3, objective="majority")
    assert [each.members for each in found.best] == [each[2] for each in all_of_them(correct, 3, "majority")[:10]]


@given(st.integers(0, 10_000), st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_beam_search_and_its_gap(seed: int, size: int) -> None:
    """Beyond the limit the best is at least the greedy one, and never further from the true best than the gap says."""
    rng = np.random.default_rng(seed)
    correct = (rng.random((30, 9)) < 0.4).astype(float)
    exact = best_committees(correct, size).best[0].quality
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committee, "WORDS", 0)
        found = best_committees(correct, size, width=2, top=3)
    assert found.best[0].quality <= exact + 1e-9
    assert exact <= found.best[0].quality + found.gap + 1e-9
    chosen: list[int] = []
    for _ in range(size):
        reach = [correct[:, [*chosen, agent]].max(axis=1).mean() for agent in range(9)]
        chosen.append(int(np.argmax(reach)))
    assert found.best[0].quality >= correct[:, chosen].max(axis=1).mean() * (1 - 1 / math.e)
    assert found.exact == (found.gap <= 1e-9)


@pytest.mark.parametrize("objective", ["plurality", "majority"])
def test_exchange_finds_planted_experts(objective: Objective) -> None:
    """Beyond the limit three experts with unlike errors, worse than three near-copies, are found for the vote."""
    rng = np.random.default_rng(4)
    part = rng.integers(3, size=600)
    twins = np.repeat(rng.random((600, 1)) < 0.75, 3, axis=1)
    experts = part[:, None] != np.arange(3)
    crowd = rng.random((600, 10)) < 0.4
    correct = np.hstack([crowd, twins, experts]).astype(float)
    answers = np.where(correct == 1, 0, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committee, "CELLS", 0)
        found = best_committees(correct, 3, objective=objective, answers=answers, gold=np.zeros(600, dtype=int))
    assert set(found.best[0].members) == {13, 14, 15}
    assert found.best[0].quality == 1
    assert found.gap == pytest.approx(0)


def test_the_limit_on_cost_holds_in_the_beam() -> None:
    """A beam with a limit that only the cheapest committee meets finds that one, and none where none does."""
    correct, cost = np.eye(6), np.array([9.0, 1, 9, 1, 9, 1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committee, "WORDS", 0)
        assert [each.members for each in best_committees(correct, 3, cost=cost, max_cost=3).best] == [(1, 3, 5)]
        assert best_committees(correct, 3, cost=cost, max_cost=2.9).best == ()


def test_the_gap_is_tight_where_the_bound_is() -> None:
    """A greedy beam takes the agent with 5 of 8 items and ends at 7; the bound knows that 8 are possible."""
    halves = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 1, 0, 1, 1, 0, 0]]).T
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committee, "WORDS", 0)
        found = best_committees(halves, 2, top=1, width=1)
    assert found.best[0].quality == 7 / 8
    assert found.gap == pytest.approx(1 / 8)
    assert best_committees(halves, 2).best[0].quality == 1


def test_of_equal_committees_the_cheapest_is_first() -> None:
    """It comes last in the tree, and is not left out because others of its quality were found before."""
    found = best_committees(np.ones((3, 6)), 3, cost=[9, 8, 7, 1, 1, 1], top=1)
    assert found.best[0].members == (3, 4, 5)


def test_all_alike_is_quick() -> None:
    """Thousands of equal committees do not make the search slow: the first in order are returned."""
    found = best_committees(np.ones((100, 60)), 5, top=2)
    assert [each.members for each in found.best] == [(0, 1, 2, 3, 4), (0, 1, 2, 3, 5)]


def test_counting_without_the_instruction() -> None:
    """The table for older numpy counts the same bits."""
    flags = np.random.default_rng(5).random((150, 9)) < 0.3
    words = committee._packed(flags)
    assert words.shape == (9, 3)
    assert committee._looked_up(words).tolist() == committee._counted(words).tolist() == flags.sum(axis=0).tolist()


def test_what_is_feasible() -> None:
    """The stated pools are the largest within the limit."""
    for size, items in ((2, 10_000), (4, 2_000), (5, 300)):
        pool = largest_pool(size, items)
        assert feasible(pool, size, items)
        assert not feasible(pool + 1, size, items)


@pytest.mark.long
@pytest.mark.parametrize("quality", [0.2, 0.5, 0.8])
def test_five_of_67_on_2000_items_within_a_minute(quality: float) -> None:
    """Nearly ten million committees of independent agents, the case with the least to leave out, take seconds."""
    import time

    correct = (np.random.default_rng(6).random((2000, 67)) < quality).astype(float)
    start = time.perf_counter()
    assert best_committees(correct, 5).exact
    assert time.perf_counter() - start < 60


def test_bad_input_is_refused() -> None:
    """A committee larger than the pool, a negative cost, plurality without answers and an unknown objective."""
    with pytest.raises(ValueError, match="1 to 2 members"):
        best_committees([[1, 0]], 3)
    with pytest.raises(ValueError, match="none negative"):
        best_committees([[1, 0]], 1, cost=[1, -1])
    with pytest.raises(ValueError, match="needs answers and gold"):
        best_committees([[1, 0]], 1, objective="plurality")
    with pytest.raises(ValueError, match="not 'luck'"):
        best_committees([[1, 0]], 1, objective="luck")  # type: ignore[arg-type]


@pytest.mark.parametrize("objective", ["any_right", "plurality", "majority"])
@pytest.mark.parametrize("effort", [1.0, 0.0])
def test_a_budget_below_the_cheapest_committee(objective: Objective, effort: float) -> None:
    """No committee is found, whatever the objective and the search."""
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 3, (9, 5))
    correct, gold = (answers == 0).astype(float), np.zeros(9, dtype=int)
    found = best_committees(
        correct, 3, objective=objective, answers=answers, gold=gold, cost=np.ones(5), max_cost=2.5, effort=effort
    )
    assert found.best == ()
