"""The jury theorem against scipy's distributions, and against simulated juries of known correlation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import betabinom, binom

from motet.measure.condorcet import condorcet, jury
from motet.measure.vote_curve import vote_curve


@pytest.mark.parametrize("voters", [1, 2, 3, 8, 101])
@pytest.mark.parametrize("quality", [0.3, 0.5, 0.72])
@pytest.mark.parametrize("correlation", [0.0, 0.05, 0.4, 0.9])
def test_jury_is_binomial_or_beta_binomial(voters: int, quality: float, correlation: float) -> None:
    """The recursion gives scipy's tail, half of an even split included."""
    scale = (1 - correlation) / correlation if correlation else 0.0
    dist = betabinom(voters, quality * scale, (1 - quality) * scale) if correlation else binom(voters, quality)
    even = dist.pmf(voters // 2) / 2 if voters % 2 == 0 else 0.0
    assert jury(quality, voters, correlation) == pytest.approx(dist.sf(voters // 2) + even)


def test_limits() -> None:
    """Full correlation leaves a single voter; certainty stays; negative correlation counts as none."""
    assert jury(0.6, 99, 1.0) == 0.6
    assert jury(0.0, 5, 0.3) == 0
    assert jury(1.0, 5) == 1
    assert jury(0.7, 5, -0.2) == jury(0.7, 5)
    with pytest.raises(ValueError, match="no jury of 0"):
        jury(0.5, 0)


def test_a_planted_correlation_is_recovered_and_predicts_the_vote() -> None:
    """If items draw their difficulty from a beta, the correlated prediction meets the vote; independence does not."""
    rng = np.random.default_rng(0)
    quality, rho = 0.65, 0.3
    chance = rng.beta(quality * (1 - rho) / rho, (1 - quality) * (1 - rho) / rho, size=(40_000, 1))
    correct = rng.random((40_000, 9)) < chance
    theory, curve = condorcet(correct), vote_curve(correct, draws=1)
    assert theory.correlation[-1] == pytest.approx(rho, abs=0.01)
    assert theory.correlated == pytest.approx(curve.best, abs=0.01)
    assert theory.equal[-1] - curve.best[-1] > 0.1


def test_unlike_independent_voters_are_met() -> None:
    """Agents of unlike quality that err independently vote as the Poisson-binomial says."""
    rng = np.random.default_rng(1)
    correct = rng.random((40_000, 5)) < [0.9, 0.8, 0.6, 0.55, 0.5]
    theory, curve = condorcet(correct), vote_curve(correct, draws=1)
    assert theory.unlike == pytest.approx(curve.best, abs=0.01)
    assert theory.correlation[1:] == pytest.approx(np.zeros(4), abs=0.02)
    assert theory.quality == pytest.approx(np.cumsum(correct.mean(axis=0)) / np.arange(1, 6))


def test_fractional_cells_give_the_correlation_of_draws() -> None:
    """Two agents with the same cells of ¼ and ¾ have draws of correlation ¼, though the cells themselves have 1."""
    cells = np.repeat([[0.25, 0.25], [0.75, 0.75]], 10, axis=0)
    assert condorcet(cells).correlation[1] == pytest.approx(0.25)


def test_constant_agents_have_no_correlation() -> None:
    """A perfect agent has no correlation with anyone: NaN, and the prediction falls back on independence."""
    theory = condorcet([[1, 1, 0], [1, 0, 0], [1, 1, 0]])
    assert np.isnan(theory.correlation).tolist() == [True, True, True]
    assert theory.correlated.tolist() == theory.equal.tolist()
    with pytest.raises(ValueError, match="1 to 2 agents"):
        condorcet([[1, 0]], largest=3)


def test_perfectly_correlated_agents() -> None:
    """Copies have a correlation of 1, never a rounding error more, and their majority is as good as one of them."""
    for n in range(3, 30):
        alone = (np.arange(n) % 3 == 0).astype(float)
        theory = condorcet(np.column_stack([alone] * 3))
        assert theory.correlation[1:].tolist() == pytest.approx([1, 1])
        assert theory.correlated == pytest.approx([alone.mean()] * 3)
