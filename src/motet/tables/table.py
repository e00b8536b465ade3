"""A table of outcomes: what each agent did on each item, from whatever file, checked once.

Axis 0 is always items, axis 1 always agents; `motet.measure.arrays` says what the values mean. Every figure that
`motet.measure` computes takes these arrays.

    >>> import numpy as np
    >>> table = Table(("q1", "q2"), ("a", "b"), np.array([[1.0, 0.0], [1.0, np.nan]]))
    >>> table.missing, table.accuracy().tolist()
    (1, [1.0, 0.0])
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from motet.errors import UsageError
from motet.measure.arrays import NONE, UNKNOWN, Floats, Ints
from motet.measure.ranking import by_mean

CELLS: Final = 50_000_000
"""Items times agents (times draws, where single draws are recorded) that a table holds at most: 400 MB an array."""


class Draws(NamedTuple):
    """Single samples, where they are recorded: `s` slots a cell, filled from the front.

    Attributes:
        answers: (n, m, s) numbers as in `Table.answers`; NONE in empty slots, and everywhere if none are recorded.
        correct: (n, m, s); NaN in empty slots.
    """

    answers: Ints
    correct: Floats


@dataclass(frozen=True, eq=False)
class Table:
    """Outcomes of `m` agents on `n` items.

    Args:
        items: their n ids, no two alike.
        agents: their m names, no two alike.
        correct: (n, m) from 0 wrong to 1 right; NaN where it is not recorded.
        answers: (n, m) a number for each distinct answer, NONE for none.
        gold: (n,) the number of the right answer; UNKNOWN where no agent gave it.
        answer_texts: the text of each answer, by number.
        samples: (n, m) how many draws a cell averages; 0 where nothing is recorded.
        cost: (n, m) USD a draw, NaN where it is not recorded.
        tokens: (n, m) tokens in and out a draw, likewise.
        seconds: (n, m) seconds a draw, likewise.
        families: which family of models each agent is of; "" where nobody says.
        topics: what each item is about, likewise.
        confidence: (n, m) from 0 to 1, how sure the agent said it was; NaN where it did not.
        draws: the single draws behind the averages.
        source: the file or folder it was read from.
        format: which format that was.
        notes: what was guessed, left out, or read in some way that has to be said: for the user's eyes, one line each.

    Raises:
        UsageError: fewer than two items or agents, names that are blank or alike, shapes or values that are none of
            these, or no result at all.
    """

    items: tuple[str, ...]
    agents: tuple[str, ...]
    correct: Floats
    answers: Ints | None = None
    gold: Ints | None = None
    answer_texts: tuple[str, ...] = ()
    samples: Ints | None = None
    cost: Floats | None = None
    tokens: Floats | None = None
    seconds: Floats | None = None
    families: tuple[str, ...] | None = None
    topics: tuple[str, ...] | None = None
    confidence: Floats | None = None
    draws: Draws | None = None
    source: str = ""
    format: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        where = f"{self.source}: " if self.source else ""
        problem = next(iter(self._problems()), None)
        if problem:
            raise UsageError(where + problem)

    def _problems(self) -> list[str]:
        """What is wrong, one line each; shapes are checked first, as what follows relies on them."""
        n, m = len(self.items), len(self.agents)
        if not n or not m:
            return [f"no {'agents' if n else 'items'} in it; a table needs at least two of each"]
        if m < 2:
            return [f"only {self.agents[0]!r}: one agent cannot be mixed; a table needs at least two agents"]
        if n < 2:
            return [f"only {self.items[0]!r}: one item cannot tell agents apart; a table needs at least two items"]
        wrong = [*_names("item", self.items), *_names("agent", self.agents)]
        if n * m > CELLS:
            wrong.append(f"{n:,} items by {m:,} agents is more than {CELLS:,} cells; split it by items")
        for name, shape in self._shapes(n, m):
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                wrong.append(f"`{name}` has the shape {np.shape(value)}; {n} items and {m} agents need {shape}")
        if wrong:
            return wrong
        if np.isnan(self.correct).all():
            return ["no cell holds a result: all of them are empty"]
        wrong += self._outside("correct", 1.0) + self._outside("confidence", 1.0)
        for name in ("cost", "tokens", "seconds"):
            wrong += self._outside(name, float("inf"))
        if self.answers is not None and self.answers.min() < NONE:
            wrong.append(
                f"an answer's number is at least 0, or {NONE} for none; the least here is {self.answers.min()}"
            )
        if self.gold is not None:
            if self.answers is None:
                wrong.append("`gold` without `answers`: give both, or neither")
            if bool(((self.gold < UNKNOWN) | (self.gold == NONE)).any()):
                wrong.append(f"a right answer's number is at least 0, or {UNKNOWN} where no agent gave it")
        if self.samples is not None and (self.samples < 0).any():
            wrong.append("a cell can't average less than no draws")
        if self.draws is not None and (
            self.draws.answers.shape != self.draws.correct.shape or self.draws.correct.shape[:2] != (n, m)
        ):
            wrong.append(f"draws have the shapes {self.draws.answers.shape} and {self.draws.correct.shape}")
        return wrong

    def _shapes(self, n: int, m: int) -> list[tuple[str, tuple[int, ...]]]:
        cells = [(name, (n, m)) for name in ("correct", *_MATRICES)]
        return [*cells, ("gold", (n,)), ("topics", (n,)), ("families", (m,))]

    def _outside(self, name: str, most: float) -> list[str]:
        """A value below 0 or above `most`, or an infinite one."""
        values: Floats | None = getattr(self, name)
        if values is None:
            return []
        with np.errstate(invalid="ignore"):
            bad = (values < 0) | (values > most) | np.isinf(values)
        if not bad.any():
            return []
        row, column = np.argwhere(bad)[0]
        limits = "between 0 and 1" if most == 1 else "not negative, and finite"
        return [
            f"{name} is {limits}; item {self.items[row]!r}, agent {self.agents[column]!r} has {values[row, column]:g}"
        ]

    @property
    def missing(self) -> int:
        """How many cells hold no result."""
        return int(np.isnan(self.correct).sum())

    def accuracy(self) -> Floats:
        """(m,) the mean correctness of each agent over the items it has results for; NaN for one without any."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # an agent without results: NaN is the answer
            means: Floats = np.nanmean(self.correct, axis=0)
        return means

    def ranking(self) -> Ints:
        """(m,) the columns, best agent first: by mean correctness, ties in column order, those without results last."""
        return by_mean(self.accuracy())

    def best_first(self) -> Table:
        """The same table with its agents in the order of `ranking`.

        >>> table = Table(("q1", "q2"), ("worst", "best"), np.array([[0.0, 1.0], [0.0, 1.0]]))
        >>> table.best_first().agents
        ('best', 'worst')
        """
        return self.select(agents=self.ranking().tolist())

    def complete(self) -> Table:
        """The items that every agent has a result for; a note says how many were left out.

        Raises:
            UsageError: fewer than two items are complete.

        >>> table = Table(("q1", "q2", "q3"), ("a", "b"), np.array([[1, 0], [1, np.nan], [0, 1]]))
        >>> table.complete().items
        ('q1', 'q3')
        """
        whole = ~np.isnan(self.correct).any(axis=1)
        kept, n = int(whole.sum()), len(self.items)
        if kept == n:
            return self
        if kept < 2:
            fewest = int(np.isnan(self.correct).sum(axis=0).argmax())
            raise UsageError(
                f"{self.source}: {kept} of {n} items have a result for every agent, and two are needed; "
                f"leave out the agent with the most gaps, {self.agents[fewest]!r}, or compare pair by pair"
            )
        table = self.select(items=np.flatnonzero(whole).tolist())
        dropped = f"left out {n - kept} of {n} items, which some agent has no result for"
        return replace(table, notes=(*self.notes, dropped))

    def select(self, *, agents: Sequence[str | int] | None = None, items: Sequence[str | int] | None = None) -> Table:
        """Some of the agents and some of the items, in the order given.

        Args:
            agents: names or column numbers; all of them by default.
            items: ids or row numbers; all of them by default.

        Returns:
            The smaller table.

        Raises:
            UsageError: there is no such agent or item, or too few are left.

        >>> table = Table(("q1", "q2"), ("a", "b", "c"), np.zeros((2, 3)))
        >>> table.select(agents=["c", "a"]).agents
        ('c', 'a')
        """
        columns = _places(agents, self.agents, "agent")
        rows = _places(items, self.items, "item")
        cells = np.ix_(rows, columns)
        matrices: dict[str, Any] = {
            name: None if (value := getattr(self, name)) is None else value[cells] for name in _MATRICES
        }
        return replace(
            self,
            items=tuple(self.items[row] for row in rows),
            agents=tuple(self.agents[column] for column in columns),
            correct=self.correct[cells],
            gold=None if self.gold is None else self.gold[rows],
            topics=None if self.topics is None else tuple(self.topics[row] for row in rows),
            families=None if self.families is None else tuple(self.families[column] for column in columns),
            draws=None if self.draws is None else Draws(self.draws.answers[cells], self.draws.correct[cells]),
            **matrices,
        )


_MATRICES: Final = ("answers", "samples", "cost", "tokens", "seconds", "confidence")
"""The fields besides `correct` that hold one value a cell."""


def _names(what: str, names: Sequence[str]) -> list[str]:
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        if not name.strip():
            return [f"{what} {place} has no name"]
        if name in seen:
            return [f"two {what}s are called {name!r}; give each its own name"]
        seen.add(name)
    return []


def _places(chosen: Sequence[str | int] | None, names: Sequence[str], what: str) -> Ints:
    if chosen is None:
        return np.arange(len(names))
    place = {name: number for number, name in enumerate(names)}
    found = []
    for name in chosen:
        number = place.get(name) if isinstance(name, str) else name
        if number is None or not 0 <= number < len(names):
            near = difflib.get_close_matches(str(name), names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {len(names)}, the first {names[0]!r}"
            raise UsageError(f"no {what} is called {name!r}{hint}")
        found.append(number)
    return np.array(found, dtype=np.int64)


def unrecorded(shape: tuple[int, ...]) -> Floats:
    """A matrix in which nothing is recorded yet.

    >>> unrecorded((1, 2)).tolist()
    [[nan, nan]]
    """
    empty: npt.NDArray[np.float64] = np.full(shape, np.nan)
    return empty
