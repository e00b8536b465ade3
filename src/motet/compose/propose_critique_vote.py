"""Propose, critique, vote: experts with records of their own propose answers, criticise each other's, and score them.

INDIBATOR: Jang, Park, Kim and Ahn, "INDIBATOR: Diverse and Fact-Grounded Individuality for Multi-Agent Debate in
Molecular Discovery", arXiv 2602.01815; read: its abstract, and the public code yunhuijang/INDIBATOR
(src/agent/debate.py at 6adc7a6, src/agent/scientist.py at 8d9509d). Its point is who the agents are: not "a chemist",
but somebody with a record of publications and molecules, which stands in the system prompt. Each round has three
phases: everybody proposes, knowing the best so far and what was said of it; everybody criticises what others proposed;
everybody scores all candidates of all rounds. The same candidate from several is one, whose scores are put together.

Here a record is a list of facts (titles, results, sentences) by the agent's name; of a long one, the facts that bear on
the question most stand in the prompt, found by BM25 (there a model may sum up the record). Candidates are the same
where they give the same answer. An agent does not score its own proposals (there it does); what it scored before it
proposed the same still counts. Voters hear what was said of each candidate of the round (there they are told to
consider critiques, and are shown the candidates alone). There the candidates are ranked by what a chemical tool
computes, and votes are logged beside it; here the votes decide: the candidate with the highest mean score wins, of
equals the one that more scored, then the first. Of former rounds only the `best` are heard and scored again. It ends
when all that ever proposed anything are for one answer: that wins, though nobody is left to score it. Left out: the
optional critique of one's own proposals. Rounds are inferred; there they go on until there are enough candidates.

What can't be read counts for nothing and is noted; if no score can be read, the answer most often proposed wins.

Shape: 3 × agents × rounds calls, 3 × rounds in series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import ClassVar

from motet.aggregate.plurality import plurality
from motet.answer import answer
from motet.ballot import read_scores
from motet.compose.base import at_least
from motet.form import scores_form
from motet.message import Chat, Message, Reply, chosen, hear
from motet.prompt import disarmed, next_labels, shuffled
from motet.retrieve import library
from motet.run import Agent, Run

SCALE = 10
PERSONA = "You are an expert, and this is from your own record. Ground what you say in it wherever it bears:"
AGAIN = (
    "Below are the best answers that were proposed so far, and then what was said against answers of the last round. "
    "Propose your answer, the same one or a better one, with your reasons."
)
CRITIQUE = (
    "Below are answers that others proposed, each with a letter. From what you know, say of each by its letter what is "
    "wrong or doubtful in it and what is good, in a sentence or two. Do not give an answer of your own."
)
VOTE = (
    "Below are the answers {0} that were proposed, and then what experts said of them. Score each answer from 0 (wrong "
    "or useless) to 10 (entirely right) from what you know. Give your reasons in a sentence, then end with one line "
    'that begins with "Scores:", for instance "Scores: {1}".'
)


@dataclass
class Candidate:
    """An answer as it was first proposed, the seats that proposed it, and the score that each gave that had not yet."""

    reply: Reply
    seats: set[int] = field(default_factory=set)
    scores: dict[int, float] = field(default_factory=dict)

    @property
    def standing(self) -> tuple[float, int]:
        """Its mean score, and how many gave one; an unscored one is behind all others."""
        return (fmean(self.scores.values()), len(self.scores)) if self.scores else (-1.0, 0)


@dataclass(frozen=True)
class ProposeCritiqueVote:
    """The proposal that scores highest, after rounds of proposals, critiques and votes by agents with records.

    Args:
        agents: who proposes, criticises and votes.
        profiles: facts of each agent's own record, by the agent's name; an agent without any is told nothing.
        facts: facts of a record that are told at most, those that bear on the question most.
        rounds: rounds of the three phases.
        best: the best candidates so far that are heard in a further round.
        critique: whether there are critiques; else the votes follow the proposals.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> said = {"ann": "Lyon", "bob": "Paris", "cat": "Paris"}
    >>> def script(name):  # whoever is asked to score finds Lyon wrong
    ...     return lambda request: "Scores: A=2, B=9" if "Scores:" in request.text else said[name]
    >>> agents = [ModelAgent(Scripted(script(name), name=name), f"agent {name}") for name in said]
    >>> records = {"agent bob": ["I have lived in Paris, its capital, for years."]}
    >>> result = asyncio.run(perform(ProposeCritiqueVote(agents, records, rounds=1), "Capital of France?"))
    >>> result.text, result.usage.calls
    ('Paris', 9)
    """

    also_known_as: ClassVar = ("INDIBATOR", "profile-grounded debate")

    agents: Sequence[Agent]
    profiles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    facts: int = 5
    rounds: int = 2
    best: int = 3
    critique: bool = True
    grace: float | None = None
    name: str = "propose-critique-vote"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(1, "facts", self.facts, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        at_least(1, "candidates that are heard (best)", self.best, self.name)
        for record in self.profiles.values():
            library(record)

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        chats = [self._persona(agent, chat) for agent in self.agents]
        candidates: dict[str, Candidate] = {}
        shown: list[Candidate] = []
        letters: list[str] = []
        proposed: list[Reply] = []
        critiques: list[Reply] = []
        for round in range(self.rounds):
            best = sorted(range(len(shown)), key=lambda place: shown[place].standing, reverse=True)[: self.best]
            heard = [shown[place].reply for place in best] + critiques
            names = [letters[place] for place in best] + letters[len(shown) :]
            asks = {
                seat: run.ask(agent, hear(chats[seat], heard, AGAIN, names) if heard else chats[seat])
                for seat, agent in enumerate(self.agents)
            }
            said = await run.each(asks, need=0 if round else 1, grace=self.grace)
            if not said:
                run.note("nobody proposed anything in a further round; what was proposed before it stands")
                break
            fresh = [self._entered(candidates, seat, reply, chat) for seat, reply in said.items()]
            proposed += said.values()
            if len({id(each) for each in fresh}) == 1 and all(fresh[0].seats >= c.seats for c in candidates.values()):
                run.note(f"everybody proposed the same answer by round {round + 1} of {self.rounds}")
                return chosen(fresh[0].reply, proposed)
            run.best or run.offer(proposed[0])
            table = {id(each): each for each in fresh + [shown[place] for place in best]}.values()
            shown, letters = shuffled(chat, table, run.rng)
            critiques = await self._criticised(shown, letters, chats, run) if self.critique else []
            run.rng.shuffle(critiques)  # in the order of seats they would tell who is who
            letters = next_labels(chat, len(shown) + len(critiques))
            await self._voted(shown, critiques, letters, chats, run)
            run.offer(_winner(candidates).reply)
        given = _winner(candidates).reply
        if not _winner(candidates).scores:
            run.note("no score could be read; the answer that was proposed most often is given")
            given = plurality(proposed, question=chat.question)
        return chosen(given, proposed)

    def _persona(self, agent: Agent, chat: Chat) -> Chat:
        """The chat of an agent that knows its own record."""
        record = library(self.profiles.get(agent.name, ()))
        places = range(len(record)) if len(record) <= self.facts else record.find(chat.question, self.facts)
        lines = [f"- {disarmed(record.passages[place])}" for place in places]
        return chat.under("\n".join([PERSONA, *lines])) if lines else chat

    def _entered(self, candidates: dict[str, Candidate], seat: int, reply: Reply, chat: Chat) -> Candidate:
        """The candidate that a proposal is, a new one or one that is known."""
        from motet.normalise import normalise

        found = candidates.setdefault(normalise(answer(reply.text, chat.question)), Candidate(reply))
        found.seats.add(seat)
        return found

    async def _criticised(
        self, shown: Sequence[Candidate], letters: Sequence[str], chats: Sequence[Chat], run: Run
    ) -> list[Reply]:
        """What each says of the candidates that it did not propose."""
        asks = []
        for seat, agent in enumerate(self.agents):
            places = [place for place, each in enumerate(shown) if seat not in each.seats]
            asked = chats[seat].add(Message("user", CRITIQUE))  # the question is now what is wrong
            names = [letters[place] for place in places]
            asks += [run.ask(agent, hear(asked, [shown[i].reply for i in places], labels=names))] if places else []
        return await run.all(asks, need=0, grace=self.grace)

    async def _voted(
        self,
        shown: Sequence[Candidate],
        critiques: Sequence[Reply],
        letters: Sequence[str],
        chats: Sequence[Chat],
        run: Run,
    ) -> None:
        """The scores that each gives to the candidates that it did not propose."""
        asks, ballots = {}, {}
        for seat, agent in enumerate(self.agents):
            places = [place for place, each in enumerate(shown) if seat not in each.seats]
            if places:
                ballots[seat] = names = {letters[place]: place for place in places}
                example = ", ".join(f"{letter}={7 - 5 * (turn % 2)}" for turn, letter in enumerate(names))
                asked = chats[seat].add(Message("user", VOTE.format(", ".join(names), example)))  # now to score
                heard = [shown[place].reply for place in places] + [*critiques]
                told = hear(asked, heard, labels=[*names, *letters[len(shown) :]])
                asks[seat] = run.ask(agent, told.held(scores_form([*names], SCALE)))
        for seat, reply in (await run.each(asks, need=0, grace=self.grace)).items():
            scores = read_scores(reply.text, list(ballots[seat]), SCALE)[1]
            if len(scores) < len(ballots[seat]):
                run.note(f"not all scores of {self.agents[seat].name} could be read; those count for nothing")
            for letter, score in scores.items():
                shown[ballots[seat][letter]].scores[seat] = score


def _winner(candidates: Mapping[str, Candidate]) -> Candidate:
    """The candidate of the highest standing, of equals the first."""
    return max(candidates.values(), key=lambda each: each.standing)
