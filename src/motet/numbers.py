"""English numbers as words: "two hundred and five" is 205.

Whole numbers below a thousand trillion, on the short scale (a billion is a thousand million). What is not
plainly one number is none: "nineteen eighty-four", "five six", "two point five", a "hundred" without its "one".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ONES = dict(zip(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], range(1, 10), strict=True))
_TEENS = dict(
    zip(
        ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
        range(10, 20),
        strict=True,
    )
)
_TENS = dict(
    zip(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], range(20, 100, 10), strict=True)
)
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SIGNS = {"minus": -1, "negative": -1}

WORDS: frozenset[str] = frozenset({"zero", "hundred", *_ONES, *_TEENS, *_TENS, *_SCALES})
"""The words that say a number; "a" and "and" may stand between them."""

_WORD = re.compile(r"[^\W_]+")
_GAP = re.compile(r"\s+|-")


class NumberWords(NamedTuple):
    """A number said in words, at `text[start:end]`."""

    start: int
    end: int
    value: int


def parse_words(text: str) -> int | None:
    """The whole number that the text, all of it, says in words.

    Args:
        text: words in any case, with spaces or hyphens between them; "minus" or "negative" may come first.

    Returns:
        The number, or None where the text is anything but one number in words.

    Example:
        >>> parse_words("Twenty-three"), parse_words("minus a thousand and one"), parse_words("five six")
        (23, -1001, None)
    """
    text = text.strip().lower()
    sign = 1
    first, _, rest = text.partition(" ")
    if first in _SIGNS:
        sign, text = _SIGNS[first], rest.strip()
    found = list(find_words(text))
    return sign * found[0].value if len(found) == 1 and found[0][:2] == (0, len(text)) else None


def find_words(text: str) -> Iterator[NumberWords]:
    """The numbers that a text says in words, from left to right.

    A number is as long as it can be: "one hundred and five and six" holds 105 and 6. Number words that touch
    without making one number ("nineteen eighty-four", "5 million") are skipped as a whole. Signs are left
    out, and "one" counts wherever it stands, also in "this one".

    Args:
        text: any text; the work is linear in its length.

    Yields:
        Where each number stands and what it is.

    Example:
        >>> list(find_words("Add five to twenty-one."))
        [NumberWords(start=4, end=8, value=5), NumberWords(start=12, end=22, value=21)]
    """
    chain: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        if chain and not _GAP.fullmatch(text, chain[-1].end(), match.start()):
            yield from _in_chain(chain)
            chain = []
        chain.append(match)
    yield from _in_chain(chain)


def _in_chain(chain: Sequence[re.Match[str]]) -> Iterator[NumberWords]:
    """The numbers in words that follow each other with nothing but gaps between them."""
    words = [match.group().lower() for match in chain]
    at = 0
    while at < len(words):
        value, end = _number(words, at)
        touches = end < len(words) and _numeric(words[end])
        touched = at > 0 and _numeric(words[at - 1])
        if end > at and not touches and not touched:
            yield NumberWords(chain[at].start(), chain[end - 1].end(), value)
        at = max(end, at + 1)


def _numeric(word: str) -> bool:
    return word in WORDS or word == "point" or word.isnumeric()


def _number(words: Sequence[str], at: int) -> tuple[int, int]:
    """The longest number that starts at `at`: its value, and where it ends (at `at`: there is none)."""
    if words[at] == "zero":
        return 0, at + 1
    total, end, limit = 0, at, 10**15
    while True:
        joined = end > at and words[end : end + 1] == ["and"]
        start = end + joined
        value, stop = _below_thousand(words, start)
        if stop == start or value >= limit:
            return total, end
        scale = _SCALES.get(words[stop], 1) if stop < len(words) else 1
        # "and" leads to the last and small part: "a million and five", but not "a million and five thousand".
        if scale >= limit or (joined and (scale > 1 or value >= 100)):
            return total, end
        if scale == 1:
            lone = words[start] == "a" and stop == start + 1
            return (total, end) if lone else (total + value, stop)
        total, end, limit = total + value * scale, stop + 1, scale


def _below_thousand(words: Sequence[str], at: int) -> tuple[int, int]:
    """The number below 1000 (or in hundreds: "twelve hundred") that starts at `at`; "a" counts as one."""
    value, end = (1, at + 1) if words[at : at + 1] == ["a"] else _below_hundred(words, at)
    if end == at or words[end : end + 1] != ["hundred"]:
        return value, end
    value, end = value * 100, end + 1
    start = end + (words[end : end + 1] == ["and"])
    rest, stop = _below_hundred(words, start)
    return (value + rest, stop) if stop > start else (value, end)


def _below_hundred(words: Sequence[str], at: int) -> tuple[int, int]:
    first = words[at] if at < len(words) else ""
    if first in _TENS:
        ones = _ONES.get(words[at + 1], 0) if at + 1 < len(words) else 0
        return _TENS[first] + ones, at + 1 + (ones > 0)
    value = _ONES.get(first) or _TEENS.get(first)
    return (value, at + 1) if value else (0, at)
