"""Best-of-n: draw several replies, score each, give the best. Also known as rejection sampling with a verifier.

Cobbe et al., "Training Verifiers to Solve Math Word Problems", arXiv 2110.14168, where the scorer is a trained verifier
and 100 solutions are drawn; Lightman et al., "Let's Verify Step by Step", arXiv 2305.20050, where it grades every step.
The first's public code (openai/grade-school-math) has no verifier; the second's was not read. Here the scorer is any
`Scorer`: a judge, unit tests, agreement, token probabilities. `n=3` is that of the best-of-n in codelion/optillm
(`optillm/bon.py`, read), where a model rates its own replies.

`voters` is Cobbe et al.'s too: the most frequent answer among the best-scored few, so that one reply which merely
pleases the verifier does not win alone (there, 3 to 5 of 100 draws do best).

To draw one at a time until a reply is good enough is a cascade: `Cascade([agent] * n, score, accept)`.

Shape: agents × n calls and the scorer's for each, 1 in series and the scorer's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate.best import scored
from motet.aggregate.plurality import plurality
from motet.compose.base import at_least
from motet.message import Chat, Reply, chosen
from motet.run import Agent, Run
from motet.score import Scorer


@dataclass(frozen=True)
class BestOfN:
    """The reply that scores highest of all that are drawn; the first of equals.

    Args:
        agents: who is drawn; one agent is the papers' form.
        score: how good a reply is, from 0 to 1.
        n: draws of each agent.
        voters: how many of the best-scored replies vote; 1 gives the best.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import Exact, ModelAgent, Scripted, perform
    >>> agent = ModelAgent(Scripted(["Lyon", "Paris", "Nice"]), "geographer")
    >>> asyncio.run(perform(BestOfN([agent], Exact(["Paris"])), "Capital of France?")).text
    'Paris'
    """

    also_known_as: ClassVar = ("best-of-n", "rejection sampling", "BoN")

    agents: Sequence[Agent]
    score: Scorer
    n: int = 3
    voters: int = 1
    grace: float | None = None
    name: str = "best-of-n"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "draws of each", self.n, self.name)
        at_least(1, "voters", self.voters, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        asks = (run.ask(agent, chat) for _ in range(self.n) for agent in self.agents)
        drawn = await run.all(asks, grace=self.grace)
        run.offer(drawn[0])
        scores = await scored(self.score, chat, drawn, run)
        order = sorted(range(len(drawn)), key=lambda place: -scores[place])
        best = plurality([drawn[place] for place in order[: self.voters]], question=chat.question)
        return chosen(best, drawn)
