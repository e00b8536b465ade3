"""What a run pays for, and what it does not pay for again: budgets over processes, judges, cut replies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from motet.agent import ModelAgent
from motet.backend import Card, Price
from motet.backends.recorded import Checker, Recorded
from motet.backends.scripted import Scripted
from motet.bench.cell import Cell
from motet.bench.results import results, results_of
from motet.bench.run import Arm, read_run
from motet.bench.runner import Entrant, run_suite
from motet.bench.sheet import Sheet
from motet.bench.suite import load_suite
from motet.bench.task import Suite, Task
from motet.budget import Budget
from motet.compose.cascade import Cascade
from motet.compose.vote import Vote
from motet.errors import BackendError, BudgetExceeded, MotetError, UsageError
from motet.journal import Journal
from motet.message import Reply, Request, Usage
from motet.tables.table import Table

SUITE = load_suite("arithmetic", n=12)
RIGHT = {task.input: task.target[0] for task in SUITE.tasks}
CENT = Usage(calls=1, input=10, output=5, usd=0.01)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal of its own."""
    with Journal(tmp_path / "journal.sqlite") as made:
        yield made


def model(name: str, reply: Reply | None = None) -> Scripted:
    """A model that is right for a cent, or says something else for it."""
    return Scripted(lambda request: reply or Reply(RIGHT[request.question], usage=CENT), name=name)


def agent(name: str, reply: Reply | None = None) -> ModelAgent:
    """An agent of such a model."""
    return ModelAgent(model(name, reply), name)


def run(journal: Journal, arms: dict[str, object], name: str = "r", suite: Suite = SUITE, **options: object) -> Sheet:
    """Run it here."""
    return asyncio.run(run_suite(suite, arms, journal=journal, name=name, **options))  # type: ignore[arg-type]


def test_the_budget_is_that_of_the_whole_run(journal: Journal) -> None:
    """What earlier processes paid is a part of it; the same limit again asks nobody, a larger one goes on."""
    a = agent("a")
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            run(journal, {"a": a}, budget=Budget(usd=0.05), concurrency=1)
        assert journal.spent("r").usd == pytest.approx(0.05)
    run(journal, {"a": a}, budget=Budget(usd=0.5))
    assert results_of(read_run(journal, "r")).usd == pytest.approx(0.12)


def test_a_judge_is_paid_from_the_same_purse(journal: Journal) -> None:
    """Its calls count, the run ends when the money does, and what was graded is not graded again."""
    judge = agent("j", Reply("Grade: 8", usage=CENT))
    judged = msgspec.structs.replace(SUITE, scorer="judge")
    with pytest.raises(BudgetExceeded):
        run(journal, {"a": agent("a")}, suite=judged, judge=judge, budget=Budget(usd=0.085), concurrency=1)
    kept = len(list(read_run(journal, "r").cells()))
    assert 3 <= kept <= 5
    assert journal.spent("r").usd <= 0.085 + 0.02  # these models tell what they cost only when they have answered
    sheet = run(journal, {"a": agent("a")}, suite=judged, judge=judge)
    assert sheet.scores("a").tolist() == [0.8] * 12
    assert len(judge.backend.requests) <= 13  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="another judge"):
        run(journal, {"a": agent("a")}, suite=judged, judge=agent("other", Reply("Grade: 8", usage=CENT)))


def test_what_the_question_s_own_limits_end_is_an_answer(journal: Journal) -> None:
    """A reply that the model cut, or a limit of calls, is no lack of the run's money, which is nearly all left."""
    cut = agent("cut", Reply("and so on and", finish="length", usage=CENT))
    sheet = run(journal, {"cut": cut}, budget=Budget(usd=0.9), question=lambda: Budget(usd=1.0))
    assert sheet.whole
    three = Vote([agent("a"), agent("b"), agent("c")])
    sheet = run(journal, {"v": three}, name="calls", budget=Budget(usd=0.9), question=lambda: Budget(calls=2, usd=1.0))
    assert sheet.whole
    assert sheet.columns["v"].count("degraded") == 12


def test_replies_without_an_answer_are_shared_too(journal: Journal) -> None:
    """A cut reply, an empty one and an abstention are asked for once, however many arms and processes want them."""
    several = {
        "cut": agent("cut", Reply("and so", finish="length", usage=CENT)),
        "empty": agent("empty", Reply(" ", usage=CENT)),
        "silent": agent("silent", Reply("", finish="abstain", usage=CENT)),
    }
    votes = {f"v{place}": Vote([*several.values(), agent("a")], name=f"v{place}") for place in range(2)}
    for name in ("r", "again"):
        run(journal, {**several, **votes}, name=name)
        assert [len(each.backend.requests) for each in several.values()] == [12, 12, 12]  # type: ignore[attr-defined]


def test_a_reply_that_a_purse_cut_short_is_never_served(journal: Journal) -> None:
    """What a limit of money ended says nothing of the model; with more money it is asked for again."""
    backend = Scripted(
        lambda request: Reply(
            "yes" if request.max_tokens >= 100 else "y",
            finish="stop" if request.max_tokens >= 100 else "length",
            usage=Usage(1, 1, output=min(100, request.max_tokens)),
        ),
        name="dear",
        card=Card(price=Price(output=100)),
    )
    dear = ModelAgent(backend, "dear")
    run(journal, {"dear": dear}, name="poor", question=lambda: Budget(usd=0.005))
    assert read_run(journal, "poor").sheet().columns["dear"].count("failed") == 12
    run(journal, {"dear": dear}, name="rich")
    assert read_run(journal, "rich").sheet().columns["dear"].count("full") == 12


def test_retrying_asks_again_where_there_is_no_grade(journal: Journal) -> None:
    """A scorer that failed leaves answers without a grade; told to retry they are graded, and nobody is asked."""
    broken = True

    def scorer(text: str, task: Task) -> bool:
        if broken:
            raise RuntimeError("not today")
        return text == task.target[0]

    a = agent("a")
    suite = msgspec.structs.replace(SUITE, scorer=scorer)
    assert np.isnan(run(journal, {"a": a}, suite=suite).scores("a")).all()
    broken = False
    assert np.isnan(run(journal, {"a": a}, suite=suite).scores("a")).all()
    assert run(journal, {"a": a}, suite=suite, again=True).scores("a").tolist() == [1.0] * 12
    assert read_run(journal, "r").sheet().scores("a").tolist() == [1.0] * 12
    assert len(a.backend.requests) == 12  # type: ignore[attr-defined]


def test_somebody_missing_is_counted(journal: Journal) -> None:
    """A mixture whose member is down throughout says so, in its line and in the verdict."""

    def down(request: Request) -> Reply:
        raise BackendError("connect", "no connection", retry=False)

    lost = ModelAgent(Scripted(down, name="lost"), "lost")
    a, b = agent("a"), agent("b")
    arms = {"a": Entrant(a, "member"), "b": Entrant(b, "member"), "v": Entrant(Vote([a, b, lost], name="v"))}
    run(journal, arms)  # type: ignore[arg-type]
    found = results_of(read_run(journal, "r"))
    (line,) = [line for line in found.lines if line.arm == "v"]
    assert (line.degraded, line.failed, line.unfit) == (12, 0, False)
    assert any("Somebody was missing in many answers of v (12)" in each for each in found.verdict)


def table(rights: np.ndarray, cost: float = 0.5) -> Table:
    """Recorded agents with a price."""
    items = tuple(f"item {row}" for row in range(len(rights)))
    agents = tuple(f"r{column}" for column in range(rights.shape[1]))
    return Table(items, agents, rights, cost=np.full(rights.shape, cost), seconds=np.full(rights.shape, 2.0))


def recorded_suite(rows: int) -> Suite:
    """The items themselves as questions."""
    return Suite("recorded", tuple(Task(f"item {row}", f"item {row}", ("right",)) for row in range(rows)))


def test_recorded_agents_in_a_run(journal: Journal) -> None:
    """A cascade with a perfect checker, an agent in two places, seconds as recorded; another table is noticed."""
    rights = np.array([[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    made = table(rights)
    agents = [ModelAgent(Recorded(made, name), name) for name in made.agents]
    perfect = Cascade(tuple(agents), Checker(made), name="perfect")
    twice = Vote((agents[0], agents[1], agents[0]), name="twice")
    sheet = run(journal, {"perfect": perfect, "twice": twice}, suite=recorded_suite(4))
    assert sheet.scores("perfect").tolist() == [1.0, 1.0, 1.0, 0.0]
    assert sheet.columns["perfect"].usd[:, 0].tolist() == [1.0, 0.5, 0.5, 1.0]
    assert sheet.columns["perfect"].seconds[:, 0].tolist() == pytest.approx([4.0, 2.0, 2.0, 4.0], abs=0.1)
    assert sheet.columns["twice"].seconds[:, 0].tolist() == pytest.approx([2.0] * 4, abs=0.1)
    other = table(1 - rights)
    with pytest.raises(UsageError, match="another kind of perfect"):
        run(
            journal,
            {"perfect": Cascade(tuple(ModelAgent(Recorded(other, name), name) for name in other.agents), Checker(other),
                                name="perfect")},
            suite=recorded_suite(4),
        )  # fmt: skip


def test_every_mixture_that_is_better_is_named() -> None:
    """A small sure gain is not hidden behind a larger one by chance; what is worse is said to be."""
    rng = np.random.default_rng(5)
    best = np.zeros(200)
    best[:100] = 1
    noisy = best.copy()
    noisy[rng.choice(100, 20, replace=False)] = 0
    noisy[100 + rng.choice(100, 31, replace=False)] = 1
    sure = best.copy()
    sure[100:110] = 1
    worse = np.zeros(200)
    cells = [
        Cell(f"t{place}", arm, 0, float(value), "full")
        for arm, values in (("m", best), ("noisy", noisy), ("sure", sure), ("worse", worse))
        for place, value in enumerate(values)
    ]
    arms = [Arm("m", "member", ""), *(Arm(arm, "mixture", "") for arm in ("noisy", "sure", "worse"))]
    found = results(Sheet.of(cells), arms)
    assert found.verdict[0].startswith("sure is better than m, the best member, by 5.0 points (10 tasks won, 0 lost")
    assert "Worse than m: worse." in found.verdict


@pytest.mark.timeout(20)
def test_an_error_that_is_no_text_is_written_down(journal: Journal) -> None:
    """What a bug says may hold bytes that UTF-8 can't carry: the answer is kept as failed, and nothing waits for it."""

    def odd(request: Request) -> Reply:
        raise ValueError("bytes \udcff of a file name")

    sheet = run(journal, {"odd": ModelAgent(Scripted(odd, name="odd"), "odd"), "a": agent("a")})
    assert (sheet.columns["odd"].count("failed"), sheet.columns["a"].count("full")) == (12, 12)
    assert {cell.kind for cell in read_run(journal, "r").cells() if cell.arm == "odd"} == {"bug"}


@pytest.mark.timeout(20)
def test_an_answer_that_can_t_be_queued_ends_the_run(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that refuses a result at once is an error like any other, and not a wait for ever."""
    record = Journal.record

    def refuse(self: Journal, run: str, task: str, arm: str, draw: int, payload: bytes) -> object:
        if arm.startswith("a@"):
            raise MotetError("the journal can't be opened")
        return record(self, run, task, arm, draw, payload)

    monkeypatch.setattr(Journal, "record", refuse)
    with pytest.raises(MotetError, match="can't be opened"):
        run(journal, {"a": agent("a")})


def test_a_judge_dearer_than_a_question_may_be_leaves_no_grade(journal: Journal) -> None:
    """Without a budget for the run, the limit of one question ends that grading, and neither the run nor the answer."""
    backend = Scripted("Grade: 8", name="j", card=Card(price=Price(input=1e9)))
    judged = msgspec.structs.replace(SUITE, scorer="judge")
    sheet = run(journal, {"a": agent("a")}, suite=judged, judge=ModelAgent(backend, "j"))
    assert sheet.whole
    assert sheet.columns["a"].ungraded == 12
