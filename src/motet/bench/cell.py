"""What a run keeps of each answer: its grade, its cost, and what happened on the way to it.

>>> cell = Cell("t1", "vote", 0, 1.0, "full", "4", asks=(Said("a", "ok", "4"), Said("b", "ok", "5")))
>>> cell.asks[1].text
'5'
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from motet.message import Usage
from motet.trace import AskEnded, AskFailed, AskStarted, CallEnded, CallFailed, Trace

NOTHING = Usage()


class Said(msgspec.Struct, frozen=True, omit_defaults=True):
    """One ask on the way to an answer.

    Args:
        agent: who was asked.
        state: how it ended: `ok`, `abstained`, `cut`, `empty`, `failed` with the reason in `text`, or `late` where
            nobody waited for it.
        text: the reply.
        heard: the places, among the answer's asks, of those whose words it was given or was made from.
        depth: how deep it lies: 1 for a member, 2 for a member's member.
        seconds: from the ask to the reply.
        usage: of its own calls; those that were known already count as saved.
    """

    agent: str
    state: str
    text: str = ""
    heard: tuple[int, ...] = ()
    depth: int = 1
    seconds: float = 0.0
    usage: Usage = Usage()


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """One arm's answer to one task.

    Args:
        task: its id.
        arm: who answered.
        draw: the how manieth time, from 0.
        score: from 0 to 1; None where the answer could not be graded, and then `error` says why.
        state: how whole the answer was: `full`, `degraded` or `single`; `abstained` where everybody did, and `failed`
            where somebody failed and nobody answered. Both score 0.
        text: the answer.
        error: why there is none, or why it was not graded.
        usage: what was paid for; calls that were known already count as saved.
        alone: what it would have taken alone: the same with the saved calls as they were made.
        seconds: what it would have taken alone, from the question to the answer: with calls that were known already
            as long as they took when they were made.
        asks: of a mixture, who was asked, in the order in which they were; empty for an agent by itself.
        kind: of the failure, one of `motet.errors.KINDS` where a call failed.
        notes: what the scorer had to say.
        remarks: what was noted on the way to the answer, each once: a ballot that could not be read, what stood in.
    """

    task: str
    arm: str
    draw: int
    score: float | None
    state: str
    text: str = ""
    error: str = ""
    usage: Usage = Usage()
    alone: Usage = Usage()
    seconds: float = 0.0
    asks: tuple[Said, ...] = ()
    kind: str = ""
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def asks_of(trace: Trace) -> tuple[Said, ...]:
    """Who was asked in a run, but for the agent that the question was put to.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, Vote, perform
    >>> agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "5")]
    >>> [(said.agent, said.text) for said in asks_of(asyncio.run(perform(Vote(agents), "2 + 2?")).trace)]
    [('agent 4', '4'), ('agent 5', '5')]
    """
    began: dict[str, AskStarted] = {}
    ended: dict[str, AskEnded | AskFailed] = {}
    used: dict[str, Usage] = {}
    for event in trace:
        if isinstance(event, AskStarted):
            began[event.path] = event
        elif isinstance(event, AskEnded | AskFailed):
            ended[event.path] = event
        elif isinstance(event, CallEnded | CallFailed):
            usage = event.reply.usage if isinstance(event, CallEnded) else event.usage
            used[event.path] = used[event.path] + usage if event.path in used else usage
    asked = list(began.values())[1:]
    place: dict[str, int] = {}
    for number, start in enumerate(asked):
        end = ended.get(start.path)
        if isinstance(end, AskEnded) and end.reply.id:
            place.setdefault(end.reply.id, number)
    return tuple(
        _said(start, ended.get(start.path), number, place, used.get(start.path, NOTHING))
        for number, start in enumerate(asked)
    )


def _said(
    start: AskStarted, end: AskEnded | AskFailed | None, number: int, place: Mapping[str, int], used: Usage
) -> Said:
    reply = end.reply if isinstance(end, AskEnded) else None
    sources = start.heard if reply is None else (*start.heard, *reply.sources)
    heard = tuple(dict.fromkeys(place[source] for source in sources if place.get(source, number) != number))
    state, text = "late", ""
    if reply is not None:
        state, text = reply.state, reply.text
    elif isinstance(end, AskFailed):
        state, text = "failed", f"{end.failure.kind}: {end.failure.text}"
    seconds = round(end.at - start.at, 3) if end is not None else 0.0
    return Said(start.agent, state, text, heard, start.path.count("/") - 1, seconds, used)
