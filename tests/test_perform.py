"""`perform`: a run can be ended at any moment and leaves nothing behind; bad questions are refused in one line."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest
from acting import Doing, agent, check_settled, check_trace, down, go
from scenes import members, scene

from motet import (
    Agreement,
    Best,
    Borda,
    Budget,
    Cascade,
    Chat,
    Council,
    Debate,
    Judge,
    Message,
    MixtureOfAgents,
    Reply,
    Run,
    SelfMoA,
    Synthesize,
    Vote,
    perform,
)  # fmt: skip
from motet.clock import VirtualLoop, run_virtual
from motet.errors import MotetError, UsageError
from motet.run import Agent
from motet.trace import Event, RunEnded, RunStarted

A, B, C = (agent(name, said=said, delay=delay) for name, said, delay in (("a", "4", 1), ("b", "5", 2), ("c", "4", 3)))
HARD = scene(
    [
        {
            "asks": [
                {"who": 0, "other": False, "hedge": 1, "after": 0.5},
                {"who": 2, "other": False, "budget": {"seconds": 1.5, "calls": 2}},
                {"who": 3, "other": False},
                {"who": 1, "other": True, "inner": [
                    {"asks": [{"who": 0, "other": False}, {"who": 1, "other": False}],
                     "need": 1, "grace": 0.5, "offer": True, "parts": True},
                ]},
            ],
            "need": 2, "grace": 0.25, "offer": True, "parts": False,
        },
        {"asks": [{"who": 0, "other": True}], "need": 0, "grace": None, "offer": False, "parts": False},
    ],
    members([("ok", 1.0, 1), ("ok", 2.0, 2), ("ok", 30.0, 1), ("dead", 0.5, 0)]),
)  # fmt: skip
AGENTS: dict[str, Callable[[], Agent]] = {
    "single": lambda: A,
    "vote with grace": lambda: Vote([A, B, C], need=1, grace=0.5),
    "moa": lambda: MixtureOfAgents([A, B], Synthesize(C)),
    "self-moa through a window": lambda: SelfMoA(A, draws=5, window=3, kept=1),
    "cascade": lambda: Cascade([A, B, C], Agreement([B, C])),
    "debate": lambda: Debate([A, B], rounds=3, aggregate=Best(Judge(C))),
    "council": lambda: Council([A, B, C]),
    "borda of mixtures": lambda: Vote([Vote([A, B], name="inner"), C], Borda([A, B])),
    "purses, hedges, stragglers, parts": lambda: HARD,
}


class Stepping(VirtualLoop):
    """Virtual time that says when it takes a step."""

    def __init__(self, step: Callable[[], None]) -> None:
        super().__init__()
        self.step = step

    def _run_once(self) -> None:
        self.step()
        super()._run_once()  # type: ignore[misc]


def cancelled_at(steps: int, build: Callable[[], Agent], **limits: float) -> bool:
    """Cancel a run after so many steps of the loop; whether it was still running then."""
    events: list[Event] = []
    budget = Budget(**limits)  # type: ignore[arg-type]
    tasks: list[asyncio.Task[object]] = []

    async def work() -> None:
        tasks.append(asyncio.ensure_future(perform(build(), "2 + 2?", budget=budget, watchers=[events.append])))
        with contextlib.suppress(asyncio.CancelledError):
            await tasks[0]
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}, "a task was left behind"

    def step() -> None:
        nonlocal steps
        steps -= bool(tasks)
        if not steps and tasks:
            tasks[0].cancel()

    with asyncio.Runner(loop_factory=lambda: Stepping(step)) as runner:
        runner.run(work())
    check_settled(budget)
    if events:
        check_trace(events)
    return tasks[0].cancelled()


@pytest.mark.parametrize("name", AGENTS)
def test_cancelled_at_every_step(name: str) -> None:
    """Whenever a run is cancelled: no task is left, every reservation is given back, all that began has ended."""
    steps = 1
    while cancelled_at(steps, AGENTS[name], calls=30, tokens=10**6, seconds=100):
        steps += 1
    assert steps > 3
    assert not cancelled_at(steps + 1, AGENTS[name])


@pytest.mark.parametrize("name", AGENTS)
def test_out_of_time_at_any_moment(name: str) -> None:
    """Whenever the time is up: it ends then, with a reply or an error that names the limit, and settles."""
    for tenths in range(0, 80, 5):
        budget = Budget(seconds=tenths / 10 + 0.05)
        result = run_virtual(perform(AGENTS[name](), "2 + 2?", budget=budget))
        check_trace(result.trace)
        check_settled(budget)
        assert result.seconds <= tenths / 10 + 0.05 + 1e-6
        if result.reply is None:
            assert isinstance(result.error, MotetError)
            assert (result.stopped, result.outcome.state) == ("seconds", "failed")
        elif result.stopped:
            assert result.outcome.state in ("degraded", "single")


@pytest.mark.parametrize("question", ["", "  \n\t", [], [Message("user", "")], Chat(())])
def test_no_question(question: str | list[Message] | Chat) -> None:
    """Nothing asked is a usage error in one line, and no run."""
    with pytest.raises(UsageError, match="the question is empty"):
        run_virtual(perform(A, question))


def test_a_picture_is_a_question() -> None:
    """A message without words that carries something else is asked."""
    from motet.message import Part

    picture = Message("user", "", parts=(Part.of({"type": "image_url", "image_url": {"url": "data:,"}}),))
    assert run_virtual(perform(A, [picture])).text == "4"


def test_a_bug_ends_the_trace_too() -> None:
    """An exception of one's own code comes out as it is; the trace ends with what it was."""
    events: list[Event] = []

    async def do(chat: Chat, run: Run) -> Reply:
        raise ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError):
        go(do, watchers=[events.append])
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert (events[-1].reply, events[-1].outcome) == (None, "failed")
    assert "ZeroDivisionError: oops" in events[-1].error


def test_an_unusable_reply_is_a_failure() -> None:
    """Cut, empty and abstained replies are never the answer; the error says what to do."""
    for said, words in (
        (Reply("half", finish="length"), "raise max_tokens"),
        (Reply(" "), "had no words"),
        (Reply("", finish="abstain"), "ask another agent"),
    ):
        result = run_virtual(perform(agent("odd", said=said), "What?"))
        assert result.reply is None
        assert words in str(result.error)
        assert result.outcome.state == "failed"


def test_a_composition_passes_a_failure_on() -> None:
    """The error of a run says which call of which agent failed, not that some mixture did."""

    async def do(chat: Chat, run: Run) -> Reply:
        return await run.ask(agent("down", said=down("quota")), chat)

    assert str(go(do).error) == "down: quota: down"
    assert str(run_virtual(perform(Vote([Doing(do)]), "What?")).error).endswith("doing: quota: down: quota: down")
