"""Tree search: replies grow out of replies, the promising ones first; the best that was found is given.

Monte Carlo tree search over what one agent says, the third of the three in Sharma, "Patched MOA: optimizing inference
for diverse software development tasks", arXiv 2407.18521; read in the public code: codelion/optillm
(`optillm/mcts.py`). Defaults from there: 2 simulations, 3 actions a node, an exploration weight of 0.2.

Each simulation walks down the tree from the root, at every node to the child with the highest upper confidence bound
(UCT: its mean value, and more the rarer it was visited), and expands the leaf where it arrives: the agent gives `width`
replies there, each is scored, and the scores are added to all nodes above.

What differs: there, below a reply stands the turn that the model imagines its user to take next, replies to that, and
so on; a model rates the imagined conversation, and the reply most often visited is given. A question with one answer
has no next turn. So here below a reply stand revisions of it, as in Monte Carlo Tree Self-refine (Zhang et al., arXiv
2406.07394; code trotsky1997/MathBlackBox, whose selection and update were not followed); any scorer values the replies
themselves, and the highest score is given. The walk goes to a leaf (there, one level deep). Bounds are motet's: `depth`
levels of replies (a walk that ends at the last values that reply once more), and an end as soon as a reply scores
`accept`.

Shape: simulations × width calls at most and the scorer's for each; a simulation's replies and then its scores at once,
so 2 × simulations in series with a judge.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from motet.aggregate.best import scored
from motet.compose.base import at_least, finite
from motet.errors import UsageError
from motet.message import Chat, Reply, chosen, hear
from motet.run import Agent, Run
from motet.score import Scorer

NOTE = (
    "Below is a reply to this that may be wrong or incomplete. Find what is wrong or missing in it, then give a better "
    "reply of your own, whole, without mentioning this one."
)


@dataclass(eq=False)
class Node:
    """A place in the tree: a reply with its score, none at the root; `depth` replies from there."""

    parent: Node | None = None
    reply: Reply | None = None
    score: float = 0.0
    depth: int = 0
    children: list[Node] = field(default_factory=list)
    visits: int = 0
    value: float = 0.0

    def leaf(self, exploration: float) -> Node:
        """The leaf at the end of the walk down, by upper confidence bounds."""
        node = self
        while node.children:
            weight = exploration * math.sqrt(math.log(node.visits + 1))
            bounds = [child.value / child.visits + weight / math.sqrt(child.visits) for child in node.children]
            node = node.children[bounds.index(max(bounds))]
        return node

    def add(self, score: float) -> None:
        """Count a score here and in everything above."""
        node: Node | None = self
        while node:
            node.visits += 1
            node.value += score
            node = node.parent


@dataclass(frozen=True)
class TreeSearch:
    """The reply that scores highest in a tree of replies and their revisions; the first of equals.

    Args:
        agent: who replies and revises. Its temperature should not be 0.
        score: how good a reply is, from 0 to 1.
        simulations: walks down the tree, each of which expands one node.
        width: replies that a node is expanded by.
        depth: levels of replies; 1 never revises.
        exploration: how much the rarely visited is favoured; 0 always goes on with the best.
        accept: the score that ends the search.
        note: what the agent is told about the reply it revises.
        grace: seconds to wait for the slow of an expansion once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import Exact, ModelAgent, Scripted, perform
    >>> agent = ModelAgent(Scripted(["Lyon", "Nice", "Metz", "Paris"]), "geographer")
    >>> result = asyncio.run(perform(TreeSearch(agent, Exact(["Paris"])), "Capital of France?"))
    >>> result.text, result.usage.calls
    ('Paris', 6)
    """

    also_known_as: ClassVar = ("MCTS", "Monte Carlo tree search")

    agent: Agent
    score: Scorer
    simulations: int = 2
    width: int = 3
    depth: int = 3
    exploration: float = 0.2
    accept: float = 1.0
    note: str = NOTE
    grace: float | None = None
    name: str = "tree-search"

    def __post_init__(self) -> None:
        at_least(1, "simulations", self.simulations, self.name)
        at_least(1, "replies a node", self.width, self.name)
        at_least(1, "levels", self.depth, self.name)
        finite(self.name, least=0, accept=self.accept)
        if not 0 <= self.exploration < math.inf:
            raise UsageError(f"{self.name} can't explore with a weight of {self.exploration}: give 0 or more")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        root = Node()
        found: list[Node] = []
        for simulation in range(1, self.simulations + 1):
            leaf = root.leaf(self.exploration)
            if leaf.depth < self.depth:
                leaf.children = await self._expanded(leaf, chat, run)
                found += leaf.children
            for node in leaf.children or [leaf]:
                node.add(node.score)
            if simulation < self.simulations and any(node.score >= self.accept for node in leaf.children):
                run.note(f"a reply of simulation {simulation} of {self.simulations} was good enough, so it is the last")
                break
        replies = {node.reply: node.score for node in found if node.reply}
        return chosen(max(replies, key=lambda reply: replies[reply]), replies)

    async def _expanded(self, leaf: Node, chat: Chat, run: Run) -> list[Node]:
        """New children of a leaf, scored; none if the agent gives none, but for the first replies of all."""
        asked = hear(chat, [leaf.reply], self.note) if leaf.reply else chat
        asks = (run.ask(self.agent, asked) for _ in range(self.width))
        replies = await run.all(asks, need=0 if leaf.reply else 1, grace=self.grace)
        if not leaf.reply:
            run.offer(replies[0])
        scores = await scored(self.score, chat, replies, run)
        return [Node(leaf, reply, score, leaf.depth + 1) for reply, score in zip(replies, scores, strict=True)]
