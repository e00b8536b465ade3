"""Equivalence and power: against statsmodels and scipy, and by simulation where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from motet.measure.equivalence import _tango, minimum_detectable_effect, student, tost
from motet.measure.mcnemar import exact_sign


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 30, 31, 999, 9999])
def test_student_is_scipys(freedom: int) -> None:
    """The distribution function is scipy's from the far left to the far right."""
    for t in (-40.0, -3.2, -1.0, -0.01, 0.0, 0.3, 1.96, 7.0, math.inf):
        assert student(t, freedom) == pytest.approx(stats.t.cdf(t, freedom), abs=1e-12)


@pytest.mark.parametrize("n", [3, 12, 101])
def test_scores_agree_with_statsmodels(n: int) -> None:
    """On scores that are not 0 and 1, p and interval are those of the paired t-tests."""
    drawn = np.random.default_rng(n)
    first, second = drawn.random(n), drawn.random(n)
    found = tost(first, second, 0.2)
    assert found.method == "t"
    assert found.p == pytest.approx(ttost_paired(first, second, -0.2, 0.2)[0])
    theirs = stats.ttest_rel(first, second).confidence_interval(0.9)
    assert found.interval == pytest.approx((theirs.low, theirs.high))


def test_score_statistic_maximises_the_likelihood() -> None:
    """The statistic's outcome rate is the likeliest one with that difference, found by a fine search."""
    for b, c, n, delta in ((5, 2, 40, 0.1), (0, 0, 30, 0.05), (12, 20, 90, -0.15), (3, 0, 25, -0.04)):
        q = np.linspace(max(0, -delta) + 1e-9, (1 - delta) / 2 - 1e-9, 400_001)
        likelihood = b * np.log(q + delta) + c * np.log(q) + (n - b - c) * np.log1p(-2 * q - delta)
        best = q[np.argmax(likelihood)]
        expected = (b - c - n * delta) / math.sqrt(n * (2 * best + delta * (1 - delta)))
        assert _tango(b, c, n, delta) == pytest.approx(expected, abs=2e-3)


def test_interval_covers() -> None:
    """Of 2,000 small tables with rare discordance, the 90 % interval holds the true difference in about 90 of 100."""
    drawn = np.random.default_rng(6)
    held = 0
    for b, c, rest in drawn.multinomial(60, [0.12, 0.04, 0.84], size=2000):
        first, second = np.repeat([1, 0, 1], [b, c, rest]), np.repeat([0, 1, 1], [b, c, rest])
        low, high = tost(first, second, 0.5).interval
        held += low <= 0.08 <= high
    assert 0.87 <= held / 2000 <= 0.93


@pytest.mark.parametrize("graded", [False, True])
def test_size_at_the_margin(graded: bool) -> None:
    """With the true difference exactly at the margin, equivalence is found in about 5 of 100 of 1,000 draws."""
    drawn = np.random.default_rng(3)
    found = 0
    for _ in range(1000):
        if graded:
            first = drawn.random(200)
            second = first - 0.1 + drawn.normal(0, 0.2, 200)
        else:
            kind = drawn.choice(4, size=200, p=[0.2, 0.1, 0.5, 0.2])
            first, second = np.isin(kind, (0, 2)), np.isin(kind, (1, 2))
        found += tost(first, second, 0.1).equivalent
    assert 0.03 <= found / 1000 <= 0.07


def test_agreement_on_few_items_proves_little() -> None:
    """No discordant item among 20 is no equivalence within 5 points; among 200 it is."""
    assert not tost([1] * 20, [1] * 20, 0.05).equivalent
    assert tost([1, 0] * 100, [1, 0] * 100, 0.05).equivalent


def test_interval_and_verdict_agree() -> None:
    """The verdict is "equivalent" exactly where the interval lies within the margin."""
    drawn = np.random.default_rng(4)
    for _ in range(200):
        n = int(drawn.integers(20, 300))
        first, second = drawn.random((2, n)) < drawn.random((2, 1))
        margin = float(drawn.uniform(0.02, 0.6))
        found = tost(first, second, margin)
        assert found.equivalent == (-margin < found.interval.low and found.interval.high < margin)
        assert found.interval.low - 1e-9 <= found.difference <= found.interval.high + 1e-9


def test_power_is_what_was_asked() -> None:
    """McNemar's test finds the detectable effect in about the asked share of 1,500 draws (exact test: a bit less)."""
    drawn = np.random.default_rng(5)
    for n, discordance, power in ((300, 0.3, 0.8), (1500, 0.15, 0.9)):
        effect = minimum_detectable_effect(n, discordance, power=power)
        chances = [(discordance + effect) / 2, (discordance - effect) / 2, 1 - discordance]
        counts = drawn.multinomial(n, chances, size=1500)
        found = np.mean([exact_sign(int(b), int(c)) <= 0.05 for b, c, _ in counts])
        assert power - 0.06 <= found <= power + 0.025


def test_effect_solves_its_equation() -> None:
    """The closed form satisfies Connor's equation; more items find less; too few find nothing."""
    for n in (50, 1000, 10**6):
        effect = minimum_detectable_effect(n, 0.25)
        right = stats.norm.isf(0.025) * 0.5 + stats.norm.isf(0.2) * math.sqrt(0.25 - effect**2)
        assert effect * math.sqrt(n) == pytest.approx(right)
    assert minimum_detectable_effect(2000, 0.2) < minimum_detectable_effect(1000, 0.2)
    assert math.isnan(minimum_detectable_effect(20, 0.05))
    assert math.isnan(minimum_detectable_effect(1, 1.0))


def test_bad_input_is_refused() -> None:
    """No margin, one item, a margin beyond all differences, a discordance of none."""
    with pytest.raises(ValueError, match="margin above 0"):
        tost([1, 0], [1, 0], 0)
    with pytest.raises(ValueError, match="two items"):
        tost([1], [1], 0.1)
    with pytest.raises(ValueError, match="tests nothing"):
        tost([1, 0], [1, 0], 1)
    with pytest.raises(ValueError, match="no such comparison"):
        minimum_detectable_effect(100, 0)
