"""The `openai` backend against a real server over real sockets: llama.cpp's own endpoint, on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest
import pytest_asyncio

from motet.backend import Backend
from motet.backends import session
from motet.backends.llama import Llama
from motet.backends.llama_server import Address
from motet.backends.presets import openai_backend
from motet.errors import BackendError
from motet.message import Message, Request, Sampling
from motet.testing import check_backend

pytestmark = pytest.mark.real

LOCAL = Llama("smollm2-135m", "local", context=512, parallel=2)
SHOTS = "Q: What is the capital of France?\nA: Paris\nQ: What is the capital of Spain?\nA:"
PERSON = """{"type": "json_schema", "json_schema": {"name": "p", "schema": {
    "type": "object", "properties": {"age": {"type": "integer", "maximum": 99}}, "required": ["age"],
    "additionalProperties": false}}}"""


@pytest.fixture(scope="module", autouse=True)
def unloaded() -> Iterator[None]:
    """The model is let go of after these tests."""
    yield
    LOCAL.unload()


@pytest_asyncio.fixture
async def address() -> Address:
    """Where the model listens."""
    return await LOCAL.address()


@pytest_asyncio.fixture
async def remote(address: Address) -> AsyncIterator[Backend]:
    """The model as an endpoint."""
    yield endpoint(address, address.key.reveal())
    await session.aclose()


def endpoint(address: Address, key: str) -> Backend:
    """A backend for that endpoint, without retries."""
    return openai_backend("smollm2", "llama.cpp", base_url=address.url, api_key=key, retries=0, name="local")


def chat(text: str, tokens: int = 12, **sampling: object) -> Request:
    """One question, answered greedily unless said otherwise."""
    given = {"temperature": 0.0, "max_tokens": tokens, **sampling}
    return Request("local", (Message("user", text),), sampling=Sampling(**given))  # type: ignore[arg-type]


def completion(prompt: str, tokens: int = 12, **sampling: object) -> Request:
    """A plain prompt, likewise."""
    return msgspec.structs.replace(chat("", tokens, **sampling), messages=(), prompt=prompt)


async def test_contract(remote: Backend) -> None:
    """It completes and streams as a backend has to, in chats and as completions."""
    await check_backend(remote, chat("What is the capital of France?"))
    await check_backend(remote, completion(SHOTS))


async def test_same_as_in_process(remote: Backend) -> None:
    """Over the wire or in the process, the same request has the same reply: words, end, tokens, usage and id."""
    for request in (
        chat("Name a colour.", 8),
        chat("Name an animal.", 8, temperature=1.5),  # the seed travels
        completion(SHOTS, stop=("\n",)),
        completion("One, two,", 5, grammar="root ::= [a-z, ]+"),
    ):
        near, far = await LOCAL.complete(request), await remote.complete(request)
        assert (far.text, far.finish, far.id, far.model) == (near.text, near.finish, near.id, near.model)
        assert (far.usage.input, far.usage.output) == (near.usage.input, near.usage.output)


async def test_stop(remote: Backend) -> None:
    """A stop string ends the reply and is no part of it, streamed or not."""
    request = completion(SHOTS, 20, stop=("\n",))
    reply = await remote.complete(request)
    streamed = [delta async for delta in remote.stream(request)]
    assert reply.finish == "stop"
    assert "\n" not in reply.text
    assert "".join(delta.text for delta in streamed) == reply.text
    assert len(streamed) > 1


async def test_seed(remote: Backend) -> None:
    """Another draw is another reply."""
    request = completion("My favourite animal is the", temperature=1.5)
    draws = [await remote.complete(msgspec.structs.replace(request, draw=str(n))) for n in range(3)]
    assert len({reply.text for reply in draws}) == 3


async def test_logprobs(remote: Backend) -> None:
    """Log-probabilities come for each token, with alternatives, in chats and in completions."""
    for request in (chat("What is 2 + 2?", 5, logprobs=3), completion("2 + 2 =", 5, logprobs=3)):
        reply = await remote.complete(request)
        assert "".join(token.text for token in reply.logprobs) == reply.text
        assert {len(token.top) for token in reply.logprobs} == {3}
        assert all(token.logprob <= 0 for token in reply.logprobs)


async def test_json_schema(remote: Backend) -> None:
    """A JSON schema binds the reply."""
    reply = await remote.complete(chat("Describe Anna, who is 31, as JSON.", 40, format=PERSON))
    assert set(msgspec.json.decode(reply.text, type=dict[str, int])) == {"age"}


async def test_usage(remote: Backend) -> None:
    """Usage is what was used, the cached prefix included."""
    first = await remote.complete(completion(SHOTS * 3, 4, grammar="root ::= [a-z]+"))
    again = await remote.complete(completion(SHOTS * 3, 4, grammar="root ::= [a-z]+"))
    assert first.usage.input == again.usage.input == LOCAL.tokens(SHOTS * 3)
    assert first.usage.output == again.usage.output == 4
    assert again.usage.cached > again.usage.input / 2


async def test_errors(remote: Backend, address: Address) -> None:
    """Too long a prompt, a wrong grammar and a wrong key are told apart."""
    wrong = [
        (remote, chat("one " * 600), "context_length"),
        (remote, chat("x", grammar="root ::= nowhere"), "bad_request"),
        (endpoint(address, "wrong-key-0123456789"), chat("x"), "auth"),
    ]
    for backend, request, kind in wrong:
        for call in (backend.complete(request), anext(aiter(backend.stream(request)))):
            with pytest.raises(BackendError) as caught:
                await call
            assert caught.value.kind == kind


async def test_stays_loaded(remote: Backend) -> None:
    """A model that was asked for its address is not let go of when idle, for it can't see who calls it there."""
    impatient = Llama("smollm2-135m", context=256, parallel=1, idle_seconds=0.05)
    await impatient.address()
    await impatient.complete(chat("x", 1))
    await asyncio.sleep(0.3)
    assert impatient.loaded
    assert impatient.unload()
