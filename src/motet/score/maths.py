r"""Maths: 1 if the answer is mathematically equal to an accepted one, else 0.

What `motet.answer.right` takes for the same is the same. For the rest math-verify compares the two as expressions
(`2\sqrt{3}` and `\sqrt{12}`, `x^2-1` and `(x-1)(x+1)`), and needs `pip install 'motet[maths]'`. It runs in a process of
its own with a memory limit, which is killed when its time is over, since on a tower of powers it never ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.answer import right
from motet.message import Chat, Reply
from motet.run import Run


@dataclass(frozen=True)
class Maths:
    """Whether the answer equals an accepted one.

    Args:
        accepted: the accepted answers, plain or in LaTeX.
        seconds: after so long two expressions count as different, and that is noted.
    """

    accepted: Sequence[str]
    seconds: float = 5.0

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        from motet.normalise import extract
        from motet.score.worker import ask_worker

        if not reply.usable:
            return 0.0
        if right(reply.text, self.accepted, chat.question):
            return 1.0
        same = await ask_worker("maths", [extract(reply.text), list(self.accepted)], self.seconds)
        if same is None:
            run.note(f"comparing a reply with the accepted answer took over {self.seconds:g} s; it counts as different")
        return float(same is True)
