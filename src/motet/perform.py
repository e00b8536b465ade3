"""`perform()`: put a question to an agent; open a run, keep its purse and its clock, sum up what happened."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable, Iterable, Sequence

from motet.backend import Backend
from motet.budget import Budget
from motet.errors import AgentFailed, MotetError, UsageError
from motet.message import Chat, Message, Reply, ToolSpec, Usage
from motet.outcome import Result, outcome
from motet.record import Record
from motet.run import Agent, Run, Shared
from motet.trace import RunEnded, RunStarted, Trace, Watcher

DEFAULT_USD = 1.0
"""What one question may cost when nobody said: a cap on priced backends; local ones cost nothing."""
_COMPACT = {ord("-"): None, ord(":"): None, ord("T"): "-"}


async def perform(
    agent: Agent,
    question: str | Chat | Iterable[Message],
    *,
    seed: int = 0,
    budget: Budget | None = None,
    watchers: Sequence[Watcher] = (),
    tools: Sequence[ToolSpec] = (),
    stream: bool = False,
    run_id: str = "",
    wanted: dict[str, object] | None = None,
    record: Record | None = None,
    wrap: Callable[[Backend], Backend] | None = None,
    told: Callable[[Agent, Chat], Chat] | None = None,
) -> Result:
    """Put a question to an agent.

    Args:
        agent: a single agent or any composition.
        question: words, messages or a chat.
        seed: same seed, same run: it numbers every draw's randomness.
        budget: the purse; where it sets no limit in USD, `DEFAULT_USD` is one (`usd=math.inf` lifts it).
        watchers: called with each event as it happens.
        tools: the client's tools; calls to them are handed back in the reply.
        stream: whether the answering agent's tokens are streamed to the watchers.
        run_id: the run's name; made up if "".
        wanted: how the question was asked for, kept in the trace so that `replay` can ask it again.
        record: the record of an earlier run to repeat (see `motet.replay`).
        wrap: put around every backend that is called (a cache, a record, a stand-in for an estimate).
        told: what each agent is told in place of a chat, to try what hearing is worth (see `motet.bench.placebo`).

    Returns:
        A `Result`, also when the run failed: then its `reply` is None and its `error` says why.

    Raises:
        UsageError: the question is empty.
    """
    from motet import __version__

    chat = Chat.of(question)
    if not any(message.text.strip() or message.parts for message in chat.messages):
        raise UsageError("the question is empty: say what is to be answered")
    trace = Trace(watchers=watchers)
    purse = _capped(budget) if record is None else Budget()
    shared = Shared(trace, purse, seed=seed, tools=tools, record=record, wrap=wrap, told=told)
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    name = run_id or f"{date[:19].translate(_COMPACT)}-{secrets.token_hex(3)}"
    trace.emit(
        RunStarted(
            path="",
            run=name,
            agent=agent.name,
            chat=chat,
            seed=seed,
            tools=tuple(tools),
            wanted=wanted or {},
            date=date,
            version=__version__,
        )
    )
    outermost = Run(shared, "", "", (), purse, acting=True, streaming=stream)
    reply: Reply | None = None
    error: MotetError | None = None
    try:
        reply = await outermost.answer(agent, chat, budget=purse)
        if not reply.usable:
            why = {
                "abstained": "it has nothing to say to this question: ask another agent",
                "cut": f"the reply was cut off at {reply.usage.output} output tokens: raise max_tokens or the budget",
                "empty": "the reply had no words",
            }[reply.state]
            error = MotetError(f"{agent.name}: {why}")
    except AgentFailed as failed:
        error = failed.__cause__ if isinstance(failed.__cause__, MotetError) else failed
    except BaseException as crash:
        error = MotetError(f"interrupted: {type(crash).__name__}: {crash}".removesuffix(": "))
        raise
    finally:
        # A replay calls nothing, so what was spent, and which limit that reached, is what it was then.
        then = record.ended if record is not None else None
        stopped = then.stopped if then else shared.stopped
        kept = reply if reply is not None and reply.usable else None
        found = outcome(trace, kept is not None, stopped)
        seconds = outermost.now()
        by_agent = dict(sorted(shared.spent.items()))
        usage = sum(by_agent.values(), Usage())
        trace.emit(
            RunEnded(
                path="",
                at=seconds,
                reply=kept,
                outcome=found.state,
                usage=usage,
                by_agent=by_agent,
                stopped=stopped,
                error=str(error) if error else "",
            )
        )
    if then is not None:
        usage, by_agent, seconds = then.usage, then.by_agent, then.at
    return Result(name, agent.name, kept, found, usage, by_agent, seconds, stopped, trace, error)


def _capped(budget: Budget | None) -> Budget:
    """`budget`, with a limit in USD where neither it nor a purse around it sets one."""
    if budget is not None and any(purse.usd is not None for purse in budget.chain()):
        return budget
    return Budget(usd=DEFAULT_USD, parent=budget)
