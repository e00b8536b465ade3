"""Intervals and tests against values worked out independently."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.measure.mcnemar import exact_sign, mcnemar
from motet.measure.wilson import wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_gives_the_published_values(successes: int, n: int, low: float, high: float) -> None:
    """The values of Newcombe (1998), table I, and of R's prop.test without correction."""
    assert wilson(successes, n) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_wilson_solves_its_equation() -> None:
    """Its ends are the shares p whose distance to the observed one is z standard errors of p itself."""
    for successes in range(1, 20):
        for end in wilson(successes, 20):
            assert abs(successes / 20 - end) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / 20), rel=1e-5)


def test_wilson_covers() -> None:
    """In 2,000 draws the 95 % interval holds the true share about 95 times in 100."""
    drawn = random.Random(0)
    held = 0
    for _ in range(2000):
        share = drawn.uniform(0.1, 0.9)
        low, high = wilson(sum(drawn.random() < share for _ in range(50)), 50)
        held += low <= share <= high
    assert 0.93 <= held / 2000 <= 0.97


def test_wilson_refuses_nonsense() -> None:
    """More right than asked, or nothing asked, is no share."""
    for successes, n in ((1, 0), (-1, 5), (6, 5)):
        with pytest.raises(ValueError, match="is no share"):
            wilson(successes, n)


@given(st.integers(0, 60), st.integers(0, 60))
def test_sign_test_sums_the_binomial(wins: int, losses: int) -> None:
    """The p-value is the summed probability of all splits at least as uneven."""
    n = wins + losses
    uneven = abs(wins - losses)
    total = sum(math.comb(n, k) for k in range(n + 1) if abs(n - 2 * k) >= uneven) / 2**n
    assert exact_sign(wins, losses) == pytest.approx(total)


def test_mcnemar_counts_only_where_they_differ() -> None:
    """Items that both got right or wrong do not change the p-value."""
    first, second = [True, True, False, True, False], [True, False, False, False, True]
    assert mcnemar(first, second) == (2, 1, 1.0)
    assert mcnemar([*first, True, False], [*second, True, False]) == (2, 1, 1.0)
    with pytest.raises(ValueError, match="not paired"):
        mcnemar([True], [])
