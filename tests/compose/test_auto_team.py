"""AutoTeam: how the team is cast, planned, observed; and what observing results is worth."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import ModelAgent
from motet.compose.auto_team import AGAIN, AutoTeam
from motet.errors import TooFewReplies, UsageError
from motet.message import Request, abstain
from motet.outcome import Result

ROLES = "1. A: chemist, who knows acids\n2. B: lawyer, who knows the law"
PLAN = "1. A: name the acid\n2. B: say whether it is allowed (after 1)"


def planner(roles: str = ROLES, plan: str = PLAN, end: object = "all in all", name: str = "planner") -> ModelAgent:
    """Who casts these roles, draws this plan, and ends so."""

    def said(request: Request) -> object:
        words = request.messages[-1].text
        return roles if "put together the team" in words else plan if "draw the plan" in words else end

    return agent(name, said=said)


def observer(*said: object, verdicts: Sequence[str] = ("clean",)) -> ModelAgent:
    """Who says these of roles and plan, one after the other, and gives these verdicts, the last for ever."""
    lists, given = list(said), list(verdicts)

    def look(request: Request) -> object:
        if "Verdict:" in request.messages[-1].text:
            return f"So. Verdict: {given.pop(0) if len(given) > 1 else given[0]}"
        return lists.pop(0) if lists else "It is fine."

    return agent("observer", said=look)


def member(name: str, about: str = "") -> ModelAgent:
    """One that says its name and how many texts it heard."""
    return replace(agent(name, said=lambda request: f"{name}{request.text.count('<reply')}"), about=about)


ANN, BOB = member("ann", "reads chemistry"), member("bob", "reads law")


def agents(result: Result) -> list[str]:
    """Who was called, in order."""
    return [call.agent for call in calls(result)]


def test_cast_planned_observed_done() -> None:
    """Roles and plan are drawn and checked; each step is done in its role, with what it waits for, and checked."""
    result = ask(AutoTeam([ANN, BOB], planner(), observer(ROLES, PLAN)))
    assert agents(result) == ["planner", "observer"] * 2 + ["ann", "observer", "bob", "observer", "planner"]
    cast, checked, plan, again, first, view, second, _, end = calls(result)
    assert "A: reads chemistry\nB: reads law" in cast.request.text
    assert heard(checked) == [ROLES]
    assert heard(plan) == ["chemist, who knows acids", "lawyer, who knows the law"]
    assert heard(again) == [*heard(plan), PLAN]
    assert heard(first) == ["chemist, who knows acids", "name the acid"]
    assert heard(view) == ["name the acid", "ann2"]
    assert heard(second) == ["lawyer, who knows the law", "say whether it is allowed", "ann2"]
    assert heard(end) == ["ann2", "bob3"]
    assert (result.text, result.warnings) == ("all in all", [])


def test_no_two_texts_have_one_letter() -> None:
    """Cards, roles and drafts stand under letters of their own in every prompt."""
    result = ask(AutoTeam([ANN, BOB], planner(), observer(ROLES, PLAN)))
    for call in calls(result):
        letters = re.findall(r'<reply id="(\w+)">|^(\w): reads', call.request.text, re.MULTILINE)
        names = [fenced or card for fenced, card in letters]
        assert len(names) == len(set(names)), call.request.text


def test_the_observer_corrects() -> None:
    """What it says in the same form counts instead of what was drawn; else the draft stays, and that is noted."""
    better = observer("1. B: judge", "1. A: judge it")
    result = ask(AutoTeam([ANN, BOB], planner(), better))
    assert [call.agent for call in calls(result)][4] == "bob"
    assert heard(calls(result)[4]) == ["judge", "judge it"]
    result = ask(AutoTeam([ANN, BOB], planner(), observer()))
    assert [heard(call)[0] for call in calls(result)[4:7:2]] == [
        "chemist, who knows acids",
        "lawyer, who knows the law",
    ]
    assert sum("stay as drawn" in note for note in result.warnings) == 2


def test_a_result_that_is_not_clean_is_done_again() -> None:
    """By who did it, who hears why, up to the rounds, whose end is noted; unobserved, nothing is looked at."""
    one = planner(plan="1. A: name the acid")
    result = ask(AutoTeam([ANN, BOB], one, observer(verdicts=["revise", "clean"]), rounds=3))
    assert agents(result)[4:] == ["ann", "observer", "ann", "observer", "planner"]
    again = calls(result)[6]
    assert AGAIN in again.request.text
    assert heard(again) == ["So. Verdict: revise"]
    assert again.request.messages[-2].text == "ann2"
    result = ask(AutoTeam([ANN, BOB], one, observer(verdicts=["revise"])))
    assert agents(result)[4:] == ["ann", "observer", "ann", "planner"]
    assert any("done 2 times" in note for note in result.warnings)
    result = ask(AutoTeam([ANN, BOB], one, observed=False))
    assert agents(result) == ["planner", "planner", "ann", "planner"]
    raving = ask(AutoTeam([ANN, BOB], one, observer(verdicts=["perhaps"])))
    assert agents(raving)[4:] == ["ann", "observer", "planner"]
    assert any("no verdict that could be read" in note for note in raving.warnings)


def test_complaints_are_no_list() -> None:
    """A numbered list of what is wrong, with nothing given to anybody, does not become the roles or the plan."""
    complaints = "1. The role of chemist is vague.\n2. A lawyer is hardly needed."
    result = ask(AutoTeam([ANN, BOB], planner(), observer(complaints, complaints)))
    assert [heard(call)[0] for call in calls(result)[4:7:2]] == [
        "chemist, who knows acids",
        "lawyer, who knows the law",
    ]
    assert sum("stay as drawn" in note for note in result.warnings) == 2


def test_a_result_that_nobody_does_again_stays() -> None:
    """It is not looked at again either, and that is noted; a step that nobody does is noted too."""

    def once(request: Request) -> object:
        return down("context_length") if AGAIN in request.text or "hard" in request.text else "done"

    result = ask(
        AutoTeam([agent("ann", said=once)], planner(plan="1. A: look"), observer(verdicts=["revise"]), rounds=4)
    )
    assert agents(result)[4:] == ["ann", "observer", "ann", "planner"]
    assert heard(calls(result)[-1]) == ["done"]
    assert (
        "auto-team: a step could not be done again; its result stays, though it was not found clean" in result.warnings
    )
    assert not any("done 4 times" in note for note in result.warnings)
    result = ask(AutoTeam([agent("ann", said=once)], planner(plan="1. A: look\n2. A: hard"), observed=False))
    assert "auto-team: nobody could do step 2 of the plan" in result.warnings


def test_rounds_without_number() -> None:
    """However many are allowed, it ends with the first clean result."""
    result = ask(AutoTeam([ANN, BOB], planner(plan="1. A: look"), observer(ROLES, "1. A: look"), rounds=10**12))
    assert agents(result)[4:] == ["ann", "observer", "planner"]


@pytest.mark.parametrize(
    ("roles", "plan", "note", "done"),
    [
        ("1. A: chemist\n2. B: Chemist, another", "1. A: look", "repeats 'chemist'", ["ann"]),
        ("1. Z: chemist", "1. A: look", "'Z', who is nobody here", ["ann"]),
        (ROLES, "1. Z: look", "'Z', who is nobody here", ["ann"]),
        (ROLES, "1. A: x (after 2)\n2. B: y (after 1)", "wait for each other", ["ann", "bob"]),
        (ROLES, "I would not plan.", "every agent answers the whole question", ["ann", "bob"]),
        ("Nobody.", PLAN, "every agent answers the whole question", ["ann", "bob"]),
    ],
)
def test_nonsense_of_a_planner(roles: str, plan: str, note: str, done: list[str]) -> None:
    """Roles that repeat, players that there are not, cycles, no list: the work is done, and it is noted."""
    result = ask(AutoTeam([ANN, BOB], planner(roles, plan), observed=False))
    assert any(note in text for text in result.warnings), result.warnings
    assert [name for name in agents(result) if name != "planner"] == done
    assert result.text == "all in all"


def test_who_fails() -> None:
    """The next agent takes a step over; without the planner the last result is given, or the most frequent answer."""
    dead, mute = agent("dead", said=down()), agent("mute", said=abstain())
    result = ask(AutoTeam([dead, BOB], planner(plan="1. A: look"), observed=False))
    assert agents(result) == ["planner", "planner", "dead", "bob", "planner"]
    result = ask(AutoTeam([ANN, BOB], planner(end=down()), observed=False))
    assert (result.text, result.outcome.state) == ("bob3", "degraded")
    assert ask(AutoTeam([ANN, BOB, member("bob2")], dead)).text == "ann0"
    assert isinstance(ask(AutoTeam([mute, dead], planner())).error, TooFewReplies)
    assert isinstance(ask(AutoTeam([mute, dead])).error, TooFewReplies)


def test_shape() -> None:
    """What its docstring says: the most with a plan, in a chain, or without one, where that is more."""
    assert shape(AutoTeam([ANN, BOB])) == (5 + 6 * (2 * 2 - 1),) * 2
    assert shape(AutoTeam([ANN, BOB], steps=2, rounds=3)) == (5 + 2 * (2 * 3 - 1),) * 2
    assert shape(AutoTeam([ANN, BOB], observed=False)) == (3 + 6,) * 2
    assert shape(AutoTeam([ANN] * 9, steps=2, rounds=1)) == (9 + 4, 5 + 2)
    result = ask(AutoTeam([ANN, BOB], planner(), observer(ROLES, PLAN, verdicts=["revise"]), rounds=3))
    assert result.usage.calls == 5 + 2 * (2 * 3 - 1)


@pytest.mark.parametrize("fields", [{"roles": 0}, {"steps": 0}, {"rounds": 0}])
def test_nonsense_is_refused(fields: dict[str, int]) -> None:
    """No agents, roles, steps, rounds."""
    with pytest.raises(UsageError, match="needs at least 1"):
        AutoTeam([ANN], **fields)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has 0"):
        AutoTeam([])


# ---- what observing is worth


def noisy(seen: float) -> AutoTeam:
    """A member that is right six times in ten, each draw a new one; an observer that sees it with `seen`."""

    def work(request: Request) -> str:
        return "right" if random.Random(f"work {request.key}").random() < 0.6 else "wrong"

    def look(request: Request) -> str:
        words = request.messages[-1].text
        if "Verdict:" not in words:
            return "It is fine."
        right = "\nright\n" in words
        return "Verdict: " + ("clean" if right == (random.Random(request.key).random() < seen) else "revise")

    def lead(request: Request) -> str:
        words = request.messages[-1].text
        if "put together the team" in words:
            return "1. A: guesser"
        return "1. A: guess" if "draw the plan" in words else re.findall(r"\n(right|wrong)\n", words)[-1]

    return AutoTeam([agent("m", said=work)], agent("lead", said=lead), agent("observer", said=look))


@pytest.mark.parametrize(("seen", "expected"), [(0.9, 0.6 * 0.9 + (0.6 * 0.1 + 0.4 * 0.9) * 0.6), (0.5, 0.6)])
def test_observing_is_worth_what_the_observer_sees(seen: float, expected: float) -> None:
    """With p right and an observer right with q: p q + (p (1 - q) + (1 - p) q) p; one that guesses is worth nothing."""
    n = 120
    right = sum(ask(noisy(seen), f"What is {seed}?").text == "right" for seed in range(n))
    print(f"observer right {seen:g}: {right / n:.3f}, expected {expected:.3f}")
    assert abs(right / n - expected) < 3 * (expected * (1 - expected) / n) ** 0.5


def test_a_plan_that_nobody_can_do_is_given_up() -> None:
    """Where no step brings anything, every agent answers the question itself, and that is noted."""

    def said(request: Request) -> object:
        return "" if "the part you play" in request.messages[-1].text else "42"

    workers = [agent(name, said=said) for name in ("ann", "bob")]
    result = ask(AutoTeam(workers, planner(), observed=False))
    assert result.text == "all in all"
    assert any("nobody could do any step of the plan" in note for note in result.warnings)
