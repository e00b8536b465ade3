"""Tit for tat: one side answers, the other objects, and so on, until a judge finds for one; else the judge answers.

Liang, He, Jiao, Wang, Wang, Wang, Yang, Shi and Tu, "Encouraging Divergent Thinking in Large Language Models through
Multi-Agent Debate", arXiv 2305.19118; read in the public code: Skytliang/Multi-Agents-Debate (code/debate4tran.py,
commit 28cd8f0; code/utils/config4all.json, commit 447ef67). An affirmative side answers, a negative side is told to
disagree, and from then on each is told the other's last words. A moderator, told both sides' arguments after every
round, ends the debate as soon as it has a preference (adaptive break); without one after the last round a judge, told
both sides, gives the answer. Default from there: 3 rounds. Comparative studies know it as Multi-Persona, the devil
against the angel (instadeepai/DebateLLM, experiments/conf/system/tsinghua_mad.yaml).

Differences: there moderator and judge are two players of one model; here one agent is both, and is asked to write the
answer itself in place of the last round's verdict. There the moderator writes the answer it prefers, here the reply of
the side that it names is given. There it remembers earlier rounds, and the judge is told the first answers and lists
the candidates before it decides; here both are told each side's last words, without being told which side is which, in
an order drawn each time. A verdict that can't be read stops the program there; here it goes on, and that is noted. More
than two sides may speak in turn; one that gives no reply in its turn is asked no more, and what it said before counts.
Ending without the judge where all sides that spoke give one answer is motet's (`stop_at_agreement=False` is the
paper's).

Shape: (agents + 1) × rounds calls at most, all in series. Needs a judge that can name a letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate import Plurality
from motet.aggregate.plurality import tally
from motet.ballot import read_choice
from motet.compose.base import at_least
from motet.compose.roles import Floor
from motet.errors import TooFewReplies
from motet.form import choice_form
from motet.message import Chat, Message, Reply, chosen, hear
from motet.prompt import next_labels
from motet.run import Agent, Run

OBJECT = (
    "Below is an answer to this that you disagree with. Say what is wrong with it, and give your own answer, with your "
    "reasons."
)
REPLY = (
    "Below is what the other side says to this. You need not agree: the point is to find the right answer. Say whether "
    "you agree and why, then give your own answer again, changed or not."
)
JUDGE = (
    "Below are the sides of a debate about this, each with a letter. Judge the answers, not how sure they sound. If "
    "one is clearly right, the debate ends; if you can't tell yet, it goes on. Give your reason in a sentence, then "
    'end with one line: "Verdict: CONTINUE", or "Verdict:" and the letter of the side that is right.'
)
DECIDE = (
    "Below are the sides of a debate about this that has ended undecided. Weigh their answers, then give the one reply "
    "that you think is right, without mentioning the debate."
)
CONTINUE = "CONTINUE"


@dataclass(frozen=True)
class TitForTat:
    """Sides that answer each other in turn before a judge that may end it at any time.

    Args:
        agents: the sides: the first affirms, the second objects to it, further ones to all before them.
        judge: who decides; the first side if None, which makes it judge in its own cause.
        rounds: turns of each side.
        stop_at_agreement: end as soon as all sides give the same answer.
        oppose: what a side is told when it speaks for the first time after others.
        note: what it is told about the others' words from then on.
        verdict: what the judge is told after every round but the last.
        decide: what it is told after the last.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> angel, devil = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Lyon", "Paris"))
    >>> judge = ModelAgent(Scripted(["Verdict: CONTINUE", "Paris is the capital."], name="judge"), "judge")
    >>> result = asyncio.run(perform(TitForTat([angel, devil], judge, rounds=2), "Capital of France?"))
    >>> result.text, result.usage.calls
    ('Paris is the capital.', 6)
    """

    also_known_as: ClassVar = ("MAD", "devil and angel", "multi-persona debate", "adversarial debate with a judge")

    agents: Sequence[Agent]
    judge: Agent | None = None
    rounds: int = 3
    stop_at_agreement: bool = True
    oppose: str = OBJECT
    note: str = REPLY
    verdict: str = JUDGE
    decide: str = DECIDE
    name: str = "tit-for-tat"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(1, "rounds", self.rounds, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        floor = Floor(dict.fromkeys(range(len(self.agents)), chat))
        for round in range(1, self.rounds + 1):
            await self._speak(floor, round, run)
            last = list(floor.said.values())
            if not last:
                raise TooFewReplies(1, 0, run.missing, run.abstained)
            run.offer(last[0])
            if self.stop_at_agreement and len(tally(last, question=chat.question)) == 1:
                return chosen(last[0], last)
            if len(floor.chats) < 2:
                run.note(f"fewer than two sides are left to speak after round {round}; the judge decides at once")
                break
            if round < self.rounds and (found := await self._preferred(chat, last, run)):
                return chosen(found, last)
        return await self._decided(chat, last, run)

    async def _speak(self, floor: Floor, round: int, run: Run) -> None:
        """One turn of each side, in order; who gives no reply is not asked again."""
        for seat in list(floor.chats):
            if floor.silent(seat):
                break
            told = floor.turn(seat, self.oppose if round == 1 else self.note)
            said = await run.all([run.ask(self.agents[seat], told)], need=0)
            if said:
                floor.say(seat, said[0])
            else:
                floor.leave(seat)

    async def _preferred(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply | None:
        """The reply of the side that the judge is for; None if it is for none yet."""
        shown, labels = run.rng.sample(replies, len(replies)), next_labels(chat, len(replies))
        asked = hear(chat.add(Message("user", self.verdict)), shown, labels=labels)  # the question is now to judge
        form = choice_form([CONTINUE, *labels])
        said = await run.all([run.ask(self.judge or self.agents[0], asked.held(form))], need=0)
        verdict = read_choice(said[0].text.upper(), [*labels, CONTINUE]) if said else None
        if verdict is None:
            run.note("the judge gave no verdict that could be read; the debate goes on")
        return dict(zip(labels, shown, strict=True)).get(verdict or CONTINUE)

    async def _decided(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply:
        """What the judge answers in the end."""
        asked = hear(chat, replies, self.decide)
        given = await run.all([run.answer(self.judge or self.agents[0], asked)], need=0)
        if given:
            return given[0]
        run.note("the judge gave no answer; the most frequent one is given instead")
        return await Plurality()(chat, replies, run)
