"""Grading: the suite's scorer, made for the task; a scorer that fails marks its item and no other."""

from __future__ import annotations

import dataclasses
import sys
import types
from pathlib import Path

import msgspec
import pytest
from acting import agent

from motet.bench.filters import Filter
from motet.bench.grade import grade, scorer_of
from motet.bench.results import results_of
from motet.bench.run import read_run
from motet.bench.runner import run_suite
from motet.bench.suite import Suite, Task
from motet.errors import BackendError, UsageError
from motet.journal import Journal
from motet.message import Chat, Reply, Request
from motet.run import Run
from motet.score import Choice, Judge, Numeric, UnitTests
from motet.score.versus import SWAYED

TASK = Task("1", "2 + 2?", ("4",))
CHOSEN = Task("1", "Which?", ("B",), choices=("x", "y"))


def suite(scorer: object, task: Task = TASK, **settings: object) -> Suite:
    """A suite of one task with a scorer."""
    return Suite("s", (task,), scorer=scorer, **settings)  # type: ignore[arg-type]


def test_scorers_are_made_for_the_task() -> None:
    """Each gets what it asks for: accepted answers, choices, tests, the judge, the suite's settings."""
    assert scorer_of(suite("choice", CHOSEN), CHOSEN) == Choice(("B",), ("x", "y"))
    assert scorer_of(suite("unit-tests"), TASK) == UnitTests(("4",))
    assert scorer_of(suite("numeric", options={"tolerance": 0.5}), TASK) == Numeric(("4",), 0.5)
    one = agent("j")
    assert scorer_of(suite("judge"), TASK, judge=one) == Judge(one)


@pytest.mark.parametrize(
    ("scorer", "options", "says"),
    [
        ("exakt", {}, "there is no scorer 'exakt'"),
        ("numeric", {"tolerence": 1}, "has no 'tolerence': it has accepted, tolerance, relative"),
        ("numeric", {"tolerance": -1}, "a tolerance of -1 makes no sense"),
        ("judge", {}, "needs a judge"),
        ("agreement", {}, "needs a value for agents"),
        ("no.such:thing", {}, "can't be imported"),
        ("motet.score.versus:SWAYED", {}, "is no function and no scorer"),
        ("motet.errors:UsageError", {}, "is no dataclass"),
    ],
)
def test_a_scorer_that_can_not_be_made(scorer: str, options: dict[str, object], says: str) -> None:
    """What is wrong with the suite's scorer is told before anything is graded."""
    with pytest.raises(UsageError, match=says.replace("(", r"\(")):
        scorer_of(suite(scorer, options=options), TASK)


async def test_any_function_is_a_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function of text and task, plain or async, given or named, and one's own scorer class."""

    def long_enough(text: str, task: Task) -> bool:
        return len(text) >= len(task.input)

    async def half(text: str, task: Task) -> float:
        return 0.5

    @dataclasses.dataclass(frozen=True)
    class Mine:
        """Right if the answer is there twice."""

        accepted: tuple[str, ...]

        async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
            return float(reply.text.count(self.accepted[0]) == 2)

    module = types.ModuleType("my_scorers")
    module.long_enough, module.Mine = long_enough, Mine  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_scorers", module)
    assert (await grade(suite(long_enough), TASK, Reply("four, I think"))).score == 1
    assert (await grade(suite("my_scorers:long_enough"), TASK, Reply("4"))).score == 0
    assert (await grade(suite(half), TASK, Reply("4"))).score == 0.5
    assert (await grade(suite(half), TASK, Reply("", finish="abstain"))).score == 0
    assert (await grade(suite("my_scorers:Mine"), TASK, Reply("4 4"))).score == 1


@pytest.mark.parametrize(
    ("scorer", "error"),
    [
        (lambda text, task: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda text, task: 7, "ValueError: the scorer gave 7, and a score is between 0 and 1"),
        (lambda text, task: float("nan"), "ValueError: the scorer gave nan"),
        (lambda text, task: "yes", "TypeError: the scorer gave str"),
    ],
)
async def test_a_scorer_that_fails_marks_its_item(scorer: object, error: str) -> None:
    """What it raised is in the grade, which has no score: not 0, which would say wrong."""
    found = await grade(suite(scorer), TASK, Reply("4"))
    assert found.score is None
    assert found.error.startswith(error)


async def test_filters_come_first() -> None:
    """The reply is filtered before it is compared; an unusable one is not."""
    strict = suite("verbatim", filters=(Filter("regex", {"regex_pattern": r"#### (\d+)"}),))
    assert (await grade(strict, TASK, Reply("2 + 2 is\n#### 4"))).score == 1
    assert (await grade(strict, TASK, Reply("4"))).score == 0
    assert (await grade(strict, TASK, Reply("", finish="abstain"))).score == 0


async def test_options_can_be_answered_by_text() -> None:
    """With choices the option's text is as good as its letter."""
    for text, score in (("B", 1), ("y", 1), ("A", 0), ("x", 0)):
        assert (await grade(suite("choice", CHOSEN), CHOSEN, Reply(text))).score == score


async def test_a_judge_costs_and_is_noted() -> None:
    """What the judge used and what it said unreadably is in the grade."""
    found = await grade(suite("judge"), TASK, Reply("4"), judge=agent("j", said="Grade: 9"))
    assert (found.score, found.usage.calls, found.notes) == (0.9, 1, ())
    found = await grade(suite("judge"), TASK, Reply("4"), judge=agent("j", said="Nice."))
    assert found.score is None  # a 0 would say that the reply is wrong
    assert "no grade that could be read" in found.error


async def test_agents_of_the_suite_are_asked_in_a_run() -> None:
    """A scorer that asks agents of its own is performed, and what they used is counted."""
    others = [agent("a", said="4"), agent("b", said="5")]
    found = await grade(suite("agreement", options={"agents": others}), TASK, Reply("four"))
    assert (found.score, found.usage.calls) == (0.5, 2)


async def test_a_judge_that_does_not_hold_to_its_choice(tmp_path: Path) -> None:
    """Swayed by the order it is a draw, and noted; what can't be read, or a judge that is down, leaves no grade."""
    firm = suite("versus")
    # The first judge always names the first place; the second finds the reply, wherever it is.
    placed = agent("placed", said="Choice: A")
    wise = agent("wise", said=lambda r: f"Choice: {'AB'[r.text.index('mine') > r.text.index('yours')]}")
    task = Task("1", "Which?", ("yours",))
    swayed = await grade(firm, task, Reply("mine", id="r"), judge=placed)
    sure = await grade(firm, task, Reply("mine", id="r"), judge=wise)
    assert (swayed.score, sure.score) == (0.5, 1.0)
    assert swayed.notes[0].startswith(SWAYED)
    mute = await grade(firm, task, Reply("mine", id="r"), judge=agent("mute", said="Both are nice."))
    assert (mute.score, "could be read in 2 of 2 orders" in mute.error) == (None, True)

    def down(request: Request) -> Reply:
        raise BackendError("connect", "no connection", retry=False)

    assert (await grade(firm, task, Reply("mine", id="r"), judge=agent("down", said=down))).score is None
    arms = {"mine": agent("m", said="mine"), "silent": agent("s", said="")}
    with Journal(tmp_path / "journal.sqlite") as journal:
        for name, judge, held in (("placed", placed, 0), ("wise", wise, 1)):
            told = msgspec.structs.replace(firm, tasks=(task,))
            await run_suite(told, arms, journal=journal, name=name, judge=judge)
            found = results_of(read_run(journal, name)).judge
            assert found is not None
            assert (found.held, found.gradings) == (held, 1)
