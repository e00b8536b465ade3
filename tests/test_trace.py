"""The trace: every event written and read is the event; what a kill tore off is left out; garbage is named."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet import Chat, Message, Reply, Request, Sampling, Trace, Usage
from motet.errors import Attempt, Failure, MotetError
from motet.message import Part, Token, ToolCall, ToolSpec
from motet.trace import (
    AnyEvent,
    AskEnded,
    AskFailed,
    AskStarted,
    CallEnded,
    CallFailed,
    CallStarted,
    Event,
    Fitted,
    Hedged,
    Noted,
    Offered,
    RunEnded,
    RunStarted,
    Streamed,
    ToolCalled,
    line,
)  # fmt: skip

TOOL = ToolSpec("add", "Adds.", '{"type":"object"}')
USED = Usage(2, 10, 3, 20, 4, 0.25, 1.5, 1, 0.125)
REPLY = Reply(
    text="4\u2028\x85\x0b\x00é\U0001f600", agent="a", id="key", finish="content_filter", sources=("r1",),
    tool_calls=(ToolCall("1", "add", '{"a": 1}'),), reasoning="hm", logprobs=(Token("4", -0.5, (("5", -1.0),)),),
    usage=USED, reported=Usage(1), model="m-1", stopped="calls",
)  # fmt: skip
REQUEST = Request(
    model="m", messages=(Message("user", "?", parts=(Part("image_url", "{}"),), source="r1"),), prompt="Q:",
    sampling=Sampling(0.5, 0.9, 10, ("\n",), 2, "{}", "root"), tools=(TOOL,), seed=7, draw="1.0", asked="?",
    deadline=12.5, allowance=9,
)  # fmt: skip
FAILURE = Failure("a", "server", "down", 503, (Attempt("timeout", "slow", 0, 1.5), Attempt("server", "down", 503)))
EVENTS: list[AnyEvent] = [
    RunStarted(path="", run="r", agent="a", chat=Chat.of("?"), seed=3, tools=(TOOL,), wanted={"mixture": "vote"},
               date="2026-01-01T00:00:00+00:00", version="0.1.0"),
    AskStarted(path="/a", at=0.5, agent="a", heard=("r1", "r2")),
    AskEnded(path="/a", at=1.0, agent="a", reply=REPLY, leaf=True),
    AskFailed(path="/a", failure=FAILURE, leaf=True, limit="calls"),
    Hedged(path="/a", agent="a", other="b"),
    CallStarted(path="/a", agent="a", key="key", request=REQUEST, heard=("r1",)),
    CallEnded(path="/a", agent="a", key="key", reply=REPLY, saved=True),
    CallFailed(path="/a", agent="a", key="key", kind="cut", text="…", status=200,
               attempts=FAILURE.attempts, usage=USED),
    Fitted(path="/a", agent="a", rule="drop", before=9, after=5, dropped=("r2",)),
    Offered(path="/a", reply="r1"),
    ToolCalled(path="/a", agent="a", name="add", arguments="{}", result="4", failed=True),
    Noted(path="/a", agent="a", text="odd"),
    RunEnded(path="", reply=REPLY, outcome="full", usage=USED, by_agent={"a": USED}, stopped="usd", error="no"),
    RunEnded(path="", reply=None, outcome="failed", usage=Usage()),
]  # fmt: skip


def test_every_type_of_event_is_here() -> None:
    """The list above has each type that a trace keeps."""
    kept = {each for each in Event.__subclasses__() if each is not Streamed}
    assert {type(event) for event in EVENTS} == kept
    assert set(AnyEvent.__args__) == kept  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "made", [REPLY, REQUEST, USED, REQUEST.sampling, *EVENTS[:-1]], ids=lambda made: type(made).__name__
)
def test_every_field_is_used(made: msgspec.Struct) -> None:
    """What is written and read below has no field at its default, so that none can be forgotten."""
    for field in msgspec.structs.fields(made):
        default = field.default_factory() if callable(field.default_factory) else field.default
        assert getattr(made, field.name) != default or field.name in ("path", "at", "saved"), field.name


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_field_survives(event: AnyEvent) -> None:
    """An event with no field at its default is read as it was written, provenance included."""
    text = line(event)
    assert text.count("\n") == 1
    read = Trace.from_jsonl(text).events
    assert read == [event]
    assert line(read[0]) == text
    if isinstance(event, CallStarted):
        assert read[0].request.messages[0].source == "r1"  # type: ignore[union-attr]
        assert read[0].request.key == REQUEST.key  # type: ignore[union-attr]


def test_watchers_see_what_is_emitted() -> None:
    """Each watcher gets each event as it happens; the list keeps them in order."""
    seen: list[Event] = []
    trace = Trace(watchers=[seen.append])
    for event in EVENTS:
        trace.emit(event)
    assert seen == trace.events == list(trace) == EVENTS
    assert len(trace) == len(EVENTS)


def test_a_torn_last_line_is_left_out() -> None:
    """Cut anywhere, a trace reads as the events that are whole; only a cut between lines loses nothing."""
    text = Trace(EVENTS).to_jsonl()
    ends = [len("".join(map(line, EVENTS[:count]))) for count in range(len(EVENTS) + 1)]
    for cut in range(0, len(text), 7):
        whole = sum(end <= cut + 1 for end in ends[1:])  # a line is whole without its newline too
        assert Trace.from_jsonl(text[:cut]).events == EVENTS[:whole]


@pytest.mark.parametrize("garbage", ["{}", "null", '{"type":"unknown","path":""}', "garbage", "\ufffd", "[]"])
def test_garbage_is_named_by_its_line(garbage: str) -> None:
    """A line that is no event is an error that says which, unless it is the torn last one."""
    good = line(EVENTS[0])
    with pytest.raises(MotetError, match="line 2 of the trace is no event"):
        Trace.from_jsonl(f"{good}{garbage}\n{good}")
    with pytest.raises(MotetError, match="line 2 of the trace is no event"):
        Trace.from_jsonl(f"{good}{garbage}\n")
    assert Trace.from_jsonl(f"{good}{garbage}").events == EVENTS[:1]


def test_nothing_is_a_trace_of_nothing() -> None:
    """An empty file and blank lines hold no events."""
    assert Trace.from_jsonl("").events == Trace.from_jsonl("\n\n").events == []


@given(st.text(alphabet=st.characters(exclude_categories=[])))
def test_any_text_is_one_line(text: str) -> None:
    """No character of a note, a failure or a reply breaks a line or the encoding."""
    events: list[AnyEvent] = [
        Noted(path=text, agent=text, text=text),
        AskFailed(path="/", failure=Failure(text, "server", text)),
        AskEnded(path="/", agent=text, reply=Reply(text, agent=text)),
    ]
    written = Trace(events).to_jsonl()
    assert written.count("\n") == 3
    written.encode()
    assert len(Trace.from_jsonl(written)) == 3
    assert Trace.from_jsonl(written).to_jsonl() == written


def test_a_trace_is_plain_json() -> None:
    """Each line is an object whose `type` names the event, for whoever reads it with other tools."""
    kinds = [msgspec.json.decode(line(event))["type"] for event in EVENTS]
    assert kinds[:5] == ["run_started", "ask_started", "ask_ended", "ask_failed", "hedged"]
