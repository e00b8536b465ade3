"""CodeDelegator: a delegator that lasts and never does the work, and a fresh worker for each subtask.

Fei, Chen, Pan, Zheng and Song, "CodeDelegator: Mitigating Context Pollution via Role Separation in Code-as-Action
Agents", arXiv 2601.14914. Read: the abstract, the opening of the paper, and summaries; no public code was found. The
delegator keeps the overview: it takes the task apart, writes specifications, follows the progress, and executes
nothing. Each subtask goes to a worker made for it, whose context holds its specification alone, so that nothing of
earlier failures or of others' work is in its way. Ephemeral-persistent state separation: what a worker goes through
stays with it and ends with it; what comes out reaches the delegator, nothing else.

Inferred: that states are kept apart by what prompts hold. A worker's prompt has the specification and the results of
the steps that it comes after, and neither the question nor what else was said. The delegator's is one conversation
that grows by its own plans and by the reports. An attempt that fails is told to nobody: another worker gets the same
prompt; where all fail, the delegator hears that the step was not done, and may plan it otherwise in the next round. 3
rounds of at most 6 subtasks are motet's choice. Differences: workers are any agents, not only ones that run code; they
are chosen by their cards (`about`), or take turns; their contexts are fresh, since an agent keeps nothing between asks.

The delegator ends it by a verdict, whatever list stands beside it (of what was done, say), or by giving no further
list, which is noted; so is the end of the rounds. A subtask that is given to nobody goes to the next in turn, which is
noted. Without a plan that can be read, or if nothing was done by one, the question itself is the one specification. If
the delegator gives no last reply, the last report is given, and that is noted.

Shape: for each round 1 call and 1 a subtask, and 1 at the end: rounds × (steps + 1) + 1 calls at most, all in series if
each subtask comes after another, or more where workers fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from motet.compose.base import at_least
from motet.compose.steps import Planned, cards, crew, plan_of, planning, verdict_of, worked
from motet.errors import TooFewReplies
from motet.form import choice_form, either, plan_form
from motet.message import Chat, Reply, hear, recall
from motet.prompt import next_labels
from motet.run import Agent, Run

SPECIFY = (
    "You lead the work on this and do none of it yourself. Take it apart into subtasks, and write for each what "
    "whoever does it has to know: they see those words alone, and the results of the subtasks that it comes after, "
    "neither the above nor your other subtasks. Below is what is known of those who work."
)
REPORT = "Below are the results of what you gave out, in the order of your list. They may be wrong: check them."
NEXT = (
    "If something is still to be done, or has to be done again, give it out. If not, end with one line: "
    '"Verdict: STOP".'
)
WORK = "Below is a task that was given to you. Do it, and reply with its result and nothing else."
INPUTS = "Below are the results that it builds on. They may be wrong: check what you take from them."
ANSWER = "Now give the one reply to what was asked at the beginning, without mentioning how it was come by."


@dataclass(frozen=True)
class Delegate:
    r"""One delegator plans and replies; workers that see only their specifications do the work.

    Args:
        workers: who does the work; what is known of a worker is its `about`.
        delegator: who plans and gives the reply; the first worker's agent if None, which then has two parts.
        rounds: plans at most.
        steps: subtasks a plan at most.
        specify: what the delegator is told first.
        work: what a worker is told about its specification.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> said = ["1. A: say what 17 * 3 is", "Verdict: STOP", "It is 51."]
    >>> boss = ModelAgent(Scripted(said, name="boss"), "boss")
    >>> abacus = Scripted("51", name="abacus")
    >>> asyncio.run(perform(Delegate([ModelAgent(abacus, "abacus")], boss), "What is three times 17?")).text
    'It is 51.'
    >>> "three times" in abacus.requests[0].text, "say what 17 * 3 is" in abacus.requests[0].text
    (False, True)
    """

    also_known_as: ClassVar = ("CodeDelegator", "ephemeral-persistent state separation")

    workers: Sequence[Agent]
    delegator: Agent | None = None
    rounds: int = 3
    steps: int = 6
    specify: str = SPECIFY
    work: str = WORK
    name: str = "delegate"

    def __post_init__(self) -> None:
        at_least(1, "workers", self.workers, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        at_least(1, "steps", self.steps, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        lead = self.delegator or self.workers[0]
        letters, shown = cards(self.workers, chat)
        kept = chat.note(planning(self.specify, self.steps, shown))  # the persistent state: the delegator's own
        reports: list[Reply] = []
        for round in range(1, self.rounds + 1):
            form = plan_form(letters, self.steps)
            form = either(choice_form(["STOP"]), form) if round > 1 else form
            said = await run.all([run.ask(lead, kept.held(form))], need=0)
            stop = round > 1 and bool(said) and verdict_of(said[0].text, ["STOP"]) is not None
            plan = None
            if said and not stop:
                plan = plan_of(said[0], run, letters, most=self.steps, turns=True, what="the plan")
            if plan is None:
                if round == 1:
                    run.note("no plan could be read")
                elif not stop:
                    run.note("the delegator neither gave out more nor said that all is done; it ends here")
                break
            done = await self._performed(plan, letters, run)
            undone = [str(place + 1) for place in range(len(plan.words)) if place not in done]
            missed = f"Nobody could do: {', '.join(undone)}.\n" if undone else ""
            results = list(done.values())
            labels = next_labels(kept, len(letters) + len(results))[len(letters) :]
            kept = hear(recall(kept, plan.reply), results, REPORT, labels).note(f"{missed}{NEXT}")
            reports += results
        else:
            run.note(f"the {self.rounds} rounds are over; the last results were not followed up")
        if not reports:
            run.note("nothing was done by a plan; the whole question is given to a worker")
            for reply in (await worked({0: (self.workers, chat)}, run, answering=True)).values():
                return reply
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        run.offer(reports[-1])
        for reply in await run.all([run.answer(lead, kept.note(ANSWER))], need=0):
            return reply
        run.note("the delegator gave no reply; the last result is given instead")
        return reports[-1]

    async def _performed(self, plan: Planned, letters: Sequence[str], run: Run) -> dict[int, Reply]:
        """The results of the subtasks, each of a worker that sees its specification and what that builds on."""
        done: dict[int, Reply] = {}
        for wave in plan.plan.waves:
            works: dict[int, tuple[list[Agent], Chat]] = {}
            for place in wave:
                step = plan.plan.steps[place]
                worker = self.workers[letters.index(step.who) if step.who else place % len(self.workers)]
                told = hear(Chat.of(self.work), [plan.words[place]], labels=["A"])
                inputs = [done[other] for other in step.after if other in done]
                labels = next_labels(told, len(inputs))
                works[place] = (crew(worker, self.workers), hear(told, inputs, INPUTS, labels) if inputs else told)
            done |= await worked(works, run)
        return dict(sorted(done.items()))
