"""Committees: the best pairs, triples and larger groups, by what they could answer and by what their vote answers."""

from __future__ import annotations

import math
from typing import Final, Literal

import msgspec
import numpy as np

from motet.diagnosis.cost import UNITS
from motet.diagnosis.options import Case
from motet.diagnosis.text import between, figure, names, percent, points
from motet.errors import UsageError
from motet.measure.arrays import Floats
from motet.measure.committee import Objective, best_committees
from motet.measure.interval import Interval
from motet.measure.transfer import committee_transfer
from motet.page.page import Block, Chart, Rows, Rule, Words

TOP: Final = 5
"""Committees of each size that are kept."""

EFFORT: Final = 0.1
"""Of the limits of an exact search: a report takes seconds, and a gap is stated where a committee may be missed."""

LABELS: Final = {"any_right": "any right", "plurality": "vote", "majority": "vote"}


class Committee(msgspec.Struct, frozen=True, kw_only=True):
    """Some agents together: `right` on the items they were chosen on, `cost` the sum of theirs, null if unknown."""

    members: tuple[str, ...]
    right: float
    cost: float | None


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """The best committees of one size by one objective.

    `gap` is how much better than the first any other could be; 0 where the search was `exact`. `seen` and `unseen` are
    the means, over random halves, of what the best on one half reaches there and on the other half; `advantage` is
    `unseen` minus what the best single agent of the same half reaches on the other, with the middle 95 % of halves.
    `same` is how often the same committee was chosen.
    """

    size: int
    objective: Literal["any_right", "plurality", "majority"]
    best: tuple[Committee, ...]
    exact: bool
    gap: float
    seen: float
    unseen: float
    advantage: float
    advantage_interval: Interval
    same: float


class Committees(msgspec.Struct, frozen=True, kw_only=True):
    """The best committees. `budget` is what one may cost an item; `single` the best agent's share right."""

    sizes: tuple[Size, ...]
    budget: float | None
    unit: str
    single: float
    oracle: float


def examine(case: Case) -> Committees | None:
    """Compute it."""
    costs, unit = _costs(case)
    options = case.options
    if options.budget is not None and costs is None:
        raise UsageError("a budget needs to know what every agent costs: give --cost, or leave out --budget")
    objectives: tuple[Objective, ...] = ("any_right", "majority" if case.votes is None else "plurality")
    answers, gold = case.votes if case.votes is not None else (None, None)
    sizes = []
    for objective in objectives:
        # A vote of two is the better one's answer, or a tie: nothing is chosen by looking for the best pair.
        for size in range(2 if objective == "any_right" else 3, min(options.k, len(case.names)) + 1):
            case.step(f"committees of {size}, {LABELS[objective]}")
            limit = math.inf if options.budget is None else options.budget
            found = best_committees(
                case.correct,
                size,
                objective=objective,
                answers=answers,
                gold=gold,
                cost=costs,
                max_cost=limit,
                top=TOP,
                effort=EFFORT,
            )
            if not found.best:
                continue
            honest = committee_transfer(
                case.correct,
                size,
                objective=objective,
                answers=answers,
                gold=gold,
                cost=costs,
                max_cost=limit,
                repeats=options.splits,
                seed=options.seed,
                level=options.level,
                effort=EFFORT / options.splits,
            )
            sizes.append(
                Size(
                    size=size,
                    objective=objective,
                    best=tuple(
                        Committee(
                            members=tuple(case.names[j] for j in each.members),
                            right=each.quality,
                            cost=None if costs is None else each.cost,
                        )
                        for each in found.best
                    ),
                    exact=found.exact,
                    gap=found.gap,
                    seen=honest.in_sample,
                    unseen=honest.out_of_sample,
                    advantage=honest.gain,
                    advantage_interval=honest.gain_band,
                    same=honest.agreement,
                )
            )
    if not sizes:
        return None
    return Committees(
        sizes=tuple(sizes),
        budget=options.budget,
        unit=unit,
        single=float(case.correct.mean(axis=0).max()),
        oracle=float(1 - (1 - case.correct).prod(axis=1).mean()),
    )


def _costs(case: Case) -> tuple[Floats | None, str]:
    """(m,) mean cost an item, of the dearest kind that is recorded for every agent; and its unit."""
    for measure, unit in UNITS.items():
        values: Floats | None = getattr(case.table, measure)
        if values is not None and np.isfinite(values).any(axis=0).all():
            return np.nanmean(values, axis=0), unit
    return None, ""


def blocks(found: Committees) -> list[Block]:
    """Show it."""
    shown: list[Block] = []
    for objective in dict.fromkeys(each.objective for each in found.sizes):
        sizes = [each for each in found.sizes if each.objective == objective]
        priced = any(committee.cost is not None for each in sizes for committee in each.best[:1])
        rows = [
            (
                " + ".join(committee.members),
                percent(committee.right),
                percent(each.unseen) if place == 0 else "",
                f"{points(each.advantage)} {between(each.advantage_interval)}" if place == 0 else "",
                *((figure(committee.cost),) if priced else ()),
            )
            for each in sizes
            for place, committee in enumerate(each.best[: 3 if each.size <= 3 else 1])
        ]
        head = ("any right" if objective == "any_right" else "by vote", "here", "on unseen", "over best single")
        shown.append(Rows((*head, *((f"{found.unit} an item",) if priced else ())), rows))
    inexact = [each for each in found.sizes if not each.exact]
    words = (
        "on unseen: chosen on a random half of the items and scored on the other half, on average; over best single: "
        "the same minus the best single agent of that half, with the middle 95 % of halves."
    )
    if inexact:
        worst = max(inexact, key=lambda each: each.gap)
        counts = [str(size) for size in dict.fromkeys(each.size for each in inexact)]
        words += (
            f" The search for {names(counts)} members is not exhaustive: a better committee could exceed the best one "
            f"found by {100 * worst.gap:.1f} points at most."
        )
    if found.budget is not None:
        words += f" Committees cost at most {figure(found.budget)} {found.unit} an item."
    shown.append(Words(words, "note"))
    series: list[tuple[float | str | None, ...]] = []
    for each in found.sizes:
        label = LABELS[each.objective]
        members = " + ".join(each.best[0].members)
        series.append((each.size, each.best[0].right, f"{label}, as chosen", members))
        series.append((each.size, each.unseen, f"{label}, on unseen items", members))
    series += [(1, found.single, label, "best single") for label in dict.fromkeys(str(line[2]) for line in series)]
    shown.append(
        Chart(
            name="committees",
            title="The best committee of each size",
            about="What any of its members has right, and what its vote answers; where it was chosen and elsewhere.",
            kind="lines",
            columns=("x", "y", "series", "members"),
            rows=sorted(series, key=lambda line: (str(line[2]), float(line[0] or 0))),
            x="members",
            y="right",
            rules=(Rule(found.oracle, f"ceiling {percent(found.oracle)}"),),
            percent=("y",),
        )
    )
    return shown
