"""Ballots: what is a vote is read, in its many dresses; nonsense, refusals and prose never are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.ballot import MOST_FAULTS, MOST_STEPS, Plan, read_choice, read_grade, read_lines, read_plan, read_ranking

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


# ---- plans


def steps(plan: Plan | None) -> list[tuple[str, str, list[int]]]:
    """Who does what after which numbers."""
    assert plan is not None
    return [(step.who, step.text, [place + 1 for place in step.after]) for step in plan.steps]


LOOK, WRITE = ("A", "look it up", []), ("B", "write it down", [1])


@pytest.mark.parametrize(
    "text",
    [
        "1. A: look it up\n2. B: write it down (after 1)",
        "1) A: look it up\n2) B: write it down, after step 1.",
        "Step 1: A: look it up\nStep 2: B: write it down [depends on 1]",
        "**1.** **A:** look it up\n**2.** **B:** write it down (needs 1)",
        "I have thought about it.\n\n## Plan:\n1. A: look it up\n\n2. b: write it down; after 1\n\nThat is all.",
        "1. Agent A: look it up (after none)\n2. (B): write it down — after #1",
        "1. A (a clerk): look it up\n2. **B [a poet]**: write it down (after 1)",
        "- A: look it up\n- B: write it down (after 1)",
        "  1. A: look\n     it up\n  2. B: write it\n     - down (after 1)".replace("- down", "down"),
        "10. A: look it up\n20. B: write it down (after 10)",
        '[{"do": "look it up", "who": "A"}, {"do": "write it down", "who": "B", "after": [1]}]',
        '{"steps": [{"Do": "look it up", "Who": "a"}, {"task": "write it down", "who": "B", "after": "1"}]}',
        'Here you are:\n```json\n["A: look it up", "B: write it down (after 1)"]\n```'.replace("A: ", "A: "),
    ],
)
def test_plans(text: str) -> None:
    """Numbers, dashes, tables: the same two steps, and nothing to find fault with."""
    plan = read_plan(text, ["A", "B"])
    assert steps(plan) == [LOOK, WRITE]
    assert plan is not None
    assert plan.faults == ()
    assert plan.waves == ((0,), (1,))


@pytest.mark.parametrize(
    "text",
    ["", "I would rather not.", "It is 7.", "3.5 metres", "7", "1.", "[]", "{}", "[1, 2]", "[[]]", '{"a": [], "b": []}',
     "[" * 30_000, '[{"do": 3}]', "1.A: no", "Ranking: B, A", "1. ---", "null", '"1. A: look"', "[1"],
)  # fmt: skip
def test_no_plans(text: str) -> None:
    """Prose, ballots, numbers, empty and broken lists are no plan."""
    assert read_plan(text, ["A", "B"]) is None


@pytest.mark.parametrize(
    ("text", "found", "fault"),
    [
        ("1. Z: look", [("", "look", [])], "step 1 is given to 'Z', who is nobody here"),
        ("1. Zoologist: look", [("", "Zoologist: look", [])], "step 1 begins with 'Zoologist', who is nobody here"),
        ('[{"do": "look", "who": "zoo"}]', [("", "look", [])], "step 1 is given to 'zoo', who is nobody here"),
        ("1. A: look (after 1)", [("A", "look", [])], "step 1 waits for itself"),
        ("1. A: look (after 7)", [("A", "look", [])], "step 1 comes after 7, which there is not"),
        (
            "1. A: x (after 3)\n2. A: y (after 1)\n3. A: z (after 2)\n4. B: end (after 3)",
            [("A", "x", []), ("A", "y", [1]), ("A", "z", [2]), ("B", "end", [3])],
            "steps 1, 2, 3 wait for each other and are done in the order written",
        ),
        ("1. A:\n2. B: write (after 1)", [("B", "write", [])], "step 1 says nothing and is left out"),
        ("1. A: x\n2. A: y\n1. B: z", [("B", "z", [])], "there are several lists, of which the last is taken"),
        (
            "1. A: x\n2. A: y\n2. B: z (after 2)",
            [("A", "x", []), ("A", "y", []), ("B", "z", [2])],
            "numbers are not in order, so that the steps are counted as they stand",
        ),
    ],
)
def test_plans_with_faults(text: str, found: list[tuple[str, str, list[int]]], fault: str) -> None:
    """Unknown recruits, cycles, steps that are not there, empty ones, two lists: mended so that it can be followed."""
    plan = read_plan(text, ["A", "B"])
    assert steps(plan) == found
    assert plan is not None
    assert fault in plan.faults


def test_later_steps_may_come_first() -> None:
    """A step may wait for one that is written below it, if that does not wait for it."""
    plan = read_plan("1. write (after 2-3)\n2. ask\n3. look (after 2)")
    assert steps(plan) == [("", "write", [2, 3]), ("", "ask", []), ("", "look", [2])]
    assert plan is not None
    assert plan.waves == ((1,), (2,), (0,))
    assert plan.faults == ()


def test_roles_that_repeat() -> None:
    """A role that is cast twice is left out, whatever else is said of it; steps may repeat."""
    text = "1. A: Chemist: knows acids\n2. B: *chemist*, who knows bases\n3. B: Lawyer"
    plan = read_plan(text, ["A", "B"], unlike=True)
    assert steps(plan) == [("A", "Chemist: knows acids", []), ("B", "Lawyer", [])]
    assert plan is not None
    assert plan.faults == ("step 2 repeats 'chemist' and is left out",)
    assert len(steps(read_plan(text, ["A", "B"]))) == 3


def test_roles_that_begin_with_a_bracket() -> None:
    """They have no name before it, and are not one role."""
    plan = read_plan("1. A: (lawyer) knows law\n2. B: (chemist) knows acids", ["A", "B"], unlike=True)
    assert steps(plan) == [("A", "(lawyer) knows law", []), ("B", "(chemist) knows acids", [])]


def test_only_the_first_faults_are_told() -> None:
    """A text full of them is no flood of notes."""
    plan = read_plan("1. A: do it\n" + "\n".join(f"{n}. A: ..." for n in range(2, 999)), ["A"])
    assert plan is not None
    assert len(plan.faults) == MOST_FAULTS + 1
    assert plan.faults[-1] == f"there are {997 - MOST_FAULTS} more faults"


@pytest.mark.parametrize(
    "text",
    ["\n".join(f"{n}. do (after 1-999)" for n in range(1, 1000)), "1. do (after 1-999)\n" * 1200],
    ids=["all wait for all", "without numbers"],
)
def test_a_thousand_steps_that_wait_for_each_other(text: str) -> None:
    """Where so many are allowed they are read at once, and can be followed."""
    import time

    began = time.process_time()
    plan = read_plan(text, most=1000)
    assert time.process_time() - began < 2
    assert plan is not None
    assert sorted(place for wave in plan.waves for place in wave) == list(range(len(plan.steps)))


def test_too_many_steps() -> None:
    """Only the first ones are taken, and nothing waits for the others."""
    plan = read_plan("\n".join(f"{n}. do {n} (after {n + 1})" for n in range(1, 99)), most=2)
    assert steps(plan) == [("", "do 1", [2]), ("", "do 2", [])]
    assert plan is not None
    assert plan.faults == ("only the first 2 of 98 steps are taken", "step 2 comes after 3, which there is not")
    assert len(steps(read_plan("1. do\n" * 999))) == MOST_STEPS


def test_a_colon_is_no_name() -> None:
    """Without names to choose from nobody is named, and a sentence with a colon is no name."""
    assert steps(read_plan("1. A: look it up")) == [("", "A: look it up", [])]
    plan = read_plan("1. Find the capital of France: look it up", ["A"])
    assert steps(plan) == [("", "Find the capital of France: look it up", [])]
    assert plan is not None
    assert plan.faults == ()


EDGES = st.integers(1, 9).flatmap(
    lambda n: st.tuples(
        *[st.tuples(st.sampled_from(["A", "B", "C"]), st.sets(st.integers(1, n), max_size=4)) for _ in range(n)]
    )
)
"""A plan: for each step who does it, and after which numbers, cycles and all."""
_FORMS = ("numbers", "dashes", "json")


def written(plan: Sequence[tuple[str, set[int]]], form: str) -> str:
    """A plan as an agent would write it."""
    if form == "json":
        return json.dumps(
            [{"do": f"part {n}", "who": who, "after": sorted(after)} for n, (who, after) in enumerate(plan, 1)]
        )
    lines = []
    for number, (who, after) in enumerate(plan, 1):
        end = f" (after {', '.join(map(str, sorted(after)))})" if after else ""
        lines.append(f"{'-' if form == 'dashes' else f'{number}.'} {who}: part {number}{end}")
    return "\n".join(lines)


def closure(after: Mapping[int, set[int]]) -> dict[int, set[int]]:
    """For each number all that it waits for, by going round until nothing is added."""
    known = {number: set(others) for number, others in after.items()}
    for _ in known:
        for others in known.values():
            others |= {far for other in others for far in known[other]}
    return known


@given(EDGES, st.sampled_from(_FORMS))
def test_any_plan_can_be_followed(plan: tuple[tuple[str, set[int]], ...], form: str) -> None:
    """Every step is kept, in order, with who does it; every wait that is in no cycle is kept, and no cycle is left;
    there is a fault exactly if there was a cycle.
    """
    read = read_plan(written(plan, form), LABELS)
    found = steps(read)
    assert read is not None
    assert [(who, text) for who, text, _ in found] == [(who, f"part {n}") for n, (who, _) in enumerate(plan, 1)]
    far = closure({number: after for number, (_, after) in enumerate(plan, 1)})
    for number, (_, after) in enumerate(plan, 1):
        kept = {other for other in after if number not in far[other] or other < number}
        assert set(found[number - 1][2]) == kept
    assert bool(read.faults) == any(number in others for number, others in far.items())
    assert sorted(place for wave in read.waves for place in wave) == list(range(len(plan)))


TALK = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from([*"ABZ12", "1.", "2)", "- ", ":", "(", "after", ")", "\n", " ", '"', "[", "{", "]", "}",
                              ",", "do", "who", "plan:", "```", "step", "1-3", "look"])).map("".join),
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
                 lambda each: st.lists(each, max_size=4) | st.dictionaries(
                     st.sampled_from(["do", "who", "after", "task", "x"]), each, max_size=4)).map(json.dumps),
)  # fmt: skip
"""Prose, the signs that plans are made of in any order, and any JSON."""


@given(TALK, st.sampled_from([None, ["A", "B"]]), st.integers(1, 4), st.booleans())
def test_whatever_is_said(text: str, who: list[str] | None, most: int, unlike: bool) -> None:
    """It is no plan, or one that can be followed: few steps that say something, of known people, in some order."""
    plan = read_plan(text, who, most=most, unlike=unlike)
    if plan is None:
        return
    assert 1 <= len(plan.steps) <= most
    assert all(re.search(r"\w", step.text) and step.who in ("", *(who or ())) for step in plan.steps)
    assert sorted(place for wave in plan.waves for place in wave) == list(range(len(plan.steps)))
    done: set[int] = set()
    for wave in plan.waves:
        assert all(done.issuperset(plan.steps[place].after) for place in wave)
        done.update(wave)


@given(st.text(alphabet=st.characters(exclude_categories=["Nd"], exclude_characters="-*+•–[{")))
def test_no_list_no_plan(text: str) -> None:
    """A text without any digit, dash or bracket is never a plan."""
    assert read_plan(text, ["A"]) is None


@pytest.mark.parametrize(
    "text",
    ["1. " * 300_000, "1. A: " + "(after " * 200_000, "- \n" * 300_000, "[" * 10**6, "```[" * 300_000,
     "1. x\n" * 300_000,
     "plan: " * 200_000, "\n 1. A: x (after 1-999)" * 50_000, "[" + '{"do":"x","after":"1-999"},' * 700 + '"x"]',
     "1. A: x" + "\n   more" * 100_000, "1. " + "*" * 10**6, "1." + " " * 10**6],
)  # fmt: skip
def test_a_megabyte_of_plan_is_read_in_no_time(text: str) -> None:
    """However long and odd a plan is, it is read at once."""
    import time

    began = time.process_time()
    read_plan(text, ["A", "B"])
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Search: rain", ["rain"]),
        ("Search: rain\r\nSearch: sun\r\n", ["rain", "sun"]),
        ("I want rain.\n**Search:** *rain in Lyon*", ["rain in Lyon"]),
        ("- search: a\n2. Search: b\nSearch 3: c", ["a", "b", "c"]),
        ("Search:\nSearch: ", []),
        ("My search: rain\nResearch: rain\nno search", []),
        ("", []),
    ],
)
def test_lines_with_a_word(text: str, found: list[str]) -> None:
    """Only what follows on a line that begins with the word is read."""
    assert read_lines(text, "search") == found


def test_lines_of_a_hostile_text() -> None:
    """A megabyte of almost such lines takes no time."""
    assert read_lines("*- 1." * 200_000 + "\nsearch" * 1000, "search") == []
