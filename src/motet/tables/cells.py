"""What is written in a cell, as a number: correctness, amounts, counts.

A column holds few distinct texts, so each is read once and looked up from then on.

    >>> shares = Shares()
    >>> [shares[text] for text in ("1", "false", "0.25", "")]
    [1.0, 0.0, 0.25, nan]
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from motet.measure.arrays import Floats

KEPT: Final = 100_000
"""Distinct texts that are remembered at most."""
MISSING: Final = frozenset({"", "nan", "na", "n/a", "#n/a", "<na>", "null", "none"})
"""Texts, in any case, that say that a number is not recorded."""
_WORDS: Final = {
    **dict.fromkeys(("true", "yes", "right", "correct", "pass", "passed"), 1.0),
    **dict.fromkeys(("false", "no", "wrong", "incorrect", "fail", "failed"), 0.0),
}
_COMMA: Final = re.compile(r"[+-]?(?:0?,\d+|\d+,(?!\d{3}$)\d+)", re.ASCII)
"""A decimal comma, as spreadsheets write it beside semicolons; `1,234` could be a thousand, and is refused."""


class Numbers(dict[str, float]):
    """Numbers by their texts, each text read once. A subclass says what a text means."""

    def row(self, texts: Sequence[str]) -> Floats:
        """The numbers that a row of texts says.

        Raises:
            ValueError: one of them says none.
        """
        return np.fromiter(map(self.__getitem__, texts), np.float64, len(texts))

    def __missing__(self, text: str) -> float:
        value = self.value(text.strip())
        if len(self) < KEPT:
            self[text] = value
        return value

    def value(self, text: str) -> float:
        """What a text without space around it says."""
        raise NotImplementedError


class Amounts(Numbers):
    """Numbers of at least 0 by their texts: USD, tokens, seconds. Missing ones are NaN.

    Raises:
        ValueError: a text is no such number; says why, and what to do.

    >>> Amounts()["1.5e-3"]
    0.0015
    >>> Amounts()["-1"]
    Traceback (most recent call last):
    ValueError: '-1' is negative
    """

    def row(self, texts: Sequence[str]) -> Floats:
        try:  # amounts are seldom alike, so looking them up would not help
            plain = np.fromiter(map(float, texts), np.float64, len(texts))
            if bool(((plain >= 0) & (plain < math.inf)).all()):
                return plain
        except ValueError:
            pass
        return super().row(texts)

    def value(self, text: str) -> float:
        value = number(text)
        if value is None:
            raise ValueError(f"{text[:60]!r} is no number; leave the cell empty where nothing is recorded")
        if value < 0:
            raise ValueError(f"{text!r} is negative")
        return value


class Shares(Numbers):
    """Correctness by its texts: 0 to 1, or words that say so. Missing ones are NaN.

    >>> Shares()["85%"]
    Traceback (most recent call last):
    ValueError: '85%' is a percentage: divide by 100, as correctness runs from 0 to 1
    """

    def value(self, text: str) -> float:
        word = _WORDS.get(text.lower())
        if word is not None:
            return word
        if text.endswith("%") and number(text[:-1].strip()) is not None:
            raise ValueError(f"{text!r} is a percentage: divide by 100, as correctness runs from 0 to 1")
        value = number(text)
        if value is None:
            raise ValueError(
                f"{text[:60]!r} is no correctness, which is 0, 1, true, false, a share between, or empty where "
                "nothing is recorded; if these are answers, give the right ones with --gold"
            )
        if value < 0 or value > 1:
            hint = ": if these are percentages, divide them by 100" if 1 < value <= 100 else ""
            raise ValueError(f"{text} is not between 0 and 1, as correctness is{hint}")
        return value


class Counts(Numbers):
    """Whole numbers of at least 0 by their texts; missing ones are 0.

    >>> Counts()["10"], Counts()[""]
    (10.0, 0.0)
    """

    def value(self, text: str) -> float:
        value = number(text)
        if value is None or value < 0 or value % 1 > 0:
            raise ValueError(f"{text[:60]!r} is no whole number of at least 0")
        return 0.0 if math.isnan(value) else value


def number(text: str) -> float | None:
    """The number that a text says, NaN where it says that there is none; None if it is no number.

    >>> number("0,5"), number("n/a"), number("b")
    (0.5, nan, None)
    """
    try:
        value = float(text)
    except ValueError:
        if text.lower() in MISSING:
            return math.nan
        return float(text.replace(",", ".")) if _COMMA.fullmatch(text) else None
    return None if math.isinf(value) else value
