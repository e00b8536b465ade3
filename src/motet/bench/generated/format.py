r"""Easy questions whose answers come in many dresses: what is tried is the reading of answers, not the knowing.

Each asks for its answer in a certain form. `dresses` in the metadata are ways to write the right answer that all have
to count, `wrong` are answers in like dress that must not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from motet.bench.generated.dice import Dice
from motet.bench.generated.question import Maker, Question, written

INSTRUCTIONS: Final = "Give the answer in the form that is asked for."
SCORER: Final = "exact"
OPTIONS: Final[Mapping[str, object]] = {}

_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()


def in_words(number: int) -> str:
    """A whole number from 0 to 999,999 in words.

    >>> in_words(1_042)
    'one thousand forty-two'
    """
    if number >= 1_000:
        rest = number % 1_000
        return f"{in_words(number // 1_000)} thousand{f' {in_words(rest)}' if rest else ''}"
    if number >= 100:
        rest = number % 100
        return f"{_ONES[number // 100]} hundred{f' {in_words(rest)}' if rest else ''}"
    if number < 20:
        return _ONES[number]
    return _TENS[number // 10] + (f"-{_ONES[number % 10]}" if number % 10 else "")


def _made(said: str, target: str, dresses: Sequence[str], wrong: Sequence[str]) -> Question:
    return Question(said, (target,), {"dresses": list(dresses), "wrong": list(wrong)})


def _thousands(dice: Dice, level: int) -> Question:
    a, b = (dice.between(1_000, 9_999 * 10 ** (level - 1)) for _ in range(2))
    total = a + b
    said = f"What is {a:,} + {b:,}? Write the sum with commas between the thousands."
    dresses = [f"{total:,}", f"{total}", f"{total:,}.", f"{total:,}".replace(",", " "), f"**{total:,}**",
               f"{total:,}".replace(",", "{,}"), f"The sum is {total:,}.", f"{total}.00", f"= {total:,}"]  # fmt: skip
    return _made(said, str(total), dresses, [f"{total + 1:,}", f"{total:,}0", f"The sum is {total - 10:,}."])


def _fraction(dice: Dice, level: int) -> Question:
    bottom = dice.choice((4, 5, 8) if level == 1 else (16, 20, 25) if level == 2 else (32, 40, 125))
    top = dice.choice([each for each in range(1, bottom) if Fraction(each, bottom).denominator == bottom])
    times = dice.between(2, 9)
    said = f"Reduce {top * times}/{bottom * times} to lowest terms and write it as a LaTeX fraction in \\boxed{{}}."
    decimal = f"{top / bottom:.6f}".rstrip("0")
    dresses = [f"\\boxed{{\\frac{{{top}}}{{{bottom}}}}}", f"{top}/{bottom}", f"$\\dfrac{{{top}}}{{{bottom}}}$", decimal,
               f"\\frac{{{top}}}{{{bottom}}}", f"**{top}/{bottom}**", f"The answer is {top}/{bottom}.",
               f"{top * times}/{bottom * times}"]  # fmt: skip
    return _made(said, f"{top}/{bottom}", dresses, [f"{bottom}/{top}", f"\\boxed{{\\frac{{{top}}}{{{bottom + 1}}}}}"])


def _percent(dice: Dice, level: int) -> Question:
    whole = dice.choice((20, 25, 50) if level == 1 else (40, 80, 125))
    part = dice.between(1, whole - 1)
    share = written(Fraction(100 * part, whole))
    said = f"{part} of {whole} seats are taken. How many percent is that? Write it with a percent sign."
    dresses = [
        f"{share}%",
        f"{share} %",
        f"{share} percent",
        f"{share}\\%",
        f"It is {share}%.",
        f"\\boxed{{{share}\\%}}",
    ]
    return _made(said, share, dresses, [f"{share}1%", f"It is {written(Fraction(100 * part, whole) + 1)}%."])


def _negative(dice: Dice, level: int) -> Question:
    a, b = dice.between(1, 9 * 10 ** (level - 1)), dice.between(1, 90 * 10 ** (level - 1))
    value = -b
    said = f"What is {a} - {a + b}? Write the number in words."
    dresses = [f"minus {in_words(b)}", f"negative {in_words(b)}", f"-{b}", f"−{b}", f"Minus {in_words(b)}.",
               f"-{b}.0", f"$-{b}$", f"\\boxed{{-{b}}}"]  # fmt: skip
    return _made(said, str(value), dresses, [in_words(b), f"{b}", f"minus {in_words(b + 1)}"])


def _money(dice: Dice, level: int) -> Question:
    count, cents = dice.between(2, 12 * level), dice.choice((25, 50, 75) if level < 3 else tuple(range(5, 100, 5)))
    price = Fraction(dice.between(1, 20) * 100 + cents, 100)
    total = count * price
    shown = f"{float(total):,.2f}"
    said = (
        f"{count} tickets cost ${float(price):.2f} each. What do they cost together? "
        f"Write it with a dollar sign and cents."
    )
    dresses = [f"${shown}", f"{shown} dollars", f"${written(total)}", f"\\${shown}", f"${shown}.", f"**${shown}**",
               f"The tickets cost ${shown}."]  # fmt: skip
    return _made(said, written(total), dresses, [f"${float(total + 1):,.2f}", f"${float(total * 10):,.2f}"])


def _unit(dice: Dice, level: int) -> Question:
    hours, speed = dice.between(2, 9), dice.between(5, 30 * level)
    way = hours * speed
    said = f"A boat goes {speed} km an hour for {hours} hours. How far does it go? Write the number with its unit."
    dresses = [f"{way} km", f"{way} kilometers", f"{way} kilometres", f"{way}km", f"{way}", f"It goes {way} km.",
               f"$ {way} \\text{{ km}} $", f"\\boxed{{{way}\\text{{ km}}}}"]  # fmt: skip
    return _made(said, str(way), dresses, [f"{way + 1} km", f"It goes {way * 10} km."])


def _words(dice: Dice, level: int) -> Question:
    value = dice.between(*{1: (13, 99), 2: (101, 999), 3: (1_001, 99_999)}[level])
    said = f"Write the number {value} in words."
    text = in_words(value)
    dresses = [text, text.capitalize(), f"{text}.", f"**{text}**", f"The answer is {text}.", str(value)]
    return _made(said, str(value), dresses, [in_words(value + 1), str(value * 10)])


def _power(dice: Dice, level: int) -> Question:
    lead = dice.between(2, 9) if level == 1 else Fraction(dice.nonzero(11, 99), 10)
    exponent = dice.between(3, 6 + level)
    value = Fraction(lead) * 10**exponent
    number = written(Fraction(lead))
    said = f"Write {written(value)} in scientific notation."
    dresses = [f"{number} \\times 10^{{{exponent}}}", f"{number}e{exponent}", f"{number} × 10^{exponent}",
               f"{number} * 10^{exponent}", f"$ {number} \\times 10^{{{exponent}}} $",
               f"{number}E{exponent}"]  # fmt: skip
    return _made(said, written(value), dresses, [f"{number}e{exponent + 1}", f"{number} × 10^{exponent - 1}"])


def _json(dice: Dice, level: int) -> Question:
    a, b = dice.between(3, 20 * level), dice.between(3, 20)
    value = a * b
    said = f'What is {a} * {b}? Reply with a JSON object whose key is "answer".'
    dresses = [f'{{"answer": {value}}}', f'{{"answer": "{value}"}}', f'```json\n{{"answer": {value}}}\n```',
               f'{{"reasoning": "{a} * {b}", "answer": {value}}}', f"<answer>{value}</answer>"]  # fmt: skip
    return _made(said, str(value), dresses, [f'{{"answer": {value + 1}}}', f'{{"answer": "{value}0"}}'])


def _pair(dice: Dice, level: int) -> Question:
    x, y = dice.nonzero(-9 * level, 9 * level), dice.nonzero(-9 * level, 9 * level)
    dx, dy = dice.between(1, 9), dice.between(1, 9)
    said = (
        f"A point at ({x - dx}, {y - dy}) moves {dx} to the right and {dy} up. Where is it then? "
        "Write the point as (x, y)."
    )
    dresses = [f"({x}, {y})", f"({x},{y})", f"$({x}, {y})$", f"\\left({x}, {y}\\right)", f"\\boxed{{({x}, {y})}}",
               f"**({x}, {y})**"]  # fmt: skip
    wrong = [f"({x}, {y + 1})", f"({x})"] + ([f"({y}, {x})"] if x != y else [])
    return _made(said, f"({x}, {y})", dresses, wrong)


def _set(dice: Dice, level: int) -> Question:
    numbers = sorted(dice.sample(range(2, 30 * level), level + 3))
    a, *rest, z = numbers
    one, other = dice.shuffled([a, *rest]), dice.shuffled([a, rest[0], z])
    said = f"What is the union of {_braced(one)} and {_braced(other)}? Write it as a set in braces."
    text = ", ".join(map(str, numbers))
    back = ", ".join(map(str, reversed(numbers)))
    dresses = [f"{{{text}}}", f"\\{{{text}\\}}", f"{{{back}}}", f"$\\{{{text}\\}}$", f"\\boxed{{\\{{{text}\\}}}}"]
    return _made(said, _braced(numbers), dresses, [_braced(one), f"{{{text}, 0}}", _braced(other)])


def _braced(numbers: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, numbers))}}}"


def _yes(dice: Dice, level: int) -> Question:
    by, times = dice.between(3, 9), dice.between(3, 20 * level)
    off = dice.between(0, 1) * dice.between(1, by - 1)
    number = by * times + off
    said = f"Is {number} divisible by {by}? Answer yes or no, and then say why."
    yes, no = ("yes", "no") if not off else ("no", "yes")
    truth, untruth = ("True", "False") if not off else ("False", "True")
    dresses = [yes, yes.upper(), f"{yes.capitalize()}.", truth, f"**{yes.capitalize()}**", f"The answer is {yes}.",
               f"{yes.capitalize()}, the remainder is {off}."]  # fmt: skip
    return _made(said, yes, dresses, [no, untruth, f"{no.capitalize()}, the remainder is {off}."])


TOPICS: Final[Mapping[str, Maker]] = {
    "thousands": _thousands,
    "fractions": _fraction,
    "percent": _percent,
    "negative": _negative,
    "money": _money,
    "units": _unit,
    "words": _words,
    "powers": _power,
    "json": _json,
    "pairs": _pair,
    "sets": _set,
    "yes-no": _yes,
}
