"""Ideation: a group has ideas together; its size, leader, seniority, disciplines and density are fields.

Two studies of what makes a group of agents inventive, and each of their factors a field here. Chen, Tong et al.,
"Beyond Brainstorming: What Drives High-Quality Scientific Ideas? Lessons from Multi-Agent Collaboration", arXiv
2508.04575, compares group size, led and leaderless groups, interdisciplinarity and seniority: groups beat a single
agent, a leader makes proposals more whole, unlike disciplines help most, and a group without any senior knowledge is no
better than one competent agent. Chen, Tong et al., "Diversity Collapse in Multi-Agent LLM Systems: Structural Coupling
and Collective Failure in Open-Ended Idea Generation", arXiv 2604.18005: authority narrows what a group comes up with,
more members bring less and less, and dense communication makes it converge too soon. Read: their abstracts and
summaries of them; the code of the second (Xtra-Computing/MAS_Diversity) was not at hand. Kin: Ueda et al., arXiv
2507.08350 (g6000/MultiAgent-Research-Ideator).

Inferred: the rounds. All have an idea by themselves; then each hears, every round anew, a share `density` of the others
(0: nobody, the nominal group that all else is compared with; 1: everybody; between them, so many others as is nearest,
drawn in the same way in every run), and gives its idea again, changed or not.
A leader hears all ideas between the rounds and says where to go, which all hear; at the end it writes one proposal of
all. Without a leader, the members rank the ideas blind, and the first (Borda) is given. Seniority is told to each
member, and where it is mixed the ideas of seniors are heard apart, as such: that is the authority whose effect is to be
measured. Names and models are never told.

`Ideation.ideas(result)` gives the last ideas of a run, and `Ideation.diversity(result)` how unlike they are, with
`motet.measure.lexical_diversity`; for meaning, embed the ideas and use `semantic_diversity`; against a nominal group,
`contraction_ratio`. A dead or silent leader leaves a leaderless group, and that is noted.

Simulated by scripts, six members who take up a tenth of every idea they hear, and three tenths of a leader's or a
senior's, three rounds, against density 0: of the diversity 0.93 is left at density 0.4, 0.86 at 1, 0.80 with a leader
and 0.81 with seniors among them.

Shape: size × rounds calls, and one each of all agents to rank; rounds + 1 in series. With a leader: size × rounds +
rounds calls, 2 × rounds in series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from motet.aggregate import Borda
from motet.compose.base import at_least, finite
from motet.errors import UsageError
from motet.message import Chat, Message, Reply, chosen, hear, recall
from motet.outcome import Result
from motet.run import Agent, Run
from motet.topology import Sparse
from motet.trace import AskEnded

NOTE = (
    "Below are ideas of others about this. Let them inspire you, or contradict them. Then give your own idea, whole, "
    "changed or not: something of your own rather than what is there already."
)
AGAIN = "Give your own idea again, whole, changed or not: something of your own rather than what is there already."
SENIORS = "Below are ideas about this of senior members of your group, whose experience is long."
DIRECTION = "Below is where the leader of your group wants it to go on from here."
LEAD = (
    "You lead a group that has ideas about this; they are below. Don't write the proposal yet. Say in a few sentences "
    "which of them are worth going on with, how they could be joined, and what is missing."
)
PROPOSE = (
    "You lead a group that had ideas about this; they are below. Write one proposal of your own, whole, that joins the "
    "best of them, without mentioning who had which."
)
RANK = (
    "Below are ideas about this, each with a letter. Rank them from best to worst: new, workable and to the point "
    'first. Give your reasons in a sentence, then end with one line that begins with "Ranking:" and lists the letters, '
    "the best first."
)
SENIOR = "You are a senior member of the group: long experienced, with a view for what matters and what will work."
JUNIOR = (
    "You are a junior member of the group: new to it, with fresh eyes, and free to question what others take for given."
)
DISCIPLINE = "In this group you stand for one discipline, {discipline}: think as its people do, with what they know."


@dataclass(frozen=True)
class Ideation:
    """A group's best idea, or its leader's proposal made of all.

    Args:
        agents: who the members are, in turn until the group is full.
        size: how many members; as many as there are agents if None.
        leader: who leads; nobody if None.
        seniority: what members are told they are: nothing, all junior, every other one senior, or all senior.
        disciplines: what members stand for, in turn; nothing if there are none.
        density: the share of the others that each hears in a round.
        rounds: rounds of ideas, the first one included.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> def script(idea):
    ...     return lambda request: "Ranking: B, A" if "Ranking" in request.text else idea
    >>> ann, bob = (ModelAgent(Scripted(script(idea), name=idea), f"says {idea}") for idea in ("a raft", "a red kite"))
    >>> group = Ideation([ann, bob], rounds=1, disciplines=("physics", "art"))
    >>> result = asyncio.run(perform(group, "How to cross the river?"))
    >>> group.ideas(result), group.diversity(result)
    (['a raft', 'a red kite'], 0.75)
    """

    also_known_as: ClassVar = ("brainstorming", "multi-agent ideation")

    agents: Sequence[Agent]
    size: int | None = None
    leader: Agent | None = None
    seniority: Literal["untold", "junior", "mixed", "senior"] = "untold"
    disciplines: Sequence[str] = ()
    density: float = 1.0
    rounds: int = 2
    grace: float | None = None
    name: str = "ideation"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "members (size)", len(self.agents) if self.size is None else self.size, self.name)
        at_least(0, "disciplines", self.disciplines, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        finite(self.name, density=self.density)
        if not 0 <= self.density <= 1:
            raise UsageError(f"{self.name}: density can't be {self.density:g}: give a share of the others, 0 to 1")
        if self.seniority not in ("untold", "junior", "mixed", "senior"):
            raise UsageError(f"{self.name}: no seniority {self.seniority!r}: give untold, junior, mixed or senior")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        seats = range(len(self.agents) if self.size is None else self.size)
        members = {seat: self.agents[seat % len(self.agents)] for seat in seats}
        told = {seat: self._told(chat, seat) for seat in seats}
        ideas = await run.each({seat: run.ask(members[seat], told[seat]) for seat in seats}, grace=self.grace)
        topology = Sparse(round(self.density * (len(seats) - 1)))
        for round_ in range(1, self.rounds):
            run.offer(chosen(next(iter(ideas.values())), ideas.values()))
            direction = await self._led(chat, ideas, run, LEAD)
            asks = {}
            for seat in ideas:
                heard = {other: ideas[other] for other in topology(len(seats), seat, round_) if other in ideas}
                asked = self._heard(recall(told[seat], ideas[seat]), heard)
                asks[seat] = run.ask(members[seat], hear(asked, direction, DIRECTION) if direction else asked)
            ideas = {**ideas, **await run.each(asks, need=0, grace=self.grace)}
        last = list(ideas.values())
        run.offer(chosen(last[0], last))
        for proposal in await self._led(chat, ideas, run, PROPOSE):
            return chosen(proposal, (*last, proposal))
        return await Borda(self.agents[: len(seats)], RANK)(chat, last, run)

    def ideas(self, result: Result) -> list[str]:
        """The last idea of each member, from a run's result.

        Raises:
            MotetError: the run gave no reply; the error says why.
        """
        said = {event.reply.id: event.reply for event in result.trace if isinstance(event, AskEnded)}
        found = [said[source] for source in result.checked().sources if source in said]
        led = self.leader is not None and len(found) > 1 and found[-1].agent == self.leader.name
        return [reply.text for reply in (found[:-1] if led and found[-1].text == result.text else found)]

    def diversity(self, result: Result) -> float:
        """How unlike the words of the last ideas are, from 0 to 1; NaN where there is one idea alone."""
        from motet.measure.diversity import lexical_diversity

        found = self.ideas(result)
        return lexical_diversity(found) if len(found) > 1 else float("nan")

    def _senior(self, seat: int) -> bool:
        return self.seniority == "senior" or (self.seniority == "mixed" and seat % 2 == 0)

    def _told(self, chat: Chat, seat: int) -> Chat:
        """The question, and who the member is."""
        words = []
        if self.disciplines:
            words.append(DISCIPLINE.replace("{discipline}", self.disciplines[seat % len(self.disciplines)]))
        if self.seniority != "untold":
            words.append(SENIOR if self._senior(seat) else JUNIOR)
        return chat.note(" ".join(words)) if words else chat

    def _heard(self, chat: Chat, ideas: Mapping[int, Reply]) -> Chat:
        """The ideas that a member hears; those of seniors apart, where there are others too."""
        apart = [seat for seat in ideas if self.seniority == "mixed" and self._senior(seat)]
        peers = [ideas[seat] for seat in ideas if seat not in apart]
        asked = hear(chat, [ideas[seat] for seat in apart], SENIORS) if apart else chat
        return hear(asked, peers, NOTE) if peers else asked.note(AGAIN)

    async def _led(self, chat: Chat, ideas: Mapping[int, Reply], run: Run, note: str) -> list[Reply]:
        """What the leader says about the ideas; nothing if there is none."""
        if self.leader is None:
            return []
        told = list(ideas.values())  # between the rounds the question is where to go; at the end it is the question
        asked = hear(chat, told, note) if note == PROPOSE else hear(chat.add(Message("user", note)), told)
        said = await run.all([run.ask(self.leader, asked)], need=0)
        if not said:
            run.note("the leader said nothing; the group goes on without one")
        return said
