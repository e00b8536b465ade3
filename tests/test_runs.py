"""Kept runs: written as they happen, found again, let go when there are too many; never at the cost of an answer."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from acting import agent

from motet import Agent, Result, Vote, perform, runs
from motet.agent import ModelAgent
from motet.backends.cached import Cached, Memory
from motet.backends.fallback import Fallback
from motet.backends.journaled import Journaled
from motet.backends.scripted import Scripted
from motet.errors import BackendError, MotetError, UsageError
from motet.journal import Journal, default_path
from motet.message import Reply, Request
from motet.replay import replay
from motet.runs import KIND, Keeper, TraceFile, kept, load, summaries
from motet.trace import Event, RunStarted, Trace, line


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs are kept in a folder of the test's own."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


async def put(keeper: Keeper, who: Agent, question: str = "2 + 2?") -> Result:
    """Perform and keep a run."""
    async with keeper:
        return await perform(
            who, question, watchers=[keeper], stream=True, run_id=keeper.run, wrap=keeper.wrap, wanted={"x": "y"}
        )


def run(name: str = "first", said: str = "4\u2028é") -> tuple[Result, Keeper]:
    """Perform a vote and keep it."""
    keeper = Keeper(name)
    return asyncio.run(put(keeper, Vote([agent("a", said=said)]))), keeper


# ---- kept and found


def test_a_run_is_kept_as_it_was() -> None:
    """What is read is what happened, and replays."""
    result, keeper = run()
    assert load("first").events == load("last").events == load("fir").events == result.trace.events
    assert keeper.trouble == ""
    assert asyncio.run(replay(load("first"), Vote([agent("a")]))).reply == result.reply


def test_it_is_written_while_it_happens() -> None:
    """While a member thinks, all that happened so far is there for others to read."""
    seen: list[Event] = []

    class Looking(Scripted):
        async def complete(self, request: Request) -> Reply:
            await asyncio.sleep(0.2)
            with Journal(default_path()) as journal:
                assert [call.run for call in journal.unfinished()] == ["first"]
            seen.extend(load("first").events)
            return await super().complete(request)

    result = asyncio.run(put_whole(Keeper("first"), Vote([ModelAgent(Looking("4"), "a")])))
    assert [type(event).__name__ for event in seen] == ["RunStarted", "AskStarted", "AskStarted", "CallStarted"]
    assert result.trace.events[: len(seen)] == seen


async def put_whole(keeper: Keeper, who: Agent) -> Result:
    """Perform and keep a run whose words are not streamed."""
    async with keeper:
        return await perform(who, "2 + 2?", watchers=[keeper], run_id=keeper.run, wrap=keeper.wrap)


KILLED = """
import asyncio, os, signal, sys
from motet import ModelAgent, Scripted, Vote, perform
from motet.runs import Keeper
async def work():
    async with Keeper("killed") as keeper:
        models = [Scripted("4", name="quick"), Scripted("4", name="slow", delay=60)]
        agents = [ModelAgent(model, model.name) for model in models]
        asyncio.get_running_loop().call_later(0.5, os.kill, os.getpid(), signal.SIGKILL)
        await perform(Vote(agents), "2 + 2?", watchers=[keeper], run_id="killed", wrap=keeper.wrap)
asyncio.run(work())
"""


def test_a_killed_run_is_kept_as_far_as_it_went() -> None:
    """What was said half a second before a kill is there, with the call that was under way."""
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (-9, b"")
    names = [type(event).__name__ for event in load("last")]
    assert (names.count("CallStarted"), names.count("CallEnded"), names.count("RunEnded")) == (2, 1, 0)
    with Journal(default_path()) as journal:
        assert [(call.backend, call.run) for call in journal.unfinished()] == [("slow", "killed")]
        assert journal.limit(KIND, 0) == 1, "the lock of a killed process is nobody's"


def test_runs_are_listed_newest_first() -> None:
    """In the order in which they were begun; only so many are listed."""
    names = ["b", "c", "a"]
    for name in names:
        run(name)
    assert kept() == names[::-1]
    assert [name for name, _ in summaries(2)] == ["a", "c"]
    assert load("last").events == load("a").events


def test_which_run_is_meant() -> None:
    """The beginning of one name is enough; of several it is ambiguous; an exact name wins; none is said to be none."""
    for name in ("2026-a", "2026-ab", "2026-b"):
        run(name)
    assert isinstance(load("2026-b").events[0], RunStarted)
    assert load("2026-a").events[0].run == "2026-a"  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="3 runs begin with '2026': 2026-b, 2026-ab, 2026-a"):
        load("2026")
    with pytest.raises(UsageError, match="there is no run '2027': `motet trace list` shows the 3 kept ones"):
        load("2027")
    for path in ("nowhere.jsonl", "no/where", "x\x00.jsonl"):
        with pytest.raises(UsageError, match="there is no trace file"):
            load(path)


def test_nothing_kept_yet() -> None:
    """Without any run there is none, none is last, and looking makes no journal."""
    assert kept() == []
    assert list(summaries(5)) == []
    with pytest.raises(UsageError, match="there is no run 'last'"):
        load("last")
    assert not default_path().exists()


def test_a_run_of_which_nothing_was_told_is_none() -> None:
    """A question that is refused leaves no run behind in any list."""
    with pytest.raises(UsageError, match="the question is empty"):
        asyncio.run(put(Keeper("empty"), agent("a"), " "))
    assert kept() == []


def test_a_damaged_run_is_named() -> None:
    """A row that holds no events is an error with the run; lists go on past it."""
    run("bad")
    run("good")
    connection = sqlite3.connect(default_path())
    connection.execute("UPDATE records SET payload = x'007b7d' WHERE run = (SELECT id FROM runs WHERE name = 'bad')")
    connection.commit()
    connection.close()
    with pytest.raises(MotetError, match="the run bad is damaged: its record 0 holds no events"):
        load("bad")
    assert [(name, trace is not None) for name, trace in summaries(9)] == [("good", True), ("bad", False)]


def test_the_oldest_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many the oldest go, but not what they paid for, nor runs of another kind, nor one that goes on."""
    monkeypatch.setattr(runs, "KEPT", 2)
    with Journal(default_path()) as journal, journal.open_run("going on", KIND):
        journal.open_run("a bench", "bench").close()
        for name in "abcd":
            run(name)
        assert kept() == ["d", "c"]
        assert [info.name for info in journal.runs()] == ["going on", "a bench", "c", "d"]
        assert journal.stats().calls == 4
        assert journal.prune(older_than=0).runs == 3
    assert kept() == []
    with pytest.raises(UsageError, match="there is no run 'd'"):
        load("d")


@pytest.mark.parametrize("lists", [20, 1000])
def test_a_thousand_runs_are_listed_quickly(lists: int) -> None:
    """However many are kept, and however many are listed."""
    result, _ = run()
    payload = b"[" + ",".join(line(event).rstrip("\n") for event in result.trace.events).encode() + b"]"

    async def fill(journal: Journal) -> None:
        for number in range(999):
            journal.open_run(f"run {number}", KIND, join=True)
            journal.record(f"run {number}", runs.TASK, "", 0, payload)
        await journal.record("run 998", runs.TASK, "", 1, payload)

    with Journal(default_path()) as journal:
        asyncio.run(fill(journal))
        began = time.process_time()
        assert len(list(summaries(lists))) == lists
        assert time.process_time() - began < 1


# ---- the ledger


async def test_every_call_is_made_anew_and_written_down() -> None:
    """Nothing that is known is served where no cache is wanted; each run has paid what it says."""
    model = Scripted("4")
    paid = [await put(Keeper(name), ModelAgent(model, "a")) for name in "ab"]
    assert len(model.requests) == 2
    with Journal(default_path()) as journal:
        for result in paid:
            spent = journal.spent(result.run_id)
            assert (spent.calls, spent.tokens, spent.usd) == (1, result.usage.tokens, result.usage.usd)


@pytest.mark.parametrize("where", ["memory", "journal"])
async def test_a_cache_stays_a_cache(where: str) -> None:
    """What a memory or the journal knows is served, and is no call of the run that is given it."""
    model = Scripted("4")
    with Journal(default_path()) as journal:
        backend = Cached(model, Memory()) if where == "memory" else Journaled(model, journal, "1")
        first, again = [await put(Keeper(name), ModelAgent(backend, "a")) for name in "ab"]
        assert (first.usage.calls, again.usage.calls, again.usage.saved_calls) == (1, 0, 1)
        assert (journal.spent("a").calls, journal.spent("b").calls) == (1, 0)
        assert journal.stats().calls == len(model.requests) == 1, "written down once"


async def test_calls_under_way_are_shared_through_a_cache() -> None:
    """Two runs at once with one memory make one call, which one of them pays for."""
    model = Scripted("4", delay=0.05)
    who = ModelAgent(Cached(model, Memory()), "a")
    results = await asyncio.gather(*(put_whole(Keeper(name), who) for name in "ab"))
    assert sorted(result.usage.calls for result in results) == [0, 1]
    with Journal(default_path()) as journal:
        assert sorted(journal.spent(name).calls for name in "ab") == [0, 1]


async def test_a_journal_of_ones_own_stays(tmp_path: Path) -> None:
    """An agent with a journal elsewhere is served from that, and the run's journal tells what was called."""
    model = Scripted("4")
    with Journal(tmp_path / "mine.sqlite") as mine:
        for name in "ab":
            await put(Keeper(name), ModelAgent(Journaled(model, mine), "a"))
        assert mine.spent().calls == len(model.requests) == 1
    with Journal(default_path()) as journal:
        assert [journal.spent(name).calls for name in "ab"] == [1, 0]


async def test_fallbacks_are_paid_for() -> None:
    """The call that failed and the one that stood in for it are one entry that says both."""
    dead = Scripted([BackendError("server", "no")], name="m")
    result = await put(Keeper("a"), ModelAgent(Fallback((dead, Scripted("4", name="spare"))), "a"))
    with Journal(default_path()) as journal:
        assert journal.spent("a").calls == result.usage.calls == 2
        assert journal.stats().calls == 1


# ---- never at the cost of an answer


@pytest.mark.parametrize("served", [False, True])
def test_a_full_disk_does_not_cost_the_answer(served: bool) -> None:
    """There is room for nothing more in the middle: the answer is given, and what is wrong is said once."""

    def fill(request: Request) -> str:
        writer = Journal.shared(default_path())._writer
        assert writer is not None
        writer._connection.execute("PRAGMA max_page_count = 1")
        return "".join(map(str, range(9_000)))

    async def work() -> tuple[Result, Keeper]:
        keeper, journal = Keeper("full"), Journal.shared(default_path())
        models = [Scripted(fill, name="filling"), Scripted("5", name="after")]
        agents = [ModelAgent(Journaled(each, journal) if served else each, each.name) for each in models]
        return await put(keeper, Sequence(agents)), keeper

    result, keeper = asyncio.run(work())
    assert result.text == "5"
    assert keeper.trouble.startswith(f"the run could not be kept: the journal {default_path()} can't be used: ")
    assert "the disk is full: make room" in keeper.trouble
    assert isinstance(load("full").events[0], RunStarted)


class Sequence:
    """Asks one after the other; the last one's reply counts."""

    name = "sequence"

    def __init__(self, agents: list[ModelAgent]) -> None:
        self.agents = agents

    async def __call__(self, chat, run):  # type: ignore[no-untyped-def]
        for each in self.agents:
            reply = await run.ask(each, chat)
        return reply


def test_a_journal_that_can_not_be_made_does_not_cost_the_answer(home: Path) -> None:
    """A file stands where its folder should be, or where it should: the answer is given, and the file stays."""
    home.write_text("in the way")
    result, keeper = run()
    assert result.text == "4\u2028é"
    assert "could not be kept: can't make the folder" in keeper.trouble
    home.unlink()
    default_path().write_text("in the way")
    result, keeper = run()
    assert result.text == "4\u2028é"
    assert "it is no journal of motet's" in keeper.trouble
    assert default_path().read_text() == "in the way"


def test_a_cancelled_run_is_kept() -> None:
    """A run that is cancelled is there to its end, which says so."""

    async def work() -> None:
        keeper = Keeper("left")
        task = asyncio.create_task(put(keeper, ModelAgent(Scripted("4", delay=60), "a")))
        async with asyncio.timeout(20):
            while not keeper.begun:  # noqa: ASYNC110  (no event tells what is in a file)
                await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert load("left").events[-1].error.startswith("interrupted")  # type: ignore[union-attr]


# ---- trace files


def written(path: Path) -> tuple[Result, TraceFile]:
    """Perform a run whose trace goes to a file."""
    file = TraceFile(path)
    result = asyncio.run(perform(Vote([agent("a", said="4\u2028é")]), "2 + 2?", watchers=[file], stream=True))
    file.close()
    file.close()
    return result, file


def test_a_trace_file_is_written_while_it_happens(tmp_path: Path) -> None:
    """After each event the file holds all events so far, so that a kill loses nothing that was said."""
    file = TraceFile(tmp_path / "there" / "run.jsonl")
    seen: list[Event] = []

    def look(event: Event) -> None:
        seen.append(event)
        assert Trace.from_jsonl(file.path.read_text(encoding="utf-8")).events == seen

    asyncio.run(perform(Vote([agent("a")]), "What?", watchers=[file, look]))
    file.close()
    assert load(str(file.path)).events == seen


def test_a_torn_trace_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Cut anywhere, also inside a character, the whole events are read."""
    path = tmp_path / "run.jsonl"
    result, _ = written(path)
    data = path.read_bytes()
    for cut in [*range(0, len(data), 5), *range(len(data) - 80, len(data))]:
        path.write_bytes(data[:cut])
        events = load(str(path)).events
        assert events == result.trace.events[: len(events)]
        assert data[:cut].count(b"\n") <= len(events) <= data[:cut].count(b"\n") + 1


@pytest.mark.parametrize("garbage", [b"garbage\n", b"\xff\xfe\n", b"{}\n", b"\x00\n"])
def test_a_file_that_is_no_trace_is_named(garbage: bytes, tmp_path: Path) -> None:
    """Garbage is an error with file and line."""
    path = tmp_path / "run.jsonl"
    result, _ = written(path)
    path.write_bytes(line(result.trace.events[0]).encode() + garbage + b"{}\n")
    with pytest.raises(MotetError, match=r"run\.jsonl: line 2 of the trace is no event"):
        load(str(path))


def test_a_trace_file_that_cannot_be_written_does_not_cost_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder in the way, or a disk that is full in the middle: the answer is given, and what is wrong is said."""
    result, file = written(tmp_path)
    assert (result.text, file.trouble) == (
        "4\u2028é",
        f"the trace could not be written to {tmp_path}: Is a directory",
    )
    count = 0

    def full(event: Event) -> str:
        nonlocal count
        count += 1
        if count > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return line(event)  # type: ignore[arg-type]

    monkeypatch.setattr(runs, "line", full)
    result, file = written(tmp_path / "run.jsonl")
    assert (result.text, count) == ("4\u2028é", 4)
    assert "No space left on device" in file.trouble
    assert len(load(str(file.path))) == 3
