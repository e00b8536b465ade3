"""Institution: seven ways in which societies have decided, as data over one engine, applied to a question.

Fei, Guo and Xiao, "When Agents Evolve, Institutions Follow", arXiv 2604.27691; read: its abstract, and its public code
cf3i/SocialSystemArena (systems/institutions/MAS_TOPOLOGY_ANALYSIS.md, the specifications of Athens, Tang and the United
States, mas_engine/core/runtime.py). Every institution answers four questions: who proposes, who reviews, who executes,
who corrects. The paper makes executable architectures of seven, in four patterns (pipeline, gated pipeline, cluster,
consensus); it finds over 57 points between the best and the worst of them with one model, and that the best changes
with the model's skill and with the task. The code has eight; here are

* `egypt`: a vizier plans, a nomarch executes;
* `qin_han`: decree, chancellor's plan, commandery, county, each handing the order down;
* `mongol`: the same, deeper: khan, secretariat and four levels of command;
* `edo`: the shogun orders, four domains execute side by side, the council checks them and sanctions;
* `tang`: a secretariat drafts, the chancellery may send the draft back, six ministries execute, a failure goes back;
* `us_federal`: a bill passes committee, both houses and the president, or two thirds override; an agency executes, and
  a court reviews;
* `athens`: a council proposes, all citizens vote, a general executes, a court decides where that is disputed.

(The eighth, the Soviet one, is a pipeline as those two are; which the paper leaves out was not seen.) An institution is
a row of offices, `INSTITUTIONS[name]`, and nothing else; one's own is given as `offices`.

Inferred: what each office does with a question. A draft is a reply; whoever hands it down, or executes it, hears it and
gives a whole reply of its own, and the last one is the answer. Those who execute side by side give the most frequent
answer. A draft that is sent back is drafted anew by the next agent, who hears the objection (Tang) or does not, as it
is another bill (the United States, Athens; there, the code ends without a result). An execution is disputed if its
answer is not that of the draft. What a court or council finds wrong is executed again, by another, who hears why.
Offices are filled with the agents in turn, seat by seat, and nobody reviews or mends what it wrote itself as long as
there is anybody else, but as one of an assembly; a vacancy among those who draft or execute is filled by the next. Left
out: Tang's emperor, who may overrule the chancellery, and the execution that is sent back there as often as it fails.

A verdict that can't be read is no objection, so that nonsense stops nothing (in the code it counts as a rejection: what
is decided nowhere goes the default way, back or to the end); nor is it a consent that overrides. It is noted, as are a
draft that stands after `attempts` although it was rejected, and an override. Reviews are blind, drafts fenced.

Simulated, agents that consent to what they would say themselves, 600 questions: of agents of 75 % Athens makes 92 %
(best) and Qin-Han 80 % (worst); of agents of 30 % Tang and Qin-Han make 34 % (best, one question apart) and Athens 29 %
(worst). So the best does change with skill, as the paper says; gaps of 57 points do not come about where every question
gets some answer, and what is rejected is not lost.

Shape: from 2 calls in series (`egypt`) to attempts × (1 draft, its reviews and the vote that fails to override the
last) and the execution with its review and correction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

import msgspec

from motet.aggregate import Plurality
from motet.aggregate.camps import camps
from motet.ballot import read_choice
from motet.compose.base import at_least, finite
from motet.errors import TooFewReplies, UsageError
from motet.form import choice_form
from motet.message import Chat, Message, Reply, hear
from motet.run import Agent, Run

DOWN = (
    "Below is what was handed down to you about this. Check it, make it more exact where it is not, and hand down the "
    "whole reply as it should be."
)
EXECUTE = (
    "Below is what was decided about this. Carry it out: give the whole reply, with the answer at its end. Depart from "
    "what was decided only where it is plainly wrong."
)
REVIEW = (
    "Below is a reply to this that needs your consent. Is it right? Say in a sentence what you find. Then end with one "
    'line: "Verdict: reject" if it must not stand, or "Verdict: clean" if it may.'
)
OBJECTION = "Below is why a former reply to this was rejected; it may be mistaken. Give a whole reply of your own."
REJECT = "reject"
_FORMS = [form for word in ("clean", REJECT) for form in (word, word.capitalize(), word.upper())]
Does = Literal["draft", "pass", "gate", "execute", "audit"]


class Office(msgspec.Struct, frozen=True):
    """One office of an institution.

    Args:
        does: `draft` proposes, `pass` hands down, `gate` consents or sends back, `execute` carries out, `audit`
            corrects.
        seats: how many hold it, side by side; 0 for all agents. A gate sends back what over half of them reject.
        hears: whether whoever drafts anew hears why the draft was sent back.
        override: the share of all agents whose consent overrules this gate's rejection; 0 if nobody can.
        disputed: an audit only where the execution departs from what was decided.
    """

    does: Does
    seats: int = 1
    hears: bool = False
    override: float = 0.0
    disputed: bool = False


_DRAFT, _PASS, _GATE = Office("draft"), Office("pass"), Office("gate")
_EXECUTE, _AUDIT = Office("execute"), Office("audit")
INSTITUTIONS: Mapping[str, tuple[Office, ...]] = MappingProxyType(
    {
        "egypt": (_DRAFT, _EXECUTE),
        "qin_han": (_DRAFT, _PASS, _PASS, _EXECUTE),
        "mongol": (_DRAFT, _PASS, _PASS, _PASS, _PASS, _EXECUTE),
        "edo": (_DRAFT, Office("execute", seats=4), _AUDIT),
        "tang": (_DRAFT, Office("gate", hears=True), _PASS, Office("execute", seats=6), _AUDIT),
        "us_federal": (_DRAFT, _GATE, _GATE, _GATE, Office("gate", override=2 / 3), _EXECUTE, _AUDIT),
        "athens": (_DRAFT, Office("gate", seats=0), _EXECUTE, Office("audit", disputed=True)),
    }
)
"""The offices of each institution, in the order in which a question comes to them."""


@dataclass(frozen=True)
class Institution:
    """The answer of a society with such offices.

    Args:
        agents: who holds the offices, in turn.
        institution: which one: a key of `INSTITUTIONS`.
        offices: one's own offices instead, the first of which drafts.
        attempts: drafts at most; the last one stands.
        grace: seconds to wait for the slow of an office once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> def script(name, answer):
    ...     doubt = lambda text: "Verdict: clean" if answer in text else "Verdict: reject"
    ...     return lambda request: doubt(request.text) if "consent" in request.text else f"It is {answer}."
    >>> said = {"ann": "5", "bob": "4", "cat": "4"}
    >>> agents = [ModelAgent(Scripted(script(*each), name=each[0]), f"agent {each[0]}") for each in said.items()]
    >>> asyncio.run(perform(Institution(agents, "tang"), "2 + 2?")).text  # ann's draft was sent back
    'It is 4.'
    """

    also_known_as: ClassVar = ("Social System Arena", "governance topologies")

    agents: Sequence[Agent]
    institution: Literal["egypt", "qin_han", "mongol", "edo", "tang", "us_federal", "athens"] = "tang"
    offices: Sequence[Office] = ()
    attempts: int = 3
    grace: float | None = None
    name: str = "institution"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "attempts", self.attempts, self.name)
        if self.institution not in INSTITUTIONS:
            raise UsageError(f"{self.name}: no institution {self.institution!r}; known: {', '.join(INSTITUTIONS)}")
        at_least(0, "offices", self.offices, self.name)
        for office in self._offices:
            if not isinstance(office, Office) or office.does not in get_args(Does):
                raise UsageError(f"{self.name}: {office!r} is no office: give an Office that does {get_args(Does)}")
            at_least(0, "seats of an office", office.seats, self.name)
            finite(self.name, least=0, override=office.override)
        first, *others = [office.does for office in self._offices]
        if first != "draft" or "draft" in others:
            raise UsageError(f"{self.name}: of the offices, the first has to draft, and no other")

    @property
    def _offices(self) -> tuple[Office, ...]:
        return tuple(self.offices) or INSTITUTIONS[self.institution]

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        draft, *later = self._offices
        reply = await self._held(draft, 0, chat, run)
        if reply is None:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        for attempt in range(self.attempts):
            reply, told = await self._through(later, attempt, chat, reply, run)
            if told is None:
                break
            reply = await self._held(draft, attempt + 1, told, run, author=reply.agent) or reply
        return reply

    async def _through(
        self, offices: Sequence[Office], attempt: int, chat: Chat, decided: Reply, run: Run
    ) -> tuple[Reply, Chat | None]:
        """What becomes of a draft in the offices after it; and what whoever drafts anew is told, if it is sent back."""
        reply = run.offer(decided)
        turns = accumulate((office.seats or 1 for office in offices), initial=attempt + 1)
        for turn, office in zip(turns, offices, strict=False):
            if office.does == "gate":
                against = await self._against(office, turn, chat, reply, run)
                if against and attempt + 1 < self.attempts:
                    return reply, hear(chat, against, OBJECTION) if office.hears else chat
                if against:
                    run.note(f"a draft stands though it was rejected, as {self.attempts} is the most there may be")
            elif office.does == "audit":
                if office.disputed and len(camps([decided, reply], chat.question)) == 1:
                    continue
                against = await self._against(office, turn, chat, reply, run)
                told = hear(hear(chat, [decided], EXECUTE), against, OBJECTION)
                if against:
                    reply = await self._held(_EXECUTE, turn + 1, told, run, author=reply.agent) or reply
            else:
                note = EXECUTE if office.does == "execute" else DOWN
                reply = await self._held(office, turn, hear(chat, [reply], note), run) or reply
                decided = reply if office.does == "pass" else decided
            run.offer(reply)
        return reply, None

    def _seated(self, office: Office, turn: int, author: str) -> tuple[list[Agent], list[Agent]]:
        """The agents that hold an office, and who comes next if it is vacant; the author of what it is about last."""
        count = len(self.agents)
        order = [self.agents[(turn + seat) % count] for seat in range(count)]
        order.sort(key=lambda agent: agent.name == author)
        return order[: office.seats or count], order[office.seats or count :]

    async def _held(self, office: Office, turn: int, told: Chat, run: Run, author: str = "") -> Reply | None:
        """What the holders of an office say, the most frequent answer of several; None if nobody is left to hold it."""
        holders, next_ones = self._seated(office, turn, author)
        for seated in (holders, *([each] for each in next_ones)):
            replies = await run.all((run.ask(agent, told) for agent in seated), need=0, grace=self.grace)
            if replies:
                return await Plurality()(told, replies, run) if len(replies) > 1 else replies[0]
        run.note(f"nobody is left for an office that has to {office.does}: what there was before it stands")
        return None

    async def _against(self, office: Office, turn: int, chat: Chat, reply: Reply, run: Run) -> list[Reply]:
        """The objections to a reply, if over half of an office has one and nobody overrides them."""
        asked = hear(chat.add(Message("user", REVIEW)), [reply])  # the question is now whether it may stand
        asked = asked.held(choice_form(["clean", REJECT], reasoned=True))
        holders, _ = self._seated(office, turn, reply.agent)
        against, _ = await self._reviewed(holders, asked, run, "objection")
        if 2 * len(against) <= len(holders):
            return []
        if office.override:
            _, consents = await self._reviewed(self.agents, asked, run, "consent")
            if consents >= office.override * len(self.agents):
                run.note("a rejection was overridden")
                return []
        return against

    async def _reviewed(
        self, reviewers: Sequence[Agent], asked: Chat, run: Run, wanted: str
    ) -> tuple[list[Reply], int]:
        """The objections, and how many consent; who says neither does nothing that is wanted."""
        said = await run.all((run.ask(reviewer, asked) for reviewer in reviewers), need=0, grace=self.grace)
        verdicts = [read_choice(each.text, _FORMS) for each in said]
        if len(said) < len(reviewers) or None in verdicts:
            run.note(f"a verdict is missing or could not be read; it counts as no {wanted}")
        against = [each for each, verdict in zip(said, verdicts, strict=True) if verdict and verdict.lower() == REJECT]
        return against, len(said) - verdicts.count(None) - len(against)
