"""Anchor fusion (FusionAgent's ACT): agents score the answers; the surest is the anchor, the others add their top k.

Zhu, Guo, Su, Jain and Liu, "FusionAgent: A Multimodal Agent with Dynamic Model Selection for Human Recognition", arXiv
2603.26908 (CVPR 2026). Read: its abstract, a summary with the formula, and the public code, `act_score_fusion` in
src/fusionagent/utils/eval_metrics.py of jiezhu23/FusionAgent_CVPR26. There, models of face, gait and body score a
gallery of persons; *Anchor-based Confidence Top-k* keeps the whole score vector s of the anchor, brings each model's
scores to z-scores over the gallery, and adds only the k best of each model, weighted by the scores themselves:

    fused(g) = (s_anchor(g) + sum over m of z_m(g) s_m(g) [g in the top k of m]) / (1 + number of models)

so that a model speaks only where it is sure, and says little where it scores everything alike (z is near 0).

Inferred, because answers in words are no gallery: the gallery is the answers that were given; an agent's score of an
answer is the share of its draws that give it, each draw weighted by the `confidence` scorer where there is one; the
anchor is the agent with the highest score of all, the first named of equals (in the paper the model that its trained
selector picks first). k is 10 of some hundred persons there; 1 here, motet's choice for a handful of answers. Of
equals, the answer that was given more often wins. So with one draw and no scorer it is a plain vote in which the agent
named first breaks ties.

Left out: the selector, a model trained by reinforcement to call only the models worth it.

Shape: agents × draws calls and the scorer's own, all at once but for those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, pstdev
from typing import ClassVar

from motet.aggregate import Plurality
from motet.aggregate.best import sound
from motet.aggregate.camps import camps
from motet.compose.base import at_least
from motet.message import Chat, Reply, chosen
from motet.run import Agent, Run
from motet.score import Scorer


def act(scores: Sequence[Sequence[float]], anchor: int, top_k: int) -> list[float]:
    """The fused score of each answer.

    Args:
        scores: what each model gives each answer, 0 or more.
        anchor: whose scores are kept whole.
        top_k: answers that each model adds to, its best; the first of equals.

    >>> [round(score, 3) for score in act([[0.8, 0.2], [0.4, 0.6]], anchor=0, top_k=1)]
    [0.533, 0.267]
    """
    fused = list(scores[anchor])
    for given in scores:
        mean, spread = fmean(given), pstdev(given)
        for answer in sorted(range(len(given)), key=given.__getitem__, reverse=True)[:top_k]:
            fused[answer] += (given[answer] - mean) / spread * given[answer] if spread else 0.0
    return [score / (1 + len(scores)) for score in fused]


@dataclass(frozen=True)
class AnchorFusion:
    """The answer with the best fused score, as its first giver put it.

    If all scores are 0, the most frequent answer is given, and that is noted.

    Args:
        agents: whose answers are fused; the one trusted most first.
        draws: draws of each.
        top_k: answers that each adds to: those it is surest of.
        confidence: how sure a draw is, from 0 to 1; every draw counts 1 if None.
        need: usable replies that are enough.
        grace: seconds to wait for the slow once `need` have answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> said = {"sure": ["4", "4", "4"], "torn": ["5", "6", "7"], "also": ["5", "8", "9"]}
    >>> agents = [ModelAgent(Scripted(texts, name=name), f"the {name}") for name, texts in said.items()]
    >>> asyncio.run(perform(AnchorFusion(agents), "2 + 2?")).text
    '4'
    """

    also_known_as: ClassVar = ("FusionAgent", "ACT", "anchor-based confidence top-k fusion")

    agents: Sequence[Agent]
    draws: int = 3
    top_k: int = 1
    confidence: Scorer | None = None
    need: int = 1
    grace: float | None = None
    name: str = "anchor-fusion"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "draws", self.draws, self.name)
        at_least(1, "answers to add to (top_k)", self.top_k, self.name)
        at_least(1, "replies it needs", self.need, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        seats = [(place, draw) for place in range(len(self.agents)) for draw in range(self.draws)]
        asks = {seat: run.ask(self.agents[seat[0]], chat) for seat in seats}
        said = await run.each(asks, need=self.need, grace=self.grace)
        authors, replies = [place for place, _ in said], list(said.values())
        run.offer(await Plurality()(chat, replies, run))
        sure = [1.0] * len(replies)
        if self.confidence is not None:
            sure = await run.parts(partial(sound, self.confidence, chat, reply) for reply in replies)
        answers = list(camps(replies, chat.question).values())
        scores = [
            [sum(sure[draw] for draw in camp if authors[draw] == place) / self.draws for camp in answers]
            for place in dict.fromkeys(authors)
        ]
        anchor = max(range(len(scores)), key=lambda place: max(scores[place]))
        if not max(scores[anchor]):
            run.note("nobody is sure of anything; the most frequent answer is given instead")
            return await Plurality()(chat, replies, run)
        fused = act(scores, anchor, self.top_k)
        winner = max(range(len(fused)), key=lambda answer: (round(fused[answer], 9), len(answers[answer])))
        return chosen(replies[answers[winner][0]], replies)
