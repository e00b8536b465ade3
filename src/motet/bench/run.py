"""A bench run in the journal: how it was asked for, its tasks, its answers; written as it goes, read by its name.

A run holds its own tasks, so that it can be shown, compared and exported when their file is gone. It is opened once or
often, and each time what was asked for is written down. An answer is known by who gave it: another configuration of
the same arm has answers of its own, and none of the others' count for it.

    >>> import asyncio, tempfile
    >>> from motet import ModelAgent, Scripted
    >>> from motet.bench.runner import run_suite
    >>> from motet.bench.suite import load_suite
    >>> from motet.journal import Journal
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(f"{folder.name}/journal.sqlite") as journal:
    ...     arms = {"always 4": ModelAgent(Scripted("4"), "always 4")}
    ...     sheet = asyncio.run(run_suite(load_suite("arithmetic", n=6), arms, journal=journal, name="first"))
    ...     run = read_run(journal, "first")
    ...     run.opening.suite, len(run.tasks), {cell.text for cell in run.cells()}
    ('arithmetic', 6, {'4'})
    >>> folder.cleanup()
"""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from motet.bench.cell import Cell
from motet.bench.sheet import Sheet
from motet.bench.task import Task
from motet.errors import MotetError, UsageError
from motet.journal import Journal

RESERVED: Final = frozenset({"last"})
"""Names that no run may have."""
KIND: Final = "bench"
"""What the journal calls these runs."""
OPENINGS: Final = "@"
"""Under which arm the openings of a run are kept; its tasks are kept under none."""
AGAIN: Final = "\t"
"""What parts the name under which an answer is kept from the number of the opening that asked for it again."""

Part = Literal["member", "mixture", "vote", "self-consistency", "placebo"]


class Arm(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who answers, as a run remembers it.

    Args:
        name: unique in its run.
        part: what it is there for: a `mixture` or an agent that was named, a `member` of those alone, or a baseline.
        key: of what it was made: its configuration and its models', how it is asked and graded, the seed.
        of: whose draws it votes on, or whose placebo it is.
        draws: how many it votes on.
    """

    name: str
    part: Part
    key: str
    of: str = ""
    draws: int = 0

    @property
    def kept_as(self) -> str:
        """Under which name its answers are kept."""
        return f"{' '.join(self.name.split())}@{self.key[:12]}"


class Opening(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a run was asked for, and on what.

    Args:
        suite: the suite's name; `licence` and `source` are its own.
        asking: a hash of all that decides how a task is asked and graded; `scorer` names the latter.
        instructions: what agents are told besides the question.
        tasks: how many.
        arms: who answers.
        seed: of the first draw.
        draws: how often each task is put.
        models: what each model is, by name.
        version: motet's.
        python, machine: where it ran.
        date: when, ISO 8601.
        command: the command line; "" where it was asked for in Python.
        chosen: the ids of its tasks, where the run holds more than these.
        judge: a hash of what the judge is made of; "" where there is none.
        again: whether answers that had failed were asked for again.
    """

    suite: str
    tasks: int
    arms: tuple[Arm, ...]
    seed: int = 0
    draws: int = 1
    asking: str = ""
    scorer: str = ""
    instructions: str = ""
    licence: str = ""
    source: str = ""
    models: Mapping[str, str] = {}
    version: str = ""
    python: str = ""
    machine: str = ""
    date: str = ""
    command: str = ""
    again: bool = False
    judge: str = ""
    chosen: tuple[str, ...] = ()


def here() -> dict[str, str]:
    """Where this runs and when, as an `Opening` has it."""
    from motet import __version__

    return {
        "version": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


@dataclass(frozen=True, eq=False)
class BenchRun:
    """A run that is kept.

    Args:
        name: its name.
        openings: every time it was opened, the first one first.
        tasks: what was asked, by id, in order.
    """

    journal: Journal
    name: str
    openings: tuple[Opening, ...]
    tasks: Mapping[str, Task]

    @property
    def opening(self) -> Opening:
        """The last time it was opened."""
        return self.openings[-1]

    @property
    def arms(self) -> dict[str, Arm]:
        """Who answers, by name."""
        return {arm.name: arm for arm in self.opening.arms}

    def cells(self) -> Iterator[Cell]:
        """The answers that count, in the order in which they came."""
        return (cell for cell in cells(self.journal, self.name, self.openings) if cell.task in self.tasks)

    def sheet(self) -> Sheet:
        """The figures, arms in the order of the opening."""
        sheet = Sheet(tuple(self.tasks), self.opening.draws)
        for arm in self.opening.arms:
            sheet.arm(arm.name)
        for cell in self.cells():
            sheet.add(cell)
        return sheet


def cells(journal: Journal, name: str, openings: Sequence[Opening]) -> Iterator[Cell]:
    """The answers of a run that count: those of its last opening's arms, of several to one question the last."""
    last = openings[-1]
    known = {arm.kept_as for arm in last.arms}
    newest: dict[tuple[str, str, int], str] = {}
    if any(opening.again for opening in openings):
        for record in journal.records(name):  # the last one written is the one that counts
            arm, mark, _ = record.arm.partition(AGAIN)
            if mark:
                newest[record.task, arm, record.draw] = record.arm
    for record in journal.records(name):
        arm = record.arm.partition(AGAIN)[0]
        if arm not in known or record.draw >= last.draws:
            continue
        if newest.get((record.task, arm, record.draw), record.arm) == record.arm:
            yield msgspec.json.decode(record.payload, type=Cell)


def read_run(journal: Journal, name: str) -> BenchRun:
    """A run by its name, or the beginning of one; `last` is the one that was written to last.

    Raises:
        UsageError: there is none, or several begin so.
    """
    runs = [run.name for run in journal.runs() if run.kind == KIND]
    if name in RESERVED and runs:
        found = [journal.newest(KIND) or runs[-1]]
    else:
        found = [run for run in runs if run == name] or [run for run in runs if run.startswith(name)]
    if not found:
        known = f"there are: {', '.join(runs[-5:])}" if runs else "none was made yet: motet bench general"
        raise UsageError(f"no run of bench is called {name!r}; {known}")
    if len(found) > 1:
        raise UsageError(f"{len(found)} runs begin with {name!r}: {', '.join(found[:5])}; say which")
    openings = openings_of(journal, found[0])
    if not openings:
        raise MotetError(f"the run {found[0]!r} ended before anything of it was kept: run it again")
    chosen = set(openings[-1].chosen)
    kept = (record for record in journal.records(found[0], "") if not chosen or record.task in chosen)
    tasks = {record.task: msgspec.json.decode(record.payload, type=Task) for record in kept}
    return BenchRun(journal, found[0], tuple(openings), tasks)


def answered(opening: Opening, counts: Mapping[str, int], arms: Collection[str] | None = None) -> int:
    """How many answers there are.

    Args:
        opening: the run's last.
        counts: results by what they are kept as (`Journal.counts`).
        arms: of whom; of all if None.
    """
    most = opening.tasks * opening.draws
    chosen = [arm.kept_as for arm in opening.arms if arms is None or arm.name in arms]
    return sum(
        min(most, sum(count for name, count in counts.items() if name.partition(AGAIN)[0] == kept)) for kept in chosen
    )


def openings_of(journal: Journal, name: str) -> list[Opening]:
    """Every time a run was opened, the first one first."""
    kept = {record.draw: record.payload for record in journal.records(name, OPENINGS)}
    return [msgspec.json.decode(kept[number], type=Opening) for number in sorted(kept)]
