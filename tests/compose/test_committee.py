"""DEI's committee: each solution reviewed several times, the best graded given; what can't be read never decides."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, ModelAgent, Reply
from motet.compose.committee import Committee
from motet.errors import TooFewReplies, UsageError
from motet.message import Request
from motet.trace import Noted

A, B, C = agent("a", "Lyon"), agent("b", "Paris"), agent("c", "Lyon")


def reviewer(grades: dict[str, list[str]]) -> ModelAgent:
    """Says, of the reply that it is shown, the next of the texts it has for it."""
    said = {text: iter(texts) for text, texts in grades.items()}

    def script(request: Request) -> str:
        return next(next(texts) for text, texts in said.items() if f"\n{text}\n" in request.text)

    return agent("reviewer", script)


def notes(result: object) -> list[str]:
    """What a run noted."""
    return [event.text for event in result.trace if isinstance(event, Noted)]  # type: ignore[attr-defined]


def test_the_best_mean_wins() -> None:
    """Votes of one solution are averaged: three middling grades beat a high one among low ones."""
    judge = reviewer({"Lyon": ["Grade: 10", "Grade: 1", "Grade: 1"], "Paris": ["Grade: 5"] * 3})
    result = ask(Committee([A, B], judge))
    assert (result.text, result.usage.calls) == ("Paris", 2 + 2 * 3)


def test_each_review_is_blind_and_of_one() -> None:
    """A reviewer sees one solution at a time, fenced, explains before it grades, and no name."""
    result = ask(Committee([A, B], agent("reviewer", "Grade: 5"), votes=2))
    told = calls(result)[2:]
    assert [heard(call) for call in told] == [["Lyon"], ["Lyon"], ["Paris"], ["Paris"]]
    assert len({call.key for call in told}) == 4  # two draws of each
    assert all("Conflicts:" in call.request.text and "m-a" not in call.request.text for call in told)
    bare = ask(Committee([A, B], agent("reviewer", "Grade: 5"), explain=False))
    assert not any("Conflicts:" in call.request.text for call in calls(bare))


def test_ties_go_to_the_first() -> None:
    """Of equals the one named first is given, whoever was faster."""
    assert ask(Committee([agent("slow", "x", delay=5), B], agent("reviewer", "Grade: 5"))).text == "x"


@pytest.mark.parametrize("nonsense", ["Both are fine.", "Grade: eleven", "Grade: 99"])
def test_unreadable_votes_are_left_out(nonsense: str) -> None:
    """What is no grade lowers nothing and is noted; a solution without any readable review is not chosen."""
    result = ask(Committee([A, B], reviewer({"Lyon": ["Grade: 3"] * 3, "Paris": [nonsense, "Grade: 4", nonsense]})))
    assert result.text == "Paris"
    assert notes(result) == ["reviewer gave no grade that could be read; that review counts for nothing"]
    unread = Committee([A, B], reviewer({"Lyon": ["Grade: 0"] * 3, "Paris": [nonsense] * 3}))
    assert ask(unread).text == "Lyon"


@pytest.mark.parametrize("said", ["who knows", down()])
def test_no_review_at_all(said: object) -> None:
    """If no review can be read, the most frequent answer is given, and that is noted."""
    result = ask(Committee([B, A, C], agent("reviewer", said)))
    assert result.text == "Lyon"
    assert notes(result) == [
        "reviewer gave no grade that could be read; that review counts for nothing",
        "no review could be read; the most frequent answer is given instead",
    ]


def test_a_lone_solution_is_not_reviewed() -> None:
    """With the others dead there is nothing to choose, and nobody is asked to."""
    result = ask(Committee([A, agent("x", down())], agent("reviewer", "Grade: 5")))
    assert (result.text, result.usage.calls) == ("Lyon", 2)


def test_a_spent_budget_gives_the_first_solution() -> None:
    """What was offered stands when the reviews can't be paid."""
    result = ask(Committee([A, B], agent("reviewer", "Grade: 5")), budget=Budget(calls=3))
    assert (result.text, result.stopped) == ("Lyon", "calls")


def test_grace() -> None:
    """It goes on without slow reviews."""

    def delay(request: Request) -> float:
        return 60.0 if "Paris" in request.text else 0.0

    slow: Callable[[Request], float] = delay
    judge = agent("reviewer", "Grade: 5")
    judge.backend.delay = slow  # type: ignore[attr-defined]
    result = ask(Committee([A, B], judge, grace=1))
    assert result.text == "Lyon"
    assert result.seconds == pytest.approx(1)


def test_shapes_and_refusals() -> None:
    """Calls and depth are what the docstring says; nothing to choose from, or nothing to choose by, is refused."""
    assert shape(Committee([A, B, C], A)) == (3 + 9, 2)
    assert shape(Committee([A, B], C, votes=10)) == (2 + 20, 2)
    wrongs: list[dict[str, object]] = [{"agents": []}, {"votes": 0}, {"scale": 0}, {"scale": 10_000}]
    for wrong in wrongs:
        with pytest.raises(UsageError, match=r"at least 1|9,999 at most"):
            Committee(**{"agents": [A, B], "reviewer": C, **wrong})  # type: ignore[arg-type]
    mute = [agent(name, Reply("", finish="abstain")) for name in "xy"]
    assert isinstance(ask(Committee(mute, A)).error, TooFewReplies)
