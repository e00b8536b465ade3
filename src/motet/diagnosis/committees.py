"""Committees: the best pairs, triples and larger groups, by what they could answer and by what their vote answers."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from motet.measure.ranking import ranking
from motet.measure.transfer import committee_transfer
from motet.page.page import Block, Chart, Rows, Rule, Words

TOP: Final = 5
"""Committees of each size that are kept."""

EFFORT: Final = 0.1
"""Of the limits of an exact search: a report takes seconds, and a gap is stated where a committee may be missed."""

STEPS: Final = 8
"""Budgets at which the frontier of committees is looked at, and halvings towards the cheapest good one."""

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
    `same` is how often the same committee was chosen. Where all agents are the only choice, nothing was chosen, and
    what is of other items is null.
    """

    size: int
    objective: Literal["any_right", "plurality", "majority"]
    best: tuple[Committee, ...]
    exact: bool
    gap: float
    seen: float
    unseen: float | None
    advantage: float | None
    advantage_interval: Interval | None
    same: float


class Committees(msgspec.Struct, frozen=True, kw_only=True):
    """The best committees.

    `budget` is what one may cost an item, `single` the best agent's share right, `single_cost` what it costs.
    `frontier` holds the best committees by any-right at rising budgets, and `cheapest` the first of them with at least
    as many right as the best agent alone; both are empty without costs. `unpriced` are agents that were left out of
    them, and of all committees under a budget, since nothing is known of their costs.
    """

    sizes: tuple[Size, ...]
    frontier: tuple[Committee, ...]
    cheapest: Committee | None
    unpriced: tuple[str, ...]
    single_cost: float | None
    budget: float | None
    unit: str
    single: float
    oracle: float


def examine(case: Case) -> Committees:
    """Compute it."""
    costs, unit = _costs(case)
    options = case.options
    priced = np.isfinite(costs)
    if options.budget is not None and priced.sum() < 2:
        raise UsageError("a budget needs to know what agents cost: give --cost, or leave out --budget")
    columns = np.flatnonzero(priced) if options.budget is not None else np.arange(len(costs))
    prices = costs[columns] if priced[columns].all() else None
    agents = [case.names[j] for j in columns]
    correct = case.correct[:, columns]
    objectives: tuple[Objective, ...] = ("any_right", "majority" if case.votes is None else "plurality")
    answers, gold = case.votes if case.votes is not None else (None, None)
    answers = None if answers is None else answers[:, columns]
    sizes = []
    for objective in objectives:
        # A vote of two is the better one's answer, or a tie: nothing is chosen by looking for the best pair.
        for size in range(2 if objective == "any_right" else 3, min(options.k, len(agents)) + 1):
            case.step(f"committees of {size}, {LABELS[objective]}")
            limit = math.inf if options.budget is None else options.budget
            found = best_committees(
                correct,
                size,
                objective=objective,
                answers=answers,
                gold=gold,
                cost=prices,
                max_cost=limit,
                top=TOP,
                effort=EFFORT,
            )
            if not found.best:
                continue
            honest = (
                None
                if size == len(agents)
                else committee_transfer(
                    correct,
                    size,
                    objective=objective,
                    answers=answers,
                    gold=gold,
                    cost=prices,
                    max_cost=limit,
                    repeats=options.splits,
                    seed=options.seed,
                    level=options.level,
                    effort=EFFORT / options.splits,
                )
            )
            sizes.append(
                Size(
                    size=size,
                    objective=objective,
                    best=tuple(
                        Committee(
                            members=tuple(agents[j] for j in each.members),
                            right=each.quality,
                            cost=None if prices is None else each.cost,
                        )
                        for each in found.best
                    ),
                    exact=found.exact,
                    gap=found.gap,
                    seen=honest.in_sample if honest else found.best[0].quality,
                    unseen=honest.out_of_sample if honest else None,
                    advantage=honest.gain if honest else None,
                    advantage_interval=honest.gain_band if honest else None,
                    same=honest.agreement if honest else 1.0,
                )
            )
    if not sizes:
        assert prices is not None  # without a budget, some pair is always found
        raise UsageError(
            f"a budget of {figure(options.budget)} {unit} pays for no committee: the two cheapest agents cost "
            f"{figure(float(np.sort(prices)[:2].sum()))} an item"
        )
    single = int(ranking(case.correct)[0])
    frontier, cheapest = _frontier(case, costs, float(case.correct[:, single].mean()))
    return Committees(
        sizes=tuple(sizes),
        frontier=frontier,
        cheapest=cheapest,
        unpriced=tuple(name for name, known in zip(case.names, priced, strict=True) if not known)
        if priced.any()
        else (),
        single_cost=float(costs[single]) if priced[single] else None,
        budget=options.budget,
        unit=unit,
        single=float(case.correct[:, single].mean()),
        oracle=float(1 - (1 - case.correct).prod(axis=1).mean()),
    )


def _costs(case: Case) -> tuple[Floats, str]:
    """(m,) mean cost an item, of the dearest kind that is recorded, NaN where an agent's is not; and its unit."""
    for measure, unit in UNITS.items():
        values: Floats | None = getattr(case.table, measure)
        if values is not None and (known := np.isfinite(values)).any():
            total = np.where(known, values, 0).sum(axis=0)
            count = known.sum(axis=0)
            return np.where(count > 0, total / np.maximum(count, 1), np.nan), unit
    return np.full(len(case.names), np.nan), ""


def _frontier(case: Case, costs: Floats, single: float) -> tuple[tuple[Committee, ...], Committee | None]:
    """The best committees of at most three by any-right as the budget rises, and the cheapest as good as one agent."""
    columns = np.flatnonzero(np.isfinite(costs))
    if len(columns) < 2:
        return (), None
    correct, prices = case.correct[:, columns], costs[columns]

    def best(budget: float) -> Committee | None:
        found = [
            each
            for size in range(1, min(3, len(columns)) + 1)
            for each in best_committees(correct, size, cost=prices, max_cost=budget, top=1, effort=EFFORT / STEPS).best
        ]
        if not found:
            return None
        chosen = max(found, key=lambda each: (each.quality, -each.cost))
        members = tuple(case.names[columns[j]] for j in chosen.members)
        return Committee(members=members, right=chosen.quality, cost=chosen.cost)

    case.step("committees by cost")
    low, high = float(prices.min()), float(np.sort(prices)[-3:].sum())
    budgets = np.geomspace(low, high, STEPS) if low > 0 else np.linspace(low, high, STEPS)
    kept: list[Committee] = []
    cheapest: Committee | None = None
    below = low
    for budget in budgets.tolist():
        found = best(budget)
        if found is None or (kept and found.right <= kept[-1].right):
            below = budget if cheapest is None else below
            continue
        kept.append(found)
        if cheapest is None and found.right >= single:
            cheapest = _least(best, below, found, single)
        below = budget if cheapest is None else below
    return tuple(kept), cheapest


def _least(best: Callable[[float], Committee | None], below: float, found: Committee, single: float) -> Committee:
    """Bisection between a budget that buys too little and a committee that is good enough."""
    for _ in range(STEPS):
        middle = (below + (found.cost or 0.0)) / 2
        tried = best(middle)
        if tried is not None and tried.right >= single:
            found = tried
        else:
            below = middle
    return found


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
                f"{points(each.advantage)} {between(each.advantage_interval)}"
                if place == 0 and each.advantage is not None
                else "",
                *((figure(committee.cost),) if priced else ()),
            )
            for each in sizes
            for place, committee in enumerate(each.best[: 3 if each.size <= 3 else 1])
        ]
        what = "any right (needs a perfect judge)" if objective == "any_right" else "by vote"
        head = (what, "here", "on unseen", "over best single")
        shown.append(Rows((*head, *((f"{found.unit} an item",) if priced else ())), rows))
    words = (
        "on unseen: chosen on a random half of the items and scored on the other half, on average; over best single: "
        "the same minus the best single agent of that half, with the middle 95 % of halves."
    )
    for objective in dict.fromkeys(each.objective for each in found.sizes if not each.exact):
        inexact = [each for each in found.sizes if each.objective == objective and not each.exact]
        counts = names([str(each.size) for each in inexact])
        if objective == "any_right":
            most = 100 * max(each.gap for each in inexact)
            words += f" Not all committees of {counts} were tried: a better one could have {most:.1f} points more."
        else:
            words += f" Not all votes of {counts} were tried."
    if found.cheapest is not None and found.single_cost is not None and (found.cheapest.cost or 0) < found.single_cost:
        shown.append(
            Words(
                f"Cheapest that on these items has as much right between them as the best agent alone: "
                f"{' + '.join(found.cheapest.members)}, {percent(found.cheapest.right)} at "
                f"{figure(found.cheapest.cost)} instead of {figure(found.single_cost)} {found.unit} an item, "
                "if a perfect checker chooses."
            )
        )
    if found.unpriced:
        words += f" Without costs, and so left out where costs count: {names(found.unpriced)}."
    if found.budget is not None:
        words += f" Committees cost at most {figure(found.budget)} {found.unit} an item."
    shown.append(Words(words, "note"))
    series: list[tuple[float | str | None, ...]] = []
    for each in found.sizes:
        label = LABELS[each.objective]
        members = " + ".join(each.best[0].members)
        series.append((each.size, each.best[0].right, f"{label}, as chosen", members))
        if each.unseen is not None:
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
    if len(found.frontier) > 1:
        shown.append(
            Chart(
                name="committee-frontier",
                title="What committees could answer, by what they cost",
                about="The best committee of at most three by any-right at each budget. It needs somebody who knows "
                "which of the answers to take.",
                kind="points",
                columns=("x", "y", "label", "series", "joined"),
                rows=[(each.cost, each.right, " + ".join(each.members), "committee", True) for each in found.frontier],
                x=f"{found.unit} an item",
                y="any right",
                rules=(Rule(found.single, f"best single {percent(found.single)}"),),
                percent=("y",),
            )
        )
    return shown
