"""Ballots: what is a vote is read, in its many dresses; nonsense, refusals and prose never are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.ballot import read_choice, read_grade, read_ranking

LABELS = ["A", "B", "C"]
WORDS = "I that reply A is a better than one but B and C are then by over followed 7 others , . : - > 10 / 3 ( ) 1. 2)"
LINE = st.lists(st.sampled_from(WORDS.split(" ")), max_size=9).map(" ".join)
PROSE = st.lists(st.tuples(LINE, LINE).map(" think ".join), max_size=4).map("\n".join)


@pytest.mark.parametrize(
    ("text", "ranking"),
    [
        ("Ranking: B, A, C", "BAC"),
        ("B is right, A is not.\nRanking: B > A > C", "BAC"),
        ("**Ranking:** B, A, C.", "BAC"),
        ("Ranking (best to worst): C, A, B", "CAB"),
        ("ranking: [B, A, C]", "BAC"),
        ("The ranking is: B, then C, then A.", "BCA"),
        ("Ranking: Reply B, Reply A", "BA"),
        ("Ranking: B is better than A", "BA"),
        ("Ranking: 1. B 2. A 3. C", "BAC"),
        ("Ranking:\n1. B - it is correct\n2. Reply A: wrong\n3. C", "BAC"),
        ("Ranking:\n- **B**\n- **A**", "BA"),
        ("Ranking: A, B\nNo, once more.\nRanking: B, A", "BA"),
        ("Ranking: B, A, D, C", "BAC"),
        ("Ranking: B, B, A", "BA"),
        ("1. B\n2. Reply A\n3. C", "BAC"),
        ("1) **B**\n2) **A**", "BA"),
        ("They are close.\nB > A > C", "BAC"),
        ("B, A", "BA"),
    ],
)
def test_rankings(text: str, ranking: str) -> None:
    """What ranks at least two is a ranking, best first."""
    assert read_ranking(text, LABELS) == list(ranking)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ranking:",
        "They are all fine.",
        "I can't rank A, B and C.",
        "Ranking: none of A, B or C is right.",
        "Ranking: I refuse.",
        "Ranking: A",
        "A is wrong.\nB is right.",
        "A: wrong\nB: right",
        "1. A good answer would name B.\n2. A better one C.",
        "Reply A says 7, reply B says 8.",
        "A reply should be short. B movies are fun.",
        "Ranking: a, b, c",
        "Ranking: AB, BC",
        "Ranking: A is not better than B",
        'End with one line that begins with "Ranking:" and lists the letters, the best first.',
    ],
)
def test_no_rankings(text: str) -> None:
    """Refusals, prose, single letters, articles and the instruction itself are no ballots."""
    assert read_ranking(text, LABELS) is None


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("Grade: 7", 7),
        ("Well said, but 3 details are wrong.\nGrade: 7.5", 7.5),
        ("**Grade: 7**", 7),
        ("Grade: **7**/10", 7),
        ("Grade: 7 / 10.", 7),
        ("Score: 7 out of 10", 7),
        ("rating (0-10): 6", 6),
        ("Grade = 0", 0),
        ("Grade: 10", 10),
        ("Grade:\n7", 7),
        ("Grade: 3\nOn second thought.\nGrade: 8", 8),
        ("Grade: 7 because 3 of 4 facts are right", 7),
        ("I would say 7/10.", 7),
        ("It is a 7 out of 10, a clear 7/10", 7),
        ("7", 7),
        ("Good.\n\n8.\n", 8),
    ],
)
def test_grades(text: str, grade: float) -> None:
    """A number after the word, out of the scale, or alone, is a grade."""
    assert read_grade(text, 10) == grade


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Grade:",
        "Grade: high",
        "Grade: 11",
        "Grade: -3",
        "Grade: 8%",
        "Grade: 7/100",
        "Grade: 7 out of 5",
        "Grade: 1,000",
        "Grade: 7-8",
        "Grade: 1e1",
        "Grade: it names 3 cities",
        "The reply names 3 cities.",
        "5/10 or 6/10",
        "4/5",
        "In 1905 it was.",
        'End with one line that begins with "Grade:" and has the number.',
        "Grade it from 0 (wrong or useless) to 10 (entirely right).",
    ],
)
def test_no_grades(text: str) -> None:
    """Other scales, other numbers, several that differ, and the instruction itself are no grades."""
    assert read_grade(text, 10) is None


def test_other_scales() -> None:
    """A grade is out of the scale that was asked for."""
    assert read_grade("4/5", 5) == 4
    assert read_grade("Grade: 85", 100) == 85
    assert read_grade("Grade: 6", 5) is None


@pytest.mark.parametrize(
    ("text", "choice"), [("A", "A"), ("Choice: B", "B"), ("Best: reply C.", "C"), ("B\nsince", "B")]
)
def test_choices(text: str, choice: str) -> None:
    """One label alone, or after the word, is a choice."""
    assert read_choice(text, LABELS) == choice


@pytest.mark.parametrize("text", ["", "A or B", "Answer: A, B", "I choose A", "A good choice", "Verdict: guilty"])
def test_no_choices(text: str) -> None:
    """Several, none, or a sentence are no choice."""
    assert read_choice(text, LABELS) is None


@given(PROSE)
def test_prose_is_no_ballot(text: str) -> None:
    """Lines with a word in them that no ballot has are no ranking and no choice, whatever labels stand beside it."""
    assert read_ranking(text, LABELS) is None
    assert read_choice(text, LABELS) is None


@given(PROSE)
def test_prose_is_no_grade(text: str) -> None:
    """Numbers in sentences are no grade, unless one is said to be out of ten."""
    grade = read_grade(text, 10)
    assert grade is None or re.search(r"\d\s*/\s*10", text)


@given(LINE, LINE)
def test_a_ranking_that_says_something_else_is_none(before: str, after: str) -> None:
    """After the word, a line that says anything but labels is no ranking."""
    assert read_ranking(f"Ranking: x {before} think {after}", LABELS) is None


@given(st.text(alphabet=st.characters(exclude_characters="ABC")))
def test_no_label_no_vote(text: str) -> None:
    """A text without any label is never a ranking or a choice."""
    assert read_ranking(text, LABELS) is None
    assert read_choice(text, LABELS) is None


@given(st.text(alphabet=st.characters(exclude_categories=["Nd"])))
def test_no_digit_no_grade(text: str) -> None:
    """A text without any digit is never a grade."""
    assert read_grade(text, 10) is None


@given(st.permutations([f"L{place}" for place in range(30)]))
def test_many_labels(order: list[str]) -> None:
    """A long ranking is read as it was given."""
    assert read_ranking("Ranking: " + ", ".join(order), sorted(order)) == order


@pytest.mark.parametrize(
    "text",
    [
        "ranking " * 200_000,
        "Ranking: " + "." * 10**6,
        "Ranking: 1" + " " * 10**6,
        "Grade:" * 200_000,
        "1. " * 300_000,
        "A, " * 300_000,
        "(" * 10**6,
    ],
)
def test_a_megabyte_is_read_in_no_time(text: str) -> None:
    """However long and odd a ballot is, it is read at once."""
    import time

    began = time.process_time()
    for read in (lambda: read_ranking(text, LABELS), lambda: read_choice(text, LABELS), lambda: read_grade(text, 10)):
        read()
    assert time.process_time() - began < 1
