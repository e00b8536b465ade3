"""Sparse Mixture-of-Agents: layers of proposers with roles; a judge passes k replies on, a moderator may end it early.

Li, Tan, Qian, Li, Chaudhary, Hu and Shen, "SMoA: Improving Multi-agent Large Language Models with Sparse
Mixture-of-Agents", arXiv 2411.03284; read in the public code: David-Li0406/SMoA (run_alignment.py, utils.py and the
files under prompt/, commits 0a0ee8d and d50b786). Every proposer has a role, a description of who it is, so that they
think differently (role playing); of a layer's replies only k are heard by the next layer and by the aggregator
(response selection); and when the replies agree, the layers that are left are not asked (early stopping). The three are
the paper's ablations: without `roles`, `select=False`, `stop=False`; without all three it is `moa`. The defaults are
the code's: 2 layers, 2 replies selected; its switches for the three are off unless given.

Differences: the code has one agent decide both in one call that hears all replies; here, as in the paper's figure, the
judge selects and the moderator decides, which is another call but hears only what was selected (that it does is
inferred), and is not asked after the last layer. A judgement that can't be read is replaced by a random choice there;
here every reply is then passed on, and that is noted. A verdict that can't be read goes on, as there. The code has the
aggregator's model write the roles once for a task; here they are given. The judge ranks all replies, and the first k
are taken. It reads each layer once more, so that with few proposers and layers it is early stopping that saves tokens,
and nothing else does.

Shape: (proposers + 2) × layers calls at most, the aggregator's in place of the last moderator's; 3 × layers in series.
Needs a judge that can rank texts by their letters, and a moderator that can say STOP or CONTINUE.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate import Aggregator
from motet.aggregate.borda import NOTE as RANK
from motet.aggregate.borda import ranked
from motet.aggregate.synthesize import NOTE
from motet.ballot import read_choice
from motet.compose.base import at_least
from motet.errors import UsageError
from motet.form import choice_form
from motet.message import Chat, Message, Reply, hear
from motet.run import Agent, Run

ENDS = ("STOP", "CONTINUE")
MODERATE = (
    "Below are replies of others to this. Do not answer it; decide whether they have to be worked on. If they agree in "
    "what matters and nothing in them looks wrong, one more round would change nothing. Give your reason in a "
    'sentence, then end with one line: "Verdict: STOP" or "Verdict: CONTINUE".'
)


@dataclass(frozen=True)
class SparseMoA:
    """Proposers with roles, of whose replies a judge passes the best k on, until a moderator ends it.

    Args:
        proposers: who answers in every layer.
        aggregate: makes the reply of the last selected ones; the paper's is `Synthesize(agent)`.
        judge: who selects. If its ranking can't be read, all replies of that layer are passed on.
        moderator: who says whether to go on; the judge if None. If its verdict can't be read, it goes on.
        roles: who each proposer is told to be, one role a proposer in their order; none tells them nothing.
        k: replies that are passed on from each layer.
        layers: layers of proposers at the most.
        select: whether the judge selects; else all replies are passed on.
        stop: whether the moderator may end it early.
        note: what proposers are told about the replies they hear.
        rank: what the judge is told.
        moderate: what the moderator is told.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, Synthesize, perform
    >>> a, b, c = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Lyon", "Paris", "Nice"))
    >>> judge = ModelAgent(Scripted(["Ranking: B, C, A", "Verdict: STOP"], name="judge"), "judge")
    >>> result = asyncio.run(perform(SparseMoA([a, b, c], Synthesize(b), judge), "Capital of France?"))
    >>> result.text, result.usage.calls  # three proposers, the judge twice, and the aggregator
    ('Paris', 6)
    """

    also_known_as: ClassVar = ("SMoA", "Sparse Mixture-of-Agents")

    proposers: Sequence[Agent]
    aggregate: Aggregator
    judge: Agent
    moderator: Agent | None = None
    roles: Sequence[str] = ()
    k: int = 2
    layers: int = 2
    select: bool = True
    stop: bool = True
    note: str = NOTE
    rank: str = RANK
    moderate: str = MODERATE
    grace: float | None = None
    name: str = "sparse-moa"

    def __post_init__(self) -> None:
        at_least(2, "proposers", self.proposers, self.name)
        at_least(1, "layers", self.layers, self.name)
        at_least(1, "replies that are passed on", self.k, self.name)
        if self.select and self.k > len(self.proposers):
            raise UsageError(
                f"{self.name} passes on {self.k} replies of {len(self.proposers)} proposers: give a smaller k, or "
                f"select=False to pass all on"
            )
        if self.roles and len(self.roles) != len(self.proposers):
            raise UsageError(
                f"{self.name} has {len(self.proposers)} proposers and {len(self.roles)} roles: give one each, or none"
            )

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        chosen: list[Reply] = []
        for layer in range(1, self.layers + 1):
            heard = hear(chat, chosen, self.note) if chosen else chat
            asks = (run.ask(agent, self._as(place, heard)) for place, agent in enumerate(self.proposers))
            said = await run.all(asks, need=0 if chosen else 1, grace=self.grace)
            if not said:
                run.note(f"nobody answered in layer {layer}; the replies of the one before stand")
                break
            run.offer(said[0])
            chosen = await self._selected(chat, said, run)
            run.offer(chosen[0])
            if self.stop and layer < self.layers and await self._ended(chat, chosen, run):
                run.note(f"the moderator ended it after layer {layer} of {self.layers}")
                break
        return await self.aggregate(chat, chosen, run)

    def _as(self, place: int, chat: Chat) -> Chat:
        """What a proposer is asked, in its role."""
        return chat.under(self.roles[place]) if self.roles else chat

    async def _selected(self, chat: Chat, replies: list[Reply], run: Run) -> list[Reply]:
        """The k best in the judge's eyes."""
        if not self.select or len(replies) <= self.k:
            return replies
        order = await ranked([self.judge], chat, replies, run, self.rank)
        if order is None:
            run.note("the judge gave no ranking that could be read; every reply of the layer is passed on")
            return replies
        return order[: self.k]

    async def _ended(self, chat: Chat, replies: list[Reply], run: Run) -> bool:
        """Whether the moderator says so."""
        asked = hear(chat.add(Message("user", self.moderate)), replies).held(choice_form(ENDS))  # now whether to go on
        said = await run.all([run.ask(self.moderator or self.judge, asked)], need=0)
        verdict = read_choice(said[0].text.upper(), ENDS) if said else None
        if verdict is None:
            run.note("the moderator gave no verdict that could be read; it goes on")
        return verdict == "STOP"
