"""Copies or a mixture: at an equal number of calls, is the best agent asked again worth more than others beside it?"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Final

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.diagnosis.text import between, figure, names, percent, points
from motet.measure.arrays import Floats, Ints
from motet.measure.committee import Objective, committee_right
from motet.measure.copies import Comparison, copies_or_mixture, mixing_gap
from motet.measure.correlation import disagreement, mean_pairwise
from motet.measure.interval import Interval
from motet.measure.ranking import by_mean
from motet.measure.regression import mixture_regression
from motet.page.page import Block, Rows, Words

TOLERANCE: Final = 0.05
"""How far apart the qualities of agents may be that are called matched."""

LEAST: Final = 20
"""Committees that a regression needs to mean anything: those of six agents."""

TRIPLES: Final = 500
"""Committees of three that the regression is fitted on at most, drawn at random where there are more."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """`k` calls to copies of one agent, against one call each to k agents; differences are mixture minus copies."""

    agents: tuple[str, ...]
    copies_vote: float
    mixture_vote: float
    vote_difference: float
    vote_interval: Interval
    copies_any_right: float
    mixture_any_right: float
    any_right_difference: float
    any_right_interval: Interval


class Regression(msgspec.Struct, frozen=True, kw_only=True):
    """A vote of three, by its members' mean quality and mean disagreement: standardised slopes and share explained."""

    committees: int
    quality: float
    diversity: float
    r2: float


class Mixture(msgspec.Struct, frozen=True, kw_only=True):
    """Quality or diversity.

    `best` sets copies of the best agent against the k best; `matched` lets agents of nearly one quality, the best that
    there are, stand against copies of themselves, so that only their difference counts. `break_even` is how much weaker
    an agent may be before every other seat given to it hurts. All three need single samples, and are null without.
    """

    k: int
    best: Budget | None
    matched: Budget | None
    break_even: float | None
    regression: Regression | None


def examine(case: Case) -> Mixture | None:
    """Compute it."""
    regression = _regression(case)
    drawn = _drawn(case)
    if drawn is None:
        return (
            None
            if regression is None
            else Mixture(k=0, best=None, matched=None, break_even=None, regression=regression)
        )
    chosen, correct, answers = drawn
    k = min(case.options.k, *correct.shape[1:])
    found = copies_or_mixture(
        correct, answers, k=k, tolerance=TOLERANCE, seed=case.options.seed, level=case.options.level
    )
    gap = mixing_gap(correct, answers, k=k, seed=case.options.seed)
    order = by_mean(found.quality)
    agents = [case.names[j] for j in chosen]
    return Mixture(
        k=k,
        best=_budget(found.best, [agents[j] for j in order[:k]]),
        matched=None if found.matched is None else _budget(found.matched, [agents[j] for j in found.pool]),
        break_even=float(gap.break_even),
        regression=regression,
    )


def _drawn(case: Case) -> tuple[Ints, Floats, Ints | None] | None:
    """The agents of which every item has the same number of single samples, two at least."""
    draws = case.table.draws
    if draws is None:
        return None
    counts = np.isfinite(draws.correct).sum(axis=2).min(axis=0)
    most = int(counts.max())
    chosen = np.flatnonzero(counts == most)
    if most < 2 or len(chosen) < 2:
        return None
    correct = draws.correct[:, chosen, :most]
    if not np.isin(correct, (0, 1)).all():
        return None
    answers = draws.answers[:, chosen, :most]
    return chosen.astype(np.int64), correct, answers if (answers >= 0).any() else None


def _budget(found: Comparison, agents: list[str]) -> Budget:
    return Budget(
        agents=tuple(agents),
        copies_vote=found.copies.vote,
        mixture_vote=found.mixture.vote,
        vote_difference=found.vote_gain,
        vote_interval=found.vote_interval,
        copies_any_right=found.copies.any_right,
        mixture_any_right=found.mixture.any_right,
        any_right_difference=found.any_right_gain,
        any_right_interval=found.any_right_interval,
    )


def _regression(case: Case) -> Regression | None:
    """Over votes of three, which counts for more: how good the members are, or how much they disagree."""
    m = len(case.names)
    if m < 4:
        return None
    if comb(m, 3) <= TRIPLES:
        triples = list(combinations(range(m), 3))
    else:
        rng = np.random.default_rng(case.options.seed)
        drawn = {tuple(sorted(rng.choice(m, 3, replace=False).tolist())) for _ in range(TRIPLES)}
        triples = sorted((a, b, c) for a, b, c in drawn)
    answers, gold = case.votes if case.votes is not None else (None, None)
    objective: Objective = "majority" if answers is None else "plurality"
    apart, quality = disagreement(case.correct), case.correct.mean(axis=0)
    result = [committee_right(each, case.correct, answers, gold, objective=objective).mean() for each in triples]
    spread = [mean_pairwise(apart[np.ix_(each, each)]) for each in triples]
    if len(triples) < LEAST:
        return None
    try:
        fit = mixture_regression(result, [quality[list(each)].mean() for each in triples], spread)
    except ValueError:  # agents alike in quality or in diversity: there is nothing to tell apart
        return None
    return Regression(
        committees=len(triples), quality=fit.quality_standard, diversity=fit.diversity_standard, r2=fit.r2
    )


def blocks(found: Mixture) -> list[Block]:
    """Show it."""
    shown: list[Block] = []
    rows = []
    for label, each in (("best agent, or the best", found.best), ("matched agents", found.matched)):
        if each is not None:
            rows += [
                (
                    f"{label} {len(each.agents)}: vote",
                    percent(each.copies_vote),
                    percent(each.mixture_vote),
                    f"{points(each.vote_difference)} {between(each.vote_interval)}",
                ),
                (
                    f"{label} {len(each.agents)}: any right",
                    percent(each.copies_any_right),
                    percent(each.mixture_any_right),
                    f"{points(each.any_right_difference)} {between(each.any_right_interval)}",
                ),
            ]
    if rows:
        shown.append(Rows((f"at {found.k} calls", "copies", "mixture", "difference, 95 %"), rows))
    if found.matched is not None:
        shown.append(Words(f"Matched, within 5 points of one another: {names(found.matched.agents)}.", "note"))
    if found.break_even is not None and np.isfinite(found.break_even):
        least = f"one that is more than {100 * found.break_even:.1f} points weaker"
        which = least if found.break_even >= 0.0005 else "any other"
        shown.append(
            Words(
                f"In a vote where the best agent has most of the seats, giving the rest to {which} lowers the result."
            )
        )
    if found.regression is not None:
        fit = found.regression
        shown.append(
            Words(
                f"Over {fit.committees} votes of three, one standard deviation more of the members' mean quality moves "
                f"the vote by {figure(fit.quality)} of its own, one more of their disagreement by "
                f"{figure(fit.diversity)} (R² {figure(fit.r2)})."
            )
        )
    return shown
