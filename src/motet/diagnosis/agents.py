"""The agents one by one: how often each is right, how sure that and its rank are, and what it brings to the pool."""

from __future__ import annotations

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.diagnosis.text import between, figure, percent
from motet.measure.arrays import Floats
from motet.measure.bootstrap import bootstrap_means
from motet.measure.interval import Interval, percentile
from motet.measure.marginal import marginal
from motet.measure.ranks import rank_stability
from motet.measure.shapley import shapley_any_right, shapley_plurality
from motet.measure.wilson import wilson
from motet.page.page import Block, Rows, Words

SHOWN = 12
"""Agents in the table that people read; JSON has all."""


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One agent.

    `right` is its share right on the complete items, `own_right` on all `own_items` that it has a result for. `first`
    is how often it is the best one when the items are drawn again. `shapley` is its share in the oracle,
    `shapley_vote` that in the plurality vote of all, with the standard error of its sampling, and `alone` the share of
    items that nobody else has right. `cost` is the mean an item, null where none is recorded.
    """

    name: str
    family: str
    right: float
    interval: Interval
    own_right: float
    own_items: int
    first: float
    shapley: float
    shapley_vote: float | None
    shapley_vote_error: float | None
    alone: float
    cost: float | None
    tokens: float | None
    seconds: float | None


class Agents(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, best first."""

    agents: tuple[Agent, ...]


def examine(case: Case) -> Agents:
    """Compute it."""
    table, intervals = case.table, _intervals(case)
    right = case.correct.mean(axis=0)
    first = rank_stability(case.correct, seed=case.options.seed, resamples=case.options.resamples).first
    shares = shapley_any_right(case.correct)
    alone = marginal(case.correct)
    voting = None if case.votes is None else shapley_plurality(*case.votes, seed=case.options.seed)
    own = np.isfinite(case.whole.correct).sum(axis=0)
    return Agents(
        agents=tuple(
            Agent(
                name=name,
                family=table.families[j] if table.families else "",
                right=float(right[j]),
                interval=intervals[j],
                own_right=float(case.whole.accuracy()[j]),
                own_items=int(own[j]),
                first=float(first[j]),
                shapley=float(shares[j]),
                shapley_vote=None if voting is None else float(voting.value[j]),
                shapley_vote_error=None if voting is None else float(voting.error[j]),
                alone=float(alone[j]),
                cost=_mean(table.cost, j),
                tokens=_mean(table.tokens, j),
                seconds=_mean(table.seconds, j),
            )
            for j, name in enumerate(case.names)
        )
    )


def _intervals(case: Case) -> list[Interval]:
    """Wilson's, of counts; where cells are shares of samples, a bootstrap's over items."""
    correct, options = case.correct, case.options
    if np.isin(correct, (0, 1)).all():
        return [wilson(float(column.sum()), len(correct), options.level) for column in correct.T]
    means = bootstrap_means(correct, resamples=options.resamples, seed=options.seed)
    return [percentile(column, options.level) for column in means.T]


def _mean(values: Floats | None, column: int) -> float | None:
    if values is None or not np.isfinite(values[:, column]).any():
        return None
    return float(np.nanmean(values[:, column]))


def blocks(found: Agents) -> list[Block]:
    """Show it."""
    measures = [name for name in ("cost", "tokens", "seconds") if any(getattr(each, name) for each in found.agents)]
    columns = ("agent", "right", "95 %", "first", "only it", "Shapley", *measures)
    rows = [
        (
            agent.name,
            percent(agent.right),
            between(agent.interval),
            percent(agent.first),
            percent(agent.alone),
            percent(agent.shapley),
            *(figure(getattr(agent, name)) for name in measures),
        )
        for agent in found.agents[:SHOWN]
    ]
    shown: list[Block] = [Rows(columns, rows)]
    rest = len(found.agents) - SHOWN
    words = (
        "first: how often it is the best when the items are drawn again; only it: items that nobody else has right; "
        "Shapley: its share in what any of them has right"
    )
    shown.append(Words(words + (f"; {rest} more agents are in the JSON." if rest > 0 else "."), "note"))
    return shown
