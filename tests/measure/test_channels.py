"""Effective channels against a plain loop over items, and on pools whose number of channels is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from motet.measure.arrays import Floats
from motet.measure.channels import channels, jackknife, vendi


def plain(vectors: Floats, *, centred: bool = False) -> float:
    """K* of one item by its definition: the d x d matrix of unit vectors and scipy's eigenvalues."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    if centred:
        unit = unit - unit.mean(axis=0)
    values = np.clip(linalg.eigvalsh(unit.T @ unit), 0, None)
    return float(np.exp(stats.entropy(values))) if values.sum() > 1e-12 else 1.0


def outputs(seed: int, n: int = 12, m: int = 5, d: int = 7) -> tuple[Floats, Floats]:
    """Embeddings with something in common, some of them missing, and which outputs are right."""
    rng = np.random.default_rng(seed)
    vectors = (1 + rng.normal(size=(n, 1, d)) + rng.normal(size=(n, m, d))) * rng.uniform(0.1, 9, size=(n, m, 1))
    vectors[rng.random((n, m)) < 0.2] = math.nan
    return vectors, (rng.random((n, m)) < 0.5).astype(float)


@settings(max_examples=25)
@given(st.integers(0, 999), st.booleans())
def test_every_figure_is_that_of_a_plain_loop(seed: int, centred: bool) -> None:
    """K*, among right and wrong answers, and leaving each agent out: item by item, only over outputs that exist."""
    vectors, correct = outputs(seed)
    found = channels(vectors, correct, centred=centred)
    everyone, right, wrong = [], [], []
    deltas: list[list[float]] = [[] for _ in range(5)]
    for item, (row, hits) in enumerate(zip(vectors, correct, strict=True)):
        there = ~np.isnan(row[:, 0])
        if there.sum() < 2:
            assert np.isnan(found.per_item[item])
            continue
        everyone.append(plain(row[there], centred=centred))
        for hit, group in ((1, right), (0, wrong)):
            if (there & (hits == hit)).any():
                group.append(plain(row[there & (hits == hit)], centred=centred))
        for agent in np.flatnonzero(there):
            others = there & (np.arange(5) != agent)
            deltas[agent].append(everyone[-1] - plain(row[others], centred=centred))
    assert found.k_star == pytest.approx(np.mean(everyone), abs=1e-6)
    assert found.right == pytest.approx(np.mean(right), abs=1e-6)
    assert found.wrong == pytest.approx(np.mean(wrong), abs=1e-6)
    assert found.delta == pytest.approx([np.mean(column) for column in deltas], abs=1e-6)
    assert found.interval == pytest.approx(jackknife(everyone), abs=1e-6)
    assert found.delta_intervals[2] == pytest.approx(jackknife(deltas[2]), abs=1e-6)
    assert found.vendi == pytest.approx(plain(vectors[~np.isnan(vectors[..., 0])]), abs=1e-6)


def test_known_numbers_of_channels() -> None:
    """Copies are one channel, orthogonal outputs as many as agents, two families of copies two; centred one fewer."""
    axes = np.eye(6)
    for pool, expected in (([0] * 5, 1), ([0, 1, 2, 3, 4], 5), ([0, 0, 1, 1], 2), ([0, 1] + [0, 1] * 4, 2)):
        centred = channels(np.stack([axes[pool]] * 3))
        assert centred.k_star == pytest.approx(max(1, expected - 1))
        assert centred.vendi == pytest.approx(expected)
        found = channels(np.stack([axes[pool]] * 3), centred=False)
        assert found.k_star == pytest.approx(expected)
        assert found.of_means == pytest.approx(expected)
        assert found.interval == pytest.approx((expected, expected))
        assert math.isnan(found.right)
        assert math.isnan(found.wrong_interval.low)


def test_a_copy_adds_nothing_and_the_odd_one_out_most() -> None:
    """Among three copies and one that differs, ΔK* of the latter is largest and those of the copies not above 0."""
    found = channels(np.stack([np.eye(3)[[0, 0, 0, 1]]] * 4), centred=False)
    assert found.delta[3] == pytest.approx(found.k_star - 1)
    assert found.delta[3] > 0.7
    assert (found.delta[:3] < 0).all()


def test_centring_counts_the_directions_of_difference() -> None:
    """A vector that all outputs share hides their differences from K* that is not centred, and not from K*."""
    vectors = np.stack([np.eye(4) + 20.0] * 3)
    assert channels(vectors, centred=False).k_star < 1.1
    assert channels(vectors).k_star == pytest.approx(3, abs=0.01)


@settings(max_examples=30)
@given(st.integers(0, 999))
def test_what_changes_nothing(seed: int) -> None:
    """Order of items, order of agents, length of vectors and a rotation of the space leave K* as it is."""
    vectors, _ = outputs(seed)
    found = channels(vectors)
    rng = np.random.default_rng(seed)
    order = rng.permutation(5)
    rotation = stats.ortho_group.rvs(7, random_state=seed)
    other = channels(rng.permutation(vectors)[:, order] @ rotation * 3.0)
    assert (other.k_star, other.vendi) == pytest.approx((found.k_star, found.vendi))
    assert other.delta == pytest.approx(found.delta[order], abs=1e-9)
    assert np.nanmin(found.per_item) >= 1 - 1e-9
    assert np.nanmax(found.per_item) <= 4 + 1e-9


def test_the_jackknife_is_leaving_one_out_and_covers() -> None:
    """Its width is that of the leave-one-out means, and in 2,000 draws it holds the true mean about 95 times in 100."""
    values = np.random.default_rng(1).gamma(2.0, size=40)
    means = np.array([np.delete(values, k).mean() for k in range(40)])
    error = math.sqrt(39 / 40 * ((means - means.mean()) ** 2).sum())
    assert jackknife(values) == pytest.approx((values.mean() - 1.959964 * error, values.mean() + 1.959964 * error))
    draws = np.random.default_rng(2).gamma(2.0, size=(2000, 80))
    ends = np.array([jackknife(row) for row in draws])
    assert 0.93 <= ((ends[:, 0] <= 2) & (ends[:, 1] >= 2)).mean() <= 0.97


def test_vendi_is_the_same_from_either_side() -> None:
    """More vectors than dimensions or fewer, it is the entropy of the same eigenvalues."""
    vectors = np.random.default_rng(3).normal(size=(9, 4))
    assert vendi(vectors) == pytest.approx(plain(vectors))
    assert vendi(vectors[:3]) == pytest.approx(plain(vectors[:3]))
    assert vendi(vectors.astype(np.float32)) == pytest.approx(plain(vectors), abs=1e-5)


def test_the_share_of_items_for_delta_is_drawn() -> None:
    """ΔK* on part of the items comes near that on all, and the same seed gives the same part."""
    vectors, _ = outputs(5, n=400)
    every, some = channels(vectors, delta_items=400), channels(vectors, delta_items=100, seed=1)
    assert some.delta == pytest.approx(every.delta, abs=0.08)
    assert some.delta.tolist() == channels(vectors, delta_items=100, seed=1).delta.tolist()
    assert some.delta.tolist() != every.delta.tolist()


def test_no_item_with_two_outputs() -> None:
    """One agent, or no output at all: there is no K*, and no warning either."""
    alone = channels(np.ones((3, 1, 2)))
    assert math.isnan(alone.k_star)
    assert np.isnan(alone.delta).all()
    nothing = channels(np.zeros((3, 2, 2)))
    assert math.isnan(nothing.vendi)
    assert math.isnan(nothing.of_means)


def test_bad_input_is_refused() -> None:
    """Wrong shapes, broken vectors, correctness that does not fit or is a share, vectors without a direction."""
    with pytest.raises(ValueError, match="items by agents by dimensions"):
        channels([[1.0, 2.0]])
    with pytest.raises(ValueError, match="item 0, agent 1 has NaN or infinite parts"):
        channels([[[1.0, 2.0], [math.nan, 1.0]]])
    with pytest.raises(ValueError, match="do not match"):
        channels(np.ones((2, 3, 4)), [[1, 0]])
    with pytest.raises(ValueError, match="right or wrong"):
        channels(np.ones((1, 2, 2)), [[0.5, 1]])
    with pytest.raises(ValueError, match="vector 1 has no direction"):
        vendi([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="rows of a table"):
        vendi([])
