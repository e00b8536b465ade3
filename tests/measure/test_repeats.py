"""Repeats against loops, numpy's correlations, and runs whose reliability is known."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import roc_auc_score

from motet.measure.repeats import accuracy_by_distinct, distinct, failure_auc, flip_rate, retest_correlation, run_gap

RUNS = st.tuples(st.integers(1, 8), st.integers(2, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 3))
)


@settings(max_examples=80)
@given(RUNS)
def test_counts_and_flips_are_loops(answers: np.ndarray) -> None:
    """Distinct answers are a set's size, the flip rate a loop over all pairs of runs; order does not matter."""
    assert distinct(answers).tolist() == [len(set(row)) for row in answers.tolist()]
    expected = np.mean([np.mean([a != b for a, b in itertools.combinations(row, 2)]) for row in answers.tolist()])
    assert flip_rate(answers) == pytest.approx(expected)
    assert flip_rate(answers[::-1, ::-1]) == pytest.approx(flip_rate(answers))
    assert flip_rate(answers > 0) == flip_rate((answers > 0).astype(float))


def test_retest_is_the_mean_correlation() -> None:
    """It is the mean of numpy's correlations over pairs; constant runs are left out."""
    right = np.random.default_rng(0).random((50, 5)) < np.random.default_rng(1).random((50, 1))
    matrix = np.corrcoef(right.T.astype(float))
    assert retest_correlation(right) == pytest.approx(matrix[np.triu_indices(5, 1)].mean())
    assert retest_correlation(np.column_stack([right, np.ones(50)])) == pytest.approx(retest_correlation(right))
    assert math.isnan(retest_correlation(np.ones((5, 3))))


def test_planted_reliability_is_recovered() -> None:
    """With half of the items always right and half a coin each, the retest correlation is the known one."""
    drawn = np.random.default_rng(2)
    rate = np.repeat([1.0, 0.5], 20_000)
    right = drawn.random((40_000, 3)) < rate[:, None]
    assert retest_correlation(right) == pytest.approx(rate.var() / (0.75 * 0.25), abs=0.01)
    assert flip_rate(right) == pytest.approx(0.25, abs=0.01)


def test_failure_auc_is_scikit_learns() -> None:
    """On runs, it is scikit-learn's AUC of the item's count for the run's failure; a planted link shows."""
    drawn = np.random.default_rng(3)
    doubt = drawn.random(300)
    answers = np.where(drawn.random((300, 6)) < doubt[:, None], drawn.integers(1, 9, (300, 6)), 0)
    right = (answers == 0).astype(int)
    expected = roc_auc_score(1 - right.ravel(), np.repeat(distinct(answers), 6))
    assert failure_auc(right, answers) == pytest.approx(expected)
    assert expected > 0.7
    assert math.isnan(failure_auc(np.ones_like(right), answers))


def test_accuracy_by_distinct_is_a_loop() -> None:
    """Each number of distinct answers has its items and their mean; numbers that do not occur have none."""
    drawn = np.random.default_rng(5)
    answers, right = drawn.integers(0, 3, (40, 5)), drawn.random((40, 5)).round()
    accuracy, items = accuracy_by_distinct(right, answers)
    for number in range(1, 6):
        rows = [i for i in range(40) if len(set(answers[i].tolist())) == number]
        assert items[number - 1] == len(rows)
        expected = right[rows].mean() if rows else math.nan
        assert accuracy[number - 1] == pytest.approx(expected, nan_ok=True)


def test_gap() -> None:
    """Best, worst and mean run are those of the columns; of equal runs the gap is luck, and more of it with more."""
    right = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1]])
    found = run_gap(right)
    assert (found.mean, found.best, found.worst, found.gap, found.any) == pytest.approx((2 / 3, 1, 1 / 3, 1 / 3, 1))
    drawn = np.random.default_rng(4)
    few, many = (np.mean([run_gap(drawn.random((50, r)) < 0.5).gap for _ in range(300)]) for r in (2, 10))
    assert 0 < few < many < 0.2


def test_bad_input_is_refused() -> None:
    """A single run, shares as labels, runs without outcomes."""
    for measure in (flip_rate, run_gap, retest_correlation):
        with pytest.raises(ValueError, match="single run"):
            measure([[1], [0]])
    with pytest.raises(ValueError, match="whole numbers"):
        flip_rate([[0.5, 1.0]])
    with pytest.raises(ValueError, match="an answer and an outcome"):
        failure_auc([[1]], [[1, 2]])
