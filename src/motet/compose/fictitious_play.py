"""Fictitious play: one agent a stakeholder, who decides what is best against the mixture of what others decided so far.

MAFP: Shen, Zhang, Zhao, Ling and Chua, "Enhancing Decision-Making with Large Language Models through Multi-Agent
Fictitious Play", arXiv 2606.19308; read: its abstract and summaries; no public code was found, so that prompts and
rounds are inferred. Each agent has the stance of one stakeholder. First each decides by itself; in every further round
each learns how often every other has taken which decision so far (the empirical mixture), and gives its best response
to that. All decide at once. The mixture, not the last decision, is what approaches an equilibrium.

There decisions are policies in words, of which no two are alike: a model sums up each one's history as its mixture, and
the summary of the whole of it is what a stakeholder decides in the end. Here decisions are counted, and what was
decided most often stands for the mixture, so that it is for questions with few answers: where every answer is another,
each counts once, and the newest is given.

The rule is Brown's (1951). With exact best responses, mixtures converge to an equilibrium of two-player zero-sum games
(Robinson 1951), of 2 × 2 games without ties (Miyasawa 1961) and of potential games (Monderer and Shapley 1996), often
at about 1 / sqrt(rounds); there are games where they never do (Shapley 1964). An agent whose decisions were the same
all along, like everybody else's, faces the same mixtures again, so it ends there: a pure equilibrium, if responses are
best ones. Else it ends after `rounds`, and that is noted.

Two decisions are the same where they give the same answer (`motet.answer`), and each is heard in its newest words, with
a letter and its share. The reply is what `aggregate` makes of each stakeholder's most frequent decision, of equals the
newer; `seat` gives that of one stakeholder instead, for a question that is one's own. One that gives no decision in a
round has the mixture it had; what it would have answered is not known, so that it does not end in that round.

Shape: agents × rounds calls at most, rounds in series, and the aggregator's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from motet.aggregate import Aggregator, Plurality
from motet.answer import answer
from motet.compose.base import at_least
from motet.errors import UsageError
from motet.message import Chat, Reply, chosen, hear
from motet.prompt import next_labels
from motet.run import Agent, Run

STANCE = "You are stakeholder {0} of {1}, and decide for yourself. {2}"
NOTE = (
    "The stakeholders decide again and again. Below are the decisions of the others so far, each with a letter. How "
    "often each was taken: {0}. Expect them to go on like this, and give the decision that serves you best against it."
)


@dataclass
class Mixture:
    """How often a stakeholder took each decision, and the newest words of each."""

    counts: dict[str, int] = field(default_factory=dict)
    words: dict[str, Reply] = field(default_factory=dict)

    def add(self, decision: Reply, question: str) -> None:
        """Count a decision."""
        from motet.normalise import normalise

        key = normalise(answer(decision.text, question))
        self.counts[key] = self.counts.pop(key, 0) + 1  # the newest comes last
        self.words[key] = decision

    @property
    def shares(self) -> dict[str, float]:
        """The share of each decision, the newest last.

        >>> mixture = Mixture()
        >>> for said in ("heads", "tails", "Heads.", "heads"):
        ...     mixture.add(Reply(said), "")
        >>> mixture.shares
        {'tails': 0.25, 'heads': 0.75}
        """
        total = sum(self.counts.values())
        return {key: count / total for key, count in self.counts.items()}

    @property
    def mode(self) -> Reply:
        """The decision taken most often, of equals the newer."""
        return self.words[max(reversed(self.counts), key=lambda key: self.counts[key])]


@dataclass(frozen=True)
class FictitiousPlay:
    """What stakeholders decide who respond, round after round, to the mixture of what the others have decided.

    Args:
        agents: the stakeholders.
        stances: who each stakeholder is and what it wants, in their order; none tells them nothing of it.
        aggregate: makes the reply of each stakeholder's most frequent decision.
        seat: the stakeholder whose most frequent decision is the reply, the first being 1; None for what `aggregate`
            makes of all.
        rounds: rounds of decisions at most.
        settle: whether it ends when nobody has ever decided otherwise than at first; else all rounds are played.
        note: what stakeholders are told; `{0}` stands for the shares.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> seller, buyer = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("hold", "wait"))
    >>> result = asyncio.run(perform(FictitiousPlay([seller, buyer], seat=2), "What do you do?"))
    >>> result.text, result.usage.calls  # nobody moves in the second round
    ('wait', 4)
    """

    also_known_as: ClassVar = ("MAFP", "multi-agent fictitious play")

    agents: Sequence[Agent]
    stances: Sequence[str] = ()
    aggregate: Aggregator = Plurality()
    seat: int | None = None
    rounds: int = 5
    settle: bool = True
    note: str = NOTE
    grace: float | None = None
    name: str = "fictitious-play"

    def __post_init__(self) -> None:
        at_least(2, "agents", self.agents, self.name)
        at_least(1, "rounds", self.rounds, self.name)
        at_least(0, "stances", self.stances, self.name)
        if self.seat is not None:
            at_least(1, "as the number of a seat", self.seat, self.name)
            at_least(self.seat, "agents, to have that seat", self.agents, self.name)
        if self.stances and len(self.stances) != len(self.agents):
            raise UsageError(
                f"{self.name} has {len(self.agents)} agents and {len(self.stances)} stances: give one each, or none"
            )

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        mixtures = [Mixture() for _ in self.agents]
        for round in range(self.rounds):
            asks = {
                seat: run.ask(agent, self._told(seat, mixtures, chat, run) if round else self._as(seat, chat))
                for seat, agent in enumerate(self.agents)
            }
            said = await run.each(asks, need=0 if round else 1, grace=self.grace)
            for seat, decision in said.items():
                mixtures[seat].add(decision, chat.question)
            if self.seat is None or mixtures[self.seat - 1].counts:
                run.offer(self._own(mixtures).mode)
            if not said:
                run.note("nobody decided anything in a further round; what was decided before it stands")
                break
            moved = any(len(mixture.counts) > 1 for mixture in mixtures)
            silent = any(mixture.counts and seat not in said for seat, mixture in enumerate(mixtures))
            if round and self.settle and not moved and not silent:
                break
        else:
            if self.settle and self.rounds > 1:
                run.note(f"decisions had not settled after {self.rounds} rounds; the most frequent are given")
        given = [mixture.mode for mixture in mixtures if mixture.counts]
        if self.seat is None:
            return await self.aggregate(chat, given, run)
        if not mixtures[self.seat - 1].counts:
            run.note(f"stakeholder {self.seat} never decided; another's decision is given")
        return chosen(self._own(mixtures).mode, given)

    def _own(self, mixtures: Sequence[Mixture]) -> Mixture:
        """The mixture that a reply is made of: that of the seat, or the first that there is."""
        own = [mixtures[self.seat - 1]] if self.seat else []
        return next(mixture for mixture in [*own, *mixtures] if mixture.counts)

    def _as(self, seat: int, chat: Chat) -> Chat:
        """What a stakeholder is asked, with its stance."""
        if not self.stances:
            return chat
        return chat.under(STANCE.format(seat + 1, len(self.agents), self.stances[seat]))

    def _told(self, seat: int, mixtures: Sequence[Mixture], chat: Chat, run: Run) -> Chat:
        """The same with the mixtures of the others."""
        others = {place: mixture for place, mixture in enumerate(mixtures) if place != seat and mixture.counts}
        letters = next_labels(chat, sum(len(mixture.counts) for mixture in others.values()))
        left = iter(letters)
        heard: list[Reply] = []
        shares: list[str] = []
        for place, mixture in others.items():
            taken = mixture.shares
            keys = run.rng.sample(list(taken), len(taken))
            shares.append(f"stakeholder {place + 1}: {', '.join(f'{next(left)} {taken[key]:.1%}' for key in keys)}")
            heard += [mixture.words[key] for key in keys]
        return hear(self._as(seat, chat), heard, self.note.replace("{0}", "; ".join(shares)), letters)
