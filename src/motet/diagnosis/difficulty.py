"""Difficulty: how many agents solve each item, and which agents solve the hard ones."""

from __future__ import annotations

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.page.page import Block, Chart, Words

BANDS = 10
"""Bands of difficulty, each with as many items as the next, in which agents are compared."""


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """Items of like difficulty: the mean share of agents that solve them, and the share that each agent solves."""

    items: int
    solved: float
    right: tuple[float, ...]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One item: how many agents have it right, and which ones if they are three or fewer."""

    id: str
    solvers: float
    only: tuple[str, ...]


class Difficulty(msgspec.Struct, frozen=True, kw_only=True):
    """Who solves what. `counts[k]` items are solved by k agents; bands go from the hardest to the easiest.

    Where cells are shares of samples, not `exact`, solvers are counted by expectation, and rounded for `counts`.
    """

    agents: tuple[str, ...]
    exact: bool
    counts: tuple[int, ...]
    bands: tuple[Band, ...]
    items: tuple[Item, ...]


def examine(case: Case) -> Difficulty:
    """Compute it."""
    correct, names = case.correct, case.names
    solvers = correct.sum(axis=1)
    order = np.argsort(solvers, kind="stable")
    parts = [part for part in np.array_split(order, BANDS) if part.size]
    return Difficulty(
        agents=names,
        exact=bool(np.isin(correct, (0, 1)).all()),
        counts=tuple(np.bincount(np.round(solvers).astype(int), minlength=len(names) + 1).tolist()),
        bands=tuple(
            Band(
                items=len(part),
                solved=float(correct[part].mean()),
                right=tuple(np.round(correct[part].mean(axis=0), 6).tolist()),
            )
            for part in parts
        ),
        items=tuple(
            Item(
                id=case.table.items[i],
                solvers=float(solvers[i]),
                only=tuple(names[j] for j in np.flatnonzero(correct[i] > 0)) if 0 < (correct[i] > 0).sum() <= 3 else (),
            )
            for i in order
        ),
    )


def blocks(found: Difficulty) -> list[Block]:
    """Show it."""
    m = len(found.agents)
    nobody, one, everyone = found.counts[0], found.counts[1], found.counts[m]
    total = sum(found.counts)
    heat = [
        (f"{place + 1}", name, right)
        for place, band in enumerate(found.bands)
        for name, right in zip(found.agents, band.right, strict=True)
    ]
    return [
        Words(
            f"Of {total:,} items, {nobody:,} are solved by nobody, {one:,} by one agent alone, {everyone:,} by all {m}"
            + ("." if found.exact else ", by the number expected to, rounded, as cells are shares of samples.")
        ),
        Chart(
            name="difficulty",
            title="How many agents solve an item",
            about="Items by the number of agents that have them right"
            + (". Those at 0 are lost to every vote and router." if found.exact else ", rounded."),
            kind="bars",
            columns=("x", "y"),
            rows=list(enumerate(found.counts)),
            x="agents that have it right",
            y="items",
        ),
        Chart(
            name="solves",
            title="Who solves what",
            about=f"The share each agent has right in {len(found.bands)} bands of items, the hardest on the left; "
            "agents best first. An agent that is bright where those above it are dark knows something they don't.",
            kind="heat",
            columns=("x", "y", "value"),
            rows=heat,
            y="right",
            percent=("value",),
        ),
    ]
