"""Journaled: as a cache, but every call is written down before it is made, and every reply before it is given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest

from motet.agent import ModelAgent
from motet.backend import Backend, Card, Knowing, Price, estimate_tokens
from motet.backends.cached import Cached, Memory
from motet.backends.journaled import Journaled
from motet.backends.retried import Retried
from motet.backends.scripted import Scripted
from motet.budget import Budget
from motet.errors import BackendError, MotetError, UsageError
from motet.journal import Journal
from motet.message import Delta, Message, Reply, Request, Usage, abstain
from motet.perform import perform
from motet.testing import check_backend
from motet.trace import CallStarted


def asking(text: str = "hi", *, draw: str = "") -> Request:
    return Request("scripted", (Message("user", text),), draw=draw)


class Gate:
    """A backend that replies when its gate is opened, in two pieces, and looks into the journal when it is called."""

    name = "gate"
    card = Card(price=Price(input=1e6, output=1e6))

    def __init__(self, journal: Journal) -> None:
        self.open = asyncio.Event()
        self.journal = journal
        self.calls = 0

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        assert request in [call.request for call in self.journal.unfinished()]  # before the call is made
        await self.open.wait()
        return Reply("one two", usage=Usage(1, 6, output=2))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield Delta(text="one ", reasoning="first")
        reply = await self.complete(request)
        yield Delta(text="two")
        yield Delta(reply=reply)

    def count(self, text: str) -> int:
        return estimate_tokens(text)


async def read(stream: AsyncIterator[Delta]) -> tuple[list[str], Reply]:
    """The pieces of a stream, and the reply it ends with."""
    deltas = [delta async for delta in stream]
    assert deltas[-1].reply is not None
    return [delta.text for delta in deltas if delta.text], deltas[-1].reply


async def until(what: partial[bool]) -> None:
    """Wait for something that other threads do."""
    async with asyncio.timeout(10):
        while not what():  # noqa: ASYNC110  (no event tells what is in a file)
            await asyncio.sleep(0.001)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal(path) as made:
        yield made


async def test_a_reply_is_asked_for_once_by_whoever(journal: Journal, path: Path) -> None:
    """The second time, and in the next process, there is no call: the same words, and what was saved."""
    model = Scripted("hello", card=Card(price=Price(input=1e6)))
    backend = Journaled(model, journal, "1")
    first = await backend.complete(asking())
    assert (first.text, first.usage.calls, first.usage.saved_calls) == ("hello", 1, 0)
    with Journal(path) as other:
        for again in (backend, Journaled(model, journal, "1"), Journaled(model, other, "1")):
            assert await again.complete(asking()) == Reply("hello", usage=Usage(saved_calls=1, saved_usd=5.0))
    assert len(model.requests) == 1
    assert journal.spent() == Usage(1, 5, output=2, usd=5.0, seconds=journal.spent().seconds)
    assert isinstance(backend, Backend)
    assert isinstance(backend, Knowing)
    assert (backend.name, backend.card, backend.count("abcd")) == (model.name, model.card, model.count("abcd"))
    assert backend == Journaled(model, journal, "1") != Journaled(model, journal, "2")


async def test_other_content_draws_and_code_are_other_calls(journal: Journal) -> None:
    """What differs in its key, in the backend's name or in the version of the code is called."""
    model, other = Scripted("hello"), Scripted("hello", name="other")
    for backend, code, request in (
        (model, "1", asking()),
        (model, "1", asking("ho")),
        (model, "1", asking(draw="1")),
        (model, "2", asking()),
        (other, "1", asking()),
    ):
        await Journaled(backend, journal, code).complete(request)
    assert len(model.requests) + len(other.requests) == journal.stats().calls == 5


@pytest.mark.parametrize(
    ("said", "state"),
    [
        (Reply("half", finish="length"), "cut"),
        (Reply(" "), "empty"),
        (abstain(), "abstained"),
        (BackendError("server", "no"), "failed/server"),
    ],
)
async def test_what_is_no_usable_reply_is_written_down_and_asked_again(
    said: Reply | BackendError, state: str, journal: Journal
) -> None:
    """A reply that is cut or empty, an abstention and an error are paid, kept, and had anew, whole and streamed."""
    model = Scripted([said, said, "better"])
    backend = Journaled(model, journal)
    for _ in range(2):
        assert backend.lookup(asking()) is None
        with nullcontext() if isinstance(said, Reply) else pytest.raises(BackendError, match="server: no"):
            assert not (await backend.complete(asking())).usable
    assert (await read(backend.stream(asking())))[1].text == "better"
    assert backend.lookup(asking()) is not None
    found = journal.stats()
    assert found.states == {"ok": 1, state: 2}
    assert (found.usage.calls, found.unfinished) == (3, 0)


async def test_it_keeps_the_contract_of_backends(journal: Journal) -> None:
    """The checks that every backend passes, for a miss and for a hit."""
    await check_backend(Journaled(Scripted("hello there"), journal))


async def test_a_call_is_written_down_before_it_is_made(journal: Journal) -> None:
    """While a call is under way its intent is in the journal with its run; then its reply, and it is no longer."""
    journal.open_run("a", "test").close()
    gate = Gate(journal)
    task = asyncio.create_task(Journaled(gate, journal, "1", "a").complete(asking()))
    await until(partial(lambda: gate.calls == 1))
    (call,) = journal.unfinished("a")
    assert (call.request, call.backend, call.code, call.run) == (asking(), "gate", "1", "a")
    gate.open.set()
    await task
    assert journal.unfinished() == []
    assert journal.spent("a").usd == 8


async def test_callers_of_one_key_share_a_call(journal: Journal) -> None:
    """Ten wrappers at once, whole and streaming, make one call; one reply is paid for, nine are saved."""
    gate = Gate(journal)

    async def ask(place: int) -> Reply:
        backend = Journaled(gate, journal)
        return (await read(backend.stream(asking())))[1] if place % 2 else await backend.complete(asking())

    tasks = [asyncio.create_task(ask(place)) for place in range(10)]
    await until(partial(lambda: gate.calls == 1))
    gate.open.set()
    replies = await asyncio.gather(*tasks)
    assert gate.calls == journal.stats().calls == 1
    assert {reply.text for reply in replies} == {"one two"}
    assert sorted(reply.usage.calls for reply in replies) == [0] * 9 + [1]


async def test_a_miss_streams_and_a_hit_comes_in_one_piece(journal: Journal) -> None:
    """Pieces come as they are made; the last one only when the whole is written down."""
    gate = Gate(journal)
    backend = Journaled(gate, journal)
    stream = backend.stream(asking())
    first = await anext(stream)
    assert (first.text, first.reasoning) == ("one ", "first")
    gate.open.set()
    async for delta in stream:
        if delta.reply is not None:
            assert backend.lookup(asking()) is not None
    assert (await read(backend.stream(asking())))[0] == ["one two"]
    assert gate.calls == 1


async def test_a_call_that_is_left_is_written_down_as_such(journal: Journal) -> None:
    """A caller that leaves, whole or streaming, leaves no call unfinished: it is charged with its prompt."""
    gate = Gate(journal)
    backend = Journaled(gate, journal)
    task = asyncio.create_task(backend.complete(asking()))
    stream = backend.stream(asking("two"))
    await anext(stream)
    await until(partial(lambda: gate.calls == 2))
    task.cancel()
    await asyncio.wait([task])
    await stream.aclose()  # type: ignore[attr-defined]
    await until(partial(lambda: journal.stats().states == {"failed/late": 2}))
    assert journal.unfinished() == []
    prompts = sum(gate.count(text) + 4 for text in ("hi", "two"))
    assert journal.spent() == Usage(2, prompts, usd=prompts, seconds=journal.spent().seconds)


async def test_a_call_that_is_left_before_it_is_made_costs_nothing(journal: Journal) -> None:
    """Who leaves while the intent is being written makes no call, and the journal says so."""
    gate = Gate(journal)
    task = asyncio.create_task(Journaled(gate, journal).complete(asking()))
    for _ in range(2):  # the flight has begun, and nobody has told it of its intent
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await until(partial(lambda: journal.stats().states == {"failed/late": 1}))
    assert (gate.calls, journal.spent(), journal.unfinished()) == (0, Usage(), [])


async def test_a_cut_stream_is_never_served(journal: Journal) -> None:
    """A stream that ends without a reply is a failure, and is asked again."""

    class Cut(Gate):
        async def stream(self, request: Request) -> AsyncIterator[Delta]:
            yield Delta(text="The answer is")

    with pytest.raises(BackendError, match="ended without a reply"):
        await read(Journaled(Cut(journal), journal).stream(asking()))
    await until(partial(lambda: journal.stats().states == {"failed/cut": 1}))


async def test_retries_inside_are_all_paid(journal: Journal) -> None:
    """Every try of a call that failed in the end, and of one that succeeded, is in the ledger."""
    again = partial(Retried, base=0.001, attempts=2, breaker=None)
    errors = [BackendError("server", "no")] * 2
    with pytest.raises(BackendError):
        await Journaled(again(Scripted([*errors])), journal).complete(asking())
    await Journaled(again(Scripted([errors[0], "yes"])), journal).complete(asking())
    await until(partial(lambda: journal.stats().states == {"failed/server": 1, "ok": 1}))
    assert journal.spent().calls == 4


async def test_a_ledger_serves_nothing(journal: Journal) -> None:
    """Where nothing is served a reply that is known is asked for again, whole and streamed, and written down."""
    gate = Gate(journal)
    gate.open.set()
    ledger = Journaled(gate, journal, "1", serves=False)
    await Journaled(gate, journal, "1").complete(asking())
    assert ledger.lookup(asking()) is None
    for again in (ledger.complete(asking()), read(ledger.stream(asking()))):
        await again
    assert gate.calls == journal.stats().calls == 3
    await check_backend(Journaled(Scripted("hello there"), journal, serves=False))


async def test_a_ledger_lets_a_cache_inside_answer(journal: Journal) -> None:
    """What a cache inside knows is known, and no call; what another's call brings it meanwhile costs nothing."""
    model = Scripted("hello", delay=0.02)
    ledger = Journaled(Cached(model, Memory()), journal, serves=False)
    replies = await asyncio.gather(*(ledger.complete(asking()) for _ in range(3)))
    assert sorted(reply.usage.calls for reply in replies) == [0, 0, 1]
    assert (journal.spent().calls, journal.spent().saved_calls) == (1, 2)
    assert ledger.lookup(asking()) is not None


async def test_a_call_is_written_down_once_in_a_file(journal: Journal, path: Path, tmp_path: Path) -> None:
    """Around another of the same file the outer one takes its place; each file has a record of its own."""
    with Journal(path) as again, Journal(tmp_path / "other.sqlite") as other:
        inner = Journaled(Scripted("hello"), again, "inner")
        await Journaled(inner, journal, "outer").complete(asking())
        assert journal.stats().calls == 1
        assert inner.lookup(asking()) is None
        await Journaled(inner, other, "outer").complete(asking())
        assert (journal.stats().calls, other.stats().calls) == (2, 1)


# ---- in runs


@pytest.mark.parametrize("stream", [False, True])
async def test_a_hit_in_a_run_reserves_nothing(journal: Journal, stream: bool) -> None:
    """With the reply known, a purse with nothing in it gets the answer; ledger and report agree."""
    model = Scripted("hello", card=Card(price=Price(input=1000.0, output=1000.0)))
    agent = ModelAgent(Journaled(model, journal), "a")
    paid = await perform(agent, "hi", budget=Budget(usd=10), stream=stream)
    free = await perform(agent, "hi", budget=Budget(calls=0, tokens=0, usd=0), stream=stream)
    assert free.text == paid.text == "hello"
    assert (free.usage.calls, free.usage.usd) == (0, 0)
    assert (free.usage.saved_calls, free.usage.saved_usd) == (1, paid.usage.usd)
    assert not [event for event in free.trace if isinstance(event, CallStarted)]
    assert free.checked().id == paid.checked().id
    spent = journal.spent()
    assert (spent.calls, spent.tokens, spent.usd) == (paid.usage.calls, paid.usage.tokens, paid.usage.usd)


async def test_what_a_run_reports_of_failures_is_what_the_ledger_says(journal: Journal) -> None:
    """A failed call, one that upstream may want paid and one that was cancelled cost the same in both."""
    price = Card(price=Price(input=1000.0, output=1000.0))
    for place, kind in enumerate(("server", "timeout", "circuit_open", "malformed"), 1):
        model = Scripted([BackendError(kind, "no")], name=kind, card=price)
        result = await perform(ModelAgent(Journaled(model, journal), "a"), "hi", budget=Budget(usd=10))
        await until(partial(lambda place=place: sum(journal.stats().states.values()) == place))
        last = journal._read("SELECT calls, input, usd FROM outcomes ORDER BY call DESC LIMIT 1")[0]
        assert last == (result.usage.calls, result.usage.input, result.usage.usd), kind
    slow = Scripted("hello", name="slow", delay=5, card=price)
    result = await perform(ModelAgent(Journaled(slow, journal), "a"), "hi", budget=Budget(usd=10, seconds=0.05))
    await until(partial(lambda: journal.stats().states.get("failed/late") == 1))
    last = journal._read("SELECT calls, input, usd FROM outcomes ORDER BY call DESC LIMIT 1")[0]
    assert last == (result.usage.calls, result.usage.input, result.usage.usd)


# ---- when it can't be written


async def test_no_call_is_made_that_cant_be_written_down(journal: Journal) -> None:
    """When there is no room for the intent nothing is paid, and the error says what to do; a run says it too."""
    model = Scripted("hello")
    backend = Journaled(model, journal)
    await backend.complete(asking())
    assert journal._writer is not None
    journal._writer._connection.execute("PRAGMA max_page_count = 1")  # no page more than there are
    long = "x" * 10_000 + "".join(map(str, range(9_000)))
    with pytest.raises(MotetError, match="the disk is full: make room"):
        await backend.complete(asking(long))
    with pytest.raises(MotetError, match="the disk is full: make room"):
        await perform(ModelAgent(backend, "a"), long)
    assert len(model.requests) == 1
    assert backend.lookup(asking()) is not None


async def test_a_reply_that_cant_be_written_down_is_given_with_a_warning(journal: Journal) -> None:
    """What was paid is not lost for its caller; the journal tells the call as unfinished."""

    def fill(request: Request) -> str:
        assert journal._writer is not None
        journal._writer._connection.execute("PRAGMA max_page_count = 1")
        return "".join(map(str, range(9_000)))

    backend = Journaled(Scripted(fill), journal)
    with pytest.warns(RuntimeWarning, match=r"a reply of scripted was not kept: .* the disk is full: make room"):
        reply = await backend.complete(asking())
    assert len(reply.text) > 30_000
    assert backend.lookup(asking()) is None
    assert [call.request for call in journal.unfinished()] == [asking()]


def blocked(path: Path, yes: bool) -> None:
    """Put something in the place of a journal, or take it away."""
    if yes:
        path.write_text("in the way")
    else:
        path.unlink()


@pytest.mark.parametrize("serves", [False, True])
async def test_with_somebody_to_tell_the_call_is_made_all_the_same(serves: bool, path: Path) -> None:
    """A journal that can't be opened, or has no room for intent or reply: the answer comes, the trouble is told."""

    def fill(request: Request) -> str:
        if journal._writer is not None:
            journal._writer._connection.execute("PRAGMA max_page_count = 1")
        return "".join(map(str, range(9_000)))

    troubles: list[MotetError] = []
    long = "x" * 10_000 + "".join(map(str, range(9_000)))
    with Journal(path, now=False) as journal:
        backend = Journaled(Scripted(fill), journal, serves=serves, trouble=troubles.append)
        blocked(path, True)
        assert len((await backend.complete(asking())).text) > 30_000
        assert {str(each).partition(":")[0] for each in troubles} == {f"the journal {path} can't be used"}
        blocked(path, False)
        for request in (asking(), asking(long)):
            troubles.clear()
            assert len((await read(backend.stream(request)))[1].text) > 30_000
            assert "the disk is full" in str(troubles[-1])


async def test_a_run_that_was_never_opened_is_refused(journal: Journal) -> None:
    """Nothing is called on behalf of a run that is not there."""
    model = Scripted("hello")
    with pytest.raises(UsageError, match="no run 'nobody'"):
        await Journaled(model, journal, run="nobody").complete(asking())
    assert model.requests == []


def test_event_loops_do_not_wait_for_each_other(journal: Journal) -> None:
    """A journal used from one event loop after another works, also when a call was cut off by the first one's end."""

    async def cut_off() -> None:
        asyncio.ensure_future(Journaled(Gate(journal), journal).complete(asking()))  # noqa: RUF006
        await asyncio.sleep(0.02)

    async def again() -> str:
        return (await Journaled(Scripted("hello", name="gate"), journal).complete(asking())).text

    asyncio.run(cut_off())
    assert asyncio.run(again()) == "hello"
    journal.close()
    assert journal.stats().states == {"failed/late": 1, "ok": 1}
