"""Cascade: ask the cheapest agent first, and the next only if its reply does not score well enough.

FrugalGPT (Chen, Zaharia and Zou, arXiv 2305.05176), whose scorer is a small trained model; with agreement between
draws as the score it is the cascade of Yue et al. (arXiv 2310.03094). 0.8 as the threshold is motet's choice: tune
it on recorded results.

Shape: from one call to one an agent and the scorer's own, all in series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.compose.base import at_least
from motet.errors import TooFewReplies, UsageError
from motet.message import Chat, Reply
from motet.run import Agent, Run
from motet.score import Scorer


@dataclass(frozen=True)
class Cascade:
    """The first reply that scores at least `accept`, cheapest agent first; the last usable one if none does.

    An agent that abstains or fails is passed over.

    Args:
        agents: cheapest first.
        score: how good a reply is, from 0 to 1. The last agent's reply is taken unscored.
        accept: the score that is good enough.

    >>> import asyncio
    >>> from motet import Agreement, ModelAgent, Scripted, perform
    >>> small, large = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Lyon", "Paris"))
    >>> asyncio.run(perform(Cascade([small, large], Agreement([large])), "Capital of France?")).text
    'Paris'
    """

    also_known_as: ClassVar = ("FrugalGPT", "model cascade")

    agents: Sequence[Agent]
    score: Scorer
    accept: float = 0.8
    name: str = "cascade"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        if not 0 <= self.accept <= 1:
            raise UsageError(f"{self.name} accepts at a score of {self.accept}, and scores are from 0 to 1")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        best: Reply | None = None
        for place, agent in enumerate(self.agents, 1):
            for reply in await run.all([run.ask(agent, chat)], need=0):  # none, if it failed or abstained
                best = run.offer(reply)
                if place == len(self.agents) or await self.score(chat, reply, run) >= self.accept:
                    return reply
        if best is None:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        return best
