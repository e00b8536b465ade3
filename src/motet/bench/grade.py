"""Grading: the scorer of a suite on one reply to one of its tasks.

    >>> import asyncio
    >>> from motet.bench.suite import load_suite
    >>> suite = load_suite("general")
    >>> asyncio.run(grade(suite, suite.tasks[0], Reply("It was Leonardo da Vinci."))).score
    1.0

A scorer that raises leaves a grade without a score that says why: the item is marked, and the others are graded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from motet.backend import Backend
from motet.bench.ask import chat_of
from motet.bench.filters import filtered
from motet.bench.task import Suite, Task
from motet.budget import Budget
from motet.errors import BudgetExceeded, UsageError
from motet.message import Chat, Reply, Usage
from motet.perform import perform
from motet.run import Agent, Run, Shared
from motet.score import Scorer
from motet.score.base import AS_ZERO
from motet.spec.fields import fields_of, is_record
from motet.spec.read import suggestion
from motet.spec.registry import imported, variants
from motet.trace import Noted, Trace


class Grade(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a reply is worth.

    Args:
        score: from 0 to 1; None if it could not be graded.
        error: why not.
        notes: what the scorer had to say.
        usage: what grading cost, where agents were asked.
    """

    score: float | None
    error: str = ""
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()


@dataclass(frozen=True)
class Called:
    """A plain function as a scorer: it takes the reply's text and the task.

    Args:
        function: gives True or False, or 0 to 1; it may be async.
        task: what was asked.
    """

    function: Callable[[str, Task], object]
    task: Task

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        if not reply.usable:
            return 0.0
        found = self.function(reply.text, self.task)
        if inspect.isawaitable(found):
            found = await found
        if not isinstance(found, bool | int | float):
            raise TypeError(f"the scorer gave {type(found).__name__}, which is no number: give 0 to 1, or a bool")
        return float(found)


def scorer_of(suite: Suite, task: Task, *, judge: Agent | None = None) -> Scorer:
    """The scorer of a suite, made for one task.

    Args:
        suite: says which, and its settings.
        task: whose accepted answers (or tests) and choices it is given.
        judge: the agent that grades, for scorers that ask one.

    Raises:
        UsageError: there is no such scorer, it can't be made with these settings, or it needs a judge.

    >>> task = Task("1", "Pi?", ("3.14159",))
    >>> scorer_of(Suite("s", (task,), scorer="numeric", options={"tolerance": 0.01}), task)
    Numeric(accepted=('3.14159',), tolerance=0.01, relative=0.0)
    """
    if not isinstance(suite.scorer, str):
        return Called(suite.scorer, task)
    word, known = suite.scorer.replace("-", "_"), variants(Scorer)
    if ":" in word:
        try:
            found = imported(suite.scorer)
        except ImportError as error:
            raise UsageError(f"{suite.name}: the scorer can't be imported: {error}") from error
        if not isinstance(found, type):
            if not callable(found):
                raise UsageError(f"{suite.name}: {suite.scorer} is no function and no scorer")
            return Called(found, task)
        if not is_record(found):
            raise UsageError(f"{suite.name}: {suite.scorer} is no dataclass, and a scorer has to be one")
        return _made(found, suite, task, judge)
    if word not in known:
        raise UsageError(f"{suite.name}: there is no scorer {suite.scorer!r}{suggestion(word, sorted(known))}")
    return _made(known[word], suite, task, judge)


def _made(cls: type, suite: Suite, task: Task, judge: Agent | None) -> Scorer:
    fields = fields_of(cls)
    names = [each.name for each in fields]
    unknown = [name for name in suite.options if name not in names]
    if unknown:
        raise UsageError(f"{suite.name}: the scorer {suite.scorer} has no {unknown[0]!r}: it has {', '.join(names)}")
    given: Mapping[str, object] = {
        "accepted": task.target,
        "tests": task.target,
        "choices": task.choices,
        **({"agent": judge} if judge is not None else {}),
        **suite.options,
    }
    missing = [each.name for each in fields if each.required and each.name not in given]
    if missing:
        what = "a judge: name the agent that grades" if missing == ["agent"] else f"a value for {', '.join(missing)}"
        raise UsageError(f"{suite.name}: the scorer {suite.scorer} needs {what}")
    try:
        made: Scorer = cls(**{name: given[name] for name in names if name in given})
    except TypeError as error:
        raise UsageError(f"{suite.name}: the scorer {suite.scorer} can't be made: {error}") from error
    return made


async def grade(
    suite: Suite,
    task: Task,
    reply: Reply,
    *,
    chat: Chat | None = None,
    judge: Agent | None = None,
    seed: int = 0,
    budget: Budget | None = None,
    wrap: Callable[[Backend], Backend] | None = None,
) -> Grade:
    """Grade one reply.

    Args:
        suite: whose scorer and filters are used.
        task: what was asked.
        reply: what came; an unusable one scores 0.
        chat: the task as it was asked, where that is at hand.
        judge: the agent that grades, for scorers that ask one.
        seed: same seed, same grading.
        budget: the purse of the judge.
        wrap: put around every backend that the judge calls.

    Raises:
        UsageError: the suite's scorer can't be made (see `scorer_of`).
        BudgetExceeded: the judge's purse is spent.
    """
    scorer = scorer_of(suite, task, judge=judge)
    if suite.filters and reply.usable:
        reply = msgspec.structs.replace(reply, text=filtered(reply.text, suite.filters))
    grading, chat = _Grading(scorer, reply), chat or chat_of(task, suite)
    if not (getattr(scorer, "agent", None) or getattr(scorer, "agents", None)):
        # Nobody is asked, so there is no run to keep: a place to note things is enough.
        trace = Trace()
        await grading(chat, Run(Shared(trace, Budget(usd=0)), grading.name, "", (), Budget(usd=0)))
        usage = Usage()
    else:
        result = await perform(grading, chat, seed=seed, budget=budget, wrap=wrap)
        trace, usage = result.trace, result.usage
        if isinstance(result.error, BudgetExceeded) and budget is not None and result.error.budget in budget.chain():
            raise result.error
        if result.error is not None and not grading.found:
            return Grade(None, str(result.error), usage=usage)
    notes = tuple(dict.fromkeys(event.text for event in trace if isinstance(event, Noted)))
    (found,) = grading.found
    if isinstance(found, str):
        return Grade(None, found, notes, usage)
    unread = next((note for note in notes if note.endswith(AS_ZERO)), "")
    if unread:  # for a mixture that chooses among replies a 0; of a reply that is graded it would say that it is wrong
        return Grade(None, unread.removesuffix(AS_ZERO).rstrip("; "), notes, usage)
    return Grade(found, notes=notes, usage=usage)


@dataclass(frozen=True)
class _Grading:
    """The scoring of a reply, as something that can be performed."""

    scorer: Scorer
    reply: Reply
    name: str = "grading"
    found: list[float | str] = field(default_factory=list)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        try:
            score = float(await self.scorer(chat, self.reply, run))
            if not 0 <= score <= 1:
                raise ValueError(f"the scorer gave {score:g}, and a score is between 0 and 1")
        except BudgetExceeded:  # says nothing of the reply
            raise
        except Exception as error:  # whatever a scorer does, one's own among them: this item is marked
            self.found.append(f"{type(error).__name__}: {error}")
        else:
            self.found.append(score)
        return Reply("graded")
