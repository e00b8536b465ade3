"""Refine: the kind of error that is found decides who corrects it, until none is found."""

from __future__ import annotations

from itertools import product

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, Function, ModelAgent, Reply
from motet.backends.calculator import calculate
from motet.compose.refine import CONCEPT, IDENTIFY, MISCALCULATION, MISREAD, Refine
from motet.errors import TooFewReplies, UsageError


def finding(*verdicts: object) -> ModelAgent:
    """An identifier that says one thing after the other."""
    said = iter(verdicts)
    return agent("identifier", said=lambda request: next(said))


PUPIL = agent("pupil", said=lambda request: "again" if "<reply" in request.text else "first")
READER, THINKER, COUNTER = agent("reader"), agent("thinker"), agent("counter")


def refine(identifier: ModelAgent, **fields: object) -> Refine:
    """With a refiner for each kind."""
    return Refine(PUPIL, identifier, READER, THINKER, COUNTER, **fields)  # type: ignore[arg-type]


def test_shape() -> None:
    """One call and two a round, all in series: what an estimate counts is the most."""
    assert shape(refine(agent("identifier"))) == (11, 11)
    assert shape(Refine(PUPIL, PUPIL, rounds=2)) == (5, 5)
    for verdicts in product(("misread", "concept", "miscalculation", "clean", "7"), repeat=2):
        mixture = refine(finding(*(f"Verdict: {verdict}" for verdict in verdicts)), rounds=2)
        assert ask(mixture).usage.calls <= 5, verdicts


@pytest.mark.parametrize(
    ("verdict", "refiner", "note"),
    [
        ("It answers another question.\nVerdict: misread", "reader", MISREAD),
        ("**Verdict:** Concept.", "thinker", CONCEPT),
        ("2 + 2 is not 5. Verdict: MISCALCULATION", "counter", MISCALCULATION),
    ],
)
def test_the_matching_refiner_corrects(verdict: str, refiner: str, note: str) -> None:
    """It hears the reply and what was found, apart and fenced, and its reply is looked at again."""
    result = ask(refine(finding(verdict, "Verdict: clean")))
    assert [call.agent for call in calls(result)] == ["pupil", "identifier", refiner, "identifier"]
    _, first, corrected, second = calls(result)
    assert (heard(first), heard(corrected), heard(second)) == (["first"], ["first", verdict], [refiner])
    assert first.request.question == IDENTIFY
    assert corrected.request.question == "What?"
    assert note in corrected.request.text
    assert (result.text, result.warnings) == (refiner, [])


def test_a_clean_reply_is_given_as_it_is() -> None:
    """One verdict, no correction."""
    result = ask(refine(finding("Verdict: clean")))
    assert (result.text, result.usage.calls) == ("first", 2)


def test_without_refiners_the_agent_corrects_itself() -> None:
    """The paper's base model for every kind."""
    result = ask(Refine(PUPIL, finding("Verdict: concept", "Verdict: clean")))
    assert (result.text, [call.agent for call in calls(result)][2]) == ("again", "pupil")


def test_one_error_after_the_other() -> None:
    """Each round has its own verdict; it ends with the last round, and that is noted."""
    verdicts = ["Verdict: misread", "Verdict: concept", "Verdict: miscalculation"]
    result = ask(refine(finding(*verdicts), rounds=3))
    assert [call.agent for call in calls(result)][2::2] == ["reader", "thinker", "counter"]
    assert (result.text, result.usage.calls) == ("counter", 1 + 2 * 3)
    assert "no verdict was clean in 3 rounds" in result.warnings[0]


@pytest.mark.parametrize(
    "verdict",
    [
        "Hm.",
        "Verdict: misread or concept",
        "Verdict: 7",
        "It is not clean.",
        Reply("", finish="abstain"),
        down(),
    ],
    ids=str,
)
def test_a_verdict_that_cannot_be_read_corrects_nothing(verdict: object) -> None:
    """The reply stands, and that is noted."""
    result = ask(refine(finding(verdict)))
    assert (result.text, result.usage.calls) == ("first", 2)
    assert "no verdict that could be read" in result.warnings[0]


def test_a_calculator_corrects_sums_and_leaves_the_rest() -> None:
    """It answers the question where that is a sum; else the agent corrects itself."""
    calculator = ModelAgent(Function(calculate, name="sums"), "calculator")
    verdicts = ("Verdict: miscalculation", "Verdict: clean")
    wrong = agent("wrong", said=lambda request: "again" if "<reply" in request.text else "381")
    result = ask(Refine(wrong, finding(*verdicts), miscalculation=calculator), "What is 17 * 23?")
    assert result.text == "391"
    result = ask(Refine(wrong, finding(*verdicts), miscalculation=calculator), "How old is Ann?")
    assert (result.text, result.outcome.state) == ("again", "full")


def test_dead_refiners() -> None:
    """The agent takes over; if it fails as well, the reply stands and that is noted."""
    dead = agent("dead", said=down())
    result = ask(Refine(PUPIL, finding("Verdict: concept", "Verdict: clean"), concept=dead))
    assert (result.text, result.outcome.state) == ("again", "degraded")
    once = agent("once", said=lambda request: down() if "<reply" in request.text else "first")
    result = ask(Refine(once, finding("Verdict: concept"), concept=dead))
    assert result.text == "first"
    assert "nobody corrected what was found to be wrong (concept)" in result.warnings[0]


def test_without_a_first_reply_there_is_an_error() -> None:
    """Nothing to refine."""
    assert isinstance(ask(Refine(agent("dead", said=down()), finding())).error, TooFewReplies)


def test_a_spent_purse_gives_the_last_reply() -> None:
    """The last correction is the best so far."""
    result = ask(refine(finding(*["Verdict: concept"] * 9)), budget=Budget(calls=4))
    assert (result.text, result.stopped) == ("thinker", "calls")


def test_no_rounds() -> None:
    """Refused when it is made."""
    with pytest.raises(UsageError, match="at least 1 rounds"):
        refine(finding(), rounds=0)
