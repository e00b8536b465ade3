"""Scorers that know the right answer: what counts, what does not, and what is in between."""

from __future__ import annotations

from fractions import Fraction

import pytest
from acting import agent, down, go
from hypothesis import given
from hypothesis import strategies as st

from motet import Chat, Reply, Run
from motet.errors import UsageError
from motet.outcome import Result
from motet.score import Choice, Contains, Maths, Numeric, Regex, Scorer, UnitTests, Verbatim, Versus
from motet.score.choice import picked
from motet.score.numeric import number_in
from motet.score.unit_tests import code_in
from motet.trace import CallStarted


def score_of(score: Scorer, text: str | Reply, question: str = "What?") -> tuple[float, tuple[str, ...], Result]:
    """The score, what was noted, and the run."""
    found: list[float] = []

    async def do(chat: Chat, run: Run) -> Reply:
        reply = Reply(text, id="r") if isinstance(text, str) else text
        found.append(await score(Chat.of(question), reply, run))
        return Reply("done")

    result = go(do)
    return found[0], tuple(result.warnings), result


@pytest.mark.parametrize(
    "score",
    [
        Choice(["A"], ["x", "y"]),
        Numeric(["4"]),
        Contains(["4"]),
        Regex(["4"]),
        Maths(["4"]),
        Verbatim(["4"]),
        UnitTests(["assert True"]),
        Versus(agent("j", said="Choice: A"), ["4"]),
    ],
    ids=lambda score: type(score).__name__,
)
@pytest.mark.parametrize(
    "reply", [Reply("", finish="abstain"), Reply(" "), Reply("4", finish="length")], ids=lambda reply: reply.state
)
def test_the_unusable_scores_nothing(score: Scorer, reply: Reply) -> None:
    """A reply that is cut, empty or abstained scores 0, and nobody is asked about it."""
    value, _, result = score_of(score, reply)
    assert (value, result.usage.calls) == (0, 0)


OPTIONS = ["Cusco", "Lima", "New Lima", "42", "41 or 42"]


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"),
        ("(b)", "B"),
        ("The answer is B.", "B"),
        ("B) Lima", "B"),
        ("**B. Lima**", "B"),
        ("Lima", "B"),
        ("It is Lima.", "B"),
        ("new lima", "C"),
        ("42", "D"),
        ("The answer is 42.", "D"),
        ("A or B", ""),
        ("It is not B.", ""),
        ("F", ""),
        ("Bogota", ""),
        ("", ""),
    ],
)
def test_which_option_is_picked(text: str, letter: str) -> None:
    """By letter or by text; what can't be told is none."""
    assert picked(text, OPTIONS) == letter


def test_choices() -> None:
    """Any accepted letter counts; without the options' texts letters are read."""
    assert score_of(Choice(["B", "C"], OPTIONS), "New Lima")[0] == 1
    assert score_of(Choice(["B"], OPTIONS), "New Lima")[0] == 0
    assert score_of(Choice(["b"], OPTIONS), "Lima")[0] == 1
    assert score_of(Choice(["B"]), "The answer is (B).")[0] == 1
    assert score_of(Choice(["B"]), "Lima")[0] == 0


@given(st.integers(0, 4), st.sampled_from(["{}", "({})", "{}.", "**{}**", "The answer is {}.", "Answer: {}"]))
def test_any_letter_in_any_dress(place: int, dress: str) -> None:
    """A letter is read whatever is around it."""
    assert picked(dress.format("ABCDE"[place]), OPTIONS) == "ABCDE"[place]


@pytest.mark.parametrize(
    ("score", "text", "value"),
    [
        (Numeric(["3.14159"], tolerance=0.01), "about 3.14", 1),
        (Numeric(["3.14159"], tolerance=0.001), "about 3.14", 0),
        (Numeric(["1000"], relative=0.05), "It is $1,049.", 1),
        (Numeric(["1000"], relative=0.05), "1051", 0),
        (Numeric(["-1000"], relative=0.05), "-1049", 1),
        (Numeric(["1/3"], tolerance=0.001), "0.333", 1),
        (Numeric(["1/3"]), "0.333", 0),
        (Numeric(["1/3"]), "\\frac{1}{3}", 1),
        (Numeric(["5"], tolerance=1), "between 4 and 6", 0),
        (Numeric(["5"]), "none", 0),
        (Numeric(["4", "5"]), "five", 1),
        (Numeric(["1e-9"], relative=0.1), "1.05e-9", 1),
    ],
)
def test_close_enough(score: Numeric, text: str, value: float) -> None:
    """Within the wider of the two tolerances, both ends included."""
    assert score_of(score, text)[0] == value


def test_numbers_that_make_no_sense() -> None:
    """A negative tolerance is refused; an accepted answer that is no number is noted."""
    with pytest.raises(UsageError, match="tolerance of -1"):
        Numeric(["1"], tolerance=-1)
    with pytest.raises(UsageError, match="relative of nan"):
        Numeric(["1"], relative=float("nan"))
    value, notes, _ = score_of(Numeric(["many"]), "5")
    assert value == 0
    assert "no accepted answer is a number (['many'])" in notes[0]


@given(st.fractions(max_denominator=1000), st.fractions(min_value=0, max_value=10, max_denominator=100))
def test_the_edge_of_the_tolerance(target: Fraction, off: Fraction) -> None:
    """What is off by exactly the tolerance counts; what is off by more does not."""
    given = target + off
    assert number_in(f"{given}") == given
    score = Numeric([f"{target}"], tolerance=float(off))
    assert score_of(score, f"{given}")[0] == float(off <= Fraction(float(off)))  # a float is seldom just the fraction
    assert score_of(score, f"{given + 1}")[0] == 0


def test_contains() -> None:
    """Whole words, in any case and spacing; all of them where that is asked."""
    assert score_of(Contains(["new york"]), "I love New\nYork!")[0] == 1
    assert score_of(Contains(["york"]), "Yorkshire")[0] == 0
    assert score_of(Contains(["a", "b"]), "just b")[0] == 1
    assert score_of(Contains(["a", "b"], every=True), "just b")[0] == 0
    assert score_of(Contains(["a", "b"], every=True), "b, a")[0] == 1
    assert score_of(Contains(["York"], case=True), "york")[0] == 0
    assert score_of(Contains(["C++ (2x)"]), "in C++ (2x).")[0] == 1
    assert score_of(Contains([]), "x")[0] == 0


def test_regex() -> None:
    """One of the patterns is found anywhere; one that can't be a pattern is refused."""
    assert score_of(Regex([r"^x", r"\d{2}$"]), "ab 42")[0] == 1
    assert score_of(Regex([r"(?i)PARIS"]), "paris")[0] == 1
    assert score_of(Regex([r"^\d+$"]), "4a")[0] == 0
    with pytest.raises(UsageError, match="no regular expression"):
        Regex(["("])


def test_a_pattern_that_never_ends_is_stopped() -> None:
    """Catastrophic backtracking ends at the time-out and is noted, and the next pattern works."""
    value, notes, _ = score_of(Regex([r"(a+)+$"], seconds=0.5), "a" * 40 + "b")
    assert value == 0
    assert "took longer than 0.5 s" in notes[0]
    assert score_of(Regex(["b"]), "abc")[0] == 1


def test_verbatim() -> None:
    """To the letter, but for what is to be ignored."""
    assert score_of(Verbatim(["Paris"]), " Paris\n")[0] == 1
    assert score_of(Verbatim(["Paris"]), "paris")[0] == 0
    assert score_of(Verbatim(["Paris"], ignore_case=True), "paris")[0] == 1
    assert score_of(Verbatim(["Paris!"], ignore_punctuation=True), "P.aris")[0] == 1
    assert score_of(Verbatim(["a1"], ignore_numbers=True), "a2")[0] == 1
    assert score_of(Verbatim(["1234"], ignore=[",", r"(?s).*#### "]), "so\n#### 1,234")[0] == 1
    with pytest.raises(UsageError, match="no regular expression"):
        Verbatim(["a"], ignore=["["])


class TestMaths:
    """Equality of expressions, with the library in a process that can be killed."""

    @pytest.fixture(autouse=True)
    def _library(self) -> None:
        pytest.importorskip("math_verify")

    @pytest.mark.parametrize(
        ("text", "accepted", "value"),
        [
            (r"The answer is $2\sqrt{3}$.", r"\sqrt{12}", 1),
            (r"\boxed{(x-1)(x+1)}", "x^2-1", 1),
            (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt 3}", 1),
            (r"\boxed{70{,}000}", "70000", 1),
            (r"−3", "-3", 1),
            ("7", "5", 0),
            ("(3,4)", "(4,3)", 0),
            ("no idea", "5", 0),
            (r"\boxed{\frac{1}{", "5", 0),
        ],
    )
    def test_equal_or_not(self, text: str, accepted: str, value: float) -> None:
        """Equal expressions are equal in any form; others, and what is none, are not."""
        assert score_of(Maths([accepted], seconds=30), text)[0] == value

    def test_a_tower_of_powers_is_stopped(self) -> None:
        """What never ends is killed in time and noted, and the next comparison works."""
        value, notes, _ = score_of(Maths(["5"], seconds=1.0), "2^{3^{4^{5^{6}}}}")
        assert value == 0
        assert "took over 1 s" in notes[0]
        assert score_of(Maths(["x+x"], seconds=30), "2x")[0] == 1


def test_the_code_of_a_reply() -> None:
    """The last block that defines something; a block that was cut off counts to its end; else all of it."""
    assert code_in("def f(): pass") == "def f(): pass"
    assert code_in("```\nx\n```\n```py\ndef f(): 1\n```\n```\nf()\n```") == "def f(): 1\n"
    assert code_in("```python\ndef f():\n    return 1") == "def f():\n    return 1"
    assert code_in('~~~\ndef f():\n    """```"""\n~~~') == 'def f():\n    """```"""\n'


def judge(*choices: object) -> Versus:
    """A judge that says these, one after the other, and a reference answer."""
    said = iter(choices)
    return Versus(agent("judge", said=lambda request: next(said)), ["the reference"])


@pytest.mark.parametrize(
    ("choices", "value", "note"),
    [
        (("Choice: A", "Choice: B"), 1, ""),  # the reply is A, then B
        (("Choice: B", "Choice: A"), 0, ""),
        (("Choice: tie", "Choice: Tie"), 0.5, ""),
        (("Choice: A", "Choice: tie"), 0.75, "changed with the order"),
        (("Choice: A", "Choice: A"), 0.5, "changed with the order"),
        (("Choice: B", "Choice: B"), 0.5, "changed with the order"),
        (("Choice: A", "Both are fine."), 0, "in 1 of 2 orders"),
    ],
)
def test_a_judge_is_asked_in_both_orders(choices: tuple[str, str], value: float, note: str) -> None:
    """The same text twice decides; a choice that goes with the place is a draw, and is noted."""
    found, notes, result = score_of(judge(*choices), "the reply", "Who?")
    assert (found, result.usage.calls) == (value, 2)
    assert (note in notes[0]) if note else notes == ()
    first, second = (event.request.messages[-1].text for event in result.trace if isinstance(event, CallStarted))
    assert first.index("the reply") < first.index("the reference")
    assert second.index("the reference") < second.index("the reply")
    assert 'id="A"' in first


def test_a_judge_that_is_down() -> None:
    """A judge that can't be asked has no say, and that is noted; so is a missing reference."""
    value, notes, _ = score_of(Versus(agent("j", said=down()), ["x"]), "y")
    assert (value, "2 of 2" in notes[0]) == (0, True)
    value, notes, result = score_of(Versus(agent("j", said="Choice: A"), []), "y")
    assert (value, result.usage.calls) == (0, 0)
    assert "no reference" in notes[0]
