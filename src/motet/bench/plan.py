"""What a run will take, before anything is paid: calls, tokens, dollars, hours.

A mixture is never described a second time: it is performed on a sample of the tasks with placeholders, as in
`motet.estimate`, and calls that arms share are counted once, by their keys. The most is what every reply takes at its
longest and every loop at its bound; what is likely goes by how long each model's replies were, and how many seconds
they took, in calls that the journal has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from motet.backend import Backend
from motet.bench.ask import chat_of
from motet.bench.baselines import MOST_DRAWS, varies
from motet.bench.entrants import Entrant
from motet.bench.task import Suite, Task
from motet.budget import Budget
from motet.clock import run_virtual_apart
from motet.errors import UsageError
from motet.estimate import MOST_CALLS, REPLY_TOKENS, Placeholder
from motet.message import Usage
from motet.perform import perform
from motet.trace import CallEnded, CallStarted

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
    input: int
    output: int
    usd: float
    price_output: float


def plan(
    suite: Suite,
    entrants: Mapping[str, Entrant],
    *,
    repeat: int = 1,
    seed: int = 0,
    concurrency: int = 1,
    copies: bool = False,
    known: int = 0,
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
        typical: the mean usage of a call to a backend, by its name; None where none is known.

    Raises:
        UsageError: an arm makes more than `MOST_CALLS` calls on one question.
        MotetError: an arm can't be performed at all; says why.
    """
    sample = _spread(suite.tasks)
    times = len(suite.tasks) / len(sample) * repeat
    found: dict[str, dict[str, _Call]] = {}
    unpriced: set[str] = set()
    for arm, entrant in entrants.items():
        calls: dict[str, _Call] = {}
        for task in sample:
            calls |= _calls(suite, task, entrant, seed, unpriced)
        found[arm] = calls
    every = {key: call for calls in found.values() for key, call in calls.items()}
    names = sorted({call.backend for call in every.values()})
    usual = {name: typical(name) for name in names}

    def planned(arm: str, calls: Mapping[str, _Call]) -> Planned:
        several = list(calls.values())
        seen = all(usual[call.backend] is not None for call in several)
        output = usd = seconds = 0.0
        for call in several:
            mean = usual[call.backend] or Usage()
            output += mean.output
            usd += call.usd - call.price_output * max(0, call.output - mean.output)
            seconds += mean.seconds
        return Planned(
            arm=arm,
            calls=round(len(several) * times),
            input=round(sum(call.input for call in several) * times),
            output=round(sum(call.output for call in several) * times),
            usd=math.fsum(call.usd for call in several) * times,
            likely_output=round(output * times) if seen else None,
            likely_usd=usd * times if seen else None,
            likely_seconds=seconds * times / concurrency if seen else None,
        )

    arms = {arm: planned(arm, calls) for arm, calls in found.items()}
    draws, usd = _copies(arms, entrants) if copies else (0, 0.0)
    return Plan(
        answers=len(suite.tasks) * repeat * len(entrants),
        known=known,
        arms=tuple(arms.values()),
        whole=planned("", every),
        copies=draws,
        copies_usd=usd,
        unpriced=tuple(sorted(unpriced)),
        unseen=tuple(name for name in names if usual[name] is None),
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


def _calls(suite: Suite, task: Task, entrant: Entrant, seed: int, unpriced: set[str]) -> dict[str, _Call]:
    """The calls that a question takes at most, by their keys."""
    backends: dict[str, Backend] = {}

    def stand_in(backend: Backend) -> Backend:
        backends[backend.name] = backend
        if backend.card.price is None:
            unpriced.add(backend.name)
        return Placeholder(backend, REPLY_TOKENS)

    async def work() -> dict[str, _Call]:
        purse = Budget(calls=MOST_CALLS, usd=math.inf)
        result = await perform(
            entrant.agent, chat_of(task, suite), seed=seed, budget=purse, wrap=stand_in, told=entrant.told
        )
        if result.stopped:
            raise UsageError(f"{entrant.agent.name} makes more than {MOST_CALLS:,} calls on one question")
        if result.error is not None:
            raise result.error
        made: dict[str, _Call] = {}
        asked = {event.key: event.request.model for event in result.trace if isinstance(event, CallStarted)}
        for event in result.trace:
            if isinstance(event, CallEnded):
                name, usage = asked[event.key], event.reply.usage
                price = backends[name].card.price
                per_token = price.output / 1e6 if price is not None else 0.0
                made[event.key] = _Call(name, usage.input, usage.output, usage.usd, per_token)
        return made

    return run_virtual_apart(work)
