"""What a diagnosis is asked for, and what it works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from motet.measure.arrays import Floats, Ints
from motet.tables.table import Table


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a table is diagnosed.

    Args:
        k: members of the largest committee that is looked for.
        budget: what a committee may cost an item, in the unit of the costs; no limit if None.
        missing: `complete` leaves out the items that some agent has no result for; `pairwise` lets correlations use
            the items that each pair has, and leaves them out for whatever is about all agents at once.
        seed: of whatever is drawn at random.
        level: the nominal coverage of intervals.
        splits: how often committees are chosen on one half and scored on the other.
        resamples: bootstrap draws.
    """

    k: int = 5
    budget: float | None = None
    missing: str = "complete"
    seed: int = 0
    level: float = 0.95
    splits: int = 20
    resamples: int = 1000


@dataclass(frozen=True, eq=False)
class Case:
    """A table made ready: complete, its agents best first, and its right and wrong cells.

    Args:
        table: the complete items, agents best first.
        whole: the table with its gaps, agents in the same order.
        options: how it is diagnosed.
        step: is told what is being computed.
        complete: whether there are complete items at all; if not, `table` has the gaps too, and only what looks at
            pairs can be computed.
    """

    table: Table
    whole: Table
    options: Options
    step: Callable[[str], None] = lambda _: None
    complete: bool = True

    @property
    def correct(self) -> Floats:
        """(n, m)."""
        return self.table.correct

    @property
    def names(self) -> tuple[str, ...]:
        """The m agents, best first."""
        return self.table.agents

    @property
    def votes(self) -> tuple[Ints, Ints] | None:
        """Answers and right answers, where plurality can be counted."""
        if self.table.answers is None or self.table.gold is None:
            return None
        return self.table.answers, self.table.gold
