"""Running a suite: every arm answers every task, and what is finished is never lost and never paid for twice.

Every call goes through the journal, and so does every graded answer. A run that was killed goes on where it stopped
when it is run again under its name: answers that were graded are read, calls that were made are known, and only what
was under way is made again. Arms that ask a member the same thing share the call, since its key is the same.

    >>> import asyncio, tempfile
    >>> from motet import ModelAgent, Scripted
    >>> from motet.bench.suite import load_suite
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Journal(f"{folder.name}/journal.sqlite") as journal:
    ...     arms = {"always 4": ModelAgent(Scripted("4"), "always 4")}
    ...     cells = asyncio.run(run_suite(load_suite("arithmetic", n=6), arms, journal=journal, name="first"))
    >>> len(cells), {cell.arm for cell in cells}
    (6, {'always 4'})
    >>> folder.cleanup()
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping

import msgspec

from motet.backend import Backend
from motet.backends.journaled import Journaled
from motet.bench.ask import chat_of
from motet.bench.grade import grade, scorer_of
from motet.bench.task import Suite, Task
from motet.budget import Budget
from motet.errors import BudgetExceeded, MotetError, UsageError
from motet.journal import Journal
from motet.message import Usage, digest
from motet.outcome import Result
from motet.perform import perform
from motet.run import Agent
from motet.spec.describe import describe
from motet.trace import CallEnded, CallStarted


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """One arm's answer to one task.

    Args:
        task: its id.
        arm: who answered.
        draw: the how manieth time, from 0.
        score: from 0 to 1; None where the answer could not be graded, and then `error` says why.
        state: how whole the answer was: `full`, `degraded` or `single`; `abstained` where everybody did, and `failed`
            where somebody failed and nobody answered. Both score 0.
        text: the answer.
        error: why there is none, or why it was not graded.
        usage: what was paid for; calls that were known already count as saved.
        alone: what it would have taken alone: the same with the saved calls as they were made.
        seconds: from the question to the answer.
    """

    task: str
    arm: str
    draw: int
    score: float | None
    state: str
    text: str = ""
    error: str = ""
    usage: Usage = Usage()
    alone: Usage = Usage()
    seconds: float = 0.0


class _Job(msgspec.Struct, frozen=True):
    task: Task
    arm: str
    draw: int


async def run_suite(
    suite: Suite,
    arms: Mapping[str, Agent],
    *,
    journal: Journal,
    name: str,
    models: Mapping[str, str] | None = None,
    repeat: int = 1,
    seed: int = 0,
    concurrency: int = 32,
    budget: Budget | None = None,
    question: Callable[[], Budget | None] = lambda: None,
    watch: Callable[[Cell], None] = lambda _: None,
) -> list[Cell]:
    """Run a suite, or go on with a run of this name.

    Args:
        suite: what is asked and how it is graded.
        arms: who answers, by name.
        journal: where calls and answers are kept.
        name: the run's name.
        models: what each model is, by its backend's name, in any words: a reply is only known again for the same. Two
            models of one name would be taken for one without it.
        repeat: how often each task is put to each arm, with another seed each time.
        seed: of the first time.
        concurrency: questions under way at once.
        budget: the purse of the whole run, in USD; when it is spent, no further question is put.
        question: makes the purse of one question.
        watch: is told each cell, those of an earlier process first.

    Returns:
        The cells, in the order of tasks, draws and arms, whatever the order in which they came.

    Raises:
        UsageError: there is no arm, the suite's scorer can't be made, the run is open elsewhere, or it was made with
            another suite, other arms or models, or another seed: says which.
        MotetError: the journal can't be written; what is in it stays.
        BudgetExceeded: the purse of the run is spent; what is finished is kept.
    """
    from motet import __version__

    if not arms:
        raise UsageError("nobody is asked: name mixtures, agents or models")
    if repeat < 1 or concurrency < 1:
        raise UsageError(f"{repeat} times, {concurrency} at once: give 1 or more of both")
    scorer_of(suite, suite.tasks[0])
    purse = budget or Budget()
    asked = {
        "suite": suite.key,
        "arms": digest({name: describe(agent) for name, agent in arms.items()}),
        "models": digest(dict(models or {})),
        "seed": str(seed),
        "version": __version__,
    }
    with journal.open_run(name, "bench", msgspec.json.encode(asked).decode()) as run:
        _same(name, msgspec.json.decode(run.info.config), asked)
        done: dict[tuple[str, str, int], Cell] = {}
        for record in journal.records(name):
            cell = msgspec.json.decode(record.payload, type=Cell)
            done[cell.task, cell.arm, cell.draw] = cell
            watch(cell)

        backends: set[str] = set()

        def wrap(backend: Backend) -> Backend:
            backends.add(backend.name)
            return Journaled(backend, journal, code=code(backend.name), run=name)

        def code(backend: str) -> str:
            return f"{__version__} {(models or {}).get(backend, '')}".strip()

        async def work(jobs: Iterator[_Job]) -> None:
            for job in jobs:
                _check(purse)
                within = question() or Budget()
                within.start(purse)
                result = await perform(
                    arms[job.arm], chat_of(job.task, suite), seed=seed + job.draw, budget=within, wrap=wrap
                )
                if _starved(result, within, purse):
                    raise _spent(purse)  # no answer of this arm's: it is put again when there is money
                known = {backend: code(backend) for backend in backends}
                cell = await _graded(suite, job, result, seed, _alone(result, journal, known))
                await journal.record(name, job.task.id, job.arm, job.draw, msgspec.json.encode(cell))
                done[cell.task, cell.arm, cell.draw] = cell
                watch(cell)

        every = [_Job(task, arm, draw) for task in suite.tasks for draw in range(repeat) for arm in arms]
        jobs = iter([job for job in every if (job.task.id, job.arm, job.draw) not in done])
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(work(jobs))
        except* MotetError as trouble:
            raise trouble.exceptions[0] from None
    return [done[job.task.id, job.arm, job.draw] for job in every]


async def _graded(suite: Suite, job: _Job, result: Result, seed: int, alone: Usage) -> Cell:
    made = Cell(
        job.task.id,
        job.arm,
        job.draw,
        score=0.0,
        state=result.outcome.state,
        usage=result.usage,
        alone=alone,
        seconds=result.seconds,
    )
    if result.reply is None:
        silent = not result.outcome.missing and any(reply.state == "abstained" for reply in result.replies)
        state = "abstained" if silent else "failed"
        return msgspec.structs.replace(made, state=state, error=str(result.error))
    found = await grade(suite, job.task, result.reply, seed=seed + job.draw)
    usage = result.usage + found.usage
    return msgspec.structs.replace(made, score=found.score, text=result.reply.text, error=found.error, usage=usage)


def _alone(result: Result, journal: Journal, backends: Mapping[str, str]) -> Usage:
    """What a run would have used if nothing had been known; `backends` by name, with the code of each."""
    used = msgspec.structs.replace(result.usage, saved_calls=0, saved_usd=0.0)
    for event in result.trace:
        if isinstance(event, CallEnded) and event.saved:
            known = (journal.known(event.key, backend, code) for backend, code in backends.items())
            used += next(
                (reply.usage for reply in known if reply is not None), Usage(calls=event.reply.usage.saved_calls)
            )
    return used


def _starved(result: Result, own: Budget, purse: Budget) -> bool:
    """Whether the run's purse, not the question's own, kept a question from its answer, or cut a reply short."""
    if isinstance(result.error, BudgetExceeded) and result.error.budget is purse:
        return True
    if not purse.limited or (_left(own) <= _left(purse)):
        return False
    asked = {event.key: event.request.sampling.max_tokens for event in result.trace if isinstance(event, CallStarted)}
    cut = any(
        event.reply.state == "cut" and event.reply.usage.output < asked.get(event.key, 0)
        for event in result.trace
        if isinstance(event, CallEnded)
    )
    return cut or bool(result.stopped)


def _left(purse: Budget) -> float:
    return math.inf if purse.usd is None else purse.usd - purse.used.usd


def _check(purse: Budget) -> None:
    """See that there is money left for another question."""
    if purse.usd is not None and purse.used.usd >= purse.usd:
        raise _spent(purse)


def _spent(purse: Budget) -> BudgetExceeded:
    limit = purse.usd or 0.0
    text = f"the run's budget of {limit:g} usd is spent: what is finished is kept, and a larger one goes on"
    return BudgetExceeded(purse, "usd", purse.used.usd, 0, limit, text)


def _same(name: str, before: dict[str, str], now: dict[str, str]) -> None:
    changed = [part for part in now if before.get(part) != now[part]]
    if changed:
        raise UsageError(
            f"the run {name!r} was made with another {' and another '.join(changed)}: its answers would not be "
            "comparable; give another --run, or what it was made with"
        )
