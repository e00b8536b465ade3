"""`ModelAgent`: the part it gives its model, and the tool loop: bounded, only for who acts, never for advisers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from acting import Doing

from motet import (
    Chat,
    Example,
    Message,
    MixtureOfAgents,
    ModelAgent,
    Reply,
    Run,
    Sampling,
    Scripted,
    Synthesize,
    perform,
    tool,
)
from motet.clock import run_virtual
from motet.errors import ReplayMiss
from motet.message import Request, ToolCall, ToolSpec
from motet.outcome import Result
from motet.replay import replay
from motet.run import Agent
from motet.trace import CallStarted, ToolCalled, Trace

used: list[tuple[int, int]] = []


async def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    used.append((a, b))
    return a + b


async def fail(reason: str) -> str:
    """Fail."""
    raise OSError(reason)


CLIENTS = ToolSpec("weather", "The weather.", '{"type":"object"}')


def call(name: str, arguments: str, id: str = "c1") -> ToolCall:
    """A call that a model wants made."""
    return ToolCall(id, name, arguments)


def calling(*turns: Sequence[ToolCall] | str, name: str = "m") -> Scripted:
    """A model that says in turn what is given: text, or calls of tools; it records what it is offered."""
    said: list[str | Reply | BaseException] = [
        turn if isinstance(turn, str) else Reply("", tool_calls=tuple(turn), finish="tool_calls") for turn in turns
    ]
    return Scripted(said, name=name)


def ask(agent: Agent, **options: object) -> Result:
    """Put a question, with nothing used before."""
    used.clear()
    return run_virtual(perform(agent, "2 + 40?", **options))  # type: ignore[arg-type]


def sent(result: Result) -> list[Request]:
    """The requests, in order."""
    return [event.request for event in result.trace if isinstance(event, CallStarted)]


# ---- the part


def test_the_part_is_in_the_request() -> None:
    """System words, examples and sampling go to the model as they were given."""
    agent = ModelAgent(
        Scripted("4", name="m"),
        "a",
        system="Brief.",
        examples=[Example("1 + 1?", "2")],
        sampling=Sampling(temperature=0),
    )
    (request,) = sent(ask(agent))
    assert [(message.role, message.text) for message in request.messages] == [
        ("system", "Brief."),
        ("user", "1 + 1?"),
        ("assistant", "2"),
        ("user", "2 + 40?"),
    ]
    assert (request.model, request.sampling.temperature, request.prompt) == ("m", 0, "")


def test_an_instruction_follows_the_question() -> None:
    """It stands in the user's turn, right after the question."""
    (request,) = sent(ask(ModelAgent(Scripted("4", name="m"), "a", instruction="Only the number.")))
    assert [message.text for message in request.messages] == ["2 + 40?\n\nOnly the number."]


def test_a_completion_agent_sends_a_prompt() -> None:
    """In few-shot form there are no messages; the space after "A:" is no part of the reply."""
    result = ask(ModelAgent(Scripted(" 42\n", name="m"), "a", style="completion", examples=[Example("1 + 1?", "2")]))
    (request,) = sent(result)
    assert (request.prompt, request.messages) == ("Q: 1 + 1?\nA: 2\n\nQ: 2 + 40?\nA:", ())
    assert (result.text, request.question) == ("42", "2 + 40?")


# ---- the tool loop


def test_a_tool_is_called_and_its_result_told() -> None:
    """The model asks, the tool answers, the model says so; what was called is in the trace."""
    agent = ModelAgent(calling([call("add", '{"a": 2, "b": 40}')], "It is 42."), "a", tools=[tool(add)])
    result = ask(agent)
    assert (result.text, used, result.usage.calls) == ("It is 42.", [(2, 40)], 2)
    last = sent(result)[-1].messages
    assert [message.role for message in last] == ["user", "assistant", "tool"]
    assert (last[2].text, last[2].tool_call_id) == ("42", "c1")
    (event,) = [event for event in result.trace if isinstance(event, ToolCalled)]
    assert (event.name, event.arguments, event.result, event.failed) == ("add", '{"a": 2, "b": 40}', "42", False)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (call("fail", '{"reason": "no disk"}'), "error: OSError: no disk"),
        (call("add", '{"a": 2}'), "error: add was called wrongly: b: Field required"),
        (call("add", "not json"), "error: add was called wrongly: arguments: Invalid JSON"),
        (call("subtract", "{}"), "error: there is no tool 'subtract'; there are: add, fail"),
    ],
)
def test_what_goes_wrong_is_told_to_the_model(wanted: ToolCall, said: str) -> None:
    """A tool that raises, is called wrongly or does not exist is the model's to deal with, not a crash."""
    result = ask(ModelAgent(calling([wanted], "Sorry."), "a", tools=[tool(add), tool(fail)]))
    assert result.text == "Sorry."
    assert sent(result)[-1].messages[-1].text.startswith(said)
    (event,) = [event for event in result.trace if isinstance(event, ToolCalled)]
    assert event.failed


def test_several_calls_in_one_turn() -> None:
    """Each call has its result, in order, under its id."""
    turn = [
        call("add", '{"a": 1, "b": 1}', "x"),
        call("fail", '{"reason": "no"}', "y"),
        call("add", '{"a": 2, "b": 2}', "z"),
    ]
    result = ask(ModelAgent(calling(turn, "done"), "a", tools=[tool(add), tool(fail)]))
    assert [message.tool_call_id for message in sent(result)[-1].messages[2:]] == ["x", "y", "z"]
    assert used == [(1, 1), (2, 2)]


def test_the_loop_is_bounded_and_the_last_call_has_no_tools() -> None:
    """A model that only ever calls tools is stopped; on its last step it is offered none, so that it may answer."""
    turn = [call("add", '{"a": 1, "b": 1}')]
    agent = ModelAgent(calling(turn), "a", tools=[tool(add)], max_steps=3)
    result = ask(agent)
    assert (result.usage.calls, result.reply, len(used)) == (3, None, 2)
    assert "steps" in str(result.error)
    assert "still calling tools after 3 steps" in str(result.error)
    assert [len(request.tools) for request in sent(result)] == [1, 1, 0]
    assert result.outcome.missing[0].kind == "steps"
    willing = ModelAgent(calling(turn, turn, "fine", name="willing"), "b", tools=[tool(add)], max_steps=3)
    assert ask(willing).text == "fine"


def test_only_the_acting_agent_has_tools() -> None:
    """Proposers of a mixture are offered none, and what they call all the same is not made; the writer's is."""
    greedy = ModelAgent(calling([call("add", '{"a": 1, "b": 1}')], "two", name="g"), "greedy", tools=[tool(add)])
    writer = ModelAgent(calling([call("add", '{"a": 3, "b": 4}')], "seven", name="w"), "writer", tools=[tool(add)])
    result = ask(MixtureOfAgents([greedy], Synthesize(writer), layers=1))
    assert (result.text, used) == ("seven", [(3, 4)])
    assert {event.agent: len(event.request.tools) for event in result.trace if isinstance(event, CallStarted)} == {
        "greedy": 0,
        "writer": 1,
    }


def test_an_answer_within_an_ask_does_not_act() -> None:
    """Acting is handed down from answer to answer; an adviser's own answerer is an adviser too."""
    agent = ModelAgent(calling("fine"), "a", tools=[tool(add)])

    async def inner(chat: Chat, run: Run) -> Reply:
        return await run.answer(agent, chat)

    async def advised(chat: Chat, run: Run) -> Reply:
        return await run.ask(Doing(inner, "inner"), chat)

    async def acting(chat: Chat, run: Run) -> Reply:
        return await run.answer(Doing(inner, "inner"), chat)

    assert [len(request.tools) for request in sent(ask(Doing(advised)))] == [0]
    assert [len(request.tools) for request in sent(ask(Doing(acting)))] == [1]


def test_the_clients_tools_are_handed_back() -> None:
    """A call to a tool of the client's is the reply; it is offered beside the agent's own, also on the last step."""
    own, clients = call("add", '{"a": 1, "b": 1}'), call("weather", "{}")
    agent = ModelAgent(calling([own], [own, clients]), "a", tools=[tool(add)], max_steps=2)
    result = ask(agent, tools=[CLIENTS])
    assert result.checked().tool_calls == (clients,), "the agent's own is not the client's to make"
    assert used == [(1, 1)]
    assert [[spec.name for spec in request.tools] for request in sent(result)] == [["add", "weather"], ["weather"]]
    writer = ModelAgent(calling([call("weather", "{}")], name="w"), "writer")
    proposer = ModelAgent(calling("sunny", name="p"), "proposer")
    mixed = ask(MixtureOfAgents([proposer], Synthesize(writer), layers=1), tools=[CLIENTS])
    assert mixed.checked().tool_calls == (call("weather", "{}"),)


def test_the_clients_results_go_to_whoever_acts() -> None:
    """A chat that goes on after a client's tool has answered reaches the model with all its turns."""
    chat = [
        Message("user", "Weather?"),
        Message("assistant", "", tool_calls=(call("weather", "{}"),)),
        Message("tool", "sunny", tool_call_id="c1"),
    ]
    result = run_virtual(perform(ModelAgent(calling("It is sunny."), "a"), chat, tools=[CLIENTS]))
    (request,) = sent(result)
    assert list(request.messages) == chat


def test_a_replay_calls_no_tool() -> None:
    """What a tool did is not done again: its result comes from the trace, also that of one that failed."""
    turn = [call("add", '{"a": 2, "b": 40}'), call("fail", '{"reason": "no disk"}', "c2")]
    agent = ModelAgent(calling(turn, "It is 42."), "a", tools=[tool(add), tool(fail)])
    result = ask(agent)
    used.clear()
    again = run_virtual(replay(Trace.from_jsonl(result.trace.to_jsonl()), agent))
    assert (again.reply, used) == (result.reply, [])
    tools = [[event for event in each.trace if isinstance(event, ToolCalled)] for each in (result, again)]
    assert [(event.result, event.failed) for event in tools[1]] == [(event.result, event.failed) for event in tools[0]]
    trace = Trace([event for event in result.trace if not isinstance(event, ToolCalled)])
    with pytest.raises(ReplayMiss, match="no call of the tool add like this at /a"):
        run_virtual(replay(trace, agent))
