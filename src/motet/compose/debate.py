"""Debate: agents answer, hear each other, answer again, until they agree or the rounds are over; then a vote.

Du, Li, Torralba, Tenenbaum and Mordatch, "Improving Factuality and Reasoning in Language Models through Multiagent
Debate", arXiv 2305.14325; read in the public code: each agent keeps its own reply as its turn and is then told the
others' replies. Defaults from there: everybody hears everybody, 2 rounds in all (one of answers, one of debate).
Stopping at agreement is motet's (`stop_at_agreement=False` is the paper's); others' texts are fenced and shuffled.
Whom each hears is the `topology`: sparse ones cost less and often lose nothing (Li et al., arXiv 2406.11776).

Other protocols have files of their own: in turn before a judge (`tit_for_tat`), in roles (`chat_eval`), under an
evaluator (`agent_verse`), by personas (`multi_persona`). Any agents may debate in any of them, copies or unlike ones.

Who hears nobody, since the topology gives it nobody or those are dead, is asked to check its own answer.

Shape: agents × rounds calls at most, rounds in series.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate import Aggregator, Plurality
from motet.aggregate.plurality import tally
from motet.compose.base import at_least
from motet.message import Chat, Reply, hear, recall
from motet.run import Agent, Run
from motet.topology import Full, Topology

NOTE = (
    "Below is what others answered. Use it as additional information, not as the truth: check it, and your own answer, "
    "once more. Then give your answer again, changed or not."
)
AGAIN = "Check your answer once more. Then give it again, changed or not."
"""What an agent is told that hears nobody."""


@dataclass(frozen=True)
class Debate:
    """Rounds of answers, each agent hearing some of the others, then one reply made of the last round's.

    Args:
        agents: who debates.
        rounds: rounds of answers, the first included.
        topology: who hears whom.
        aggregate: makes the reply of the last round's replies.
        stop_at_agreement: end as soon as all give the same answer.
        note: what they are told about the others' replies.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "four")]
    >>> asyncio.run(perform(Debate(agents), "2 + 2?")).usage.calls  # they agree at once
    2
    """

    also_known_as: ClassVar = ("multi-agent debate", "society of minds")

    agents: Sequence[Agent]
    rounds: int = 2
    topology: Topology = Full()
    aggregate: Aggregator = Plurality()
    stop_at_agreement: bool = True
    note: str = NOTE
    grace: float | None = None
    name: str = "debate"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(1, "rounds", self.rounds, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        seats = range(len(self.agents))
        chats = dict.fromkeys(seats, chat)
        said = await run.each({i: run.ask(self.agents[i], chats[i]) for i in seats}, grace=self.grace)
        for round in range(1, self.rounds):
            run.offer(next(iter(said.values())))
            if self.stop_at_agreement and len(tally(list(said.values()), question=chat.question)) == 1:
                break
            for i in said:  # each goes on with what it said itself, then those whom it hears
                heard = [said[j] for j in self.topology(len(self.agents), i, round) if j in said]
                chats[i] = hear(recall(chats[i], said[i]), heard, self.note if heard else AGAIN)
            asks = {i: run.ask(self.agents[i], chats[i]) for i in said}
            said = {**said, **await run.each(asks, need=0, grace=self.grace)}
        return await self.aggregate(chat, list(said.values()), run)
