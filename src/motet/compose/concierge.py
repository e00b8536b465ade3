"""Concierge: specialists are hired when something is missing, into a roster of few, and the longest unused one leaves.

Sampath and Baskaran, "Adaptive Orchestration: Scalable Self-Evolving Multi-Agent Systems", arXiv 2601.09742. Read: the
abstract, the opening of the paper and two summaries; its code is a notebook that could not be read. The concierge
starts with nobody. A meta-cognition engine follows the conversation: where a reply is a refusal ("I lack the
capability"), something is missing, and whoever has it is looked for among those not hired, and hired. The roster has
few places; when it is full, whoever was used least recently leaves. Refusals are taken out of the history ("surgical
history pruning"), since a model that reads that it could not goes on to say so.

Inferred: the unit of work and how gaps are seen. Here the concierge takes the question apart (`read_plan`), and each
step is served in turn by whom it chooses on the roster; that nobody there can do it is a gap, and so are a refusal, an
abstention and a failure. A recruiter then chooses from the cards (`about`) of those not hired; the engine runs in the
open here, not beside the conversation. The roster is kept for one question, since an agent keeps nothing between
questions; what is pruned from the conversation that came before is each turn of the assistant that refuses
(`refuses`). A refusal is heard by nobody later. The paper's other signal (a general tool used too often for something
special) is left out. 3 places, 6 steps and 3 tries a step are motet's choice.

A choice that can't be read is a gap; a hire that can't be read is the first of those not hired, and if all are hired,
whoever was used last tries; this is noted. Without a plan that can be read, the question is the one step. A step that
nobody does is noted. If no agent has a card, nobody is asked to choose: who was used last does the next step, and they
are hired in the order given as those before them refuse or fail.

Shape: 1 call to plan, up to 3 for each step (choose, hire, do; 2 for the first, and once all are hired), as many again
for each further try after a refusal, and 1 at the end, all in series.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.ballot import read_choice
from motet.compose.base import at_least
from motet.compose.steps import cards, crew, plan_of, worked
from motet.errors import TooFewReplies
from motet.form import choice_form, plan_form
from motet.message import Chat, Message, Reply, hear
from motet.run import Agent, Run

NOBODY = "NONE"
LOOKED_AT = 400
"""Characters from the beginning of a reply in which a refusal stands, if it is one."""
REFUSAL = re.compile(
    r"(?i)\b(?:I|we)(?:'m| am| are|'re)?\s+(?:(?:really|afraid|sorry)\W+(?:but\s+|that\s+)?(?:I\s+)?)?"
    r"(?:can(?:not|'t| ?not)|unable to|not able to|lack the|won't be able to|not equipped to"
    r"|do(?: not|n't) have (?:[\w-]+ ){0,2}(?:access|ability|capability|tools?))"
    r"\b(?! but | help but | wait| stress| imagine| believe| see (?:why|how))"
)
PLAN = (
    "Do not answer this; say what it takes. Write a numbered list and nothing else, of at most {most} steps, each of a "
    "kind that one specialist can do. Each step is one line that begins with its number, says what is to be done, and "
    'then which steps have to be done before it, if any, for instance "1. ..." and "2. ... (after 1)".'
)
STAFF = (
    "Do not do this yourself. Below are those who are there, each with a letter and with what is known of it. Who of "
    'them can do what the last words above ask for? End with one line that begins with "Choice:" and has one letter, '
    'or "Choice: NONE" if nobody of them can.'
)
HIRE = (
    "Do not do this yourself. Somebody has to be hired who can do what the last words above ask for. Below are those "
    "who can be hired, each with a letter and with what is known of it. End with one line that begins with "
    '"Choice:" and has one letter, or "Choice: NONE" if nobody of them can.'
)
STEP = "Below is the one thing that you are asked to do for this. Do it, and say what comes of it."
BEFORE = "Below is what was found before. It may be wrong: check what you take from it."
ANSWER = (
    "Below is what specialists found, step by step. It may be wrong: check it. Then give the one reply that answers "
    "what was asked, without mentioning them."
)


def refuses(text: str) -> bool:
    """Whether a reply says, near its beginning, that its author can't do what was asked.

    >>> refuses("I'm sorry, but I cannot look up live prices."), refuses("I lack the capability to do that.")
    (True, True)
    >>> refuses("Penguins cannot fly."), refuses("I cannot but agree: it is 7.")
    (False, False)
    """
    return REFUSAL.search(text[:LOOKED_AT].replace("’", "'")) is not None


def pruned(chat: Chat) -> Chat:
    """The conversation without the turns in which the assistant refused."""
    kept = [m for m in chat.messages if not (m.role == "assistant" and not m.tool_calls and refuses(m.text))]
    return Chat(tuple(kept), chat.form)


@dataclass(frozen=True)
class Concierge:
    r"""Steps of a question, each done by a specialist that is there or is hired for it; one reply of what they found.

    If the concierge gives no usable reply at the end, what the last specialist found is given, and that is noted.

    Args:
        agents: who can be hired; what is known of an agent is its `about`.
        concierge: who plans, chooses from the roster, and gives the reply; the first agent if None.
        recruiter: who chooses whom to hire; the concierge if None.
        size: places on the roster.
        steps: steps at most.
        tries: specialists that are asked for one step at most.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> said = {"poet": "I cannot do sums.", "abacus": "391"}
    >>> poet, abacus = (ModelAgent(Scripted(text, name=name), name) for name, text in said.items())
    >>> host = ModelAgent(Scripted(["1. multiply", "17 times 23 is 391."], name="host"), "host")
    >>> result = asyncio.run(perform(Concierge([poet, abacus], host), "What is 17 * 23?"))
    >>> result.text, [call.agent for call in result.trace if type(call).__name__ == "CallStarted"]
    ('17 times 23 is 391.', ['host', 'poet', 'abacus', 'host'])
    """

    also_known_as: ClassVar = ("self-evolving concierge", "dynamic mixture of experts")

    agents: Sequence[Agent]
    concierge: Agent | None = None
    recruiter: Agent | None = None
    size: int = 3
    steps: int = 6
    tries: int = 3
    name: str = "concierge"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "places (size)", self.size, self.name)
        at_least(1, "steps", self.steps, self.name)
        at_least(1, "tries", self.tries, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        host, chat = self.concierge or self.agents[0], pruned(chat)
        asked = chat.add(Message("user", PLAN.replace("{most}", str(self.steps))))  # the question is now what it takes
        plan = None
        for said in await run.all([run.ask(host, asked.held(plan_form(None, self.steps)))], need=0):
            plan = plan_of(said, run, None, most=self.steps, what="the plan")
        if plan is None:
            run.note("no plan could be read; the question is one step")
        roster: list[int] = []  # places among the agents, the least recently used first
        done: dict[int, Reply] = {}
        for place in [place for wave in plan.plan.waves for place in wave] if plan else [0]:
            told = hear(chat, [plan.words[place]], STEP) if plan else chat
            before = [done[other] for other in plan.plan.steps[place].after if other in done] if plan else []
            reply = await self._served(hear(told, before, BEFORE) if before else told, told, roster, run)
            if reply is None:
                run.note(f"nobody who was asked could do step {place + 1}")
            else:
                done[place] = run.offer(reply)
        found = [done[place] for place in sorted(done)]
        if plan is None and found:
            return found[0]
        last = ([host], hear(chat, found, ANSWER)) if found else (crew(host, self.agents), chat)
        for reply in (await worked({0: last}, run, answering=True)).values():
            return reply
        if not found:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        run.note("the concierge gave no reply; what the last specialist found is given instead")
        return found[-1]

    async def _served(self, told: Chat, need: Chat, roster: list[int], run: Run) -> Reply | None:
        """What a specialist finds that does not refuse; `roster` is brought up to date. None if nobody does it."""
        host, failed = self.concierge or self.agents[0], set[int]()
        for _ in range(self.tries):
            here = [place for place in reversed(roster) if place not in failed]
            place = await self._chosen(host, here, need, STAFF, run) if here else None
            if place is None:
                free = [at for at in range(len(self.agents)) if at not in roster and at not in failed]
                if not free and not here:
                    return None
                place = await self._chosen(self.recruiter or host, free, need, HIRE, run) if free else None
                if place is None:
                    run.note(
                        f"nobody was chosen; {'the first who could be is hired' if free else 'who is there tries'}"
                    )
                    place = [*free, *here][0]
                if free:
                    del roster[: max(0, len(roster) + 1 - self.size)]  # whoever was used least recently leaves
            roster[:] = [*(other for other in roster if other != place), place]
            for reply in await run.all([run.ask(self.agents[place], told)], need=0):
                if not refuses(reply.text):
                    return reply
            failed.add(place)
        return None

    async def _chosen(self, who: Agent, places: Sequence[int], need: Chat, note: str, run: Run) -> int | None:
        """The place that an agent chooses by the cards; None if nobody, or it can't be read, which is noted."""
        if not any(str(getattr(agent, "about", "")).strip() for agent in self.agents):
            return places[0]
        letters, shown = cards([self.agents[place] for place in places], need)
        asked = need.add(Message("user", f"{note}\n{shown}")).held(choice_form([*letters, NOBODY], "Choice"))
        for said in await run.all([run.ask(who, asked)], need=0):
            choice = read_choice(said.text, [*letters, NOBODY, NOBODY.lower(), NOBODY.capitalize()])
            if choice in letters:
                return places[letters.index(choice)]
            if choice is not None:
                return None
        run.note("a choice could not be read, and counts as none")
        return None
