"""Numeric: 1 if the answer is a number close enough to an accepted one, else 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from motet.answer import answer
from motet.errors import UsageError
from motet.message import Chat, Reply
from motet.run import Run
from motet.score.base import AS_ZERO

if TYPE_CHECKING:
    from fractions import Fraction

_NUMBER = re.compile(r"(?<![\w.,])[-−]?\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d{1,3})?(?![\w]|[.,]\d)")


@dataclass(frozen=True)
class Numeric:
    """Whether the answer is a number within the tolerance of an accepted one.

    Args:
        accepted: the accepted numbers.
        tolerance: how far off it may be, in the unit of the answer.
        relative: how far off it may be, as a share of the accepted number; the wider of the two counts.
    """

    accepted: Sequence[str]
    tolerance: float = 0.0
    relative: float = 0.0

    def __post_init__(self) -> None:
        for name, value in (("tolerance", self.tolerance), ("relative", self.relative)):
            if not 0 <= value < float("inf"):
                raise UsageError(f"a {name} of {value} makes no sense: give 0 (exact) or more")

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        from fractions import Fraction  # with all that it imports, not on `import motet`

        if not reply.usable:
            return 0.0
        targets = [number for text in self.accepted if (number := number_in(text)) is not None]
        if not targets:
            run.note(f"no accepted answer is a number ({self.accepted[:1]}): use another scorer; {AS_ZERO}")
            return 0.0
        given = number_in(answer(reply.text, chat.question))
        if given is None:
            return 0.0
        allowed = [max(Fraction(self.tolerance), Fraction(self.relative) * abs(target)) for target in targets]
        return float(any(abs(given - target) <= most for target, most in zip(targets, allowed, strict=True)))


def number_in(text: str) -> Fraction | None:
    """The number that a text is, or the only one in it; None if there is none, or several that differ.

    >>> number_in("about 3.14 metres"), number_in("1/3"), number_in("between 3 and 4")
    (Fraction(157, 50), Fraction(1, 3), None)
    """
    from fractions import Fraction

    from motet.normalise import normalise

    try:
        return Fraction(normalise(text))
    except (ValueError, ZeroDivisionError):
        pass
    found = {Fraction(each.replace(",", "").replace("−", "-")) for each in _NUMBER.findall(text[-20_000:])}
    return found.pop() if len(found) == 1 else None
