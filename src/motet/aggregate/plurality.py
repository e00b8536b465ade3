"""Plurality: the answer that most agents give, where two answers are the same if they are so when normalised.

    >>> plurality([Reply("70,000", agent="a"), Reply("It is 5", agent="b"), Reply("$70000", agent="c")]).text
    '70,000'

What counts of a reply is the answer in it (`motet.answer`): "Paris" and "The capital of France is Paris." are one vote
each for the same, if the question was for the capital of France.

Ties go to the answer that was given first, so put the agent you trust most first. With weights, each agent's vote
counts as much as its weight (1 where it has none); the best weights for independent agents of accuracy p are
log(p / (1 - p)) (Nitzan and Paroush 1982).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from motet.answer import answer
from motet.errors import UsageError
from motet.message import Chat, Reply, chosen
from motet.run import Run


def tally(replies: Sequence[Reply], weights: Mapping[str, float] | None = None, question: str = "") -> dict[str, float]:
    """The votes of each normalised answer, in the order in which answers were first given."""
    from motet.normalise import normalise

    votes: dict[str, float] = {}
    for reply in replies:
        voted = normalise(answer(reply.text, question))
        votes[voted] = votes.get(voted, 0.0) + (weights or {}).get(reply.agent, 1.0)
    return votes


def plurality(replies: Sequence[Reply], weights: Mapping[str, float] | None = None, question: str = "") -> Reply:
    """The first reply that gives the answer with the most votes.

    Raises:
        ValueError: there are no replies.
    """
    from motet.normalise import normalise

    votes = tally(replies, weights, question)
    if not votes:
        raise ValueError("no replies to take a vote of")
    winner = max(votes, key=lambda voted: votes[voted])  # the first of equals, as `max` and dicts promise
    return next(reply for reply in replies if normalise(answer(reply.text, question)) == winner)


@dataclass(frozen=True)
class Plurality:
    """The answer with the most votes, as its first voter put it; every voter is a source of it.

    Args:
        weights: votes of an agent, by name; 1 for whoever is not named.
    """

    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        bad = [name for name, weight in self.weights.items() if not math.isfinite(weight)]
        if bad:
            raise UsageError(f"a vote can't count {self.weights[bad[0]]} for {bad[0]}: give a number as its weight")

    async def __call__(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply:
        return chosen(plurality(replies, self.weights, chat.question), replies)
