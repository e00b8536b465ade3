"""The Wilson interval against published values, its equation, and its coverage."""

from __future__ import annotations

import math
import random
import subprocess
import sys

import pytest

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


def test_numpy_is_not_imported() -> None:
    """Who wants one interval does not pay for arrays."""
    code = "import sys, motet.measure.wilson as w; w.wilson(1, 2).low; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
