"""`motet bench`: agents and mixtures over the tasks of a suite, with intervals, costs and a comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli.options import Config, Json, complete_lists

if TYPE_CHECKING:
    from motet.bench.results import Results
    from motet.bench.runner import Cell
    from motet.spec import Config as Configuration


def bench(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A built-in suite, or a file of tasks.")],
    arms: Annotated[
        str,
        typer.Option(
            "--with", metavar="A,B", help="Who answers: mixtures, agents, models.", autocompletion=complete_lists
        ),
    ] = "",
    members: Annotated[
        bool, typer.Option("--members/--no-members", help="Whether the mixtures' members answer alone as well.")
    ] = True,
    n: Annotated[int | None, typer.Option("--n", metavar="N", min=1, help="How many tasks.")] = None,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="How often each task is put.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same run.")] = 0,
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Questions under way at once.")] = 8,
    budget_usd: Annotated[
        float | None, typer.Option(metavar="N", min=0, help="US dollars at most for the whole run.")
    ] = None,
    run: Annotated[str, typer.Option(metavar="NAME", help="The run's name; one that there is goes on.")] = "",
    file: Annotated[
        Path | None, typer.Option("--file", metavar="PATH", help="The journal; by default the one of this user.")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Compare agents and mixtures on a suite.

    Killed or interrupted, the same command goes on: nothing that was finished is lost, or paid for again.
    """
    from motet import api
    from motet.bench.results import results
    from motet.bench.runner import run_suite
    from motet.bench.suite import load_suite
    from motet.budget import Budget
    from motet.cli import fetching, output
    from motet.errors import UsageError
    from motet.journal import Journal, default_path

    tasks = load_suite(suite, n=n, seed=seed)
    known = api.configuration(config)
    names = [name.strip() for name in arms.split(",") if name.strip()] or [known.default]
    alone = _members(known, names) if members else []
    for name in names:
        fetching.ensure(known, name)
    everyone = {name: known.agent(name) for name in dict.fromkeys([*alone, *names])}
    # The name says what is asked of whom, so that the same command finds its run again.
    name = run or f"{tasks.name}, {len(tasks.tasks)} tasks, {repeat}x, seed {seed}: {', '.join(everyone)}"
    total = len(tasks.tasks) * repeat * len(everyone)
    with Journal(file or default_path()) as journal, progress(total) as watch:
        try:
            cells = api.background(
                run_suite(
                    tasks,
                    everyone,
                    journal=journal,
                    name=name,
                    models=_models(known, names),
                    repeat=repeat,
                    seed=seed,
                    concurrency=concurrency,
                    budget=Budget(usd=budget_usd),
                    question=known.budget,
                    watch=watch,
                )
            )
        except KeyboardInterrupt:
            output.say("interrupted: what is finished is kept; the same command goes on from there")
            raise
    if not cells:
        raise UsageError("nothing was asked")
    found = results(cells, members=alone, seed=seed)
    if json:
        output.json(found)
    else:
        show(found, tasks.name, len(tasks.tasks), repeat, seed)


def _members(known: Configuration, names: list[str]) -> list[str]:
    """The agents that the named mixtures are made of, in alphabetical order."""
    from motet.spec import describe

    found: set[str] = set()
    for name in names:
        agents = describe(known.agent(name)).get("agents")
        found |= set(agents) if isinstance(agents, dict) else set()
    return sorted(found - set(names))


def _models(known: Configuration, names: list[str]) -> dict[str, str]:
    """What each model is, as the configuration has it: under a name that comes to mean another, nothing is known."""
    from motet.message import digest

    tables: dict[str, object] = {}
    for name in names:
        parts = known.subset(name)
        models = parts.get("models")
        folder = parts.get("folder", "")
        tables |= {model: [table, folder] for model, table in models.items()} if isinstance(models, dict) else {}
    return {model: digest(table) for model, table in tables.items()}


@contextmanager
def progress(total: int) -> Iterator[Callable[[Cell], None]]:
    """A line on a terminal that says how far it is, how fast, and how good so far."""
    from motet.cli import output

    if not output.animated():
        yield lambda _: None
        return
    began, done, right, graded, usd, failed = time.monotonic(), 0, 0.0, 0, 0.0, 0
    with output.stderr().status(f"0 of {total}") as status:

        def watch(cell: Cell) -> None:
            nonlocal done, right, graded, usd, failed
            done += 1
            failed += cell.state == "failed"
            usd += cell.usage.usd
            if cell.score is not None:
                right, graded = right + cell.score, graded + 1
            rate = done / max(1e-9, time.monotonic() - began)
            status.update(
                f"{done} of {total}, {rate:.1f} a second, {(total - done) / rate:.0f} s left; "
                f"{100 * right / max(1, graded):.1f} % right, {usd:.4f} USD, {failed} failed"
            )

        yield watch


def show(found: Results, suite: str, tasks: int, repeat: int, seed: int) -> None:
    """Write the table and the verdict for people."""
    from motet.cli import output
    from motet.diagnosis.text import between, chance, figure, percent, points

    rows = [
        (
            f"{line.arm} *" if line.member else line.arm,
            percent(line.right),
            between(line.interval),
            points(line.difference) if line.difference is not None else "",
            between(line.difference_interval) if line.difference_interval is not None else "",
            chance(line.p_holm).removeprefix("p ").removeprefix("= ") if line.p_holm is not None else "",
            figure(line.calls),
            f"{line.tokens_in + line.tokens_out:.0f}",
            figure(line.usd),
            f"{line.seconds_p50:.2f}",
            str(line.abstained),
            str(line.failed + line.ungraded),
        )
        for line in found.lines
    ]
    columns = ("arm", "right", "95 %", "to best", "95 %", "p", "calls", "tokens", "USD", "s", "silent", "failed")
    output.show(output.table(columns, rows, wraps=("arm",)))
    times = f", {repeat} times each" if repeat > 1 else ""
    output.data(
        f"\n{suite}: {tasks} tasks{times}, seed {seed}. * answers alone; p is Holm's, against the best of them.\n"
    )
    if found.saved_calls:
        output.data(f"{found.saved_calls} calls were shared or known already.\n")
    output.paragraph(found.verdict)
