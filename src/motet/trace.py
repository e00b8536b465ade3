r"""The trace: what happened in a run, as an append-only list of typed events, with watchers.

Outcomes, costs, views and replay are all read from this one spine. An event's `path` is its place in the
run: `/moa/smol#1` is the second time `moa` asked `smol`. Who heard whom is derived from provenance, never declared:
a call's request carries the ids of the replies whose words are in it.

    >>> trace = Trace()
    >>> trace.emit(Offered(path="/vote", at=0.1, reply="r1"))
    >>> trace.to_jsonl()
    '{"type":"offered","path":"/vote","at":0.1,"reply":"r1"}\n'
    >>> Trace.from_jsonl(trace.to_jsonl()).events == trace.events
    True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

from motet.errors import Attempt, Failure, Kind, MotetError
from motet.message import Chat, Reply, Request, ToolSpec, Usage, encoded


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", gc=False):
    """What every event has: its place in the run, and seconds since the run began."""

    path: str
    at: float = 0.0


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """A question was put to an agent. `wanted` is how it was asked for, so that it can be asked again."""

    run: str
    agent: str
    chat: Chat
    seed: int = 0
    tools: tuple[ToolSpec, ...] = ()
    wanted: dict[str, object] = {}
    date: str = ""
    version: str = ""


class AskStarted(Event, frozen=True, kw_only=True, tag="ask_started"):
    """An agent was asked; `heard` are the replies whose words it was given."""

    agent: str
    heard: tuple[str, ...] = ()


class AskEnded(Event, frozen=True, kw_only=True, tag="ask_ended"):
    """An agent replied; `leaf` says that it is a single agent, not a composition."""

    agent: str
    reply: Reply
    leaf: bool = False


class AskFailed(Event, frozen=True, kw_only=True, tag="ask_failed"):
    """An agent gave no reply. `limit` is the limit that was hit, for the kinds `budget` and `stopped`."""

    failure: Failure
    leaf: bool = False
    limit: str = ""


class Hedged(Event, frozen=True, kw_only=True, tag="hedged"):
    """The first draw was late (or failed): `other` was asked as well."""

    agent: str
    other: str


class CallStarted(Event, frozen=True, kw_only=True, tag="call_started"):
    """A request goes to a backend."""

    agent: str
    key: str
    request: Request
    heard: tuple[str, ...] = ()


class CallEnded(Event, frozen=True, kw_only=True, tag="call_ended"):
    """A backend replied. `saved` says that no call was made: the reply was known already."""

    agent: str
    key: str
    reply: Reply
    saved: bool = False


class CallFailed(Event, frozen=True, kw_only=True, tag="call_failed"):
    """A call failed, or was cancelled (`late`, `stopped`); `usage` is what it cost all the same."""

    agent: str
    key: str
    kind: Kind
    text: str
    status: int = 0
    attempts: tuple[Attempt, ...] = ()
    usage: Usage = Usage()


class Fitted(Event, frozen=True, kw_only=True, tag="fitted"):
    """Members' texts did not fit the listener's context: which rule was applied, tokens before and after."""

    agent: str
    rule: str
    before: int
    after: int
    dropped: tuple[str, ...] = ()


class Offered(Event, frozen=True, kw_only=True, tag="offered"):
    """A composition's best reply so far, should the run be stopped."""

    reply: str


class ToolCalled(Event, frozen=True, kw_only=True, tag="tool_called"):
    """The acting agent called a tool; `failed` says that `result` is the error's text."""

    agent: str
    name: str
    arguments: str
    result: str
    failed: bool = False


class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    """Something a reader of the result should know: a ballot that could not be read, usage that made no sense."""

    agent: str
    text: str


class RunEnded(Event, frozen=True, kw_only=True, tag="run_ended"):
    """The run is over: its reply (None if it failed), how whole it is, and what it cost."""

    reply: Reply | None
    outcome: str
    usage: Usage
    by_agent: dict[str, Usage] = {}
    stopped: str = ""
    error: str = ""


AnyEvent = (
    RunStarted
    | AskStarted
    | AskEnded
    | AskFailed
    | Hedged
    | CallStarted
    | CallEnded
    | CallFailed
    | Fitted
    | Offered
    | ToolCalled
    | Noted
    | RunEnded
)


class Streamed(Event, frozen=True, kw_only=True, tag="streamed"):
    """A piece of the answer as it is written. Watchers see it; the trace does not keep it."""

    agent: str
    text: str


Watcher = Callable[[Event], None]
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class Trace:
    """The events of one run, oldest first. Each watcher is called with each event as it happens."""

    __slots__ = ("events", "watchers")

    def __init__(self, events: Iterable[AnyEvent] = (), watchers: Iterable[Watcher] = ()) -> None:
        self.events: list[AnyEvent] = list(events)
        self.watchers: list[Watcher] = list(watchers)

    def __iter__(self) -> Iterator[AnyEvent]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def emit(self, event: AnyEvent) -> None:
        """Append an event and tell the watchers."""
        self.events.append(event)
        for watcher in self.watchers:
            watcher(event)

    def to_jsonl(self) -> str:
        """The trace as JSON lines."""
        return "".join(line(event) for event in self.events)

    @classmethod
    def from_jsonl(cls, text: str) -> Trace:
        """A trace from JSON lines. A torn last line, as a kill leaves it, is left out.

        Raises:
            MotetError: another line is no event; the message names it.
        """
        trace = cls()
        lines = text.split("\n")  # and at nothing else: U+2028 and its like may stand in a reply
        for number, raw in enumerate(lines, 1):
            if raw.strip():
                try:
                    trace.events.append(_decoder.decode(raw))
                except (msgspec.DecodeError, UnicodeError) as error:
                    if number == len(lines):
                        break
                    raise MotetError(f"line {number} of the trace is no event: {error}") from None
        return trace


def line(event: AnyEvent) -> str:
    """One event as a line of JSON."""
    return encoded(event).decode() + "\n"
