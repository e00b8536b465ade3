"""Judge: the grade an agent gives, blind. A grade that can't be read is 0 and is noted.

LLM-as-a-judge, single-answer grading (Zheng et al., arXiv 2306.05685, section 3.1); the 0 to 10 scale follows its
prompts, the wording is motet's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from motet.ballot import read_grade
from motet.errors import UsageError
from motet.message import Chat, Message, Reply, hear
from motet.run import Agent, Run
from motet.score.base import AS_ZERO

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
        if self.scale < 1:
            raise UsageError(f"a judge can't grade from 0 to {self.scale}: give a scale of at least 1")

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        if not reply.usable:
            return 0.0
        note = self.note.replace("{scale}", str(self.scale))
        asked = hear(chat.add(Message("user", note)), [reply])  # the question is now to grade
        said = await run.all([run.ask(self.agent, asked)], need=0)
        grade = read_grade(said[0].text, self.scale) if said else None
        if grade is None:
            run.note(f"{self.agent.name} gave no grade that could be read; {AS_ZERO}")
            return 0.0
        return grade / self.scale
