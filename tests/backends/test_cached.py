"""The cache: asked once, kept whole, shared while under way, and never in the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.agent import ModelAgent
from motet.backend import Backend, Card, Knowing, Price, estimate_tokens
from motet.backends.cached import Cached, Memory, Store
from motet.backends.scripted import Scripted
from motet.budget import Budget
from motet.errors import BackendError, MotetError, UsageError
from motet.message import Delta, Message, Reply, Request, Token, ToolCall, Usage, abstain
from motet.perform import perform
from motet.testing import check_backend
from motet.trace import CallStarted

RICH = Reply(
    "Zürich 🌍\n",
    agent="a",
    id="r1",
    finish="tool_calls",
    sources=("r0",),
    tool_calls=(ToolCall("1", "add", '{"a": 1}'),),
    reasoning="hm",
    logprobs=(Token("Zü", -0.5, (("Zü", -0.5), ("?", -1.0))),),
    usage=Usage(1, 10, 2, 3, 1, 0.25, 1.5),
    reported=Usage(1, -1),
    model="m-1",
)


def asking(text: str = "hi", *, draw: str = "", seed: int = 0) -> Request:
    return Request("scripted", (Message("user", text),), draw=draw, seed=seed)


class Gate:
    """A backend that replies when its gate is opened, in three pieces, and counts what befalls it."""

    name = "gate"
    card = Card(local=True)

    def __init__(self, error: BackendError | None = None) -> None:
        self.open = asyncio.Event()
        self.error = error
        self.calls = self.cancelled = 0

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            await asyncio.sleep(0.01)  # hanging up takes its time
            raise
        if self.error:
            raise self.error
        return Reply("one two three", usage=Usage(1, 6, output=3))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield Delta(text="one ", reasoning="first")
        reply = await self.complete(request)
        yield Delta(text="two ")
        yield Delta(text="three")
        yield Delta(reply=reply)

    def count(self, text: str) -> int:
        return estimate_tokens(text)


async def read(stream: AsyncIterator[Delta]) -> tuple[list[str], Reply]:
    """The pieces of a stream, and the reply it ends with."""
    deltas = [delta async for delta in stream]
    assert deltas[-1].reply is not None
    return [delta.text for delta in deltas if delta.text], deltas[-1].reply


@pytest.fixture
def store() -> Store:
    return Memory()


# ---- what is kept


async def test_a_reply_is_asked_for_once(store: Store) -> None:
    """The second time there is no call: the same words, and a usage that says what was saved."""
    model = Scripted("hello", card=Card(price=Price(input=1e6)))
    cached = Cached(model, store)
    first, second = await cached.complete(asking()), await cached.complete(asking())
    assert len(model.requests) == 1
    assert (first.text, first.usage.calls, first.usage.saved_calls) == ("hello", 1, 0)
    assert second.text == "hello"
    assert second.usage == Usage(saved_calls=1, saved_usd=first.usage.input)
    assert isinstance(cached, Backend)
    assert isinstance(cached, Knowing)
    assert (cached.name, cached.card, cached.count("abcd")) == (model.name, model.card, model.count("abcd"))


async def test_other_content_draws_and_seeds_are_other_calls(store: Store) -> None:
    """What differs in its key is called, whatever else is the same."""
    model = Scripted("hello")
    for request in (asking(), asking("ho"), asking(draw="1"), asking(seed=1)):
        await Cached(model, store).complete(request)
    assert len(model.requests) == 4


@pytest.mark.parametrize("said", [Reply("half", finish="length"), Reply(" "), abstain(), BackendError("server", "no")])
async def test_what_is_not_a_whole_usable_reply_is_not_kept(said: Reply | BackendError, store: Store) -> None:
    """A reply that is cut or empty, an abstention and an error are had anew each time, whole and streamed."""
    model = Scripted([said, said, "better"])
    cached = Cached(model, store)
    for _ in range(2):
        assert cached.lookup(asking()) is None
        with nullcontext() if isinstance(said, Reply) else pytest.raises(BackendError, match="server: no"):
            assert not (await cached.complete(asking())).usable
    assert (await read(cached.stream(asking())))[1].text == "better"
    assert len(model.requests) == 3
    assert cached.lookup(asking()) is not None


async def test_usage_that_makes_no_sense_is_kept_corrected(store: Store) -> None:
    """What is kept is counted and priced as a run counts, so that what a hit saves is right."""
    model = Scripted([Reply("hello", usage=Usage(1, -5, output=2))], card=Card(price=Price(input=1e6)))
    cached = Cached(model, store)
    assert (await cached.complete(asking())).usage.input == -5  # the run that pays sees what was reported
    known = cached.lookup(asking())
    assert known is not None
    assert known.usage.input == known.usage.usd == 5
    assert known.reported == Usage(1, -5, output=2)


async def test_it_keeps_the_contract_of_backends(store: Store) -> None:
    """The checks that every backend passes, for a miss and for a hit."""
    await check_backend(Cached(Scripted("hello there"), store))


# ---- in runs


async def test_a_hit_in_a_run_reserves_nothing_and_is_counted_as_saved(store: Store) -> None:
    """With the reply known, a purse with nothing in it gets the answer, and the saved call and dollars are told."""
    model = Scripted("hello", card=Card(price=Price(input=1000.0, output=1000.0)))
    agent = ModelAgent(Cached(model, store), "a")
    paid = await perform(agent, "hi", budget=Budget(usd=10))
    free = await perform(agent, "hi", budget=Budget(calls=0, tokens=0, usd=0))
    assert free.text == paid.text == "hello"
    assert paid.usage.usd > 0
    assert (free.usage.calls, free.usage.tokens, free.usage.usd) == (0, 0, 0)
    assert (free.usage.saved_calls, free.usage.saved_usd) == (1, paid.usage.usd)
    assert not [event for event in free.trace if isinstance(event, CallStarted)]
    assert free.checked().id == paid.checked().id


@pytest.mark.parametrize("stream", [False, True])
async def test_runs_at_the_same_time_share_one_call_and_pay_it_once(stream: bool) -> None:
    """Two questions asked at once, with a wrapper each around one store: one call, one pays, one has it saved."""
    model = Scripted("hello there", delay=0.02, card=Card(price=Price(input=1000.0)))
    shared = Memory()
    budgets = [Budget(calls=1, usd=10) for _ in range(2)]
    ask = partial(perform, ModelAgent(model, "a"), "hi", wrap=lambda inner: Cached(inner, shared), stream=stream)
    results = await asyncio.gather(*(ask(budget=budget) for budget in budgets))
    assert len(model.requests) == 1
    assert [result.text for result in results] == ["hello there"] * 2
    assert [(r.usage.calls, r.usage.saved_calls) for r in results] == [(1, 0), (0, 1)]
    assert results[1].usage.saved_usd == results[0].usage.usd > 0
    assert [budget.used.calls for budget in budgets] == [1, 0]
    assert [result.warnings for result in results] == [[], []]


# ---- flights


async def test_callers_of_one_key_share_a_flight(store: Store) -> None:
    """Ten callers at once make one call; one reply is paid for, nine are saved."""
    gate = Gate()
    tasks = [asyncio.create_task(Cached(gate, store).complete(asking())) for _ in range(10)]
    await asyncio.sleep(0)
    gate.open.set()
    replies = await asyncio.gather(*tasks)
    assert gate.calls == 1
    assert {reply.text for reply in replies} == {"one two three"}
    assert sorted(reply.usage.calls for reply in replies) == [0] * 9 + [1]
    assert sum(reply.usage.saved_calls for reply in replies) == 9


@pytest.mark.parametrize("leaving", [0, 1])
async def test_one_waiter_that_leaves_takes_nobody_along(leaving: int) -> None:
    """Cancelling one of two waiters, the one that started the call or the other, leaves the call to the other."""
    gate = Gate()
    cached = Cached(gate, Memory())
    tasks = [asyncio.create_task(cached.complete(asking())) for _ in range(2)]
    await asyncio.sleep(0.01)
    tasks[leaving].cancel()
    await asyncio.wait([tasks[leaving]])
    assert tasks[leaving].cancelled()
    gate.open.set()
    assert (await tasks[1 - leaving]).text == "one two three"
    assert (gate.calls, gate.cancelled) == (1, 0)
    assert cached.lookup(asking()) is not None


async def test_a_call_that_nobody_waits_for_is_cancelled() -> None:
    """When the last waiter leaves, the call is cancelled and over before the waiter is; who comes later calls anew."""
    gate = Gate()
    cached = Cached(gate, Memory())
    before = asyncio.all_tasks()
    tasks = [asyncio.create_task(cached.complete(asking())) for _ in range(3)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.sleep(0.001)
    assert gate.cancelled == 1
    assert not all(task.done() for task in tasks)  # the last one is waiting for the call to hang up
    late = asyncio.create_task(cached.complete(asking()))  # it must not board a call that is being cancelled
    await asyncio.wait(tasks)
    assert all(task.cancelled() for task in tasks)
    assert asyncio.all_tasks() - before - {late} != set()  # the new call
    gate.open.set()
    assert (await late).text == "one two three"
    assert gate.calls == 2
    assert asyncio.all_tasks() == before


async def test_a_failure_reaches_all_who_wait_and_is_forgotten() -> None:
    """Everybody in a flight gets an error that will not pass; the next caller calls again."""
    gate = Gate(BackendError("auth", "no"))
    cached = Cached(gate, Memory())
    tasks = [asyncio.create_task(cached.complete(asking())) for _ in range(3)]
    await asyncio.sleep(0)
    gate.open.set()
    errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert [getattr(error, "kind", "") for error in errors] == ["auth"] * 3
    assert gate.calls == 1
    gate.error = None
    assert (await cached.complete(asking())).text == "one two three"
    assert gate.calls == 2


@pytest.mark.parametrize("ended", [BackendError("timeout", "late"), Reply("half", finish="length")])
async def test_what_ended_early_for_one_is_tried_again_for_the_others(ended: BackendError | Reply) -> None:
    """A deadline or a purse of whoever made the call ends it for them alone; one more call serves all who joined."""
    model = Scripted([ended, "whole"], delay=0.01)
    cached = Cached(model, Memory())
    first, *others = await asyncio.gather(*(cached.complete(asking()) for _ in range(4)), return_exceptions=True)
    assert first is ended or (isinstance(first, Reply) and first.text == "half")
    assert [reply.text for reply in others if isinstance(reply, Reply)] == ["whole"] * 3
    assert len(model.requests) == 2


@pytest.mark.timeout(10)
async def test_a_call_that_has_just_failed_is_not_joined() -> None:
    """Who comes between the end of a call and its being forgotten makes another one, and does not spin for ever."""
    gate = Gate(BackendError("connect", "no connection"))
    cached = Cached(gate, Memory())
    first = asyncio.create_task(cached.complete(asking()))
    await asyncio.sleep(0.01)
    gate.open.set()  # the call ends in the next turn of the loop, and so does the second one begin
    second = asyncio.create_task(cached.complete(asking()))
    for task in (first, second):
        with pytest.raises(BackendError, match="no connection"):
            await task
    assert gate.calls == 2


def test_event_loops_do_not_wait_for_each_other() -> None:
    """A store used from one event loop after another works, also when a call was cut off by the first one's end."""
    memory = Memory()

    async def cut_off() -> None:
        asyncio.ensure_future(Cached(Gate(), memory).complete(asking()))  # noqa: RUF006  (the loop's end cancels it)
        await asyncio.sleep(0.001)

    async def again() -> str:
        return (await Cached(Scripted("hello"), memory).complete(asking())).text

    asyncio.run(cut_off())
    assert asyncio.run(again()) == "hello"


# ---- streams


async def test_a_miss_streams_and_is_kept_and_a_hit_comes_in_one_piece(store: Store) -> None:
    """Pieces of a first call come as they are made; the whole is kept; the next time it is one piece."""
    gate = Gate()
    cached = Cached(gate, store)
    stream = cached.stream(asking())
    first = await anext(stream)
    assert (first.text, first.reasoning) == ("one ", "first")  # here before the rest was made
    assert cached.lookup(asking()) is None
    gate.open.set()
    pieces, reply = await read(stream)
    assert pieces == ["two ", "three"]
    assert reply.usage.calls == 1
    assert await read(cached.stream(asking())) == (
        ["one two three"],
        Reply("one two three", usage=Usage(saved_calls=1)),
    )
    assert gate.calls == 1


async def test_streams_and_whole_calls_share_flights() -> None:
    """Who joins a streamed call sees every piece or gets the whole; who streams a whole call gets one piece."""
    for begins_streaming in (True, False):
        gate = Gate()
        cached = Cached(gate, Memory())

        async def streamed(cached: Cached = cached) -> list[str]:
            return (await read(cached.stream(asking())))[0]

        async def whole(cached: Cached = cached) -> list[str]:
            return [(await cached.complete(asking())).text]

        works = [streamed, whole, streamed] if begins_streaming else [whole, streamed, whole]
        tasks = []
        for work in works:
            tasks.append(asyncio.create_task(work()))
            await asyncio.sleep(0.001)
        gate.open.set()
        pieces = ["one ", "two ", "three"] if begins_streaming else ["one two three"]
        assert await asyncio.gather(*tasks) == [pieces if work is streamed else ["one two three"] for work in works]
        assert gate.calls == 1


async def test_a_stream_that_is_left_is_cancelled_unless_others_read_it() -> None:
    """Closing one of two readers leaves the call running; closing the last hangs up."""
    gate = Gate()
    cached = Cached(gate, Memory())
    before = asyncio.all_tasks()
    readers = [cached.stream(asking()) for _ in range(2)]
    for reader in readers:
        await anext(reader)
    await asyncio.sleep(0.001)
    await readers[0].aclose()  # type: ignore[attr-defined]
    assert gate.cancelled == 0
    await readers[1].aclose()  # type: ignore[attr-defined]
    assert gate.cancelled == 1
    assert asyncio.all_tasks() == before


async def test_a_cut_stream_is_never_kept() -> None:
    """A stream that fails, or ends without a reply, is an error for all its readers, and nothing is kept."""

    class Cut(Gate):
        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            yield Delta(text="The answer is")
            if self.error:
                raise self.error

    for backend, words in ((Cut(), "ended without a reply"), (Cut(BackendError("cut", "reset")), "reset")):
        cached = Cached(backend, Memory())
        results = await asyncio.gather(*(read(cached.stream(asking())) for _ in range(2)), return_exceptions=True)
        assert all(isinstance(result, BackendError) and result.kind == "cut" for result in results)
        assert all(words in str(result) for result in results)
        assert cached.lookup(asking()) is None


# ---- memory


@given(
    size=st.integers(1, 4),
    steps=st.lists(st.tuples(st.booleans(), st.sampled_from("abcdef")), max_size=40),
)
def test_memory_keeps_the_replies_used_last(size: int, steps: list[tuple[bool, str]]) -> None:
    """After any puts and gets, memory holds exactly the `size` keys that were used last."""
    memory, recent = Memory(size), list[str]()
    for put, key in steps:
        if put:
            memory.put(key, Reply(key))
        assert memory.get(key) == (Reply(key) if put or key in recent else None)
        if put or key in recent:
            recent = [*(other for other in recent if other != key), key][-size:]
    assert [key for key in "abcdef" if memory.get(key)] == sorted(recent)
    assert len(memory) == len(recent)


def test_a_memory_of_nothing_is_refused() -> None:
    """A size below one is an error that says what would do."""
    with pytest.raises(UsageError, match="0 replies makes no sense: give 1 or more"):
        Memory(0)


# ---- when it can't be kept


async def test_a_reply_that_cant_be_kept_is_given_with_a_warning() -> None:
    """When a store is full the paid reply is not lost: it is given, and a warning says why."""

    class Full(Memory):
        def put(self, key: str, reply: Reply) -> None:
            raise MotetError("there is no room")

    cached = Cached(Scripted("hello"), Full())
    with pytest.warns(RuntimeWarning, match="a reply of scripted was not kept: there is no room"):
        reply = await cached.complete(asking())
    assert reply.text == "hello"
    assert cached.lookup(asking()) is None
