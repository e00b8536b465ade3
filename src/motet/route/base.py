"""The seam: a `Router` says which agents a question is worth, before any of them is asked.

It is called with the chat, the agents, the run and how many are wanted, and gives a ranking, best first, of what is
expected of each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from motet.errors import UsageError
from motet.message import Chat
from motet.run import Agent, Run


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
        UsageError: there are none of any of the agents, or one is no number.
    """
    for forecast in found:
        if math.isnan(forecast.quality):
            raise UsageError(f"the router forecasts no number for agent {forecast.place}: give it scores that are some")
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
