"""How long an answer takes alone, though some of its calls were known already and took no time.

The question is put again in virtual time, where every call takes as long as it took when it was made: what waits for
what comes out by itself, also in a cascade or where the slow are left behind. No backend is called; that no tool and no
agent of one's own acts a second time is for the caller to see (`repeatable`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

from motet.backend import deltas
from motet.backends.wrapper import Wrapper
from motet.budget import Budget
from motet.clock import run_virtual
from motet.errors import BackendError
from motet.message import Chat, Delta, Reply, Request
from motet.perform import perform
from motet.run import Agent
from motet.trace import AskEnded, AskFailed, CallStarted, ToolCalled, Trace

Timed = Mapping[str, tuple[Reply | BackendError, float]]
"""What calls gave, and the seconds that each took, by the keys of their requests."""


@dataclass(frozen=True)
class _Timed(Wrapper):
    """A backend whose calls are known, and take their time."""

    calls: Timed

    async def complete(self, request: Request) -> Reply:
        found = self.calls.get(request.key)
        if found is None:  # a call that was never made (a hedge, say), so nobody waited for it
            await asyncio.Event().wait()
            raise AssertionError
        given, seconds = found
        await asyncio.sleep(seconds)
        if isinstance(given, BackendError):
            raise given
        return given

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        async for delta in deltas(await self.complete(request)):
            yield delta


def repeatable(trace: Trace) -> bool:
    """Whether a run can be performed again without doing anything: everybody in it asked a backend, and no tool."""
    called = {event.path for event in trace if isinstance(event, CallStarted)}
    leaves = {event.path for event in trace if isinstance(event, AskEnded | AskFailed) and event.leaf}
    return leaves <= called and not any(isinstance(event, ToolCalled) for event in trace)


def seconds_alone(
    agent: Agent, chat: Chat, calls: Timed, *, seed: int = 0, told: Callable[[Agent, Chat], Chat] | None = None
) -> float:
    """Seconds from the question to the answer, with every call as long as it took when it was made.

    Args:
        agent: who was asked.
        chat: what.
        calls: all its calls.
        seed: the run's.
        told: as for `perform`.

    Returns:
        Seconds. No other event loop may be running in this thread.

    >>> from motet import ModelAgent, Scripted, Vote
    >>> from motet.message import Message
    >>> agents = [ModelAgent(Scripted("4", name=name), name) for name in "ab"]
    >>> keys = {name: Request(name, (Message("user", "2 + 2?"),), asked="2 + 2?").key for name in "ab"}
    >>> calls = {keys["a"]: (Reply("4"), 1.5), keys["b"]: (Reply("4"), 2.5)}
    >>> seconds_alone(Vote(agents), Chat.of("2 + 2?"), calls)
    2.5
    """

    async def work() -> float:
        try:
            async with asyncio.timeout(sum(seconds for _, seconds in calls.values()) + 60.0):
                result = await perform(
                    agent, chat, seed=seed, budget=Budget(), wrap=lambda backend: _Timed(backend, calls), told=told
                )
        except TimeoutError:
            return sum(seconds for _, seconds in calls.values())
        return result.seconds

    return run_virtual(work())
