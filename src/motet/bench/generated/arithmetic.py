"""Plain arithmetic, exact. `check` in the metadata is the question as a Python expression over whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from motet.bench.generated.dice import Dice
from motet.bench.generated.question import Maker, Question, written

INSTRUCTIONS: Final = "Give only the answer, as a number."
SCORER: Final = "exact"
OPTIONS: Final[Mapping[str, object]] = {}

_SIZE: Final = {1: (2, 99), 2: (100, 999), 3: (1_000, 99_999)}
_FACTOR: Final = {1: (2, 12), 2: (12, 99), 3: (101, 999)}


def _made(said: str, value: Fraction | int, check: str) -> Question:
    return Question(said, (written(value),), {"check": check})


def _sums(dice: Dice, level: int) -> Question:
    numbers = [dice.between(*_SIZE[level]) for _ in range(dice.between(2, level + 1))]
    plus = " + ".join(map(str, numbers))
    return _made(f"What is {plus}?", sum(numbers), plus)


def _differences(dice: Dice, level: int) -> Question:
    a, b = dice.between(*_SIZE[level]), dice.between(*_SIZE[level])
    if level == 1 and a < b:
        a, b = b, a
    return _made(f"Subtract {b} from {a}.", a - b, f"{a} - {b}")


def _products(dice: Dice, level: int) -> Question:
    a, b = dice.between(*_FACTOR[level]), dice.between(*_FACTOR[level])
    return _made(f"What is {a} * {b}?", a * b, f"{a} * {b}")


def _quotients(dice: Dice, level: int) -> Question:
    a, b = dice.between(*_FACTOR[level]), dice.between(*_FACTOR[level])
    return _made(f"Divide {a * b} by {b}.", a, f"{a * b} / {b}")


def _remainders(dice: Dice, level: int) -> Question:
    a, b = dice.between(*_SIZE[level]) + 20, dice.between(3, 9 if level == 1 else 97)
    return _made(f"What is the remainder when {a} is divided by {b}?", a % b, f"{a} % {b}")


def _powers(dice: Dice, level: int) -> Question:
    exponent = dice.between(2, 3) if level < 3 else dice.between(3, 5)
    base = dice.between(2, {1: 12, 2: 30, 3: 15}[level])
    return _made(f"What is {base} to the power of {exponent}?", base**exponent, f"{base} ** {exponent}")


def _fractions(dice: Dice, level: int) -> Question:
    top = {1: 9, 2: 12, 3: 25}[level]
    a, c = dice.between(1, top), dice.between(1, top)
    b, d = dice.between(2, top), dice.between(2, top)
    sign = dice.choice("+-" if level == 1 else "+-*/")
    first, second = Fraction(a, b), Fraction(c, d)
    value = {"+": first + second, "-": first - second, "*": first * second, "/": first / second}[sign]
    said = f"What is {a}/{b} {sign} {c}/{d}, as a fraction in lowest terms?"
    if sign == "/":
        said = f"What is {a}/{b} divided by {c}/{d}, as a fraction in lowest terms?"
    return _made(said, value, f"({a} / {b}) {sign} ({c} / {d})")


def _percentages(dice: Dice, level: int) -> Question:
    share = dice.choice((10, 20, 25, 50, 75)) if level == 1 else dice.between(1, 99 if level == 2 else 250)
    whole = dice.between(1, 50) * (20 if level == 1 else 10 if level == 2 else 4)
    return _made(f"What is {share}% of {whole}?", Fraction(share * whole, 100), f"{share} * {whole} / 100")


def _decimals(dice: Dice, level: int) -> Question:
    places = 10 if level == 1 else 100
    a, b = dice.between(places + 1, 50 * places), dice.between(places + 1, 50 * places)
    sign = dice.choice("+-" if level < 3 else "*")
    if sign == "-" and a < b:
        a, b = b, a
    if sign == "*":
        places, a, b = 10, dice.between(11, 200), dice.between(11, 200)
    first, second = Fraction(a, places), Fraction(b, places)
    value = {"+": first + second, "-": first - second, "*": first * second}[sign]
    said = f"What is {written(first)} {sign} {written(second)}?"
    return _made(said, value, f"({a} / {places}) {sign} ({b} / {places})")


def _brackets(dice: Dice, level: int) -> Question:
    a, b, c, d, e = (dice.between(2, 9 + 10 * (level - 1)) for _ in range(5))
    said, value = {
        1: (f"{a} + {b} * {c}", a + b * c),
        2: (f"({a} + {b}) * {c} - {d}", (a + b) * c - d),
        3: (f"({a} + {b}) * ({c} - {d}) - {e} * {b}", (a + b) * (c - d) - e * b),
    }[level]
    return _made(f"Evaluate {said}.", value, said)


TOPICS: Final[Mapping[str, Maker]] = {
    "sums": _sums,
    "differences": _differences,
    "products": _products,
    "quotients": _quotients,
    "remainders": _remainders,
    "powers": _powers,
    "fractions": _fractions,
    "percentages": _percentages,
    "decimals": _decimals,
    "brackets": _brackets,
}
