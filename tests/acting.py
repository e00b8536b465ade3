"""What tests of runs share: agents that do as they are told, in virtual time, and what every trace has to keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from motet import Budget, Chat, ModelAgent, Reply, Run, Scripted, perform
from motet.backend import Card
from motet.clock import run_virtual
from motet.errors import BackendError
from motet.outcome import Result
from motet.trace import AskEnded, AskFailed, AskStarted, CallEnded, CallFailed, CallStarted, Event, RunEnded, RunStarted


@dataclass(frozen=True)
class Doing:
    """An agent that does what a function says."""

    do: Callable[[Chat, Run], Awaitable[Reply]]
    name: str = "doing"

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        return await self.do(chat, run)


def agent(name: str, said: object = None, delay: float = 0.0, **card: object) -> ModelAgent:
    """A scripted agent that says its own name, or what is given."""
    script = name if said is None else said
    backend = Scripted(
        script if isinstance(script, str) or callable(script) else [script],  # type: ignore[list-item]
        name=f"m-{name}",
        delay=delay,
    )
    if card:
        backend.card = Card(**card)  # type: ignore[arg-type]
    return ModelAgent(backend, name)


def go(do: Callable[[Chat, Run], Awaitable[Reply]], **options: object) -> Result:
    """Perform a function as an agent, in virtual time."""
    return run_virtual(perform(Doing(do), "What?", **options))  # type: ignore[arg-type]


def down(kind: str = "server") -> BackendError:
    """A failing backend's error."""
    return BackendError(kind, "down", status=503)  # type: ignore[arg-type]


def check_trace(events: Iterable[Event]) -> None:
    """Everything that was started has ended, once, and the run is all around it."""
    events = list(events)
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    calls = Counter(event.path for event in events if isinstance(event, CallStarted))
    shared = Counter(event.path for event in events if isinstance(event, CallEnded) and event.saved)
    ends = Counter(event.path for event in events if isinstance(event, CallEnded | CallFailed))
    assert ends - shared == calls
    asks = Counter(event.path for event in events if isinstance(event, AskStarted))
    assert set(asks.values()) <= {1}, "a place was used twice"
    assert Counter(event.path for event in events if isinstance(event, AskEnded | AskFailed)) == asks


def check_settled(budget: Budget) -> None:
    """No reservation is left over."""
    for purse in budget.chain():
        assert (purse._held_calls, purse._held_tokens, purse._held_usd, list(purse._waiters)) == (0, 0, 0.0, [])
