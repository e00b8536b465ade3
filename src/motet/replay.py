"""Replay: perform a recorded run again, byte for byte, with no call to any backend."""

from __future__ import annotations

from motet.backends.replayed import Replayed
from motet.outcome import Result
from motet.perform import perform
from motet.record import Record
from motet.run import Agent
from motet.trace import Trace


async def replay(trace: Trace, agent: Agent) -> Result:
    """Perform a run again from its trace.

    Args:
        trace: the run's trace.
        agent: the agent that was asked; its backends are not called.

    Returns:
        The same result: same reply, same outcome, the cost and the seconds of the recorded run.

    Raises:
        ReplayMiss: the agent asks for a call that the record does not hold.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, Vote, perform
    >>> vote = Vote([ModelAgent(Scripted("4"), "a"), ModelAgent(Scripted("4"), "b")])
    >>> first = asyncio.run(perform(vote, "2 + 2?"))
    >>> asyncio.run(replay(first.trace, vote)).reply == first.reply
    True
    """
    record = Record(trace)
    started = record.started
    return await perform(
        agent,
        started.chat,
        seed=started.seed,
        tools=started.tools,
        run_id=started.run,
        wanted=started.wanted,
        record=record,
        wrap=lambda backend: Replayed(backend, record),
    )
