"""Short stories with a number at the end; the level is the number of steps.

`check` in the metadata is the way to the answer as a Python expression over whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from motet.bench.generated.dice import Dice
from motet.bench.generated.question import Maker, Question, written

INSTRUCTIONS: Final = 'Work it out, then give the answer as a number on a last line that begins with "Answer:".'
SCORER: Final = "exact"
OPTIONS: Final[Mapping[str, object]] = {}

NAMES: Final = (
    "Ada", "Bruno", "Chloe", "Dev", "Elif", "Farah", "Goran", "Hana", "Ivan", "Jun", "Kofi", "Lena", "Mateo", "Nadia",
    "Omar", "Priya", "Quinn", "Rosa", "Sami", "Tara", "Uma", "Viktor", "Wanda", "Yusuf", "Zoe",
)  # fmt: skip
_GOODS: Final = ("pencils", "notebooks", "apples", "stickers", "marbles", "postcards", "buttons", "lemons", "candles")


def _made(said: str, value: Fraction | int, check: str) -> Question:
    return Question(said, (written(value),), {"check": check})


def _shopping(dice: Dice, level: int) -> Question:
    name, (one, other) = dice.choice(NAMES), dice.sample(_GOODS, 2)
    a, b, p, q = dice.between(2, 12), dice.between(2, 12), dice.between(2, 15), dice.between(2, 15)
    if level == 1:
        return _made(f"{name} buys {a} {one} at {p} dollars each. How many dollars is that?", a * p, f"{a} * {p}")
    start = f"{name} buys {a} {one} at {p} dollars each and {b} {other} at {q} dollars each"
    cost = a * p + b * q
    if level == 2:
        return _made(f"{start}. How many dollars is that in all?", cost, f"{a} * {p} + {b} * {q}")
    paid = (cost // 50 + dice.between(1, 2)) * 50
    said = f"{start}, and pays with {paid} dollars. How many dollars of change are due?"
    return _made(said, paid - cost, f"{paid} - ({a} * {p} + {b} * {q})")


def _travel(dice: Dice, level: int) -> Question:
    speed, hours = dice.between(6, 24) * 5, dice.between(2, 9)
    if level == 1:
        said = f"A train goes {speed} km an hour. How many kilometres does it go in {hours} hours?"
        return _made(said, speed * hours, f"{speed} * {hours}")
    other, more = dice.between(6, 24) * 5, dice.between(2, 9)
    start = f"A bus drives {hours} hours at {speed} km an hour, then {more} hours at {other} km an hour."
    way, check = speed * hours + other * more, f"{speed} * {hours} + {other} * {more}"
    if level == 2:
        return _made(f"{start} How many kilometres does it drive in all?", way, check)
    longer = way + dice.between(1, 40) * 5
    said = f"{start} The whole way is {longer} km. How many kilometres are left?"
    return _made(said, longer - way, f"{longer} - ({check})")


def _work(dice: Dice, level: int) -> Question:
    name, rate, hours = dice.choice(NAMES), dice.between(11, 35), dice.between(4, 9)
    if level == 1:
        said = f"{name} earns {rate} dollars an hour. How many dollars are earned in {hours} hours?"
        return _made(said, rate * hours, f"{rate} * {hours}")
    days = dice.between(3, 6)
    start = f"{name} earns {rate} dollars an hour and works {hours} hours a day on {days} days a week."
    if level == 2:
        said = f"{start} How many dollars are earned in a week?"
        return _made(said, rate * hours * days, f"{rate} * {hours} * {days}")
    costs, weeks = dice.between(2, 15) * 10, dice.between(3, 8)
    said = (
        f"{start} Each week {costs} dollars are spent and the rest is saved. How "
        f"many dollars are saved in {weeks} weeks?"
    )
    return _made(said, (rate * hours * days - costs) * weeks, f"({rate} * {hours} * {days} - {costs}) * {weeks}")


def _sharing(dice: Dice, level: int) -> Question:
    name, goods = dice.choice(NAMES), dice.choice(_GOODS)
    people, each = dice.between(3, 12), dice.between(3, 25)
    total = people * each
    if level == 1:
        said = f"{total} {goods} are shared equally among {people} children. How many does each child get?"
        return _made(said, each, f"{total} / {people}")
    kept = dice.between(2, 20)
    if level == 2:
        said = (
            f"{name} has {total + kept} {goods}, keeps {kept} and shares the others equally among {people} children. "
            "How many does each child get?"
        )
        return _made(said, each, f"({total + kept} - {kept}) / {people}")
    boxes, inside = dice.between(3, 9), dice.between(10, 40)
    said = (
        f"{name} has {boxes} boxes with {inside} {goods} in each and shares all {goods} equally among {people} "
        f"children, giving each as many as possible. How many {goods} are left over?"
    )
    return _made(said, boxes * inside % people, f"({boxes} * {inside}) % {people}")


def _ages(dice: Dice, level: int) -> Question:
    one, other = dice.sample(NAMES, 2)
    age, gap, years = dice.between(6, 40), dice.between(2, 15), dice.between(2, 12)
    if level == 1:
        said = f"{one} is {age} years old. {other} is {gap} years older. How old is {other}?"
        return _made(said, age + gap, f"{age} + {gap}")
    if level == 2:
        said = (
            f"{one} is {age} years old and {other} is {gap} years older. "
            f"How old will the two be together in {years} years?"
        )
        return _made(said, 2 * age + gap + 2 * years, f"{age} + {age} + {gap} + 2 * {years}")
    times, years = dice.between(2, 4), dice.between(2, 6)
    said = (
        f"In {years} years {one} will be {times} times as old as {other} is today. {other} is {age} years old today. "
        f"How old is {one} today?"
    )
    return _made(said, times * age - years, f"{times} * {age} - {years}")


def _mixing(dice: Dice, level: int) -> Question:
    share, litres = dice.between(1, 18) * 5, dice.between(2, 40) * 20
    if level == 1:
        said = f"A drink is {share}% juice. How many litres of juice are in {litres} litres of it?"
        return _made(said, Fraction(share * litres, 100), f"{share} * {litres} / 100")
    other, more = dice.between(1, 18) * 5, dice.between(2, 40) * 20
    start = f"{litres} litres of a drink with {share}% juice are mixed with {more} litres of one with {other}% juice."
    juice, check = Fraction(share * litres + other * more, 100), f"({share} * {litres} + {other} * {more}) / 100"
    if level == 2:
        return _made(f"{start} How many litres of juice are in the mixture?", juice, check)
    said = f"{start} How many litres of the mixture are not juice?"
    return _made(said, litres + more - juice, f"{litres} + {more} - {check}")


def _saving(dice: Dice, level: int) -> Question:
    name, price, off = dice.choice(NAMES), dice.between(2, 40) * 20, dice.between(1, 12) * 5
    if level == 1:
        said = f"A coat costs {price} dollars. It is sold at {off}% off. How many dollars does it cost then?"
        return _made(said, Fraction(price * (100 - off), 100), f"{price} * (100 - {off}) / 100")
    weekly, weeks = dice.between(5, 30), dice.between(3, 12)
    have = dice.between(10, 90)
    if level == 2:
        said = (
            f"{name} has {have} dollars and saves {weekly} dollars a week. How many "
            f"dollars are there after {weeks} weeks?"
        )
        return _made(said, have + weekly * weeks, f"{have} + {weekly} * {weeks}")
    more = dice.between(1, 9) * 10
    said = (
        f"{name} has {have} dollars, saves {weekly} dollars a week for {weeks} "
        f"weeks, and then gets {more}% of all that "
        "on top as a gift. How many dollars are there in the end?"
    )
    value = Fraction((have + weekly * weeks) * (100 + more), 100)
    return _made(said, value, f"({have} + {weekly} * {weeks}) * (100 + {more}) / 100")


def _shapes(dice: Dice, level: int) -> Question:
    a, b, edge = dice.between(4, 40), dice.between(4, 40), dice.between(2, 6)
    if level == 1:
        said = f"A garden is a rectangle of {a} m by {b} m. How many square metres is it?"
        return _made(said, a * b, f"{a} * {b}")
    if level == 2:
        said = (
            f"A garden is a rectangle of {a} m by {b} m. A fence around it costs {edge} dollars a metre. "
            "How many dollars does the whole fence cost?"
        )
        return _made(said, 2 * (a + b) * edge, f"2 * ({a} + {b}) * {edge}")
    said = (
        f"A pool is a rectangle of {a} m by {b} m. Around it, on all four sides, "
        f"lies a path {edge} m wide, outside the "
        "pool and square at the corners. How many square metres is the path?"
    )
    wide = f"({a} + 2 * {edge}) * ({b} + 2 * {edge})"
    return _made(said, (a + 2 * edge) * (b + 2 * edge) - a * b, f"{wide} - {a} * {b}")


TOPICS: Final[Mapping[str, Maker]] = {
    "shopping": _shopping,
    "travel": _travel,
    "work": _work,
    "sharing": _sharing,
    "ages": _ages,
    "mixing": _mixing,
    "saving": _saving,
    "shapes": _shapes,
}
