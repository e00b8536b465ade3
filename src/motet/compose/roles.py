"""Roles and turns: who an agent is told to be, and what it hears when its turn comes. Shared by discussions.

A role that a composition is given is its own words, and stands in the system message. One that an agent wrote (it
recruited somebody) is that agent's: it is heard, fenced, like everything that members say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from motet.ballot import read_choice, read_items
from motet.errors import UsageError
from motet.form import choice_form, plan_form
from motet.message import Chat, Message, Reply, hear, recall
from motet.run import Agent, Run

RECRUIT = (
    "Do not answer this. You may ask people for help with it: say which {count}, each with a skill that it takes and "
    "that the others lack. Give each a line that begins with its number, and describe the person and the skill in one "
    "sentence."
)
BE = "Below is who you are in this. Think and answer as that person would."
AGREES = ("AGREE", "DISAGREE")
AGREEMENT = choice_form(AGREES, reasoned=True)
"""The form of what a critic says."""


def cast(chat: Chat, role: str, by: Reply | None = None) -> Chat:
    """`chat` for an agent that is told to be somebody.

    Args:
        chat: what it is asked.
        role: who it is; "" for nobody in particular.
        by: the reply in which an agent wrote the role; None if it is the composition's own.

    >>> cast(Chat.of("2 + 2?"), "You count on your fingers.").messages[0].role
    'system'
    """
    if not role:
        return chat
    if by is not None:
        return hear(chat, [msgspec.structs.replace(by, text=role)], BE)
    return chat.under(role)


async def recruited(recruiter: Agent, chat: Chat, count: int, run: Run, note: str = RECRUIT) -> list[tuple[str, Reply]]:
    """The roles that an agent wants filled, each with the reply that it stands in; none, and a note, if it names none.

    Args:
        recruiter: who is asked.
        chat: what the roles are for.
        count: roles wanted; more are left out.
        run: where this happens.
        note: what the recruiter is told; `{count}` stands for the number.
    """
    asked = chat.add(Message("user", note.replace("{count}", str(count))))  # the question is now whom to recruit
    said = await run.all([run.ask(recruiter, asked.held(plan_form(None, count)))], need=0)
    roles = read_items(said[0].text, count) if said else []
    if not roles:
        run.note("nobody was recruited: no role could be read; all answer as they are")
    return [(role, said[0]) for role in roles]


def agrees(reply: Reply, run: Run) -> bool:
    """Whether a critic says that it agrees; what can't be read does not, and is noted."""
    verdict = read_choice(reply.text.upper(), AGREES)
    if verdict is None:
        run.note("a critic gave no verdict that could be read; that is no agreement")
    return verdict == "AGREE"


def with_words(name: str, what: str, texts: Sequence[str]) -> None:
    """Refuse texts that say nothing.

    Raises:
        UsageError: one is empty or no text, or it is one text and no list.
    """
    if isinstance(texts, str) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise UsageError(f"{name}: {what} can't be {texts!r}: give a list of texts, none of them empty")


class Floor:
    """A discussion: what each seat was told, has said, and has not heard yet.

    >>> floor = Floor({0: Chat.of("2 + 2?"), 1: Chat.of("2 + 2?")})
    >>> floor.say(0, Reply("4", id="r1"))
    >>> [message.text for message in floor.turn(1, "Do you agree?").messages]
    ['2 + 2?', 'Do you agree?', '4']
    """

    def __init__(self, chats: Mapping[int, Chat]) -> None:
        self.chats = dict(chats)
        self.said: dict[int, Reply] = {}
        self.unheard: dict[int, list[Reply]] = {seat: [] for seat in chats}

    def turn(self, seat: int, note: str) -> Chat:
        """What a seat is asked: all it was told, and what others said since its last turn, after `note`."""
        if self.unheard[seat]:
            self.chats[seat] = hear(self.chats[seat], self.unheard[seat], note)
            self.unheard[seat] = []
        return self.chats[seat]

    def silent(self, seat: int) -> bool:
        """Whether a seat has nothing to answer: it has spoken, and nobody else is left to have said anything since."""
        return seat in self.said and len(self.chats) == 1

    def say(self, seat: int, reply: Reply) -> None:
        """Let all hear what a seat says."""
        self.said[seat] = reply
        self.chats[seat] = recall(self.chats[seat], reply)
        for other, unheard in self.unheard.items():
            if other != seat:
                unheard.append(reply)

    def leave(self, seat: int) -> None:
        """Ask a seat no more; what it has said stays."""
        del self.chats[seat], self.unheard[seat]
