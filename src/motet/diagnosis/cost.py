"""Cost: what quality costs, which agents nobody should pay for, and what a perfect choice of agents would save."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.diagnosis.text import between, figure, percent, points
from motet.measure.arrays import Floats
from motet.measure.bootstrap import bootstrap_difference
from motet.measure.frontier import aiq, equal_quality, hull, pareto
from motet.measure.interval import Interval
from motet.measure.perfect import perfect_router
from motet.measure.ranking import by_mean
from motet.page.page import Block, Chart, Rows, Words

UNITS: Final = {"cost": "USD", "tokens": "tokens", "seconds": "s"}
"""What is measured, dearest first, and its unit."""


class Priced(msgspec.Struct, frozen=True, kw_only=True):
    """An agent with its mean cost an item, and whether no other is both cheaper and at least as good."""

    name: str
    right: float
    cost: float
    frontier: bool
    hull: bool


class Equal(msgspec.Struct, frozen=True, kw_only=True):
    """The cheapest agent that is not shown to be worse than the best, and its difference to the best."""

    name: str
    right: float
    cost: float
    difference: float
    interval: Interval


class Cascade(msgspec.Struct, frozen=True, kw_only=True):
    """Agents asked in this order until one is right, as a perfect checker would; every one asked is paid."""

    agents: tuple[str, ...]
    right: float
    cost: float


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Quality against one kind of cost. `left_out` are agents without any recorded cost.

    `mix_cost` is what the cheapest random mix of the other agents costs at the best one's quality, null where none
    reaches it. `aiq` is RouterBench's average improvement in quality over the range of costs. The perfect router takes,
    for each item, the cheapest agent that has it right; `perfect_cost` is what it pays.
    """

    measure: str
    unit: str
    items: int
    agents: tuple[Priced, ...]
    left_out: tuple[str, ...]
    best: str
    best_quality: float
    best_cost: float
    equal: Equal | None
    aiq: float
    mix_cost: float
    mix_interval: Interval
    perfect_quality: float
    perfect_cost: float
    cascades: tuple[Cascade, ...]


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """One entry for each kind of cost that is recorded, dearest kind first."""

    measures: tuple[Cost, ...]


def examine(case: Case) -> Costs | None:
    """Compute it."""
    found = []
    for measure, unit in UNITS.items():
        values: Floats | None = getattr(case.table, measure)
        made = _priced(case, measure, unit, values) if values is not None else None
        if made is not None:
            found.append(made)
    return Costs(measures=tuple(found)) if found else None


def _priced(case: Case, measure: str, unit: str, values: Floats) -> Cost | None:
    known = np.isfinite(values)
    # An agent with next to no recorded cost would leave no item that all have one for.
    columns = np.flatnonzero(known.mean(axis=0) >= 0.5)
    if len(columns) < 2:
        return None
    rows = np.flatnonzero(known[:, columns].all(axis=1))
    if len(rows) < 2:
        return None
    correct, cost = case.correct[np.ix_(rows, columns)], values[np.ix_(rows, columns)]
    names = [case.names[j] for j in columns]
    right, mean = correct.mean(axis=0), cost.mean(axis=0)
    best = int(by_mean(right)[0])
    frontier, corners = set(pareto(right, mean).tolist()), set(hull(right, mean).tolist())
    mix = equal_quality(correct, cost, best, level=case.options.level, seed=case.options.seed)
    router = perfect_router(correct, cost)
    return Cost(
        measure=measure,
        unit=unit,
        items=len(rows),
        agents=tuple(
            Priced(name=name, right=float(right[j]), cost=float(mean[j]), frontier=j in frontier, hull=j in corners)
            for j, name in enumerate(names)
        ),
        left_out=tuple(case.names[j] for j in range(len(case.names)) if j not in set(columns.tolist())),
        best=names[best],
        best_quality=float(right[best]),
        best_cost=float(mean[best]),
        equal=_equal(correct, mean, names, best, case.options.seed),
        aiq=aiq(right, mean),
        mix_cost=mix.mixed,
        mix_interval=mix.interval,
        perfect_quality=router.quality,
        perfect_cost=router.cost,
        cascades=_cascades(correct, cost, names),
    )


def _equal(correct: Floats, mean: Floats, names: list[str], best: int, seed: int) -> Equal | None:
    for j in np.argsort(mean, kind="stable"):
        if j == best:
            return None
        apart = correct[:, j] - correct[:, best]
        if apart.mean() + 5 * apart.std() / np.sqrt(len(apart)) < 0:
            continue  # five standard errors below: no resampling is needed to tell
        found = bootstrap_difference(correct[:, j], correct[:, best], seed=seed)
        if found.interval.high >= 0:
            return Equal(
                name=names[j],
                right=float(correct[:, j].mean()),
                cost=float(mean[j]),
                difference=found.value,
                interval=found.interval,
            )
    return None


def _cascades(correct: Floats, cost: Floats, names: list[str]) -> tuple[Cascade, ...]:
    """The pairs, the cheaper one first, that no other pair beats at both quality and cost."""
    wrong, mean = 1 - correct, cost.mean(axis=0)
    paid = mean[:, None] + wrong.T @ cost / len(correct)  # the second is paid for what the first has wrong
    right = 1 - wrong.T @ wrong / len(correct)
    firsts, seconds = np.nonzero(mean[:, None] < mean[None, :])
    kept: list[Cascade] = []
    for place in np.lexsort((-right[firsts, seconds], paid[firsts, seconds])):
        i, j = int(firsts[place]), int(seconds[place])
        if not kept or right[i, j] > kept[-1].right:
            kept.append(Cascade(agents=(names[i], names[j]), right=float(right[i, j]), cost=float(paid[i, j])))
    return tuple(kept)


def blocks(found: Costs) -> list[Block]:
    """Show it."""
    return [block for each in found.measures for block in _blocks(each)]


def _blocks(found: Cost) -> list[Block]:
    worth = [agent for agent in found.agents if agent.frontier]
    rows = [
        (agent.name, percent(agent.right), figure(agent.cost)) for agent in sorted(worth, key=lambda agent: agent.cost)
    ]
    bounds = [(" then ".join(each.agents), percent(each.right), figure(each.cost)) for each in found.cascades[-3:]]
    bounds.append(("perfect router", percent(found.perfect_quality), figure(found.perfect_cost)))
    dearer = len(found.agents) - len(worth)
    words = (
        "A perfect router makes one call an item, to the cheapest agent that has it right; a cascade may ask again. "
        if found.cascades
        else ""
    )
    words += f"{dearer} of {len(found.agents)} agents are dearer and no better than another. " if dearer else ""
    words += f"Area under the frontier's hull (AIQ): {figure(found.aiq)}. {found.items:,} items have all costs"
    words += f"; without costs, and left out: {', '.join(found.left_out)}." if found.left_out else "."
    shown: list[Block] = [
        Rows(("worth their price", "right", f"{found.unit} an item"), rows),
        Rows(("with a perfect checker", "right", f"{found.unit} an item"), bounds),
        Words(words, "note"),
    ]
    if found.equal is not None:
        shown.append(
            Words(
                f"Cheapest that is not shown to be worse than {found.best}: {found.equal.name}, "
                f"{points(found.equal.difference)} {between(found.equal.interval)} points, at "
                f"{figure(found.equal.cost)} instead of {figure(found.best_cost)} {found.unit}."
            )
        )
    dots = [
        (agent.cost, agent.right, agent.name, "worth its price" if agent.frontier else "agent", agent.frontier)
        for agent in found.agents
    ]
    dots += [
        (each.cost, each.right, " then ".join(each.agents), "perfect cascade of two", False) for each in found.cascades
    ]
    dots.append((found.perfect_cost, found.perfect_quality, "perfect router", "perfect router", False))
    costs = [each[0] for each in dots]
    shown.append(
        Chart(
            name=f"frontier-{found.measure}",
            title=f"Quality against {found.unit}",
            about="The line is the frontier: agents that no other one beats at both. Above it lies what a perfect "
            "router or a cascade with a perfect checker would reach; a real one lies below.",
            kind="points",
            columns=("x", "y", "label", "series", "joined"),
            rows=dots,
            x=f"{found.unit} an item",
            y="right",
            percent=("y",),
            logarithmic=min(costs) > 0 and max(costs) > 20 * min(costs),
        )
    )
    return shown
