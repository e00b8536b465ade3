"""The OpenAI backend over real sockets: every way to fail ends in its kind, and none becomes an answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
import traceback
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from faultserver import ANSWER, SCENARIOS, FaultServer
from hypothesis import given
from hypothesis import strategies as st

from motet.agent import ModelAgent
from motet.backend import Backend, Price, checked
from motet.backends import session
from motet.backends.openai import Clocks, OpenAI
from motet.backends.refusal import refusal, refusal_in, retry_after
from motet.backends.secret import Secret, hide
from motet.backends.wire import Draft, Wire, encode
from motet.budget import Budget
from motet.errors import BackendError, ConfigError
from motet.message import Delta, Message, Part, Reply, Request, Sampling, ToolCall, ToolSpec, Usage
from motet.perform import perform
from motet.spec import from_document

KEY = "sk-test-0123456789abcdef"
QUICK = Clocks(connect=1.0, first_byte=0.25, idle=0.25, total=0.5)
SLOW = {"hang", "hang-after-head", "stall", "drip"}
"""Scenarios that only a clock ends; the others get the usual, generous ones, however busy the machine."""
ASK = Request("m", messages=(Message("user", "What is 2 + 2?"),))


@pytest.fixture
async def server() -> AsyncIterator[FaultServer]:
    """A fault server of one's own."""
    async with FaultServer() as running:
        yield running


def model(server: FaultServer, scenario: str, **more: object) -> OpenAI:
    """A backend whose calls at `server` meet with `scenario`."""
    clocks = QUICK if scenario in SLOW else Clocks()
    settings: dict[str, object] = {"base_url": server.base_url, "api_key": Secret(KEY), "clocks": clocks, **more}
    return OpenAI(scenario, **settings)  # type: ignore[arg-type]


async def called(backend: Backend, request: Request, stream: bool) -> Reply:
    """The reply, whole or put together from a stream, whose pieces have to add up to it."""
    if not stream:
        return await backend.complete(request)
    pieces: list[Delta] = [delta async for delta in backend.stream(request)]
    reply = pieces[-1].reply
    assert reply is not None
    assert "".join(piece.text for piece in pieces) == reply.text
    assert "".join(piece.reasoning for piece in pieces) == reply.reasoning
    return reply


# What each scenario ends in: a kind, or the finish of a reply; two where the streamed form differs.
ENDS: dict[str, str | tuple[str, str]] = {
    "400": "bad_request",
    "401": "auth",
    "402": "quota",
    "403": "auth",
    "404": "not_found",
    "408": "timeout",
    "413": "bad_request",
    "429": "rate_limit",
    "429-after": "rate_limit",
    "429-date": "rate_limit",
    "429-minute": "rate_limit",
    "429-ms": "rate_limit",
    "quota": "quota",
    "500": "server",
    "503": "server",
    "500-final": "server",
    "400-again": "bad_request",
    "context": "context_length",
    "filter": "content_filter",
    "redirect": "not_found",
    "good": "stop",
    "html": "malformed",
    "html-as-events": ("malformed", "cut"),
    "broken-json": "malformed",
    "empty-choices": "malformed",
    "null-content": "malformed",
    "length": "length",
    "tools": "tool_calls",
    "usage-missing": "stop",
    "usage-negative": "stop",
    "usage-absurd": "stop",
    "usage-nonsense": "stop",
    "hang": "timeout",
    "hang-after-head": "timeout",
    "stall": "timeout",
    "drip": "timeout",
    "reset-first": "cut",
    "reset": "cut",
    "cut-chunked": "cut",
    "cut-length": "cut",
    "no-finish": "cut",
    "no-finish-done": "cut",
    "no-done": "stop",
    "no-done-close": ("malformed", "cut"),
    "done-close": "stop",
    "done-open": "stop",
    "error-event": "server",
    "error-named": "server",
    "huge": "too_large",
    "huge-line": "too_large",
    "bad-utf8": "malformed",
    "split": "stop",
    "echo-key": "auth",
    "echo-all": "bad_request",
    "answer-key": "stop",
    "no-http": "malformed",
}


def test_every_scenario_has_an_expected_end() -> None:
    """The table below is complete."""
    assert ENDS.keys() == SCENARIOS.keys()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("scenario", ENDS)
async def test_each_way_to_fail_ends_in_its_kind(server: FaultServer, scenario: str, stream: bool) -> None:
    """One call, one attempt, the right end, in time, and no key in what is said."""
    expected = ENDS[scenario]
    expected = expected if isinstance(expected, str) else expected[stream]
    began = time.perf_counter()
    try:
        reply = await called(model(server, scenario), ASK, stream)
        end, said = str(reply.finish), repr(reply)
    except BackendError as error:
        end, said = error.kind, "".join(traceback.format_exception(error)) + repr(error.args)
    assert end == expected, said
    assert server.requests == 1
    assert KEY not in said
    assert time.perf_counter() - began < 10


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_good_answer_is_read_whole(server: FaultServer, stream: bool) -> None:
    """Words, finish, usage, the model's name upstream and the id."""
    reply = await called(model(server, "good"), ASK, stream)
    assert (reply.text, reply.finish, reply.model) == (ANSWER, "stop", "served")
    assert reply.usage == Usage(calls=1, input=12, output=9)
    assert reply.id == ASK.key


@pytest.mark.parametrize("scenario", ["split", "no-done", "done-close", "done-open"])
async def test_unusual_but_whole_streams_are_answers(server: FaultServer, scenario: str) -> None:
    """One byte a packet, no [DONE] but a proper end, a close after [DONE], an open connection after [DONE]."""
    assert (await called(model(server, scenario), ASK, True)).text == ANSWER


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_tool_calls_come_whole(server: FaultServer, stream: bool) -> None:
    """Two calls, the arguments of one of them in pieces."""
    reply = await called(model(server, "tools"), ASK, stream)
    assert reply.tool_calls == (ToolCall("c0", "add", '{"a": 1}'), ToolCall("c1", "sub", "{}"))
    assert reply.state == "ok"


@pytest.mark.parametrize(
    ("scenario", "clock"),
    [("hang", "first_byte"), ("hang-after-head", "first_byte"), ("stall", "idle"), ("drip", "total")],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_each_clock_says_that_it_ran_out(server: FaultServer, scenario: str, clock: str, stream: bool) -> None:
    """A hang, a stall and a drip are told apart, and the endpoint sees the hang-up."""
    with pytest.raises(BackendError, match=rf"\({clock}\)") as caught:
        await called(model(server, scenario), ASK, stream)
    assert caught.value.kind == "timeout"
    await until(lambda: server.hangups == 1 and server.in_flight == 0)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("scenario", ["hang", "drip"])
async def test_the_deadline_bounds_the_call(server: FaultServer, scenario: str, stream: bool) -> None:
    """A request's deadline is obeyed, however generous the clocks are."""
    request = msgspec.structs.replace(ASK, deadline=time.monotonic() + 0.2)
    with pytest.raises(BackendError, match="deadline passed during"):
        await called(model(server, scenario, clocks=Clocks()), request, stream)
    assert -0.01 < time.monotonic() - (request.deadline or 0) < 1


async def test_no_call_after_the_deadline(server: FaultServer) -> None:
    """A deadline that has passed costs no call."""
    with pytest.raises(BackendError, match="before the call"):
        await model(server, "good").complete(msgspec.structs.replace(ASK, deadline=time.monotonic()))
    assert server.requests == 0


async def until(condition: object, seconds: float = 3.0) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(seconds):
        while not condition():  # type: ignore[operator]  # noqa: ASYNC110 (what is waited for happens in a socket)
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("scenario", ["hang", "stall", "drip"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_cancelling_hangs_up_at_once(server: FaultServer, scenario: str, stream: bool) -> None:
    """The endpoint sees the hang-up and can stop working, before and after the first byte."""
    task = asyncio.ensure_future(called(model(server, scenario, clocks=Clocks()), ASK, stream))
    await until(lambda: server.in_flight == 1)
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: server.hangups == 1 and server.in_flight == 0)


async def test_closing_a_stream_hangs_up_at_once(server: FaultServer) -> None:
    """Whoever stops listening stops the endpoint."""
    stream = model(server, "drip", clocks=Clocks()).stream(ASK)
    assert (await anext(stream)).text == "4"
    await stream.aclose()  # type: ignore[attr-defined]
    await until(lambda: server.hangups == 1)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_connections_are_kept(server: FaultServer, stream: bool) -> None:
    """Twenty calls in series use one connection."""
    for _ in range(20):
        await called(model(server, "good"), ASK, stream)
    assert (server.requests, server.connections) == (20, 1)


async def test_a_refused_call_leaves_its_connection_usable(server: FaultServer) -> None:
    """Errors are read to their end, so that the next call needs no new connection."""
    for scenario in ("429", "500", "good"):
        with contextlib.suppress(BackendError):
            await model(server, scenario).complete(ASK)
    assert server.connections == 1


async def test_two_hundred_calls_in_flight() -> None:
    """Nothing in the pool holds calls back."""
    async with FaultServer(delay=1.0) as server:
        backend = model(server, "good", clocks=Clocks())
        await asyncio.gather(*(backend.complete(ASK) for _ in range(200)))
        assert server.peak == 200


async def test_no_connection() -> None:
    """A port where nobody listens is kind `connect`, and the text says where."""
    with pytest.raises(BackendError, match=r"no connection to http://127\.0\.0\.1:9: .*; is it running") as caught:
        await OpenAI("m", base_url="http://127.0.0.1:9/v1", key_required=False).complete(ASK)
    assert (caught.value.kind, caught.value.retry) == ("connect", True)


async def test_tls_that_is_none() -> None:
    """Speaking TLS to a server that does not is kind `connect`; trying again would not help."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 This is no TLS\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(BackendError, match="can't be trusted") as caught:
            await OpenAI("m", base_url=url, key_required=False).complete(ASK)
    assert (caught.value.kind, caught.value.retry) == ("connect", False)


async def test_loopback_needs_no_proxy(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy in the environment does not come between motet and a local server."""
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert (await model(server, "good").complete(ASK)).text == ANSWER


async def test_a_proxy_of_the_environment_is_used(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a host elsewhere, the call goes through the proxy that the environment names."""
    monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
    reply = await model(server, "good", base_url="http://models.example/v1").complete(ASK)
    assert reply.text == ANSWER
    assert server.seen[0].path == "http://models.example/v1/chat/completions"


# ---- keys


async def test_a_missing_key_is_named_at_the_first_call(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Making the backend needs no key; calling it says which variable to set; setting it is enough."""
    backend = model(server, "good", api_key=None, key_variable="MOTET_TEST_KEY")
    with pytest.raises(BackendError, match="set MOTET_TEST_KEY") as caught:
        await backend.complete(ASK)
    assert caught.value.kind == "auth"
    assert server.requests == 0
    monkeypatch.setenv("MOTET_TEST_KEY", f" {KEY}\n")
    await backend.complete(ASK)
    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


async def test_a_key_that_no_header_can_carry(server: FaultServer) -> None:
    """A key with a line break inside is refused here, and not shown."""
    with pytest.raises(BackendError, match="characters no key has") as caught:
        await model(server, "good", api_key=Secret("sk-one\nsk-two")).complete(ASK)
    assert "sk-" not in str(caught.value)


def test_a_key_is_never_shown() -> None:
    """Neither the key nor a header is in a repr, a str or a format."""
    backend = OpenAI("m", api_key=Secret(KEY), headers={"X-Key": KEY})
    assert KEY not in f"{backend!r} {backend} {backend.api_key} {backend.api_key!r}"
    assert Secret(KEY) == Secret(KEY)
    assert Secret(KEY) != Secret("other")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_an_echoed_key_is_taken_out(server: FaultServer, stream: bool) -> None:
    """From errors and from answers, so that it is not in the trace."""
    with pytest.raises(BackendError, match=r"refused: Bearer \*\*\*"):
        await called(model(server, "echo-key"), ASK, stream)
    assert (await called(model(server, "answer-key"), ASK, stream)).text == "Bearer ***"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_every_secret_is_taken_out_of_what_is_echoed(server: FaultServer, stream: bool) -> None:
    """Whatever is in the URL, a header or the body, as it is or escaped, told as secret or so by its name."""
    backend = model(
        server, "echo-all", base_url=f"{server.base_url}?key=qu%2Fery-SEC",
        extra={"user": 'tok"SEC-0123456789', "auth": {"token": "named-SEC-0123456789"}, "top_k": 1},
        headers={"X-Api-Key": "header-SEC", "Proxy-Authorization": "Basic basic-SEC"},
        secrets=(Secret('tok"SEC-0123456789', "${TOK}"),),
    )  # fmt: skip
    with pytest.raises(BackendError, match=r"bad token") as caught:
        await called(backend, ASK, stream)
    assert caught.value.kind == "bad_request"
    assert "key=***" in caught.value.text
    assert "${TOK}" in caught.value.text
    for secret in ("SEC", KEY):
        assert secret not in f"{caught.value} {caught.value.attempts} {backend!r}"


async def test_what_a_variable_holds_is_never_told(server: FaultServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by an endpoint that repeats it, not in the trace with its configuration, not by anything's repr."""
    for name, value in (("BODY", "SECRET-body-012345"), ("QUERY", "SECRET/query+1"), ("SHORT", "SECRET")):
        monkeypatch.setenv(name, value)
    table = {
        "base_url": f"{server.base_url}?key=${{QUERY}}", "model": "echo-all", "retries": 0,
        "extra": {"auth": {"token": "${BODY}"}, "user": "me-${SHORT}"},
    }  # fmt: skip
    config = from_document({"models": {"m": table}})
    agent = config.agent("m")
    result = await perform(agent, "q", wanted={"config": config.subset("m")})
    assert result.reply is None
    told = f"{result.trace.to_jsonl()} {result!r} {result.error} {agent!r} {config.model('m')!r} {config.document}"
    assert "bad token" in told
    assert "SECRET" not in told
    assert "SECRET" in str(server.seen[0])
    assert result.trace.to_jsonl().count('"token":"${BODY}"') == 1
    assert "${BODY}" in str(result.error)
    assert "me-${SHORT}" in str(result.error)


async def test_a_secret_at_the_cut_is_not_half_shown(server: FaultServer) -> None:
    """Long errors are cut, but not through a secret, of which half would stay."""
    for blanks in range(430, 500, 7):
        backend = model(server, "echo-all", extra={"a": "x" * blanks, "token": "SEC" * 9})
        with pytest.raises(BackendError) as caught:
            await backend.complete(ASK)
        assert "SEC" not in caught.value.text


def test_the_longest_secret_is_taken_out_first() -> None:
    """Of a secret that another is a part of, nothing stays."""
    assert hide("abcd abcdefgh", [Secret("abcd"), Secret("abcdefgh", "${B}")]) == "*** ${B}"


@pytest.mark.parametrize("name", ["model", "messages", "prompt", "stream", "n"])
def test_extra_fields_that_are_not_its_own(name: str) -> None:
    """What every call sets itself can't be set otherwise; several choices are several calls."""
    with pytest.raises(ConfigError, match="a draw is a call" if name == "n" else f"{name} can't be set here"):
        OpenAI("m", extra={name: 2})


def test_other_choices_are_not_dropped_in_silence() -> None:
    """An answer with more choices than one is refused, whole or in pieces; they would be paid for and not be read."""
    one, two = ({"index": n, "message": {"content": "4"}, "finish_reason": "stop"} for n in range(2))
    assert drafted({"choices": [one]}).text == "4"
    for payloads in ([{"choices": [one, two]}], [{"choices": [one]}, {"choices": [two]}]):
        with pytest.raises(BackendError, match="several choices") as caught:
            drafted(*payloads)
        assert (caught.value.kind, caught.value.retry) == ("malformed", False)


async def test_what_was_not_sent_is_no_call(server: FaultServer) -> None:
    """Without a key, after the deadline, or for what the endpoint can't do, nothing is sent, and none is counted."""
    late = msgspec.structs.replace(ASK, deadline=asyncio.get_running_loop().time())
    grammar = msgspec.structs.replace(ASK, sampling=Sampling(grammar="root ::= 'x'"))
    keyless = model(server, "good", api_key=None, key_variable="MOTET_TEST_KEY")
    for backend, request in ((keyless, ASK), (model(server, "good"), late), (model(server, "good"), grammar)):
        with pytest.raises(BackendError) as caught:
            await backend.complete(request)
        assert caught.value.calls == 0
    assert server.requests == 0
    with pytest.raises(BackendError) as caught:
        await model(server, "500").complete(ASK)
    assert (caught.value.calls, server.requests) == (1, 1)


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8000/v1", "ftp://host/v1", "http://", "http://user:pass@host/v1", "http://h:x/v1", "http://[::1"],
)
def test_a_base_url_that_makes_no_sense(url: str) -> None:
    """Is refused when the backend is made, without repeating a password in it."""
    with pytest.raises(ConfigError, match="base_url") as caught:
        OpenAI("m", base_url=url)
    assert "pass@" not in str(caught.value)


def test_backends_compare_and_hash_by_what_they_are() -> None:
    """Two backends made alike are equal, also with extra fields, and can be keys."""
    one, two = (OpenAI("m", api_key=Secret(KEY), extra={"top_k": 1}) for _ in range(2))
    assert len({one, two}) == 1
    assert one != OpenAI("m", api_key=Secret(KEY), extra={"top_k": 2})


def test_a_clock_that_makes_no_sense() -> None:
    """Is refused when it is made."""
    with pytest.raises(ConfigError, match="idle"):
        Clocks(idle=0)


# ---- what is sent


async def sent(server: FaultServer, request: Request, **more: object) -> dict[str, object]:
    """The body that goes out for a request."""
    with contextlib.suppress(BackendError):
        await model(server, "good", **more).complete(request)
    return server.seen[-1].body


async def test_a_full_request(server: FaultServer) -> None:
    """Every part of a request has its place on the wire; names and provenance have none."""
    call = ToolCall("c1", "add", '{"a":1}')
    request = Request(
        "m",
        messages=(
            Message("system", "Be brief."),
            Message("user", "See:", parts=(Part.of({"type": "image_url", "image_url": {"url": "data:,"}}),), name="A"),
            Message("assistant", "", tool_calls=(call,)),
            Message("tool", "2", tool_call_id="c1"),
            Message("note", "Others said this.", source="r1"),
        ),
        sampling=Sampling(0.5, 0.9, 100, ("\n",), 3, '{"type":"json_object"}', "root ::= [0-9]"),
        tools=(ToolSpec("add", "Adds.", '{"type":"object"}'),),
        seed=7,
    )
    body = await sent(server, request, wire=Wire(grammar="structured_outputs.grammar"), extra={"top_k": 5})
    assert body == {
        "model": "good",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": "data:,"}}],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}},
                ],
            },
            {"role": "tool", "content": "2", "tool_call_id": "c1"},
            {"role": "user", "content": "Others said this."},
        ],
        "max_tokens": 100,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["\n"],
        "seed": request.sample_seed,
        "logprobs": True,
        "top_logprobs": 3,
        "response_format": {"type": "json_object"},
        "structured_outputs": {"grammar": "root ::= [0-9]"},
        "tools": [
            {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}}
        ],
        "top_k": 5,
    }


async def test_the_quirks_of_endpoints(server: FaultServer) -> None:
    """Fields are renamed or left out as the endpoint wants them; the allowance clips the limit."""
    request = msgspec.structs.replace(ASK, sampling=Sampling(logprobs=30), allowance=10)
    wire = Wire(limit="max_completion_tokens", seed="random_seed", logprobs="count")
    body = await sent(server, request, wire=wire)
    assert body["max_completion_tokens"] == 10
    assert body["random_seed"] == request.sample_seed
    assert body["logprobs"] == 20
    body = await sent(server, request, wire=Wire(seed="", logprobs=""))
    assert body.keys() == {"model", "messages", "max_tokens"}


async def test_streams_ask_for_usage_where_that_is_understood(server: FaultServer) -> None:
    """`stream_options` is sent, unless the endpoint refuses it."""
    for wire, expected in ((Wire(), {"include_usage": True}), (Wire(stream_usage=False), None)):
        await called(model(server, "good", wire=wire), ASK, True)
        assert server.seen[-1].body["stream"] is True
        assert server.seen[-1].body.get("stream_options") == expected


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_plain_prompt_goes_to_completions(server: FaultServer, stream: bool) -> None:
    """With its own path, its own limit, and text where chats have messages."""
    request = Request("m", prompt="Q: 2+2?\nA:", sampling=Sampling(stop=("\n",), logprobs=2))
    backend = model(server, "good", wire=Wire(limit="max_completion_tokens"))
    assert (await called(backend, request, stream)).text == ANSWER
    assert server.seen[0].path == "/v1/completions"
    body = server.seen[0].body
    assert (body["prompt"], body["max_tokens"], body["logprobs"]) == ("Q: 2+2?\nA:", 512, 2)
    assert "messages" not in body


@pytest.mark.parametrize(
    ("request_", "wire"),
    [
        (Request("m", prompt="Q:"), Wire(completes=False)),
        (msgspec.structs.replace(ASK, sampling=Sampling(grammar="root ::= [0-9]")), Wire()),
        (msgspec.structs.replace(ASK, tools=(ToolSpec("t", "", "{}"),)), Wire(tools=False)),
    ],
    ids=["prompt", "grammar", "tools"],
)
async def test_what_an_endpoint_can_not_do_is_not_sent(server: FaultServer, request_: Request, wire: Wire) -> None:
    """An answer without the grammar, the tools or the prompt form asked for would not be an answer to it."""
    with pytest.raises(BackendError) as caught:
        await model(server, "good", wire=wire).complete(request_)
    assert (caught.value.kind, caught.value.retry, server.requests) == ("bad_request", False, 0)


def test_a_query_in_the_base_url_stays_at_its_end() -> None:
    """Azure's older endpoints want `?api-version=` after the path."""
    fixed = OpenAI("m", base_url="https://x.example/openai/?api-version=1")._fixed
    assert str(fixed.chats) == "https://x.example/openai/chat/completions?api-version=1"


# ---- what comes back


def drafted(*payloads: dict[str, object], **more: object) -> Reply:
    """The reply that JSON objects make."""
    draft = Draft(ASK, **more)  # type: ignore[arg-type]
    for payload in payloads:
        draft.take(payload)
    return draft.reply("m")


def answer(message: dict[str, object], finish: str | None = "stop", **more: object) -> dict[str, object]:
    """A whole answer with a message."""
    return {"choices": [{"message": message, "finish_reason": finish}], **more}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}, Usage(1, 5, output=3)),
        (
            {
                "prompt_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens": 3,
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(1, 5, 4, 3, 2),
        ),
        ({"prompt_tokens": 5, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}, Usage(1, 5, 4, 3)),
        ({"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 20}, Usage(1, 5, 0, 15, 12)),
        ({"prompt_tokens": 5.0, "completion_tokens": None}, Usage(1, 5)),
        ({"prompt_tokens": True, "completion_tokens": float("nan")}, Usage(1)),
        ({"prompt_tokens": float("inf"), "completion_tokens": -3}, Usage(1, 2**53, output=-3)),
    ],
    ids=["plain", "details", "DeepSeek", "Google and xAI", "float", "nonsense", "absurd"],
)
def test_usage_as_providers_tell_it(usage: dict[str, object], expected: Usage) -> None:
    """Cached and reasoning tokens wherever they stand; nonsense is 0, and absurd numbers still fit a database."""
    reply = drafted(answer({"content": "4"}, usage=usage))
    assert reply.usage == expected
    assert msgspec.json.decode(msgspec.json.encode(reply), type=Reply) == reply


@pytest.mark.parametrize("scenario", ["usage-missing", "usage-negative", "usage-absurd", "usage-nonsense"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_wrong_usage_is_found_out(server: FaultServer, scenario: str, stream: bool) -> None:
    """What an endpoint claims is passed on as it is, and `checked` replaces it and keeps both."""
    backend = model(server, scenario, price=Price(1, 2))
    raw = await called(backend, ASK, stream)
    reply, trouble = checked(backend, ASK, raw, 0.1)
    assert trouble
    assert reply.reported == raw.usage
    assert 0 < reply.usage.input < 100
    assert 0 < reply.usage.usd < 0.001


def test_cost_in_dollars_where_it_is_in_dollars() -> None:
    """OpenRouter says what a call cost; elsewhere that field means nothing."""
    payload = answer({"content": "4"}, usage={"prompt_tokens": 5, "completion_tokens": 3, "cost": 0.25})
    assert drafted(payload, cost=True).usage.usd == 0.25
    assert drafted(payload).usage.usd == 0


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_kept_apart(field: str) -> None:
    """Under either of its names, whole or in pieces."""
    pieces = [{"choices": [{"delta": {field: word}}]} for word in ("Two and ", "two.")]
    reply = drafted(*pieces, {"choices": [{"delta": {"content": "4"}, "finish_reason": "stop"}]})
    assert (reply.text, reply.reasoning) == ("4", "Two and two.")


def test_mistral_puts_thinking_into_content() -> None:
    """A content that is a list of parts: words are text, thinking is reasoning."""
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "4"}]
    reply = drafted(answer({"content": content}))
    assert (reply.text, reply.reasoning) == ("4", "Hm.")


def test_a_refusal_is_no_answer() -> None:
    """The words of a model that refuses are kept, and do not count as usable."""
    reply = drafted(answer({"content": None, "refusal": "I can't help with that."}))
    assert (reply.text, reply.finish, reply.usable) == ("I can't help with that.", "content_filter", False)


def test_thinking_until_the_limit_is_cut() -> None:
    """No content, since all tokens went into reasoning: a reply in the state `cut`, not an error."""
    assert drafted(answer({"content": None, "reasoning": "Hm"}, "length")).state == "cut"


@pytest.mark.parametrize(
    ("word", "finish"), [("eos", "stop"), ("STOP", "stop"), ("max_tokens", "length"), ("SAFETY", "content_filter")]
)
def test_finish_reasons_in_other_words(word: str, finish: str) -> None:
    """Providers' own names for the usual ends."""
    assert drafted(answer({"content": "4"}, word)).finish == finish


@pytest.mark.parametrize(("word", "kind"), [("error", "server"), ("abort", "cut"), ("weird", "malformed"), ("", "cut")])
def test_finish_reasons_that_are_none(word: str, kind: str) -> None:
    """An end that is a failure, or that nobody knows, makes no answer."""
    with pytest.raises(BackendError) as caught:
        drafted(answer({"content": "4"}, word))
    assert caught.value.kind == kind


def test_tool_calls_in_odd_pieces() -> None:
    """Google: every index 0. Ollama: objects for arguments, `stop` for an end. Others: no index, no id."""
    google = [{"index": 0, "id": f"c{n}", "function": {"name": f"f{n}", "arguments": "{}"}} for n in range(2)]
    assert [call.id for call in drafted(answer({"tool_calls": google})).tool_calls] == ["c0", "c1"]
    ollama = [{"function": {"name": f"f{n}", "arguments": {"n": n}}} for n in range(2)]
    reply = drafted(answer({"content": "", "tool_calls": ollama}))
    assert reply.finish == "tool_calls"
    assert reply.tool_calls == (ToolCall("call_0", "f0", '{"n":0}'), ToolCall("call_1", "f1", '{"n":1}'))


def test_log_probabilities_in_both_forms() -> None:
    """As chats and as completions tell them; what no JSON number can say is the convention's -9999."""
    chat = {"content": [{"token": "4", "logprob": -0.1, "top_logprobs": [{"token": "5", "logprob": -(10**400)}]}]}
    old = {"tokens": ["4"], "token_logprobs": [-0.1], "top_logprobs": [{"5": float("-inf")}]}
    for logprobs in (chat, old):
        payload = {"choices": [{"message": {"content": "4"}, "finish_reason": "stop", "logprobs": logprobs}]}
        (token,) = drafted(payload).logprobs
        assert (token.text, token.logprob, token.top) == ("4", -0.1, (("5", -9999.0),))


def test_half_a_surrogate_pair() -> None:
    """Servers that cut words by UTF-16 units send them; the reply can still be encoded."""
    reply = drafted(json.loads(r'{"choices": [{"message": {"content": "\ud83d!"}, "finish_reason": "stop"}]}'))
    assert reply.text == "\ufffd!"


FIELDS = re.findall(
    r"\w+",
    "choices message delta content text tool_calls function name arguments index id usage error code prompt_tokens "
    "total_tokens finish_reason logprobs tokens token_logprobs refusal reasoning",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=25,
)


@given(st.lists(st.dictionaries(st.sampled_from(["choices", "usage", "error", "model"]), JSON), max_size=3), JSON)
def test_no_json_breaks_the_draft(payloads: list[dict[str, object]], choice: object) -> None:
    """Whatever an endpoint makes up, it is a reply that can be written down, or a `BackendError`."""
    draft = Draft(ASK, cost=True)
    try:
        for payload in [*payloads, {"choices": [choice]}]:
            draft.take(payload)
        reply = draft.reply("m")
    except BackendError:
        return
    assert msgspec.json.decode(msgspec.json.encode(reply), type=Reply) == reply


# ---- what an error means

REFUSALS = [
    # OpenAI, Azure
    (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, "context_length"),
    (400, {"error": {"code": "content_filter", "message": "filtered"}}, "content_filter"),
    (429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}, "quota"),
    # Anthropic
    (400, {"type": "error", "error": {"message": "Your credit balance is too low to access the API"}}, "quota"),
    (400, {"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}, "context_length"),
    (529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, "server"),
    # Google
    (400, [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}], "auth"),
    (400, [{"error": {"message": "The input token count (9) exceeds the maximum"}}], "context_length"),
    (429, [{"error": {"code": 429, "message": "You exceeded your current quota, check billing"}}], "rate_limit"),
    # Mistral, DeepSeek, Groq, Together, OpenRouter
    (422, {"object": "error", "message": {"detail": [{"type": "extra_forbidden"}]}}, "bad_request"),
    (400, {"message": "Prompt contains 9 tokens, too large for model with 8 maximum context length"}, "context_length"),
    (402, {"error": {"message": "Insufficient Balance"}}, "quota"),
    (413, {"error": {"message": "Request too large, please reduce your message size"}}, "context_length"),
    (400, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4097"}, "context_length"),
    (403, {"error": {"message": "flagged by moderation", "code": 403}}, "content_filter"),
    (400, {"error": {"message": "foo is not a valid model ID"}}, "not_found"),
    # vLLM, llama.cpp, Ollama
    (400, {"object": "error", "message": "This model's maximum context length is 8 tokens."}, "context_length"),
    (400, {"error": {"type": "exceed_context_size_error", "message": "exceeds", "n_ctx": 8}}, "context_length"),
    (500, {"error": {"message": "the request exceeds the available context size"}}, "context_length"),
    (503, {"error": {"message": "Loading model", "type": "unavailable_error"}}, "server"),
    (404, {"error": {"message": "model 'x' not found"}}, "not_found"),
    # FastAPI
    (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request"),
]


@pytest.mark.parametrize(("status", "body", "kind"), REFUSALS)
def test_refusals_of_the_big_providers(status: int, body: object, kind: str) -> None:
    """Their codes and their words, as they use them."""
    error = refusal(status, {}, json.dumps(body).encode())
    assert (error.kind, error.status) == (kind, status)


def test_one_request_above_the_limit_of_a_minute() -> None:
    """Waiting does not make it smaller: it is not tried again."""
    words = "Request too large for m on tokens per min (TPM): Limit 10000, Requested 12000"
    error = refusal(429, {}, json.dumps({"error": {"message": words, "code": "rate_limit_exceeded"}}).encode())
    assert (error.kind, error.retry) == ("rate_limit", False)


def test_a_page_is_told_by_its_title() -> None:
    """A proxy's HTML is no wall of markup in an error."""
    error = refusal(502, {}, b"<html><head><title>502 Bad\nGateway</title></head><body>...</body></html>")
    assert error.text == "an HTML page: 502 Bad Gateway"


def test_words_from_outside_are_tame() -> None:
    """No control characters reach a terminal, and no error is endless."""
    error = refusal(500, {}, json.dumps({"error": {"message": "\x1b[31mred\n" + "x" * 10_000}}).encode())
    assert error.text.startswith("[31mred xxx")
    assert len(error.text) <= 500


def test_retry_after_in_all_its_forms() -> None:
    """Seconds, milliseconds, a date, Google's details; nonsense is none."""
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after": "60", "retry-after-ms": "50"}) == 0.05
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    for nonsense in ("soon", "nan", "inf", "", "Wed, 99 Oct 2015"):
        assert retry_after({"retry-after": nonsense}) is None
    google = {"error": {"message": "slow", "details": [{"retryDelay": "34s"}]}}
    assert refusal(429, {}, json.dumps(google).encode()).retry_after == 34


async def test_retry_after_arrives(server: FaultServer) -> None:
    """With its value, from each of the headers."""
    for scenario, low, high in (("429-after", 0.05, 0.05), ("429-ms", 0.05, 0.05), ("429-date", 95, 101)):
        with pytest.raises(BackendError) as caught:
            await model(server, scenario).complete(ASK)
        assert low <= (caught.value.retry_after or 0) <= high


async def test_should_retry_is_obeyed(server: FaultServer) -> None:
    """The endpoint's own word on trying again beats what the kind would say."""
    for scenario, again in (("500", True), ("500-final", False), ("400", False), ("400-again", True)):
        with pytest.raises(BackendError) as caught:
            await model(server, scenario).complete(ASK)
        assert caught.value.retry is again


@given(st.integers(200, 599), st.binary(max_size=50) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_error_breaks_the_error(status: int, body: bytes) -> None:
    """Whatever an endpoint says, it is one `BackendError` with words."""
    assert refusal(status, {}, body).text


@given(st.dictionaries(st.sampled_from(["error", "code", "message"]), JSON))
def test_no_error_in_a_body_breaks_the_error(payload: dict[str, object]) -> None:
    """The same for errors in a body with status 200."""
    assert refusal_in(payload).text


# ---- the session

TWO_LOOPS = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from faultserver import FaultServer
from motet.backends import session
from motet.backends.openai import OpenAI
from motet.message import Message, Request

async def once(close):
    async with FaultServer() as server:
        backend = OpenAI("good", base_url=server.base_url, key_required=False)
        for _ in range(2):
            await backend.complete(Request("m", messages=(Message("user", "hi"),)))
        if close:
            await session.aclose()
    return session

for close in (True, False, False):
    asyncio.run(once(close))
if "left" in sys.argv:
    loop = asyncio.new_event_loop()
    loop.run_until_complete(once(False))
    if "closed" in sys.argv:
        loop.run_until_complete(asyncio.sleep(0.05))
        loop.close()
        asyncio.run(once(False))
print("fine")
"""


@pytest.mark.parametrize("how", [[], ["left"]], ids=["run", "loop left open"])
def test_sessions_close_with_their_loops(how: list[str]) -> None:
    """Several event loops in one process, with and without closing: no warning, no word on stderr."""
    here = str(Path(__file__).parent)
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", TWO_LOOPS, here, *how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    complaints = [line for line in done.stderr.splitlines() if "session" in line.lower() or "connector" in line.lower()]
    assert (done.stdout.strip(), complaints) == ("fine", []), done.stderr
    if not how:
        assert "Warning" not in done.stderr, done.stderr


async def test_a_closed_session_is_opened_again(server: FaultServer) -> None:
    """`aclose` closes every connection; the next call makes a new one."""
    await model(server, "good").complete(ASK)
    await session.aclose()
    await session.aclose()
    await model(server, "good").complete(ASK)
    assert server.connections == 2


class Idle:
    """A server of few words: answers the first request on each of its first connections, and hangs up on the rest.

    Args:
        kept: connections whose first request is answered; those after them are dropped at their first.
        abort: whether it resets them, instead of closing them.
        late: seconds it thinks before it hangs up.
    """

    def __init__(self, kept: int = 9, abort: bool = False, late: float = 0.0) -> None:
        self.kept, self.abort, self.late = kept, abort, late
        self.connections = self.requests = 0
        self.open: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Idle:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1")
        port = self._server.sockets[0].getsockname()[1]
        self.backend = OpenAI("m", base_url=f"http://127.0.0.1:{port}/v1", key_required=False, price=Price(1, 1))
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self.open:
            writer.close()
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open.append(writer)
        self.connections += 1
        answers = self.connections <= self.kept
        with contextlib.suppress(asyncio.IncompleteReadError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                size = re.search(rb"content-length: (\d+)", head.lower())
                assert size is not None
                body = json.loads(await reader.readexactly(int(size.group(1))))
                self.requests += 1
                if not answers:
                    await asyncio.sleep(self.late)
                    writer.transport.abort() if self.abort else writer.close()
                    return
                answers = False
                said = {"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}
                data = json.dumps({"choices": [said]}).encode()
                kind = b"application/json"
                if body.get("stream"):
                    delta = {"choices": [{"index": 0, "delta": {"content": "4"}, "finish_reason": "stop"}]}
                    data, kind = b"data: " + json.dumps(delta).encode() + b"\n\ndata: [DONE]\n\n", b"text/event-stream"
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (kind, len(data)))
                writer.write(data)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("abort", [False, True], ids=["closed", "reset"])
async def test_a_request_lost_on_an_idle_connection_is_sent_again(stream: bool, abort: bool) -> None:
    """A server that hangs up at the second request on a connection is asked on a new one; that counts as a call."""
    async with Idle(abort=abort) as server:
        first = await called(server.backend, ASK, stream)
        again = await called(server.backend, ASK, stream)
        assert (first.text, first.usage.calls) == (again.text, 1)
        assert again.usage.calls == 2
        assert (server.requests, server.connections) == (3, 2)


async def test_a_new_connection_that_is_dropped_is_an_error() -> None:
    """Nothing is sent twice where the server may have read it: not the first time, and not the time after a loss."""
    async with Idle(kept=0) as server:
        with pytest.raises(BackendError, match=r"cut: .* broke the connection") as caught:
            await server.backend.complete(ASK)
        assert (caught.value.calls, caught.value.attempts, server.requests) == (1, (), 1)
    async with Idle(kept=1) as server:
        await server.backend.complete(ASK)
        with pytest.raises(BackendError, match=r"cut: .* broke the connection") as caught:
            await server.backend.complete(ASK)
        assert caught.value.calls == len(caught.value.attempts) == 2
        assert "closed an idle connection: sent again" in caught.value.attempts[0].text
        assert (server.requests, server.connections) == (3, 2)


async def test_what_breaks_later_is_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that broke while the server had time to work on the request is an error, reused or not."""
    monkeypatch.setattr("motet.backends.openai.STALE_SECONDS", 0.05)
    async with Idle(late=0.2) as server:
        await server.backend.complete(ASK)
        with pytest.raises(BackendError, match="cut"):
            await server.backend.complete(ASK)
        assert server.requests == 2


async def test_a_purse_without_a_call_left_sends_nothing_again() -> None:
    """The second sending needs the leave of the purse, and is charged to it."""
    async with Idle() as server:
        agent = ModelAgent(server.backend, "a")
        assert (await perform(agent, "2 + 2?", budget=Budget(calls=1))).usage.calls == 1
        failed = await perform(agent, "2 + 2?", budget=Budget(calls=1))
        assert (failed.reply, failed.usage.calls, server.requests) == (None, 1, 2)
        assert (await perform(agent, "2 + 2?", budget=Budget(calls=1))).usage.calls == 1  # a new connection again
        assert (await perform(agent, "2 + 2?", budget=Budget(calls=2))).usage.calls == 2


def test_importing_the_backend_loads_no_http_client() -> None:
    """Aiohttp is loaded by the first call."""
    code = "import sys, motet.backends.presets; print('aiohttp' in sys.modules, 'genai_prices' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_encoding_is_deterministic() -> None:
    """The same request makes the same bytes."""
    assert encode(ASK, "m", Wire()) == encode(msgspec.structs.replace(ASK), "m", Wire())
