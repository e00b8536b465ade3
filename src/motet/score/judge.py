"""Judge: the grade an agent gives, blind. A grade that can't be read is 0 and is noted.

LLM-as-a-judge, single-answer grading (Zheng et al., arXiv 2306.05685, section 3.1); the 0 to 10 scale follows its
prompts, the wording is motet's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from motet.ballot import GREATEST
from motet.errors import UsageError
from motet.message import Chat, Reply
from motet.run import Agent, Run
from motet.score.base import AS_ZERO
from motet.score.review import reviewed

NOTE = (
    "Below is a reply to this. Grade how correct and helpful it is, from 0 (wrong or useless) to {scale} (entirely "
    'right). Give your reason in a sentence, then end with one line that begins with "Grade:" and has the number.'
)


@dataclass(frozen=True)
class Judge:
    """The grade of `agent`, divided by the scale.

    Args:
        agent: who grades.
        scale: the best grade.
        note: what it is told; `{scale}` stands for the scale.
    """

    agent: Agent
    scale: int = 10
    note: str = NOTE

    def __post_init__(self) -> None:
        if not 1 <= self.scale <= GREATEST:
            raise UsageError(f"a judge can't grade from 0 to {self.scale}: give a scale from 1 to {GREATEST:,}")

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        if not reply.usable:
            return 0.0
        one = {"it": (self.agent, reply)}
        grades = await reviewed(one, chat, run, self.note, scale=self.scale, otherwise=AS_ZERO)
        return grades.get("it", 0.0) / self.scale
