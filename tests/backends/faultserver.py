"""An OpenAI-shaped endpoint that fails in exact, chosen ways: raw HTTP over loopback, so that a fault is what it says.

    async with FaultServer() as server:
        backend = OpenAI("429-after>good", base_url=server.base_url, key_required=False)
        ...
        assert server.requests == 2

The model's name says what happens: a scenario from `SCENARIOS`, or several joined with `>`, which are the first, the
second, … request for that name (the last one for ever after). A request with `"stream": true` gets the streamed form.

Counters: `requests`, `in_flight`, `peak` (most at once), `hangups` (clients that left before their answer was
complete), `connections` (accepted), and `seen`, every request as a `Seen`. `delay` is how long every answer takes, in
seconds.

As a program, `python faultserver.py [PORT [DELAY]]` prints its base URL and serves until it is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import json
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

ANSWER = "Four, naïvely: 4 \N{MUSICAL SYMBOL G CLEF}."
"""What the good scenarios say; it has characters of one to four bytes."""
STEP = 0.02
"""Seconds between the bytes or chunks of a slow drip."""

Json = dict[str, object]


@dataclass(frozen=True)
class Seen:
    """One request, as it arrived; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: Json


@dataclass
class FaultServer:
    """Serves scenarios on a loopback port until the block ends.

    Args:
        delay: seconds before each answer.
        answer: what the good scenarios say.
        port: 0 for any free one.
    """

    delay: float = 0.0
    answer: str = ANSWER
    port: int = 0
    requests: int = 0
    in_flight: int = 0
    peak: int = 0
    hangups: int = 0
    connections: int = 0
    seen: list[Seen] = field(default_factory=list)
    _times: Counter[str] = field(default_factory=Counter)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _server: asyncio.Server | None = None

    @property
    def base_url(self) -> str:
        """What a client takes for its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def __aenter__(self) -> FaultServer:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=1 << 20, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.CancelledError, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; whether the connection is good for another."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))))
        seen = Seen(head[0].split()[1], headers, body)
        self.seen.append(seen)
        self.requests += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        plan = str(body.get("model", "good")).split(">")
        place = min(self._times[body["model"]], len(plan) - 1)
        self._times[body["model"]] += 1
        exchange = Exchange(self, seen, writer)
        work = asyncio.ensure_future(self._serve(plan[place], exchange))
        gone = asyncio.ensure_future(reader.read(1))  # a client that waits for an answer sends nothing
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                self.hangups += 1
                return False
            try:
                await work
            except OSError:
                self.hangups += 1
                return False
            return exchange.keep
        finally:
            self.in_flight -= 1
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _serve(self, scenario: str, exchange: Exchange) -> None:
        if self.delay:
            await asyncio.sleep(self.delay)
        await SCENARIOS[scenario](exchange)


@dataclass
class Exchange:
    """One request under answer: what a scenario sees and writes with."""

    server: FaultServer
    seen: Seen
    writer: asyncio.StreamWriter
    keep: bool = True

    @property
    def stream(self) -> bool:
        """Whether the client asked for a stream."""
        return bool(self.seen.body.get("stream"))

    async def raw(self, data: bytes) -> None:
        """Write bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int, kind: str, *more: str) -> None:
        """Write a status line and headers."""
        lines = [f"HTTP/1.1 {status} Because", f"Content-Type: {kind}", *more]
        await self.raw(("\r\n".join(lines) + "\r\n\r\n").encode())

    async def whole(self, data: bytes, *more: str, status: int = 200, kind: str = "application/json") -> None:
        """Write an answer with its length."""
        lines = [f"HTTP/1.1 {status} Because", f"Content-Type: {kind}", f"Content-Length: {len(data)}", *more]
        await self.raw(("\r\n".join(lines) + "\r\n\r\n").encode() + data)

    async def json(self, value: object, *more: str, status: int = 200) -> None:
        """Write JSON."""
        await self.whole(json.dumps(value, ensure_ascii=False).encode(), *more, status=status)

    async def error(self, status: int, message: str, code: str | None = None, *more: str) -> None:
        """Write an error as OpenAI does."""
        await self.json(
            {"error": {"message": message, "type": "error", "param": None, "code": code}}, *more, status=status
        )

    async def begin(self) -> None:
        """Begin a chunked event stream."""
        await self.head(200, "text/event-stream", "Transfer-Encoding: chunked")

    async def chunk(self, data: bytes) -> None:
        """Write one HTTP chunk."""
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def event(self, value: object) -> None:
        """Write one event as one HTTP chunk."""
        await self.chunk(b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n")

    async def end(self, *, done: bool = True) -> None:
        """End a chunked event stream properly."""
        if done:
            await self.chunk(b"data: [DONE]\n\n")
        await self.raw(b"0\r\n\r\n")

    def reset(self) -> None:
        """Break the connection with a RST."""
        self.keep = False
        peer: socket.socket = self.writer.get_extra_info("socket")
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    def close(self) -> None:
        """Close the connection after what was written."""
        self.keep = False

    async def hang(self) -> None:
        """Say nothing more; only a hang-up ends this."""
        await asyncio.sleep(3600)

    # ---- what a good answer is made of

    @property
    def usage(self) -> Json:
        """Counts that make sense."""
        return {"prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21}

    def answer(self, text: str | None, finish: str | None = "stop", **more: object) -> Json:
        """A whole answer."""
        message = {"text": text} if "prompt" in self.seen.body else {"message": {"role": "assistant", "content": text}}
        choice = {"index": 0, **message, "finish_reason": finish}
        return {"id": "x", "object": "chat.completion", "model": "served", "choices": [choice], **more}

    def delta(self, text: str | None, finish: str | None = None, **more: object) -> Json:
        """A piece of an answer."""
        piece: Json = {"text": text} if "prompt" in self.seen.body else {"delta": {"content": text} if text else {}}
        choice = {"index": 0, **piece, "finish_reason": finish}
        return {"id": "x", "object": "chat.completion.chunk", "model": "served", "choices": [choice], **more}

    def events(self) -> list[Json]:
        """A whole answer in pieces, its usage in a piece of its own as OpenAI sends it."""
        words = self.server.answer.split(" ")
        pieces = [self.delta(word + " " * (place < len(words) - 1)) for place, word in enumerate(words)]
        return [*pieces, self.delta(None, "stop"), {"choices": [], "model": "served", "usage": self.usage}]


Scenario = Callable[[Exchange], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(name: str) -> Callable[[Scenario], Scenario]:
    """Enter a scenario under `name`."""

    def enter(function: Scenario) -> Scenario:
        SCENARIOS[name] = function
        return function

    return enter


def refuses(name: str, status: int, message: str, code: str | None = None, *more: str) -> None:
    """Enter a scenario that answers with an error."""

    @scenario(name)
    async def _refuse(exchange: Exchange) -> None:
        await exchange.error(status, message, code, *more)


refuses("400", 400, "max_tokens must be positive", "invalid_value")
refuses("401", 401, "Incorrect API key provided", "invalid_api_key")
refuses("402", 402, "Insufficient Balance")
refuses("403", 403, "Your country is not supported")
refuses("404", 404, "The model does not exist", "model_not_found")
refuses("408", 408, "Request timed out")
refuses("413", 413, "Request Entity Too Large")
refuses("429", 429, "Rate limit reached", "rate_limit_exceeded")
refuses("429-after", 429, "Rate limit reached", "rate_limit_exceeded", "Retry-After: 0.05")
refuses("429-minute", 429, "Rate limit reached", "rate_limit_exceeded", "Retry-After: 60")
refuses("429-ms", 429, "Rate limit reached", "rate_limit_exceeded", "retry-after-ms: 50", "Retry-After: 60")
refuses("quota", 429, "You exceeded your current quota", "insufficient_quota")
refuses("500", 500, "The server had an error")
refuses("503", 503, "Loading model", "unavailable_error")
refuses("500-final", 500, "The server had an error", None, "x-should-retry: false")
refuses("400-again", 400, "A hiccup", None, "x-should-retry: true")
refuses("context", 400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded")
refuses("filter", 400, "The response was filtered by the content management policy.", "content_filter")
refuses("redirect", 307, "Moved", None, "Location: http://127.0.0.1:9/elsewhere")


@scenario("429-date")
async def _(exchange: Exchange) -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    await exchange.error(429, "Rate limit reached", None, f"Retry-After: {date}")


@scenario("good")
async def _(exchange: Exchange) -> None:
    if not exchange.stream:
        return await exchange.json(exchange.answer(exchange.server.answer, usage=exchange.usage))
    await exchange.begin()
    for event in exchange.events():
        await exchange.event(event)
    return await exchange.end()


@scenario("html")
async def _(exchange: Exchange) -> None:
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
    await exchange.whole(page, kind="text/html; charset=utf-8")


@scenario("html-as-events")
async def _(exchange: Exchange) -> None:
    await exchange.whole(b"<html><body>data: 4\n\n</body></html>", kind="text/event-stream")


@scenario("broken-json")
async def _(exchange: Exchange) -> None:
    if not exchange.stream:
        return await exchange.whole(json.dumps(exchange.answer("4", usage=exchange.usage)).encode()[:-9])
    await exchange.begin()
    await exchange.event(exchange.delta("4"))
    await exchange.chunk(b'data: {"choices": [{"delta": {"conte\n\n')
    await exchange.event(exchange.delta(None, "stop"))
    return await exchange.end()


@scenario("empty-choices")
async def _(exchange: Exchange) -> None:
    nothing = {"model": "served", "choices": [], "usage": exchange.usage}
    if not exchange.stream:
        return await exchange.json(nothing)
    await exchange.begin()
    await exchange.event(nothing)
    return await exchange.end()


@scenario("null-content")
async def _(exchange: Exchange) -> None:
    if not exchange.stream:
        return await exchange.json(exchange.answer(None, usage=exchange.usage))
    await exchange.begin()
    await exchange.event(exchange.delta(None, "stop"))
    return await exchange.end()


@scenario("length")
async def _(exchange: Exchange) -> None:
    if not exchange.stream:
        return await exchange.json(exchange.answer("Four, na", "length", usage=exchange.usage))
    await exchange.begin()
    await exchange.event(exchange.delta("Four, na"))
    await exchange.event(exchange.delta(None, "length", usage=exchange.usage))
    return await exchange.end()


@scenario("tools")
async def _(exchange: Exchange) -> None:
    def call(place: int, **function: object) -> Json:
        return {"index": place, "id": f"c{place}", "type": "function", "function": function}

    if not exchange.stream:
        calls = [call(0, name="add", arguments='{"a": 1}'), call(1, name="sub", arguments="{}")]
        answer = exchange.answer(None, "tool_calls", usage=exchange.usage)
        answer["choices"][0]["message"]["tool_calls"] = calls  # type: ignore[index]
        return await exchange.json(answer)
    await exchange.begin()
    pieces: list[Json] = [call(0, name="add", arguments="")]
    pieces += [{"index": 0, "function": {"arguments": part}} for part in ('{"a"', ": 1}")]
    pieces += [call(1, name="sub", arguments="{}")]
    for piece in pieces:
        await exchange.event({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None}]})
    await exchange.event(exchange.delta(None, "tool_calls", usage=exchange.usage))
    return await exchange.end()


def counts(name: str, usage: object) -> None:
    """Enter a scenario whose words are good and whose usage is not."""

    @scenario(name)
    async def _count(exchange: Exchange) -> None:
        if not exchange.stream:
            return await exchange.json(exchange.answer("4", usage=usage))
        await exchange.begin()
        await exchange.event(exchange.delta("4", "stop"))
        await exchange.event({"choices": [], "usage": usage})
        return await exchange.end()


counts("usage-missing", None)
counts("usage-negative", {"prompt_tokens": -5, "completion_tokens": -1, "total_tokens": -6})
counts("usage-absurd", {"prompt_tokens": 10**30, "completion_tokens": 9.5e9, "total_tokens": 0})
counts("usage-nonsense", {"prompt_tokens": "many", "completion_tokens": [1], "prompt_tokens_details": 7})


@scenario("hang")
async def _(exchange: Exchange) -> None:
    await exchange.hang()


@scenario("hang-after-head")
async def _(exchange: Exchange) -> None:
    await exchange.head(200, "text/event-stream" if exchange.stream else "application/json", "Content-Length: 99")
    await exchange.hang()


@scenario("stall")
async def _(exchange: Exchange) -> None:
    if exchange.stream:
        await exchange.begin()
        await exchange.event(exchange.delta("Four"))
    else:
        await exchange.head(200, "application/json", "Content-Length: 999")
        await exchange.raw(b'{"choices": [')
    await exchange.hang()


@scenario("drip")
async def _(exchange: Exchange) -> None:
    if exchange.stream:
        await exchange.begin()
        while True:
            await exchange.event(exchange.delta("4"))
            await asyncio.sleep(STEP)
    await exchange.head(200, "application/json", "Content-Length: 99999")
    while True:
        await exchange.raw(b" ")
        await asyncio.sleep(STEP)


@scenario("reset-first")
async def _(exchange: Exchange) -> None:
    exchange.reset()


@scenario("reset")
async def _(exchange: Exchange) -> None:
    if exchange.stream:
        await exchange.begin()
        await exchange.event(exchange.delta("Four"))
    else:
        await exchange.head(200, "application/json", "Content-Length: 999")
        await exchange.raw(b'{"choices": [')
    await asyncio.sleep(STEP)
    exchange.reset()


@scenario("cut-chunked")
async def _(exchange: Exchange) -> None:
    """Everything is said, but the chunked body does not end as it must."""
    exchange.close()
    if exchange.stream:
        await exchange.begin()
        for event in exchange.events():
            await exchange.event(event)
    else:
        await exchange.head(200, "application/json", "Transfer-Encoding: chunked")
        await exchange.chunk(json.dumps(exchange.answer("4", usage=exchange.usage)).encode())


@scenario("cut-length")
async def _(exchange: Exchange) -> None:
    """The body is shorter than its length says."""
    exchange.close()
    await exchange.head(200, "text/event-stream" if exchange.stream else "application/json", "Content-Length: 9999")
    event = json.dumps(exchange.delta("4", "stop")).encode()
    await exchange.raw(b"data: " + event + b"\n\n" if exchange.stream else json.dumps(exchange.answer("4")).encode())


@scenario("no-finish")
async def _(exchange: Exchange) -> None:
    """A clean end, but no finish reason."""
    if not exchange.stream:
        return await exchange.json(exchange.answer("Four", None, usage=exchange.usage))
    await exchange.begin()
    await exchange.event(exchange.delta("Four"))
    return await exchange.end(done=False)


@scenario("no-finish-done")
async def _(exchange: Exchange) -> None:
    """Even `[DONE]`, but no finish reason."""
    if not exchange.stream:
        return await exchange.json(exchange.answer("Four", None, usage=exchange.usage))
    await exchange.begin()
    await exchange.event(exchange.delta("Four"))
    return await exchange.end()


@scenario("no-done")
async def _(exchange: Exchange) -> None:
    """A finish reason and a proper end of the chunked body, but no `[DONE]`: accepted."""
    if not exchange.stream:
        return await exchange.json(exchange.answer(exchange.server.answer, usage=exchange.usage))
    await exchange.begin()
    for event in exchange.events():
        await exchange.event(event)
    return await exchange.end(done=False)


@scenario("no-done-close")
async def _(exchange: Exchange) -> None:
    """A finish reason, no `[DONE]`, and a body that only ends because the connection does (whole: cut JSON)."""
    exchange.close()
    if not exchange.stream:
        await exchange.head(200, "application/json", "Connection: close")
        return await exchange.raw(json.dumps(exchange.answer("4", usage=exchange.usage)).encode()[:-2])
    await exchange.head(200, "text/event-stream", "Connection: close")
    for event in exchange.events():
        await exchange.raw(b"data: " + json.dumps(event).encode() + b"\n\n")
    return None


@scenario("done-close")
async def _(exchange: Exchange) -> None:
    """The same with `[DONE]`: accepted."""
    exchange.close()
    if not exchange.stream:
        await exchange.head(200, "application/json", "Connection: close")
        return await exchange.raw(json.dumps(exchange.answer(exchange.server.answer, usage=exchange.usage)).encode())
    await exchange.head(200, "text/event-stream", "Connection: close")
    for event in exchange.events():
        await exchange.raw(b"data: " + json.dumps(event).encode() + b"\n\n")
    return await exchange.raw(b"data: [DONE]\n\n")


@scenario("done-open")
async def _(exchange: Exchange) -> None:
    """`[DONE]`, and then the connection stays open for ever: accepted."""
    if not exchange.stream:
        return await exchange.json(exchange.answer(exchange.server.answer, usage=exchange.usage))
    await exchange.begin()
    for event in exchange.events():
        await exchange.event(event)
    await exchange.chunk(b"data: [DONE]\n\n")
    return await exchange.hang()


@scenario("error-event")
async def _(exchange: Exchange) -> None:
    error = {"error": {"code": 502, "message": "The provider is down"}}
    if not exchange.stream:
        return await exchange.json(error)
    await exchange.begin()
    await exchange.event(exchange.delta("Four"))
    await exchange.event(error)
    return await exchange.end()


@scenario("error-named")
async def _(exchange: Exchange) -> None:
    """An event whose name is error, as Anthropic sends it."""
    if not exchange.stream:
        return await exchange.json({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    await exchange.begin()
    await exchange.event(exchange.delta("Four"))
    await exchange.chunk(b'event: error\ndata: {"type": "overloaded_error", "message": "Overloaded"}\n\n')
    return await exchange.end()


@scenario("huge")
async def _(exchange: Exchange) -> None:
    """10 MB of words."""
    piece = "word " * 20_000
    if not exchange.stream:
        await exchange.head(200, "application/json", "Transfer-Encoding: chunked")
        await exchange.chunk(b'{"choices": [{"finish_reason": "stop", "message": {"content": "')
        for _ in range(100):
            await exchange.chunk(piece.encode())
        await exchange.chunk(b'"}}]}')
        return await exchange.end(done=False)
    await exchange.begin()
    for _ in range(100):
        await exchange.event(exchange.delta(piece))
    await exchange.event(exchange.delta(None, "stop", usage=exchange.usage))
    return await exchange.end()


@scenario("huge-line")
async def _(exchange: Exchange) -> None:
    """10 MB in one line that never ends."""
    if not exchange.stream:
        return await exchange.whole(b" " * 10_000_000)
    await exchange.begin()
    for _ in range(100):
        await exchange.chunk(b"data: " + b"x" * 100_000)
    return await exchange.end()


@scenario("bad-utf8")
async def _(exchange: Exchange) -> None:
    good = json.dumps(exchange.delta("4", "stop") if exchange.stream else exchange.answer("4")).encode()
    bad = good.replace(b'"4"', b'"\xff\xfe4"')
    if not exchange.stream:
        return await exchange.whole(bad)
    await exchange.begin()
    await exchange.chunk(b"data: " + bad + b"\n\n")
    return await exchange.end()


@scenario("split")
async def _(exchange: Exchange) -> None:
    """The good answer, one byte a packet, with CRLF line ends and a comment."""
    if exchange.stream:
        events = [json.dumps(event, ensure_ascii=False).encode() for event in exchange.events()]
        data = b": ping\r\n\r\n" + b"".join(b"data: %s\r\n\r\n" % event for event in [*events, b"[DONE]"])
        await exchange.begin()
    else:
        answer = exchange.answer(exchange.server.answer, usage=exchange.usage)
        data = json.dumps(answer, ensure_ascii=False).encode()
        await exchange.head(200, "application/json", "Transfer-Encoding: chunked")
    for place in range(len(data)):
        await exchange.chunk(data[place : place + 1])
        if place % 16 == 0:
            await asyncio.sleep(0)
    return await exchange.end(done=False)


@scenario("echo-key")
async def _(exchange: Exchange) -> None:
    """An error that repeats the Authorization header."""
    await exchange.error(401, f"refused: {exchange.seen.headers.get('authorization')}")


@scenario("echo-all")
async def _(exchange: Exchange) -> None:
    """An error that repeats the whole request, and a page that does."""
    seen = exchange.seen
    await exchange.error(400, f"bad token: {exchange.seen.path} {json.dumps(seen.body)} {seen.headers}")


@scenario("answer-key")
async def _(exchange: Exchange) -> None:
    """An answer that repeats the Authorization header."""
    said = str(exchange.seen.headers.get("authorization"))
    if not exchange.stream:
        return await exchange.json(exchange.answer(said, usage=exchange.usage))
    await exchange.begin()
    await exchange.event(exchange.delta(said))
    await exchange.event(exchange.delta(None, "stop", usage=exchange.usage))
    return await exchange.end()


@scenario("no-http")
async def _(exchange: Exchange) -> None:
    exchange.close()
    await exchange.raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


async def main(port: int = 0, delay: float = 0.0) -> None:
    """Serve until ended."""
    async with FaultServer(delay=delay, port=port) as server:
        print(server.base_url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*(int(port) for port in sys.argv[1:2]), *(float(delay) for delay in sys.argv[2:3])))
