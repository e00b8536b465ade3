"""What compositions that work by a plan share: cards to choose from, a plan that is read and noted, work that is done.

Whom a plan gives work to is named by letters, never by names; what an agent wrote as a task reaches another as heard
words, with the plan as their source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from motet.ballot import MOST_STEPS, PLAN_NOTE, Plan, read_choice, read_plan
from motet.message import Chat, Reply
from motet.prompt import next_labels
from motet.run import Agent, Run

Seat = TypeVar("Seat")


class Planned(NamedTuple):
    """A plan, the reply it was read from, and the words of each step as words of that reply."""

    plan: Plan
    reply: Reply
    words: tuple[Reply, ...]


def cards(agents: Sequence[Agent], chat: Chat) -> tuple[list[str], str]:
    """A letter for each agent, none that words heard before have; and a line for each with what is known of it."""
    letters = next_labels(chat, len(agents))
    known = [" ".join(str(getattr(agent, "about", "")).split()) or "nothing is known" for agent in agents]
    return letters, "\n".join(f"{letter}: {card}" for letter, card in zip(letters, known, strict=True))


def planning(note: str, most: int, *more: str) -> str:
    """What an agent is told that is to plan: the note, the form of a plan, and what else there is."""
    return "\n".join([f"{note} {PLAN_NOTE.replace('{most}', str(most))}", *more])


def plan_of(
    reply: Reply,
    run: Run,
    who: Sequence[str] | None,
    *,
    most: int = MOST_STEPS,
    unlike: bool = False,
    turns: bool = False,
    what: str,
) -> Planned | None:
    """The plan in a reply, its faults noted; None if there is none, which is for the caller to note.

    Args:
        reply: what was said.
        run: where this happens.
        who: whom steps can be given to (see `read_plan`, as for `most` and `unlike`).
        most: steps at most.
        unlike: whether steps of one name are one.
        turns: whether steps that are given to nobody go round, which is noted.
        what: what the plan is called in notes.
    """
    plan = read_plan(reply.text, who, most=most, unlike=unlike)
    if plan is None:
        return None
    for fault in plan.faults:
        run.note(f"in {what}, {fault}")
    if turns and not all(step.who for step in plan.steps):
        run.note(f"in {what}, some lines are given to nobody, and are taken in turn")
    return Planned(plan, reply, tuple(msgspec.structs.replace(reply, text=step.text) for step in plan.steps))


def verdict_of(text: str, words: Sequence[str]) -> str | None:
    """The one of these words that a verdict names, however it is written; None if it can't be read."""
    forms = {form: word for word in words for form in (word, word.lower(), word.capitalize(), word.upper())}
    return forms.get(read_choice(text, list(forms)) or "")


def crew(first: Agent, agents: Sequence[Agent]) -> list[Agent]:
    """An agent, and who takes its work over should it fail: the others, those named after it first."""
    places = [place for place, agent in enumerate(agents) if agent is first]
    start = places[0] if places else 0
    return [first, *(agent for agent in (*agents[start:], *agents[:start]) if agent is not first)]


def doer(reply: Reply, agents: Sequence[Agent]) -> Agent:
    """Whoever of these agents gave a reply; the first of them if it was nobody."""
    return next((agent for agent in agents if agent.name == reply.agent), agents[0])


async def worked(
    works: Mapping[Seat, tuple[Sequence[Agent], Chat]], run: Run, *, answering: bool = False
) -> dict[Seat, Reply]:
    """The reply to each piece of work, all side by side; where an agent gives none, the next of its crew is asked.

    Args:
        works: who is to do it, in that order, and what is asked.
        run: where this happens.
        answering: whether the reply is the composition's own.
    """
    ask = run.answer if answering else run.ask
    found: dict[Seat, Reply] = {}
    for turn in range(max((len(agents) for agents, _ in works.values()), default=0)):
        left = {seat: work for seat, work in works.items() if seat not in found and turn < len(work[0])}
        if not left:
            break
        found |= await run.each({seat: ask(agents[turn], chat) for seat, (agents, chat) in left.items()}, need=0)
    return {seat: found[seat] for seat in works if seat in found}
