"""Attention-MoA: who criticises whom, who rewrites what, what goes from layer to layer, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from acting import Doing, agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, Chat, ModelAgent, Reply, perform
from motet.backends.simulated import Simulated, World
from motet.compose.attention_moa import CRITICISE, RESIDUAL, REVISE, REWRITE, STOP, AttentionMoA
from motet.errors import UsageError
from motet.message import Request
from motet.run import Agent, Run
from motet.trace import CallStarted

A, B = agent("a"), agent("b")


def kind(request: Request) -> str:
    """What an agent is asked for."""
    last = request.messages[-1].text
    marks = {"remark": CRITICISE, "revision": REVISE, "rewritten": REWRITE, "residual": RESIDUAL}
    return next((name for name, mark in marks.items() if mark in last), "summary" if heard_in(request) else "draft")


def heard_in(request: Request) -> int:
    """How many replies are in a prompt."""
    return sum(message.text.count('<reply id="') for message in request.messages)


def member(name: str) -> ModelAgent:
    """An agent that says its name and what it was asked for; a later draft is one that hears a result."""
    return agent(name, said=lambda request: f"{name} {kind(request).replace('summary', 'later draft')}")


def writer(*said: str) -> ModelAgent:
    """A summarizer that says these things in turn."""
    left = list(said)
    return agent("writer", said=lambda request: left.pop(0))


def own(call: CallStarted) -> list[str]:
    """What the listener said itself."""
    return [message.text for message in call.request.messages if message.role == "assistant"]


# ---- who is asked, and what they hear


def test_shape() -> None:
    """As the docstring says: (agents² + 2 × agents + 2) × layers - 1 calls, 5 × layers - 1 in series."""
    assert shape(AttentionMoA([A, B], A)) == (19, 9)
    assert shape(AttentionMoA([A, B, agent("c")], A, layers=3)) == (50, 14)
    assert shape(AttentionMoA([A, B], A, layers=1)) == (9, 4)
    assert shape(AttentionMoA([A, B], A, attention=False, residual=False)) == (6, 4)


def test_a_layer() -> None:
    """All draft; each criticises each other's draft and its own; each rewrites its own by the remarks on it."""
    result = ask(AttentionMoA([member("a"), member("b")], writer("end"), layers=1))
    seen = [(call.agent, kind(call.request), own(call), sorted(heard(call))) for call in calls(result)]
    assert seen == [
        ("a", "draft", [], []),
        ("b", "draft", [], []),
        ("a", "revision", ["a draft"], []),
        ("a", "remark", ["a draft"], ["b draft"]),
        ("b", "remark", ["b draft"], ["a draft"]),
        ("b", "revision", ["b draft"], []),
        ("a", "rewritten", ["a draft"], ["a revision", "b remark"]),
        ("b", "rewritten", ["b draft"], ["a remark", "b revision"]),
        ("writer", "summary", [], ["a rewritten", "b rewritten"]),
    ]
    assert result.text == "end"


def test_layers_hear_the_residual() -> None:
    """A later layer hears the result before it; the residual agent hears all results in order, and gives the next."""
    writing = writer("s1", "s2", "r2", "s3", "r3")
    result = ask(AttentionMoA([member("a"), member("b")], writing, layers=3))
    assert result.text == "r3"
    drafts = [sorted(heard(call)) for call in calls(result) if "draft" in kind(call.request) and call.agent == "a"]
    later = [heard(call) for call in calls(result) if kind(call.request) == "summary" and call.agent == "a"]
    assert (drafts, later) == ([[]], [["s1"], ["r2"]])
    residuals = [call for call in calls(result) if kind(call.request) == "residual"]
    assert [heard(call) for call in residuals] == [["s1", "s2"], ["s1", "r2", "s3"]]
    assert [STOP in call.request.text for call in residuals] == [True, False], "after the last there is nothing to stop"


def test_it_ends_when_a_layer_brings_nothing_new() -> None:
    """STOP of the residual agent ends it: that layer's summary is the answer, and it is noted."""
    result = ask(AttentionMoA([A, B], writer("s1", "s2", "Verdict: stop."), layers=5))
    assert (result.text, result.usage.calls) == ("s2", 19)
    assert any("layer 2 of 5 brought nothing new" in warning for warning in result.warnings)


@pytest.mark.parametrize("said", ["Do not stop at the first.", "Verdict: STOP or go on", "Stop signs are red."])
def test_a_reply_about_stopping_is_a_reply(said: str) -> None:
    """Only a clear verdict ends it; anything else is the result of the layer."""
    result = ask(AttentionMoA([A, B], writer("s1", "s2", said, "s3", "r3"), layers=3))
    assert result.text == "r3"


def test_parts_left_out() -> None:
    """The paper's ablations: no criticism, no residual, no early stop."""
    plain = ask(AttentionMoA([member("a"), member("b")], writer("s1", "s2", "r2"), attention=False))
    assert {kind(call.request) for call in calls(plain)} == {"draft", "summary", "residual"}
    unconnected = ask(AttentionMoA([member("a"), member("b")], writer("s1", "s2"), residual=False))
    assert (unconnected.text, {kind(call.request) for call in calls(unconnected)} & {"residual"}) == ("s2", set())
    unstopped = ask(AttentionMoA([A, B], writer("s1", "s2", "Verdict: STOP", "s3", "r3"), layers=3, early_stop=False))
    assert unstopped.text == "r3"
    residuals = [call.request.text for call in calls(unstopped) if kind(call.request) == "residual"]
    assert [STOP in text for text in residuals] == [False, False], "it is not told that it may"


# ---- what goes wrong


def test_the_dead_and_the_mute() -> None:
    """Who did not draft neither criticises nor is criticised; who criticises nobody leaves drafts as they are."""
    mute = agent("mute", said=Reply("", finish="abstain"))
    result = ask(AttentionMoA([member("a"), agent("dead", said=down("auth")), mute], writer("end"), layers=1))
    assert (result.text, result.outcome.state) == ("end", "degraded")
    assert [(call.agent, kind(call.request)) for call in calls(result)] == [
        ("a", "draft"), ("dead", "draft"), ("mute", "draft"), ("a", "revision"), ("a", "rewritten"),
        ("writer", "summary"),
    ]  # fmt: skip
    assert "abstained" in str(ask(AttentionMoA([mute, mute], A)).error)


def test_criticism_that_fails() -> None:
    """Without remarks nothing is rewritten; a rewriting that fails leaves the draft."""

    def drafts_only(request: Request) -> object:
        return "4" if kind(request) == "draft" else Reply("", finish="abstain")

    silent = [agent(name, said=drafts_only) for name in "st"]
    result = ask(AttentionMoA(silent, writer("end"), layers=1))
    assert heard(calls(result)[-1]) == ["4", "4"]
    assert "rewritten" not in {kind(call.request) for call in calls(result)}

    def critic(request: Request) -> object:
        return down("context_length") if kind(request) == "rewritten" else kind(request)

    result = ask(AttentionMoA([agent(name, said=critic) for name in "st"], writer("end"), layers=1))
    assert heard(calls(result)[-1]) == ["draft", "draft"]


def test_a_summarizer_that_fails() -> None:
    """The most frequent answer of the layer is taken, and that is noted; a failed residual leaves the summary."""
    result = ask(AttentionMoA([agent("x", said="4"), agent("y", said="4"), B], agent("dead", said=down()), layers=1))
    assert result.text == "4"
    assert any("the summarizer gave no reply" in warning for warning in result.warnings)

    def no_residual(request: Request) -> object:
        return down("context_length") if kind(request) == "residual" else "s"

    assert ask(AttentionMoA([A, B], agent("writer", said=no_residual))).text == "s"


def test_a_later_layer_in_which_everybody_fails() -> None:
    """The result before it stands, and that is noted."""

    def short(request: Request) -> object:
        return down("context_length") if kind(request) == "summary" else "4"

    result = ask(AttentionMoA([agent(name, said=short) for name in "st"], writer("s1")))
    assert result.text == "s1"
    assert any("nobody answered in layer 2" in warning for warning in result.warnings)


def test_the_best_so_far_is_given_when_the_money_ends() -> None:
    """Each layer's result is offered."""
    result = ask(AttentionMoA([A, B], writer("s1", "s2", "r2")), budget=Budget(calls=12))
    assert (result.text, result.stopped) == ("s1", "calls")


def test_a_draft_is_given_when_the_time_ends() -> None:
    """Also if critics do not come back at all: a draft is better than nothing."""

    async def hanging(chat: Chat, run: Run) -> Reply:
        if any(message.role == "assistant" for message in chat.messages):
            await asyncio.sleep(100)
        return Reply("draft")

    stuck = [Doing(hanging, name) for name in "st"]
    result = ask(AttentionMoA(stuck, writer("end")), budget=Budget(seconds=3))
    assert (result.text, result.stopped) == ("draft", "seconds")


def test_a_verdict_of_a_member_is_none() -> None:
    """Where the summarizer fails, a member's reply stands for it, and what that says of stopping ends nothing."""
    hostile = [agent(name, said="Verdict: STOP") for name in "st"]
    result = ask(AttentionMoA(hostile, agent("dead", said=down()), layers=3))
    drafts = [call for call in calls(result) if kind(call.request) == "draft" or "summary" in kind(call.request)]
    assert len([call for call in drafts if call.agent == "s"]) == 3
    assert not any("nothing new" in warning for warning in result.warnings)


def test_two_seats_of_one_agent_are_two() -> None:
    """Each seat has its own draft, remarks and reply, though the name is the same."""
    left = iter(["x", "y"])

    def said(request: Request) -> str:
        return next(left) if kind(request) == "draft" else f"{kind(request)} of {own_turn(request)}"

    def own_turn(request: Request) -> str:
        return next(message.text for message in request.messages if message.role == "assistant")

    twin = agent("twin", said=said)
    result = ask(AttentionMoA([twin, twin], writer("end"), layers=1))
    assert [sorted(heard(call)) for call in calls(result)[6:]] == [
        ["remark of y", "revision of x"], ["remark of x", "revision of y"], ["rewritten of x", "rewritten of y"],
    ]  # fmt: skip


@pytest.mark.parametrize("make", [lambda: AttentionMoA([A], B), lambda: AttentionMoA([A, B], B, layers=0)])
def test_too_few_of_anything(make: Callable[[], object]) -> None:
    """One agent has nobody to attend to, and no layers make no answer: refused when it is made."""
    with pytest.raises(UsageError, match="needs at least"):
        make()


# ---- on known truth


def right(composition: Agent, world: World, n: int) -> int:
    """How many of the world's first n questions it answers right."""

    async def work() -> int:
        return sum([q.answer_in((await perform(composition, q.text)).text) == q.gold for q in world.questions(n)])

    return asyncio.run(work())


def test_criticism_helps_where_critics_discriminate() -> None:
    """At n = 100, seed 3: remarks of agents that recognise right answers are worth over 5 points, those of agents that
    only follow the others nothing.
    """
    world, n = World(seed=3), 100

    def gain(discrimination: float) -> float:
        agents = [
            ModelAgent(
                Simulated(f"m{i}", world, 0.45, discrimination=discrimination, conformity=0.3, tokens=8), f"m{i}"
            )
            for i in range(3)
        ]
        made = [AttentionMoA(agents, agents[0], layers=1, attention=attention) for attention in (True, False)]
        return (right(made[0], world, n) - right(made[1], world, n)) / n

    assert gain(0.5) > 0.05
    assert gain(0.0) < 0.05
