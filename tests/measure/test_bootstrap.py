"""The bootstrap: against scipy's, against known standard errors, and its coverage where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from motet.measure.bootstrap import bootstrap_difference, bootstrap_mean, bootstrap_means, cluster_sums, weights


def test_agrees_with_scipy() -> None:
    """The percentile interval is scipy's, up to the noise of resampling."""
    values = np.random.default_rng(1).beta(2, 3, 80)
    ours = bootstrap_mean(values, resamples=20_000).interval
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.003)


def test_clusters_give_the_standard_error_of_their_means() -> None:
    """Rows that repeat their cluster count once: the spread is that of the cluster means, not of the rows."""
    drawn = np.random.default_rng(3)
    level = drawn.normal(size=60)
    rows, labels = np.repeat(level, 10), np.repeat(np.arange(60), 10)
    draws = bootstrap_means(rows[:, None], clusters=labels, resamples=4000)
    assert draws.std() == pytest.approx(level.std() / math.sqrt(60), rel=0.05)
    assert bootstrap_means(rows[:, None], resamples=4000).std() < 0.4 * draws.std()


def test_repeats_are_averaged_first() -> None:
    """A matrix of repeats gives what the item means give, and what equal clusters give."""
    table = np.random.default_rng(4).random((30, 4))
    assert bootstrap_mean(table) == bootstrap_mean(table.mean(axis=1))
    by_cluster = bootstrap_mean(table.ravel(), clusters=np.repeat(np.arange(30), 4))
    assert by_cluster.value == pytest.approx(table.mean())
    assert by_cluster.interval == pytest.approx(bootstrap_mean(table).interval)


def test_cluster_sums_are_those_of_a_loop() -> None:
    """Sums and sizes by cluster are what adding them one by one gives."""
    table, labels = np.arange(12.0).reshape(6, 2), np.array(list("abacbb"))
    sums, sizes = cluster_sums(table, labels)
    for i, label in enumerate("abc"):
        assert sums[i].tolist() == table[labels == label].sum(axis=0).tolist()
        assert sizes[i] == (labels == label).sum()


def test_interval_of_a_difference_covers() -> None:
    """Of 2,000 samples of 150 pairs, the 95 % interval holds the true difference in 93 to 97 of 100."""
    drawn = np.random.default_rng(5)
    held = 0
    for seed in range(2000):
        ease = drawn.random(150)
        first, second = drawn.random(150) < 0.4 + 0.4 * ease, drawn.random(150) < 0.3 + 0.4 * ease
        low, high = bootstrap_difference(first, second, resamples=300, seed=seed).interval
        held += low <= 0.1 <= high
    assert 0.93 <= held / 2000 <= 0.97


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=30))
def test_properties(values: list[float]) -> None:
    """The mean lies in its interval, the interval in the values' range, and swapping the agents mirrors it."""
    found = bootstrap_mean(values, resamples=400)
    assert min(values) - 1e-12 <= found.interval.low <= found.interval.high <= max(values) + 1e-12
    other = list(reversed(values))
    one, two = bootstrap_difference(values, other, resamples=50), bootstrap_difference(other, values, resamples=50)
    assert one.value == pytest.approx(-two.value)
    assert one.interval == pytest.approx((-two.interval.high, -two.interval.low))


def test_weights_are_chunked() -> None:
    """Many resamples of many things come in pieces whose rows all sum to n."""
    chunks = list(weights(100_000, 90))
    assert [len(chunk) for chunk in chunks] == [40, 40, 10]
    assert all((chunk.sum(axis=1) == 100_000).all() for chunk in chunks)


def test_bad_input_is_refused() -> None:
    """NaN, unpaired lengths, labels that do not fit, no resamples: each with its own sentence."""
    with pytest.raises(ValueError, match="1 are not finite"):
        bootstrap_mean([1.0, math.nan])
    with pytest.raises(ValueError, match="3 and 2 items are not paired"):
        bootstrap_difference([1, 0, 1], [1, 0])
    with pytest.raises(ValueError, match="as many cluster labels"):
        bootstrap_mean([1, 0], clusters=["a"])
    with pytest.raises(ValueError, match="0 resamples"):
        bootstrap_mean([1, 0], resamples=0)
    with pytest.raises(ValueError, match="at least one item"):
        bootstrap_means([1.0, 2.0])
