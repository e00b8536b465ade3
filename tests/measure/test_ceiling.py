"""The ceiling: by brute force, on random routers and votes, and its intervals' coverage."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from motet.measure.arrays import Floats
from motet.measure.bootstrap import bootstrap_mean
from motet.measure.ceiling import ceiling
from motet.measure.wilson import wilson

TABLES = hnp.arrays(float, st.tuples(st.integers(1, 12), st.integers(1, 6)), elements=st.sampled_from([0.0, 1.0]))
SHARES = hnp.arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.floats(0, 1))
QUICK = settings(max_examples=60)


def test_no_router_and_no_vote_exceeds_it() -> None:
    """On 10,000 random tables no router, cascade, plurality or weighted vote gets more right than 1 - beta."""
    rng = np.random.default_rng(3)
    closest = 1.0
    for _ in range(10_000):
        n, m, options = int(rng.integers(1, 15)), int(rng.integers(1, 6)), int(rng.integers(2, 5))
        answers, gold = rng.integers(options, size=(n, m)), rng.integers(options, size=n)
        right = answers == gold[:, None]
        found = ceiling(right)
        items = np.arange(n)
        routed = right[items, rng.integers(m, size=n)]
        escalates = rng.random((n, m)) < 0.5
        escalates[:, -1] = False
        cascaded = right[items, escalates.argmin(axis=1)]
        ballots = answers[:, :, None] == np.arange(options)
        voted = ballots.sum(axis=1).argmax(axis=1) == gold
        weighed = (ballots * rng.random(m)[:, None]).sum(axis=1).argmax(axis=1) == gold
        perfect = right[items, right.argmax(axis=1)]
        for outcome in (routed, cascaded, voted, weighed):
            assert outcome.mean() <= 1 - found.beta + 1e-12
            assert outcome.mean() <= found.quality + found.gain + 1e-12
        assert perfect.mean() == pytest.approx(found.oracle)
        closest = min(closest, 1 - found.beta - routed.mean())
    assert closest < 1e-12  # the bound is attained, so that a lower one would be wrong


@QUICK
@given(TABLES)
def test_it_counts_what_it_says(table: Floats) -> None:
    """On 0/1 cells every figure is a count of items, made here row by row."""
    found = ceiling(table)
    rows = table.tolist()
    best = max(range(len(rows[0])), key=lambda agent: (sum(row[agent] for row in rows), -agent))
    assert found.best == best
    assert found.all_wrong == sum(not any(row) for row in rows)
    assert found.beta == pytest.approx(found.all_wrong / len(rows))
    assert found.gain == pytest.approx(sum(any(row) and not row[best] for row in rows) / len(rows))
    assert found.oracle == pytest.approx(found.quality + found.gain)
    assert found.exact
    for value, (low, high) in (
        (found.beta, found.beta_interval),
        (found.gain, found.gain_interval),
        (found.oracle, found.oracle_interval),
        (found.quality, found.quality_interval),
    ):
        assert 0 <= low <= value + 1e-12
        assert value - 1e-12 <= high <= 1


@QUICK
@given(SHARES)
def test_shares_give_the_expectation_over_samples(table: Floats) -> None:
    """With shares, beta and gain are the means over all ways that one sample of each cell can turn out."""
    found = ceiling(table, resamples=10)
    n, m = table.shape
    beta = gain = 0.0
    for row in table:
        for outcome in itertools.product([0, 1], repeat=m):
            chance = float(np.prod([c if hit else 1 - c for c, hit in zip(row, outcome, strict=True)]))
            beta += chance * (not any(outcome)) / n
            gain += chance * (any(outcome) and not outcome[found.best]) / n
    assert found.beta == pytest.approx(beta, abs=1e-12)
    assert found.gain == pytest.approx(gain, abs=1e-12)
    assert ceiling(table > 0).beta <= beta + 1e-12


def test_the_quality_of_shares_has_a_bootstrap_interval() -> None:
    """A mean of shares is no count: its interval is that of `bootstrap_mean`, of no width where items are alike."""
    table = np.random.default_rng(5).integers(0, 11, size=(200, 3)) / 10
    found = ceiling(table, seed=3)
    assert found.quality_interval == bootstrap_mean(table[:, found.best], seed=3).interval
    assert ceiling(np.full((50, 2), 0.5)).quality_interval == (0.5, 0.5)
    assert ceiling(np.eye(2)).quality_interval == wilson(1, 2)


@QUICK
@given(TABLES, st.data())
def test_adding_agents_behaves(table: Floats, data: st.DataObject) -> None:
    """A copy changes neither beta nor the oracle, any agent never lowers the oracle, a perfect one leaves no gain."""
    found = ceiling(table)
    copied = ceiling(np.column_stack([table, table[:, data.draw(st.integers(0, table.shape[1] - 1))]]))
    assert (copied.beta, copied.oracle, copied.gain) == (found.beta, found.oracle, found.gain)
    other = data.draw(hnp.arrays(float, len(table), elements=st.sampled_from([0.0, 1.0])))
    assert ceiling(np.column_stack([table, other])).oracle >= found.oracle
    perfect = ceiling(np.column_stack([table, np.ones(len(table))]))
    assert (perfect.quality, perfect.gain, perfect.beta) == (1, 0, 0)


@QUICK
@given(SHARES, st.integers(0, 99))
def test_order_does_not_matter(table: Floats, seed: int) -> None:
    """Items and agents in another order give the same figures."""
    rng = np.random.default_rng(seed)
    shuffled = table[rng.permutation(len(table))][:, rng.permutation(table.shape[1])]
    one, other = ceiling(table, resamples=10), ceiling(shuffled, resamples=10)
    assert (one.beta, one.gain, one.quality) == pytest.approx((other.beta, other.gain, other.quality))


def test_the_exact_intervals_cover() -> None:
    """Over 2,000 tables drawn from a known distribution, those of beta and gain hold the truth at least 95 in 100."""
    rng = np.random.default_rng(5)
    beta, gain = 0.15 + 0.85 * 0.3 * 0.6 * 0.7, 0.85 * 0.3 * (1 - 0.6 * 0.7)
    held, told = np.zeros(2), 0
    for _ in range(2000):
        right = (rng.random((60, 3)) < [0.7, 0.4, 0.3]) & (rng.random((60, 1)) >= 0.15)
        found = ceiling(right)
        if found.best == 0:  # the interval of the gain is given which agent is best
            told += 1
            held += [
                low <= truth <= high
                for truth, (low, high) in ((beta, found.beta_interval), (gain, found.gain_interval))
            ]
    assert told > 1950
    assert (held / told >= 0.95).all(), held / told


def test_the_bootstrap_interval_covers() -> None:
    """With shares, in 2,000 draws of 120 items, the percentile interval of beta holds the truth about 95 in 100."""
    rng = np.random.default_rng(6)
    truth = float(stats.beta(2, 1).mean() ** 2)  # E Π (1 - c) for two independent Beta(1, 2) shares
    held = 0
    for seed in range(2000):
        low, high = ceiling(rng.beta(1, 2, size=(120, 2)), resamples=200, seed=seed).beta_interval
        held += low <= truth <= high
    assert 0.92 <= held / 2000 <= 0.97


def test_extremes() -> None:
    """One cell, all right, all wrong: the figures are 0 or 1 and the intervals one-sided."""
    right, wrong = ceiling([[1]]), ceiling([[0]])
    assert (right.quality, right.oracle, right.beta, right.gain) == (1, 1, 0, 0)
    assert (wrong.quality, wrong.oracle, wrong.beta, wrong.gain) == (0, 0, 1, 0)
    assert right.beta_interval == pytest.approx((0, 0.975))
    assert wrong.oracle_interval == pytest.approx((0, 0.975))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([[1, 2]], "lies between 0 and 1"),
        ([[1, np.nan]], "cells are missing"),
        ([1, 0], "items by agents"),
        ([[]], "items by agents"),
    ],
)
def test_bad_tables_are_refused(table: list[object], message: str) -> None:
    """Values out of range, missing cells and no table at all."""
    with pytest.raises(ValueError, match=message):
        ceiling(table)  # type: ignore[arg-type]
