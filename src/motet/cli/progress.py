"""The line that says how far a run of bench is."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from motet.bench.cell import Cell
    from motet.bench.entrants import Entrant
    from motet.bench.sheet import Sheet


class Progress:
    """How far a run is, how fast, how good so far, what was spent, and what failed."""

    def __init__(
        self, total: int, earlier: int, limit: float | None, tell: Callable[[str], None], begin: Callable[[], None]
    ) -> None:
        self._total, self._earlier, self._limit, self._tell, self._begin = total, earlier, limit, tell, begin
        self._began = time.monotonic()
        self._done = self._graded = 0
        self._right = self._usd = 0.0
        self._failures: Counter[str] = Counter()

    def more(self, given: Callable[[Sheet], dict[str, Entrant]]) -> Callable[[Sheet], dict[str, Entrant]]:
        """The same, and what it adds is counted."""
        known: set[str] = set()

        def counted(sheet: Sheet) -> dict[str, Entrant]:
            found = given(sheet)
            self._total += len(found.keys() - known - set(sheet.columns)) * len(sheet.tasks) * sheet.draws
            known.update(found)
            return found

        return counted

    def watch(self, cell: Cell) -> None:
        """Count an answer."""
        from motet.diagnosis.text import between
        from motet.measure.wilson import wilson

        if not self._done:
            self._begin()
        self._done += 1
        self._usd += cell.usage.usd
        if cell.state == "failed":
            self._failures[cell.kind or "failed"] += 1
        if cell.score is not None:
            self._right, self._graded = self._right + cell.score, self._graded + 1
        fresh = self._done - self._earlier
        if fresh <= 0:  # what an earlier process did says nothing of how fast this one is
            self._began = time.monotonic()
            return
        rate = fresh / max(1e-9, time.monotonic() - self._began)
        goal = max(self._total, self._done)
        money = f"{self._usd:.4f} USD"
        if self._limit is not None:
            money += f", {max(0.0, self._limit - self._usd):.4f} left"
        share = between(wilson(self._right, self._graded)) if self._graded else ""
        self._tell(
            f"{self._done:,} of {goal:,}, {rate:.1f} a second, {(goal - self._done) / rate:.0f} s left; "
            f"{100 * self._right / max(1, self._graded):.1f} % right {share}, {money}"
            + "".join(f", {count} {kind}" for kind, count in sorted(self._failures.items()))
        )


@contextmanager
def progress(total: int, earlier: int, limit: float | None, begun: str) -> Iterator[Progress]:
    """A line on a terminal; elsewhere it is only said that it has begun, when there is a first answer."""
    from motet.cli import output

    if not output.animated():
        yield Progress(total, sys.maxsize, limit, lambda _: None, lambda: output.say(begun))
        return
    output.say(begun)
    with output.stderr().status(f"0 of {total:,}") as status:
        yield Progress(total, earlier, limit, status.update, lambda: None)
