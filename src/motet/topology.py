"""Topologies: who hears whom. A `Topology` is called with the number of agents, one agent's place and the round.

    >>> Full()(4, 1, round=1)
    (0, 2, 3)
    >>> Ring()(4, 0, round=1)
    (3, 1)
    >>> Star(centre=0)(4, 2, round=1), Star(centre=0)(4, 0, round=1)
    ((0,), (1, 2, 3))

Every topology is data, so that a mixture that uses one can be written down and read back.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from motet.errors import UsageError


class Topology(Protocol):
    """Gives the places that agent `i` of `n` hears in `round` (1 is the first in which anything is heard)."""

    def __call__(self, n: int, i: int, round: int) -> Sequence[int]: ...


@dataclass(frozen=True)
class Full:
    """Everybody hears everybody else."""

    def __call__(self, n: int, i: int, round: int) -> Sequence[int]:
        return tuple(j for j in range(n) if j != i)


@dataclass(frozen=True)
class Alone:
    """Nobody hears anybody: what a debate is compared with."""

    def __call__(self, n: int, i: int, round: int) -> Sequence[int]:
        return ()


@dataclass(frozen=True)
class Ring:
    """Each hears its neighbours.

    Args:
        reach: how many to either side.
    """

    reach: int = 1

    def __post_init__(self) -> None:
        if self.reach < 0:
            raise UsageError(f"a ring can't reach {self.reach} to either side: give 0 or more")

    def __call__(self, n: int, i: int, round: int) -> Sequence[int]:
        near = [(i + step) % n for step in range(-self.reach, self.reach + 1) if step]
        return tuple(j for j in dict.fromkeys(near) if j != i)


@dataclass(frozen=True)
class Star:
    """The centre hears everybody, the others hear the centre.

    Args:
        centre: whose place is the centre.
    """

    centre: int = 0

    def __call__(self, n: int, i: int, round: int) -> Sequence[int]:
        centre = self.centre % n
        return tuple(j for j in range(n) if j != i) if i == centre else (centre,)


@dataclass(frozen=True)
class Chain:
    """Each hears the one before it; the first hears nobody."""

    def __call__(self, n: int, i: int, round: int) -> Sequence[int]:
        return (i - 1,) if i else ()


@dataclass(frozen=True)
class Sparse:
    """Each hears some others, drawn anew each round.

    Args:
        degree: how many; all others if there are fewer.
        seed: what they are drawn from.
    """

    degree: int = 2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.degree < 0:
            raise UsageError(f"nobody can hear {self.degree} others: give 0 or more")

    def __call__(self, n: int, i: int, round: int) -> Sequence[int]:
        others = [j for j in range(n) if j != i]
        drawn = random.Random(f"{self.seed}/{round}/{i}").sample(others, min(self.degree, len(others)))
        return tuple(sorted(drawn))
