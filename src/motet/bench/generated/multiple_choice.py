"""Questions with four or five options, of which one alone is right: that is computed for each option.

What the answers rest on is arithmetic, the Gregorian calendar, the spelling of words, units, and the atomic numbers of
the first 36 elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from typing import Final

from motet.bench.generated.dice import Dice
from motet.bench.generated.question import Maker, Question
from motet.prompt import label

INSTRUCTIONS: Final = "Give only the letter of the right option."
SCORER: Final = "choice"
OPTIONS: Final[Mapping[str, object]] = {}

DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
ELEMENTS: Final = (
    "hydrogen H, helium He, lithium Li, beryllium Be, boron B, carbon C, nitrogen N, oxygen O, fluorine F, neon Ne, "
    "sodium Na, magnesium Mg, aluminium Al, silicon Si, phosphorus P, sulfur S, chlorine Cl, argon Ar, potassium K, "
    "calcium Ca, scandium Sc, titanium Ti, vanadium V, chromium Cr, manganese Mn, iron Fe, cobalt Co, nickel Ni, "
    "copper Cu, zinc Zn, gallium Ga, germanium Ge, arsenic As, selenium Se, bromine Br, krypton Kr"
).split(", ")
"""Names and symbols, by atomic number: hydrogen is 1."""
WORDS: Final = (
    "anchor bakery balloon barrel basket beetle bicycle blanket bottle bridge bubble butter button cabbage camera "
    "candle carpet castle cellar cheese cherry circle coffee cotton cradle crystal daisy desert dinner dragon eagle "
    "elephant engine feather fiddle finger flower forest garden giraffe goggles hammer harbour helmet honey island "
    "jacket kettle kitchen ladder lantern lemon letter library lizard magnet marble meadow mirror monkey mountain "
    "napkin needle noodle orange orchard paddle pebble pencil pepper pillow planet pocket potato puzzle rabbit raccoon "
    "ribbon river rocket saddle salmon scissors shadow shovel silver spider spoon statue summer sunflower teapot "
    "thunder ticket tomato tunnel turtle umbrella valley velvet village violin "
    "wagon walnut whistle window winter wizard"
).split()
_UNITS: Final = {
    "length": {"millimetres": 1, "centimetres": 10, "metres": 1_000, "kilometres": 1_000_000},
    "mass": {"milligrams": 1, "grams": 1_000, "kilograms": 1_000_000},
    "time": {"seconds": 1, "minutes": 60, "hours": 3_600, "days": 86_400},
}
_MOST: Final = {
    ("length", "most"): "is the longest",
    ("length", "least"): "is the shortest",
    ("mass", "most"): "is the heaviest",
    ("mass", "least"): "is the lightest",
    ("time", "most"): "takes longest",
    ("time", "least"): "takes the least time",
}
_SIZE: Final = {1: (10, 60), 2: (60, 400), 3: (400, 3_000)}


def _made(dice: Dice, said: str, right: str, wrong: Iterable[str], check: str) -> Question:
    """The right option among wrong ones, at a random place."""
    options = dice.shuffled([right, *wrong])
    if len(set(options)) != len(options):
        raise AssertionError(f"an option stands twice: {options}")
    return Question(said, (label(options.index(right)),), {"check": check, "answer": right}, tuple(options))


def _others(dice: Dice, right: int, spread: int, count: int) -> list[int]:
    """Different numbers near the right one, none below 0."""
    near = [right + step for step in range(-spread, spread + 1) if step and right + step >= 0]
    return dice.sample(near, count)


def _where(dice: Dice, level: int, holds: Callable[[int], bool]) -> tuple[int, list[int]]:
    """One number that has a property, and numbers that do not."""
    numbers = range(_SIZE[level][0], _SIZE[level][1] + 1)
    having, lacking = [n for n in numbers if holds(n)], [n for n in numbers if not holds(n)]
    return dice.choice(having), dice.sample(lacking, 3 if level < 3 else 4)


def is_prime(number: int) -> bool:
    """Whether a number has no divisor but 1 and itself."""
    return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _numbers(dice: Dice, level: int) -> Question:
    by = dice.between(3, 9 if level == 1 else 13)
    said, check, holds = dice.choice(
        [
            ("Which of these numbers is prime?", "prime", is_prime),
            (f"Which of these numbers is divisible by {by}?", f"divisible {by}", lambda n: n % by == 0),
            ("Which of these numbers is a perfect square?", "square", lambda n: round(n**0.5) ** 2 == n),
            (
                f"Which of these numbers has digits that add up to {by + 1}?",
                f"digits {by + 1}",
                lambda n: sum(map(int, str(n))) == by + 1,
            ),
        ]
    )
    right, wrong = _where(dice, level, holds)
    return _made(dice, said, str(right), map(str, wrong), check)


def _calendar(dice: Dice, level: int) -> Question:
    if level < 3:
        start = dice.between(0, 6)
        ahead = dice.between(3, 30) if level == 1 else dice.between(30, 400)
        right = DAYS[(start + ahead) % 7]
        said = f"Today is {DAYS[start]}. Which day of the week is it in {ahead} days?"
        check = f"{DAYS[start]} + {ahead}"
    else:
        day = date(1950, 1, 1) + timedelta(days=dice.between(0, 36_500))
        later = day + timedelta(days=dice.between(20, 300))
        right = DAYS[later.weekday()]
        said = (
            f"{day.day} {_MONTHS[day.month - 1]} {day.year} is a {DAYS[day.weekday()]}. "
            f"Which day of the week is {later.day} {_MONTHS[later.month - 1]} {later.year}?"
        )
        check = later.isoformat()
    return _made(dice, said, right, dice.sample([each for each in DAYS if each != right], 3), check)


def _sequences(dice: Dice, level: int) -> Question:
    start, step = dice.between(1, 20), dice.between(2, 12)
    if level == 1:
        terms = [start + step * place for place in range(5)]
        rule = "Each number is the one before it plus a fixed number"
    elif level == 2:
        factor = dice.between(2, 4)
        terms = [start * factor**place for place in range(5)]
        rule = "Each number is the one before it times a fixed number"
    else:
        terms = [start, start + step]
        while len(terms) < 7:
            terms.append(terms[-1] + terms[-2])
        rule = "Each number, from the third on, is the sum of the two before it"
    *shown, right = terms
    said = f"{rule}: {', '.join(map(str, shown))}, … Which number comes next?"
    return _made(dice, said, str(right), map(str, _others(dice, right, 12, 3)), f"{rule[:30]} {shown}")


def _letters(dice: Dice, level: int) -> Question:
    letter, count = dice.choice("aeiolnrt"), dice.between(1, 2)
    tests: Mapping[int, tuple[str, str, Callable[[str], bool]]] = {
        1: (f"begins with the letter {letter!r}", f"begins {letter}", lambda word: word[0] == letter),
        2: (
            f"has the letter {letter!r} exactly {'once' if count == 1 else 'twice'}",
            f"has {letter} {count}",
            lambda word: word.count(letter) == count,
        ),
        3: (
            f"has exactly {count + 5} letters, and {letter!r} among them",
            f"long {count + 5} {letter}",
            lambda word: len(word) == count + 5 and letter in word,
        ),
    }
    said, check, holds = tests[level]
    having, lacking = [word for word in WORDS if holds(word)], [word for word in WORDS if not holds(word)]
    if not having:
        return _letters(dice, level)
    right = dice.choice(having)
    return _made(dice, f"Which of these words {said}?", right, dice.sample(lacking, 3 if level < 3 else 4), check)


def _units(dice: Dice, level: int) -> Question:
    kind = dice.choice(sorted(_UNITS))
    units = _UNITS[kind]
    if level < 3:
        small, large = sorted(dice.sample(sorted(units), 2), key=lambda unit: units[unit])
        amount = dice.between(2, 9 if level == 1 else 99)
        right = amount * units[large] // units[small]
        wrong = {right * 10, right * 100, right + amount, right * 2, right * 60} - {right}
        said = f"How many {small} are {amount} {large}?"
        return _made(dice, said, str(right), map(str, dice.sample(sorted(wrong), 3)), f"{amount} {large} in {small}")
    about = dice.between(2, 90) * max(units.values())
    sizes = {unit: max(1, about * dice.between(50, 150) // (100 * size)) for unit, size in units.items()}
    options = {f"{amount} {unit}": amount * units[unit] for unit, amount in sizes.items()}
    asked = dice.choice(("most", "least"))
    best = (max if asked == "most" else min)(options.values())
    if list(options.values()).count(best) > 1:
        return _units(dice, level)
    right_text = next(text for text, size in options.items() if size == best)
    others = [text for text in options if text != right_text]
    return _made(dice, f"Which of these {_MOST[kind, asked]}?", right_text, others, f"{asked} {kind}")


def _elements(dice: Dice, level: int) -> Question:
    four = dice.sample(range(1, 21 if level == 1 else 37), 4)
    right = four[0]
    names, symbols = zip(*(ELEMENTS[number - 1].split() for number in four), strict=True)
    if level == 1:
        said, options = f"Which chemical element has the symbol {symbols[0]}?", names
    elif level == 2:
        said, options = f"What is the atomic number of {names[0]}?", tuple(map(str, four))
    else:
        said, options = f"Which chemical element has {right} protons in its nucleus?", names
    return _made(dice, said, options[0], options[1:], f"element {right}")


def _bases(dice: Dice, level: int) -> Question:
    number = dice.between(*{1: (26, 60), 2: (61, 255), 3: (256, 999)}[level])
    form, name = dice.choice((("b", "binary"), ("X", "hexadecimal"), ("o", "octal")))
    wrong = [f"{other:{form}}" for other in _others(dice, number, 9, 3)]
    return _made(dice, f"How is the number {number} written in {name}?", f"{number:{form}}", wrong, f"{name} {number}")


TOPICS: Final[Mapping[str, Maker]] = {
    "numbers": _numbers,
    "calendar": _calendar,
    "sequences": _sequences,
    "letters": _letters,
    "units": _units,
    "elements": _elements,
    "bases": _bases,
}
