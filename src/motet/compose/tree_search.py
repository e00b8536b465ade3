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

With a `pool` it is SYMPHONY: Zhu, Tang and Yue, "SYMPHONY: Synergistic Multi-agent Planning with Heterogeneous Language
Model Assembly", arXiv 2601.22623; read: its abstract, summaries, and the public code ZHUWEI-hub/SYMPHONY at c54afdb
(run.py, symphony.py and models.py under webshop/). Draws of one agent resemble each other, so branches come from unlike
ones. Who is asked next is scheduled by an upper confidence bound over the agents, of the mean score of their replies,
with a weight of 20 in its root, as in the code: nearly in turn, until much is known. Values are given by agents of the
pool too if there is no scorer; here by those that did not write the reply, in turn (there the same schedule picks them,
counts that as a turn, and may pick the writer; and values are divided by the best of an expansion). Its sizes are
fields: 10 simulations of 4 replies, 10 levels, an exploration weight of √2 in the code. An agent that gave no reply is
not scheduled again, and where all first replies fail, agents not yet asked are. Left out: the memory that agents share
(what went wrong in failed attempts, in a world that can be tried), roll-outs in that world, and values weighted by how
sure of them an agent says it is.

Shape: simulations × width calls at most and the scorer's, or one grade, for each; a simulation's replies and then its
scores at once, so 2 × simulations in series with a judge.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from motet.aggregate.best import scored
from motet.compose.base import at_least, finite
from motet.errors import TooFewReplies, UsageError
from motet.message import Chat, Reply, chosen, hear
from motet.run import Agent, Run
from motet.score import Scorer
from motet.score.base import AS_ZERO
from motet.score.judge import NOTE as GRADE
from motet.score.review import reviewed

SCALE = 10
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


@dataclass(eq=False)
class Schedule:
    """Whose turn it is: agents by their seats, how often each was asked, and the scores of its replies.

    >>> schedule = Schedule(3, weight=0.1)
    >>> schedule.next(3)  # nobody is known: each once
    [0, 1, 2]
    >>> for seat, score in ((0, 0.2), (1, 0.9), (2, 0.1)):
    ...     schedule.add(seat, score)
    >>> schedule.next(2)
    [1, 1]
    """

    seats: int
    weight: float = 20.0
    turns: bool = False

    def __post_init__(self) -> None:
        self.live = list(range(self.seats))
        self.asked, self.grading = [0] * self.seats, [0] * self.seats
        self.value = [0.0] * self.seats

    def next(self, count: int) -> list[int]:
        """The seats that are asked next, each by the highest upper confidence bound, those never asked first."""
        found = []
        for _ in range(count):
            found.append(max(self.live, key=self._bound))
            self.asked[found[-1]] += 1
        return found

    def _bound(self, seat: int) -> float:
        asked = self.asked[seat]
        if self.turns or not asked:
            return -asked if asked else math.inf
        return self.value[seat] / asked + math.sqrt(self.weight * math.log(sum(self.asked)) / (asked + 1))

    def add(self, seat: int, score: float) -> None:
        """Count the score of a reply."""
        self.value[seat] += score

    def drop(self, seats: set[int]) -> None:
        """Ask these no more, but for the last that is left."""
        self.live = [seat for seat in self.live if seat not in seats] or self.live[:1]

    def grader(self, authors: Collection[int]) -> int:
        """Who grades a reply of these seats, which one agent has: whoever graded least, they only if nobody else is."""
        others = [seat for seat in self.live if seat not in authors] or [*authors]
        found = min(others, key=lambda seat: self.grading[seat])
        self.grading[found] += 1
        return found


@dataclass(frozen=True)
class TreeSearch:
    """The reply that scores highest in a tree of replies and their revisions; the first of equals.

    Args:
        agent: who replies and revises. Its temperature should not be 0.
        score: how good a reply is, from 0 to 1; if None, the agents grade each other's replies.
        simulations: walks down the tree, each of which expands one node.
        width: replies that a node is expanded by.
        depth: levels of replies; 1 never revises.
        exploration: how much the rarely visited is favoured; 0 always goes on with the best.
        accept: the score that ends the search.
        note: what the agent is told about the reply it revises.
        grace: seconds to wait for the slow of an expansion once one has answered; None waits for all.
        pool: other agents that reply and revise as well; unlike ones are the point.
        schedule: who of several agents is asked next: `ucb` by an upper confidence bound, or `turns`.
        rotation: how much `ucb` favours the rarely asked: 0 goes by mean scores alone, 20 nearly takes turns.

    >>> import asyncio
    >>> from motet import Exact, ModelAgent, Scripted, perform
    >>> agent = ModelAgent(Scripted(["Lyon", "Nice", "Metz", "Paris"]), "geographer")
    >>> result = asyncio.run(perform(TreeSearch(agent, Exact(["Paris"])), "Capital of France?"))
    >>> result.text, result.usage.calls
    ('Paris', 6)
    """

    also_known_as: ClassVar = ("MCTS", "Monte Carlo tree search", "SYMPHONY")

    agent: Agent
    score: Scorer | None = None
    simulations: int = 2
    width: int = 3
    depth: int = 3
    exploration: float = 0.2
    accept: float = 1.0
    note: str = NOTE
    grace: float | None = None
    pool: Sequence[Agent] = ()
    schedule: Literal["ucb", "turns"] = "ucb"
    rotation: float = 20.0
    name: str = "tree-search"

    def __post_init__(self) -> None:
        at_least(1, "simulations", self.simulations, self.name)
        at_least(1, "replies a node", self.width, self.name)
        at_least(1, "levels", self.depth, self.name)
        at_least(0, "agents in the pool", self.pool, self.name)
        finite(self.name, least=0, accept=self.accept, rotation=self.rotation)
        if self.schedule not in ("ucb", "turns"):
            raise UsageError(f"{self.name} can't schedule by {self.schedule!r}: give ucb or turns")
        if not 0 <= self.exploration < math.inf:
            raise UsageError(f"{self.name} can't explore with a weight of {self.exploration}: give 0 or more")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        root = Node()
        found: list[Node] = []
        schedule = Schedule(1 + len(self.pool), self.rotation, self.schedule == "turns")
        for simulation in range(1, self.simulations + 1):
            leaf = root.leaf(self.exploration)
            if leaf.depth < self.depth:
                leaf.children = await self._expanded(leaf, schedule, chat, run)
                found += leaf.children
            for node in leaf.children or [leaf]:
                node.add(node.score)
            if simulation < self.simulations and any(node.score >= self.accept for node in leaf.children):
                run.note(f"a reply of simulation {simulation} of {self.simulations} was good enough, so it is the last")
                break
        replies = {node.reply: node.score for node in found if node.reply}
        return chosen(max(replies, key=lambda reply: replies[reply]), replies)

    async def _expanded(self, leaf: Node, schedule: Schedule, chat: Chat, run: Run) -> list[Node]:
        """New children of a leaf, scored; none if the agents give none, but for the first replies of all."""
        asked = hear(chat, [leaf.reply], self.note) if leaf.reply else chat
        agents = [self.agent, *self.pool]
        said: dict[int, Reply] = {}
        while not said:
            seats = schedule.next(self.width)
            need = int(not leaf.reply and set(seats) >= set(schedule.live))  # nobody else is left to be asked
            asks = {slot: run.ask(agents[seat], asked) for slot, seat in enumerate(seats)}
            try:
                said = await run.each(asks, need=need, grace=self.grace)
            except TooFewReplies:
                raise TooFewReplies(1, 0, run.missing, run.abstained) from None
            schedule.drop(set(seats) - {seats[slot] for slot in said})
            if leaf.reply:
                break
        replies = list(said.values())
        if not leaf.reply:
            run.offer(replies[0])
        authors = [seats[slot] for slot in said]
        scores = await self._scored(replies, authors, schedule, chat, run)
        for seat, score in zip(authors, scores, strict=True):
            schedule.add(seat, score)
        return [Node(leaf, reply, score, leaf.depth + 1) for reply, score in zip(replies, scores, strict=True)]

    async def _scored(
        self, replies: Sequence[Reply], authors: Sequence[int], schedule: Schedule, chat: Chat, run: Run
    ) -> list[float]:
        """The score of each reply, from the scorer or from an agent that did not write it."""
        if self.score is not None:
            return await scored(self.score, chat, replies, run)
        agents = [self.agent, *self.pool]
        own = [{seat for seat, each in enumerate(agents) if each.name == agents[author].name} for author in authors]
        graders = [agents[schedule.grader(seats)] for seats in own]
        reviews = dict(enumerate(zip(graders, replies, strict=True)))
        grades = await reviewed(reviews, chat, run, GRADE, scale=SCALE, grace=self.grace, otherwise=AS_ZERO)
        for slot, reply in enumerate(replies):
            run.offer(reply, grades.get(slot, 0.0) / SCALE)
        return [grades.get(slot, 0.0) / SCALE for slot in range(len(replies))]
