"""Fallbacks between endpoints, and the whole backend that presets make."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest
from faultserver import ANSWER, FaultServer

from motet.agent import ModelAgent
from motet.backend import FREE, HOLD, Backend, Card, Price, checked
from motet.backends.breaker import Breaker
from motet.backends.fallback import Fallback
from motet.backends.function import Function
from motet.backends.limited import Limited, Limiter
from motet.backends.openai import OpenAI
from motet.backends.presets import PRESETS, openai_backend
from motet.backends.retried import Retried
from motet.backends.scripted import Scripted
from motet.budget import Budget, Cost
from motet.clock import run_virtual
from motet.errors import BackendError, ConfigError, Kind
from motet.message import Delta, Message, Reply, Request, Usage
from motet.perform import perform

ASK = Request("m", messages=(Message("user", "What is 2 + 2?"),))


async def whole(backend: Backend) -> Reply:
    """The whole reply."""
    return await backend.complete(ASK)


async def streamed(backend: Backend) -> Reply:
    """The reply at the end of a stream."""
    last: Reply | None = None
    async for delta in backend.stream(ASK):
        last = delta.reply
    assert last is not None
    return last


async def listen(backend: Backend, heard: list[Delta]) -> None:
    """Note each piece of a stream as it comes."""
    async for delta in backend.stream(ASK):
        heard.append(delta)


both = pytest.mark.parametrize("ask", [whole, streamed])
Ask = Callable[[Backend], "asyncio.Future[Reply]"]


def broken(kind: Kind, name: str = "broken") -> Scripted:
    """A backend that always fails."""
    return Scripted([BackendError(kind, "no")], name=name)


@both
async def test_the_next_endpoint_answers(ask: Ask) -> None:
    """Over real sockets: one endpoint is not there, one fails and fails, the third answers and is named."""
    async with FaultServer() as server:

        def at(model: str, url: str = server.base_url) -> Backend:
            inner = OpenAI(model, base_url=url, key_required=False)
            return Retried(inner, attempts=2, base=0.001)

        reply = await ask(Fallback((at("gone", "http://127.0.0.1:9/v1"), at("500"), at("good"))))
        assert (reply.text, reply.model, reply.usage.calls, server.requests) == (ANSWER, "served", 5, 3)


@both
@pytest.mark.parametrize("kind", ["auth", "quota", "rate_limit", "not_found", "circuit_open", "malformed", "cut"])
async def test_the_endpoints_trouble_moves_on(ask: Ask, kind: Kind) -> None:
    """Deadly and passing kinds ask the next one, which is named where upstream names nothing."""
    reply = await ask(Fallback((broken(kind), Scripted("yes", name="spare"))))
    assert (reply.text, reply.model) == ("yes", "spare")


@both
@pytest.mark.parametrize("kind", ["bad_request", "context_length", "content_filter", "too_large"])
async def test_the_requests_trouble_does_not(ask: Ask, kind: Kind) -> None:
    """What is wrong with the request is told at once."""
    spare = Scripted("yes")
    with pytest.raises(BackendError) as caught:
        await ask(Fallback((broken(kind), spare)))
    assert (caught.value.kind, spare.requests) == (kind, [])


@both
async def test_when_all_fail_all_is_told(ask: Ask) -> None:
    """The last error, with the attempts at every endpoint, each under its name."""
    fallback = Fallback((broken("connect", "a"), broken("auth", "b"), broken("server", "c")))
    with pytest.raises(BackendError, match="c: no") as caught:
        await ask(fallback)
    assert caught.value.kind == "server"
    assert [(attempt.kind, attempt.text) for attempt in caught.value.attempts] == [
        ("connect", "a: no"),
        ("auth", "b: no"),
        ("server", "c: no"),
    ]


async def test_a_stream_that_has_begun_is_not_taken_up_elsewhere() -> None:
    """After the first piece, no other endpoint adds its own words."""
    async with FaultServer() as server:
        first = OpenAI("reset", base_url=server.base_url, key_required=False)
        spare = Scripted("other words")
        heard: list[Delta] = []
        with pytest.raises(BackendError) as caught:
            await listen(Fallback((first, spare)), heard)
        assert ([delta.text for delta in heard], caught.value.kind, spare.requests) == (["Four"], "cut", [])


@both
async def test_another_endpoint_is_another_call(ask: Ask) -> None:
    """The budget is asked before the next endpoint is; an open breaker has made no call and costs none."""
    budget = Budget(calls=1)
    hold = await budget.reserve(Cost())
    token = HOLD.set(hold)
    spare = Scripted("yes")
    with pytest.raises(BackendError, match="no"):
        await ask(Fallback((broken("connect"), spare)))
    assert spare.requests == []
    reply = await ask(Fallback((broken("circuit_open"), spare)))
    HOLD.reset(token)
    assert (reply.usage.calls, hold.cost.calls) == (1, 1)


async def test_the_price_is_that_of_who_answered() -> None:
    """A dear spare that was not needed does not make a cheap answer dear; the card promises the worst."""
    usage = Usage(1, 12, output=9)
    cheap = Scripted(lambda _: Reply("4", usage=usage), card=Card(price=Price(1, 2), context=100))
    dear = Scripted(lambda _: Reply("4", usage=usage), card=Card(price=Price(10, 20), context=50, tools=True))
    fallback = Fallback((cheap, dear))
    assert (fallback.card.price, fallback.card.context, fallback.card.tools) == (Price(10, 20, 10), 50, False)
    reply, _ = checked(fallback, ASK, await fallback.complete(ASK), 0.1)
    assert reply.usage.usd == pytest.approx(30e-6)
    spare = Fallback((broken("server"), dear))
    reply, _ = checked(spare, ASK, await spare.complete(ASK), 0.1)
    assert reply.usage.usd == pytest.approx(300e-6)


async def test_wrong_usage_is_counted_at_the_price_of_who_answered() -> None:
    """Our own count replaces a missing one before the price is forgotten; the claim is kept."""
    cheap = Scripted(lambda _: Reply("four", usage=Usage(1, -3)), card=Card(price=Price(1, 2)))
    reply = await Fallback((cheap, Scripted("yes", card=Card(price=Price(1000, 1000))))).complete(ASK)
    assert reply.reported == Usage(1, -3)
    assert 0 < reply.usage.usd < 50e-6


@pytest.mark.parametrize(
    "free",
    [Scripted("yes", card=Card(price=FREE, local=True)), Function(lambda _: "yes", "f")],
    ids=["local", "function"],
)
async def test_what_is_free_stays_free_beside_what_is_not(free: Backend) -> None:
    """A reply that cost nothing is not charged at the price of the model that was not asked, nor doubted."""
    dear = Scripted("no", card=Card(price=Price(1e6, 1e6)))
    result = await perform(ModelAgent(Fallback((free, dear)), "a"), "q", budget=Budget(usd=1e9))
    assert (result.text, result.usage.usd, result.warnings) == ("yes", 0.0, [])
    result = await perform(ModelAgent(Fallback((dear, free)), "a"), "q", budget=Budget(usd=1e9))
    assert (result.text, result.usage.usd > 1) == ("no", True)


def test_the_deadline_is_on_the_loops_clock() -> None:
    """In virtual time, which begins at 0, there is time for the next endpoint until the deadline, and none after it."""

    async def asked(deadline: float) -> str:
        slow = Scripted([BackendError("server", "no")], name="slow", delay=10)
        request = msgspec.structs.replace(ASK, deadline=deadline)
        return (await Fallback((slow, Scripted("yes"))).complete(request)).text

    assert run_virtual(asked(100)) == "yes"
    with pytest.raises(BackendError, match="slow: no"):
        run_virtual(asked(10))


@both
async def test_only_what_was_sent_is_counted(ask: Ask) -> None:
    """An open breaker in front is an attempt that is told, and no call."""
    with pytest.raises(BackendError) as caught:
        await ask(Fallback((broken("circuit_open"), broken("server"))))
    assert (caught.value.calls, len(caught.value.attempts)) == (1, 2)


def test_no_backend_makes_no_sense() -> None:
    """Is refused when the fallback is made."""
    with pytest.raises(ConfigError, match="at least one"):
        Fallback(())


# ---- presets


@both
async def test_a_preset_makes_a_whole_backend(ask: Ask) -> None:
    """Retried, limited, over the wire: a flaky endpoint answers."""
    async with FaultServer() as server:
        backend = openai_backend("500>good", base_url=server.base_url, name="mine")
        assert isinstance(backend, Retried)
        reply = await ask(backend)
        assert (backend.name, reply.text, reply.usage.calls) == ("mine", ANSWER, 2)


async def test_every_preset_loads_without_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making one needs nothing; calling one that needs a key says which variable to set."""
    for name, preset in PRESETS.items():
        monkeypatch.delenv(preset.key_variable or "UNSET", raising=False)
        backend = openai_backend("m", name, base_url=preset.base_url or "http://127.0.0.1:9/v1")
        assert backend.card.price is None or backend.card.price == Price() or preset.provider
        if preset.key_required:
            with pytest.raises(BackendError, match=f"set {preset.key_variable}") as caught:
                await backend.complete(ASK)
            assert caught.value.kind == "auth"


def test_one_endpoint_shares_its_places_and_its_breaker() -> None:
    """Two agents on one model share both; another model shares the places; another key shares nothing."""

    def parts(model: str, **more: object) -> tuple[object, Breaker | None]:
        backend = openai_backend(model, "vllm", **more)  # type: ignore[arg-type]
        assert isinstance(backend, Retried)
        assert isinstance(backend.backend, Limited)
        return backend.backend.limiter, backend.breaker

    limiter, breaker = parts("a")
    assert parts("a", extra={"top_k": 1}, name="other") == (limiter, breaker)
    other_limiter, other_breaker = parts("b")
    assert other_limiter is limiter
    assert other_breaker is not breaker
    keyed = parts("a", api_key="sk-other-0123456789")
    assert keyed[0] is not limiter
    assert keyed[1] is not breaker
    assert isinstance(limiter, Limiter)
    assert limiter.places == 256
    assert parts("c", max_concurrency=2)[0] is limiter
    assert parts("d", max_concurrency=5)[0] is limiter
    assert limiter.places == 2  # the endpoint has no more, whoever asks


def test_what_a_preset_says_can_be_said_otherwise() -> None:
    """URL, price, context and key variable; a server on this machine costs nothing unless it has a price."""
    backend = openai_backend("m", "ollama", base_url="http://gpu.example:11434/v1", price=Price(second=0.01))
    assert (backend.card.local, backend.card.price) == (False, Price(second=0.01))
    assert openai_backend("m", base_url="http://localhost:1234/v1", context=99).card.context == 99
    assert openai_backend("m", base_url="http://localhost:1234/v1").card.price == Price()
    assert openai_backend("m", base_url="https://host.example/v1").card.price is None


@pytest.mark.parametrize(
    ("preset", "words"), [("opnai", "no preset 'opnai'; there are anthropic"), ("compatible", "URL")]
)
def test_presets_that_are_none(preset: str, words: str) -> None:
    """One clear line."""
    with pytest.raises(ConfigError, match=words):
        openai_backend("m", preset)


async def test_a_named_variable_is_a_needed_key() -> None:
    """Who names a variable for an endpoint that takes any caller wants it sent."""
    with pytest.raises(BackendError, match="set MOTET_TEST_KEY"):
        await openai_backend("m", base_url="http://127.0.0.1:9/v1", key_variable="MOTET_TEST_KEY").complete(ASK)
