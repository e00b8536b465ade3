"""Regex: 1 if a pattern matches the reply, else 0.

Patterns are tried in a process that is killed when it takes too long: a pattern such as `(a+)+$` needs longer than
anybody waits on some texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from motet.errors import UsageError
from motet.message import Chat, Reply
from motet.run import Run


@dataclass(frozen=True)
class Regex:
    """Whether one of the patterns is found in the reply.

    Args:
        accepted: regular expressions, as Python's `re` has them; `(?i)` at the start makes capitals alike.
        seconds: after so long a pattern counts as not found, and that is noted.
    """

    accepted: Sequence[str]
    seconds: float = 5.0

    def __post_init__(self) -> None:
        for pattern in self.accepted:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(f"{pattern!r} is no regular expression: {error}") from error

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        from motet.score.worker import ask_worker

        if not reply.usable:
            return 0.0
        found = await ask_worker("regex", [reply.text, list(self.accepted)], self.seconds)
        if found is None:
            run.note(f"a pattern took longer than {self.seconds:g} s on a reply; that counts as not found")
        return float(found is True)
