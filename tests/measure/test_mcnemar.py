"""McNemar's exact test against the summed binomial, statsmodels, and itself on arrays and on sequences."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar as reference

from motet.measure.mcnemar import exact_sign, mcnemar


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


@pytest.mark.parametrize("n", [7, 60, 900])
def test_agrees_with_statsmodels(n: int) -> None:
    """The p-value is that of statsmodels' exact test, on arrays of any kind and on lists alike."""
    drawn = np.random.default_rng(n)
    first, second = drawn.random(n) < 0.7, drawn.random(n) < 0.6
    b, c = int((first & ~second).sum()), int((second & ~first).sum())
    table = [[int((first & second).sum()), b], [c, int((~first & ~second).sum())]]
    found = mcnemar(first, second)
    assert found == (b, c, pytest.approx(reference(table, exact=True).pvalue))
    assert found == mcnemar(first.astype(float), second.astype(int)) == mcnemar(first.tolist(), second.tolist())


def test_large_tables_are_quick() -> None:
    """Ten thousand discordant items take less than half a second, and the p-value does not overflow."""
    first = np.arange(10_000) % 2 == 0
    start = time.perf_counter()
    assert mcnemar(first, ~first) == (5000, 5000, 1.0)
    assert mcnemar(np.ones(10_000), np.zeros(10_000))[2] < 1e-300
    assert time.perf_counter() - start < 0.5


def test_shares_are_refused() -> None:
    """A share of samples is no outcome, and neither is a table."""
    with pytest.raises(ValueError, match="0 or 1"):
        mcnemar(np.array([0.5, 1.0]), np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="0 or 1"):
        mcnemar(np.ones((2, 2)), np.ones((2, 2)))


def test_sequences_need_no_numpy() -> None:
    """Importing and using it on lists loads nothing beyond the standard library."""
    code = "import sys, motet.measure.mcnemar as m; m.mcnemar([True], [False]); sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
