"""Contains: 1 if the reply holds an accepted text anywhere, else 0.

Lenient: a reply that lists every possible answer is right. For texts that a reply has to mention.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from motet.message import Chat, Reply
from motet.run import Run


@dataclass(frozen=True)
class Contains:
    """Whether an accepted text stands in the reply, as whole words.

    Args:
        accepted: the texts that are looked for.
        every: whether all of them have to be there, and not just one.
        case: whether capitals count.
    """

    accepted: Sequence[str]
    every: bool = False
    case: bool = False

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        if not reply.usable or not self.accepted:
            return 0.0
        words = " ".join(reply.text.split())
        found = (
            re.search(rf"(?<!\w){re.escape(' '.join(text.split()))}(?!\w)", words, 0 if self.case else re.IGNORECASE)
            for text in self.accepted
        )
        return float(all(found) if self.every else any(found))
