"""Relay: the stronger leads, the weaker finishes.

The nearest published method is LLM Shepherding: Dong, Sharma, O'Toole, Champati and Wu, "Pay for Hints, Not Answers:
LLM Shepherding for Cost-Efficient Inference", arXiv 2601.22132. The large model writes a short prefix of its reply (a
hint; 10 to 30 % of it already help much), the small one is given the question with the hint and writes the reply. It is
paid for hints instead of answers. The paper's abstract and summaries of it were read; there is no public code, so how
the hint is told is inferred. Kin: RelayGen (Song, Kim and Kim, arXiv 2602.06454; read in jiwonsong-dev/RelayGen,
`utils/utils.py`), where the large model starts, hands single sentences of its reasoning over at learned cues, and the
small one always writes the answer; COPE (Lee et al., arXiv 2506.11578), where the hint is a plan.

The paper's two forms are both here. Without a `score` the stronger always leads (there, a trained predictor says
whether and how much, which is left out). With one it is the reactive form: the weaker answers first, and the stronger
leads only where that reply does not score enough. 0.8 as the threshold is the cascade's.

How long the hint is: as `lead` says, and at most the stronger agent's own `max_tokens`; a hint that this cuts off is
used as it is. With `lead=""` the stronger is asked the bare question, and the cut alone makes a hint of its reply: the
paper's form (the outcome then lists the stronger as cut). By default it is told to give the beginning only, so that
nothing is cut.

Be warned: Li and Goyal, arXiv 2510.06410, find that models hardly build on a stronger one's beginning where the problem
is beyond them. If the stronger fails, the weaker answers alone; if the weaker fails, the hint is given if it was not
cut, else the weaker's first reply; all are noted.

Shape: 2 calls in series; with a score, from 1 and the scorer's to 3 and the scorer's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from motet.errors import AgentFailed, BudgetExceeded, Failure, TooFewReplies, UsageError
from motet.message import Chat, Reply, hear
from motet.run import Agent, Run
from motet.score import Scorer

LEAD = (
    "Somebody who knows less than you is going to answer this. Write only the beginning, for them to go on from: how "
    "to go about it, and the step that is easiest to get wrong. Be short, and leave the rest to them."
)
NOTE = (
    "Below is how a good reply to this begins, by somebody who knows more about it; it may break off. Go on from "
    "there, and give the whole reply in your own words, with the answer at its end."
)


@dataclass(frozen=True)
class Relay:
    """The weaker agent's reply, begun by the stronger.

    Args:
        strong: who leads.
        weak: who finishes.
        score: how good the weaker's own reply is, from 0 to 1; None lets the stronger lead always.
        accept: the score at which the weaker's own reply is given.
        lead: what the stronger is told; "" asks it the bare question.
        note: what the weaker is told about the beginning it hears.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> strong = ModelAgent(Scripted("It is on the Seine:"), "geographer")
    >>> guess = Scripted(lambda request: "Paris" if "Seine" in request.text else "Lyon", name="weak")
    >>> weak = ModelAgent(guess, "pupil")
    >>> asyncio.run(perform(Relay(strong, weak), "Capital of France?")).text
    'Paris'
    """

    also_known_as: ClassVar = ("LLM Shepherding", "hints from a stronger model")

    strong: Agent
    weak: Agent
    score: Scorer | None = None
    accept: float = 0.8
    lead: str = LEAD
    note: str = NOTE
    name: str = "relay"

    def __post_init__(self) -> None:
        if not 0 <= self.accept <= 1:
            raise UsageError(f"{self.name} accepts at a score of {self.accept}, and scores are from 0 to 1")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        own: Reply | None = None
        if self.score is not None:
            for own in await run.all([run.ask(self.weak, chat)], need=0):
                run.offer(own)
                if await self.score(chat, own, run) >= self.accept:
                    return own
        led = await self._led(chat, run)
        if led is None:
            run.note("the stronger agent did not lead; the weaker answers alone")
            if own is not None:
                return own
        begun = hear(chat, [msgspec.structs.replace(led, finish="stop")], self.note) if led else chat
        finished = await run.all([run.answer(self.weak, begun)], need=0)
        best = next(iter(finished), led if led and led.usable else own)
        if best is None:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        if not finished:
            run.note("the weaker agent did not finish; what there was before is given instead")
        return best

    async def _led(self, chat: Chat, run: Run) -> Reply | None:
        """The stronger agent's words, whether they were cut off or not; None if it gave none."""
        led = await run.ask(self.strong, chat.note(self.lead) if self.lead else chat).settled()
        if isinstance(led, BudgetExceeded):
            raise led
        if isinstance(led, AgentFailed):
            run.missing += (led.failure,)
        elif led.state == "abstained":
            run.abstained += (led.agent,)
        elif led.text.strip():  # whole or cut off
            return run.offer(led)
        else:
            run.missing += (Failure(led.agent, "empty", "the reply was empty"),)
        return None
