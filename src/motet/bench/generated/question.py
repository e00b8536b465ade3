"""What a maker of a generated suite makes: a question with its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import msgspec

from motet.bench.generated.dice import Dice


class Question(msgspec.Struct, frozen=True):
    """A question with its accepted answers; the options and what else is known, as in a `Task`."""

    input: str
    target: tuple[str, ...]
    metadata: Mapping[str, object] = msgspec.field(default_factory=dict)
    choices: tuple[str, ...] = ()


Maker = Callable[[Dice, int], Question]
"""Makes a question of one topic at a level: 1 the easiest, 3 the hardest."""


def written(number: Fraction | int) -> str:
    """A number as an answer: whole, as a decimal where that ends within three places, else as a fraction.

    >>> written(Fraction(7, 8)), written(Fraction(2, 3)), written(Fraction(6, 2))
    ('0.875', '2/3', '3')
    """
    number = Fraction(number)
    if number.denominator == 1:
        return str(number.numerator)
    scaled = number * 1000
    if scaled.denominator != 1:
        return f"{number.numerator}/{number.denominator}"
    whole, rest = divmod(abs(scaled.numerator), 1000)
    return f"{'-' if number < 0 else ''}{whole}.{rest:03}".rstrip("0")
