"""AgentVerse: a recruiter picks roles, a solver and its critics work out a reply, an evaluator may send it back.

Chen, Su, Zuo, Yang, Yuan, Chan, Yu, Lu, Hung, Qian, Qin, Cong, Xie, Liu, Sun and Zhou, "AgentVerse: Facilitating
Multi-Agent Collaboration and Exploring Emergent Behaviors", arXiv 2308.10848; read in the public code:
OpenBMB/AgentVerse (environments/tasksolving_env/basic.py, commit 07e7014; environments/decision_maker/vertical.py,
horizontal.py and vertical_solver_first.py; tasks/tasksolving/mgsm/gpt-4/config.yaml). Each round: *recruitment*, roles
for the critics, with the evaluator's advice in view; *decision making*, below; *evaluation*, which accepts at 8 of 10,
or else gives advice for the next round. Defaults from there: 3 turns, 2 rounds (mgsm), 8 of 10.

* `vertical` (there: vertical-solver-first): the solver proposes, all critics review at once, and the solver revises,
  until no critic disagrees or the turns are over;
* `horizontal`: the critics speak one after the other, each hearing those before, and the solver makes one reply of it.

Differences: there is no execution (the proposal is the reply). Whether a critic agrees is read from a verdict; the code
looks for "[Agree]". A verdict that can't be read is no agreement and a grade that can't be read does not accept, as
there, and both are noted. There proposals and reviews stay in the last few messages that each remembers; here critics
see the proposal alone, and the solver its proposal and those against it. What the last round gives is not evaluated,
since nothing would follow from it. There the solver gets a role too, and the recruiter is asked until it has named
enough; here critics without a role answer as they are. Roles are an agent's words and so are fenced. If the solver
makes no proposal, the next agent makes it; a proposal is revised by who made it, or stands. All this is noted.

Shape: with n agents, rounds × (2 + n × turns) + rounds - 1 calls at most if vertical, of which 2 × turns + 2 a round
are in series, and the evaluator's; rounds × (1 + n) + rounds - 1 if horizontal, all in series; more by those who are
asked in the solver's place. Needs critics and an evaluator that can tell right from wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from motet.aggregate import Plurality
from motet.ballot import read_grade
from motet.compose.base import at_least, finite
from motet.compose.roles import AGREEMENT, agrees, cast, recruited
from motet.errors import TooFewReplies, UsageError
from motet.form import grade_form
from motet.message import Chat, Message, Reply, hear, recall
from motet.run import Agent, Run

CRITICISE = (
    "Below is a reply to this. Work it out for yourself, step by step, then compare: say what is wrong or missing in "
    'the reply and what is right instead. End with one line: "Verdict: DISAGREE" or "Verdict: AGREE".'
)
DISCUSS = "Below is what others in your group say to this. Say what you think of it, and give your own answer."
REVISE = (
    "Below is what others say of your reply. They may be wrong. Check each point, then give your reply again, whole, "
    "corrected where it was wrong."
)
CONCLUDE = (
    "Below is what your group says to this. Weigh it, then give the one reply that is right, whole, without mentioning "
    "the group."
)
EVALUATE = (
    "Below is a reply to this. Check carefully whether it is correct and complete. If it is not, say what is wrong and "
    'how to put it right. Then end with one line: "Grade: " and a number from 0 (useless) to 10 (nothing to improve).'
)
ADVICE = "Below is what an evaluator says of the last reply to this."
SCALE = 10


@dataclass(frozen=True)
class AgentVerse:
    """A solver and recruited critics, evaluated and sent back until the reply is good enough.

    Args:
        agents: the first solves, the others criticise.
        recruiter: who says which roles the critics are to have; the first agent if None.
        evaluator: who grades; the first agent if None, which then grades itself.
        structure: how they decide.
        turns: reviews of a proposal at most, if vertical.
        rounds: proposals that are evaluated at most, and sent back if not accepted.
        accept: the grade that ends it, of 10.
        criticise: what critics are told if it is vertical.
        evaluate: what the evaluator is told.
        grace: seconds to wait for slow critics once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> solver = ModelAgent(Scripted(["1. a geographer", "Lyon", "Paris"], name="solver"), "solver")
    >>> critic = ModelAgent(Scripted(["It is Paris. Verdict: DISAGREE", "Verdict: AGREE"], name="critic"), "critic")
    >>> result = asyncio.run(perform(AgentVerse([solver, critic], rounds=1), "Capital of France?"))
    >>> result.text, result.usage.calls
    ('Paris', 5)
    """

    also_known_as: ClassVar = ("recruited experts", "solver and critics")

    agents: Sequence[Agent]
    recruiter: Agent | None = None
    evaluator: Agent | None = None
    structure: Literal["vertical", "horizontal"] = "vertical"
    turns: int = 3
    rounds: int = 2
    accept: float = 8
    criticise: str = CRITICISE
    evaluate: str = EVALUATE
    grace: float | None = None
    name: str = "agent-verse"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(1, "turns", self.turns, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        finite(self.name, least=0, accept=self.accept)
        if self.accept > SCALE:
            raise UsageError(f"{self.name}: accept can't be {self.accept:g}: give a grade from 0 to {SCALE}")
        if self.structure not in ("vertical", "horizontal"):
            raise UsageError(f"{self.name} has no structure {self.structure!r}: give vertical or horizontal")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        reply = run.offer(await self._round(chat, None, [], run))
        for _ in range(1, self.rounds):
            advice = await self._advice(chat, reply, run)
            if not advice:
                return reply
            reply = run.offer(await self._round(chat, reply, advice, run))
        if self.rounds > 1:
            run.note(f"the evaluator sent it back each time; what came in round {self.rounds} was not evaluated")
        return reply

    async def _round(self, chat: Chat, before: Reply | None, advice: Sequence[Reply], run: Run) -> Reply:
        """Recruitment and decision; `before` is what was sent back, with `advice`."""
        told = hear(chat, advice, ADVICE) if advice else chat
        roles = await recruited(self.recruiter or self.agents[0], told, len(self.agents) - 1, run)
        critics = [cast(told, *roles[place]) if place < len(roles) else told for place in range(len(self.agents) - 1)]
        if 0 < len(roles) < len(critics):
            run.note(f"only {len(roles)} of {len(critics)} roles could be read; the other critics answer as they are")
        if self.structure == "horizontal":
            return await self._horizontal(chat, critics, before, advice, run)
        reply = await self._revised(chat, before, advice, run) if before else await self._solved(chat, None, run)
        return await self._vertical(chat, critics, reply, run)

    async def _solved(self, chat: Chat, before: Reply | None, run: Run) -> Reply:
        """What the first agent that gives a reply says; what there was before it if nobody does."""
        for agent in self.agents:
            for reply in await run.all([run.ask(agent, chat)], need=0):
                if agent is not self.agents[0]:
                    run.note(f"{self.agents[0].name} gave no reply; {agent.name} solves in its place")
                return reply
        if before is None:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        run.note("nobody made a reply of it; the last proposal, or else the most frequent answer, is given instead")
        return before

    async def _revised(self, chat: Chat, reply: Reply, against: Sequence[Reply], run: Run) -> Reply:
        """A proposal as who made it revises it: to anybody else it would be passed off as its own."""
        author = next(agent for agent in self.agents if agent.name == reply.agent)
        for revised in await run.all([run.ask(author, hear(recall(chat, reply), against, REVISE))], need=0):
            return revised
        run.note("the proposal was not revised; it stands")
        return reply

    async def _vertical(self, chat: Chat, critics: Sequence[Chat], reply: Reply, run: Run) -> Reply:
        """Reviews at once and a revision, until nobody disagrees."""
        for _ in range(self.turns):
            run.offer(reply)
            asked = [hear(told.add(Message("user", self.criticise)), [reply]).held(AGREEMENT) for told in critics]
            asks = (run.ask(agent, each) for agent, each in zip(self.agents[1:], asked, strict=True))
            reviews = await run.all(asks, need=0, grace=self.grace)
            if not reviews:
                run.note("no critic answered; the proposal stands")
            against = [review for review in reviews if not agrees(review, run)]
            if not against:
                return reply
            proposed, reply = reply, await self._revised(chat, reply, against, run)
            if reply is proposed:
                return reply
        run.note(f"critics disagreed in each of {self.turns} turns; the last revision was not reviewed")
        return reply

    async def _horizontal(
        self, chat: Chat, critics: Sequence[Chat], before: Reply | None, advice: Sequence[Reply], run: Run
    ) -> Reply:
        """One critic after the other, then one reply of it."""
        said = [before] if before else []
        for agent, told in zip(self.agents[1:], critics, strict=True):
            asked = hear(told, said, DISCUSS) if said else told
            said += await run.all([run.ask(agent, asked)], need=0, grace=self.grace)
        if not said:
            return await self._solved(chat, None, run)
        frequent = run.offer(before or await Plurality()(chat, said, run))
        return await self._solved(hear(chat, [*said, *advice], CONCLUDE), frequent, run)

    async def _advice(self, chat: Chat, reply: Reply, run: Run) -> list[Reply]:
        """What the evaluator says of a reply that is not good enough; nothing if it is, or it says nothing."""
        asked = hear(chat.add(Message("user", self.evaluate)), [reply])  # the question is now to grade
        asked = asked.held(grade_form(SCALE, reasoned=True))
        said = await run.all([run.ask(self.evaluator or self.agents[0], asked)], need=0)
        if not said:
            run.note("the evaluator said nothing; the reply stands")
            return []
        grade = read_grade(said[0].text, SCALE)
        if grade is None:
            run.note("the evaluator gave no grade that could be read; that accepts nothing")
        return [] if grade is not None and grade >= self.accept else said
