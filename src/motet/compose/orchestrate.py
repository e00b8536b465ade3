"""Team-of-Thoughts: the agent that orchestrates best calls those that know the matter, as it would call tools.

Wong, Zhang, Liu and Zhao, "Team of Thoughts: Efficient Test-time Scaling of Agentic Systems through Orchestrated Tool
Calling", arXiv 2602.16485. Read: the abstract in two versions, the opening of the paper and summaries; its code
(JeffreyWong20/Team-of-Thoughts) could not be read. Two things are found out before any question. *Orchestrator
calibration*: which model coordinates and synthesises best, which need not be the one that answers best; here
`calibrate` lets each agent orchestrate the same questions and gives the mean score of each. *Self-assessment*: each
tool agent profiles its own expertise; here `assess` asks it how sure it is of being right, topic by topic. At
inference the orchestrator sees the profiles, calls the suitable agents, all at once, and makes one reply of theirs.

Inferred: the questions that are put, that a call is a line of a list with an agent's letter and what it is to do, that
a called agent hears the question too, and that there is one round of calls. Profiles and calibration are plain data, as
a configuration can hold; agents are shown under letters, never by their names. An agent may be called more than once,
and the orchestrator may call itself.

A call to nobody known is left out, and one that is to wait for another does not; both are noted. Where no call can be
read, the k agents are called whose profiles are best on the topics that the question names, or on all if it names none
(the first ones if nobody has a profile), and that is noted; where none of those called
replies, the others are. If the orchestrator gives no last reply, the most frequent answer is given (`Synthesize`).

Shape: k + 2 calls at most, 3 in series. Needs an orchestrator that can tell from the profiles who suits the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import ClassVar

from motet.aggregate.synthesize import NOTE, Synthesize
from motet.ballot import read_scores
from motet.compose.base import at_least, finite
from motet.compose.steps import cards, plan_of, planning
from motet.errors import TooFewReplies, UsageError
from motet.form import plan_form, scores_form
from motet.message import Chat, Message, Reply, hear
from motet.perform import perform
from motet.prompt import next_labels
from motet.route.by_topic import ByTopic
from motet.run import Agent, Run

CALL = (
    "Do not answer this; call those who can. The steps of your list are these calls: whom, and what it is to do or to "
    "look out for. They are all made at once, and each sees the above. Call only whom it needs. Below is what is known "
    "of each, and how sure each is of being right, by topic."
)
CALLED = "Below is what whoever leads the work on this wants of you. Do that, and say what you find."
ASSESS = (
    "Here are topics, each with a letter:\n{topics}\n"
    "How sure are you that you would answer an average question of each right, from 0 (certainly wrong) to 10 "
    "(certainly right)? Be honest: whoever claims too much is called in vain. End with one line that begins with "
    '"Scores:", for instance "Scores: A=7, B=2".'
)
SCALE = 10


async def assess(agents: Sequence[Agent], topics: Sequence[str], *, seed: int = 0) -> dict[str, dict[str, float]]:
    r"""What agents say of their own expertise.

    Args:
        agents: whom to ask; each is asked once, by itself.
        topics: on what.
        seed: seeds the draws.

    Returns:
        How sure each is of being right, from 0 to 1, by name and topic; who can't be read has no entry.

    Raises:
        UsageError: there is no topic, or one text instead of a list.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted
    >>> ann = ModelAgent(Scripted("I read law. Scores: A=9, B=2"), "ann")
    >>> asyncio.run(assess([ann], ["law", "music"]))
    {}
    >>> ann = ModelAgent(Scripted("I read law.\nScores: A=9, B=2"), "ann")
    >>> asyncio.run(assess([ann], ["law", "music"]))
    {'ann': {'law': 0.9, 'music': 0.2}}
    """
    at_least(1, "topics", topics, "assess")
    letters = next_labels(Chat(()), len(topics))
    listed = "\n".join(f"{letter}: {topic}" for letter, topic in zip(letters, topics, strict=True))
    asked = Chat.of(ASSESS.replace("{topics}", listed)).held(scores_form(letters, SCALE))
    found: dict[str, dict[str, float]] = {}
    for agent in agents:
        result = await perform(agent, asked, seed=seed)
        given = read_scores(result.text if result.reply else "", letters, SCALE)[1]
        if given:
            found[agent.name] = {
                topic: given[letter] / SCALE for letter, topic in zip(letters, topics, strict=True) if letter in given
            }
    return found


async def calibrate(
    team: Orchestrate, questions: Iterable[str], score: Callable[[str, str], float], *, seed: int = 0
) -> dict[str, float]:
    """How well each agent of a team orchestrates the others.

    Args:
        team: the team; its own orchestrator and calibration do not matter.
        questions: what to calibrate on; 30 to 100 tell agents apart that differ by 10 to 20 points.
        score: what a question's reply is worth, from 0 to 1.
        seed: seeds the draws.

    Returns:
        The mean score by name; a question without a reply scores 0.

    Raises:
        UsageError: there is no question.
    """
    asked = list(questions)
    if not asked:
        raise UsageError(f"{team.name} can't be calibrated on no question: give some whose answers are known")
    found: dict[str, float] = {}
    for agent in team.agents:
        made = replace(team, orchestrator=agent)
        results = [await perform(made, question, seed=seed) for question in asked]
        found[agent.name] = fmean(
            score(question, result.text) if result.reply else 0.0
            for question, result in zip(asked, results, strict=True)
        )
    return found


@dataclass(frozen=True)
class Orchestrate:
    r"""The best orchestrator calls the agents that suit the question, and makes one reply of theirs.

    Args:
        agents: the team; what is known of an agent is its `about` and its profile.
        orchestrator: who calls and synthesises; by default whoever is calibrated best, the first agent without that.
        calibration: how well each agent orchestrates, by name; `calibrate` finds out.
        profiles: how sure each agent is of being right, by name and topic; `assess` asks them.
        k: calls at most.
        note: what the orchestrator is told about the replies.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> says = lambda request: "1. B: name the capital" if "call those" in request.text else "It is Paris."
    >>> lead = ModelAgent(Scripted(says, name="lead"), "lead")
    >>> guide = ModelAgent(Scripted("Paris", name="guide"), "guide")
    >>> team = Orchestrate([lead, guide], profiles={"guide": {"capitals": 0.9}})
    >>> asyncio.run(perform(team, "Capital of France?")).text
    'It is Paris.'
    """

    also_known_as: ClassVar = ("Team-of-Thoughts", "orchestrated tool calling")

    agents: Sequence[Agent]
    orchestrator: Agent | None = None
    calibration: Mapping[str, float] = field(default_factory=dict)
    profiles: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    k: int = 3
    note: str = NOTE
    name: str = "orchestrate"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "calls (k)", self.k, self.name)
        finite(self.name, calibration=self.calibration, profiles=self.profiles)

    @property
    def lead(self) -> Agent:
        """Who orchestrates."""
        known = [agent for agent in self.agents if agent.name in self.calibration]
        best = max(known, key=lambda agent: self.calibration[agent.name], default=self.agents[0])
        return self.orchestrator or best

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        calls = await self._called(chat, run) or await self._fallback(chat, run)
        replies = await run.all((run.ask(agent, told) for agent, told in calls), need=0)
        if not replies:
            run.note("none of those called replied; the others are called")
            others = [agent for agent in self.agents if all(agent is not called for called, _ in calls)]
            replies = await run.all([run.ask(agent, chat) for agent in others], need=0)
        if not replies:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        run.offer(replies[0])
        return await Synthesize(self.lead, self.note)(chat, replies, run)

    async def _called(self, chat: Chat, run: Run) -> list[tuple[Agent, Chat]]:
        """The calls that the orchestrator makes; none if they can't be read."""
        letters, shown = cards(self.agents, chat)
        lines = [line + self._profile(agent) for line, agent in zip(shown.split("\n"), self.agents, strict=True)]
        asked = chat.add(Message("user", planning(CALL, self.k, *lines)))  # the question is now whom to call
        for said in await run.all([run.ask(self.lead, asked.held(plan_form(letters, self.k)))], need=0):
            plan = plan_of(said, run, letters, most=self.k, what="the calls")
            calls = zip(plan.plan.steps, plan.words, strict=True) if plan else ()
            made = [(self.agents[letters.index(step.who)], words) for step, words in calls if step.who]
            if plan and len(made) < len(plan.plan.steps):
                run.note("a call that is addressed to nobody is left out")
            if plan and any(step.after for step in plan.plan.steps):
                run.note("calls are made all at once; what one is said to come after is not waited for")
            return [(agent, hear(chat, [words], CALLED)) for agent, words in made]
        return []

    async def _fallback(self, chat: Chat, run: Run) -> list[tuple[Agent, Chat]]:
        """Calls to the agents that look best for the question by their own profiles."""
        run.note("no call could be read; the agents that look best by their profiles are called")
        forecasts = await ByTopic(self.profiles)(chat, self.agents, run, self.k)
        return [(self.agents[forecast.place], chat) for forecast in forecasts[: self.k]]

    def _profile(self, agent: Agent) -> str:
        known = self.profiles.get(agent.name, {})
        return f" ({', '.join(f'{topic} {sure:.0%}' for topic, sure in known.items())})" if known else ""
