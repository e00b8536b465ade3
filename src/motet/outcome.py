"""How whole a result is: `full`, `degraded`, `single` or `failed`; who is missing and why; what it cost."""

from __future__ import annotations

import re
from collections.abc import Iterable
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


def outcome(events: Iterable[Event], answered: bool, stopped: str) -> Outcome:
    """What became of the asks of a run: each agent once, in the order of their places.

    A place that was hedged has answered if the agent asked there or the hedge (`place~agent`) has.

    Args:
        events: the run's trace.
        answered: whether the run has a reply.
        stopped: the limit that ended it early, "" if none did.
    """
    members: list[str] = []
    replied: set[str] = set()
    silent: dict[str, str] = {}
    failed: dict[str, Failure] = {}
    asks = [event for event in events if isinstance(event, AskEnded | AskFailed)]
    for event in sorted(asks, key=lambda event: event.path):
        folder, _, step = event.path.rpartition("/")
        place, hedge, _ = step.partition("~")
        path = f"{folder}/{place}"
        if hedge and path in replied:
            continue
        if isinstance(event, AskEnded) and event.reply.usable:
            replied.add(path)
            members += [event.agent] if event.leaf else []
        elif hedge:
            continue
        elif isinstance(event, AskFailed):
            failed[path] = event.failure
        elif event.reply.state == "abstained":
            silent[path] = event.agent
        elif event.reply.state == "cut":
            failed[path] = Failure(event.agent, "cut", "the reply ended early, at its length limit")
        else:
            failed[path] = Failure(event.agent, "empty", "the reply had no words")
    missing: dict[str, Failure] = {}
    for path, failure in failed.items():
        if path not in replied:
            missing.setdefault(failure.agent, failure)
    answering = tuple(dict.fromkeys(members))
    abstained = tuple(dict.fromkeys(agent for path, agent in silent.items() if path not in replied))
    state: Wholeness = "full"
    if not answered:
        state = "failed"
    elif missing and len(answering) == 1:
        state = "single"
    elif missing or stopped:
        state = "degraded"
    return Outcome(state, answering, abstained, tuple(missing.values()))


def _place(path: str, started: dict[str, int]) -> list[tuple[int, int, bool]]:
    """Sorts places as a tree: siblings as they were started, hedges after whom they hedge, then the parts of a place.

    What runs side by side in different branches has no order that a replay could repeat.
    """
    key, prefix = [], ""
    for step in path.split("/")[1:]:
        name, hedge, _ = step.partition("~")
        part = re.fullmatch(r"\.(\d+)", step)
        key.append((1, int(part[1]), False) if part else (0, started.get(f"{prefix}/{name}", 0), bool(hedge)))
        prefix = f"{prefix}/{step}"
    return key


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
                # Of its attempts, not of the clock: that is what a replay has too.
                seconds = sum(attempt.seconds for attempt in failure.attempts)
                found.append(MemberReply(event.path, failure.agent, "failed", str(failure), seconds))
        started = {event.path: place for place, event in enumerate(self.trace) if isinstance(event, AskStarted)}
        return sorted(found, key=lambda member: _place(member.path, started))

    @property
    def warnings(self) -> list[str]:
        """What a reader should know, each once, in a fixed order."""
        return sorted({f"{event.agent}: {event.text}" for event in self.trace if isinstance(event, Noted)})

    def __str__(self) -> str:
        return self.reply.text if self.reply else f"no answer: {self.error}"
