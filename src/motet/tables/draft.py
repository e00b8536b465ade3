"""What a format's reader has found, before it is a `Table`: texts where the table has numbers, gaps where it has none.

Here is decided, once for every format,

* what is the same answer. Where correctness is recorded, answers are compared as they are written, except in logs of
  evaluation tools, which keep replies more or less raw. Where it is not, an answer is right if it and the right one
  have the same key, `normalise(extract(text))`. By keys or as written, it is one rule for the whole table, so that
  votes are counted as answers are judged; a note says how many answers are right only by their keys.
* what the right answer is, where there are results and answers but nobody gives it: what most right cells answered.
* what an empty answer is. It is no answer: it votes for nothing, and is wrong where the answers are judged here. Where
  the record says that it is right, the empty text is the answer; unless the same record calls another empty answer to
  that item wrong, or another text right: then answers were not written down. Where that is so of more than a few, no
  answer is used, since a vote that counts such cells as one answer would be right wherever any agent is.
* what is missing. A cell without a result is missing, never wrong; so is, without results, an empty cell in a
  matrix of answers, which does not say that the agent was asked.
* that agents and items without any result are left out, with a note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from motet.errors import UsageError
from motet.measure.arrays import NONE, UNKNOWN, Bools, Floats, Ints
from motet.tables.table import CELLS, Draws, Table, unrecorded

Texts = npt.NDArray[np.object_]
"""Answers as text: "" for no answer, None where it is not recorded whether there was one."""

_SLIPS: Final = 0.01
"""Of the right cells, those without an answer at most that are slips of the record, rather than answers left out."""
_LISTED: Final = 3
"""Names that a note lists at most."""


@dataclass
class Draft:
    """A table in the making; the fields are those of `Table`, with texts for answers.

    Args:
        items: their ids.
        agents: their names.
        correct: (n, m); left out, it is worked out from `answers` and `gold`.
        answers: (n, m) texts.
        gold: (n,) the right answers; None where an item has none.
        draw_answers: (n, m, s) texts.
        draw_correct: (n, m, s).
        loose: whether answers are compared by their keys even where correctness is recorded, as they are raw replies.
    """

    items: Sequence[str]
    agents: Sequence[str]
    correct: Floats | None = None
    answers: Texts | None = None
    gold: Sequence[str | None] | None = None
    samples: Ints | None = None
    cost: Floats | None = None
    tokens: Floats | None = None
    seconds: Floats | None = None
    confidence: Floats | None = None
    families: Sequence[str] | None = None
    topics: Sequence[str] | None = None
    draw_answers: Texts | None = None
    draw_correct: Floats | None = None
    loose: bool = False
    notes: list[str] = field(default_factory=list)

    def table(self, source: str, name: str) -> Table:
        """Make the table.

        Args:
            source: what it was read from.
            name: the format.

        Returns:
            The table, checked.

        Raises:
            UsageError: answers without right answers and without correctness, or what `Table` refuses.
        """
        try:
            judged = self._judged()
        except ValueError as error:
            raise UsageError(f"{source}: {error}") from error
        answers, gold, texts, correct, draws = judged
        table = Table(
            items=tuple(self.items),
            agents=tuple(self.agents),
            correct=correct,
            answers=answers,
            gold=gold,
            answer_texts=texts,
            samples=self.samples,
            cost=_filled(self.cost),
            tokens=_filled(self.tokens),
            seconds=_filled(self.seconds),
            confidence=_filled(self.confidence),
            families=_said(self.families),
            topics=_said(self.topics),
            draws=draws,
            source=source,
            format=name,
            notes=tuple(self.notes),
        )
        return _without_blanks(table)

    def _judged(self) -> tuple[Ints | None, Ints | None, tuple[str, ...], Floats, Draws | None]:
        """Number the answers, and say which are right."""
        shape = (len(self.items), len(self.agents))
        judge = self.correct is None
        if judge and (self.answers is None or self.gold is None):
            have, lack = ("answers", "right ones") if self.answers is not None else ("items and agents", "results")
            raise ValueError(
                f"{have} without {lack}: nothing says what is right; "
                "give a column `correct`, or the right answers with --gold"
            )
        key = _key() if judge or self.loose else _as_written
        number: dict[str, int] = {}
        texts: list[str] = []
        coded: dict[str, int] = {"": NONE}

        def code(text: str | None) -> int:
            if text is None:
                return NONE
            found = coded.get(text)
            if found is None:
                found = number.setdefault(key(text), len(texts))
                if found == len(texts):
                    texts.append(text)
                coded[text] = found
            return found

        answers = None if self.answers is None else _numbers(self.answers, code)
        draw_answers = None if self.draw_answers is None else _numbers(self.draw_answers, code)
        gold = None
        if self.gold is not None and answers is not None:
            right = [UNKNOWN if not text else number.get(key(text), UNKNOWN) for text in self.gold]
            gold = np.array(right, dtype=np.int64)
        draws = None
        if judge:
            assert self.answers is not None
            assert self.gold is not None
            assert answers is not None
            assert gold is not None
            correct = _matching(answers, gold, self.answers, self.gold)
            self._tell_judged(correct, answers)
            if draw_answers is not None and self.draw_answers is not None:
                draw_correct = _matching(draw_answers, gold, self.draw_answers, self.gold)
                correct = mean(draw_correct)
                draws = Draws(draw_answers, draw_correct)
        else:
            assert self.correct is not None
            correct = self.correct
            if answers is not None and self._unwritten(answers, draw_answers, gold, correct):
                answers = draw_answers = gold = None
            if answers is not None:
                blank = self._answer_nothing(answers, gold, correct, texts)
                if blank is not None and draw_answers is not None and self.draw_correct is not None:
                    draw_answers[(draw_answers == NONE) & (self.draw_correct == 1)] = blank
            if self.draw_correct is not None:
                none = np.full(self.draw_correct.shape, NONE) if draw_answers is None else draw_answers
                draws = Draws(none.astype(np.int64), self.draw_correct)
            if gold is None and answers is not None and self.draw_correct is None:
                gold = _seen_right(answers, correct)
                self.notes.append("right answers are not given: taken from the cells that are right")
            else:
                self._tell_recorded(correct, answers, gold)
        if correct.shape != shape:
            raise ValueError(f"results have the shape {correct.shape} where {shape} is needed")
        return answers, gold, tuple(texts), correct, draws

    def _unwritten(self, answers: Ints, draws: Ints | None, gold: Ints | None, correct: Floats) -> bool:
        """Whether the answers are too incomplete to be used beside results; a note says so."""
        if (answers == NONE).all() and (draws is None or (draws == NONE).all()):
            self.notes.append("the answers are all empty, and are not used")
            return True
        odd = int(_empty_right(answers, correct)[_contradicted(answers, gold, correct)].sum())
        right = int((correct == 1).sum())
        if odd > _SLIPS * right:
            self.notes.append(
                f"answers are not used: {odd} of {right} right cells have an empty one, on items to which an empty "
                "answer is wrong or another one is right; fill them in, or leave the answers out"
            )
            return True
        return False

    def _answer_nothing(self, answers: Ints, gold: Ints | None, correct: Floats, texts: list[str]) -> int | None:
        """Number the empty text where it is an answer: in cells that are right with nothing in them."""
        right = _empty_right(answers, correct) & ~_contradicted(answers, gold, correct)[:, None]
        if not right.any():
            return None
        blank = len(texts)
        texts.append("")
        answers[right] = blank
        items = right.any(axis=1)
        if gold is not None:
            gold[items & (gold == UNKNOWN)] = blank
        self.notes.append(f"{int(right.sum())} empty answers are right, and are taken for the answer that they are")
        return blank

    def _tell_judged(self, correct: Floats, answers: Ints) -> None:
        assert self.answers is not None
        assert self.gold is not None
        self.notes.append("correctness worked out by comparing the answers with the right ones")
        gold = np.array(self.gold, dtype=object)[:, None]
        loose = int(((correct == 1) & (self.answers != gold)).sum())
        if loose:
            row, column = np.argwhere((correct == 1) & (self.answers != gold))[0]
            self.notes.append(
                f"{loose} of {int((correct == 1).sum())} right answers are written differently from the right one and "
                f"taken as the same, the first {self.answers[row, column]!r} for {self.gold[row]!r}"
            )
        silent = int(((correct == 0) & (answers == NONE)).sum())
        if silent:
            self.notes.append(f"{silent} cells without an answer count as wrong")
        without = sum(not text for text in self.gold)
        if without:
            self.notes.append(f"{without} of {len(self.gold)} items have no right answer: they are missing, not wrong")

    def _tell_recorded(self, correct: Floats, answers: Ints | None, gold: Ints | None) -> None:
        if answers is None or gold is None or self.draw_correct is not None:
            return
        with np.errstate(invalid="ignore"):
            decided = ((correct == 0) | (correct == 1)) & (answers != NONE)
        differs = int((decided & ((answers == gold[:, None]) != (correct == 1))).sum())
        if differs:
            self.notes.append(
                f"{differs} of {int(decided.sum())} recorded results differ from comparing the answers with "
                "the right ones; the record counts"
            )


def _empty_right(answers: Ints, correct: Floats) -> Bools:
    """Cells that are right with nothing in them."""
    found: Bools = (answers == NONE) & (correct == 1)
    return found


def _contradicted(answers: Ints, gold: Ints | None, correct: Floats) -> Bools:
    """(n,) items to which an empty answer is right and wrong, or right beside a text that is right too."""
    blank = _empty_right(answers, correct).any(axis=1)
    wrong = ((answers == NONE) & (correct == 0)).any(axis=1)
    other = ((answers != NONE) & (correct == 1)).any(axis=1)
    if gold is not None:
        other |= gold >= 0
    found: Bools = blank & (wrong | other)
    return found


def check_cells(items: int, agents: int, draws: int, where: object) -> None:
    """Refuse a table that would be too large, before room is made for it.

    Raises:
        UsageError: more cells than `CELLS`.
    """
    if items * agents * draws > CELLS:
        times = f" by {draws:,} draws" if draws > 1 else ""
        raise UsageError(
            f"{where}: {items:,} items by {agents:,} agents{times} is more than {CELLS:,} cells; split it by items"
        )


def kept(text: str) -> str:
    """An answer as it is written, for space may be what makes it wrong; "" where there is nothing but space.

    >>> kept(" a"), kept("  ")
    (' a', '')
    """
    return "" if text.isspace() else text


def listed(names: Sequence[str]) -> str:
    """Some names for a note, the rest counted.

    >>> listed(["a", "b", "c", "d", "e"])
    "'a', 'b', 'c' and 2 more"
    """
    shown = ", ".join(map(repr, names[:_LISTED]))
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


def _key() -> Callable[[str], str]:
    from motet.normalise import extract, normalise  # its patterns take a while to compile

    return lambda text: normalise(extract(text)) or text


def _as_written(text: str) -> str:
    return text


def _numbers(texts: Texts, code: Callable[[str | None], int]) -> Ints:
    return np.fromiter(map(code, texts.ravel().tolist()), dtype=np.int64, count=texts.size).reshape(texts.shape)


def unasked(texts: Texts) -> Bools:
    """Where it is not recorded whether there was an answer.

    >>> unasked(np.array([["a", None, ""]], dtype=object)).tolist()
    [[False, True, False]]
    """
    return np.fromiter((text is None for text in texts.ravel().tolist()), np.bool_, texts.size).reshape(texts.shape)


def _matching(answers: Ints, gold: Ints, texts: Texts, right: Sequence[str | None]) -> Floats:
    """1 where the answer is the right one, NaN where there is no record or no right answer."""
    wide = (slice(None), *[None] * (answers.ndim - 1))
    correct: Floats = (answers == gold[wide]).astype(np.float64)
    correct[unasked(texts)] = np.nan
    correct[[not text for text in right]] = np.nan
    return correct


def _seen_right(answers: Ints, correct: Floats) -> Ints:
    """The commonest answer of each item's right cells; UNKNOWN where there is none."""
    gold = np.full(len(answers), UNKNOWN, dtype=np.int64)
    for row, (given, share) in enumerate(zip(answers, correct, strict=True)):
        right = given[(share == 1) & (given != NONE)]
        if right.size:
            numbers, counts = np.unique(right, return_counts=True)
            gold[row] = numbers[counts.argmax()]
    return gold


def mean(draws: Floats) -> Floats:
    """The mean over the last axis of what is recorded; NaN where nothing is.

    >>> mean(np.array([[1.0, np.nan], [np.nan, np.nan]])).tolist()
    [1.0, nan]
    """
    present = ~np.isnan(draws)
    count = present.sum(axis=-1)
    found = unrecorded(count.shape)
    np.divide(np.where(present, draws, 0).sum(axis=-1), count, out=found, where=count > 0)
    return found


def _filled(values: Floats | None) -> Floats | None:
    return None if values is None or np.isnan(values).all() else values


def _said(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return tuple(names) if names is not None and any(names) else None


def _without_blanks(table: Table) -> Table:
    """Leave out agents and items that have no result at all, and say so."""
    known: Bools = ~np.isnan(table.correct)
    agents, items = known.any(axis=0), known.any(axis=1)
    notes = list(table.notes)
    for what, names, kept in (("agents", table.agents, agents), ("items", table.items, items)):
        if not kept.all():
            empty = [names[place] for place in np.flatnonzero(~kept)]
            notes.append(f"{len(empty)} {what} left out, as no result is recorded for them: {listed(empty)}")
    if agents.sum() < 2:
        (only,) = np.flatnonzero(agents)
        raise UsageError(
            f"{table.source}: only {table.agents[only]!r} has results, the columns of the others are empty: "
            "one agent cannot be mixed"
        )
    if not (agents.all() and items.all()):
        table = table.select(agents=np.flatnonzero(agents).tolist(), items=np.flatnonzero(items).tolist())
    if table.missing:
        share = table.missing / table.correct.size
        notes.append(f"{table.missing} of {table.correct.size} cells ({share:.1%}) hold no result: missing, not wrong")
    return replace(table, notes=tuple(notes))


def by_name(values: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """The value of each name, "" where there is none.

    >>> by_name({"a": "x"}, ["a", "b"])
    ['x', '']
    """
    return [values.get(name, "") for name in names]
