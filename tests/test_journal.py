"""The journal: nothing that was waited for is lost, whatever is killed, full, forked, shared or damaged."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import Attempt, BackendError, MotetError, UsageError
from motet.journal import Call, Journal, Pruned, database
from motet.journal.database import APPLICATION, MIGRATIONS, pack, unpack
from motet.message import Message, Reply, Request, Sampling, Token, ToolCall, Usage

RICH = Reply(
    "Zürich 🌍\n",
    finish="tool_calls",
    tool_calls=(ToolCall("1", "add", '{"a": 1}'),),
    reasoning="hm\ud800",
    logprobs=(Token("Zü", -0.5, (("Zü", -0.5), ("?", -1.0))),),
    usage=Usage(1, 10, 2, 3, 1, 0.25, 1.5, 4, 0.125),
    reported=Usage(1, -1),
    model="m-1",
)


def asking(text: str = "hi", *, draw: str = "", code: str = "1", run: str = "") -> Call:
    return Call(Request("model", (Message("user", text),), draw=draw), "model", code, run)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    with Journal(path) as made:
        yield made


async def pay(journal: Journal, call: Call, reply: Reply | None = None) -> int:
    """Begin a call and finish it."""
    intent = await journal.begin(call)
    await journal.finish(intent, reply or Reply(f"to {call.request.text}", usage=Usage(1, 2, output=3, usd=0.5)))
    return intent


def known(journal: Journal, call: Call) -> Reply | None:
    return journal.known(call.request.key, call.backend, call.code)


def integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


# ---- calls


async def test_a_reply_is_known_whole_once_it_is_written(journal: Journal, path: Path) -> None:
    """Every field and the cost come back, also from another process's point of view and after a reopening."""
    call = asking()
    assert known(journal, call) is None
    intent = await journal.begin(call)
    assert known(journal, call) is None
    await journal.finish(intent, RICH)
    expected = msgspec.structs.replace(RICH, reasoning="hm\ufffd")
    with Journal(path) as other:
        assert known(journal, call) == known(other, call) == expected
    journal.close()
    assert known(journal, call) == expected  # it opens by itself


async def test_what_makes_a_call_another(journal: Journal) -> None:
    """Content, draw, backend and version of the code tell calls apart; deadline, allowance and payer do not."""
    call = asking()
    await pay(journal, call)
    key = call.request.key
    assert journal.known(key, "model", "1") is not None
    assert journal.known(key, "other", "1") is journal.known(key, "model", "2") is None
    for other in (asking("ho"), asking(draw="1")):
        assert known(journal, other) is None
    hurried = msgspec.structs.replace(call.request, deadline=3.0, allowance=7)
    assert journal.known(hurried.key, "model", "1") is not None


@pytest.mark.parametrize(
    ("reply", "state"),
    [(Reply("half", finish="length"), "cut"), (Reply(" "), "empty"), (Reply("", finish="abstain"), "abstained")],
)
async def test_what_is_not_usable_is_kept_and_not_served(journal: Journal, reply: Reply, state: str) -> None:
    """A reply that is cut, empty or an abstention is in the ledger, and unknown; the first usable one is served."""
    await pay(journal, asking(), reply)
    assert known(journal, asking()) is None
    for text in ("first", "second"):
        await pay(journal, asking(), Reply(text))
    assert known(journal, asking()) == Reply("first")
    assert journal.stats().states == {"ok": 2, state: 1}


async def test_failures_cost_and_are_not_served(journal: Journal) -> None:
    """A failed call is told with all its attempts and charged with what it used."""
    error = BackendError("server", "oops", status=500, attempts=[Attempt("server", "oops", 500)] * 2)
    await journal.fail(await journal.begin(asking()), error, Usage(2, 10, usd=0.25))
    assert known(journal, asking()) is None
    assert journal.spent() == Usage(2, 10, usd=0.25)
    assert journal.unfinished() == []
    out = io.BytesIO()
    journal.export(out)
    line = json.loads(out.getvalue())
    assert line["state"] == "failed/server"
    assert (line["outcome"]["text"], line["outcome"]["status"], len(line["outcome"]["attempts"])) == ("oops", 500, 2)


async def test_what_was_begun_and_not_ended_is_known(journal: Journal) -> None:
    """Unfinished calls come back as they were asked, by run; the sum of what runs spent is exact."""
    journal.open_run("a", "test").close()
    journal.open_run("b", "test").close()
    hanging = asking("?", run="a")
    await journal.begin(hanging)
    await journal.begin(asking("!", run="b"))
    await asyncio.gather(*(pay(journal, asking(str(n), run="ab"[n % 2])) for n in range(10)))
    await pay(journal, asking("nobody's"))
    assert journal.unfinished("a") == [hanging]
    assert [call.run for call in journal.unfinished()] == ["a", "b"]
    assert journal.spent("a") == journal.spent("b") == Usage(5, 10, output=15, usd=2.5)
    assert journal.spent() == Usage(11, 22, output=33, usd=5.5)
    assert journal.spent(since=time.time() + 1) == Usage()


async def test_the_same_outcome_again_changes_nothing(journal: Journal) -> None:
    """Nothing in a journal is changed: a second outcome of one intent is left out, whatever it says."""
    intent = await pay(journal, asking(), Reply("first", usage=Usage(1)))
    await journal.finish(intent, Reply("second", usage=Usage(1)))
    await journal.fail(intent, BackendError("server", "no"), Usage(1))
    assert known(journal, asking()) == Reply("first", usage=Usage(1))
    assert journal.spent().calls == 1


async def test_many_at_once_share_transactions(journal: Journal, path: Path) -> None:
    """500 calls at once get numbers of their own, in the order they came, in far fewer transactions than rows."""
    commits = 0

    def count(statement: str) -> None:
        nonlocal commits
        commits += statement == "COMMIT"

    assert journal._writer is not None
    journal._writer._connection.set_trace_callback(count)
    intents = await asyncio.gather(*(journal.begin(asking(str(n))) for n in range(500)))
    assert intents == list(range(1, 501))
    assert commits < 50


async def test_a_row_that_cannot_be_written_takes_no_other_along(journal: Journal) -> None:
    """Of rows that share a transaction only the impossible one fails, with its own error; later ones go on."""
    intents = await asyncio.gather(*(journal.begin(asking(str(n))) for n in range(20)))
    futures = [
        journal.finish(intent, Reply("r", usage=Usage(output=10**30 if intent == 7 else 1))) for intent in intents
    ]
    results = await asyncio.gather(*futures, return_exceptions=True)
    assert [type(result).__name__ for result in results if isinstance(result, BaseException)] == ["OverflowError"]
    assert isinstance(results[6], OverflowError)
    assert journal.stats().states == {"ok": 19}
    journal.open_run("a", "test").close()
    with pytest.raises(TypeError):
        await journal.record("a", "t", "arm", 0, 7)  # type: ignore[arg-type]
    await journal.finish(intents[6], Reply("r"))


def test_a_journal_that_is_not_opened_yet(path: Path) -> None:
    """Nothing is made until something is asked of it; whatever that is makes the file."""
    for ask in (lambda journal: journal.known("00", "m"), Journal.runs, Journal.stats):
        with Journal(path, now=False) as journal:
            assert not path.exists()
            ask(journal)
            assert path.exists()
        path.unlink()


def test_a_process_shares_a_journal(path: Path) -> None:
    """One of each file while anybody has it; then another."""
    journal = Journal.shared(path)
    assert journal is Journal.shared(path) is Journal.shared(str(path))
    assert journal is not Journal.shared(path.with_name("other"))
    journal.open_run("a", "test").close()
    del journal
    gc.collect()
    assert [run.name for run in Journal.shared(path).runs()] == ["a"]


async def test_runs_of_a_kind_and_their_limit(journal: Journal) -> None:
    """The oldest of a kind go with their records, but for those that are open; what they paid for is known still."""
    for number in range(6):
        kind = "ab"[number % 2]
        run = journal.open_run(str(number), kind)
        if number < 4:
            await journal.record(str(number), "task", "", 0, b"{}")
            await pay(journal, asking(str(number), run=str(number)))
        if number:
            run.close()
        else:
            first = run
    assert [run.name for run in journal.runs("a")] == ["0", "2", "4"]
    assert [run.name for run in journal.runs("a", recorded=True)] == ["0", "2"]
    assert journal.limit("a", 1) == 1
    assert [run.name for run in journal.runs()] == ["0", "1", "3", "4", "5"]
    first.close()
    assert (journal.limit("a", 1), journal.limit("a", 1), journal.limit("b", 9)) == (1, 0, 0)
    assert (journal.stats().runs, journal.stats().records, journal.stats().calls) == (4, 2, 4)
    assert known(journal, asking("0")) is not None
    with pytest.raises(UsageError, match="no run '0'"):
        await journal.begin(asking("more", run="0"))


@given(st.binary(max_size=300))
def test_packing_loses_nothing(content: bytes) -> None:
    """What is unpacked is what was packed, and never more than a byte longer."""
    assert unpack(pack(content)) == content
    assert len(pack(content)) <= len(content) + 1
    assert len(pack(content * 50)) <= len(content) * 50 + 1


# ---- loops, threads, forks


def test_an_event_loop_that_ends_loses_nothing(journal: Journal) -> None:
    """What was queued and not waited for when its loop ended is written; the next loop uses the same journal."""

    async def leave() -> None:
        intent = await journal.begin(asking())
        journal.finish(intent, Reply("left"))

    for _ in range(3):
        asyncio.run(leave())
    journal.close()
    assert known(journal, asking()) == Reply("left")
    assert journal.stats().states == {"ok": 3}


def test_a_journal_that_nobody_closes_ends(path: Path) -> None:
    """When the last reference goes, what is queued is written and the thread ends."""
    before = threading.active_count()
    journal = Journal(path)

    async def leave(journal: Journal) -> None:
        journal.finish(await journal.begin(asking()), Reply("left"))

    asyncio.run(leave(journal))
    assert threading.active_count() == before + 1
    del journal
    gc.collect()
    until = time.monotonic() + 10
    while threading.active_count() > before:
        assert time.monotonic() < until
        time.sleep(0.001)
    with Journal(path) as again:
        assert known(again, asking()) == Reply("left")


def test_threads_share_a_journal(journal: Journal) -> None:
    """Event loops in four threads write at once, and each is told of its own."""

    def work(name: str) -> None:
        async def several() -> None:
            await asyncio.gather(*(pay(journal, asking(f"{name} {n}")) for n in range(50)))

        asyncio.run(several())

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert journal.stats().states == {"ok": 200}
    assert known(journal, asking("c 49")) is not None


def python(code: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    """A fresh interpreter that runs `code`."""
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


COMMON = """
import asyncio, os, sys
from motet.journal import Call, Journal
from motet.message import Message, Reply, Request, Usage
journal = Journal(sys.argv[1])
def asking(text):
    return Call(Request("model", (Message("user", text),)), "model", "1")
async def pay(text):
    await journal.finish(await journal.begin(asking(text)), Reply(text))
def known(text):
    return journal.known(asking(text).request.key, "model", "1") == Reply(text)
"""
FORK = """
import threading
stop = False
async def busy(name):
    place = 0
    while not stop:
        await asyncio.gather(*(pay(f"{name} {place + n}") for n in range(20)))
        place += 20
threads = [threading.Thread(target=lambda name=name: asyncio.run(busy(name))) for name in "ab"]
for thread in threads:
    thread.start()
for number in range(10):
    child = os.fork()
    if not child:
        asyncio.run(pay(f"child {number}"))
        os._exit(not known(f"child {number}"))
    assert os.waitpid(child, 0)[1] == 0
    asyncio.run(pay(f"parent {number}"))
stop = True
for thread in threads:
    thread.join()
for number in range(10):
    assert known(f"child {number}") and known(f"parent {number}")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_a_fork_amid_writing(path: Path) -> None:
    """A process that forks while its threads write goes on, and so does each child; the file stays sound."""
    process = python(COMMON + FORK, path)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert integrity(path) == "ok"


MANY = """
async def several():
    for place in range(0, int(sys.argv[3]), 20):
        await asyncio.gather(*(pay(f"{sys.argv[2]} {place + n}") for n in range(20)))
asyncio.run(several())
assert all(known(f"{sys.argv[2]} {n}") for n in range(int(sys.argv[3])))
"""


@pytest.mark.parametrize("count", [200, pytest.param(3_000, marks=pytest.mark.long)])
def test_processes_share_a_file(path: Path, count: int) -> None:
    """Four processes that make and fill one file at once get no error and lose nothing."""
    writers = [python(COMMON + MANY, path, name, count) for name in "abcd"]
    for writer in writers:
        _, errors = writer.communicate(timeout=100)
        assert (writer.returncode, errors) == (0, "")
    with Journal(path) as journal:
        assert journal.stats().states == {"ok": 4 * count}
        assert len(set(journal._read("SELECT id FROM calls"))) == 4 * count
    assert integrity(path) == "ok"


# ---- kills

WORK = """
import random
from motet.backend import Card, deltas
from motet.backends.journaled import Journaled
_, path, folder, width, last = sys.argv
open_ = lambda name: os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
paid, had = open_("paid"), open_("had")
class Server:  # what it is asked is paid, and counted where no kill can undo it
    name, card = "model", Card()
    async def complete(self, request):
        os.write(paid, f"{request.text}\\n".encode())
        await asyncio.sleep(random.uniform(0, 0.004))
        return Reply(f"to {request.text}" * 20, usage=Usage(1, 5, output=5, usd=0.001))
    def count(self, text): return len(text)
async def one(model, numbers):
    for number in numbers:
        reply = await model.complete(Request("model", (Message("user", str(number)),)))
        assert reply.text == f"to {number}" * 20
        os.write(had, f"{number}\\n".encode())
async def work():
    with journal.open_run("campaign", "test") as run:
        print("ready", flush=True)
        numbers = iter(range(int(last)))
        await asyncio.gather(*(one(Journaled(Server(), journal, "1", "campaign"), numbers) for _ in range(int(width))))
asyncio.run(work())
"""


def told(path: Path) -> list[int]:
    """The whole lines of a file that a killed process wrote."""
    return [int(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []


@pytest.mark.parametrize("kills", [20, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.timeout(400)
def test_kills_lose_no_finished_reply(path: Path, tmp_path: Path, kills: int) -> None:
    """A process that is killed again and again loses no reply, repeats at most what was under way, and knows it."""
    rng, width, had = random.Random(kills), 8, set[int]()
    for kill in range(kills):
        process = python(COMMON + WORK, path, tmp_path, width, 1_000_000)
        assert process.stdout is not None
        if rng.random() < 0.8:  # else it is killed while it starts
            assert process.stdout.readline() == "ready\n"
            time.sleep(rng.uniform(0, 0.15))
        else:
            time.sleep(rng.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (-signal.SIGKILL, "")
        before, had = had, set(told(tmp_path / "had"))
        paid = told(tmp_path / "paid")
        assert before <= had
        assert len(paid) - len(set(paid)) <= width * (kill + 1)
        with Journal(path) as journal:
            for number in had:
                assert known(journal, asking(str(number))) is not None, f"{number} is lost"
            lost = {int(call.request.text) for call in journal.unfinished()}
            assert set(paid) - had <= lost | {n for n in set(paid) - had if known(journal, asking(str(n)))}
    last = max(told(tmp_path / "paid")) + 20
    process = python(COMMON + WORK, path, tmp_path, width, last)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    paid = told(tmp_path / "paid")
    assert set(told(tmp_path / "had")) == set(paid) == set(range(last))
    assert len(paid) - last <= width * kills
    assert integrity(path) == "ok"
    with Journal(path) as journal:
        assert journal.stats().states == {"ok": journal.spent("campaign").calls}
        assert len(paid) - len(journal.unfinished()) <= journal.spent().calls <= len(paid)


# ---- files that are none


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (a)")
    connection.close()


def _newer(path: Path) -> None:
    Journal(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _cut(path: Path) -> None:
    _filled(path)
    os.truncate(path, path.stat().st_size // 4 // 4096 * 4096)


def _overwritten(path: Path) -> None:
    _filled(path)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


def _filled(path: Path) -> None:
    async def fill(journal: Journal) -> None:
        await asyncio.gather(*(pay(journal, asking(str(n)), RICH) for n in range(200)))

    with Journal(path) as journal:
        asyncio.run(fill(journal))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.write_bytes(b"SQLite? no.\n" * 50), "no journal of motet's"),
        (lambda path: path.write_bytes(b"x"), "no journal of motet's"),
        (_foreign, "no journal of motet's"),
        (_newer, f"schema is {len(MIGRATIONS) + 1}, and this motet knows {len(MIGRATIONS)}: use a newer motet"),
        (_cut, "damaged: move it away"),
        (_overwritten, "damaged: move it away"),
    ],
)
def test_a_file_that_is_none_is_refused_and_untouched(make: object, words: str, path: Path) -> None:
    """Garbage, another program's database, a newer schema and a damaged file are one clear line; every byte stays."""
    assert callable(make)
    make(path)
    before = path.read_bytes()

    def use() -> None:
        with Journal(path) as journal:
            known(journal, asking("7"))
            asyncio.run(pay(journal, asking("new")))

    with pytest.raises(MotetError, match=words) as caught:
        use()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_damaged_row_is_told(path: Path) -> None:
    """A row that can't be unpacked, or is no reply, is an error that names the file; the others are served."""
    _filled(path)
    connection = sqlite3.connect(path)
    for number, body in ((1, b"x00ff"), (2, b"\0no JSON")):
        connection.execute("UPDATE outcomes SET body = ? WHERE call = ?", (body, number))
    connection.commit()
    connection.close()
    with Journal(path) as journal:
        for number in range(2):
            with pytest.raises(MotetError, match=f"{path}.*a row of it is damaged"):
                known(journal, asking(str(number)))
        assert known(journal, asking("2")) is not None
        with pytest.raises(MotetError, match="a row of it is damaged"):
            journal.export(io.BytesIO())


def test_a_place_where_no_file_can_be_is_one_clear_line(tmp_path: Path) -> None:
    """A folder in the file's place, a file in the folder's place, and a folder where nobody can write."""
    (tmp_path / "file").write_text("x")
    places = [tmp_path, tmp_path / "file" / "journal.sqlite"]
    if Path("/proc/self").is_dir():
        places.append(Path("/proc/self/journal.sqlite"))
    for place in places:
        with pytest.raises(MotetError, match=r"can't be used.*name another") as caught:
            Journal(place)
        assert "\n" not in str(caught.value)


FULL = """
from motet.errors import MotetError
async def fill():
    kept = []
    try:
        for number in range(1000):
            text = os.urandom(10_000).hex()
            await pay(text)
            kept.append(text)
    except MotetError as error:
        print(error)
    assert all(known(text) for text in kept)
    print(len(kept), journal.stats().states["ok"], len(journal.unfinished()))
asyncio.run(fill())
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="the system has no namespaces")
def test_a_full_disk(tmp_path: Path) -> None:
    """On a disk of 2 MB the write that finds no room is told in a line, and what was written stays and is read."""
    script = f'mount -t tmpfs -o size=2m none {tmp_path} && exec "$@"'
    command = ["unshare", "-Urm", "sh", "-c", script, "sh", sys.executable, "-c", COMMON + FULL, tmp_path / "j.sqlite"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no disk can be made here: {done.stderr.strip()}")
    assert done.stderr == ""
    error, counts = done.stdout.splitlines()
    assert "j.sqlite can't be used: the disk is full: make room" in error
    kept, ok, unfinished = map(int, counts.split())
    assert kept == ok > 10
    assert unfinished <= 1


async def test_a_writer_that_waits_too_long_says_so(
    journal: Journal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another process holds the file, writes wait for their time and are then refused; afterwards they go on."""
    await pay(journal, asking())
    assert journal._writer is not None
    journal._writer._connection.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    futures = [journal.begin(asking(str(n))) for n in range(5)]
    for result in await asyncio.gather(*futures, return_exceptions=True):
        assert isinstance(result, MotetError)
        assert "another process has been writing" in str(result)
    other.execute("ROLLBACK")
    other.close()
    await pay(journal, asking("again"))


# ---- schemas


def test_a_file_is_marked_as_what_it_is(path: Path) -> None:
    """The header names the application and the schema, and readers never block writers."""
    Journal(path).close()
    connection = sqlite3.connect(path)
    found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
    assert found == [APPLICATION, len(MIGRATIONS)]
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_an_empty_file_is_migrated(path: Path) -> None:
    """A file of schema 0, marked as a journal and without tables, gets every table."""
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.commit()
    connection.close()
    with Journal(path) as journal:
        assert journal.stats().schema == len(MIGRATIONS)
        asyncio.run(pay(journal, asking()))


def test_an_older_schema_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step of a chain is made once, rows stay, and who knows the older schema only refuses the file then."""
    _filled(path)
    older = MIGRATIONS
    steps = (("ALTER TABLE runs ADD COLUMN note TEXT",), ("UPDATE steps SET code = code || '!'", "CREATE TABLE t (a)"))
    monkeypatch.setattr(database, "MIGRATIONS", (*older, *steps))
    for _ in range(2):
        with Journal(path) as journal:
            assert journal.stats().schema == len(older) + 2
            assert journal.known(asking("7").request.key, "model", "1!") is not None
            assert journal.stats().states == {"ok": 200}
    monkeypatch.setattr(database, "MIGRATIONS", older)
    with pytest.raises(MotetError, match="use a newer motet"):
        Journal(path)


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps are one transaction: where one can't be made, none is."""
    _filled(path)
    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, ("CREATE TABLE t (a)",), ("CREATE TABLE t (a)",)))
    with pytest.raises(MotetError, match="already exists"):
        Journal(path)
    monkeypatch.undo()
    with Journal(path) as journal:
        assert journal.stats().states == {"ok": 200}


# ---- runs


async def test_runs_and_their_results(journal: Journal, path: Path) -> None:
    """A run keeps how it was asked for first; its results come back in order, and none is ever changed."""
    with journal.open_run("a", "bench", '{"n": 5}') as run:
        assert run.new
    for place in range(1_200):
        journal.record("a", f"t{place}", "vote", 0, b'{"right": true}')
    await journal.record("a", "t0", "vote", 0, b"other")
    await journal.record("a", "t0", "vote", 1, b"\x00\xff")
    journal.close()
    with Journal(path) as again, again.open_run("a", "else", "other") as run:
        assert not run.new
        assert (run.info.kind, run.info.config) == ("bench", '{"n": 5}')
        found = list(again.records("a"))
        assert [(each.task, each.draw) for each in found] == [*((f"t{n}", 0) for n in range(1_200)), ("t0", 1)]
        assert {each.payload for each in found} == {b'{"right": true}', b"\x00\xff"}
        assert [each.name for each in again.runs()] == ["a"]


async def test_a_run_that_was_never_opened(journal: Journal) -> None:
    """Its name is told, whatever is asked of it, and nothing is written; a run without a name is refused."""
    for ask in (
        lambda: journal.begin(asking(run="nobody")),
        lambda: journal.record("nobody", "t", "a", 0, b""),
        lambda: journal.spent("nobody"),
        lambda: list(journal.records("nobody")),
    ):
        with pytest.raises(UsageError, match="no run 'nobody': open it first"):
            ask()
    with pytest.raises(UsageError, match="without a name"):
        journal.open_run("", "bench")
    assert journal.stats().calls == 0


OWN = """
run = journal.open_run("a", "bench")
print(os.getpid(), flush=True)
sys.stdin.read()
"""


def test_one_process_at_a_time_carries_on_with_a_run(journal: Journal, path: Path) -> None:
    """A second process is told who has the run, and may join; when the owner is killed the run is free at once."""
    owner = python(COMMON + OWN, path, stdin=subprocess.PIPE)
    assert owner.stdout is not None
    number = owner.stdout.readline().strip()
    with pytest.raises(UsageError, match=f"'a' is being carried on by process {number} on .*join it"):
        journal.open_run("a", "bench")
    journal.open_run("a", "bench", join=True).close()
    journal.open_run("b", "bench").close()
    owner.kill()
    owner.communicate()
    with journal.open_run("a", "bench") as run:
        assert not run.new
        with pytest.raises(UsageError, match=f"process {os.getpid()} on"):
            journal.open_run("a", "bench")
    journal.open_run("a", "bench").close()


# ---- housekeeping


async def test_stats_tell_what_lies_there(journal: Journal) -> None:
    """Counts, states, sums, sizes and times; of an empty journal too."""
    empty = journal.stats()
    assert (empty.calls, empty.states, empty.unfinished, empty.usage, empty.first) == (0, {}, 0, Usage(), None)
    start = time.time()
    journal.open_run("a", "bench").close()
    await journal.record("a", "t", "arm", 0, b"{}")
    await journal.begin(asking("?"))
    await pay(journal, asking(run="a"))
    found = journal.stats()
    assert (found.runs, found.records, found.calls, found.unfinished) == (1, 1, 2, 1)
    assert found.usage == Usage(1, 2, output=3, usd=0.5)
    assert found.first is not None
    assert found.last is not None
    assert start <= found.first <= found.last <= time.time()
    assert found.bytes > 8 * 4096


def aged(journal: Journal, seconds: float) -> None:
    """Make everything that is there older."""
    journal.close()
    connection = sqlite3.connect(journal.path)
    for table in ("calls", "outcomes", "runs", "records"):
        connection.execute(f"UPDATE {table} SET made = made - ?", (seconds,))
    connection.commit()
    connection.close()


async def test_pruning_by_age(journal: Journal) -> None:
    """What is older goes, runs and calls; what is newer, and a run that is open, stay; numbers never come again."""
    with journal.open_run("open", "bench"):
        journal.open_run("old", "bench").close()
        for run in ("old", "open", ""):
            await pay(journal, asking(f"{run}'s", run=run))
        await journal.record("old", "t", "a", 0, b"{}")
        aged(journal, 100)
        last = await pay(journal, asking("new"))
        assert journal.prune(older_than=50) == Pruned(runs=1, records=1, calls=2)
        assert [known(journal, asking(text)) is not None for text in ("old's", "open's", "'s", "new")] == [
            False,
            True,
            False,
            True,
        ]
        assert [run.name for run in journal.runs()] == ["open"]
        aged(journal, 100)
        journal.prune(older_than=0)
        assert await journal.begin(asking("next")) == last + 1
    with pytest.raises(UsageError, match="no run 'old'"):
        journal.spent("old")
    assert journal.open_run("old", "bench").new
    journal.close()


async def test_pruning_all_but_the_newest_runs(journal: Journal) -> None:
    """The newest runs stay with every call since the oldest of them was opened; asking for nothing is refused."""
    for run in "abc":
        journal.open_run(run, "bench").close()
        await pay(journal, asking(run, run=run))
        await pay(journal, asking(f"beside {run}"))
        aged(journal, 10)
    assert journal.prune(keep=5) == Pruned(0, 0, 0)
    assert journal.prune(keep=2) == Pruned(runs=1, records=0, calls=2)
    assert [run.name for run in journal.runs()] == ["b", "c"]
    assert known(journal, asking("beside b")) is not None
    for wrong in ({}, {"keep": -1}, {"older_than": float("nan")}):
        with pytest.raises(UsageError, match=r"pruned|pruning"):
            journal.prune(**wrong)


async def test_runs_of_one_kind_push_out_none_of_another(journal: Journal) -> None:
    """However many questions are asked after it, the newest run of bench stays."""
    for kind, run in (("bench", "old bench"), ("bench", "bench"), ("ask", "a"), ("ask", "b"), ("ask", "c")):
        journal.open_run(run, kind).close()
        aged(journal, 10)
    assert journal.prune(keep=1).runs == 3
    assert [run.name for run in journal.runs()] == ["bench", "c"]


async def test_vacuum_gives_room_back(journal: Journal) -> None:
    """After pruning most of it the file shrinks, and what stayed is served."""
    await asyncio.gather(*(pay(journal, asking(str(n)), Reply(os.urandom(500).hex())) for n in range(300)))
    aged(journal, 10)
    await pay(journal, asking("new"))
    journal.prune(older_than=5)
    before, after = journal.vacuum()
    assert after < before / 4
    assert known(journal, asking("new")) is not None
    assert integrity(journal.path) == "ok"


async def test_export_tells_everything(journal: Journal) -> None:
    """A line each for runs, results and calls, with requests and outcomes as JSON; more than a chunk of them."""
    journal.open_run("a", "bench", "{}").close()
    await journal.record("a", "t", "vote", 2, b'{\n"right": true\n}')
    await journal.record("a", "t", "vote", 3, b"\xff")
    call = msgspec.structs.replace(
        asking(run="a"), request=Request("m", prompt="1\u2028\n", sampling=Sampling(0.5, max_tokens=7), draw="1.2")
    )
    await pay(journal, call, RICH)
    await journal.begin(asking("?"))
    await asyncio.gather(*(pay(journal, asking(str(n))) for n in range(1_100)))
    out = io.BytesIO()
    count = journal.export(out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(lines) == count == 1 + 2 + 1_102
    run, first, second, rich, hanging = lines[:5]
    assert (run["type"], run["name"], run["kind"], run["config"]) == ("run", "a", "bench", "{}")
    assert (first["task"], first["draw"], first["payload"]) == ("t", 2, {"right": True})
    assert second["payload"] == "/w=="
    assert (rich["key"], rich["run"], rich["model"], rich["state"]) == (call.request.key, "a", "m", "ok")
    assert msgspec.convert(rich["request"], Request) == call.request
    assert msgspec.convert(rich["usage"], Usage) == RICH.usage
    assert msgspec.convert(rich["outcome"], Reply).text == RICH.text
    assert hanging["state"] is hanging["outcome"] is hanging["usage"] is None
    assert [line["request"]["messages"][0]["text"] for line in lines[5:]] == [str(n) for n in range(1_100)]
