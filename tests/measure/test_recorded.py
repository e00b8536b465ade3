"""The measures on recorded results of real models: figures that were computed beforehand, independently of motet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from recorded import recorded

from motet.measure.ceiling import ceiling
from motet.measure.committee import best_committees
from motet.measure.copies import copies_or_mixture
from motet.measure.correlation import mean_pairwise, phi
from motet.measure.effective import design_effect, participation_ratio
from motet.measure.perfect import perfect_cascade, perfect_router
from motet.measure.plurality import as_ties
from motet.measure.vote_curve import vote_curve


@dataclass(frozen=True)
class Known:
    """A row of figures: shares in per cent, correlations as they are."""

    shape: tuple[int, int]
    best: float
    oracle: float
    all_wrong: int
    beta: tuple[float, float, float]
    rho: tuple[float, float]
    effective: tuple[float, float]


KNOWN = {
    "mmlu_pro": Known((5998, 28), 69.8, 94.2, 349, (5.8, 5.2, 6.4), (0.356, 0.423), (2.08, 3.78)),
    "zeroeval_math_l5": Known((369, 41), 88.9, 97.6, 9, (2.4, 1.1, 4.6), (0.331, 0.410), (2.13, 3.85)),
    "swebench_verified": Known((248, 123), 79.0, 92.7, 18, (7.3, 4.4, 11.2), (0.445, 0.682), (1.40, 1.92)),
    "swebench_lite": Known((153, 84), 58.2, 86.3, 21, (13.7, 8.7, 20.2), (0.439, 0.620), (1.52, 2.22)),
    "swebench_bash_only": Known((248, 27), 74.2, 87.1, 32, (12.9, 9.0, 17.7), (0.474, 0.642), (1.47, 2.11)),
    "bfcl_2024_08": Known((870, 71), 90.5, 97.8, 19, (2.2, 1.3, 3.4), (0.296, 0.593), (1.58, 2.37)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_ceiling_and_correlation(name: str) -> None:
    """Best single, oracle, beta with its interval, mean correlation, and both effective numbers of agents."""
    known, correct = KNOWN[name], recorded(name).correct
    assert correct.shape == known.shape
    found = ceiling(correct)
    assert found.all_wrong == known.all_wrong
    shares = (found.quality, found.oracle, found.beta, *found.beta_interval)
    assert [round(100 * share, 1) for share in shares] == [known.best, known.oracle, *known.beta]
    rho = phi(correct)
    assert (round(mean_pairwise(rho), 3), round(mean_pairwise(rho[:10, :10]), 3)) == known.rho
    ten = rho[:10, :10]
    assert (round(design_effect(ten), 2), round(participation_ratio(ten), 2)) == known.effective


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("mmlu_pro", {3: 71.7, 5: 69.5, 7: 69.2, 28: 59.7}),
        ("zeroeval_math_l5", {3: 92.1, 5: 90.2, 7: 85.4, 41: 72.6}),
        ("zeroeval_crux", {3: 98.5}),
    ],
)
def test_plurality_of_the_best(name: str, known: dict[int, float]) -> None:
    """Plurality of the k best agents."""
    table = recorded(name)
    curve = vote_curve(table.correct, table.answers, table.gold, draws=1).best
    assert {k: round(100 * float(curve[k - 1]), 1) for k in known} == known


@pytest.mark.parametrize(
    ("name", "quality", "members"),
    [
        ("mmlu_pro", 78.8, {"gemini-1.5-pro-002", "Meta-Llama-3_1-70B-Instruct"}),
        ("swebench_verified", 84.7, None),
    ],
)
def test_best_pair(name: str, quality: float, members: set[str] | None) -> None:
    """The pair that has most items right between them."""
    table = recorded(name)
    best = best_committees(table.correct, 2).best[0]
    assert round(100 * best.quality, 1) == quality
    if members is not None:
        assert {table.agents[j] for j in best.members} == members


def test_perfect_router_and_cascade() -> None:
    """On the agents with costs: the perfect router, and the cascade of two with a perfect checker."""
    table = recorded("swebench_bash_only")
    assert table.cost is not None
    priced = np.flatnonzero(np.isfinite(table.cost).all(axis=0))
    assert len(priced) == 24
    correct, cost = table.correct[:, priced], table.cost[:, priced]
    router = perfect_router(correct, cost)
    assert (round(100 * router.quality, 1), round(router.cost, 3)) == (86.7, 0.066)
    names = [table.agents[j] for j in priced]
    order = [
        next(j for j, name in enumerate(names) if name.startswith(start)) for start in ("DeepSeek V3.2", "Gemini 3")
    ]
    cascade = perfect_cascade(correct, cost, order)
    assert (round(100 * cascade.quality, 1), round(cascade.cost, 3)) == (77.8, 0.252)


def test_copies_against_different_models() -> None:
    """Five draws of one model, or one each of five that are as good: 50.0 and 52.6 by vote, 61.7 and 70.0 by any right.

    The pool: of the 31 runs with ten samples an item, those in the places 5 to 14 by quality (50.5 to 43.1 % right).
    Any right is exact, and 0.1 points at most from those figures. By vote copies are within 0.4 points; the mixture is
    53.2 where ties go to the better model and 51.9 where they are shared, 0.7 points at most to either side of 52.6:
    which rule that figure was counted by is not on record.
    """
    table = recorded("cruxeval_output")
    assert table.draws is not None
    whole = np.flatnonzero(np.isfinite(table.draws.correct).all(axis=(0, 2)))
    assert len(whole) == 31
    quality = table.draws.correct[:, whole].mean(axis=(0, 2))
    pool = whole[np.argsort(-quality, kind="stable")[4:14]]
    answers, correct = table.draws.answers[:, pool], table.draws.correct[:, pool]
    for ties, copies, mixture in (("best", 50.0, 53.2), ("expected", 48.9, 51.9)):
        found = copies_or_mixture(correct, answers, k=5, tolerance=0.08, ties=as_ties(ties)).matched
        assert found is not None
        assert 100 * found.copies.vote == pytest.approx(copies, abs=0.4)
        assert 100 * found.mixture.vote == pytest.approx(mixture, abs=0.2)
        assert abs(100 * found.mixture.vote - 52.6) < 0.8
        assert 100 * found.copies.any_right == pytest.approx(61.7, abs=0.1)
        assert 100 * found.mixture.any_right == pytest.approx(70.0, abs=0.1)
        assert found.vote_interval.low > 0
        assert found.any_right_interval.low > 0
