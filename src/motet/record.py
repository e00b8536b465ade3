"""The record of a run: what a replay needs to know of it, read from its trace.

A replay performs the composition again, with every call answered from the record. What content decided comes out
the same by itself. What time or money decided (who was late, who was no longer asked, where a purse ended) is taken
from the record by its place in the run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque

from motet.errors import MotetError, ReplayMiss
from motet.message import Reply
from motet.trace import AnyEvent, AskFailed, CallEnded, CallFailed, RunEnded, RunStarted, ToolCalled, Trace

DECIDED_OUTSIDE = frozenset({"late", "dead", "budget", "stopped"})
"""Kinds of failure that time or money decided, not what was asked and answered."""


class Record:
    """The calls and the outside decisions of one run.

    Args:
        trace: the run's trace, whole.

    Attributes:
        started: how the run was asked for.
        ended: what it cost; None if the trace stops before its end.
        calls: by request key, the reply that was given, or how the call failed.

    Raises:
        MotetError: the trace does not begin with a run.
    """

    def __init__(self, trace: Trace) -> None:
        first = trace.events[0] if trace.events else None
        if not isinstance(first, RunStarted):
            raise MotetError("this is no trace of a run: its first event should be run_started")
        self.started: RunStarted = first
        self.ended: RunEnded | None = None
        self.calls: dict[str, CallEnded | CallFailed] = {}
        self._saved: set[tuple[str, str]] = set()
        self._events = trace.events
        self._sorted = sorted((event.path, place) for place, event in enumerate(trace.events))
        self._failures: dict[str, AskFailed] = {}
        self._tools: dict[str, deque[ToolCalled]] = {}
        for event in trace:
            if isinstance(event, CallEnded | CallFailed):
                known = self.calls.get(event.key)
                if known is None or _told(event) > _told(known):
                    self.calls[event.key] = event
                if isinstance(event, CallEnded) and event.saved:
                    self._saved.add((event.path, event.key))
            elif isinstance(event, AskFailed) and event.failure.kind in DECIDED_OUTSIDE:
                if event.limit or event.leaf:  # else it is what became of a failure further in, and comes by itself
                    self._failures[event.path] = event
            elif isinstance(event, ToolCalled):
                self._tools.setdefault(event.path, deque()).append(event)
            elif isinstance(event, RunEnded):
                self.ended = event

    def failure(self, path: str) -> AskFailed | None:
        """The failure at a place that time or money decided, if there was one."""
        return self._failures.get(path)

    def shared(self, path: str, key: str) -> Reply | None:
        """The reply to a call that a place had for nothing, since another had made it or it was in a cache."""
        event = self.calls.get(key)
        return event.reply if isinstance(event, CallEnded) and (path, key) in self._saved else None

    def tool(self, path: str, name: str, arguments: str) -> ToolCalled:
        """The next call of a tool at a place.

        Raises:
            ReplayMiss: it is another one, or there is none.
        """
        then = self._tools.get(path)
        if not then or (then[0].name, then[0].arguments) != (name, arguments):
            raise ReplayMiss(
                f"the record of run {self.started.run} has no call of the tool {name} like this at {path}: the agents "
                f"or the question are not those of that run"
            )
        return then.popleft()

    def under(self, path: str) -> list[AnyEvent]:
        """What happened at a place and below it, oldest first."""
        places: list[int] = []
        for first, beyond in ((path, f"{path}\0"), (f"{path}/", f"{path}0")):  # "0" comes right after "/"
            start, end = (bisect_left(self._sorted, (bound, 0)) for bound in (first, beyond))
            places += [place for _, place in self._sorted[start:end]]
        return [self._events[place] for place in sorted(places)]

    @property
    def replies(self) -> list[Reply]:
        """Every reply that a backend gave, in the order they came."""
        return [event.reply for event in self.calls.values() if isinstance(event, CallEnded)]


def _told(event: CallEnded | CallFailed) -> int:
    """How much an event tells: a reply more than a failure, and both more than that the call was cancelled."""
    if isinstance(event, CallFailed):
        return 0 if event.kind in DECIDED_OUTSIDE else 1
    return 2 if event.saved else 3  # of the same reply twice, the one that says what it cost
