"""AutoAgents: a planner casts the roles and draws the plan, observers review roles, plan and results, a team does it.

Chen, Dong, Shu, Zhang, Sesay, Karlsson, Fu and Shi, "AutoAgents: A Framework for Automatic Agent Generation", arXiv
2309.17288; read in the public code: Link-AGI/AutoAgents (autoagents/actions/create_roles.py, check_roles.py,
check_plans.py, steps.py, roles/manager.py, roles/observer.py, roles/group.py and environment.py, between b96aff7 and
255ac4e). The planner names the expert roles that the question takes and a plan whose steps begin with a role; one
observer goes over the roles and another over the plan: in the earlier code each gives the list again, mended or not; in
the later one each makes suggestions, by which the planner draws both again, up to 3 times, until neither has any. A
third looks after the execution: each role does its steps with the results of earlier ones before it. A last role puts
them together for the question.

Differences: there, a role is words for one and the same model; here each is played by one of the given agents, which
the planner chooses by their cards (`about`), or which take turns. Roles and steps are words of an agent, so whoever
plays them hears them fenced. Roles and plan are gone over once, as in the earlier code. The observer of results gives a
verdict on each, and a result that it does not find clean is done again, at most `rounds` times in all (the paper tells
of such refinement; in the code the roles of one step talk up to 5 times, and the observer only hands steps out). A step
hears the results that it comes after, where in the code it hears all before it; steps that do not wait for each other
are done side by side, where the code does one after the other, and a step has one role, where there several may talk.
Left out: search, tools, the bank of ready-made roles. The three observers are one agent. 4 roles, 6 steps and 2 rounds
are motet's choice.

A role that is cast twice is left out, one that is given to nobody known is played by the next in turn; what a plan has
wrong is mended (`read_plan`) and noted. Whose work fails hands it to the next agent, who goes on from there; a step
that nobody does is left out, and a result that nobody does again stays, both noted. An observer that can't be read
changes nothing, and neither does a list in which nothing is given to anybody: it has complaints, say. Without readable
roles or plan everybody answers the whole question, and so it is where nobody could do any step; that is noted.

Shape: 4 calls to plan, then for each step 1 and 2 more a round after the first, and 1; for S steps in W waves at most
5 + S × (2 × rounds - 1) calls, 5 + W × (2 × rounds - 1) in series; without observers 3 + S, 3 + W in series. Without a
plan agents + 4 calls, 5 in series. An estimate takes the larger.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.aggregate.synthesize import Synthesize
from motet.compose.base import at_least
from motet.compose.steps import Planned, cards, crew, doer, plan_of, planning, verdict_of, worked
from motet.errors import TooFewReplies
from motet.form import choice_form, plan_form
from motet.message import Chat, Message, Reply, hear, recall
from motet.prompt import next_labels
from motet.run import Agent, Run

ROLES = (
    "Do not answer this; put together the team that can. Which experts does it take, each with a part of its own? The "
    "steps of your list are these roles: a role's name, and then what it knows and does. Give each to the agent it "
    "suits best; below is what is known of them."
)
PLAN = (
    "Do not answer this; draw the plan by which the team below answers it. Say of each step what comes out of it, and "
    "let it come after those whose results it takes. Never guess a result."
)
CHECK_ROLES = (
    "Below is a draft of that. Is a part missing, is one there twice, has one too much to do, does an agent not suit "
    "it? Give the list again in the same form, corrected where it has to be."
)
CHECK_PLAN = (
    "Below is a draft of that plan. Does each step have a role, what it takes, and a result that the next can use? Is "
    "one missing? Give the list again in the same form, corrected where it has to be."
)
PART = "You are one of a team that works on this. Below is the part you play in it."
STEP = "Below is the one step that is yours to do. Do it, and give its result."
BEFORE = "Below are the results of the steps before yours. They may be wrong: check what you take from them."
CHECK = (
    "Below are a step of the plan by which a team works on this, and then what came out of it. Is it right, and what "
    "the step asks for? Say what is wrong, in a sentence. Then end with one line: "
    '"Verdict: revise" if it has to be done again, or "Verdict: clean" if it can stay.'
)
AGAIN = "Below is what an observer says of your result. Do the step again, and give the whole result."
ANSWER = (
    "Below is what came out of the steps by which a team worked on this, in their order. They may be wrong: check "
    "them. Then give the one reply that answers what was asked, without mentioning the team."
)


@dataclass(frozen=True)
class AutoTeam:
    r"""A team cast and planned for the question; its results are observed, and made into one reply.

    If the planner gives no usable reply at the end, the result of the last step is given, and that is noted.

    Args:
        agents: who play the roles; what is known of an agent is its `about`.
        planner: who casts the roles, draws the plan and gives the reply; the first agent if None.
        observer: who reviews roles, plan and results; the planner if None.
        roles: roles at most.
        steps: steps at most.
        rounds: times that a step is done at most, until the observer finds its result clean.
        observed: whether roles, plan and results are reviewed (False is the paper's ablation).

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> said = ["1. A: geographer, who knows places", "1. A: name the river of Paris", "Paris is on the Seine."]
    >>> planner = ModelAgent(Scripted(said), "planner")
    >>> guide = ModelAgent(Scripted("the Seine", name="guide"), "guide", about="knows France")
    >>> result = asyncio.run(perform(AutoTeam([guide], planner, observed=False), "On what river is Paris?"))
    >>> result.text, result.usage.calls
    ('Paris is on the Seine.', 4)
    """

    also_known_as: ClassVar = ("AutoAgents", "automatic agent generation")

    agents: Sequence[Agent]
    planner: Agent | None = None
    observer: Agent | None = None
    roles: int = 4
    steps: int = 6
    rounds: int = 2
    observed: bool = True
    name: str = "auto-team"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "roles", self.roles, self.name)
        at_least(1, "steps", self.steps, self.name)
        at_least(1, "rounds", self.rounds, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        planner = self.planner or self.agents[0]
        letters, shown = cards(self.agents, chat)
        cast = await self._drawn(chat, (ROLES, self.roles, shown), letters, CHECK_ROLES, run, ())
        seats = next_labels(chat, len(cast.words) if cast else 0)
        work = cast and await self._drawn(chat, (PLAN, self.steps, ""), seats, CHECK_PLAN, run, cast.words)
        if cast is None or work is None:
            return await self._whole("no roles or no plan could be read", chat, run)
        results: dict[int, Reply] = {}
        for wave in work.plan.waves:
            works: dict[int, tuple[list[Agent], Chat]] = {}
            for place in wave:
                step = work.plan.steps[place]
                role = seats.index(step.who) if step.who else place % len(seats)
                player = cast.plan.steps[role].who
                agent = self.agents[letters.index(player) if player else role % len(self.agents)]
                told = hear(hear(chat, [cast.words[role]], PART), [work.words[place]], STEP)
                before = [results[other] for other in step.after if other in results]
                works[place] = (crew(agent, self.agents), hear(told, before, BEFORE) if before else told)
            results |= await self._observed(works, await worked(works, run), work, chat, run)
        if not results:
            return await self._whole("nobody could do any step of the plan", chat, run)
        if undone := [str(place + 1) for place in range(len(work.words)) if place not in results]:
            run.note(f"nobody could do step {', '.join(undone)} of the plan")
        last = [results[place] for place in sorted(results)]
        run.offer(last[-1])
        told = hear(chat, last, ANSWER, next_labels(chat, len(last)))
        for reply in await run.all([run.answer(planner, told)], need=0):
            return reply
        run.note("the planner gave no reply; the result of the last step is given instead")
        return last[-1]

    async def _whole(self, why: str, chat: Chat, run: Run) -> Reply:
        """The question without a plan: put to every agent, and one reply made of theirs."""
        run.note(f"{why}; every agent answers the whole question")
        replies = await run.all((run.ask(agent, chat) for agent in self.agents), need=0)
        if not replies:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        run.offer(replies[0])
        return await Synthesize(self.planner or self.agents[0])(chat, replies, run)

    async def _drawn(
        self, chat: Chat, told: tuple[str, int, str], who: Sequence[str], check: str, run: Run, roles: Sequence[Reply]
    ) -> Planned | None:
        """The roles, or the plan for `roles`, as the planner draws and the observer corrects them."""
        note, most, shown = told
        what = "the plan" if roles else "the roles"
        asked = chat.add(Message("user", planning(note, most, shown)))  # the question is now to plan
        asked = hear(asked, roles, labels=who) if roles else asked
        planner, found = self.planner or self.agents[0], None
        for draft in await run.all([run.ask(planner, asked.held(plan_form(who, most)))], need=0):
            found = plan_of(draft, run, who, most=most, unlike=not roles, turns=True, what=what)
        if found is None or not self.observed:
            return found
        checked = hear(asked, [found.reply], check, next_labels(chat, len(who) + 1)[-1:])
        for said in await run.all([run.ask(self.observer or planner, checked.held(plan_form(who, most)))], need=0):
            better = plan_of(said, run, who, most=most, unlike=not roles, turns=True, what=f"{what} as observed")
            if better and any(step.who for step in better.plan.steps):  # else it is a list of complaints
                return better
        run.note(f"the observer gave no list that could be read; {what} stay as drawn")
        return found

    async def _observed(
        self,
        works: Mapping[int, tuple[list[Agent], Chat]],
        done: dict[int, Reply],
        work: Planned,
        chat: Chat,
        run: Run,
    ) -> dict[int, Reply]:
        """The results of a wave, done again while the observer finds them not clean and rounds are left."""
        observer, words = self.observer or self.planner or self.agents[0], ["clean", "revise"]
        asked, form = chat.add(Message("user", CHECK)), choice_form(words, reasoned=True)
        pending = list(done) if self.observed and self.rounds > 1 else []
        for _ in range(1, self.rounds):
            if not pending:
                break
            shown = {at: hear(asked, [work.words[at], done[at]], labels=next_labels(chat, 2)) for at in pending}
            views = await run.each({at: run.ask(observer, shown[at].held(form)) for at in pending}, need=0)
            verdicts = {at: verdict_of(views[at].text, words) if at in views else None for at in pending}
            if None in verdicts.values():
                run.note("the observer gave no verdict that could be read; that result stays as it is")
            again = {}
            for at in [at for at in pending if verdicts[at] == "revise"]:
                agents, told = works[at]
                told = hear(recall(told, done[at]), [views[at]], AGAIN)
                again[at] = (crew(doer(done[at], agents), agents), told)
            better = await worked(again, run)
            if len(better) < len(again):
                run.note("a step could not be done again; its result stays, though it was not found clean")
            done, pending = done | better, list(better)
        if pending:
            run.note(f"steps were done {self.rounds} times; the last results were not looked at again")
        return done
