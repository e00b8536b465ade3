"""The retry loop and the breaker: when they try again, how long they wait, when they stop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import msgspec
import pytest
from faultserver import ANSWER, FaultServer
from hypothesis import given
from hypothesis import strategies as st

from motet.agent import ModelAgent
from motet.backend import HOLD, Backend, Card
from motet.backends.breaker import Breaker
from motet.backends.openai import Clocks, OpenAI
from motet.backends.retried import Retried
from motet.backends.scripted import Scripted
from motet.budget import Budget, Cost
from motet.clock import run_virtual
from motet.errors import BackendError, ConfigError, Kind
from motet.message import Delta, Message, Reply, Request
from motet.perform import perform

ASK = Request("m", messages=(Message("user", "What is 2 + 2?"),))
CLOCKS = Clocks(first_byte=0.5, idle=0.5)


@dataclass
class Naps:
    """Stands in for sleeping: notes how long, and lets others run."""

    taken: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        await asyncio.sleep(0)


async def whole(backend: Backend, request: Request = ASK) -> Reply:
    """The whole reply."""
    return await backend.complete(request)


async def streamed(backend: Backend, request: Request = ASK) -> Reply:
    """The reply at the end of a stream."""
    last: Reply | None = None
    async for delta in backend.stream(request):
        last = delta.reply
    assert last is not None
    return last


async def listen(backend: Backend, heard: list[Delta]) -> None:
    """Note each piece of a stream as it comes."""
    async for delta in backend.stream(ASK):
        heard.append(delta)


both = pytest.mark.parametrize("ask", [whole, streamed])
Ask = Callable[..., "asyncio.Future[Reply]"]


def failing(*kinds: Kind) -> Scripted:
    """A backend that fails in these ways, one after the other, and then answers."""
    return Scripted([*(BackendError(kind, f"no {n}", status=500) for n, kind in enumerate(kinds)), "yes"])


@both
async def test_it_tries_again_until_it_works(ask: Ask) -> None:
    """Over real sockets: two failures, then the answer; every call is counted."""
    async with FaultServer() as server:
        inner = OpenAI("429-after>reset-first>good", base_url=server.base_url, key_required=False, clocks=CLOCKS)
        reply = await ask(Retried(inner, base=0.01))
        assert (reply.text, reply.usage.calls, server.requests) == (ANSWER, 3, 3)


@both
async def test_it_gives_up_with_every_attempt(ask: Ask) -> None:
    """The last error, its status, and what each try met with."""
    naps = Naps()
    inner = failing("server", "timeout", "connect", "cut", "server")
    with pytest.raises(BackendError, match="no 3") as caught:
        await ask(Retried(inner, sleep=naps))
    error = caught.value
    assert (error.kind, error.status, len(inner.requests), len(naps.taken)) == ("cut", 500, 4, 3)
    assert [(attempt.kind, attempt.text) for attempt in error.attempts] == [
        ("server", "no 0"),
        ("timeout", "no 1"),
        ("connect", "no 2"),
        ("cut", "no 3"),
    ]


@both
@pytest.mark.parametrize("kind", ["auth", "quota", "bad_request", "context_length", "content_filter", "too_large"])
async def test_some_failures_are_final(ask: Ask, kind: Kind) -> None:
    """What would fail again is not tried again."""
    inner = failing(kind)
    with pytest.raises(BackendError) as caught:
        await ask(Retried(inner, sleep=Naps()))
    assert (caught.value.kind, len(caught.value.attempts), len(inner.requests)) == (kind, 1, 1)


async def test_the_endpoint_has_the_last_word_on_retrying() -> None:
    """`retry` on the error beats the kind, both ways."""
    never = Scripted([BackendError("server", "no", retry=False), "yes"])
    with pytest.raises(BackendError):
        await Retried(never, sleep=Naps()).complete(ASK)
    again = Scripted([BackendError("bad_request", "hiccup", retry=True), "yes"])
    assert (await Retried(again, sleep=Naps()).complete(ASK)).text == "yes"


async def test_waits_are_jittered_bounded_and_repeat() -> None:
    """Between nothing and base · 2ⁿ, at most the cap; another request waits otherwise, the same one the same."""

    async def naps_of(request: Request) -> list[float]:
        naps = Naps()
        with contextlib.suppress(BackendError):
            await Retried(failing(*["server"] * 6), attempts=6, base=1, cap=5, sleep=naps, breaker=None).complete(
                request
            )
        return naps.taken

    naps = await naps_of(ASK)
    assert all(0 <= nap <= most for nap, most in zip(naps, (1, 2, 4, 5, 5), strict=True))
    assert await naps_of(msgspec.structs.replace(ASK)) == naps
    assert await naps_of(msgspec.structs.replace(ASK, draw="1")) != naps


async def test_retry_after_is_the_least_wait() -> None:
    """What was asked for, plus jitter, so that all who were turned away do not come back at once."""
    naps = Naps()
    inner = Scripted([BackendError("rate_limit", "slow", retry_after=7), "yes"])
    await Retried(inner, base=0.5, sleep=naps).complete(ASK)
    assert 7 <= naps.taken[0] <= 7.5


@both
async def test_no_wait_past_the_deadline(ask: Ask) -> None:
    """A Retry-After that would pass the deadline ends it at once, with the last error."""
    async with FaultServer() as server:
        inner = OpenAI("429-minute>good", base_url=server.base_url, key_required=False)
        began = time.monotonic()
        with pytest.raises(BackendError, match="would pass the deadline") as caught:
            await ask(Retried(inner), msgspec.structs.replace(ASK, deadline=began + 5))
        assert (caught.value.kind, caught.value.status, server.requests) == ("rate_limit", 429, 1)
        assert time.monotonic() - began < 4


async def test_no_wait_for_a_day() -> None:
    """Without a deadline, patience bounds what an endpoint may ask for."""
    inner = Scripted([BackendError("rate_limit", "tomorrow", retry_after=86_400), "yes"])
    with pytest.raises(BackendError, match="86400 s, longer than 120 s"):
        await Retried(inner, sleep=Naps()).complete(ASK)


@both
async def test_each_retry_asks_the_budget(ask: Ask) -> None:
    """A budget of two calls makes two calls, and says what the last of them met with."""
    budget = Budget(calls=2)
    hold = await budget.reserve(Cost())
    token = HOLD.set(hold)
    inner = failing("server", "cut", "server")
    with pytest.raises(BackendError, match="the budget has no call left") as caught:
        await ask(Retried(inner, sleep=Naps()))
    HOLD.reset(token)
    assert (caught.value.kind, len(inner.requests), hold.cost.calls) == ("cut", 2, 2)


async def test_a_stream_that_has_begun_is_not_begun_again() -> None:
    """Nobody hears the same words twice: after the first piece, a failure is a failure."""
    async with FaultServer() as server:
        inner = OpenAI("stall>good", base_url=server.base_url, key_required=False, clocks=CLOCKS)
        heard: list[Delta] = []
        with pytest.raises(BackendError, match="silent") as caught:
            await listen(Retried(inner, base=0.01), heard)
        assert [delta.text for delta in heard] == ["Four"]
        assert (len(caught.value.attempts), server.requests) == (1, 1)


async def test_a_stream_that_says_nothing_is_begun_again() -> None:
    """Before the first piece, a stream is tried again like a whole call."""
    async with FaultServer() as server:
        inner = OpenAI("hang>500>good", base_url=server.base_url, key_required=False, clocks=CLOCKS)
        pieces = [delta async for delta in Retried(inner, base=0.01).stream(ASK)]
        assert "".join(piece.text for piece in pieces) == ANSWER
        assert pieces[-1].reply is not None
        assert pieces[-1].reply.usage.calls == 3


async def test_closing_the_outer_stream_hangs_up() -> None:
    """A wrapper passes a hang-up on at once."""
    async with FaultServer() as server:
        stream = Retried(OpenAI("drip", base_url=server.base_url, key_required=False)).stream(ASK)
        await anext(stream)
        await stream.aclose()  # type: ignore[attr-defined]
        async with asyncio.timeout(3):
            while server.in_flight:  # noqa: ASYNC110 (what is waited for happens in a socket)
                await asyncio.sleep(0.005)
        assert server.hangups == 1


async def test_cancelling_ends_the_waiting() -> None:
    """No try follows a cancellation."""
    inner = failing("server")
    task = asyncio.ensure_future(Retried(inner, base=100, cap=100).complete(ASK))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(inner.requests) == 1


async def test_a_bug_is_not_tried_again() -> None:
    """What is no `BackendError` is raised as it is, and the breaker's probe is not lost."""
    breaker = Breaker(failures=1, cooldown=0)
    breaker.permit().settle(BackendError("server", "no"))
    inner = Scripted([ZeroDivisionError(), "yes"])
    with pytest.raises(ZeroDivisionError):
        await Retried(inner, breaker=breaker).complete(ASK)
    assert (await Retried(inner, breaker=breaker).complete(ASK)).text == "yes"


def test_no_attempt_makes_no_sense() -> None:
    """Is refused when the backend is made."""
    with pytest.raises(ConfigError, match="attempts"):
        Retried(Scripted("yes"), attempts=0)


# ---- the breaker


@dataclass
class Clock:
    """A clock that is set by hand."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def opened(clock: Clock, failures: int = 3) -> Breaker:
    """A breaker that has just opened."""
    breaker = Breaker(failures, window=30, cooldown=15, name="m at here", clock=clock)
    for _ in range(failures):
        breaker.permit().settle(BackendError("server", "down"))
    assert breaker.state == "open"
    return breaker


def test_open_says_why_and_until_when() -> None:
    """No call, and one clear line."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 5
    with pytest.raises(
        BackendError, match=r"m at here failed 3 times in a row \(server: down\); next try in 10 s"
    ) as caught:
        breaker.permit()
    assert (caught.value.kind, caught.value.retry) == ("circuit_open", False)


def test_one_probe_at_a_time() -> None:
    """After the cool-down one call goes through; the others still do not; its success closes the breaker."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 15
    probe = breaker.permit()
    assert breaker.state == "half-open"
    with pytest.raises(BackendError, match="under way"):
        breaker.permit()
    probe.settle()
    assert breaker.state == "closed"
    breaker.permit()


def test_a_failed_probe_opens_again() -> None:
    """And the cool-down starts anew."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 20
    breaker.permit().settle(BackendError("timeout", "still down"))
    clock.now = 34
    with pytest.raises(BackendError, match="still down"):
        breaker.permit()
    clock.now = 35
    breaker.permit()


def test_a_cancelled_probe_is_not_stuck() -> None:
    """A probe that was given back without a verdict makes room for the next one."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 15
    breaker.permit().release()
    breaker.permit().settle()
    assert breaker.state == "closed"


def test_only_failures_in_a_row_within_the_window_count() -> None:
    """Old failures, successes in between and failures that are the request's own do not open it."""
    clock = Clock()
    breaker = Breaker(2, window=10, clock=clock)
    down = BackendError("server", "down")
    breaker.permit().settle(down)
    clock.now = 11
    breaker.permit().settle(down)
    breaker.permit().settle()
    breaker.permit().settle(down)
    breaker.permit().settle(BackendError("bad_request", "too hot"))
    breaker.permit().settle(down)
    breaker.permit().settle(BackendError("rate_limit", "slow"))
    breaker.permit().settle(down)
    assert breaker.state == "closed"
    breaker.permit().settle(down)
    assert breaker.state == "open"


def test_late_news_of_old_calls() -> None:
    """Failures of calls that were under way do not prolong the pause; a success ends it."""
    clock = Clock()
    breaker = Breaker(2, cooldown=15, clock=clock)
    permits = [breaker.permit() for _ in range(4)]
    for permit in permits[:2]:
        permit.settle(BackendError("connect", "down"))
    clock.now = 14
    permits[2].settle(BackendError("connect", "down"))
    clock.now = 15
    assert breaker.state == "half-open"
    permits[3].settle()
    assert breaker.state == "closed"


@given(st.lists(st.sampled_from(["start", "fail", "ok", "cancel", "tick"]), max_size=60))
def test_the_breaker_never_sticks(moves: list[str]) -> None:
    """Whatever happened, once every call is settled and the cool-down is over, a call goes through."""
    clock = Clock()
    breaker = Breaker(2, window=5, cooldown=3, clock=clock)
    under_way = []
    for move in moves:
        if move == "start":
            with contextlib.suppress(BackendError):
                under_way.append(breaker.permit())
        elif move == "tick":
            clock.now += 1
        elif under_way:
            permit = under_way.pop(0)
            if move == "cancel":
                permit.release()
            else:
                permit.settle(BackendError("server", "no") if move == "fail" else None)
    for permit in under_way:
        permit.release()
    clock.now += 3
    breaker.permit()


async def test_the_breaker_spares_a_dead_endpoint() -> None:
    """Over real sockets: after five failures no further call is made; after the pause one probe brings it back."""
    async with FaultServer() as server:
        clock = Clock()
        breaker = Breaker(failures=5, clock=clock)
        inner = OpenAI("500>500>500>500>500>good", base_url=server.base_url, key_required=False)
        retried = Retried(inner, attempts=4, base=0.001, breaker=breaker)
        kinds = []
        for _ in range(3):
            with pytest.raises(BackendError) as caught:
                await retried.complete(ASK)
            kinds.append((caught.value.kind, len(caught.value.attempts)))
        # The second question's own first failure opened it: that failure is what is told.
        assert kinds == [("server", 4), ("server", 1), ("circuit_open", 0)]
        assert server.requests == 5
        clock.now = 15
        assert (await retried.complete(ASK)).text == ANSWER


async def test_our_own_deadline_is_not_the_endpoints_fault() -> None:
    """Short questions to a slow endpoint do not open its breaker."""
    async with FaultServer() as server:
        breaker = Breaker(failures=1)
        retried = Retried(OpenAI("hang", base_url=server.base_url, key_required=False), breaker=breaker)
        with pytest.raises(BackendError, match="deadline passed"):
            await retried.complete(msgspec.structs.replace(ASK, deadline=time.monotonic() + 0.05))
        assert breaker.state == "closed"


@dataclass
class Stuck:
    """A backend whose calls and streams never end."""

    name: str = "stuck"
    card: Card = Card()

    async def complete(self, request: Request) -> Reply:
        await asyncio.sleep(3600)
        return Reply("never")

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield Delta(text="w")
        await asyncio.sleep(3600)

    def count(self, text: str) -> int:
        return len(text)


@both
async def test_a_cancelled_probe_through_the_loop(ask: Ask) -> None:
    """Cancelling the one call that a half-open breaker let through leaves room for the next."""
    clock = Clock()
    breaker = opened(clock)
    clock.now = 15
    task = asyncio.ensure_future(ask(Retried(Stuck(), breaker=breaker)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await Retried(Scripted("yes"), breaker=breaker).complete(ASK)).text == "yes"
    assert breaker.state == "closed"


@given(st.lists(st.sampled_from(["server", "cut", "auth", "rate_limit", "bad_request"]), max_size=6), st.integers(1, 4))
def test_calls_are_what_was_called(kinds: list[Kind], attempts: int) -> None:
    """However it ends, the calls told are the calls made, and never more than were allowed."""
    inner = failing(*kinds)
    try:
        reply = asyncio.run(Retried(inner, attempts=attempts, sleep=Naps(), breaker=None).complete(ASK))
        told = reply.usage.calls
    except BackendError as error:
        told = len(error.attempts)
    assert told == len(inner.requests) <= attempts


@both
def test_deadlines_are_on_the_loops_clock(ask: Ask) -> None:
    """In virtual time, which begins at 0, there is time for another try, and none after the deadline."""

    async def asked(deadline: float) -> Reply:
        return await ask(Retried(failing("server")), msgspec.structs.replace(ASK, deadline=deadline))

    assert run_virtual(asked(100)).text == "yes"
    with pytest.raises(BackendError, match="would pass the deadline"):
        run_virtual(asked(1e-6))


def test_a_run_in_virtual_time_tries_again() -> None:
    """A budget of seconds leaves the seconds for it."""
    agent = ModelAgent(Retried(failing("server")), "a")
    result = run_virtual(perform(agent, "q", budget=Budget(seconds=100)))
    assert (result.text, result.usage.calls) == ("yes", 2)


def test_the_breakers_clock_is_the_loops() -> None:
    """In virtual time its pause passes as fast as any other."""

    async def paused() -> list[str]:
        breaker = Breaker(failures=1, cooldown=15)
        breaker.permit().settle(BackendError("server", "down"))
        states: list[str] = [breaker.state]
        await asyncio.sleep(15)
        return [*states, breaker.state]

    assert run_virtual(paused()) == ["open", "half-open"]


async def test_only_what_was_sent_is_counted() -> None:
    """A breaker that is open makes no call; one that opens after a call leaves that one; a missing key is none."""
    breaker = Breaker(failures=1)
    retried = Retried(failing("server"), sleep=Naps(), breaker=breaker)
    for calls in (1, 0):
        with pytest.raises(BackendError) as caught:
            await retried.complete(ASK)
        assert caught.value.calls == calls
    keyless = Retried(OpenAI("m", key_variable="MOTET_TEST_KEY"))
    with pytest.raises(BackendError, match="no key") as caught:
        await keyless.complete(ASK)
    assert (caught.value.calls, len(caught.value.attempts)) == (0, 1)
