"""ChatEval: agents in different roles discuss in one of three ways, then vote.

Chan, Chen, Su, Yu, Xue, Zhang, Fu and Liu, "ChatEval: Towards Better LLM-based Evaluators through Multi-Agent Debate",
arXiv 2308.07201; read: the abstract, and the public code thunlp/ChatEval (agentverse/environments/llm_eval.py,
agentverse/agents/llm_eval_multi_agent.py and the configurations under agentverse/tasks/llm_eval), which judges two
texts. Put to questions as in instadeepai/DebateLLM (experiments/conf/system/chateval.yaml), from which the names of the
three ways of talking are. The paper's finding that motet keeps as a default: every agent has a role of its own, since
agents that are told the same gain nothing by talking. In its configurations each speaks twice (2 rounds here).

* `one_by_one`: they speak in turn, and each hears at once what was said before it;
* `simultaneous`: they speak at the same time, and hear each other in the next round: this is `debate` if they have no
  roles and all reply;
* `summarized`: likewise, but after every round a summarizer puts what was said so far into one text, and they hear
  that in place of the words of others.

Differences: the roles are motet's own words, for questions rather than for the judging of texts. The answers of the
last round are voted on; the paper votes or averages scores. In the code each agent has a summarizer of its own; here
all hear one summary. One that does not come leaves the words themselves, which the next is then made of too. Who gives
no reply in its turn is asked no more, and what it said before counts. An end at agreement is motet's
(`stop_at_agreement=False` is the paper's).

Shape: agents × rounds calls at most, and one a round but the last if summarized; one by one all in series, else rounds
in series, or twice that but one if summarized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from motet.aggregate import Aggregator, Plurality
from motet.aggregate.plurality import tally
from motet.compose.base import at_least
from motet.compose.debate import NOTE
from motet.compose.roles import Floor, cast, with_words
from motet.errors import TooFewReplies, UsageError
from motet.message import Chat, Message, Reply, hear, recall
from motet.run import Agent, Run

ROLES = (
    "You are the general public: you want an answer that a sensible person would accept, and you say what is unclear.",
    "You are the critic: you look for what is wrong in every answer, your own included, and offer another where it is.",
    "You are the scientist: you go by evidence and work things out step by step.",
    "You are the author: you hold every answer against the exact words of the question.",
    "You are the psychologist: you know by which mistakes people are misled, and look whether one was made here.",
)
SUMMARIZE = (
    "Do not answer this. Below is what was said about it so far. Put it into one short text: every answer that was "
    "given, and the reasons for and against it."
)
TOLD = (
    "Below is a summary of what was said about this so far. Use it as additional information, not as the truth: check "
    "it, and your own answer, once more. Then give your answer again, changed or not."
)


@dataclass(frozen=True)
class ChatEval:
    """Agents in roles that discuss, and one reply made of what they say last.

    Args:
        agents: who discusses.
        roles: who each is told to be, in their order and from the first again; none tells them nothing.
        talk: how they discuss.
        summarizer: who sums up, if it is `summarized`; the first agent if None.
        rounds: times that each speaks.
        aggregate: makes the reply of the last words.
        stop_at_agreement: end as soon as all give the same answer.
        note: what they are told about the words of others.
        summarize: what the summarizer is told.
        told: what they are told about the summary.
        grace: seconds to wait for the slow once one has answered, where they speak at once; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> first = ModelAgent(Scripted("Lyon", name="first"), "first")
    >>> says = Scripted(lambda request: "Paris", name="other")
    >>> result = asyncio.run(perform(ChatEval([first, ModelAgent(says, "b"), ModelAgent(says, "c")]), "Capital?"))
    >>> result.text, result.usage.calls
    ('Paris', 6)
    """

    also_known_as: ClassVar = ("role debate", "referee team")

    agents: Sequence[Agent]
    roles: Sequence[str] = ROLES
    talk: Literal["one_by_one", "simultaneous", "summarized"] = "one_by_one"
    summarizer: Agent | None = None
    rounds: int = 2
    aggregate: Aggregator = Plurality()
    stop_at_agreement: bool = True
    note: str = NOTE
    summarize: str = SUMMARIZE
    told: str = TOLD
    grace: float | None = None
    name: str = "chat-eval"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        with_words(self.name, "roles", self.roles)
        if self.talk not in ("one_by_one", "simultaneous", "summarized"):
            raise UsageError(f"{self.name} can't talk {self.talk!r}: give one_by_one, simultaneous or summarized")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        floor = Floor({seat: self._as(seat, chat) for seat in range(len(self.agents))})
        unsummed: list[Reply] = []  # what a summary is made of besides the last words: the last summary
        for round in range(1, self.rounds + 1):
            await self._speak(floor, run)
            if not floor.said:
                raise TooFewReplies(1, 0, run.missing, run.abstained)
            run.offer(next(iter(floor.said.values())))
            same = self.stop_at_agreement and len(tally(list(floor.said.values()), question=chat.question)) == 1
            if same or round == self.rounds:
                break
            if len(floor.chats) < 2:
                run.note(f"after round {round} nobody is left to talk with")
                break
            if self.talk == "summarized":
                unsummed = await self._sum_up(chat, floor, unsummed, run)
        return await self.aggregate(chat, list(floor.said.values()), run)

    def _as(self, seat: int, chat: Chat) -> Chat:
        """What an agent is asked, in its role."""
        return cast(chat, self.roles[seat % len(self.roles)] if self.roles else "")

    async def _speak(self, floor: Floor, run: Run) -> None:
        """One round; who gives no reply is not asked again."""
        seats = list(floor.chats)
        for group in [[seat] for seat in seats] if self.talk == "one_by_one" else [seats]:
            if floor.silent(group[0]):
                break
            asks = {seat: run.ask(self.agents[seat], floor.turn(seat, self.note)) for seat in group}
            said = await run.each(asks, need=0, grace=self.grace)
            for seat in group:
                if seat in said:
                    floor.say(seat, said[seat])
                else:
                    floor.leave(seat)

    async def _sum_up(self, chat: Chat, floor: Floor, before: list[Reply], run: Run) -> list[Reply]:
        """Let them hear a summary of all that was said in place of the words; gives it, or the words if none came."""
        words = [*before, *(reply for reply in floor.said.values() if reply not in before)]
        asked = hear(chat.add(Message("user", self.summarize)), words)  # the question is now to sum up
        said = await run.all([run.ask(self.summarizer or self.agents[0], asked)], need=0)
        if not said:
            run.note("no summary came; the words themselves are heard")
            return words
        for seat in floor.chats:
            floor.chats[seat] = hear(recall(self._as(seat, chat), floor.said[seat]), said, self.told)
            floor.unheard[seat] = []
        return said
