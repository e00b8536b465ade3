"""The contraction ratio: planted ratios are recovered, intervals cover, and bad input is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from motet.measure.contraction import contraction_ratio
from motet.measure.diversity import semantic_diversity


def test_interval_covers_a_planted_ratio() -> None:
    """Groups planted to keep 60 % of their diversity: the interval holds 0.6 in 92 to 97 of 100 of 2,000 draws."""
    drawn = np.random.default_rng(0)
    held = 0
    for seed in range(2000):
        inside, apart = drawn.gamma(9, 0.06 / 9 * 10, 40), drawn.gamma(9, 0.1 / 9 * 10, 50)
        low, high = contraction_ratio(inside, apart, resamples=200, seed=seed).interval
        held += low <= 0.6 <= high
    assert 0.92 <= held / 2000 <= 0.97


def test_pairing_narrows_the_interval() -> None:
    """Tasks that allow more diversity on both sides cancel out when paired."""
    drawn = np.random.default_rng(1)
    task = drawn.uniform(0.1, 1, 60)
    inside, apart = 0.7 * task + 0.01 * drawn.random(60), task
    narrow, wide = (contraction_ratio(inside, apart, paired=paired).interval for paired in (True, False))
    assert narrow.high - narrow.low < (wide.high - wide.low) / 3
    assert narrow.low <= 0.71 <= narrow.high


def test_groups_that_move_together_contract() -> None:
    """Texts drawn towards their group's mean have a ratio below 1, untouched ones a ratio of 1."""
    drawn = np.random.default_rng(2)
    groups = drawn.normal(size=(30, 5, 8))
    pulled = groups + 2 * groups.mean(axis=1, keepdims=True)
    before = [semantic_diversity(group) for group in groups]
    after = [semantic_diversity(group) for group in pulled]
    found = contraction_ratio(after, before, paired=True)
    assert found.interval.high < 1
    assert found.value == pytest.approx(np.mean(after) / np.mean(before))
    assert contraction_ratio(before, before, paired=True).value == 1


def test_bad_input_is_refused() -> None:
    """No diversity to lose has no ratio; negative or unpaired values are refused."""
    assert math.isnan(contraction_ratio([0.1], [0.0]).value)
    with pytest.raises(ValueError, match="below 0"):
        contraction_ratio([-0.1], [0.2])
    with pytest.raises(ValueError, match="not paired"):
        contraction_ratio([0.1, 0.2], [0.2], paired=True)
