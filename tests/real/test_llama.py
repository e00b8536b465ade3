"""The `llama` backend on the two real models of the pool: small, but everything about them is real."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import pytest

from motet.backends import llama_server
from motet.backends.llama import Llama
from motet.backends.llama_server import Native
from motet.errors import BackendError
from motet.message import Delta, Message, Reply, Request, Sampling
from motet.testing import check_backend

pytestmark = pytest.mark.real

SMOL = Llama("smollm2-135m", "smol", context=1024)
GEMMA = Llama("gemma3-270m", "gemma", context=1024)
ONE = Llama("smollm2-135m", "one", context=2048, parallel=1)
"""With a single slot: what waits behind another call, and what a call leaves behind, can be seen."""
LETTERS = "root ::= [a-z ]+"
"""A grammar that never ends, so that a reply is as long as it may be."""
SHOTS = (
    "Answer each question with one word.\n"
    "Q: What is the capital of France?\nA: Paris\n"
    "Q: What is the capital of Germany?\nA: Berlin\n"
    "Q: What is the capital of Spain?\nA: Madrid\n"
    "Q: What is the capital of {}?\nA:"
)
YES_NO = 'root ::= "yes" | "no"'
PERSON = '{"type":"json_schema","json_schema":{"name":"p","schema":{"type":"object","properties":{"age":{"type":"integer","maximum":99}},"required":["age"],"additionalProperties":false}}}'  # noqa: E501


@pytest.fixture(scope="module", autouse=True)
def unloaded() -> Iterator[None]:
    """The models are let go of after these tests."""
    yield
    for backend in (SMOL, GEMMA, ONE):
        backend.unload()


def chat(text: str, tokens: int = 16, **sampling: object) -> Request:
    """One question, answered greedily unless said otherwise."""
    given = {"temperature": 0.0, "max_tokens": tokens, **sampling}
    return Request("m", (Message("user", text),), sampling=Sampling(**given))  # type: ignore[arg-type]


def completion(prompt: str, tokens: int = 16, **sampling: object) -> Request:
    """A plain prompt, likewise."""
    return msgspec.structs.replace(chat("", tokens, **sampling), messages=(), prompt=prompt)


def long(tokens: int = 1900) -> Request:
    """A call that would take half a minute on a fast machine."""
    return completion("Once upon a time", tokens, grammar=LETTERS)


async def refusal(backend: Llama, request: Request) -> BackendError:
    """The error of a call that has to fail."""
    with pytest.raises(BackendError) as caught:
        await backend.complete(request)
    return caught.value


async def begun(backend: Llama, request: Request) -> AsyncIterator[Delta]:
    """The rest of a stream whose first words have come."""
    stream = backend.stream(request)
    await anext(stream)
    return stream


async def gone(backend: Llama, seconds: float) -> bool:
    """Whether the model is let go of within that time."""
    for _ in range(int(seconds / 0.02)):
        if not backend.loaded:
            return True
        await asyncio.sleep(0.02)
    return False


async def freed(backend: Llama, seconds: float) -> bool:
    """Whether it can be unloaded within that time, since no call runs any more."""
    return backend.unload() or await gone(backend, seconds)


def resident() -> float:
    """MB that this process has in memory."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("resident memory is read from /proc")
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# What it says


@pytest.mark.parametrize("backend", [SMOL, GEMMA], ids=["smol", "gemma"])
async def test_contract(backend: Llama) -> None:
    """Both models keep the contract of a backend, in chats and as completions."""
    await check_backend(backend)
    await check_backend(backend, completion(SHOTS.format("Portugal"), stop=("\n",)))


async def test_few_shot_completion() -> None:
    """The base model answers a few-shot prompt, and the stop string ends the answer without being in it."""
    replies = await asyncio.gather(
        *(GEMMA.complete(completion(SHOTS.format(c), stop=("\n",))) for c in ("Italy", "Japan"))
    )
    assert [reply.text.strip() for reply in replies] == ["Rome", "Tokyo"]
    assert {(reply.finish, reply.model, reply.usage.calls) for reply in replies} == {("stop", Path(GEMMA.path).stem, 1)}


async def test_usage_and_id() -> None:
    """Usage is what the model's own tokenizer counts, and the reply goes by the request's key."""
    request = completion("The quick brown fox jumps over 12 lazy dogs,", 5, grammar=LETTERS)
    reply = await SMOL.complete(request)
    assert (reply.usage.input, reply.usage.output, reply.finish) == (SMOL.tokens(request.prompt), 5, "length")
    assert reply.id == request.key
    assert reply.state == "cut"


async def test_constrained() -> None:
    """A grammar and a JSON schema bind the reply, in chats and in completions."""
    answers = await asyncio.gather(
        SMOL.complete(chat("Is the sky blue?", grammar=YES_NO)),
        SMOL.complete(completion("Is the sky blue? Answer:", grammar=YES_NO)),
        SMOL.complete(chat("Describe Anna, who is 31, as JSON.", 40, format=PERSON)),
        SMOL.complete(completion("Anna, who is 31, as JSON:", 40, format=PERSON)),
        SMOL.complete(completion("A JSON object:", 8, format='{"type":"json_object"}')),
    )
    assert {answers[0].text, answers[1].text} <= {"yes", "no"}
    for reply in answers[2:4]:
        assert set(msgspec.json.decode(reply.text, type=dict[str, int])) == {"age"}
    assert answers[4].text.lstrip().startswith("{")


async def test_logprobs() -> None:
    """Every output token comes with its log-probability and the likeliest others, and together they are the reply."""
    for request in (chat("What is 2 + 2?", 6, logprobs=3), completion("2 + 2 =", 6, logprobs=3)):
        reply = await SMOL.complete(request)
        assert "".join(token.text for token in reply.logprobs) == reply.text
        assert len(reply.logprobs) == reply.usage.output
        for token in reply.logprobs:
            assert len(token.top) == 3
            assert token.logprob == token.top[0][1] <= 0  # it is greedy
            assert token.top == tuple(sorted(token.top, key=lambda pair: -pair[1]))
    assert not (await SMOL.complete(chat("What is 2 + 2?", 2))).logprobs


async def test_seeds() -> None:
    """The request decides what is drawn: the same again is the same reply, another draw or seed is another."""
    request = completion("My favourite animal is the", 12, temperature=1.5)
    alone = Llama("smollm2-135m", context=1024, parallel=1)
    try:
        first, again = await alone.complete(request), await alone.complete(request)
        draws = [await alone.complete(msgspec.structs.replace(request, draw=str(n))) for n in range(2)]
        other = await alone.complete(msgspec.structs.replace(request, seed=7))
    finally:
        alone.unload()
    assert first.text == again.text
    assert len({first.text, other.text, *(reply.text for reply in draws)}) == 4


async def test_prefix_is_reused() -> None:
    """What two prompts begin with is computed once: the second call reports it as cached."""
    shots = "".join(f"Q: What is {n} plus {n}?\nA: {n + n}\n" for n in range(20, 32))
    first = await GEMMA.complete(completion(shots + "Q: What is 5 plus 5?\nA:", 2))
    second = await GEMMA.complete(completion(shots + "Q: Who was Napoleon?\nA:", 2))
    assert second.usage.cached >= (GEMMA.tokens(shots) or 0) - 4
    assert first.usage.cached < (GEMMA.tokens(shots) or 0) / 2
    assert second.usage.cached < second.usage.input


# What it can't say


async def test_context_overflow() -> None:
    """Too long a prompt is `context_length` with both numbers; one that fits is answered until the context is full."""
    tight = Llama("smollm2-135m", "tight", context=256, parallel=1)
    try:
        for request in (completion("one " * 300), chat("one " * 300)):
            error = await refusal(tight, request)
            assert (error.kind, error.status, error.retry) == ("context_length", 0, False)
            assert "256" in error.text
            assert "tight" in error.text
        reply = await tight.complete(completion("one " * 240, 100, grammar=LETTERS))
        assert reply.finish == "length"
        assert reply.usage.input + reply.usage.output == 256
    finally:
        tight.unload()


async def test_bad_requests() -> None:
    """What llama.cpp refuses is a `bad_request` in its own words, and the model goes on serving."""
    wrong = [
        chat("x", grammar="root ::= nowhere"),
        chat("x", format='{"type":"json_schema","json_schema":{"schema":{"type":"nonsense"}}}'),
        chat("x", format="{broken"),
        chat("x", format=PERSON, grammar=YES_NO),
        completion("x", format=PERSON, grammar=YES_NO),
    ]
    for request in wrong:
        error = await refusal(SMOL, request)
        assert error.kind == "bad_request", error
        assert len(error.text) > 20
    assert (await SMOL.complete(chat("Is water wet?", grammar=YES_NO))).text in ("yes", "no")


async def test_damaged_file(tmp_path: Path) -> None:
    """A model that is cut off, or whose header is damaged, is the `model_file` kind and no crash."""
    whole = SMOL.path.read_bytes()
    spoilt = bytearray(whole[:5_000_000])
    spoilt[100:3000] = os.urandom(2900)
    for content in (whole[:1000], whole[:50_000_000], spoilt):
        path = tmp_path / "damaged.gguf"
        path.write_bytes(content)
        error = await refusal(Llama(path, parallel=1), chat("x"))
        assert error.kind == "model_file"
        assert str(path) in error.text


# How it is shared


async def test_the_loop_goes_on() -> None:
    """While a model answers, the event loop does other things."""
    await SMOL.complete(chat("x", 1))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    ticking = asyncio.create_task(tick())
    await SMOL.complete(completion("Once upon a time", 24, grammar=LETTERS))
    ticking.cancel()
    assert ticks >= 24, "at least once a token"


async def test_batched() -> None:
    """Calls up to the number of slots run at once: each has begun before any has ended."""
    await SMOL.complete(chat("x", 1))
    times: list[tuple[float, float]] = []

    async def one(number: int) -> None:
        first = None
        async for _ in SMOL.stream(completion(f"{number} little", 24, grammar=LETTERS)):
            first = first or time.monotonic()
        times.append((first or math.inf, time.monotonic()))

    await asyncio.gather(*(one(n) for n in range(4)))
    assert max(first for first, _ in times) < min(last for _, last in times)


async def test_in_turn() -> None:
    """Calls beyond the slots are answered in the order they were made."""
    order: list[int] = []

    async def one(number: int) -> None:
        await ONE.complete(completion(f"Number {number}:", 2))
        order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(one(number))
    assert order == list(range(6))


def test_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """First calls at the same moment, from two event loops, load the model once; all of them are answered."""
    loads: list[Path] = []

    def counted(path: Path, *sizes: int) -> Native:
        loads.append(path)
        return real(path, *sizes)

    real = llama_server.load
    monkeypatch.setattr(llama_server, "load", counted)
    backends = [Llama("smollm2-135m", name, context=512, parallel=3) for name in "ab"]
    replies: list[Reply] = []

    async def both() -> None:
        replies.extend(await asyncio.gather(*(backend.complete(chat("Hello", 2)) for backend in backends)))

    threads = [threading.Thread(target=asyncio.run, args=(both(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == 4
    assert loads == [SMOL.path]
    assert backends[0].unload()
    assert not backends[1].loaded


async def test_unload_gives_memory_back() -> None:
    """Unloading frees the model's memory; the next call loads it again."""
    backend = Llama("gemma3-270m", context=1024, parallel=2)
    before = resident()
    await backend.complete(chat("x", 1))
    loaded = resident()
    assert backend.unload()
    assert loaded - before > 200
    assert resident() - before < (loaded - before) / 2
    assert (await backend.complete(chat("x", 1))).usage.output == 1
    assert backend.unload()


async def test_unload_waits() -> None:
    """A model is not taken away from a call: it goes when the call has ended."""
    stream = await begun(ONE, completion("Once upon a time", 12, grammar=LETTERS))
    assert not ONE.unload()
    replies = [delta.reply async for delta in stream]
    assert replies[-1] is not None
    assert replies[-1].usage.output == 12
    assert await freed(ONE, 5)


async def test_idle() -> None:
    """A model that nobody calls is let go of after its idle time."""
    backend = Llama("smollm2-135m", context=256, parallel=2, idle_seconds=0.3)
    await asyncio.gather(*(backend.complete(chat("x", 1)) for _ in range(2)))
    assert backend.loaded
    assert await gone(backend, 10)


async def test_errors_do_not_keep_the_model() -> None:
    """Whoever keeps the error of a call does not keep the model in memory with it: its endpoint is gone as well."""
    backend = Llama("smollm2-135m", context=256, parallel=2)
    host, port = urlsplit((await backend.address()).url).netloc.split(":")
    kept = [await refusal(backend, chat("one " * 300)), await refusal(backend, chat("x", grammar="root ::= nowhere"))]
    socket.create_connection((host, int(port)), 5).close()
    assert backend.unload()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), 5)
    assert [error.kind for error in kept] == ["context_length", "bad_request"]


async def test_count() -> None:
    """Counting is on the high side and always the same; the tokenizer of a loaded model is exact."""
    text = "Q: What is 17 * 23?\nA: 391\nQ: Who wrote Hamlet?\nA: Shakespeare\n"
    backend = Llama("smollm2-135m", context=512, parallel=2)
    estimated = backend.count(text)
    used = (await backend.complete(completion(text, 1))).usage.input
    assert backend.tokens(text) == used <= estimated <= 2 * used
    assert backend.count(text) == estimated
    assert backend.count("") == 0
    backend.unload()


# How it is stopped


async def test_cancelled_while_answering() -> None:
    """A cancelled call returns at once and frees its slot within a token, not when its reply would have ended."""
    await ONE.complete(chat("x", 1))
    task = asyncio.create_task(ONE.complete(long()))
    await asyncio.sleep(0.5)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 0.5
    assert (await ONE.complete(chat("Hello", 1))).usage.output == 1
    assert time.monotonic() - began < 10


async def test_cancelled_while_reading() -> None:
    """During a long prompt too: its slot is free within a batch of it."""
    await ONE.complete(chat("x", 1))
    task = asyncio.create_task(ONE.complete(completion("a b c d " * 470, 1)))  # 20 s on a fast machine
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await freed(ONE, 10)


async def test_cancelled_while_waiting() -> None:
    """A call that is cancelled in the line is never made."""
    stream = await begun(ONE, completion("Once", 30, grammar=LETTERS))
    waiting = asyncio.create_task(ONE.complete(long()))
    await asyncio.sleep(0.05)
    waiting.cancel()
    assert [delta.reply async for delta in stream][-1] is not None
    assert await freed(ONE, 5)
    assert waiting.cancelled()


async def test_closed_stream() -> None:
    """Leaving a stream early ends the call."""
    stream = ONE.stream(long())
    async with contextlib.aclosing(stream):
        async for _ in stream:
            break
    assert await freed(ONE, 10)


async def test_deadline() -> None:
    """A deadline ends a call that runs and one that waits, as `timeout`, and frees the slot."""
    await ONE.complete(chat("x", 1))
    began = time.monotonic()
    late = msgspec.structs.replace(long(), deadline=began + 0.5)
    errors = await asyncio.gather(*(refusal(ONE, late) for _ in range(2)))
    assert [error.kind for error in errors] == ["timeout", "timeout"]
    assert 0.4 < time.monotonic() - began < 2
    assert await freed(ONE, 10)
    past = msgspec.structs.replace(chat("x"), deadline=time.monotonic() - 1)
    assert (await refusal(ONE, past)).kind == "timeout"


def run(code: str, *, interrupt: bool = False) -> tuple[int, str, float]:
    """Run a program that prints `ready`, perhaps interrupt it then: exit code, stderr, seconds from `ready` on."""
    head = (
        "import asyncio, sys\nfrom motet.backends.llama import Llama\nfrom motet.message import *\n"
        "backend = Llama('smollm2-135m', context=2048, parallel=2)\n"
        f"request = Request('m', prompt='Once', sampling=Sampling(max_tokens=1900, grammar={LETTERS!r}))\n"
    )
    program = subprocess.Popen([sys.executable, "-c", head + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stdout.readline() == b"ready\n"
    began = time.monotonic()
    if interrupt:
        program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    return program.returncode, errors.decode(), time.monotonic() - began


ASK = """
async def main():
    async for delta in backend.stream(request):
        if delta.text:
            print('ready', flush=True)
            break
    {then}
asyncio.run(main())
"""


def test_interrupted() -> None:
    """Ctrl-C while a model answers ends the process at once, as Python does it, without a crash or a hang."""
    code, errors, seconds = run(ASK.format(then="await backend.complete(request)"), interrupt=True)
    assert errors.rstrip().endswith("KeyboardInterrupt"), errors
    assert code in (1, 130, -signal.SIGINT)
    assert seconds < 8


AGAIN = "asyncio.create_task(backend.complete(request)); await asyncio.sleep(0.3)"


@pytest.mark.parametrize("then", ["pass", "backend.unload()", AGAIN, "sys.exit(0)"])
def test_exit(then: str) -> None:
    """A process ends by itself with a model loaded, unloaded or answering, and llama.cpp has said nothing on stderr."""
    code, errors, seconds = run(ASK.format(then=then))
    assert (code, errors) == (0, "")
    assert seconds < 8
