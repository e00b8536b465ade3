"""Patched MoA: one cheap model made better, behind one call, by best-of-n, a mixture of its draws, or a tree search.

Sharma, "Patched MOA: optimizing inference for diverse software development tasks", arXiv 2407.18521; read in the public
code: codelion/optillm (`optillm/bon.py`, `moa.py`, `mcts.py`). The paper compares three optimisations of one model:

* `bon`, best-of-n: 3 draws, each rated by the model itself;
* `moa`, its mixture of agents and what the paper recommends: 3 draws, one critique of all of them, and a reply written
  from the draws and the critique;
* `mcts`, Monte Carlo tree search.

The first and the last are methods of their own here (`best_of_n`, `tree_search`, which says what differs), with the
agent as its own judge; this file adds the second, and the one call for all three. All are told apart by one field.

Differences: draws are fenced under letters, shuffled once, so that the critique and the writer mean the same by a
letter; the wording is motet's own. The temperature is the agent's throughout (the code draws at 1, and criticises,
rates and writes at 0.1). Without a usable critique the reply is written from the draws alone; without a usable reply,
the most frequent answer of the draws is given; both are noted.

Shape: n + 2 calls, 3 in series (`moa`); 2 × n, 2 in series (`bon`); 4 × n, 4 in series (`mcts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from motet.aggregate import Plurality
from motet.compose.base import at_least
from motet.compose.best_of_n import BestOfN
from motet.compose.tree_search import TreeSearch
from motet.errors import UsageError
from motet.message import Chat, Message, Reply, hear
from motet.prompt import shuffled
from motet.run import Agent, Run
from motet.score import Judge

CRITIQUE = (
    "Below are candidate replies to this, each with a letter. Do not answer it yourself. Say of each candidate what is "
    "right and what is wrong or weak in it."
)
CANDIDATES = "Below are candidate replies to this, each with a letter. They may be wrong."
NOTE = (
    "Below is a critique of these candidates. It may be wrong too. With its help give one reply of your own, the best "
    "that can be given, without mentioning candidates or critique."
)


@dataclass(frozen=True)
class PatchedMoA:
    """One agent, its replies made better by one of three optimisations.

    Args:
        agent: who replies, criticises and judges. Its temperature should not be 0.
        optimization: `bon`, `moa` or `mcts`.
        n: draws; for `mcts`, replies a node.
        critique: what the agent is told when it is to criticise.
        note: what it is told about the critique when it writes the reply.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> agent = ModelAgent(Scripted(["Lyon", "Paris", "Paris", "A is wrong.", "It is Paris."]), "geographer")
    >>> asyncio.run(perform(PatchedMoA(agent), "Capital of France?")).text
    'It is Paris.'
    """

    also_known_as: ClassVar = ("Patched MOA", "mixture of one model's draws with a critique")

    agent: Agent
    optimization: Literal["bon", "moa", "mcts"] = "moa"
    n: int = 3
    critique: str = CRITIQUE
    note: str = NOTE
    grace: float | None = None
    name: str = "patched-moa"

    def __post_init__(self) -> None:
        at_least(1, "draws", self.n, self.name)
        if self.optimization not in ("bon", "moa", "mcts"):
            raise UsageError(f"{self.name} knows no optimization {self.optimization!r}: give bon, moa or mcts")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        if self.optimization == "bon":
            return await BestOfN([self.agent], Judge(self.agent), self.n, grace=self.grace)(chat, run)
        if self.optimization == "mcts":
            return await TreeSearch(self.agent, Judge(self.agent), width=self.n, grace=self.grace)(chat, run)
        return await self._mixture(chat, run)

    async def _mixture(self, chat: Chat, run: Run) -> Reply:
        drawn = await run.all((run.ask(self.agent, chat) for _ in range(self.n)), grace=self.grace)
        run.offer(drawn[0])
        shown, labels = shuffled(chat, drawn, run.rng)
        asked = hear(chat.add(Message("user", self.critique)), shown, labels=labels)  # the question is now to criticise
        critiques = await run.all([run.ask(self.agent, asked)], need=0)
        if not critiques:
            run.note("there is no critique of the draws; the reply is written without one")
        told = hear(chat, shown, CANDIDATES, labels)
        written = await run.all([run.answer(self.agent, hear(told, critiques, self.note))], need=0)
        if written:
            return written[0]
        run.note("no reply was written from the draws; the most frequent answer is given instead")
        return await Plurality()(chat, drawn, run)
