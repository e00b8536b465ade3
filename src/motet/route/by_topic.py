"""By topic: fixed scores, looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from motet.agent import ModelAgent
from motet.message import Chat
from motet.route.base import Forecast
from motet.run import Agent, Run


def topics_in(question: str, topics: Iterable[str]) -> list[str]:
    """The topics whose name stands in the question, as whole words.

    >>> topics_in("Is Art an art?", ["art", "arts"])
    ['art']
    """
    return [topic for topic in topics if re.search(rf"(?i)(?<!\w){re.escape(topic)}(?!\w)", question)]


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
        asked = [known[topic] for topic in topics_in(question, known)]
        quality = fmean(asked or list(known.values()) or [self.unknown])
        usd = self.usd.get(agent.name, _longest(agent))
        return Forecast(place, quality, usd, self.seconds.get(agent.name, 0.0))


def _longest(agent: Agent) -> float:
    """The price of an agent's longest reply; 0 where none is known."""
    if not isinstance(agent, ModelAgent) or agent.backend.card.price is None:
        return 0.0
    return agent.backend.card.price.output * agent.sampling.max_tokens / 1e6
