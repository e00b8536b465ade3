"""The limiter: never more in flight than places, first come first served, no place lost."""

from __future__ import annotations

import asyncio
import time

import msgspec
import pytest
from faultserver import FaultServer
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.backends.limited import Limited, Limiter
from motet.backends.openai import OpenAI
from motet.backends.scripted import Scripted
from motet.clock import run_virtual
from motet.errors import BackendError, ConfigError
from motet.message import Message, Request

ASK = Request("m", messages=(Message("user", "hi"),))


async def consume(limited: Limited) -> str:
    """The text of a stream."""
    return "".join([delta.text async for delta in limited.stream(ASK)])


async def test_never_more_in_flight_than_places() -> None:
    """Over real sockets, forty whole and streamed calls through two backends that share four places."""
    async with FaultServer(delay=0.02) as server:
        limiter = Limiter(4)
        models = [Limited(OpenAI("good", base_url=server.base_url, key_required=False), limiter) for _ in range(2)]
        calls = [models[n % 2].complete(ASK) if n % 3 else consume(models[n % 2]) for n in range(40)]
        await asyncio.gather(*calls)
        assert (server.requests, server.peak) == (40, 4)


async def test_first_come_first_served() -> None:
    """Calls begin in the order in which they asked."""
    inner = Scripted("yes", delay=0.001)
    limited = Limited(inner, 2)
    asks = [msgspec.structs.replace(ASK, draw=str(n)) for n in range(20)]
    await asyncio.gather(*(limited.complete(ask) for ask in asks))
    assert [request.draw for request in inner.requests] == [ask.draw for ask in asks]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans()), max_size=30), st.integers(1, 3))
def test_no_place_is_lost_in_a_storm_of_cancellations(calls: list[tuple[int, int, bool]], places: int) -> None:
    """Whichever calls are cancelled, waiting or under way, all places are free in the end."""
    limiter = Limiter(places)

    async def storm() -> None:
        tasks = []
        for length, patience, stream in calls:
            limited = Limited(Scripted("a b c", delay=length / 2000), limiter)
            work = consume(limited) if stream else limited.complete(ASK)
            tasks.append(asyncio.ensure_future(asyncio.wait_for(work, 0.0005 + patience / 2000)))
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(1):
            held = [await limiter.place() for _ in range(places)]
        assert held[0].locked()

    asyncio.run(storm())


async def test_a_failed_call_gives_its_place_back() -> None:
    """A place is not lost to an error."""
    limited = Limited(Scripted([BackendError("server", "no"), "yes"]), 1)
    with pytest.raises(BackendError):
        await limited.complete(ASK)
    assert (await limited.complete(ASK)).text == "yes"


async def test_a_closed_stream_gives_its_place_back() -> None:
    """A place is held for as long as a stream is read, and not longer."""
    limited = Limited(Scripted("one two three"), 1)
    stream = limited.stream(ASK)
    await anext(stream)
    waiting = asyncio.ensure_future(limited.complete(ASK))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    await stream.aclose()  # type: ignore[attr-defined]
    assert (await waiting).text == "one two three"


async def test_waiting_ends_at_the_deadline() -> None:
    """Who waits in vain learns so in time, and takes no place."""
    limiter = Limiter(1)
    place = await limiter.place()
    began = time.monotonic()
    with pytest.raises(BackendError, match="one of 1 places") as caught:
        await Limited(Scripted("yes"), limiter).complete(msgspec.structs.replace(ASK, deadline=began + 0.05))
    assert caught.value.kind == "timeout"
    assert 0.04 < time.monotonic() - began < 2
    place.release()
    await limiter.place()


def test_each_loop_has_its_own_places() -> None:
    """A limiter made once serves one event loop after another, full queues and all."""
    limited = Limited(Scripted("yes", delay=0.001), 1)

    async def several() -> int:
        return len(await asyncio.gather(*(limited.complete(ASK) for _ in range(5))))

    assert [asyncio.run(several()) for _ in range(3)] == [5, 5, 5]


def test_no_place_makes_no_sense() -> None:
    """Is refused when the limiter is made."""
    with pytest.raises(ConfigError, match="max_concurrency"):
        Limited(Scripted("yes"), 0)


def test_the_deadline_is_on_the_loops_clock() -> None:
    """In virtual time, which begins at 0, a call waits its turn until its deadline and not longer."""

    async def waited(deadline: float) -> tuple[str, float]:
        limited = Limited(Scripted("yes", delay=10), 1)
        first = asyncio.ensure_future(limited.complete(ASK))
        await asyncio.sleep(0)
        try:
            text = (await limited.complete(msgspec.structs.replace(ASK, deadline=deadline))).text
        except BackendError as error:
            text = f"{error.kind}, {error.calls} calls"
        now = asyncio.get_running_loop().time()
        await first
        return text, now

    assert run_virtual(waited(100)) == ("yes", 20.0)
    assert run_virtual(waited(5)) == ("timeout, 0 calls", 5.0)


async def test_narrower_places_hold_for_new_calls() -> None:
    """The smaller number counts; a larger one changes nothing."""
    limiter = Limiter(3)
    under_way = await limiter.place()
    limiter.narrow(1)
    limiter.narrow(2)
    assert limiter.places == 1
    place = await limiter.place()
    assert place.locked()
    under_way.release()
    assert place.locked()
    with pytest.raises(ConfigError, match="max_concurrency"):
        limiter.narrow(0)
