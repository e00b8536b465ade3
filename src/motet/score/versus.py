"""Versus: whether a judge prefers the reply to a reference answer. Blind, and asked in both orders.

Judges favour a place (Zheng et al., arXiv 2306.05685, section 3.4), so the two texts are shown once in each order,
under neutral labels. A judge that names the same text both times has decided; one that changes its mind with the order
has not, and that is a draw, and noted. How often that happens says how far the judge can be trusted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.ballot import read_choice
from motet.form import choice_form
from motet.message import Chat, Message, Reply, hear
from motet.run import Agent, Run
from motet.score.base import AS_ZERO

NOTE = (
    "Below are two replies to this, A and B. Which is better: more correct, then more helpful? Neither order nor "
    'length counts. Give your reason in a sentence, then end with one line: "Choice: A", "Choice: B", or '
    '"Choice: tie".'
)
SWAYED = "the judge's choice changed with the order"
"""How the note of an undecided judge begins."""
_LABELS = ("A", "B")
_TIES = ("tie", "Tie", "TIE")


@dataclass(frozen=True)
class Versus:
    """1 if the judge prefers the reply, 0 if it prefers the reference, 0.5 for a tie or where the order decided.

    Args:
        agent: the judge.
        accepted: the reference answers; the first is compared.
        note: what the judge is told.
    """

    agent: Agent
    accepted: Sequence[str]
    note: str = NOTE

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        if not reply.usable:
            return 0.0
        if not self.accepted or not self.accepted[0].strip():
            run.note(f"there is no reference answer to compare the reply with; {AS_ZERO}")
            return 0.0
        asked = chat.add(Message("user", self.note))
        rival = Reply(self.accepted[0], id="reference")
        orders = ((reply, rival), (rival, reply))
        form = choice_form([*_LABELS, _TIES[0]], "Choice")
        told = {place: hear(asked, order, labels=_LABELS).held(form) for place, order in enumerate(orders)}
        found = await run.each({place: run.ask(self.agent, each) for place, each in told.items()}, need=0)
        choices = [read_choice(found[place].text, [*_LABELS, *_TIES]) if place in found else None for place in (0, 1)]
        wins = [_points(choice, mine) for choice, mine in zip(choices, _LABELS, strict=True)]
        read = [points for points in wins if points is not None]
        if len(read) < 2:
            run.note(f"the judge made no choice that could be read in {2 - len(read)} of 2 orders; {AS_ZERO}")
            return 0.0
        if read[0] != read[1]:
            run.note(SWAYED)
        return sum(read) / 2


def _points(choice: str | None, mine: str) -> float | None:
    if choice is None:
        return None
    return 0.5 if choice in _TIES else float(choice == mine)
