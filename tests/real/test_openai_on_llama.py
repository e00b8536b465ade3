"""The `openai` backend against a real server over real sockets: llama.cpp's own endpoint, on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import msgspec
import pytest
import pytest_asyncio

from motet.backend import Backend
from motet.backends.llama import Llama
from motet.backends.llama_server import Address
from motet.backends.presets import openai_backend
from motet.errors import BackendError
from motet.message import Message, Request, Sampling
from motet.testing import check_backend

pytestmark = pytest.mark.real

LOCAL = Llama("smollm2-135m", "local", context=512, parallel=2)
PERSON = '{"type":"json_schema","json_schema":{"name":"p","schema":{"type":"object","properties":{"age":{"type":"integer","maximum":99}},"required":["age"],"additionalProperties":false}}}'  # noqa: E501


@pytest_asyncio.fixture
async def address() -> Address:
    """Where the model listens."""
    return await LOCAL.address()


@pytest_asyncio.fixture
async def remote(address: Address) -> AsyncIterator[Backend]:
    """The model as an endpoint."""
    from motet.backends import session

    yield openai_backend("smollm2", "llama.cpp", base_url=address.url, api_key=address.key, retries=0, name="local")
    await session.close()


@pytest.fixture(scope="module", autouse=True)
def unloaded() -> object:
    """The model is let go of after these tests."""
    yield
    LOCAL.unload()


def chat(text: str, tokens: int = 12, **sampling: object) -> Request:
    """One question, answered greedily unless said otherwise."""
    given = {"temperature": 0.0, "max_tokens": tokens, **sampling}
    return Request("local", (Message("user", text),), sampling=Sampling(**given))  # type: ignore[arg-type]


async def test_contract(remote: Backend) -> None:
    """It completes and streams as a backend has to, in chats and as completions."""
    await check_backend(remote, chat("What is the capital of France?"))
    await check_backend(remote, msgspec.structs.replace(chat("x"), messages=(), prompt="Q: 2 + 2?\nA:"))
