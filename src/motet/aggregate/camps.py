"""Camps: who gives the same answer, as the plurality tells answers apart.

>>> camps([Reply("It is 4."), Reply("5"), Reply("four")])
{'4': [0, 2], '5': [1]}
"""

from __future__ import annotations

from collections.abc import Sequence

from motet.aggregate.plurality import tally
from motet.message import Reply


def camps(replies: Sequence[Reply], question: str = "") -> dict[str, list[int]]:
    """The places of the replies that give each answer, in the order in which answers were first given."""
    found: dict[str, list[int]] = {}
    for place, reply in enumerate(replies):
        (voted,) = tally([reply], question=question)
        found.setdefault(voted, []).append(place)
    return found
