"""How whole a result is: `full`, `degraded`, `single` or `failed`; who is missing and why; what it cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from motet.errors import Failure, MotetError
from motet.message import Reply, State, Usage
from motet.trace import AskEnded, AskFailed, AskStarted, Event, Noted, Trace

Wholeness = Literal["full", "degraded", "single", "failed"]


class Outcome(msgspec.Struct, frozen=True):
    """Who answered, who had nothing to say, who is missing.

    `full`: nobody who was asked is missing (who abstained is not missing). `degraded`: somebody is, or a limit
    ended the run early. `single`: of several asked, one alone answered. `failed`: there is no answer.
    """

    state: Wholeness
    answered: tuple[str, ...] = ()
    abstained: tuple[str, ...] = ()
    missing: tuple[Failure, ...] = ()


class MemberReply(msgspec.Struct, frozen=True):
    """One member's reply to one ask: `state` is that of the reply, or `failed` with the reason in `text`."""

    path: str
    agent: str
    state: State | Literal["failed"]
    text: str
    seconds: float
    id: str = ""


class Tally:
    """What has become of the asks of a run so far, by their place; `outcome()` sums it up."""

    __slots__ = ("_replied", "abstained", "answered", "missing")

    def __init__(self) -> None:
        self._replied: set[str] = set()
        self.answered: dict[str, str] = {}
        self.abstained: dict[str, str] = {}
        self.missing: dict[str, Failure] = {}

    def ended(self, path: str, agent: str, reply: Reply, leaf: bool) -> None:
        """An ask ended with a reply."""
        state = reply.state
        if state == "abstained":
            self.abstained[path] = agent
        elif state == "cut":
            self.missing[path] = Failure(agent, "cut", "the reply ended early, at its length limit")
        elif state == "empty":
            self.missing[path] = Failure(agent, "empty", "the reply had no words")
        else:
            self._replied.add(path)
            self.missing.pop(path, None)
            if leaf:
                self.answered[path] = agent

    def failed(self, path: str, failure: Failure) -> None:
        """An ask ended without a reply."""
        if path not in self._replied:
            self.missing[path] = failure

    def saw(self, event: Event) -> None:
        """An ask ended as an event says; a hedge (`place~agent`) counts for its place if it gave a usable reply."""
        if not isinstance(event, AskEnded | AskFailed):
            return
        folder, _, step = event.path.rpartition("/")
        step, hedge, _ = step.partition("~")
        if isinstance(event, AskFailed):
            if not hedge:
                self.failed(event.path, event.failure)
        elif event.reply.usable or not hedge:
            self.ended(f"{folder}/{step}", event.agent, event.reply, event.leaf)

    def outcome(self, answered: bool, stopped: str) -> Outcome:
        """The sum: each agent once, in the order of their places in the run."""
        missing: dict[str, Failure] = {}
        for _, failure in sorted(self.missing.items()):
            missing.setdefault(failure.agent, failure)
        members = tuple(dict.fromkeys(agent for _, agent in sorted(self.answered.items())))
        abstained = tuple(dict.fromkeys(agent for _, agent in sorted(self.abstained.items())))
        state: Wholeness = "full"
        if not answered:
            state = "failed"
        elif missing and len(members) == 1:
            state = "single"
        elif missing or stopped:
            state = "degraded"
        return Outcome(state, members, abstained, tuple(missing.values()))


@dataclass(frozen=True)
class Result:
    """What a run gives: the reply, how whole it is, what it cost, and the evidence.

    Args:
        run_id: names the run in `motet trace` and `motet replay`.
        agent: the name of the agent or mixture that was asked.
        reply: its reply; None if it failed, and then `error` says why.
        outcome: who answered and who is missing.
        usage: all that was used, failed, hedged and cancelled calls included.
        by_agent: the same by agent.
        seconds: wall time.
        stopped: the limit that ended the run early, "" if none did.
        trace: every event.
    """

    run_id: str
    agent: str
    reply: Reply | None
    outcome: Outcome
    usage: Usage
    by_agent: dict[str, Usage]
    seconds: float
    stopped: str
    trace: Trace = field(repr=False)
    error: MotetError | None = None

    @property
    def text(self) -> str:
        """The answer.

        Raises:
            MotetError: there is none; the error says why. A failure is never answer text.
        """
        return self.checked().text

    def checked(self) -> Reply:
        """The reply, or the error that says why there is none."""
        if self.reply is None:
            raise self.error or MotetError("the run gave no reply")
        return self.reply

    @property
    def replies(self) -> list[MemberReply]:
        """Every single agent's replies and failures, in the order of their places in the run."""
        found = []
        for event in self.trace:
            if isinstance(event, AskEnded) and event.leaf:
                reply = event.reply
                found.append(
                    MemberReply(event.path, event.agent, reply.state, reply.text, reply.usage.seconds, reply.id)
                )
            elif isinstance(event, AskFailed) and event.leaf:
                failure = event.failure
                found.append(MemberReply(event.path, failure.agent, "failed", str(failure), 0.0))
        order = {event.path: place for place, event in enumerate(self.trace) if isinstance(event, AskStarted)}
        return sorted(found, key=lambda member: (order.get(member.path, 0), member.path))

    @property
    def warnings(self) -> list[str]:
        """What a reader should know, each once, in a fixed order."""
        return sorted({f"{event.agent}: {event.text}" for event in self.trace if isinstance(event, Noted)})

    def __str__(self) -> str:
        return self.reply.text if self.reply else f"no answer: {self.error}"
