"""Committee (DEI, Diversity Empowered Intelligence): agents solve it, a reviewer grades each solution, the best wins.

Zhang, Yao, Liu, Feng, Liu, Murthy, Lan, Li, Lou, Xu, Pang, Zhou, Heinecke, Savarese, Wang and Xiong, "Diversity
Empowers Intelligence: Integrating Expertise of Software Engineering Agents", arXiv 2408.07060. Read: summaries of it
and its reviews; the public code (SalesforceAIResearch/swecomm) was not at hand. Its *DEIBase* takes the patches that
agents made for an issue, has a model explain the issue, the place and the patch before it grades the patch (a
multi-stage rating), and gives the one graded highest; the candidates come from several agents (inter-agent
diversity) or from several draws of one (intra-agent: name it several times).

Inferred: explanations and grade come in one reply; grades are from 0 to 10; the votes of one solution are averaged over
those that could be read. 3 votes are motet's choice, for their cost. The prompt speaks of solutions in general, not of
patches. `explain=False` asks for the grade alone, the ablation of the explanations.

Differences: solutions are reviewed blind, one at a time, fenced. A solution of which no review could be read is not
chosen; if that is so of all, the most frequent answer is given. Both are noted.

Shape: one call an agent, then one an agent and vote; 2 in series. Nothing is reviewed where there is one solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from motet.aggregate import Plurality
from motet.ballot import GREATEST
from motet.compose.base import at_least
from motet.errors import UsageError
from motet.message import Chat, Reply, chosen
from motet.run import Agent, Run
from motet.score.review import reviewed

EXPLAIN = (
    "Review the solution below, in this order. The task: what is asked, and what a right solution has to do. The "
    "solution: what it does, step by step. Conflicts: where it misses what is asked, contradicts itself or breaks "
    "something. "
)
NOTE = (
    "Grade how surely the solution below is right, from 0 (surely wrong) to {scale} (surely right). End with one line "
    'that begins with "Grade:" and has the number.'
)


@dataclass(frozen=True)
class Committee:
    """The solution with the best mean grade.

    Args:
        agents: who solves it; an agent named several times is drawn several times. Ties go to the one named first.
        reviewer: who reviews the solutions.
        votes: reviews of each solution.
        explain: ask for explanations before the grade.
        scale: the best grade.
        note: what the reviewer is told of the grade; `{scale}` stands for the scale.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Lyon", "Paris")]
    >>> grade = Scripted(lambda request: "Grade: 9" if "Paris" in request.text else "Grade: 2", name="reviewer")
    >>> asyncio.run(perform(Committee(agents, ModelAgent(grade, "reviewer")), "Capital of France?")).text
    'Paris'
    """

    also_known_as: ClassVar = ("DEI", "Diversity Empowered Intelligence", "DEIBase")

    agents: Sequence[Agent]
    reviewer: Agent
    votes: int = 3
    explain: bool = True
    scale: int = 10
    note: str = NOTE
    grace: float | None = None
    name: str = "committee"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "votes", self.votes, self.name)
        at_least(1, "points on its scale", self.scale, self.name)
        if self.scale > GREATEST:
            raise UsageError(f"{self.name} can't grade from 0 to {self.scale}: give {GREATEST:,} at most")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        solutions = await run.all((run.ask(agent, chat) for agent in self.agents), grace=self.grace)
        run.offer(solutions[0])
        if len(solutions) == 1:
            return solutions[0]
        ballots = [(place, vote) for place in range(len(solutions)) for vote in range(self.votes)]
        reviews = {(place, vote): (self.reviewer, solutions[place]) for place, vote in ballots}
        note = (EXPLAIN if self.explain else "") + self.note
        grades = await reviewed(reviews, chat, run, note, scale=self.scale, reasoned=self.explain, grace=self.grace)
        if not grades:
            run.note("no review could be read; the most frequent answer is given instead")
            return await Plurality()(chat, solutions, run)
        votes: dict[int, list[float]] = {}
        for (place, _), grade in grades.items():
            votes.setdefault(place, []).append(grade)
        best = max(sorted(votes), key=lambda place: fmean(votes[place]))
        return chosen(solutions[best], solutions)
