"""Small Python functions to write, each checked by tests.

A family is a way to make a function: what is asked, a solution, and inputs to test it on. The tests are the solution's
own results on inputs that show its edge cases; `solution` in the metadata is the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from motet.bench.generated.dice import Dice
from motet.bench.generated.question import Maker, Question

INSTRUCTIONS: Final = (
    "Write the Python function that is asked for, in plain Python without imports. Give only the code, in one block."
)
SCORER: Final = "unit_tests"
OPTIONS: Final[Mapping[str, object]] = {}

_WORDS: Final = (
    "level apple Banana kayak tree Otter noon bookkeeper sky rhythm Eve mississippi queue zebra Anna".split()
)


def _made(name: str, asked: str, source: str, inputs: list[tuple[object, ...]]) -> Question:
    """The question with one example, and the tests: what the solution gives for each input."""
    space: dict[str, Callable[..., object]] = {}
    exec(source, space)  # text of this module
    # The example is one that shows something: not an empty result, if there is another.
    results, calls = [], []
    for given in sorted(inputs, key=lambda given: not space[name](*given)):
        calls.append(f"{name}({', '.join(map(repr, given))})")
        results.append(space[name](*given))
    tests = tuple(f"assert {call} == {result!r}" for call, result in zip(calls, results, strict=True))
    said = f"{asked}\n\nExample: {calls[0]} gives {results[0]!r}."
    return Question(said, tests, {"solution": source, "function": name})


def _numbers(dice: Dice, low: int, high: int, count: int) -> list[int]:
    return [dice.between(low, high) for _ in range(count)]


def _lists(dice: Dice, low: int = -20, high: int = 40) -> list[tuple[object, ...]]:
    """Lists to test on, the empty and the short among them."""
    made = [_numbers(dice, low, high, dice.between(4, 6) * (1 + place // 2)) for place in range(5)]
    return [(each,) for each in (*made, [], [dice.between(low, high)], [3, 3, 3])]


def _texts(dice: Dice) -> list[tuple[object, ...]]:
    made = [" ".join(dice.sample(_WORDS, dice.between(2, 9))) for _ in range(6)]
    return [(each,) for each in (*made, "", "a", "aaB, b!")]


def _telling(maker: Maker) -> Maker:
    """A maker whose questions have tests with at least three different results: no constant passes by luck."""

    def make(dice: Dice, level: int) -> Question:
        while True:
            made = maker(dice, level)
            if len({test.split(" == ", 1)[1] for test in made.target}) > 2:
                return made

    return make


def _sum_of_multiples(dice: Dice, level: int) -> Question:
    a, b = dice.sample(range(2, 26), 2)
    rule, words = {
        1: (f"k % {a} == 0", f"divisible by {a}"),
        2: (f"k % {a} == 0 or k % {b} == 0", f"divisible by {a} or by {b}"),
        3: (f"(k % {a} == 0) != (k % {b} == 0)", f"divisible by exactly one of {a} and {b}"),
    }[level]
    source = f"def total(n):\n    return sum(k for k in range(1, n) if {rule})\n"
    asked = (
        f"Write a function total(n) that returns the sum of all whole numbers from 1 up "
        f"to but not including n that are {words}."
    )
    return _made(
        "total", asked, source, [(dice.between(30, 60),), (0,), (1,), (a + 1,), (a * b,), (a * b + 1,), (500,)]
    )


def _keep(dice: Dice, level: int) -> Question:
    k, limit = dice.between(2, 9), dice.between(0, 25)
    rules = {
        1: (f"x > {limit}", f"greater than {limit}"),
        2: (f"x > {limit} and x % {k}", f"greater than {limit} and not divisible by {k}"),
        3: (
            f"abs(x) % {k} == {k - 1} or x < {-limit}",
            f"less than {-limit}, or whose absolute value leaves {k - 1} when divided by {k}",
        ),
    }
    rule, words = rules[level]
    source = f"def keep(numbers):\n    return [x for x in numbers if {rule}]\n"
    asked = f"Write a function keep(numbers) that returns a list of those numbers that are {words}, in their order."
    if level == 3:
        asked = (
            f"Write a function keep(numbers) that returns a list of those whole "
            f"numbers that are {words}, in their order."
        )
    return _made("keep", asked, source, [*_lists(dice), ([limit, limit + 1, -limit, -limit - 1, k, 2 * k - 1],)])


def _count_letters(dice: Dice, level: int) -> Question:
    letters = "".join(sorted(dice.sample("abeiknorsty", level + 1)))
    words = ", ".join(map(repr, letters))
    fold = ".lower()" if level > 1 else ""
    how = "upper or lower case" if level > 1 else "lower case only"
    source = f"def count(text):\n    return sum(letter in {letters!r} for letter in text{fold})\n"
    asked = f"Write a function count(text) that returns how many characters of the text are one of {words} ({how})."
    return _made("count", asked, source, _texts(dice))


def _rotate(dice: Dice, level: int) -> Question:
    k = dice.between(1, 9)
    side = dice.choice(("left", "right"))
    index = "k" if side == "left" else "-k"
    step = f"{k}" if level == 1 else f"{k} * numbers[0]" if level == 2 else f"{k} + len(numbers)  * 2 - numbers[-1]"
    words = {
        1: f"{k} places",
        2: f"as many places as {k} times its first number",
        3: f"as many places as {k} plus twice its length minus its last number",
    }[level]
    source = (
        f"def rotate(numbers):\n    if not numbers:\n        return []\n    k = ({step}) % len(numbers)\n"
        f"    return numbers[{index}:] + numbers[:{index}] if k else numbers[:]\n"
    )
    asked = (
        f"Write a function rotate(numbers) that returns the list of whole numbers rotated to the {side} by {words}; "
        "what leaves at one end comes back at the other, and an empty list stays empty."
    )
    return _made("rotate", asked, source, _lists(dice, 0, 12))


def _cipher(dice: Dice, level: int) -> Question:
    k = dice.between(1, 25)
    shift = {1: f"{k}", 2: f"{k} + i", 3: f"({k} if i % 2 == 0 else -{k})"}[level]
    words = {
        1: f"by {k} places",
        2: f"by {k} places plus its position in the text, counted from 0",
        3: f"by {k} places forward at even positions of the text and {k} places back at odd ones, counted from 0",
    }[level]
    source = (
        "def encode(text):\n    out = ''\n    for i, c in enumerate(text):\n        if 'a' <= c <= 'z':\n"
        f"            c = chr((ord(c) - 97 + {shift}) % 26 + 97)\n        out += c\n    return out\n"
    )
    asked = (
        f"Write a function encode(text) that moves each lower-case letter from a to z "
        f"{words}, going on at the other end of the "
        "alphabet, and leaves every other character as it is."
    )
    return _made("encode", asked, source, [*_texts(dice), ("xyz abc ABC",)])


def _digits(dice: Dice, level: int) -> Question:
    k = dice.between(2, 30) if level == 1 else dice.between(2, 9)
    base, power = dice.between(3, 16), dice.between(2, 4)
    body, words = {
        1: (f"sum(int(d) for d in str(n)) * {k}", f"{k} times the sum of the decimal digits of n"),
        2: (
            f"sum(int(d) ** {power} for d in str(n) if int(d) != {k})",
            f"the sum of the decimal digits of n, each to the power of {power}, leaving out every {k}",
        ),
        3: ("", f"the sum of the digits of n written in base {base}, times {k}"),
    }[level]
    source = f"def digits(n):\n    return {body}\n"
    if level == 3:
        source = (
            f"def digits(n):\n    s = 0\n    while n:\n        s += n % {base}\n       "
            f" n //= {base}\n    return s * {k}\n"
        )
    asked = f"Write a function digits(n) that returns {words}; n is a whole number of at least 0."
    return _made(
        "digits",
        asked,
        source,
        [(dice.between(100, 9_999),), (0,), (9,), (k,), (base,), (base**5 - 1,), (123_456_789,)],
    )


def _runs(dice: Dice, level: int) -> Question:
    k = dice.between(2, 4)
    sign = dice.choice("-*#:/+=~^@|&%_<>")
    part, words = {
        1: (f"c + {sign!r} + str(n)", f"the character, {sign!r} and the length of the run"),
        2: (
            f"(c + {sign!r} + str(n)) if n >= {k} else c * n",
            f"the character, {sign!r} and the length of the run if that is at least {k}, and as it is otherwise",
        ),
        3: (
            f"str(n) + {sign!r} + c if n >= {k} else ''",
            f"the length of the run, {sign!r} and the character if that length is at least {k}, and left out otherwise",
        ),
    }[level]
    source = (
        "def squeeze(text):\n    out = ''\n    i = 0\n    while i < len(text):\n        n = 1\n"
        "        while i + n < len(text) and text[i + n] == text[i]:\n            n += 1\n        c = text[i]\n"
        f"        out += {part}\n        i += n\n    return out\n"
    )
    asked = (
        "Write a function squeeze(text). A run is the longest possible stretch of one "
        "and the same character; each run of the "
        f"text is written as {words}. Return the whole text that this gives."
    )
    return _made("squeeze", asked, source, [("aaabccdddd",), *_texts(dice)[:4], ("",), ("xx" * k,), ("mmmmm  nn",)])


def _sequence(dice: Dice, level: int) -> Question:
    a, b, p, q = dice.between(0, 5), dice.between(1, 6), dice.between(1, 3), dice.between(1, 3)
    if level == 1:
        source = f"def term(n):\n    return {a} + {b} * n\n"
        words = f"term 0 is {a}, and each further term is {b} more than the one before it"
    else:
        mod = f" % {dice.between(50, 999)}" if level == 3 else ""
        source = (
            f"def term(n):\n    a, b = {a}, {b}\n    for _ in range(n):\n        a, b = b, "
            f"({p} * b + {q} * a){mod}\n    return a\n"
        )
        words = (
            f"term 0 is {a}, term 1 is {b}, and each further term is {p} times the one "
            f"before it plus {q} times the one before that"
        )
        if mod:
            words += f", of which only the remainder after division by {mod[3:]} is kept"
    asked = f"Write a function term(n) that returns term n of this sequence: {words}."
    return _made("term", asked, source, [(6,), (0,), (1,), (2,), (3,), (10,), (25,)])


def _chunks(dice: Dice, level: int) -> Question:
    k, fill, start = dice.between(2, 6), dice.between(-9, 0), dice.between(0, 4)
    end = {
        1: ("", "the last part may be shorter"),
        2: (
            f"    if parts and len(parts[-1]) < {k}:\n        parts.pop()\n",
            "a last part that is shorter is left out",
        ),
        3: (
            f"    if parts:\n        parts[-1] = parts[-1] + [{fill}] * ({k} - len(parts[-1]))\n    parts.reverse()\n",
            f"a last part that is shorter is filled up at its end with {fill}; then the parts are put in reverse order",
        ),
    }[level]
    source = (
        f"def chunks(numbers):\n    parts = [numbers[i:i + {k}] for i in range({start}, "
        f"len(numbers), {k})]\n{end[0]}    return parts\n"
    )
    asked = (
        f"Write a function chunks(numbers) that leaves out the first {start} numbers of a list, cuts what follows "
        f"into lists of {k}, in order, and returns the list of these; {end[1]}."
    )
    even = _numbers(dice, -9, 9, start + 2 * k)
    return _made("chunks", asked, source, [*_lists(dice), (even,), ([*even, 7],), (even[:-1],)])


def _best(dice: Dice, level: int) -> Question:
    k = dice.between(3, 40)
    key, words = {
        1: (f"abs(x - {k})", f"closest to {k}"),
        2: (f"x % {k}", f"with the smallest remainder when divided by {k}"),
        3: (
            f"(-(x % {k}), abs(x))",
            f"with the largest remainder when divided by {k}; among those, of the smallest absolute value",
        ),
    }[level]
    source = f"def pick(numbers):\n    return min(numbers, key=lambda x: {key}) if numbers else None\n"
    asked = (
        f"Write a function pick(numbers) that returns the number of the list {words}. Where "
        f"several are alike in this, return the first "
        "of them; for an empty list return None. Remainders are Python's %."
    )
    near = [([k + 1, k - 1],), ([k - 1, k + 1, k],), ([k + 2, k - 1, 2 * k],), ([2 * k - 1, -1, k + 1],)]
    return _made("pick", asked, source, [*_lists(dice), *near])


def _words(dice: Dice, level: int) -> Question:
    k, sep = dice.between(2, 6), dice.choice("-_|+.")
    body, words = {
        1: (f"[w for w in text.split() if len(w) >= {k}]", f"the words of at least {k} characters"),
        2: (
            f"[w[::-1] if len(w) > {k} else w for w in text.split()]",
            f"all words, those of more than {k} characters reversed",
        ),
        3: (
            f"sorted((w.lower() for w in text.split() if len(w) >= {k}), key=lambda w: (len(w), w))",
            f"the words of at least {k} characters in lower case, the shorter before the longer "
            f"and those of one length in alphabetical order",
        ),
    }[level]
    source = f"def words(text):\n    return {sep!r}.join({body})\n"
    asked = (
        f"Write a function words(text) that takes the words of a text (what stands between "
        f"spaces) and returns {words}, joined with {sep!r}."
    )
    return _made("words", asked, source, _texts(dice))


def _pairs(dice: Dice, level: int) -> Question:
    k = dice.between(3, 25)
    rule, words = {
        1: (f"numbers[i] + numbers[j] == {k}", f"whose sum is {k}"),
        2: (f"abs(numbers[i] - numbers[j]) <= {k}", f"that differ by at most {k}"),
        3: (
            f"(numbers[i] * numbers[j]) % {k} == 0 and numbers[i] != numbers[j]",
            f"that are not equal and whose product is divisible by {k}",
        ),
    }[level]
    source = (
        "def pairs(numbers):\n    n = len(numbers)\n"
        f"    return sum(1 for i in range(n) for j in range(i + 1, n) if {rule})\n"
    )
    asked = f"Write a function pairs(numbers) that returns how many pairs of places i < j hold numbers {words}."
    return _made("pairs", asked, source, [*_lists(dice, 0, max(12, k)), ([1, k - 1, 1, k],)])


TOPICS: Final[Mapping[str, Maker]] = {
    "sums": _telling(_sum_of_multiples),
    "filtering": _telling(_keep),
    "counting": _telling(_count_letters),
    "rotating": _telling(_rotate),
    "ciphers": _telling(_cipher),
    "digits": _telling(_digits),
    "runs": _telling(_runs),
    "sequences": _telling(_sequence),
    "cutting": _telling(_chunks),
    "choosing": _telling(_best),
    "words": _telling(_words),
    "pairs": _telling(_pairs),
}
