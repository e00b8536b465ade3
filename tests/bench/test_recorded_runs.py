"""Runs of real models' recorded answers: the figures that the measures give, by asking, grading and writing down."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from recorded import recorded

from motet.agent import ModelAgent
from motet.backends.recorded import Checker, Recorded, gold
from motet.bench.entrants import Entrant
from motet.bench.results import results_of
from motet.bench.run import read_run
from motet.bench.runner import run_suite
from motet.bench.task import Suite, Task
from motet.compose.cascade import Cascade
from motet.compose.vote import Vote
from motet.journal import Journal
from motet.tables.table import Table


def asked(table: Table) -> Suite:
    """The items themselves as questions, graded as they were recorded."""
    tasks = tuple(Task(item, item, (gold(table, row),)) for row, item in enumerate(table.items))
    return Suite("recorded", tasks, scorer=lambda text, task: text == task.target[0])


def test_the_vote_of_the_three_best_of_mmlu_pro(tmp_path: Path) -> None:
    """71.7 % of all 5,998, better than each of them alone; the members alone as the table has them."""
    table = recorded("mmlu_pro")
    agents = {name: ModelAgent(Recorded(table, name), name) for name in table.agents[:3]}
    arms = {name: Entrant(agent, "member") for name, agent in agents.items()}
    arms["vote"] = Entrant(Vote(tuple(agents.values())))
    with Journal(tmp_path / "journal.sqlite") as journal:
        asyncio.run(run_suite(asked(table), arms, journal=journal, name="r"))
        found = results_of(read_run(journal, "r"))
    right = {line.arm: round(100 * line.right, 1) for line in found.lines}
    assert right.pop("vote") == 71.7
    assert right == {name: round(100 * float(table.correct[:, place].mean()), 1) for place, name in enumerate(agents)}
    assert found.verdict[0].startswith(f"vote is better than {found.best_member}, the best member, by 1.9 points")


def test_the_perfect_cascade_of_swebench_bash_only(tmp_path: Path) -> None:
    """DeepSeek V3.2, then Gemini 3 Pro where a perfect checker says it failed: 77.8 % at 0.252 USD an item."""
    table = recorded("swebench_bash_only")
    names = ("DeepSeek V3.2 Reasoner", "Gemini 3 Pro Preview (2025-11-18)")
    cascade = Cascade(tuple(ModelAgent(Recorded(table, name), name) for name in names), Checker(table))
    with Journal(tmp_path / "journal.sqlite") as journal:
        asyncio.run(run_suite(asked(table), {"cascade": cascade}, journal=journal, name="r"))
        (line,) = results_of(read_run(journal, "r")).lines
    assert round(100 * line.right, 1) == 77.8
    assert line.usd == pytest.approx(0.252, abs=0.0005)
