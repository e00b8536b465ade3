"""How fast `motet.bench` runs, what the journal costs it, and how much memory it takes.

    python benchmarks/bench.py --out benchmarks/results/bench.json

Recorded agents answer at once, so what is measured is motet: a vote over five of them on 10,000 tasks, every answer
graded and written to the journal, against the same without a journal (the answers are graded and counted, and
nothing is kept). A process for each figure; memory is the peak of the process that runs so many tasks, less what it
had before the suite was made.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import gc
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AGENTS = 5


def suite_and_arms(tasks: int, seed: int):  # type: ignore[no-untyped-def]
    """A suite of so many tasks, and a vote of five agents whose answers to them are recorded."""
    import numpy as np

    from motet.agent import ModelAgent
    from motet.backends.recorded import Recorded
    from motet.bench.task import Suite, Task
    from motet.compose.vote import Vote
    from motet.tables.table import Table

    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 10, tasks)
    answers = np.where(rng.random((tasks, AGENTS)) < 0.6, gold[:, None], rng.integers(0, 10, (tasks, AGENTS)))
    items = tuple(f"item {number}" for number in range(tasks))
    table = Table(
        items,
        tuple(f"agent {number}" for number in range(AGENTS)),
        (answers == gold[:, None]).astype(float),
        answers=answers,
        gold=gold,
        answer_texts=tuple("ABCDEFGHIJ"),
    )
    made = Suite("recorded", tuple(Task(item, item, ("ABCDEFGHIJ"[gold[row]],)) for row, item in enumerate(items)))
    agents = [ModelAgent(Recorded(table, agent), agent) for agent in table.agents]
    return made, {"vote": Vote(agents)}, float(np.mean(answers == gold[:, None]))


def peak() -> float:
    """The most memory this process has had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(tasks: int, journaled: bool, concurrency: int, seed: int) -> None:
    """Run the suite and print what it took."""
    from motet.bench.ask import chat_of
    from motet.bench.grade import grade
    from motet.bench.runner import run_suite
    from motet.journal import Journal
    from motet.perform import perform

    suite, arms, _ = suite_and_arms(tasks, seed)
    before = peak()
    gc.freeze()  # as the command line does: what stays for the whole run is not looked through again and again
    gc.set_threshold(20_000)

    async def kept(folder: str) -> float:
        with Journal(Path(folder) / "journal.sqlite") as journal:
            sheet = await run_suite(suite, arms, journal=journal, name="r", concurrency=concurrency)
        return float(sheet.scores("vote").mean())

    async def plain() -> float:
        right = 0.0
        rest = iter(suite.tasks)

        async def work() -> None:
            nonlocal right
            for task in rest:
                result = await perform(arms["vote"], chat_of(task, suite))
                right += (await grade(suite, task, result.checked())).score or 0.0

        await asyncio.gather(*(work() for _ in range(concurrency)))
        return right / len(suite.tasks)

    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.perf_counter(), time.process_time()
        right = asyncio.run(kept(folder) if journaled else plain())
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
    memory = {"peak_mib": peak(), "over_suite_mib": peak() - before, "bytes_a_task": size / tasks}
    print(
        json.dumps(
            {"tasks": tasks, "journal": journaled, "seconds": seconds, "cpu_seconds": cpu, "right": right} | memory
        )
    )


def measured(tasks: int, journaled: bool, concurrency: int, seed: int) -> dict[str, float]:
    """The same, in a process of its own."""
    command = [sys.executable, __file__, "--child", str(tasks), "--concurrency", str(concurrency), "--seed", str(seed)]
    command += [] if journaled else ["--no-journal"]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    """Measure, print, and write the figures down."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--sizes", default="1000,10000,100000", help="tasks for which memory is measured")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=int)
    parser.add_argument("--no-journal", action="store_true")
    given = parser.parse_args()
    if given.child:
        child(given.child, not given.no_journal, given.concurrency, given.seed)
        return
    rounds = []
    for number in range(given.rounds):
        pair = {kept: measured(given.tasks, kept, given.concurrency, given.seed) for kept in (True, False)}
        rounds.append({"with": pair[True], "without": pair[False]})
        rates = [given.tasks / pair[kept]["seconds"] for kept in (True, False)]
        print(f"round {number + 1}: {rates[0]:,.0f} tasks a second with the journal, {rates[1]:,.0f} without "
              f"(ratio {rates[0] / rates[1]:.2f})")  # fmt: skip
    memory = [measured(size, True, given.concurrency, given.seed) for size in map(int, given.sizes.split(","))]
    for each in memory:
        peaks = f"{each['peak_mib']:.0f} MiB at the peak, {each['over_suite_mib']:.0f} beyond the suite and its agents"
        print(f"{each['tasks']:>7,} tasks: {peaks}; {each['bytes_a_task']:.0f} bytes of journal a task")
    if given.out:
        made = {
            "what": "vote over 5 recorded agents",
            "n": given.tasks,
            "seed": given.seed,
            "concurrency": given.concurrency,
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "python": platform.python_version(),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "command": "python benchmarks/bench.py --out benchmarks/results/bench.json",
            "rounds": rounds,
            "memory": memory,
        }
        given.out.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
