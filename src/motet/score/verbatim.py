"""Verbatim: 1 if the reply is an accepted answer to the letter, else 0. Nothing is read out of it.

With its settings off it is `exact_match` of lm-evaluation-harness.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

from motet.errors import UsageError
from motet.message import Chat, Reply
from motet.run import Run


@dataclass(frozen=True)
class Verbatim:
    """Whether the whole reply, but for space around it, is an accepted answer.

    Args:
        accepted: the accepted answers.
        ignore_case: whether capitals do not count.
        ignore_punctuation: whether ASCII punctuation is taken away first.
        ignore_numbers: whether digits are taken away first.
        ignore: regular expressions of what is taken away first, of reply and accepted answer alike.
    """

    accepted: Sequence[str]
    ignore_case: bool = False
    ignore_punctuation: bool = False
    ignore_numbers: bool = False
    ignore: Sequence[str] = ()

    def __post_init__(self) -> None:
        for pattern in self.ignore:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(f"{pattern!r} is no regular expression: {error}") from error

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        return float(reply.usable and self._bare(reply.text) in map(self._bare, self.accepted))

    def _bare(self, text: str) -> str:
        for pattern in self.ignore:
            text = re.sub(pattern, "", text)
        text = text.lower() if self.ignore_case else text
        gone = string.punctuation * self.ignore_punctuation + string.digits * self.ignore_numbers
        return text.translate(str.maketrans("", "", gone)).strip()
