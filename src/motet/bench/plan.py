"""What a run will take, before anything is paid: calls, tokens, dollars, hours.

A mixture is never described a second time: it is performed on a sample of the tasks with placeholders, as in
`motet.estimate`, and calls that arms share are counted once, by their keys. The most is what it takes where every reply
is as long as it may be and every loop runs to its bound; what is likely, where replies are as long, and calls take as
many seconds, as in those that the journal has of each model.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from motet.backend import Backend, prompt_tokens
from motet.bench.ask import chat_of
from motet.bench.baselines import MOST_DRAWS, varies
from motet.bench.entrants import Entrant
from motet.bench.grade import grade, scorer_of
from motet.bench.task import Suite, Task
from motet.budget import Budget
from motet.clock import run_virtual_apart
from motet.errors import UsageError
from motet.estimate import MOST_CALLS, REPLY_TOKENS, Placeholder
from motet.message import Reply, Request, Usage
from motet.perform import perform
from motet.run import Agent

SAMPLE: Final = 10
"""Tasks whose prompts are measured: the lengths of prompts of one suite vary little beside those of replies."""
ASK_ABOVE_USD: Final = 1.0
"""What a run may cost at most without being asked whether it is meant; as much as one question may, by default."""


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """What one arm, or all of them, will take. `likely_*` are null where too little is known."""

    arm: str
    calls: int
    input: int
    output: int
    usd: float
    likely_output: int | None
    likely_usd: float | None
    likely_seconds: float | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a run will take: each arm by itself, and `whole`, where what arms share is counted once.

    `answers` are to be given, `known` of them are in the journal already and cost nothing. `unpriced` models count as
    0 USD; of `unseen` ones no call is in the journal, so nothing likely can be said. `copies` are the draws a task of
    one member that the baselines add at most, and `copies_usd` what they cost: of which member, and how many, is known
    when members and mixtures have answered. Seconds are those of calls one after the other, divided by the questions
    under way at once.
    """

    answers: int
    known: int
    arms: tuple[Planned, ...]
    whole: Planned
    copies: int
    copies_usd: float
    unpriced: tuple[str, ...]
    unseen: tuple[str, ...]


class _Call(msgspec.Struct, frozen=True):
    backend: str
    usage: Usage


def plan(
    suite: Suite,
    entrants: Mapping[str, Entrant],
    *,
    repeat: int = 1,
    seed: int = 0,
    concurrency: int = 1,
    copies: bool = False,
    known: int = 0,
    judge: Agent | None = None,
    typical: Callable[[str], Usage | None] = lambda _: None,
) -> Plan:
    """Plan a run.

    Args:
        suite: what is asked.
        entrants: who answers.
        repeat: how often each task is put.
        seed: of the first time.
        concurrency: questions under way at once.
        copies: whether self-consistency of a member is added.
        known: answers that are there already.
        judge: the agent that grades, for suites whose scorer asks one.
        typical: the mean usage of a call to a backend, by its name; None where none is known.

    Raises:
        UsageError: an arm makes more than `MOST_CALLS` calls on one question.
        MotetError: an arm can't be performed at all; says why.
    """
    sample = _spread(suite.tasks)
    times = len(suite.tasks) / len(sample) * repeat
    unpriced: set[str] = set()
    usual: dict[str, Usage | None] = {}

    def usually(backend: Backend) -> int:
        if backend.name not in usual:
            usual[backend.name] = typical(backend.name)
        seen = usual[backend.name]
        return seen.output if seen is not None else REPLY_TOKENS

    def longest(backend: Backend) -> int:
        if backend.card.price is None:
            unpriced.add(backend.name)
        return sys.maxsize

    most, likely = (
        {
            arm: {key: call for task in sample for key, call in _calls(suite, task, each, seed, judge, length).items()}
            for arm, each in entrants.items()
        }
        for length in (longest, usually)
    )

    def planned(arm: str, calls: Mapping[str, _Call], usual_calls: Mapping[str, _Call]) -> Planned:
        whole = sum((call.usage for call in calls.values()), Usage())
        mean = sum((call.usage for call in usual_calls.values()), Usage())
        seen = all(usual[call.backend] is not None for call in usual_calls.values())
        waited = sum((usual[call.backend] or Usage()).seconds for call in usual_calls.values())
        return Planned(
            arm=arm,
            calls=round(len(calls) * times),
            input=round(whole.input * times),
            output=round(whole.output * times),
            usd=whole.usd * times,
            likely_output=round(mean.output * times) if seen else None,
            likely_usd=mean.usd * times if seen else None,
            likely_seconds=waited * times / concurrency if seen else None,
        )

    arms = {arm: planned(arm, most[arm], likely[arm]) for arm in entrants}
    every = [{key: call for calls in each.values() for key, call in calls.items()} for each in (most, likely)]
    draws, usd = _copies(arms, entrants) if copies else (0, 0.0)
    return Plan(
        answers=len(suite.tasks) * repeat * len(entrants),
        known=known,
        arms=tuple(arms.values()),
        whole=planned("", *every),
        copies=draws,
        copies_usd=usd,
        unpriced=tuple(sorted(unpriced)),
        unseen=tuple(sorted(name for name, seen in usual.items() if seen is None)),
    )


def _copies(arms: Mapping[str, Planned], entrants: Mapping[str, Entrant]) -> tuple[int, float]:
    """The most draws of a member that are worth a mixture's calls, tokens or dollars, and what they cost."""
    most, dearest = 0, 0.0
    for member, entrant in entrants.items():
        if entrant.part != "member" or not varies(entrant.agent):
            continue
        one = arms[member]
        for arm, each in entrants.items():
            if each.part == "mixture":
                whole = arms[arm]
                tokens = (whole.input + whole.output) / max(1, one.input + one.output)
                usd = whole.usd / one.usd if one.usd else 0.0
                draws = min(MOST_DRAWS, math.ceil(max(whole.calls / max(1, one.calls), tokens, usd)))
                most, dearest = max(most, draws), max(dearest, draws * one.usd)
    return most, dearest


def _spread(tasks: Sequence[Task]) -> list[Task]:
    """Some tasks, from all over the suite."""
    step = max(1, len(tasks) // SAMPLE)
    return list(tasks[::step][:SAMPLE])


@dataclass(frozen=True)
class _Counted(Placeholder):
    """A stand-in whose calls are counted: replies as long as they may be, or as they usually are."""

    calls: dict[str, _Call]

    async def complete(self, request: Request) -> Reply:
        """Words that mean nothing, with the usage of a reply as long."""
        reply = await super().complete(request)
        output = min(request.max_tokens, self.reply_tokens) if self.card.reports_usage else 0
        usage = Usage(1, prompt_tokens(self.backend, request) if self.card.reports_usage else 0, output=output)
        price = self.card.price
        usd = price.usd(usage) if price is not None else 0.0
        self.calls[request.key] = _Call(self.name, msgspec.structs.replace(usage, usd=usd))
        return reply


def _calls(
    suite: Suite, task: Task, entrant: Entrant, seed: int, judge: Agent | None, length: Callable[[Backend], int]
) -> dict[str, _Call]:
    """The calls that a question takes, and its grading, by their keys."""
    made: dict[str, _Call] = {}

    def stand_in(backend: Backend) -> Backend:
        return _Counted(backend, length(backend), made)

    async def work() -> None:
        purse = Budget(calls=MOST_CALLS, usd=math.inf)
        chat = chat_of(task, suite)
        result = await perform(entrant.agent, chat, seed=seed, budget=purse, wrap=stand_in, told=entrant.told)
        if result.stopped:
            raise UsageError(f"{entrant.agent.name} makes more than {MOST_CALLS:,} calls on one question")
        if result.error is not None:
            raise result.error
        if getattr(scorer_of(suite, task, judge=judge), "agent", None) is not None:
            await grade(suite, task, result.checked(), judge=judge, seed=seed, budget=purse, wrap=stand_in)

    run_virtual_apart(work)
    return made
