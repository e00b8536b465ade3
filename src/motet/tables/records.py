"""Outcomes that come one at a time, each of one agent on one item, gathered into a draft.

Two outcomes of the same agent on the same item are two samples if they say which sample each is; else one of them is a
mistake, and which one nobody can tell. A cell with several samples holds their mean correctness, cost, tokens, seconds
and confidence, and the answer of the first; the single ones are kept as draws.

    >>> records = Records()
    >>> for number, right in enumerate([1.0, 0.0]):
    ...     records.add(number, "q1", "a", Outcome(right), sample=str(number))
    >>> records.draft().correct.tolist()
    [[0.5]]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from motet.errors import UsageError
from motet.measure.arrays import Floats
from motet.tables.draft import Draft, Texts, by_name, check_cells, mean, unasked
from motet.tables.table import unrecorded

NAN: Final = math.nan


class Outcome(NamedTuple):
    """What one agent did on one item, once.

    Attributes:
        correct: from 0 to 1; NaN where it is not recorded, as for the other numbers.
        answer: "" for no answer; None where answers are not recorded.
        cost: USD.
        tokens: in and out.
        seconds: how long it took.
        confidence: from 0 to 1.
    """

    correct: float = NAN
    answer: str | None = None
    cost: float = NAN
    tokens: float = NAN
    seconds: float = NAN
    confidence: float = NAN


@dataclass
class Records:
    """Collects outcomes; items and agents keep the order in which they first came."""

    items: dict[str, int] = field(default_factory=dict)
    agents: dict[str, int] = field(default_factory=dict)
    gold: dict[str, str] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    families: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    # Flat lists and numbers for keys, and no object a cell: a long table has millions of them.
    _first: dict[int, int] = field(default_factory=dict)
    _repeated: dict[int, dict[str, int]] = field(default_factory=dict)
    _rows: list[int] = field(default_factory=list)
    _columns: list[int] = field(default_factory=list)
    _samples: list[str] = field(default_factory=list)
    _where: list[str | int] = field(default_factory=list)
    _outcomes: list[Outcome] = field(default_factory=list)

    def add(self, where: str | int, item: str, agent: str, outcome: Outcome, sample: str = "") -> None:
        """Take one outcome.

        Args:
            where: the number of the line or the name of the file it stands in, for errors.
            item: the item's id.
            agent: the agent's name.
            outcome: what happened.
            sample: which sample it is; "" if nobody says.

        Raises:
            ValueError: this sample of the agent on the item is there already.
        """
        row, column = self.items.setdefault(item, len(self.items)), self.agents.setdefault(agent, len(self.agents))
        cell, number = row << 32 | column, len(self._rows)
        first = self._first.setdefault(cell, number)
        if first != number:
            samples = self._repeated.setdefault(cell, {self._samples[first]: first})
            if sample in samples:
                which = f"sample {sample!r} of {agent!r} on {item!r}" if sample else f"{agent!r} on {item!r}"
                before = self._where[samples[sample]]
                hint = "" if sample else "; if they are samples, number them in a column `sample`"
                raise ValueError(
                    f"{which} again, first {'on line' if isinstance(before, int) else 'in'} {before}{hint}"
                )
            samples[sample] = number
        self._rows.append(row)
        self._columns.append(column)
        self._samples.append(sample)
        self._where.append(where)
        self._outcomes.append(outcome)

    def fact(self, kind: str, key: str, value: str) -> None:
        """Take what is said of an item (`gold`, `topics`) or of an agent (`families`); "" says nothing.

        Raises:
            ValueError: something else was said of it before.
        """
        if value:
            said: dict[str, str] = getattr(self, kind)
            before = said.setdefault(key, value)
            if before != value:
                word = {"gold": "right answer", "topics": "topic", "families": "family"}[kind]
                raise ValueError(f"the {word} of {key!r} is {value!r} here and {before!r} before; make them one")

    def draft(self, where: object = "") -> Draft:
        """Put the outcomes in order.

        Args:
            where: the file, for an error.

        Returns:
            The draft; it has draws where a cell has more than one sample.

        Raises:
            UsageError: too many cells.
        """
        n, m = len(self.items), len(self.agents)
        if not self._rows:
            raise UsageError(f"{where}: no items in it, nor results")
        slots = max(map(len, self._repeated.values()), default=1)
        check_cells(n, m, slots, where)
        places = np.zeros(len(self._rows), dtype=np.int64)
        for samples in self._repeated.values():
            places[[samples[label] for label in sorted(samples, key=_rank)]] = np.arange(len(samples))
        cells = (np.array(self._rows, dtype=np.int64), np.array(self._columns, dtype=np.int64), places)
        rights, given, *amounts = zip(*self._outcomes, strict=True)

        def spread(values: object) -> Floats | None:
            """The (n, m, slots) of one number of each outcome; None where it is never recorded."""
            numbers = np.array(values, dtype=np.float64)
            if np.isnan(numbers).all():
                return None
            found = unrecorded((n, m, slots))
            found[cells] = numbers
            return found

        correct = spread(rights)
        cost, tokens, seconds, confidence = map(spread, amounts)
        texts: Texts | None = None
        if any(text is not None for text in given):
            texts = np.full((n, m, slots), None, dtype=object)
            texts[cells] = np.array(given, dtype=object)
        draft = Draft(
            list(self.items),
            list(self.agents),
            correct=None if correct is None else mean(correct),
            answers=None if texts is None else texts[:, :, 0],
            gold=[self.gold.get(item) for item in self.items] if self.gold else None,
            cost=None if cost is None else mean(cost),
            tokens=None if tokens is None else mean(tokens),
            seconds=None if seconds is None else mean(seconds),
            confidence=None if confidence is None else mean(confidence),
            families=by_name(self.families, list(self.agents)),
            topics=by_name(self.topics, list(self.items)),
            notes=list(self.notes),
        )
        if slots > 1:
            draft.draw_correct, draft.draw_answers = correct, texts
            if correct is not None:
                draft.samples = (~np.isnan(correct)).sum(axis=2).astype(np.int64)
            elif texts is not None:
                draft.samples = (~unasked(texts)).sum(axis=2).astype(np.int64)
            draft.notes.append(f"up to {slots} samples a cell: correctness is their mean, the answer that of the first")
        return draft


def _rank(label: str) -> tuple[float, str]:
    """Sample 10 comes after sample 9."""
    try:
        return float(label), label
    except ValueError:
        return math.inf, label
