"""Refine: an identifier says what kind of error a reply has, the refiner for that kind corrects it, until it is clean.

MoRA, the Mixture of Refinement Agents: Jaiswal et al., "Improving Physics Reasoning in Large Language Models Using
Mixture of Refinement Agents", arXiv 2412.00821; read in the public code: maximus-21/MoRA (`Agent/agent.py`,
`Agent/prompts.py`, `Agent/main.py`). A strong identifier looks for three kinds of errors, and the first that is found,
in this order, is corrected before anything else is looked at again:

* `misread`: the question was misunderstood, or given values were not used as given;
* `concept`: a wrong concept or formula was applied;
* `miscalculation`: the right formula was computed wrongly.

Default from there: 5 rounds at most (`--max_steps`).

Differences: there, the identifier breaks the question down first, and is then asked for each kind by itself, for two
flags about what was understood and for a score each of concepts and of calculations; here it is asked once, for the
kind, and its words go to the refiner, fenced, to say where the error is. There, the concept's refiner looks formulas up
in a graph of texts, and the calculation's has code written and run, and the base model puts the result into words; here
each is any agent (one with a retrieval of its own; a calculator), and what it replies is the new reply. A refiner that
abstains or fails, as a calculator does where there is no plain sum, leaves its work to the agent itself.

A verdict that can't be read corrects nothing: the reply stands, the loop ends, and that is noted, as it is when the
rounds are over and no verdict was clean.

Shape: 1 call and 2 a round at most, all in series, and one more where a refiner leaves its work; an estimate takes
every error for a misread question. Needs an identifier that tells right from wrong better than the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.ballot import read_choice
from motet.compose.base import at_least
from motet.form import choice_form
from motet.message import Chat, Message, Reply, hear
from motet.run import Agent, Run

IDENTIFY = (
    "Below is a reply to this. Look for errors in it, in this order: was the question misread (another thing is "
    "answered than was asked, or a given value is not used as given)? Is a concept or a formula wrong? Is something "
    "miscalculated? Name the first error there is, and say where, in a sentence. Then end with one line: "
    '"Verdict: misread", "Verdict: concept", "Verdict: miscalculation", or "Verdict: clean" if there is no error.'
)
REPLY = "Below is a reply to this that has an error."
MISREAD = (
    "Below is what a reader says of the error: the question was misread. Read the question once more: what is asked, "
    "and which values are given? Then give the reply again, whole, answering what is asked with the values that are "
    "given."
)
CONCEPT = (
    "Below is what a reader says of the error: a concept or a formula is wrong. Find the step where a wrong concept "
    "or formula is used, and recall the right one. Then give the reply again, whole, worked out anew from that step "
    "on."
)
MISCALCULATION = (
    "Below is what a reader says of the error: something is miscalculated. Find the step that is computed wrongly and "
    "compute it again, carefully. Then give the reply again, whole, with everything that follows from that step "
    "corrected."
)
CLEAN = "clean"


@dataclass(frozen=True)
class Refine:
    """A reply, corrected by the refiner for the kind of error that is found in it, until none is found.

    Args:
        agent: who gives the first reply, and corrects where there is no refiner.
        identifier: who says which kind of error a reply has.
        misread: who corrects what was misread; the agent if None.
        concept: who corrects wrong concepts; the agent if None.
        miscalculation: who corrects miscalculations, a calculator for example; the agent if None.
        rounds: verdicts at most.
        identify: what the identifier is told.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> pupil, abacus = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("381", "391"))
    >>> teacher = ModelAgent(Scripted(["7 * 3 is 21. Verdict: miscalculation", "Verdict: clean"]), "teacher")
    >>> asyncio.run(perform(Refine(pupil, teacher, miscalculation=abacus), "What is 17 * 23?")).text
    '391'
    """

    also_known_as: ClassVar = ("MoRA", "Mixture of Refinement Agents")

    agent: Agent
    identifier: Agent
    misread: Agent | None = None
    concept: Agent | None = None
    miscalculation: Agent | None = None
    rounds: int = 5
    identify: str = IDENTIFY
    name: str = "refine"

    def __post_init__(self) -> None:
        at_least(1, "rounds", self.rounds, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        refiners = {
            "misread": (self.misread, MISREAD),
            "concept": (self.concept, CONCEPT),
            "miscalculation": (self.miscalculation, MISCALCULATION),
        }
        form = choice_form([CLEAN, *refiners], reasoned=True)
        (reply,) = await run.all([run.ask(self.agent, chat)])
        for _ in range(self.rounds):
            run.offer(reply)
            asked = hear(chat.add(Message("user", self.identify)), [reply])  # the question is now to find the error
            found = await run.all([run.ask(self.identifier, asked.held(form))], need=0)
            kind = _kind(found[0].text, [*refiners, CLEAN]) if found else None
            if kind == CLEAN:
                return reply
            if kind is None:
                run.note("the identifier gave no verdict that could be read; the reply stands as it is")
                return reply
            refiner, note = refiners[kind]
            told = hear(hear(chat, [reply], REPLY), found, note)
            refined = await self._refined(refiner, told, run)
            if refined is None:
                run.note(f"nobody corrected what was found to be wrong ({kind}); the reply stands as it is")
                return reply
            reply = refined
        run.note(f"no verdict was clean in {self.rounds} rounds; the last correction was not looked at again")
        return reply

    async def _refined(self, refiner: Agent | None, told: Chat, run: Run) -> Reply | None:
        """The reply of the refiner, or of the agent itself where there is none or it gives none."""
        for who in (refiner, self.agent) if refiner else (self.agent,):
            for reply in await run.all([run.ask(who, told)], need=0):
                return reply
        return None


def _kind(text: str, kinds: Sequence[str]) -> str | None:
    """The kind of error that a verdict names; None if it can't be read."""
    named = read_choice(text, [form for kind in kinds for form in (kind, kind.capitalize(), kind.upper())])
    return named.lower() if named else None
