"""Dice: random choices that are the same on every Python version and machine.

Python promises that `random.Random(text).random()` gives the same sequence for ever, and of `randrange`, `choice` and
`shuffle` it does not; so these are made of it here.

    >>> dice = Dice("example")
    >>> [dice.between(1, 6) for _ in range(5)]
    [5, 2, 5, 4, 1]
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

Thing = TypeVar("Thing")


class Dice:
    """A source of random choices.

    Args:
        seed: same text, same choices.
    """

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self._random() * (high - low + 1))

    def choice(self, things: Sequence[Thing]) -> Thing:
        """One of several."""
        return things[self.between(0, len(things) - 1)]

    def sample(self, things: Sequence[Thing], count: int) -> list[Thing]:
        """So many different ones of several, in random order."""
        left = list(things)
        return [left.pop(self.between(0, len(left) - 1)) for _ in range(count)]

    def shuffled(self, things: Sequence[Thing]) -> list[Thing]:
        """All of them, in random order."""
        return self.sample(things, len(things))

    def nonzero(self, low: int, high: int) -> int:
        """A whole number from `low` to `high` that is not 0."""
        return self.choice([number for number in range(low, high + 1) if number])
