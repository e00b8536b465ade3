"""Multi-persona: personas made up for the question advise a leader, then say whether they are content with its reply.

Wang, Mao, Wu, Ge, Wei and Ji, "Unleashing the Emergent Cognitive Synergy in Large Language Models: A Task-Solving Agent
through Multi-Persona Self-Collaboration" (Solo Performance Prompting), arXiv 2307.05300; read: its prompt, as
instadeepai/DebateLLM holds it (experiments/conf/system/agent_prompts/spp_original.yaml), and the file list of the
public repository MikeWangWZHL/Solo-Performance-Prompting with its ablations (fixed personas, profiles). One model names
the participants that the task takes, lets each give hints, makes a first proposal, hears their criticism, and revises
until all are content.

Differences: there all of it is one completion of one model, in which each persona sees all that was said before; here
each turn is a call, personas speak at the same time, see the leader's proposal and not each other, and may be played by
different agents in their order: with one agent it is the paper's method in several calls, with several it is
heterogeneous. Whether a persona is content is read from a verdict; one that can't be read is none. It ends after
`rounds` proposals, of which the last is not criticised, and that is noted. There the number of personas is the model's;
here it is `count` at most. `personas` fixes them (the paper's ablation) and saves the first call.

Not to be confused with the debate of two that some studies call multi-persona: that is `tit_for_tat`.

Shape: 1 + rounds × (count + 1) calls at most, 1 + 2 × rounds in series; one less of both with fixed personas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate import Plurality
from motet.compose.agent_verse import REVISE
from motet.compose.base import at_least
from motet.compose.roles import AGREEMENT, agrees, cast, recruited, with_words
from motet.errors import TooFewReplies
from motet.message import Chat, Message, Reply, hear, recall
from motet.run import Agent, Run

ADVISE = "Say what has to be minded in answering this, as far as your skill goes, and what you think the answer is."
PROPOSE = (
    "Below is what advisers say to this. They may be wrong. Weigh it, then give the one reply that is right, whole, "
    "without mentioning them."
)
CRITICISE = (
    "Below is a reply to this. Check it, step by step, as far as your skill goes, and say what has to be changed. End "
    'with one line: "Verdict: DISAGREE" if anything has, or "Verdict: AGREE".'
)


@dataclass(frozen=True)
class MultiPersona:
    """A leader that is advised and criticised by personas, until all of them are content.

    Args:
        agents: the first leads; the personas are played by all in turn, the second first.
        personas: who they are; if none, the leader says who is needed.
        count: personas at most, if the leader says.
        rounds: proposals at most, the first included.
        advise: what personas are told before the first proposal.
        propose: what the leader is told about their advice.
        criticise: what personas are told about a proposal.
        grace: seconds to wait for slow personas once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> agent = ModelAgent(Scripted(["1. a geographer", "Mind the century.", "Paris", "Verdict: AGREE"]), "one")
    >>> result = asyncio.run(perform(MultiPersona([agent], count=1), "Capital of France?"))
    >>> result.text, result.usage.calls
    ('Paris', 4)
    """

    also_known_as: ClassVar = ("SPP", "Solo Performance Prompting")

    agents: Sequence[Agent]
    personas: Sequence[str] = ()
    count: int = 3
    rounds: int = 2
    advise: str = ADVISE
    propose: str = PROPOSE
    criticise: str = CRITICISE
    grace: float | None = None
    name: str = "multi-persona"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "personas", self.count, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        with_words(self.name, "personas", self.personas)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        played = await self._personas(chat, run)
        advice = await run.all(
            (run.ask(agent, told.note(self.advise)) for agent, told in played), need=0, grace=self.grace
        )
        for said in advice[:1]:
            run.offer(said)
        if not advice:
            run.note("no persona gave advice; the leader answers without")
        leader = self.agents[0]
        given = await run.all([run.ask(leader, hear(chat, advice, self.propose) if advice else chat)], need=0)
        if not given and not advice:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        if not given:
            run.note("the leader made no proposal; the most frequent answer of the personas is given instead")
            return await Plurality()(chat, advice, run)
        reply = given[0]
        for _ in range(1, self.rounds):
            run.offer(reply)
            asked = [
                (agent, hear(told.add(Message("user", self.criticise)), [reply]).held(AGREEMENT))
                for agent, told in played
            ]
            reviews = await run.all((run.ask(agent, told) for agent, told in asked), need=0, grace=self.grace)
            against = [review for review in reviews if not agrees(review, run)]
            if not reviews:
                run.note("no persona said anything of the proposal; it stands")
            if not against:
                return reply
            revised = await run.all([run.ask(leader, hear(recall(chat, reply), against, REVISE))], need=0)
            if not revised:
                run.note("the leader did not revise its proposal; it stands")
                return reply
            reply = revised[0]
        if self.rounds > 1:
            run.note(f"a persona was not content with each proposal before the last; proposal {self.rounds} stands")
        return reply

    async def _personas(self, chat: Chat, run: Run) -> list[tuple[Agent, Chat]]:
        """Who plays each persona, and what it is asked as that."""
        if self.personas:
            told = [cast(chat, persona) for persona in self.personas]
        else:
            roles = await recruited(self.agents[0], chat, self.count, run)
            told = [cast(chat, role, by) for role, by in roles] or [chat] * self.count
        return [(self.agents[(place + 1) % len(self.agents)], each) for place, each in enumerate(told)]
