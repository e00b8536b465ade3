"""Running a suite: shared calls, going on after a kill, changed questions, spent purses, failures."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from motet.agent import ModelAgent
from motet.backend import Card, Price
from motet.backends.scripted import Scripted
from motet.bench.cell import Cell
from motet.bench.results import results
from motet.bench.run import Arm, read_run
from motet.bench.runner import run_suite
from motet.bench.sheet import OTHER_REMARKS, Column, Sheet
from motet.bench.suite import load_suite
from motet.bench.task import Suite, Task
from motet.budget import Budget
from motet.compose.best_of_n import BestOfN
from motet.compose.vote import Vote
from motet.errors import BackendError, BudgetExceeded, UsageError
from motet.journal import Journal
from motet.message import Reply, Request, Sampling, Usage
from motet.run import Agent
from motet.score import Judge

SUITE = load_suite("arithmetic", n=12)
RIGHT = {task.input: task.target[0] for task in SUITE.tasks}


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal of its own."""
    with Journal(tmp_path / "journal.sqlite") as made:
        yield made


def knows(share: float, name: str) -> Scripted:
    """A model that is right on the first share of the questions, and costs a cent a call."""
    known = set(list(RIGHT)[: round(share * len(RIGHT))])

    def say(request: Request) -> Reply:
        question = request.question
        text = RIGHT[question] if question in known else "no idea"
        return Reply(text, usage=Usage(calls=1, input=10, output=5, usd=0.01))

    return Scripted(say, name=name)


def run(
    arms: Mapping[str, Agent], journal: Journal, name: str = "r", suite: Suite = SUITE, **options: object
) -> list[Cell]:
    """Run it here; the cells in the order of tasks, draws and arms."""
    sheet = asyncio.run(run_suite(suite, arms, journal=journal, name=name, **options))  # type: ignore[arg-type]
    kept = read_run(journal, name)
    order = {place: number for number, place in enumerate(
        (task, draw, arm) for task in sheet.tasks for draw in range(sheet.draws) for arm in sheet.arms
    )}  # fmt: skip
    return sorted(kept.cells(), key=lambda cell: order[cell.task, cell.draw, cell.arm])


def answers(journal: Journal, name: str = "r") -> int:
    """How many answers a run has."""
    return len(list(read_run(journal, name).cells()))


def test_scores_and_order(journal: Journal) -> None:
    """Each arm answers each task; cells come in the order of tasks, draws and arms, whatever the concurrency."""
    arms = {"half": ModelAgent(knows(0.5, "half"), "half"), "all": ModelAgent(knows(1, "all"), "all")}
    cells = run(arms, journal, repeat=2, concurrency=5)
    places = [(cell.task, cell.draw, cell.arm) for cell in cells]
    assert places == [(task.id, draw, arm) for task in SUITE.tasks for draw in range(2) for arm in arms]
    assert sum(cell.score or 0 for cell in cells if cell.arm == "half") == 12
    assert sum(cell.score or 0 for cell in cells if cell.arm == "all") == 24
    other = run(arms, journal, name="one by one", repeat=2, concurrency=1)
    assert [(cell.score, cell.text) for cell in other] == [(cell.score, cell.text) for cell in cells]


def test_members_calls_are_shared(journal: Journal) -> None:
    """A vote asks nothing that its members were asked alone; what it would take alone is told all the same."""
    backends = [knows(0.3, "a"), knows(0.6, "b"), knows(0.9, "c")]
    members = {backend.name: ModelAgent(backend, backend.name) for backend in backends}
    cells = run({**members, "vote": Vote(list(members.values()))}, journal)
    assert [len(backend.requests) for backend in backends] == [12, 12, 12]
    votes = [cell for cell in cells if cell.arm == "vote"]
    assert sum(cell.usage.usd + cell.usage.saved_usd for cell in votes) == pytest.approx(0.36)
    assert all((cell.alone.calls, cell.alone.usd, cell.alone.tokens) == (3, pytest.approx(0.03), 45) for cell in votes)
    assert sum(cell.usage.usd for cell in cells) == pytest.approx(0.36)
    assert journal.spent("r").usd == pytest.approx(0.36)


def test_a_finished_run_asks_nobody(journal: Journal) -> None:
    """The same run again reads what it has."""
    backend = knows(1, "a")
    arms = {"a": ModelAgent(backend, "a")}
    first = run(arms, journal)
    assert run(arms, journal) == first
    assert len(backend.requests) == 12


def test_going_on_after_an_interruption(journal: Journal) -> None:
    """A run that ended half-way goes on with the rest; the whole is what an unbroken one gives."""
    backend = dataclasses.replace(knows(0.5, "a"), delay=0.01)
    whole = run({"a": ModelAgent(knows(0.5, "a"), "a")}, journal, name="whole")
    left = 5

    def interrupt(cell: Cell) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
        run({"a": ModelAgent(backend, "a")}, journal, watch=interrupt, concurrency=1)
    assert answers(journal) >= 5
    assert [(cell.task, cell.score, cell.text) for cell in run({"a": ModelAgent(backend, "a")}, journal)] == [
        (cell.task, cell.score, cell.text) for cell in whole
    ]


def test_changed_runs_are_refused(journal: Journal) -> None:
    """Another suite, other arms or another seed under a run's name is an error that says which of them changed."""
    arms = {"a": ModelAgent(knows(1, "a"), "a")}
    run(arms, journal)
    for changed, said in [
        ({"seed": 1}, "another seed"),
        ({"arms": {"b": ModelAgent(knows(1, "a"), "b")}}, "without b, with a"),
        ({"suite": load_suite("arithmetic", n=11)}, "12 tasks and not these 11"),
        ({"suite": msgspec.structs.replace(SUITE, instructions="Think.")}, "another suite"),
        ({"repeat": 2}, r"another number of draws \(1\)"),
    ]:
        options = {"arms": arms, "journal": journal, **changed}
        with pytest.raises(UsageError, match=said):
            run(**options)  # type: ignore[arg-type]


def test_a_spent_purse_keeps_what_is_finished(journal: Journal) -> None:
    """No further question is put, what is there stays, and with more money it goes on."""
    backend = knows(1, "a")
    arms = {"a": ModelAgent(backend, "a")}
    with pytest.raises(BudgetExceeded):
        run(arms, journal, budget=Budget(usd=0.05), concurrency=1)
    kept = answers(journal)
    assert 4 <= kept <= 6
    cells = run(arms, journal)
    assert (len(cells), len(backend.requests)) == (12, 12)


def test_failures_are_outcomes(journal: Journal) -> None:
    """A model that is down, one that abstains, and a scorer that raises are told apart, and the run goes on."""

    def down(request: Request) -> Reply:
        raise BackendError("connect", "no connection", retry=False)

    silent = Scripted(lambda request: Reply("", finish="abstain", usage=Usage(1, 1)), name="silent")
    arms: dict[str, Agent] = {
        "down": ModelAgent(Scripted(down, name="down"), "down"),
        "silent": ModelAgent(silent, "silent"),
        "a": ModelAgent(knows(1, "a"), "a"),
    }
    cells = run(arms, journal)
    assert {(cell.arm, cell.state, cell.score) for cell in cells} == {
        ("down", "failed", 0.0),
        ("silent", "abstained", 0.0),
        ("a", "full", 1.0),
    }
    found = {line.arm: line for line in results(Sheet.of(cells), [Arm(arm, "member", "") for arm in arms]).lines}
    assert (found["down"].failed, found["silent"].abstained) == (12, 12)
    assert [found[arm].unfit for arm in ("down", "silent", "a")] == [True, False, False]

    def raises(text: str, task: Task) -> float:
        raise ZeroDivisionError("a bug")

    odd = msgspec.structs.replace(SUITE, scorer=raises)
    cells = run({"a": arms["a"]}, journal, name="raises", suite=odd)
    assert {(cell.score, cell.error) for cell in cells} == {(None, "ZeroDivisionError: a bug")}


def test_remarks_are_counted(journal: Journal) -> None:
    """A judge that can't be read falls back, and of how many answers that is so is counted and kept."""
    judge = ModelAgent(Scripted("All are fine.", name="judge"), "judge")
    members = [ModelAgent(knows(1, name), name) for name in "ab"]
    arms: dict[str, Agent] = {"picks": BestOfN(members, Judge(judge), n=1), "a": members[0]}
    for _ in range(2):  # made, and read again
        sheet = Sheet.of(run(arms, journal))
        a, picks = results(sheet, [Arm("picks", "mixture", ""), Arm("a", "member", "")]).lines
        assert picks.remarks == {"judge gave no grade that could be read; that counts as 0": 12}
        assert a.remarks == {}
    column = Column(200, 1)
    for place in range(200):
        column.put((place, 0), Cell(str(place), "a", 0, 1.0, "full", remarks=(f"remark {place}",)))
    assert (len(column.remarks), column.remarks[OTHER_REMARKS]) == (101, 100)


def test_odd_options(journal: Journal) -> None:
    """Nobody to ask, no repetition and nothing at once are refused."""
    with pytest.raises(UsageError, match="nobody is asked"):
        run({}, journal)
    with pytest.raises(UsageError, match="1 or more of both"):
        run({"a": ModelAgent(knows(1, "a"), "a")}, journal, repeat=0)


CHILD = """
import asyncio, sys
from pathlib import Path
from motet.agent import ModelAgent
from motet.backend import Card, Price
from motet.backends.scripted import Scripted
from motet.bench.run import read_run
from motet.bench.runner import run_suite
from motet.bench.suite import load_suite
from motet.compose.vote import Vote
from motet.journal import Journal

folder = Path(sys.argv[1])
log = open(folder / "calls.log", "a", buffering=1)

def model(name, answer):
    def say(request):
        log.write(f"{name} {request.key}\\n")  # what upstream was paid for
        return answer
    return Scripted(say, name=name, delay=0.004)

members = [ModelAgent(model(name, answer), name) for name, answer in (("a", "4"), ("b", "5"), ("c", "4"))]
arms = {member.name: member for member in members} | {"vote": Vote(members)}
with Journal(folder / "journal.sqlite") as journal:
    asyncio.run(run_suite(load_suite("arithmetic", n=40), arms, journal=journal, name="r", concurrency=4))
    cells = list(read_run(journal, "r").cells())
table = "\\n".join(sorted(f"{cell.task} {cell.arm} {cell.score} {cell.text}" for cell in cells))
(folder / "table.txt").write_text(table)
"""


def test_kills_lose_nothing(tmp_path: Path) -> None:
    """Killed at random moments, the run ends with the table of an unbroken one, and few calls are repeated."""
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    for folder in (broken, whole):
        folder.mkdir()
    subprocess.run([sys.executable, "-c", CHILD, str(whole)], check=True)
    rng = random.Random(3)
    kills = 0
    for _ in range(60):
        process = subprocess.Popen([sys.executable, "-c", CHILD, str(broken)])
        # Importing takes about a second; before the first call there is nothing to lose.
        began = time.monotonic()
        size = (broken / "calls.log").stat().st_size if (broken / "calls.log").exists() else 0
        while process.poll() is None and time.monotonic() < began + 20:
            if (broken / "calls.log").exists() and (broken / "calls.log").stat().st_size > size:
                break
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.12))
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        if kills == 8:
            subprocess.run([sys.executable, "-c", CHILD, str(broken)], check=True)
            break
    assert kills >= 2
    assert (broken / "table.txt").read_text() == (whole / "table.txt").read_text()
    paid, once = ((folder / "calls.log").read_text().splitlines() for folder in (broken, whole))
    assert set(paid) == set(once)
    assert len(once) == len(set(once)) == 120
    assert len(paid) - len(set(paid)) <= 12 * kills  # at most the calls under way: 4 questions of 3


def test_another_model_under_the_same_name_is_another_model(journal: Journal) -> None:
    """What one model said is never taken for what another says, though both are called the same."""
    arms = [{"a": ModelAgent(Scripted(said, name="m"), "a")} for said in ("old", "new")]
    assert {cell.text for cell in run(arms[0], journal, name="one", models={"m": "old"})} == {"old"}
    assert {cell.text for cell in run(arms[1], journal, name="two", models={"m": "new"})} == {"new"}
    with pytest.raises(UsageError, match="other models behind m"):
        run(arms[1], journal, name="one", models={"m": "new"})


def priced(output: int) -> ModelAgent:
    """An agent whose replies of `output` tokens cost a cent, and whose longest could cost two."""

    def say(request: Request) -> Reply:
        given = min(output, request.max_tokens)
        return Reply(
            RIGHT[request.question] if given == output else "cut",
            finish="stop" if given == output else "length",
            usage=Usage(calls=1, input=1, output=given),
        )

    backend = Scripted(say, name="dear", card=Card(price=Price(output=10_000 / output)))
    return ModelAgent(backend, "dear", sampling=Sampling(max_tokens=2 * output))


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_purse_that_runs_low_cuts_no_answer_short(journal: Journal, concurrency: int) -> None:
    """Where the run's money does not pay for a whole reply, the run ends; no cut or missing answer is kept as one."""
    with pytest.raises(BudgetExceeded, match=r"the run's budget of 0.055 usd"):
        run({"dear": priced(100)}, journal, budget=Budget(usd=0.055), concurrency=concurrency)
    kept = list(read_run(journal, "r").cells())
    assert 3 <= len(kept) <= 5
    assert {(cell.state, cell.score) for cell in kept} == {("full", 1.0)}
    assert journal.spent("r").usd <= 0.055 + 1e-9
    assert {cell.score for cell in run({"dear": priced(100)}, journal)} == {1.0}


FULL = """
import asyncio, sys
from motet.agent import ModelAgent
from motet.backends.scripted import Scripted
from motet.bench.runner import run_suite
from motet.bench.suite import load_suite
from motet.errors import MotetError
from motet.journal import Journal
import random

agent = ModelAgent(Scripted(lambda request: random.Random(request.key).randbytes(40_000).hex(), name="m"), "a")
with Journal(sys.argv[1]) as journal:
    try:
        asyncio.run(run_suite(load_suite("arithmetic", n=200), {"a": agent}, journal=journal, name="r"))
    except MotetError as error:
        print(error)
    print(sum(1 for record in journal.records("r") if record.arm.startswith("a@")))
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="the system has no namespaces")
def test_a_full_disk_is_one_error(tmp_path: Path) -> None:
    """A journal that can't be written ends the run with the error itself, and what was written is there."""
    script = f'mount -t tmpfs -o size=2m none {tmp_path} && exec "$@"'
    command = ["unshare", "-Urm", "sh", "-c", script, "sh", sys.executable, "-W", "ignore", "-c", FULL]
    done = subprocess.run(
        [*command, str(tmp_path / "j.sqlite")], capture_output=True, text=True, timeout=60, check=False
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no disk can be made here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    error, kept = done.stdout.splitlines()
    assert "the disk is full" in error
    assert 0 < int(kept) < 200
