"""Routing: which agents is a question worth, before any of them is asked.

A `Router` is called with the chat, the agents, the run and how many are wanted; it gives a ranking, best first, of what
is expected of each. Fixed ones are here: `ByTopic` looks scores up, `ByCards` has an agent read what is known of the
others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Protocol

import msgspec

from motet.agent import ModelAgent
from motet.ballot import read_ranking
from motet.errors import UsageError
from motet.message import Chat, Message
from motet.prompt import label
from motet.run import Agent, Run

CHOOSE = (
    "Do not answer this; choose who shall. Below are agents, each with a letter and with what is known of it. First "
    "come those whose field is that of the question, then those made for the kind of work it takes; if there is a "
    "generalist, one should be among them. Give your reason in a sentence, then end with one line that begins with "
    '"Ranking:" and lists the letters of the {k} best, the best first.'
)


class Forecast(msgspec.Struct, frozen=True):
    """What is expected of an agent before it is asked.

    Args:
        place: its place among the agents.
        quality: how likely its reply is right, from 0 to 1.
        usd: what asking it costs, in US dollars.
        seconds: how long it takes.
    """

    place: int
    quality: float
    usd: float = 0.0
    seconds: float = 0.0


class Router(Protocol):
    """Ranks the agents by what a question is worth to them, best first; k is how many of them are wanted."""

    async def __call__(self, chat: Chat, agents: Sequence[Agent], run: Run, k: int) -> Sequence[Forecast]: ...


def shortlist(found: Sequence[Forecast], agents: Sequence[Agent], gap: float) -> dict[int, Forecast]:
    """The forecasts that are at most `gap` worse than the best, by place.

    Raises:
        UsageError: there are none of any of the agents.
    """
    found = [forecast for forecast in found if 0 <= forecast.place < len(agents)]
    if not found:
        raise UsageError(f"the router names none of the {len(agents)} agents: give it one that knows them")
    best = max(forecast.quality for forecast in found)
    return {forecast.place: forecast for forecast in found if best - forecast.quality <= gap}


def ranked(known: Mapping[int, Forecast], score: Callable[[int], float], *, cost: float, latency: float) -> list[int]:
    """Places by score, less what asking takes: the dearest loses `cost`, the slowest `latency`, others their share.

    >>> known = {0: Forecast(0, 0.9, usd=0.02), 1: Forecast(1, 0.87)}
    >>> ranked(known, lambda place: known[place].quality, cost=0.05, latency=0)
    [1, 0]
    """
    usd = max(forecast.usd for forecast in known.values()) or 1.0
    seconds = max(forecast.seconds for forecast in known.values()) or 1.0
    less = {place: cost * each.usd / usd + latency * each.seconds / seconds for place, each in known.items()}
    return sorted(known, key=lambda place: less[place] - score(place))


@dataclass(frozen=True)
class ByTopic:
    """Fixed scores: an agent's quality on the topics whose name stands in the question, else its mean over all.

    Args:
        scores: quality by agent and topic.
        usd: what asking an agent costs; by default its longest reply at its model's price.
        seconds: how long an agent takes.
        unknown: the quality of an agent without scores.
    """

    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    usd: Mapping[str, float] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    unknown: float = 0.5

    async def __call__(self, chat: Chat, agents: Sequence[Agent], run: Run, k: int) -> Sequence[Forecast]:
        found = [self._forecast(place, agent, chat.question) for place, agent in enumerate(agents)]
        return sorted(found, key=lambda forecast: -forecast.quality)

    def _forecast(self, place: int, agent: Agent, question: str) -> Forecast:
        known = self.scores.get(agent.name, {})
        asked = [known[topic] for topic in known if re.search(rf"(?i)\b{re.escape(topic)}\b", question)]
        quality = fmean(asked or list(known.values()) or [self.unknown])
        usd = self.usd.get(agent.name, _longest(agent))
        return Forecast(place, quality, usd, self.seconds.get(agent.name, 0.0))


@dataclass(frozen=True)
class ByCards:
    """An agent chooses by the others' cards: by their `about`, under letters, never by their names.

    Who is not chosen comes last, in the order given. Where no agent has a card, or the choice can't be read, that order
    stands, and that is noted.

    Args:
        agent: who chooses.
        note: what it is told; `{k}` stands for how many are wanted.
    """

    agent: Agent
    note: str = CHOOSE

    async def __call__(self, chat: Chat, agents: Sequence[Agent], run: Run, k: int) -> Sequence[Forecast]:
        cards = [str(getattr(agent, "about", "")).strip() for agent in agents]
        labels = [label(place) for place in range(len(agents))]
        named: Sequence[str] | None = ()
        if any(cards):
            known = [f"{name}: {card or 'nothing is known'}" for name, card in zip(labels, cards, strict=True)]
            asked = chat.add(Message("user", "\n".join([self.note.replace("{k}", str(k)), *known])))
            said = await run.all([run.ask(self.agent, asked)], need=0)
            named = read_ranking(said[0].text, labels) if said else None
            if named is None:
                run.note("the choice by cards could not be read; the agents stand in the order given")
        else:
            run.note("no agent has a card (`about`) to be chosen by; they stand in the order given")
        ranked = dict.fromkeys([*(named or ()), *labels])  # who was named comes first
        return [Forecast(labels.index(name), 1 - place / len(ranked)) for place, name in enumerate(ranked)]


def _longest(agent: Agent) -> float:
    """The price of an agent's longest reply; 0 where none is known."""
    if not isinstance(agent, ModelAgent) or agent.backend.card.price is None:
        return 0.0
    return agent.backend.card.price.output * agent.sampling.max_tokens / 1e6
