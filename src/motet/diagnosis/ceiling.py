"""The ceiling: how much any router, vote or cascade could add, and how that compares with what correlation predicts."""

from __future__ import annotations

from typing import Final

import msgspec

from motet.diagnosis.options import Case
from motet.diagnosis.text import between, figure, percent, points
from motet.measure.ceiling import ceiling
from motet.measure.copula import full_copula, underpricing
from motet.measure.interval import Interval
from motet.page.page import Block, Rows, Words

SMALL: Final = 30
"""Agents for which beta is predicted from every pair's own correlation too, by simulation."""


class Ceiling(msgspec.Struct, frozen=True, kw_only=True):
    """What bounds every combination whose answer is a member's answer.

    `beta` is the share of items that all agents have wrong, `gain` the most that a combination adds to the best single.
    `ever_oracle` counts an item as solvable if any sample of any agent was right. `predicted_beta` is what a single
    factor with the mean tetrachoric correlation predicts, `full_copula_beta` what every pair's own does (for at most 30
    agents), and `underpricing` the observed beta over the first; null where cells are shares of samples, which have no
    such correlation.
    """

    best: str
    best_quality: float
    best_interval: Interval
    oracle: float
    all_wrong: float
    beta: float
    beta_interval: Interval
    gain: float
    gain_interval: Interval
    exact: bool
    ever_oracle: float
    independent_beta: float
    predicted_beta: float | None
    full_copula_beta: float | None
    underpricing: float | None
    underpricing_interval: Interval | None
    unsolved: tuple[str, ...]


def examine(case: Case) -> Ceiling:
    """Compute it."""
    options = case.options
    found = ceiling(case.correct, level=options.level, seed=options.seed)
    priced = underpricing(case.correct, level=options.level, seed=options.seed) if found.exact else None
    nobody = case.correct.max(axis=1) == 0
    return Ceiling(
        best=case.names[found.best],
        best_quality=found.quality,
        best_interval=found.quality_interval,
        oracle=found.oracle,
        all_wrong=found.all_wrong,
        beta=found.beta,
        beta_interval=found.beta_interval,
        gain=found.gain,
        gain_interval=found.gain_interval,
        exact=found.exact,
        ever_oracle=float(1 - nobody.mean()),
        independent_beta=float((1 - case.correct.mean(axis=0)).prod()),
        predicted_beta=priced.predicted if priced else None,
        full_copula_beta=full_copula(case.correct, seed=options.seed).beta if priced and found.m <= SMALL else None,
        underpricing=priced.ratio if priced else None,
        underpricing_interval=priced.ratio_interval if priced else None,
        unsolved=tuple(item for item, lost in zip(case.table.items, nobody, strict=True) if lost),
    )


def blocks(found: Ceiling) -> list[Block]:
    """Show it."""
    lost = f"{figure(found.all_wrong)} items" + ("" if found.exact else ", expected")
    rows = [
        ("best single", percent(found.best_quality), between(found.best_interval), found.best),
        (
            "any right (oracle)",
            percent(found.oracle),
            between(_flipped(found.beta_interval)),
            "no vote, router or cascade exceeds it",
        ),
        (
            "all wrong (beta)",
            percent(found.beta),
            between(found.beta_interval),
            lost,
        ),
        ("most that can be gained", points(found.gain), between(found.gain_interval), "over the best single"),
        ("beta if independent", percent(found.independent_beta), "", "if errors had nothing to do with one another"),
    ]
    if found.underpricing is not None and found.underpricing_interval is not None:
        low, high = found.underpricing_interval
        note = f"observed: {figure(found.underpricing)} times this [{figure(low)}, {figure(high)}]"
        rows.append(("beta by mean correlation", percent(found.predicted_beta), "", note))
    if found.full_copula_beta is not None:
        rows.append(("beta by every correlation", percent(found.full_copula_beta), "", "every pair's own, simulated"))
    shown: list[Block] = [Rows(("ceiling", "share", "95 %", ""), rows)]
    if not found.exact:
        shown.append(
            Words(
                "Cells are shares of several samples: the figures are those of one sample each. An item that any "
                f"sample of any agent got right counts as solvable for {percent(found.ever_oracle)} of items.",
                "note",
            )
        )
    return shown


def _flipped(interval: Interval) -> Interval:
    return Interval(1 - interval.high, 1 - interval.low)
