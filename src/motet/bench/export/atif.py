"""Trajectories in ATIF, the Agent Trajectory Interchange Format of Harbor, one a line.

A trajectory is an answer, its steps in order: what was asked, each ask of another agent on the way with what it said,
and the answer. Steps name in `extra` who spoke, and the steps whose words it was given or was made from.

    {"schema_version": "ATIF-v1.7", "trajectory_id": "run/vote/q1/1", "agent": {"name": "vote", "version": "0.1"},
     "steps": [{"step_id": 1, "source": "user", "message": "What is 2 + 2?"},
               {"step_id": 2, "source": "agent", "message": "4", "extra": {"agent": "small", "heard": []}, ...},
               {"step_id": 3, "source": "agent", "message": "4", "llm_call_count": 0, "extra": {"agent": "vote"}}], ...}

The format knows one trajectory a document. They are lines of one file here, since a run has tens of thousands; each
line by itself is such a document. Version 1.7 is the first that has `trajectory_id` and `llm_call_count`. Tokens of a
call that was known already are not those of a step, which made none: totals are what the answer takes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec

from motet.bench.ask import chat_of
from motet.bench.cell import Cell, Said
from motet.bench.export.rows import line
from motet.bench.run import Arm, BenchRun
from motet.bench.task import Suite, Task
from motet.message import Message, Usage

SCHEMA: Final = "ATIF-v1.7"
TOLD: Final = (
    "Calls that were known already, as arms share them, are counted in extra.saved_calls of their steps and have no "
    "tokens there; final_metrics are what this answer takes alone, so they can exceed the sum of the steps."
)

Json = dict[str, object]


def write_atif(run: BenchRun, cells: Iterator[Cell], stream: BinaryIO) -> None:
    """Write a trajectory a line."""
    opening, arms = run.opening, run.arms
    suite = Suite(opening.suite, (), instructions=opening.instructions)
    for cell in cells:
        stream.write(line(trajectory(run, arms[cell.arm], cell, run.tasks[cell.task], suite)))


def trajectory(run: BenchRun, arm: Arm, cell: Cell, task: Task, suite: Suite) -> Json:
    """An answer as a trajectory.

    Args:
        run: where it is from.
        arm: who answered.
        cell: the answer.
        task: what was asked.
        suite: with what instructions.

    Returns:
        The document.
    """
    asked = [_turn(message) for message in chat_of(task, suite).messages]
    first = len(asked) + 1
    asks = [_ask(said, first) for said in cell.asks]
    steps = [{"step_id": place, **step} for place, step in enumerate([*asked, *asks, _answer(cell)], start=1)]
    name = f"{run.name}/{arm.name}/{task.id}/{cell.draw + 1}"
    return {
        "schema_version": SCHEMA,
        "session_id": name,
        "trajectory_id": name,
        "agent": {
            "name": arm.name,
            "version": run.opening.version or "unknown",
            "extra": {"part": arm.part, "of": arm.of, "draws": arm.draws},
        },
        "steps": steps,
        **({"notes": TOLD} if cell.asks or cell.usage.saved_calls else {}),
        "final_metrics": {
            "total_prompt_tokens": cell.alone.input,
            "total_completion_tokens": cell.alone.output,
            "total_cached_tokens": cell.alone.cached,
            "total_cost_usd": cell.alone.usd,
            "total_steps": len(steps),
            "extra": {
                "calls": cell.alone.calls,
                "seconds": cell.seconds,
                "paid_usd": cell.usage.usd,
                "saved_calls": cell.usage.saved_calls,
                "saved_usd": cell.usage.saved_usd,
            },
        },
        "extra": {
            "run": run.name,
            "suite": run.opening.suite,
            "task": task.id,
            "topic": task.topic,
            "draw": cell.draw + 1,
            "targets": task.target,
            "score": cell.score,
            "state": cell.state,
            "error": cell.error,
        },
    }


def _turn(message: Message) -> Json:
    """A turn of what was asked; an assistant's, as of an example, was not made by this agent."""
    parts = {"extra": {"parts": [msgspec.Raw(part.body.encode()) for part in message.parts]}} if message.parts else {}
    if message.role == "assistant":
        return {"source": "agent", "message": message.text, "is_copied_context": True, **parts}
    return {"source": "system" if message.role == "system" else "user", "message": message.text, **parts}


def _ask(said: Said, first: int) -> Json:
    """An ask of another agent; `first` is the number of the first of these steps."""
    failed = said.state == "failed"
    return {
        "source": "agent",
        "message": "" if failed else said.text,
        **_metrics(said.usage),
        "extra": {
            "agent": said.agent,
            "state": said.state,
            **({"error": said.text} if failed else {}),
            "heard": [first + place for place in said.heard],
            "depth": said.depth,
            "seconds": said.seconds,
            "saved_calls": said.usage.saved_calls,
        },
    }


def _answer(cell: Cell) -> Json:
    """The last step. An agent by itself has made all calls in it; a mixture most often none."""
    made: Json = {}
    if not cell.asks:
        made = _metrics(cell.alone)
    elif _calls(cell.usage) == sum(_calls(said.usage) for said in cell.asks):
        made = {"llm_call_count": 0}
    return {
        "source": "agent",
        "message": cell.text,
        **made,
        "extra": {"agent": cell.arm, "state": cell.state, "seconds": cell.seconds},
    }


def _calls(usage: Usage) -> int:
    return usage.calls + usage.saved_calls


def _metrics(usage: Usage) -> Json:
    """Of a step's calls: how many, and what those took that were made now; a step without any has none."""
    if not usage.calls:
        return {"llm_call_count": _calls(usage)}
    return {
        "llm_call_count": _calls(usage),
        "metrics": {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "cached_tokens": usage.cached,
            "cost_usd": usage.usd,
        },
    }
