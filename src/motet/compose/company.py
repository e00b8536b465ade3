"""OneManCompany: a tree of tasks that is explored, executed and reviewed, by a staff that recruits from a market.

Yu, Fu, He, Huang, Lee, Fang, Luo and Wang, "From Skills to Talent: Organising Heterogeneous Agents as a Real-World
Company", arXiv 2604.22446. Read: the abstract, and of the public code 1mancompany/OneManCompany
src/onemancompany/core/task_lifecycle.py (at 1701c47) and task_tree.py (0dd252e), the design of its task dependency
queue (08c5aad) and its notes on dispatch and hiring (f4b01c4). *Explore*: a task is taken apart from the top down, each
part given to one who answers for it; a part may wait for others of the same parent. *Execute*: whoever has a part that
is not taken apart does it, with the results that it waits for. *Review*: whoever gave it out accepts or rejects what
comes back; accepted parts are put together by whom they are parts of, up to the root. Where nobody on the staff suits a
part, somebody is recruited from the *talent market*. A task is open, accepted or failed; only accepted ones deliver.

It ends, whatever anybody says, and nobody waits for ever:

* a tree has at most `nodes` tasks, `depth` levels below the root, for each of which a place is kept; it is whole before
  the first task is executed;
* a task waits for its parts, and for parts of the same parent that come before it in an order (`read_plan` leaves none
  that waits for itself), so that of the open tasks one can always be done;
* each execution of a task uses up one of its `tries`; after the last it is accepted or failed. A failed task does not
  block: those that wait for it go on without its result (in the code they are blocked until their parent sees to it,
  unless they were told to continue; then they are shown the failure).

So there are at most nodes × tries executions, in waves of what can be done at once. (The paper proves as much of its
own loop; the proof was not read.)

Differences: nobody plans anew once work has begun, where the code lets a parent retry, change or cancel a part at any
time; the human chief's part (whom to hire, what to accept) is the manager's; the market is a list of agents, chosen by
their cards (`about`). What a rejected task brought reaches nobody. A review that can't be read accepts, a plan
that can't be read or finds no room leaves its task whole; both are noted. Who fails is replaced by the next on the
staff, who then has the part. A list that gives nothing to anybody, and ends with the verdict that the task is whole,
is no plan. Depth 2, 12 tasks and 2 tries are motet's choice.

Shape: for N tasks (`nodes`), at most N - 1 calls to take tasks apart (1 if depth is 1), one fewer than the market has
for recruits, 2 × tries for each task but the whole, and 1 for that; more where staff fails. In series it is as much,
but for taking apart, which is a call a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from motet.ballot import read_choice
from motet.compose.base import at_least
from motet.compose.steps import cards, crew, doer, plan_of, planning, verdict_of, worked
from motet.errors import TooFewReplies
from motet.form import choice_form, either, plan_form
from motet.message import Chat, Message, Reply, hear, recall
from motet.prompt import next_labels
from motet.run import Agent, Run

EXPLORE = (
    'Do not do this yet; say who shall. If it is one piece of work, end with one line: "Verdict: whole". Else take it '
    'apart into parts that others do. Write "?" for the letter where none of those below suits a part: somebody is '
    "then recruited. Below is what is known of them."
)
RECRUIT = (
    "Nobody on the staff suits the part above. Who of those on the market does, of whom this is known?\n{shown}\n"
    'End with one line that begins with "Choice:" and has one letter.'
)
TASK = "A company works on this. Below is the part that is yours."
INPUTS = "Below are the results that it builds on. They may be wrong: check what you take from them."
PARTS = (
    "Below are the results of its parts, as those reported who did them. They may be wrong: check them. Put them "
    "together into the one result of the whole, without mentioning who did what."
)
REVIEW = (
    "Below are a part of this that was given out, and then what came back. Is it right, and what was asked for? Say "
    'what is wrong, in a sentence. Then end with one line: "Verdict: revise" if it has to be done again, or "Verdict: '
    'clean" if it can be accepted.'
)
AGAIN = "Below is why your result was not accepted. Do your part again, and give the whole result."


@dataclass(eq=False)
class Task:
    """A task of the tree.

    Args:
        owner: who answers for it.
        words: the task, in the words of the plan it is from; None for the root, which is the question.
        parent: what it is a part of.
        after: the parts of the same parent that it waits for.
        parts: what it is taken apart into.
        state: only an accepted task delivers its result.
        tries: executions so far.
    """

    owner: Agent
    words: Reply | None = None
    parent: Task | None = None
    after: list[Task] = field(default_factory=list)
    parts: list[Task] = field(default_factory=list)
    state: Literal["open", "accepted", "failed"] = "open"
    tries: int = 0
    result: Reply | None = None
    review: Reply | None = None

    @property
    def ready(self) -> bool:
        """Whether it is open, and nothing that it waits for is."""
        return self.state == "open" and all(other.state != "open" for other in (*self.parts, *self.before))

    @property
    def before(self) -> list[Task]:
        """The tasks that it, or what it is a part of, comes after."""
        return [*(self.parent.before if self.parent else ()), *self.after]

    def told(self, chat: Chat) -> Chat:
        """The question, and the task where it is a part of it."""
        return hear(chat, [self.words], TASK, next_labels(chat, 1)) if self.words else chat

    def asked(self, chat: Chat) -> Chat:
        """What is asked of who executes it: with all accepted results that it builds on, and why it is done again."""
        told = self.told(chat)
        for tasks, note in ((self.before, INPUTS), (self.parts, PARTS)):
            known = [task.result for task in tasks if task.state == "accepted" and task.result]
            told = hear(told, known, note, next_labels(told, len(known))) if known else told
        return hear(recall(told, self.result), [self.review], AGAIN) if self.review else told


@dataclass(frozen=True)
class Company:
    r"""A tree of tasks, explored from the top, executed by a staff that recruits, reviewed on the way back up.

    If nobody puts the whole together at the end, the last accepted result is given, and that is noted.

    Args:
        agents: the staff; what is known of an agent is its `about`.
        manager: who answers for the whole and recruits; the first of the staff if None.
        market: who can be recruited.
        depth: levels of the tree below the root at most.
        nodes: tasks at most, the root among them.
        tries: times that a task is executed at most, until its review accepts it.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> def manager(request):
    ...     if "say who shall" in request.text:
    ...         return "1. A: find the river\n2. ?: find the bridge (after 1)"
    ...     return "Verdict: clean" if "came back" in request.text else "The Pont Neuf crosses the Seine."
    >>> boss = ModelAgent(Scripted(manager, name="boss"), "boss")
    >>> guide, mason = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("Seine", "Pont Neuf"))
    >>> company = Company([guide], boss, market=[mason], depth=1)
    >>> asyncio.run(perform(company, "What bridge crosses the river of Paris?")).text
    'The Pont Neuf crosses the Seine.'
    """

    also_known_as: ClassVar = ("OneManCompany", "OMC", "explore-execute-review tree")

    agents: Sequence[Agent]
    manager: Agent | None = None
    market: Sequence[Agent] = ()
    depth: int = 2
    nodes: int = 12
    tries: int = 2
    name: str = "company"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(0, "agents on the market", self.market, self.name)
        at_least(1, "levels (depth)", self.depth, self.name)
        at_least(1, "tasks (nodes)", self.nodes, self.name)
        at_least(1, "tries", self.tries, self.name)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        staff = list(self.agents)
        root, *parts = await self._explored(chat, staff, run)
        # each wave uses up tries, of which there are no more than tasks × tries
        while ready := [task for task in (*parts, root) if task.ready]:
            await self._executed(ready, chat, staff, run)
        known = [task.result for task in (*parts, root) if task.state == "accepted" and task.result]
        if not known:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        if root.result is None:
            run.note("nobody put the whole together; the last accepted result is given instead")
        return known[-1]

    # ---- explore

    async def _explored(self, chat: Chat, staff: list[Agent], run: Run) -> list[Task]:
        """The tree, level by level, the root first."""
        market = [agent for agent in self.market if agent.name not in {each.name for each in staff}]
        tree = level = [Task(self.manager or self.agents[0])]
        for below in reversed(range(self.depth)):
            if not level or len(tree) >= self.nodes:
                break
            room = max(1, self.nodes - len(tree) - below)  # a place is kept for each level below this one
            letters, shown = cards(staff, level[0].told(chat))
            note = Message("user", planning(EXPLORE, room, shown))  # the question is now who does it
            form = either(choice_form(["whole"]), plan_form([*letters, "?"] if market else letters, room))
            asked = [task.told(chat).add(note).held(form) for task in level]
            said = await run.each({at: run.ask(task.owner, asked[at]) for at, task in enumerate(level)}, need=0)
            for at, task in enumerate(level):
                whole = at in said and verdict_of(said[at].text.strip().rpartition("\n")[2], ["whole"])
                plan = plan_of(said[at], run, letters, most=room, what="a plan") if at in said and room else None
                if plan is None or (whole and not any(step.who for step in plan.plan.steps)):  # a list of reasons
                    if not whole:
                        run.note("a plan could not be read, or had no room; its task is done as one piece")
                    continue
                for step, words in zip(plan.plan.steps, plan.words, strict=True):
                    task.parts.append(Task(staff[letters.index(step.who)] if step.who else tree[0].owner, words, task))
                    if not step.who:
                        await self._recruit(task.parts[-1], chat, staff, market, run)
                for part, step in zip(task.parts, plan.plan.steps, strict=True):
                    part.after = [task.parts[other] for other in step.after]
                tree, room = [*tree, *task.parts], room - len(task.parts)
            level = [part for task in level for part in task.parts]
        return tree

    async def _recruit(self, part: Task, chat: Chat, staff: list[Agent], market: list[Agent], run: Run) -> None:
        """Have somebody join the staff for a part that nobody on it suits, if there is anybody on the market."""
        if not market:
            run.note("a part was given to nobody, and nobody is on the market: the manager does it")
            return
        place, told = 0, part.told(chat)
        if len(market) > 1:
            letters, shown = cards(market, told)
            asked = told.add(Message("user", RECRUIT.replace("{shown}", shown)))  # the question is now whom to recruit
            said = await run.all([run.ask(part.owner, asked.held(choice_form(letters, "Choice")))], need=0)
            choice = read_choice(said[0].text, letters) if said else None
            if choice is None:
                run.note("nobody was chosen on the market; the first of it is recruited")
            place = letters.index(choice) if choice else 0
        part.owner = market.pop(place)
        staff.append(part.owner)

    # ---- execute and review

    async def _executed(self, ready: Sequence[Task], chat: Chat, staff: Sequence[Agent], run: Run) -> None:
        """Execute what can be done at once, and review what comes back."""
        works = {at: (crew(task.owner, staff), task.asked(chat)) for at, task in enumerate(ready)}
        done = await worked(works, run, answering=ready[0].parent is None)
        asked, asks, words = chat.add(Message("user", REVIEW)), {}, ["clean", "revise"]  # it asks for a verdict now
        for at, task in enumerate(ready):
            task.tries, task.result = task.tries + 1, done.get(at)
            task.state = "accepted" if task.result else "failed"  # failed: the whole staff was asked
            if task.result and task.parent and task.words:
                task.owner = doer(task.result, works[at][0])  # who did it is who does it again
                told = hear(asked, [task.words, task.result], labels=next_labels(chat, 2))
                asks[at] = run.ask(task.parent.owner, told.held(choice_form(words, reasoned=True)))
        reviews = await run.each(asks, need=0)
        for at in asks:
            task, task.review = ready[at], reviews.get(at)
            verdict = verdict_of(task.review.text, words) if task.review else None
            if verdict is None:
                run.note("a review could not be read; what it is of is accepted")
            if verdict == "revise":
                task.state = "open" if task.tries < self.tries else "failed"
        if any(task.state == "failed" and task.parent for task in ready):
            run.note(f"a part that nobody could do, or that was not accepted in {self.tries} tries, is left out")
