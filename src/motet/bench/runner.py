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
    ...     sheet = asyncio.run(run_suite(load_suite("arithmetic", n=6), arms, journal=journal, name="first"))
    >>> len(sheet.tasks), sheet.arms
    (6, ('always 4',))
    >>> folder.cleanup()
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from motet.backend import Backend
from motet.backends.journaled import Journaled
from motet.backends.recorded import Recorded
from motet.bench.ask import chat_of
from motet.bench.cell import Cell, asks_of
from motet.bench.entrants import Entrant
from motet.bench.fingerprint import fingerprint
from motet.bench.grade import grade, scorer_of
from motet.bench.run import AGAIN, KIND, OPENINGS, RESERVED, Arm, Opening, cells, here, openings_of
from motet.bench.sheet import Sheet
from motet.bench.task import Suite, Task
from motet.bench.timing import repeatable, seconds_alone
from motet.budget import Budget
from motet.errors import BackendError, BudgetExceeded, MotetError, UsageError
from motet.journal import Journal
from motet.message import Chat, Reply, Usage, digest, encoded
from motet.outcome import Result
from motet.perform import perform
from motet.run import Agent
from motet.trace import CallEnded, CallFailed, CallStarted, Noted

LOOK = 0.2
"""Seconds between two looks whether another process has joined; what it has done meanwhile may be asked again."""
QUEUED = 512
"""Answers, or tasks, that wait to be written down at most; they share transactions."""


@dataclass(frozen=True)
class _Job:
    task: Task
    arm: str
    draw: int


async def run_suite(
    suite: Suite,
    arms: Mapping[str, Agent | Entrant],
    *,
    journal: Journal,
    name: str,
    models: Mapping[str, str] | None = None,
    repeat: int = 1,
    seed: int = 0,
    concurrency: int = 32,
    budget: Budget | None = None,
    question: Callable[[], Budget | None] = lambda: None,
    judge: Agent | None = None,
    more: Callable[[Sheet], Mapping[str, Entrant]] = lambda _: {},
    watch: Callable[[Cell], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
    resume: bool = False,
    join: bool = False,
    again: bool = False,
    command: str = "",
) -> Sheet:
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
        judge: the agent that grades, for suites whose scorer asks one.
        more: is shown what is there when all have answered, and gives who shall answer as well; until it gives nobody
            new. It has to give the same for the same answers.
        watch: is told each cell, those of an earlier process first.
        stop: when it says so, no further question is put, and those under way are finished.
        resume: go on also where the run was made with other arms, models or tasks: what has not changed is kept, the
            rest is asked anew.
        join: go on also while another process does so; what both ask at the same moment is paid for twice.
        again: put the questions again whose answers failed.
        command: how this was asked for, as the run remembers it.

    Returns:
        The figures; where `stop` ended the run, some are not there. The answers are in the journal
        (`motet.bench.run.read_run`).

    Raises:
        UsageError: there is no arm, the suite's scorer can't be made, the run is open elsewhere, or it was made with
            something else: says what.
        MotetError: the journal can't be written; what is in it stays.
        BudgetExceeded: the purse of the run is spent; what is finished is kept.
    """
    if not arms:
        raise UsageError("nobody is asked: name mixtures, agents or models")
    ids = [task.id for task in suite.tasks]
    if not ids or len(set(ids)) < len(ids) or not all(each.strip() for each in ids):
        raise UsageError(f"{suite.name} needs tasks with ids of their own, none of them blank")
    if repeat < 1 or concurrency < 1:
        raise UsageError(f"{repeat} times, {concurrency} at once: give 1 or more of both")
    scorer_of(suite, suite.tasks[0], judge=judge)
    entrants = {name: each if isinstance(each, Entrant) else Entrant(each) for name, each in arms.items()}
    runner = _Runner(suite, journal, name, models or {}, repeat, seed, budget or Budget(), question, judge, watch, stop)
    runner.joined = runner.backwards = join
    if name in RESERVED:
        raise UsageError(f"a run can't be called {name!r}, which means another: give it another name")
    with journal.open_run(name, KIND, join=join):
        runner.purse.used += journal.spent(name)  # what earlier processes have paid is a part of it
        await runner.open(entrants, resume=resume, again=again, command=command)
        while True:
            await runner.run(entrants, concurrency)
            # Only whole columns say who else shall answer; and where `stop` came in between, those are still left.
            wanted = more(runner.sheet) if runner.sheet.whole else {}
            further = {arm: each for arm, each in wanted.items() if arm not in entrants}
            if not further:
                return runner.sheet
            entrants |= further
            await runner.remember(entrants)


class _Runner:
    """A run under way."""

    def __init__(
        self,
        suite: Suite,
        journal: Journal,
        name: str,
        models: Mapping[str, str],
        repeat: int,
        seed: int,
        purse: Budget,
        question: Callable[[], Budget | None],
        judge: Agent | None,
        watch: Callable[[Cell], None],
        stop: Callable[[], bool],
    ) -> None:
        self.suite, self.journal, self.name, self.models = suite, journal, name, models
        self.repeat, self.seed, self.purse, self.question = repeat, seed, purse, question
        self.judge, self.watch, self.stop = judge, watch, stop
        self.sheet = Sheet([task.id for task in suite.tasks], repeat)
        self.openings: list[Opening] = []
        self.backends: set[str] = set()
        self.ended: BaseException | None = None
        self.joined = self.backwards = False
        self._look = 0.0
        self._room = asyncio.Semaphore(QUEUED)
        self._mark = ""
        now = here()
        self._version = now["version"]
        self._asking = msgspec.structs.replace(suite, tasks=()).key
        self._judging = digest(fingerprint(judge, models)) if judge is not None else ""
        self._base = Opening(
            suite.name,
            len(suite.tasks),
            (),
            seed,
            repeat,
            self._asking,
            suite.scorer if isinstance(suite.scorer, str) else getattr(suite.scorer, "__qualname__", "a function"),
            suite.instructions,
            suite.licence,
            suite.source,
            dict(models),
            now["version"],
            now["python"],
            now["machine"],
            now["date"],
            judge=self._judging,
        )

    # ---- what a run remembers

    async def open(self, entrants: Mapping[str, Entrant], *, resume: bool, again: bool, command: str) -> None:
        """See that what is there fits, write down what is new, and read the answers."""
        self.openings = openings_of(self.journal, self.name)
        tasks = {task.id: task for task in self.suite.tasks}
        kept: set[str] = set()
        for record in self.journal.records(self.name, ""):
            kept.add(record.task)
            if record.task in tasks and encoded(tasks[record.task]) != record.payload:
                raise UsageError(f"the run {self.name!r} knows {record.task!r} as another question: give another --run")
        arms = self._arms(entrants)
        if self.openings:
            before = set(self.openings[-1].chosen) or kept
            changed = list(self._changed(arms, before ^ tasks.keys()))
            if changed and not resume:
                raise UsageError(
                    f"the run {self.name!r} was made {', '.join(changed)}: give --resume to keep what has not "
                    "changed and ask the rest anew, or another --run"
                )
        new = [task for task in tasks if task not in kept]
        for start in range(0, len(new), QUEUED):
            batch = [(task, encoded(tasks[task])) for task in new[start : start + QUEUED]]
            await asyncio.gather(*(self.journal.record(self.name, task, "", 0, content) for task, content in batch))
        chosen = tuple(tasks) if len(tasks) < len(kept | tasks.keys()) else ()
        self._base = msgspec.structs.replace(self._base, command=command, again=again, chosen=chosen)
        self._mark = f"{AGAIN}{len(self.openings)}" if again else ""
        await self.remember(entrants)

    async def remember(self, entrants: Mapping[str, Entrant]) -> None:
        """Write down who answers, unless that is known, and read what they have answered before."""
        opening = msgspec.structs.replace(self._base, arms=self._arms(entrants))
        if self.joined or not self.openings or not _covers(self.openings[-1], opening):
            await self._append(opening)
        new = [arm for arm in entrants if arm not in self.sheet.columns]
        for arm in new:
            self.sheet.arm(arm)
        for cell in cells(self.journal, self.name, self.openings):
            if cell.arm in new and self.sheet.fits(cell.task, cell.draw):
                if self._base.again and _failed(cell):
                    continue
                self.sheet.add(cell)
                self.watch(cell)

    async def _append(self, opening: Opening) -> None:
        """Write an opening down, behind those that other processes have written meanwhile."""
        content = encoded(opening)
        kept = None
        while kept != content:
            number = len(self.openings)
            kept = self.journal.recorded(self.name, "", OPENINGS, number)
            if kept is None:
                await self.journal.record(self.name, "", OPENINGS, number, content)
                kept = self.journal.recorded(self.name, "", OPENINGS, number) or content
            self.openings.append(msgspec.json.decode(kept, type=Opening))

    def _arms(self, entrants: Mapping[str, Entrant]) -> tuple[Arm, ...]:
        return tuple(Arm(name, each.part, self._key(each), each.of, each.draws) for name, each in entrants.items())

    def _key(self, entrant: Entrant) -> str:
        """What an answer depends on besides its task: another key, another answer."""
        made = [fingerprint(entrant.agent, self.models), entrant.part == "placebo"]
        limits = self.question() or Budget()
        purse = [limits.calls, limits.tokens, limits.usd, limits.seconds]
        return digest([*made, purse, self._asking, self._judging, self.seed, self._version])

    def _changed(self, arms: Sequence[Arm], tasks: set[str]) -> Iterator[str]:
        """What a run was made with that is not what it is now, in words."""
        before, now = self.openings[-1], self._base
        if before.asking != now.asking:
            yield "with another suite"
        elif tasks:
            yield f"with {before.tasks} tasks and not these {now.tasks}"
        if before.judge != now.judge:
            yield "with another judge"
        if before.seed != now.seed:
            yield f"with another seed ({before.seed})"
        if before.draws != now.draws:
            yield f"with another number of draws ({before.draws})"
        if before.version != now.version:
            yield f"with another version of motet ({before.version})"
        models = {name for name, what in before.models.items() if now.models.get(name, what) != what}
        if models:
            yield f"with other models behind {', '.join(sorted(models))}"
        elif all(getattr(before, part) == getattr(now, part) for part in ("asking", "judge", "seed", "version")):
            old = {arm.name: arm.key for arm in before.arms if arm.part != "self-consistency"}
            new = {arm.name: arm.key for arm in arms if arm.part != "self-consistency"}
            for word, names in (
                ("without", new.keys() - old.keys()),
                ("with", old.keys() - new.keys()),
                ("with another kind of", {name for name in old.keys() & new.keys() if old[name] != new[name]}),
            ):
                if names:
                    yield f"{word} {', '.join(sorted(names))}"

    # ---- answering

    async def run(self, entrants: Mapping[str, Entrant], concurrency: int) -> None:
        """Have every question answered that is not."""
        kept_as = {arm.name: arm.kept_as + self._mark for arm in self._arms(entrants)}
        jobs = (
            _Job(task, arm, draw)
            for task in (reversed(self.suite.tasks) if self.backwards else self.suite.tasks)
            for draw in range(self.repeat)
            for arm in entrants
            if not self.sheet.has(task.id, arm, draw)
        )

        async def work() -> None:
            for job in jobs:
                if self.ended is not None or self.stop():
                    return
                place = (self.name, job.task.id, kept_as[job.arm], job.draw)
                known = self.journal.recorded(*place) if self._shared() else None
                if known is not None:
                    self._take(msgspec.json.decode(known, type=Cell))
                    continue
                try:
                    cell = await self._answer(entrants[job.arm], job)
                except BudgetExceeded as error:
                    self.ended = error  # those under way are finished: they are paid for
                    return
                await self._write(place, cell)

        self._room = asyncio.Semaphore(QUEUED)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(concurrency):
                    group.create_task(work())
        except* Exception as trouble:  # a bug in an agent of one's own, too, is told as it is
            raise trouble.exceptions[0] from trouble.exceptions[0].__cause__
        finally:
            for _ in range(QUEUED):  # until all that was queued is written
                await self._room.acquire()
        if isinstance(self.ended, BudgetExceeded):
            raise _spent(self.purse)
        if self.ended is not None:
            raise self.ended

    async def _write(self, place: tuple[str, str, str, int], cell: Cell) -> None:
        """Queue an answer to be written down; it counts when it is. Its calls are in the journal already."""

        def written(future: asyncio.Future[int]) -> None:
            self._room.release()
            error = None if future.cancelled() else future.exception()
            if error is not None:
                self.ended = self.ended or error
            elif not future.cancelled():
                self._take(cell)

        content = encoded(cell)
        await self._room.acquire()
        try:
            future = self.journal.record(*place, content)
        except BaseException:
            self._room.release()
            raise
        future.add_done_callback(written)

    def _take(self, cell: Cell) -> None:
        self.sheet.add(cell)
        self.watch(cell)

    def _shared(self) -> bool:
        """Whether another process carries on with the same run: looked for now and then."""
        now = time.monotonic()
        if not self.joined and now >= self._look:
            self._look = now + LOOK
            self.joined = self.journal.recorded(self.name, "", OPENINGS, len(self.openings)) is not None
        return self.joined

    async def _answer(self, entrant: Entrant, job: _Job) -> Cell:
        _check(self.purse)
        within = self.question() or Budget()
        within.start(self.purse)
        chat, seed = chat_of(job.task, self.suite), self.seed + job.draw
        try:
            result = await perform(entrant.agent, chat, seed=seed, budget=within, wrap=self._wrap, told=entrant.told)
        except MotetError:
            raise
        except Exception as bug:  # in an agent of one's own: this answer is lost, and no other
            error = f"{type(bug).__name__}: {bug}"
            return Cell(job.task.id, job.arm, job.draw, 0.0, "failed", error=error, kind="bug")
        if _starved(result, within, self.purse):
            raise _spent(self.purse)  # no answer of this arm's: it is put again when there is money
        calls = self._as_made(result)
        alone = sum((usage for _, usage in calls.values()), Usage())
        seconds = result.seconds
        if any(usage.seconds for _, usage in calls.values()):
            timed = {key: (given, usage.seconds) for key, (given, usage) in calls.items()}
            seconds = sum(usage.seconds for _, usage in calls.values())  # as if one call had come after the other
            if len(calls) > 1 and repeatable(result.trace):
                seconds = await asyncio.to_thread(
                    seconds_alone, entrant.agent, chat, timed, seed=seed, told=entrant.told
                )
        cell = Cell(
            job.task.id,
            job.arm,
            job.draw,
            score=0.0,
            state=result.outcome.state,
            usage=result.usage,
            # The exact sum: another one differs in its last digit with the order in which calls ended.
            alone=msgspec.structs.replace(alone, usd=math.fsum(usage.usd for _, usage in calls.values())),
            seconds=seconds,
            asks=asks_of(result.trace),
            remarks=tuple(dict.fromkeys(event.text for event in result.trace if isinstance(event, Noted))),
        )
        return await self._graded(job, chat, result, cell)

    async def _graded(self, job: _Job, chat: Chat, result: Result, cell: Cell) -> Cell:
        if result.reply is None:
            silent = not result.outcome.missing and any(reply.state == "abstained" for reply in result.replies)
            kind = "" if silent else next((failure.kind for failure in result.outcome.missing), "")
            state = "abstained" if silent else "failed"
            return msgspec.structs.replace(cell, state=state, error=str(result.error), kind=kind)
        seed = self.seed + job.draw
        purse = Budget().start(self.purse)
        found = await grade(
            self.suite, job.task, result.reply, chat=chat, judge=self.judge, seed=seed, budget=purse, wrap=self._wrap
        )
        return msgspec.structs.replace(
            cell,
            score=found.score,
            text=result.reply.text,
            error=found.error,
            notes=found.notes,
            usage=result.usage + found.usage,
        )

    def _wrap(self, backend: Backend) -> Backend:
        """A backend with the journal; what is recorded already is not written down a second time."""
        if isinstance(backend, Recorded):
            return backend
        self.backends.add(backend.name)
        return Journaled(backend, self.journal, code=self._code(backend.name), run=self.name, unusable=True)

    def _code(self, backend: str) -> str:
        return f"{self._version} {self.models.get(backend, '')}".strip()

    def _as_made(self, result: Result) -> dict[str, tuple[Reply | BackendError, Usage]]:
        """The calls of a run as they were when they were made, by their keys."""
        found: dict[str, tuple[Reply | BackendError, Usage]] = {}
        for event in result.trace:
            if isinstance(event, CallFailed):
                error = BackendError(event.kind, event.text, status=event.status, attempts=event.attempts)
                found[event.key] = error, event.usage
            elif isinstance(event, CallEnded) and not (event.saved and event.key in found):
                reply, usage = event.reply, event.reply.usage
                if event.saved:
                    known = (
                        self.journal.known(event.key, name, self._code(name), unusable=True) for name in self.backends
                    )
                    first = next((reply for reply in known if reply is not None), None)
                    usage = first.usage if first is not None else Usage(calls=usage.saved_calls)
                elif event.key in found:  # it had failed before
                    usage += found[event.key][1]
                found[event.key] = reply, usage
        return found


def _failed(cell: Cell) -> bool:
    """Whether an answer failed or has no grade, or somebody failed whose reply a mixture's was to be made from."""
    return (
        cell.state == "failed"
        or cell.score is None
        or (cell.state != "full" and any(said.state == "failed" for said in cell.asks))
    )


def _covers(before: Opening, now: Opening) -> bool:
    """Whether an opening says all that another does, and at most some baselines more."""
    arms = tuple(arm for arm in before.arms if arm.part != "self-consistency")
    same = msgspec.structs.replace(before, arms=now.arms, date=now.date, command=now.command, again=now.again)
    return not now.again and same == now and now.arms in (arms, before.arms)


def _starved(result: Result, own: Budget, purse: Budget) -> bool:
    """Whether the run's purse, not the question's own, kept a question from its answer, or cut a reply short."""
    if isinstance(result.error, BudgetExceeded) and result.error.budget is purse:
        return True
    if _left(own) <= _left(purse):
        return False
    granted = {event.key: event.request for event in result.trace if isinstance(event, CallStarted)}
    short = any(
        event.reply.state == "cut" and granted[event.key].max_tokens < granted[event.key].sampling.max_tokens
        for event in result.trace
        if isinstance(event, CallEnded) and event.key in granted
    )
    return short or result.stopped == "usd"


def _left(purse: Budget) -> float:
    return math.inf if purse.usd is None else purse.usd - purse.used.usd


def _check(purse: Budget) -> None:
    """See that there is money left for another question."""
    if purse.usd is not None and purse.used.usd >= purse.usd:
        raise _spent(purse)


def _spent(purse: Budget) -> BudgetExceeded:
    limit, used = purse.usd or 0.0, purse.used.usd
    left = "" if used >= limit else f", of which {limit - used:.4g} are left, does not pay for another question"
    text = f"the run's budget of {limit:g} usd{left or ' is spent'}: what is finished is kept, and a larger one goes on"
    return BudgetExceeded(purse, "usd", used, 0, limit, text)
