"""Numbers as words: every number has words that lead back to it, and what is not one number is none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.numbers import WORDS, NumberWords, find_words, parse_words

SMALL = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))


def spell(n: int, *, joiner: str = " and ", hyphen: str = "-") -> str:
    """A number in English words, by a rule written down apart from the parser's."""
    if n < 20:
        return SMALL[n]
    if n < 100:
        return TENS[n // 10] + (hyphen + SMALL[n % 10] if n % 10 else "")
    size, name = next(scale for scale in SCALES if scale[0] <= n)
    head = f"{spell(n // size, joiner=joiner, hyphen=hyphen)} {name}"
    rest = n % size
    if not rest:
        return head
    return head + (joiner if rest < 100 else " ") + spell(rest, joiner=joiner, hyphen=hyphen)


@settings(deadline=None)
@given(st.integers(0, 10**15 - 1), st.sampled_from([" and ", " "]), st.sampled_from(["-", " "]))
def test_words_lead_back_to_their_number(n: int, joiner: str, hyphen: str) -> None:
    """Any number below a thousand trillion is read back from its words, with and without "and"."""
    words = spell(n, joiner=joiner, hyphen=hyphen)
    assert parse_words(words) == n
    assert parse_words(f"Minus {words.upper()} ") == -n


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a hundred", 100),
        ("a million and one", 1_000_001),
        ("twelve hundred", 1200),
        ("two hundred thousand", 200_000),
        ("one hundred twenty-three thousand, no", None),
        ("negative seven", -7),
        ("forty two", 42),
    ],
)
def test_dresses(text: str, value: int | None) -> None:
    """The ways people write one number."""
    assert parse_words(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a",
        "and",
        "minus",
        "hundred",
        "million",
        "five six",
        "nineteen eighty-four",
        "twenty thirteen",
        "twenty - three",
        "twenty--three",
        "one hundred hundred",
        "one thousand million",
        "five thousand six million",
        "five and six",
        "two point five",
        "one hundred and",
        "and five",
        "a five",
        "a hundred a thousand",
        "zero hundred",
        "5",
        "5 million",
        "five apples",
        "twentyone",
        "twenty-zero",
        "minus minus five",
        "one million and five thousand",
    ],
)
def test_not_one_number(text: str) -> None:
    """What is not plainly one number in words is none."""
    assert parse_words(text) is None


def test_find_tells_where() -> None:
    """Numbers are found at their places, as long as they can be, and touching ones are skipped."""
    text = "Sum one hundred and five and six, or nineteen eighty-four, 5 million, SEVEN."
    assert list(find_words(text)) == [
        NumberWords(4, 24, 105),
        NumberWords(29, 32, 6),
        NumberWords(text.index("SEVEN"), text.index("SEVEN") + 5, 7),
    ]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(sorted(WORDS | {"a", "and", "-", ",", "ſix", "5", "point"})), max_size=30).map(" ".join)
)
def test_found_places_say_what_was_found(text: str) -> None:
    """Each number found reads the same when its own words are read alone, and the places do not overlap."""
    end = 0
    for found in find_words(text):
        assert found.start >= end
        assert parse_words(text[found.start : found.end]) == found.value
        end = found.end


@settings(deadline=None)
@given(st.text())
def test_any_text(text: str) -> None:
    """No text raises."""
    parse_words(text)
    list(find_words(text))


@pytest.mark.parametrize("text", ["one ", "a hundred and ", "and ", "a ", "twenty-", " ", "-", "one thousand "])
def test_linear(text: str) -> None:
    """A hundred kilobytes of number words takes well under the time that quadratic work would."""
    start = time.process_time()
    list(find_words(text * (100_000 // len(text))))
    assert time.process_time() - start < 5
