"""A diagnosis: every section of it, the verdict, and what to be careful about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from types import ModuleType
from typing import Final

import msgspec

from motet.diagnosis import (
    agents,
    ceiling,
    committees,
    confidence,
    cost,
    difficulty,
    mixture,
    redundancy,
    repeats,
    votes,
)
from motet.diagnosis.cautions import Caution, cautions
from motet.diagnosis.options import Case, Options
from motet.diagnosis.verdict import verdict
from motet.errors import UsageError
from motet.page.page import Block, Section, Words
from motet.tables.table import Table

SECTIONS: Final[dict[str, tuple[ModuleType, str]]] = {
    "agents": (agents, "The agents"),
    "ceiling": (ceiling, "The ceiling"),
    "votes": (votes, "Votes"),
    "committees": (committees, "Committees"),
    "redundancy": (redundancy, "Who errs with whom"),
    "mixture": (mixture, "Copies of the best, or a mixture"),
    "cost": (cost, "Cost"),
    "repeats": (repeats, "Asked again"),
    "confidence": (confidence, "Confidence"),
    "difficulty": (difficulty, "Difficulty"),
}
"""The sections in the order they are shown: the name for `only`, the module, and the heading."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The table that was diagnosed. `items` are those the figures rest on, `dropped` those left out as incomplete."""

    source: str
    format: str
    items: int
    agents: int
    dropped: int
    missing: int
    rule: str
    notes: tuple[str, ...]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What a table says about mixing its agents. A section is null if it was not asked for, or can't be had from it."""

    verdict: tuple[str, ...]
    cautions: tuple[Caution, ...]
    about: About
    options: Options
    agents: agents.Agents | None = None
    ceiling: ceiling.Ceiling | None = None
    votes: votes.Votes | None = None
    committees: committees.Committees | None = None
    redundancy: redundancy.Redundancy | None = None
    mixture: mixture.Mixture | None = None
    cost: cost.Costs | None = None
    repeats: repeats.Repeats | None = None
    confidence: confidence.Confidence | None = None
    difficulty: difficulty.Difficulty | None = None

    def sections(self) -> list[Section]:
        """The diagnosis as people read it: the verdict, then what it rests on."""
        shown: list[Block] = [Words(line, "verdict") for line in self.verdict]
        shown += [Words(f"{each.text}", "warning") for each in self.cautions]
        shown += [Words(line, "note") for line in (self.summary(), *self.about.notes)]
        made = [Section("Verdict" if self.verdict else "The table", shown)]
        for name, (module, title) in SECTIONS.items():
            found = getattr(self, name)
            if found is not None:
                made.append(Section(title, module.blocks(found)))
        return made

    def summary(self) -> str:
        """The table in a sentence."""
        about = self.about
        if not about.items:
            return f"{about.agents:,} agents; no two of {about.dropped:,} items have a result for every agent."
        more = f"; {about.dropped:,} more had no result for some agent, and were left out" if about.dropped else ""
        return f"{about.items:,} items, {about.agents:,} agents{more}."


def diagnose(
    table: Table,
    options: Options | None = None,
    *,
    only: Sequence[str] = (),
    step: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """What a table says about mixing its agents.

    Args:
        table: outcomes; see `motet.tables.read`.
        options: how; the defaults of `Options`.
        only: names of `SECTIONS` that are computed; all that the table allows if empty.
        step: is told which section is being computed.

    Returns:
        The diagnosis.

    Raises:
        UsageError: `only` names no section, or too little of the table is left once incomplete items are left out.
    """
    options = options or Options()
    unknown = [name for name in only if name not in SECTIONS]
    if unknown:
        near = get_close_matches(unknown[0], SECTIONS, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(SECTIONS)}"
        raise UsageError(f"there is no section {unknown[0]!r}{hint}")
    whole = table.best_first()
    try:
        complete = whole.complete().best_first()
    except UsageError:
        if options.missing != "pairwise":
            raise
        case = Case(whole, whole, options, step, complete=False)
    else:
        case = Case(complete, whole.select(agents=list(complete.agents)), options, step)
    found: dict[str, object] = {}
    for name, (module, _) in SECTIONS.items():
        if (not only or name in only) and (case.complete or name == "redundancy"):
            step(name)
            found[name] = module.examine(case)
    items = len(case.table.items) if case.complete else 0
    about = About(
        source=table.source,
        format=table.format,
        items=items,
        agents=len(case.names),
        dropped=len(table.items) - items,
        missing=table.missing,
        rule=options.missing,
        notes=(*table.notes, *(f"nothing here to tell of {name}" for name in only if found.get(name) is None)),
    )
    made = msgspec.convert(
        {"verdict": (), "cautions": (), "about": about, "options": options, **found}, Diagnosis, from_attributes=True
    )
    return msgspec.structs.replace(made, verdict=verdict(made), cautions=cautions(made, case))
