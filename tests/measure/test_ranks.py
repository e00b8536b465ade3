"""Ranks: correlations against scipy, places against a loop, intervals against known truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from motet.measure.bootstrap import bootstrap_means
from motet.measure.ranks import _kendall, _pearson, _spearman, midranks, predictive_validity, rank_stability

SCORES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=25)


@settings(max_examples=80, deadline=None)
@given(SCORES)
def test_correlations_are_scipys(pairs: list[tuple[int, int]]) -> None:
    """All three agree with scipy, ties included; constant scores have none."""
    x, y = np.array(pairs, dtype=float).T
    found = predictive_validity(x, y, resamples=2)
    values = found.pearson.value, found.spearman.value, found.kendall.value
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert all(math.isnan(value) for value in values)
        return
    theirs = stats.pearsonr(x, y), stats.spearmanr(x, y), stats.kendalltau(x, y)
    assert values == pytest.approx([each.statistic for each in theirs], abs=1e-9)
    assert midranks(x) == pytest.approx(stats.rankdata(x))


def test_weights_stand_for_copies() -> None:
    """A resample computed by weights is the correlation of the resampled agents written out."""
    drawn = np.random.default_rng(0)
    x, y = drawn.integers(0, 5, (2, 12)).astype(float)
    picks = drawn.integers(0, 12, (20, 12))
    counts = np.array([np.bincount(row, minlength=12) for row in picks], dtype=float)
    for measure, theirs in ((_pearson, stats.pearsonr), (_spearman, stats.spearmanr), (_kendall, stats.kendalltau)):
        expected = [theirs(x[row], y[row]).statistic for row in picks]
        assert measure(counts, x, y) == pytest.approx(expected)


def test_interval_covers() -> None:
    """With a planted correlation of 0.6 among 60 agents, Pearson's interval holds it in 90 to 99 of 100 of 150."""
    drawn = np.random.default_rng(1)
    held = 0
    for seed in range(150):
        x = drawn.normal(size=60)
        y = 0.6 * x + 0.8 * drawn.normal(size=60)
        low, high = predictive_validity(x, y, resamples=200, seed=seed).pearson.interval
        held += low <= 0.6 <= high
    assert 0.90 <= held / 150 <= 0.99


def test_places_are_those_of_a_loop() -> None:
    """Without ties, the places are those of ranking each resample one by one."""
    table = np.random.default_rng(2).random((40, 5))
    found = rank_stability(table, resamples=300)
    counts = np.zeros((5, 5))
    for means in bootstrap_means(table, resamples=300):
        for place, agent in enumerate(sorted(range(5), key=lambda j: -means[j])):
            counts[agent, place] += 1 / 300
    assert found.places == pytest.approx(counts)
    assert found.best == int(np.argmax(table.mean(axis=0)))
    assert found.best_is_first == pytest.approx(counts[found.best, 0])
    for agent in range(5):
        spread = np.repeat(np.arange(5), np.round(counts[agent] * 300).astype(int))
        low, high = np.quantile(spread, [0.025, 0.975], method="inverted_cdf")
        assert (found.low[agent], found.high[agent]) == (low, high)


def test_copies_share_places() -> None:
    """Two copies of an agent are first equally often, wherever they stand, and rows and columns sum to one."""
    table = np.random.default_rng(3).random((200, 6)) < 0.5
    table = np.column_stack([table, table[:, 2]])
    found = rank_stability(table, resamples=4000)
    assert found.first[2] == pytest.approx(found.first[6], abs=0.03)
    assert found.places.sum(axis=0) == pytest.approx(1)
    assert found.places.sum(axis=1) == pytest.approx(1)


def test_perfect_agent_is_first() -> None:
    """An agent right on all items, among agents that never are, is first in every resample; one agent always is."""
    table = np.zeros((10, 3))
    table[:, 1] = 1
    found = rank_stability(table)
    assert (found.best, found.best_is_first, found.low[1], found.high[1]) == (1, 1.0, 0, 0)
    assert rank_stability([[1], [0]]).best_is_first == 1.0


def test_bad_input_is_refused() -> None:
    """Two agents, NaN, or different agents give no correlation."""
    for x, y in (([1, 2], [1, 2]), ([1, 2, math.nan], [1, 2, 3]), ([1, 2, 3], [1, 2])):
        with pytest.raises(ValueError, match="three or more agents"):
            predictive_validity(x, y)
    with pytest.raises(ValueError, match="missing"):
        rank_stability([[1, math.nan]])
