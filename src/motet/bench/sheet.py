"""The figures of a run in columns: what every statistic is computed from, in 33 bytes an answer.

Texts stay in the journal, so a run of a hundred thousand tasks fits into little memory.

    >>> sheet = Sheet(("t1", "t2"))
    >>> sheet.add(Cell("t2", "a", 0, 1.0, "full"))
    >>> sheet.scores("a").tolist(), sheet.has("t1", "a", 0)
    ([nan, 1.0], False)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from motet.bench.cell import Cell
from motet.measure.arrays import Floats
from motet.message import Usage
from motet.score.versus import SWAYED

UNFIT: Final = 0.1
"""The share of failed or ungraded answers of an arm above which nothing should be concluded from it."""
STATES: Final = ("", "full", "degraded", "single", "abstained", "failed")
"""What became of an answer, by number; "" is one that is not there."""
MOST_REMARKS: Final = 100
"""Different remarks of an arm that are counted each by itself: some hold words of the question."""
OTHER_REMARKS: Final = "other remarks"


class Column:
    """One arm's answers: arrays of (tasks, draws).

    Attributes:
        scores: from 0 to 1; NaN where it was not graded, or is not there.
        states: numbers of `STATES`.
        seconds, calls, input, output, usd: what each answer would have taken alone.
        paid: what all of them took, and what they saved.
        kinds: how many failed, by the kind of failure.
        swayed: of how many the judge did not hold to its choice.
        remarks: on the way to how many something was noted, by its words.
    """

    __slots__ = ("calls", "input", "kinds", "output", "paid", "remarks", "scores", "seconds", "states", "swayed", "usd")

    def __init__(self, tasks: int, draws: int) -> None:
        shape = (tasks, draws)
        self.scores = np.full(shape, np.nan)
        self.states = np.zeros(shape, np.uint8)
        self.seconds = np.zeros(shape, np.float32)
        self.calls, self.input, self.output = (np.zeros(shape, np.int32) for _ in range(3))
        self.usd = np.zeros(shape)
        self.paid = Usage()
        self.kinds: Counter[str] = Counter()
        self.swayed = 0
        self.remarks: Counter[str] = Counter()

    def put(self, place: tuple[int, int], cell: Cell) -> None:
        """Write an answer down."""
        self.scores[place] = np.nan if cell.score is None else cell.score
        self.states[place] = STATES.index(cell.state)
        self.seconds[place] = cell.seconds
        used = cell.alone
        self.calls[place], self.input[place], self.output[place] = used.calls, used.input, used.output
        self.usd[place] = used.usd
        self.paid += cell.usage
        self.swayed += any(note.startswith(SWAYED) for note in cell.notes)
        for remark in cell.remarks:
            known = remark in self.remarks or len(self.remarks) < MOST_REMARKS
            self.remarks[remark if known else OTHER_REMARKS] += 1
        if cell.state == "failed":
            self.kinds[cell.kind or "other"] += 1

    @property
    def alone(self) -> Usage:
        """What all of them would have taken, each by itself."""
        return Usage(
            int(self.calls.sum()), int(self.input.sum()), output=int(self.output.sum()), usd=math.fsum(self.usd.flat)
        )

    @property
    def there(self) -> npt.NDArray[np.bool_]:
        """(tasks, draws): which answers are there."""
        return self.states > 0

    def count(self, state: str) -> int:
        """How many answers ended so."""
        return int((self.states == STATES.index(state)).sum())

    @property
    def unfit(self) -> bool:
        """Whether so much failed or has no grade that nothing should be concluded from it."""
        return self.count("failed") + self.ungraded > UNFIT * int(self.there.sum())

    @property
    def ungraded(self) -> int:
        """How many answers are there and could not be graded."""
        return int((self.there & np.isnan(self.scores)).sum())


class Sheet:
    """Tasks by arms by draws.

    Args:
        tasks: their ids.
        draws: how often each is put.
    """

    def __init__(self, tasks: Sequence[str], draws: int = 1) -> None:
        self.tasks, self.draws = tuple(tasks), draws
        self.columns: dict[str, Column] = {}
        self._place = {task: place for place, task in enumerate(self.tasks)}

    @classmethod
    def of(cls, cells: Iterable[Cell]) -> Sheet:
        """A sheet of cells at hand."""
        every = list(cells)
        sheet = cls(
            tuple(dict.fromkeys(cell.task for cell in every)), max((cell.draw for cell in every), default=0) + 1
        )
        for cell in every:
            sheet.add(cell)
        return sheet

    @property
    def arms(self) -> tuple[str, ...]:
        """Who answered, in the order in which they were added."""
        return tuple(self.columns)

    def arm(self, name: str) -> Column:
        """An arm's column, an empty one where there is none yet."""
        if name not in self.columns:
            self.columns[name] = Column(len(self.tasks), self.draws)
        return self.columns[name]

    def add(self, cell: Cell) -> None:
        """Add an answer."""
        self.arm(cell.arm).put((self._place[cell.task], cell.draw), cell)

    def fits(self, task: str, draw: int) -> bool:
        """Whether there is a place for an answer."""
        return task in self._place and draw < self.draws

    def has(self, task: str, arm: str, draw: int) -> bool:
        """Whether an answer is there."""
        column = self.columns.get(arm)
        return column is not None and bool(column.states[self._place[task], draw])

    @property
    def whole(self) -> bool:
        """Whether every answer is there."""
        return all(bool(column.there.all()) for column in self.columns.values())

    def right(self, arm: str) -> npt.NDArray[np.bool_]:
        """(tasks,) where an arm was right in at least half of its draws, or half right."""
        return np.nan_to_num(self.scores(arm)) >= 0.5

    def scores(self, arm: str) -> Floats:
        """(tasks,) an arm's mean score over the draws that were graded; NaN where none was."""
        scores = self.columns[arm].scores
        known = np.isfinite(scores)
        total = np.where(known, scores, 0).sum(axis=1)
        count = known.sum(axis=1)
        found: Floats = np.divide(total, count, out=np.full(len(self.tasks), np.nan), where=count > 0)
        return found
