"""Trait teams: two teams whose members have a trait each argue before a judge; a bandit learns which traits win.

Siedler, "Strategic Persuasion with Trait-Conditioned Multi-Agent Systems for Iterative Legal Argumentation" (the
Strategic Courtroom Framework), arXiv 2604.07028; read: its abstract and summaries; no public code was found. There are
nine traits in four archetypes (rhetoricians, technicians, gladiators, diplomats), of which `quantitative` and
`charismatic`, said to win most, are named in what was read; the other seven here, and all wordings, are inferred.
A trial: opening statements, rounds of arguments that all hear, a summary of each team, and the judge's verdict with
how sure it is. Teams of up to three unlike traits, whose members speak in turn, and 1 to 3 rounds, of which 3 gave the
steadiest verdicts. A trait orchestrator, a model trained by policy gradients (REINFORCE) that knows the case and the
other team's traits, gives the defence its own.

Differences: a question is tried, not a charge: the first team answers it, the second contests that answer and gives
another, and the reply is the summary of the team that won most trials, from the last one that it won. Opening
statements are the first of the rounds, so that 2 are the default. The members of a team speak at the same time. How
sure the judge is, is not asked. The orchestrator is a bandit, without training and without a network: each trait has a
Beta distribution of its chance to be in a winning team, and Thompson sampling (Thompson 1933) gives the second team the
traits with the highest draws; it learns from each verdict within a question, and begins with the `wins` and `losses`
that it is given, so that what was learned can be carried on. It does not know the case, nor the other team's traits.
The judge does not know which letter is which team's: it is drawn for each trial.

A verdict that can't be read is no trial won and teaches nothing, and so is a trial in which a team says nothing; both
are noted. Without any, the first team's last summary is given. The outcome of several trials is noted as well: how many
the second team won, and the traits with the best record.

Shape: trials × (2 × size × rounds + 3) calls, 2 × rounds + 2 in series a trial.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from motet.ballot import read_choice
from motet.compose.base import at_least, finite
from motet.errors import TooFewReplies, UsageError
from motet.form import choice_form
from motet.message import Chat, Message, Reply, chosen, hear, recall
from motet.prompt import shuffled
from motet.run import Agent, Run

TRAITS: Mapping[str, str] = MappingProxyType(
    {
        "charismatic": "you win people over by warmth and vivid words",
        "narrative": "you tell what happened as a story that hangs together",
        "empathetic": "you show what it means for those whom it concerns",
        "quantitative": "you argue with numbers, and work them out",
        "precise": "you go by definitions and details, and leave nothing vague",
        "methodical": "you go step by step, and prove each step",
        "aggressive": "you attack the weakest point of the other side, and do not let go",
        "sceptical": "you doubt what is not proved, and ask how it could be wrong",
        "conciliatory": "you grant what is right in what the other side says, and build on it",
    }
)
TRAIT = "You argue in a team, in a way of your own. You are {0}: {1}."
ANSWER = "Your team answers this. Give the answer, and argue for it."
CONTEST = "Another team has answered this. Your team contests that: give the answer that is right, and argue for it."
OWN = "Below is what your team has said."
OTHER = "Below is what the other team has said."
SUMMARY = "Now sum up for the judge: your team's answer first, then its best arguments in a few sentences."
JUDGE = (
    "You are the judge. Below is what two teams, {0} and {1}, say of this. Whose answer is right, and better argued? "
    'Give your reason in a sentence, then end with one line: "Verdict: {0}" or "Verdict: {1}".'
)


def drawn(
    traits: Iterable[str], wins: Mapping[str, float], losses: Mapping[str, float], size: int, rng: random.Random
) -> list[str]:
    """The traits that Thompson sampling gives a team: those with the highest draws of their chance to win.

    Args:
        traits: those there are.
        wins: verdicts won with each; 0 for whoever is not named.
        losses: verdicts lost with each.
        size: how many are wanted.
        rng: what is drawn from.

    >>> drawn(["bold", "calm"], {"calm": 90}, {"bold": 90}, 1, random.Random(1))
    ['calm']
    """
    chances = {trait: rng.betavariate(1 + wins.get(trait, 0), 1 + losses.get(trait, 0)) for trait in traits}
    return sorted(chances, key=lambda trait: -chances[trait])[:size]


@dataclass(frozen=True)
class TraitTeams:
    r"""The case of the team that wins most trials; traits of the second team are chosen by what has won so far.

    Args:
        agents: who plays the members of both teams, in turn; the first member sums up.
        judge: who decides each trial.
        traits: what a member with each trait is told of it.
        first: the first team's traits; none to draw them anew for each trial.
        size: traits of a team, each with a member of its own.
        rounds: rounds of arguments in a trial.
        trials: trials of a question, each of which teaches the bandit; with one it goes by `wins` and `losses` alone.
        wins: verdicts that were won with each trait before this question.
        losses: verdicts that were lost with each.
        grace: seconds to wait for the slow once one of a team has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> said = lambda request: "I wait" if "You are calm" in request.text else "I dare"
    >>> agent = ModelAgent(Scripted(said, name="agent"), "agent")
    >>> verdict = lambda request: "Verdict: A" if 'id="A">\nI wait' in request.text else "Verdict: B"
    >>> judge = ModelAgent(Scripted(verdict, name="judge"), "judge")
    >>> traits = {"bold": "you dare", "calm": "you wait"}
    >>> teams = TraitTeams([agent], judge, traits, first=["bold"], size=1, losses={"bold": 9})
    >>> asyncio.run(perform(teams, "What now?")).text
    'I wait'
    """

    also_known_as: ClassVar = ("Strategic Courtroom", "trait-conditioned teams")

    agents: Sequence[Agent]
    judge: Agent
    traits: Mapping[str, str] = field(default_factory=lambda: dict(TRAITS))
    first: Sequence[str] = ()
    size: int = 3
    rounds: int = 2
    trials: int = 1
    wins: Mapping[str, float] = field(default_factory=dict)
    losses: Mapping[str, float] = field(default_factory=dict)
    grace: float | None = None
    name: str = "trait-teams"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "traits a team (size)", self.size, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        at_least(1, "trials", self.trials, self.name)
        at_least(self.size, "traits", self.traits, self.name)
        finite(self.name, least=0, wins=self.wins, losses=self.losses)
        strange = [trait for trait in self.first if trait not in self.traits]
        if strange:
            raise UsageError(f"{self.name} knows no trait {', '.join(strange)}; it knows: {', '.join(self.traits)}")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        wins, losses = dict(self.wins), dict(self.losses)
        won = {0: 0, 1: 0}
        cases: dict[int, Reply] = {}
        heard: list[Reply] = []
        for _ in range(self.trials):
            second = drawn(self.traits, wins, losses, self.size, run.rng)
            teams = (list(self.first) or run.rng.sample(list(self.traits), self.size), second)
            summaries = await self._argued(teams, chat, run)
            heard += summaries.values()
            winner = await self._judged(summaries, chat, run) if len(summaries) == 2 else None
            cases |= {side: case for side, case in summaries.items() if side == winner or not won[side]}
            if len(summaries) < 2:
                run.note("a team said nothing in a trial, which nobody has won")
            if winner is not None:
                won[winner] += 1
                record = wins if winner else losses
                record.update({trait: record.get(trait, 0) + 1 for trait in second})
        if not cases:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        if self.trials > 1 and any(won.values()):
            tried = {
                trait: (1 + wins.get(trait, 0), 2 + wins.get(trait, 0) + losses.get(trait, 0)) for trait in self.traits
            }
            best = sorted(tried, key=lambda trait: -tried[trait][0] / tried[trait][1])[: self.size]
            run.note(f"the second team won {won[1]} of {sum(won.values())} trials; best record: {', '.join(best)}")
        return chosen(cases.get(int(won[1] > won[0])) or next(iter(cases.values())), heard)

    async def _argued(self, teams: tuple[Sequence[str], Sequence[str]], chat: Chat, run: Run) -> dict[int, Reply]:
        """One trial up to the verdict: each team's summary, or its last words; a team that is silent has none."""
        said: tuple[dict[int, Reply], dict[int, Reply]] = ({}, {})
        for _ in range(self.rounds):
            for side in range(2):
                asks = {
                    seat: run.ask(self._agent(seat), self._told(teams, said, side, seat, chat))
                    for seat in range(len(teams[side]))
                }
                said[side].update(await run.each(asks, need=0, grace=self.grace))
                for reply in said[side].values():
                    run.best or run.offer(reply)
        closing = {
            side: run.ask(self._agent(0), self._told(teams, said, side, 0, chat).note(SUMMARY))
            for side in range(2)
            if said[side]
        }
        summaries = await run.each(closing, need=0)
        if len(summaries) < len(closing):
            run.note("a team gave no summary; what one of its members said stands for it")
        return {side: summaries.get(side) or next(iter(said[side].values())) for side in closing}

    def _agent(self, seat: int) -> Agent:
        return self.agents[seat % len(self.agents)]

    def _told(
        self, teams: Sequence[Sequence[str]], said: Sequence[Mapping[int, Reply]], side: int, seat: int, chat: Chat
    ) -> Chat:
        """What a member is asked: in its trait, with its own last words, its team's and the other team's."""
        trait = teams[side][seat]
        told = chat.under(TRAIT.format(trait, self.traits[trait]))
        told = recall(told.note(CONTEST if side and said[0] else ANSWER), said[side].get(seat))
        own = [reply for other, reply in said[side].items() if other != seat]
        told = hear(told, own, OWN) if own else told
        return hear(told, list(said[1 - side].values()), OTHER) if said[1 - side] else told

    async def _judged(self, summaries: Mapping[int, Reply], chat: Chat, run: Run) -> int | None:
        """The team that the judge finds for; None, and a note, if that can't be read."""
        order, letters = shuffled(chat, summaries, run.rng)
        asked = chat.add(Message("user", JUDGE.format(*letters)))  # the question is now who is right
        told = hear(asked, [summaries[side] for side in order], labels=letters)
        for said in await run.all([run.ask(self.judge, told.held(choice_form(letters)))], need=0):
            verdict = read_choice(said.text, letters)
            if verdict is not None:
                return order[letters.index(verdict)]
        run.note("the judge gave no verdict that could be read; nobody has won that trial")
        return None
