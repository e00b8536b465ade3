"""Delegate: who sees what; states kept apart; how it ends; what failures leave behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import ModelAgent, Reply
from motet.compose.delegate import INPUTS, WORK, Delegate
from motet.errors import TooFewReplies, UsageError
from motet.message import Request, abstain
from motet.outcome import Result

QUESTION = "What is the secret of the question?"


def boss(*said: object) -> ModelAgent:
    """A delegator that says one thing after the other, the last for ever."""
    given = list(said)
    return agent("boss", said=lambda request: given.pop(0) if len(given) > 1 else given[0])


def worker(name: str) -> ModelAgent:
    """One that says its name and how many texts it heard."""
    return agent(name, said=lambda request: f"{name}{request.text.count('<reply')}")


ANN, BOB = replace(worker("ann"), about="adds"), replace(worker("bob"), about="writes")
PLAN = "1. A: add 2 and 2\n2. B: write the sum down (after 1)"


def agents(result: Result) -> list[str]:
    """Who was called, in order."""
    return [call.agent for call in calls(result)]


def test_the_delegator_plans_and_replies_and_others_work() -> None:
    """It sees cards under letters, gives out work, hears the results, says that it is done, and replies."""
    result = ask(Delegate([ANN, BOB], boss(PLAN, "Verdict: STOP", "It is 4.")), QUESTION)
    assert agents(result) == ["boss", "ann", "bob", "boss", "boss"]
    plan, _, _, review, _ = calls(result)
    assert "A: adds\nB: writes" in plan.request.text
    assert heard(review) == ["ann1", "bob2"]
    assert [message.text for message in review.request.messages if message.role == "assistant"] == [PLAN]
    assert (result.text, result.warnings) == ("It is 4.", [])


def test_a_worker_sees_its_specification_and_what_it_builds_on() -> None:
    """Neither the question nor other subtasks nor results that it does not wait for."""
    plan = "1. A: add 2 and 2\n2. A: name a river\n3. B: write the sum down (after 1)"
    result = ask(Delegate([ANN, BOB], boss(plan, "Verdict: STOP", "It is 4.")), QUESTION)
    add, river, write = calls(result)[1:4]
    assert [heard(call) for call in (add, river, write)] == [
        ["add 2 and 2"],
        ["name a river"],
        ["write the sum down", "ann1"],
    ]
    for call in (add, river, write):
        assert "secret" not in call.request.text
        assert len(call.request.messages) == 1
        assert call.request.question == WORK
    assert INPUTS in write.request.text
    assert INPUTS not in add.request.text


def prompts(result: Result, name: str) -> list[str]:
    """What an agent was shown, call by call."""
    return [
        "\n".join(f"{m.role}: {m.text}" for m in call.request.messages) for call in calls(result) if call.agent == name
    ]


@pytest.mark.parametrize("failures", [1, 2, 5])
def test_failed_attempts_leave_no_trace(failures: int) -> None:
    """However many workers fail before one does it: the delegator's prompts, to the letter, and the worker's own are
    those of a run without failures. The states are apart, so the failures pollute no context.
    """
    fails = [agent(f"x{place}", said=down("context_length")) for place in range(failures)]
    clean = ask(Delegate([*[worker("ann")] * (failures + 1)], boss("1. A: add", "Verdict: STOP", "4")), QUESTION)
    rough = ask(Delegate([*fails, worker("ann")], boss("1. A: add", "Verdict: STOP", "4")), QUESTION)
    assert agents(rough) == ["boss", *[each.name for each in fails], "ann", "boss", "boss"]
    assert prompts(rough, "boss") == prompts(clean, "boss")
    assert prompts(rough, "ann") == prompts(clean, "ann") == prompts(rough, "x0")


def test_what_nobody_does_is_told_and_may_be_planned_anew() -> None:
    """The delegator hears which steps were not done, no more, and can give out other work in the next round."""

    def picky(request: Request) -> object:
        return down("context_length") if "hard" in request.text else "easy done"

    lead = boss("1. A: hard\n2. A: other", "1. A: easy", "Verdict: STOP", "All done.")
    result = ask(Delegate([agent("ann", said=picky)], lead), QUESTION)
    second, third = [call for call in calls(result) if call.agent == "boss"][1:3]
    assert "Nobody could do: 1." in second.request.text
    assert heard(second) == ["easy done"]
    assert "Nobody could do" not in third.request.messages[-1].text
    assert result.text == "All done."


@pytest.mark.parametrize(
    ("said", "called", "note"),
    [
        ([PLAN], ["ann", "bob"] * 2, "the 2 rounds are over"),
        ([PLAN, "Done were:\n1. A: the sum\n2. B: the text\n\nVerdict: STOP"], ["ann", "bob"], ""),
        ([PLAN, "Well done."], ["ann", "bob"], "neither gave out more nor said that all is done"),
        (["I can't."], ["ann"], "no plan could be read"),
        (["1. Z: add", "Verdict: STOP"], ["ann"], "'Z', who is nobody here"),
        (["1. A: add (after 2)\n2. A: sum (after 1)", "Verdict: STOP"], ["ann"] * 2, "wait for each other"),
        ([down()], ["ann"], "no plan could be read"),
    ],
)
def test_how_it_ends(said: Sequence[object], called: list[str], note: str) -> None:
    """At the bound, without a verdict, without a plan, with nobodies and cycles in it: it ends, and says why."""
    result = ask(Delegate([ANN, BOB], boss(*said), rounds=2))
    assert [name for name in agents(result) if name != "boss"] == called
    assert any(note in text for text in result.warnings) if note else result.warnings == [], result.warnings
    assert result.reply is not None


def test_what_no_plan_brings_is_asked_as_a_whole() -> None:
    """Where nobody can do what was given out, the question goes to a worker, and that is noted."""

    def picky(request: Request) -> object:
        return down("context_length") if WORK in request.text else "It is 4."

    result = ask(Delegate([agent("ann", said=picky)], boss("1. A: add", "Verdict: STOP")), QUESTION)
    assert result.text == "It is 4."
    assert any("the whole question is given to a worker" in note for note in result.warnings)


def test_a_dead_delegator() -> None:
    """At the start the question is the one specification; at the end the last result is given."""
    assert ask(Delegate([ANN, BOB], agent("boss", said=down()))).text == "ann0"
    result = ask(Delegate([ANN, BOB], boss(PLAN, down())))
    assert (result.text, result.outcome.state) == ("bob2", "degraded")
    mute = agent("mute", said=abstain())
    assert isinstance(ask(Delegate([mute], mute)).error, TooFewReplies)
    assert ask(Delegate([mute, BOB], boss("1. A: add", "Verdict: STOP", Reply("", finish="length")))).text == "bob1"


def test_shape() -> None:
    """Rounds × (steps + 1) + 1 calls at most while nobody fails, as in a run; all in series if they wait in a chain."""
    assert shape(Delegate([ANN, BOB])) == (3 * (6 + 1) + 1,) * 2
    assert shape(Delegate([ANN, BOB], rounds=3, steps=4)) == (3 * (4 + 1) + 1,) * 2
    result = ask(Delegate([ANN, BOB], boss("\n".join(f"{n}. A: do {n}" for n in range(1, 9))), rounds=3, steps=4))
    assert result.usage.calls == 3 * (4 + 1) + 1


@pytest.mark.parametrize("fields", [{"rounds": 0}, {"steps": 0}])
def test_nonsense_is_refused(fields: dict[str, int]) -> None:
    """No worker, no round, no step."""
    with pytest.raises(UsageError, match="needs at least 1"):
        Delegate([ANN], **fields)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has 0"):
        Delegate([])
