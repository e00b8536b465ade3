"""Choice: 1 if the reply picks a right option, else 0. For questions with lettered options.

A reply picks an option by its letter ("B", "(B) Lima", "the answer is B") or by its text, if that is the text of one
option only. A reply that picks several, or none, is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from motet.answer import answer, right
from motet.message import Chat, Reply
from motet.run import Run

_LABELLED = re.compile(r"\W{0,3}([A-Z]\d?)[.):]\s+\S")


@dataclass(frozen=True)
class Choice:
    """Whether the option that is picked is a right one.

    Args:
        accepted: the letters of the right options; any one of them counts.
        choices: the texts of the options, in the order of their letters; without them only letters are read.
    """

    accepted: Sequence[str]
    choices: Sequence[str] = ()

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        if not reply.usable:
            return 0.0
        if not self.choices:
            return float(right(reply.text, self.accepted, chat.question))
        return float(picked(reply.text, self.choices) in {letter.upper() for letter in self.accepted})


def picked(text: str, choices: Sequence[str]) -> str:
    """The letter of the option that a reply picks; "" if that is none, or can't be told.

    Args:
        text: the reply.
        choices: the texts of the options.

    >>> picked("It is (B).", ["Cusco", "Lima"]), picked("Lima", ["Cusco", "Lima"]), picked("A or B", ["Cusco", "Lima"])
    ('B', 'B', '')
    """
    from motet.normalise import extract, normalise
    from motet.prompt import label

    letters = [label(place) for place in range(len(choices))]
    found = extract(text)
    key = normalise(found).upper()
    if key in letters:
        return key
    labelled = _LABELLED.match(found)
    if labelled and labelled[1] in letters:
        return labelled[1]
    keys = [normalise(choice) for choice in choices]
    for said in (found, answer(text, "\n".join(choices))):
        alike = [letter for letter, each in zip(letters, keys, strict=True) if each and each == normalise(said)]
        if alike:
            return alike[0] if len(alike) == 1 else ""
    alike = [letter for letter, choice in zip(letters, choices, strict=True) if right(found, [choice])]
    return alike[0] if len(alike) == 1 else ""
