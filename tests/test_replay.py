"""Replay: what a run did comes out of its trace again, whatever time, money and failures made of it."""

from __future__ import annotations

import asyncio
import random

from acting import check_settled, check_trace
from scenes import kinds, members, purse, scene, steps

from motet import Budget, perform
from motet.clock import run_virtual
from motet.outcome import Result
from motet.replay import replay
from motet.trace import Trace


def same(again: Result, result: Result) -> None:
    """A replay is the run."""
    assert again.reply == result.reply
    assert again.outcome == result.outcome
    assert again.replies == result.replies
    assert (again.usage, again.by_agent) == (result.usage, result.by_agent)
    assert (again.seconds, again.stopped) == (result.seconds, result.stopped)
    assert str(again.error) == str(result.error)
    assert again.warnings == result.warnings


def test_whatever_happens_ends_settles_and_replays() -> None:
    """Failures, stragglers, hedges, purses within purses, shared calls: nothing is left over, no limit is passed, and
    it all comes out of the trace again.
    """
    for seed in range(150):
        check(seed)


def check(seed: int) -> None:
    """One random scene."""
    rng = random.Random(seed)
    cast, todo, limits = members(kinds(rng)), steps(rng), purse(rng)
    budget = Budget(**limits)

    async def work() -> Result:
        result = await perform(scene(todo, cast), "What?", budget=budget)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    result = run_virtual(work())
    check_trace(result.trace)
    check_settled(budget)
    assert budget.used.calls <= limits.get("calls", 1000), seed
    assert budget.used.tokens <= limits.get("tokens", 10**9), seed
    assert budget.used.usd <= limits.get("usd", 1e9), seed
    assert result.seconds <= limits.get("seconds", 1e9) + 1e-6, seed
    made = [len(each.backend.requests) for each in cast]  # type: ignore[attr-defined]
    trace = Trace.from_jsonl(result.trace.to_jsonl())
    assert trace.events == result.trace.events, seed
    again = run_virtual(replay(trace, scene(todo, cast)))
    assert [len(each.backend.requests) for each in cast] == made, seed  # type: ignore[attr-defined]
    same(again, result)
