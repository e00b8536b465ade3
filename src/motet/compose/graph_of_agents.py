"""Graph-of-Agents: the few agents whose cards fit the question, joined by edges from the stronger to the weaker.

Yun, Peng, Li, Fan, Chen, Zou, Li and Chen, "Graph-of-Agents: A Graph-based Framework for Multi-Agent LLM
Collaboration", arXiv 2604.17148; read in the public code: UNITES-Lab/GoA (main.py at 08e906b; modules.py, utils.py and
run.sh at fa34d49; README.md). Node sampling: a meta agent reads the agents' cards and chooses k. Edge sampling: each
node scores the replies of the others, with scores that sum to 1; averaged they rank the nodes, and whoever is not above
a floor is out. Message passing: first every node hears the stronger ones and says its reply again (source to target),
then the stronger hear what has become of the weaker ones' (target to source). Pooling: the strongest node's last reply
(max, where only that node takes part in the way back), or one reply made of all (mean). Defaults from the code: 3
nodes, a floor of 0.05, 1 round, max pooling.

Differences: a choice that can't be read is not asked for again (up to 5 times there): the first k are taken, which is
its last resort too. Scores that can't be read count for nothing at once (after 3 attempts there). A node that nobody
scored has the average instead of 0, which would drop the only readable judge; when no scores can be read at all, the
order in which the nodes were chosen stands and nobody is dropped (there the first replies are pooled). Two nodes can't
be ranked by scores that sum to 1, so they keep their order. On the way back the listeners hear the weaker nodes' new
replies, as their prompt there says (the code gives them the old ones), and go on from their own newest, which is
inferred. An agent is chosen once (the code allows an index twice), and who is heard stands best first instead of under
words for relevance. Of equals, the one that was chosen first is the stronger (there a generalist). Left out: the
code's replacement of nodes that state a confidence below 0.1 by the meta agent, and k chosen by the question's stated
difficulty.

Shape: 2 × k + 1 calls at most for choice, answers and scores, k a round (2 × (k - 1) with `pool`), and the pool's;
3 + 2 × rounds in series, and the pool's. Needs cards (`about`) and nodes that can end with a line of scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

from motet.aggregate import Aggregator
from motet.ballot import read_scores
from motet.compose.base import at_least
from motet.errors import UsageError
from motet.form import scores_form
from motet.message import Chat, Message, Reply, hear, recall
from motet.prompt import next_labels
from motet.route.base import Router, shortlist
from motet.route.by_cards import ByCards
from motet.run import Agent, Run

SCALE = 10
SCORE = (
    "Below are replies of others to this, each with a letter. Score each from 0 (wrong or useless) to 10 (entirely "
    "right) by whether it is correct, hangs together and answers what was asked. Give your reasons in a sentence, then "
    'end with one line that begins with "Scores:", for instance "Scores: A=7, B=2".'
)
FORWARD = (
    "Below are replies of others to this, which were found to be better than yours, the best first. Take from them "
    "what makes yours better, but check it: they can be wrong. Then give your reply again, changed or not."
)
BACK = (
    "Below are replies of others to this, who have gone over theirs after they had seen yours. Take from them what "
    "makes yours better, but check it: they can be wrong. Then give your reply again, changed or not."
)


@dataclass(frozen=True)
class GraphOfAgents:
    """A graph of k agents chosen by their cards, who answer, score each other, hear the stronger, then the weaker.

    Args:
        agents: the pool; what is known of an agent is its `about`.
        meta: who reads the cards and chooses; the first agent if None.
        k: nodes. With no more agents than that there is nothing to choose, and all are nodes.
        rounds: rounds of message passing, each there and back.
        floor: a node whose share of the scores is not above this is dropped.
        pool: makes the reply of all nodes' last ones, the paper's mean pooling being `Synthesize(meta)`; None gives the
            strongest node's last reply, which is max pooling.
        route: chooses the nodes; `ByCards(meta)` if None.
        score: what nodes are told about scoring each other.
        forward: what nodes are told about the stronger ones' replies.
        back: what nodes are told about the weaker ones' new replies.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> poet, cook, guide = (ModelAgent(Scripted(n, name=n), n, about=f"a {n}") for n in ("poet", "cook", "guide"))
    >>> meta = ModelAgent(Scripted("Ranking: C, A", name="meta"), "meta")
    >>> result = asyncio.run(perform(GraphOfAgents([poet, cook, guide], meta, k=2), "Capital of France?"))
    >>> result.text, result.usage.calls  # the choice, two answers, there and back
    ('guide', 5)
    """

    also_known_as: ClassVar = ("GoA", "graph of agents")

    agents: Sequence[Agent]
    meta: Agent | None = None
    k: int = 3
    rounds: int = 1
    floor: float = 0.05
    pool: Aggregator | None = None
    route: Router | None = None
    score: str = SCORE
    forward: str = FORWARD
    back: str = BACK
    grace: float | None = None
    name: str = "graph-of-agents"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(2, "nodes (k)", self.k, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        if not 0 <= self.floor < 1 / self.k:
            raise UsageError(
                f"{self.name} drops nodes whose share of the scores is not above {self.floor:g}, and {self.k} nodes "
                f"have {1 / self.k:.2g} each if they are alike: give a floor from 0 to below that"
            )

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        nodes = await self._sampled(chat, run)
        said = await run.each({i: run.ask(node, chat) for i, node in enumerate(nodes)}, grace=self.grace)
        run.offer(next(iter(said.values())))
        shares = await self._shares(nodes, chat, said, run)
        order = sorted((i for i in said if shares[i] > self.floor), key=lambda i: -shares[i])
        top = order[0]
        run.offer(said[top])
        there = {i: order[:place] for place, i in enumerate(order) if place}
        back = {i: order[place + 1 :] for place, i in enumerate(order[:-1]) if i == top or self.pool}
        for round in range(1, self.rounds + 1):
            final = round == self.rounds and not self.pool
            said |= await self._passed(nodes, chat, said, there, self.forward, run)
            said |= await self._passed(nodes, chat, said, back, self.back, run, final=final)
            run.offer(said[top])
        return await self.pool(chat, [said[i] for i in order], run) if self.pool else said[top]

    async def _sampled(self, chat: Chat, run: Run) -> list[Agent]:
        """Node sampling: the k agents that the question is worth, the most relevant first."""
        if len(self.agents) <= self.k:
            return list(self.agents)
        route = self.route or ByCards(self.meta or self.agents[0])
        ranking = shortlist(await route(chat, self.agents, run, self.k), self.agents, gap=math.inf)
        return [self.agents[place] for place in [*ranking][: self.k]]

    async def _shares(
        self, nodes: Sequence[Agent], chat: Chat, said: Mapping[int, Reply], run: Run
    ) -> dict[int, float]:
        """Edge sampling: each node's share of the scores that the others give, all together 1."""
        if len(said) < 3:
            return dict.fromkeys(said, 1 / len(said))
        shown = {judge: run.rng.sample(others := [i for i in said if i != judge], len(others)) for judge in said}
        labels = next_labels(chat, len(said) - 1)
        asked = chat.add(Message("user", self.score))  # the question is now to score
        form = scores_form(labels, SCALE)
        asks = {i: run.ask(nodes[i], hear(asked, [said[j] for j in shown[i]], labels=labels).held(form)) for i in said}
        votes: dict[int, list[float]] = {i: [] for i in said}
        for judge, reply in (await run.each(asks, need=0, grace=self.grace)).items():
            given = read_scores(reply.text, labels, SCALE)[1]
            total = sum(given.values())
            if len(given) < len(labels) or not total:
                run.note(f"the scores of {nodes[judge].name} could not be read and count for nothing")
                continue
            for name, i in zip(labels, shown[judge], strict=True):
                votes[i].append(given[name] / total)
        means = {i: fmean(votes[i] or [1 / len(labels)]) for i in said}
        return {i: mean / sum(means.values()) for i, mean in means.items()}

    async def _passed(
        self,
        nodes: Sequence[Agent],
        chat: Chat,
        said: Mapping[int, Reply],
        edges: Mapping[int, Sequence[int]],
        note: str,
        run: Run,
        *,
        final: bool = False,
    ) -> dict[int, Reply]:
        """Message passing: what the nodes say that `edges` reach, each having heard whom they come from."""
        ask = run.answer if final else run.ask
        asks = {}
        for i, sources in edges.items():
            labels = next_labels(chat, len(sources))
            asks[i] = ask(nodes[i], hear(recall(chat, said[i]), [said[j] for j in sources], note, labels))
        return await run.each(asks, need=0, grace=self.grace)
