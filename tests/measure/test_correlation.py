"""Pairwise measures against numpy, scikit-learn and counting pair by pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import cohen_kappa_score

from motet.measure.arrays import NONE, UNKNOWN, Floats, Ints
from motet.measure.correlation import (
    answer_agreement,
    answer_kappa,
    by_group,
    disagreement,
    double_fault,
    kappa,
    mean_pairwise,
    phi,
    wrong_agreement,
    yule_q,
)

SHAPES = st.tuples(st.integers(1, 15), st.integers(1, 5))
TABLES = hnp.arrays(float, SHAPES, elements=st.sampled_from([0.0, 1.0, math.nan]))
COMPLETE = hnp.arrays(float, SHAPES, elements=st.sampled_from([0.0, 1.0]))
ANSWERS = hnp.arrays(np.int64, SHAPES, elements=st.integers(NONE, 3))
QUICK = settings(max_examples=60)
MEASURES = (phi, yule_q, kappa, disagreement, double_fault)


def counted(table: Floats, i: int, j: int) -> dict[str, float]:
    """Every measure of one pair, from its counts; NaN where the divisor is 0."""
    pairs = [(x, y) for x, y in table[:, [i, j]].tolist() if not math.isnan(x + y)]
    a, b, c, d = (pairs.count(cell) for cell in ((1, 1), (1, 0), (0, 1), (0, 0)))
    n = len(pairs)

    def over(above: float, below: float) -> float:
        return above / below if below else math.nan

    chance = (a + b) * (a + c) + (c + d) * (b + d)
    return {
        "phi": over(a * d - b * c, math.sqrt((a + b) * (c + d) * (a + c) * (b + d))),
        "yule_q": over(a * d - b * c, a * d + b * c),
        "kappa": over(n * (a + d) - chance, n * n - chance),
        "disagreement": over(b + c, n),
        "double_fault": over(d, n),
    }


@QUICK
@given(TABLES)
def test_every_measure_is_what_counting_gives(table: Floats) -> None:
    """For each pair, over the items that both have, the matrices hold what the formulas give from counts."""
    m = table.shape[1]
    found = {measure.__name__: measure(table) for measure in MEASURES}
    for i in range(m):
        for j in range(m):
            for name, expected in counted(table, i, j).items():
                assert found[name][i, j] == pytest.approx(expected, abs=1e-9, nan_ok=True), (name, i, j)


def test_they_are_numpys_and_scikit_learns() -> None:
    """Phi is numpy's correlation and kappa scikit-learn's, on a larger table; shares of samples too for phi."""
    rng = np.random.default_rng(0)
    table = (rng.normal(size=(500, 1)) + rng.normal(size=(500, 6)) > 0.2).astype(float)
    assert phi(table) == pytest.approx(np.corrcoef(table.T), abs=1e-12)
    assert kappa(table)[1, 4] == pytest.approx(cohen_kappa_score(table[:, 1], table[:, 4]))
    shares = rng.beta(0.5, 0.5, size=(500, 6)) * 1e-3 + 0.5
    assert phi(shares) == pytest.approx(np.corrcoef(shares.T), abs=1e-9)


def test_shares_are_the_tables_of_one_sample_each() -> None:
    """With shares, disagreement and double fault are the means over independent single samples."""
    rng = np.random.default_rng(1)
    shares = rng.random((40, 3))
    samples = rng.random((20_000, 40, 3)) < shares
    first, second = samples[..., 0], samples[..., 1]
    assert disagreement(shares)[0, 1] == pytest.approx((first != second).mean(), abs=0.003)
    assert double_fault(shares)[0, 1] == pytest.approx((~first & ~second).mean(), abs=0.003)
    assert disagreement(shares)[0, 0] == pytest.approx((2 * shares[:, 0] * (1 - shares[:, 0])).mean())


@QUICK
@given(COMPLETE, st.integers(0, 99))
def test_order_and_copies(table: Floats, seed: int) -> None:
    """Items in another order change nothing, agents permute, and an agent correlates fully with its copy."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(table.shape[1])
    shuffled = rng.permutation(table)[:, order]
    for measure in MEASURES:
        assert measure(shuffled) == pytest.approx(measure(table)[np.ix_(order, order)], abs=1e-9, nan_ok=True)
    doubled = np.column_stack([table, table[:, 0]])
    assert disagreement(doubled)[0, -1] == 0
    assert phi(doubled)[0, -1] == pytest.approx(1 if 0 < table[:, 0].mean() < 1 else math.nan, nan_ok=True)


def test_constant_agents() -> None:
    """An agent that is always right or wrong has no phi and no Q with anyone; kappa is 0 by its definition."""
    table = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0]])
    for measure in (phi, yule_q):
        found = measure(table)
        assert np.isnan(found[0]).all()
        assert np.isnan(found[:, 2]).all()
        assert found[1, 1] == 1
    found = kappa(table)
    assert found[0, 1] == 0
    assert np.isnan(found[0, 0])
    shares = np.full((1000, 2), 1 / 3)
    shares[::7, 1] = math.nan
    assert np.isnan(phi(shares)).all()


def test_agents_without_a_common_item() -> None:
    """Where no item was given to both, every measure of the pair is NaN, and the others stand."""
    table = [[1, math.nan, 0], [0, math.nan, 1], [math.nan, 1, 1], [math.nan, 0, 0]]
    for measure in MEASURES:
        found = measure(table)
        assert np.isnan(found[0, 1])
        assert not np.isnan(found[0, 2])


@QUICK
@given(ANSWERS, st.data())
def test_answers_are_compared_item_by_item(answers: Ints, data: st.DataObject) -> None:
    """Agreement, and agreement when both are wrong, are what counting pair by pair gives."""
    n, m = answers.shape
    gold = data.draw(hnp.arrays(np.int64, n, elements=st.sampled_from([UNKNOWN, 0, 1, 2, 3])))
    plain, wrong = answer_agreement(answers), wrong_agreement(answers, gold)
    for i in range(m):
        for j in range(m):
            both = [(x, y, g) for x, y, g in zip(answers[:, i], answers[:, j], gold, strict=True) if NONE not in (x, y)]
            failed = [(x, y) for x, y, g in both if g not in (x, y)]
            expected = sum(x == y for x, y, _ in both) / len(both) if both else math.nan
            assert plain[i, j] == pytest.approx(expected, nan_ok=True)
            expected = sum(x == y for x, y in failed) / len(failed) if failed else math.nan
            assert wrong[i, j] == pytest.approx(expected, nan_ok=True)


def test_answer_kappa_is_cohens() -> None:
    """With every cell answered it is scikit-learn's kappa over the answers; two agents of one same answer have none."""
    rng = np.random.default_rng(8)
    common = rng.integers(0, 5, size=(300, 1))
    answers = np.where(rng.random((300, 4)) < 0.5, common, rng.integers(0, 5, size=(300, 4)))
    found = answer_kappa(answers)
    for i in range(4):
        for j in range(i):
            assert found[i, j] == pytest.approx(cohen_kappa_score(answers[:, i], answers[:, j]))
    assert np.isnan(answer_kappa([[2, 2], [2, 2]])).all()
    assert np.isnan(answer_kappa([[NONE, 2]])[0]).all()


def test_planted_wrong_agreement_is_recovered() -> None:
    """Agents that fall for one wrong answer with a known probability, and else guess, agree when wrong as expected."""
    rng = np.random.default_rng(9)
    q, options = 0.6, 9  # wrong answers 1 to 9, the tempting one is 1
    tempted = rng.random((40_000, 3)) < q
    wrong = np.where(tempted, 1, rng.integers(1, options + 1, size=(40_000, 3)))
    answers = np.where(rng.random((40_000, 3)) < 0.5, 0, wrong)
    tempting = q + (1 - q) / options
    expected = tempting**2 + (options - 1) * ((1 - q) / options) ** 2
    assert mean_pairwise(wrong_agreement(answers, np.zeros(40_000, dtype=int))) == pytest.approx(expected, abs=0.01)


@QUICK
@given(st.integers(1, 7), st.data())
def test_groups_average_pairs(m: int, data: st.DataObject) -> None:
    """Within and between are means over pairs, counted one by one; undefined pairs are left out."""
    upper = data.draw(hnp.arrays(float, (m, m), elements=st.floats(-1, 1) | st.just(math.nan)))
    matrix = np.where(np.tri(m, dtype=bool), upper.T, upper)
    groups = data.draw(st.lists(st.sampled_from("abc"), min_size=m, max_size=m))
    found = by_group(matrix, groups)
    pairs = [(i, j) for i in range(m) for j in range(i + 1, m) if not math.isnan(matrix[i, j])]

    def mean(chosen: list[tuple[int, int]]) -> float:
        return sum(matrix[pair] for pair in chosen) / len(chosen) if chosen else math.nan

    assert found.within == pytest.approx(
        mean([(i, j) for i, j in pairs if groups[i] == groups[j]]), abs=1e-9, nan_ok=True
    )
    assert found.between == pytest.approx(
        mean([(i, j) for i, j in pairs if groups[i] != groups[j]]), abs=1e-9, nan_ok=True
    )
    assert mean_pairwise(matrix) == pytest.approx(mean(pairs), abs=1e-9, nan_ok=True)
    assert found.sizes.tolist() == [groups.count(name) for name in found.groups]
    for x, one in enumerate(found.groups):
        for y, other in enumerate(found.groups):
            chosen = [(i, j) for i, j in pairs if {groups[i], groups[j]} == {one, other}]
            assert found.means[x, y] == pytest.approx(mean(chosen), abs=1e-9, nan_ok=True)


def test_bad_input_is_refused() -> None:
    """Correctness out of range, answers that are texts, matrices that are not square, groups that are too few."""
    with pytest.raises(ValueError, match="lies between 0 and 1"):
        phi([[1, 2]])
    with pytest.raises(ValueError, match="answers are whole numbers"):
        answer_agreement([["a", "b"]])
    with pytest.raises(ValueError, match="2 items need as many right answers"):
        wrong_agreement([[1, 1], [0, 0]], [1])
    with pytest.raises(ValueError, match="square matrix"):
        mean_pairwise([[1, 0]])
    with pytest.raises(ValueError, match="2 agents need as many groups; there are 1"):
        by_group(np.eye(2), ["a"])
