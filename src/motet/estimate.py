"""Estimates: what a question would cost, before it is asked.

A composition's shape is never declared a second time: it is performed, with every call answered at once by a
placeholder of which no two are alike, in virtual time, one second a call. So nothing agrees, no score is good enough,
no verdict is that it is done, and every loop runs to its bound: the estimate is the most that can be while nobody
fails or abstains, for replies of the length assumed.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

import msgspec

from motet.backend import Backend, deltas, prompt_tokens
from motet.backends.wrapper import Wrapper
from motet.budget import Budget
from motet.clock import run_virtual_apart
from motet.errors import UsageError
from motet.message import Chat, Delta, Message, Reply, Request, Usage
from motet.perform import perform
from motet.run import Agent
from motet.trace import CallStarted

REPLY_TOKENS = 128
"""Length of a reply that later prompts are assumed to carry; motet's choice, a short paragraph."""


_VERDICT = re.compile(r'"(Verdict: (?!STOP|clean)\w+)"')
"""What a prompt offers to say that does not end its loop."""
MOST_CALLS = 10_000
"""Calls after which an estimate gives up: what makes more on one question is a mistake, or wants a budget first."""


class Estimate(msgspec.Struct, frozen=True):
    """The most that one question can take.

    Args:
        calls: calls to backends, retries not counted.
        depth: calls in series: the length of the longest chain of calls that wait for each other.
        input: prompt tokens, members' texts counted at the assumed length.
        output: completion tokens, every reply as long as its agent may make it.
        usd: US dollars at the known prices.
        unpriced: models whose price is not known, and that are counted as 0.
        listening: calls with others' words in their prompt.
        offices: agents that are asked something about the question (to judge, to rank, to choose), never itself.
    """

    calls: int
    depth: int
    input: int
    output: int
    usd: float
    unpriced: tuple[str, ...] = ()
    listening: int = 0
    offices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placeholder(Wrapper):
    """A stand-in for a backend: one virtual second, a text like no other, the longest output for the price."""

    reply_tokens: int

    async def complete(self, request: Request) -> Reply:
        """Words that mean nothing, with the usage of the longest reply."""
        await asyncio.sleep(1.0)
        offered = _VERDICT.search(request.text)
        text = f"{offered.group(1) if offered else ''}\nplaceholder {request.key[:8]}".lstrip()
        if not self.card.reports_usage:
            return Reply(text)
        tokens = min(request.max_tokens, self.reply_tokens)
        text += " " + "word " * max(0, tokens - 8)
        return Reply(text, usage=Usage(1, prompt_tokens(self.backend, request), output=request.max_tokens))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta


def estimate(agent: Agent, question: str | Chat | Iterable[Message], *, reply_tokens: int = REPLY_TOKENS) -> Estimate:
    """The most that putting `question` to `agent` can take. Calls nothing; may be called from anywhere.

    Args:
        agent: a single agent or a composition.
        question: what would be asked.
        reply_tokens: the length assumed for replies that later prompts carry.

    Raises:
        UsageError: it makes more than `MOST_CALLS` calls.
        MotetError: the agent can't be performed at all, and why.

    >>> from motet import ModelAgent, Scripted, Synthesize, MixtureOfAgents
    >>> a, b = ModelAgent(Scripted("", name="a"), "a"), ModelAgent(Scripted("", name="b"), "b")
    >>> found = estimate(MixtureOfAgents([a, b], Synthesize(a), layers=2), "Why is the sky blue?")
    >>> found.calls, found.depth
    (5, 3)
    """
    unpriced: set[str] = set()
    asked = Chat.of(question).question

    def stand_in(backend: Backend) -> Backend:
        if backend.card.price is None:
            unpriced.add(backend.name)
        return Placeholder(backend, reply_tokens)

    async def work() -> Estimate:
        result = await perform(agent, question, budget=Budget(calls=MOST_CALLS, usd=math.inf), wrap=stand_in)
        if result.stopped:
            raise UsageError(
                f"{agent.name} makes more than {MOST_CALLS:,} calls on one question: are its numbers meant so?"
            )
        if result.error is not None:
            raise result.error
        used, calls = result.usage, [event for event in result.trace if isinstance(event, CallStarted)]
        listening = sum(bool(event.heard) for event in calls)
        answering = {event.agent for event in calls if event.request.question == asked}
        offices = tuple(sorted({event.agent for event in calls} - answering))
        names = tuple(sorted(unpriced))
        return Estimate(used.calls, round(result.seconds), used.input, used.output, used.usd, names, listening, offices)

    return run_virtual_apart(work)
