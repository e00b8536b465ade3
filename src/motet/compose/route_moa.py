"""RouteMoA: a scorer that sees only the question says who is worth asking; the answers paid for correct its scores.

Wang, Wu, You, Song, Wang, Shan, Li, Zhang, Le, Chen, Guan and Tao, "RouteMoA: Dynamic Routing without Pre-Inference
Boosts Efficient Mixture-of-Agents", arXiv 2601.18130; read in the public code: rongyan4/RouteMoA, the paper's
repository (emoa/src/emoa/core/newemoa_v2.py for the small pool, emoa_large/src/emoa/core/emoa_v2.py for the large one,
both at bca0bfb). A mixture of agents asks everybody before it can choose; here the choice comes first. The scorer
forecasts each agent's quality from the question (there a small encoder trained on outcomes, here any `Router`); the
best k answer, and in the same breath score themselves and, from the second layer on, the replies they heard. So the
scores are corrected without any further call (mixture of judges), the k best of the corrected ranking make the next
layer, which hears the one before, and a score that is high enough ends it. An agent's score is the weighted mean of
what is known: the forecast, how it scored itself over the layers, how its reply was scored by the best of those that
heard it. Defaults are the small pool's: k of 3, at most 3 layers, weights 2 : 1 : 1, a shortlist of those whose
forecast is within 0.2 of the best; 0.8 for its 0.805 and the large pool's 0.76, at which it ends.

Differences: the code bends the scorer's forecasts by a curve, which belongs to that scorer; where an agent states no
score it invents one (0.8, 0.5 or 0.3), here only what is known counts. The judge of the replies that were heard is
whoever scores itself highest there; whoever ranks highest here, as accounts of the paper have it. A forecast alone
never ends it: some answer has to have been scored. Quality comes first in the code and prices break ties; here cost and
latency each take up to a stated share off (inferred from the paper's abstract, which has the three balanced). Who gives
no usable reply is out, and the next in the ranking takes the place. Scores are asked for as one line at the end of a
reply, which is taken off before anybody hears it; the code asks for JSON. The last layer is not asked for scores, as
there.

Shape: k × layers calls at most and the router's and the aggregator's, layers + 1 in series and the router's; more where
others take the place of agents that give no usable reply. Needs agents that can end with a line of scores (who can't is
judged by its forecast).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import ClassVar

import msgspec

from motet.aggregate import Aggregator
from motet.aggregate.synthesize import NOTE
from motet.ballot import read_scores
from motet.compose.base import at_least, finite
from motet.errors import TooFewReplies, UsageError
from motet.message import Chat, Reply, hear
from motet.prompt import shuffled
from motet.route.base import Router, ranked, shortlist
from motet.route.by_topic import ByTopic
from motet.run import Agent, Run

SCALE = 10
OWN = "own"
ASSESS = (
    'After your reply, end with one line that begins with "Scores:" and says how sure you are that it is right, from 0 '
    '(certainly wrong) to 10 (certainly right), for instance "Scores: own=7".'
)
CROSS = (
    'After your reply, end with one line that begins with "Scores:" and says how likely each reply is right, your own '
    'and each of those below by its letter, from 0 (certainly wrong) to 10 (certainly right), for instance "Scores: '
    'own=7, A=4, B=9".'
)


@dataclass(frozen=True)
class RouteMoA:
    r"""Layers of the k agents that are worth most, as forecast and then as their answers show; then one reply.

    Args:
        agents: the pool.
        aggregate: makes the reply of the last layer's; the paper's is `Synthesize(agent)`.
        route: forecasts who is good for the question; without it all are alike, and the first are asked first.
        k: agents that answer in a layer; all of the shortlist if there are no more.
        layers: layers at the most.
        gap: who is forecast to be worse than the best by more than this is never asked.
        weights: of the forecast, of how agents score themselves, and of how they are scored by others; 0 for no such.
        accept: the score at which no further layer is asked.
        cost: what the dearest agent loses of its score, others in proportion.
        latency: what the slowest agent loses of its score, others in proportion.
        note: what agents are told about the replies they hear.
        assess: what they are told about scoring themselves.
        cross: what they are told about scoring themselves and the replies they hear.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Plurality, Scripted, perform
    >>> said = {"poet": "Lyon\nScores: own=9", "guide": "Paris\nScores: own=9"}
    >>> agents = [ModelAgent(Scripted(text, name=name), name) for name, text in said.items()]
    >>> skills = {"poet": {"rhyme": 0.9, "capital": 0.2}, "guide": {"capital": 0.9}}
    >>> result = asyncio.run(perform(RouteMoA(agents, Plurality(), ByTopic(skills)), "Capital of France?"))
    >>> result.text, result.usage.calls
    ('Paris', 1)
    """

    also_known_as: ClassVar = ("RouteMoA", "routed mixture of agents")

    agents: Sequence[Agent]
    aggregate: Aggregator
    route: Router = ByTopic()
    k: int = 3
    layers: int = 3
    gap: float = 0.2
    weights: tuple[float, float, float] = (2.0, 1.0, 1.0)
    accept: float = 0.8
    cost: float = 0.05
    latency: float = 0.05
    note: str = NOTE
    assess: str = ASSESS
    cross: str = CROSS
    grace: float | None = None
    name: str = "route-moa"

    def __post_init__(self) -> None:
        at_least(1, "agents", self.agents, self.name)
        at_least(1, "agents a layer", self.k, self.name)
        at_least(1, "layers", self.layers, self.name)
        finite(self.name, least=0, gap=self.gap, accept=self.accept, cost=self.cost, latency=self.latency)
        finite(self.name, weights=self.weights)
        if len(self.weights) != 3 or not self.weights[0] > 0 or min(self.weights) < 0:
            raise UsageError(f"{self.name} weighs by {self.weights}: give three weights of 0 or more, the first not 0")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        known = shortlist(await self.route(chat, self.agents, run, self.k), self.agents, self.gap)
        judged = Judged(self.weights, {place: forecast.quality for place, forecast in known.items()})
        said, layer = dict[int, Reply](), 0
        while layer < self.layers and known:
            active = ranked(known, judged.score, cost=self.cost, latency=self.latency)[: self.k]
            final = layer + 1 == self.layers or not any(self.weights[1:])
            found = await self._layer(chat, active, said, None if final else judged, run)
            known = {place: known[place] for place in known if place not in active or place in found}
            if not found:
                continue  # the next in the ranking take their place
            said, layer = found, layer + 1
            best = max(said, key=judged.score)
            run.offer(said[best])
            if not final and judged.evident(best) and judged.score(best) >= self.accept:
                run.note(f"layer {layer} of {self.layers} was good enough, so it is the last")
                break
        if not said:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        if not known:
            run.note(f"nobody is left to ask for layer {layer + 1} of {self.layers}; the one before stands")
        return await self.aggregate(chat, list(said.values()), run)

    async def _layer(
        self, chat: Chat, active: Iterable[int], said: Mapping[int, Reply], judged: Judged | None, run: Run
    ) -> dict[int, Reply]:
        """What those asked reply to what was said in the layer before, without their scores, which go to `judged`."""
        shown, labels = shuffled(chat, said, run.rng)
        asked = chat if judged is None else chat.note(self.cross if shown else self.assess)
        if shown:
            asked = hear(asked, [said[place] for place in shown], self.note, labels)
        asks = {place: run.ask(self.agents[place], asked) for place in active}
        found = await run.each(asks, need=0, grace=self.grace)
        if judged is None:
            return found
        stated: dict[int, dict[str, float]] = {}
        for place, reply in list(found.items()):
            text, stated[place] = read_scores(reply.text, [OWN, *labels], SCALE)
            found[place] = msgspec.structs.replace(reply, text=text)
            if not text:
                run.note(f"{self.agents[place].name} stated scores and gave no reply to score")
                del found[place], stated[place]
            elif OWN not in stated[place]:
                run.note(f"{self.agents[place].name} stated no score of its own; its forecast counts")
        judged.hear(stated, dict(zip(labels, shown, strict=True)))
        if shown and self.weights[2] and not judged.cross:
            run.note("nobody scored the replies that were heard in a way that could be read")
        return found


@dataclass
class Judged:
    """The mixture of judges: scores as they are forecast, stated by oneself and stated by others.

    Args:
        weights: of the three.
        forecast: quality by place.
    """

    weights: tuple[float, float, float]
    forecast: Mapping[int, float]
    own: dict[int, list[float]] = field(default_factory=dict)
    cross: dict[int, float] = field(default_factory=dict)

    def evident(self, place: int) -> bool:
        """Whether more is known of it than its forecast."""
        return place in self.own or place in self.cross

    def hear(self, stated: Mapping[int, Mapping[str, float]], named: Mapping[str, int]) -> None:
        """Take in what a layer stated: everybody of itself, and the best of those that scored all of `named`."""
        judges = [place for place in stated if set(named) <= set(stated[place])] if named else []
        for place in stated:
            if OWN in stated[place] and self.weights[1]:
                self.own.setdefault(place, []).append(stated[place][OWN] / SCALE)
        if judges and self.weights[2]:
            judge = max(judges, key=self.score)
            self.cross |= {place: stated[judge][name] / SCALE for name, place in named.items()}

    def score(self, place: int) -> float:
        """The weighted mean of what is known of it."""
        own = fmean(self.own[place]) if place in self.own else None
        known = zip(self.weights, (self.forecast[place], own, self.cross.get(place)), strict=True)
        parts = [(weight, value) for weight, value in known if value is not None]
        return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)
