"""The generated suites: enough of them, the same for ever, and every answer found again in another way."""

from __future__ import annotations

import ast
import hashlib
import math
import operator
import re
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction
from itertools import permutations, product

import msgspec
import pytest

from motet.answer import right
from motet.bench.generated import GENERATED, LEVELS, generate
from motet.bench.generated.dice import Dice
from motet.bench.generated.format import in_words
from motet.bench.generated.multiple_choice import DAYS, ELEMENTS, WORDS
from motet.bench.generated.question import written
from motet.bench.task import Suite, Task
from motet.errors import UsageError
from motet.numbers import parse_words
from motet.prompt import label
from motet.score.choice import picked

OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
DIGESTS = {
    "arithmetic": "48ea01791475e9c2",
    "word-problems": "f07be472aeb2799f",
    "logic-puzzles": "1ce9ed93f01fd13e",
    "multiple-choice": "97c62e6449cc285f",
    "format": "db7c5dc2a6ac95b2",
    "code": "c9cbed19dbe9dbf3",
}
"""Of the first 200 tasks of seed 0. They change only when what is asked is meant to change: say so in the changelog."""


@pytest.fixture(scope="module")
def suites() -> dict[str, Suite]:
    return {name: generate(name, 240) for name in GENERATED}


def exact(expression: str) -> Fraction:
    """The value of an expression over whole numbers, in exact fractions."""

    def value(node: ast.expr) -> Fraction:
        match node:
            case ast.Constant(value=int() as number):
                return Fraction(number)
            case ast.BinOp(left=left, op=op, right=right):
                return Fraction(OPERATORS[type(op)](value(left), value(right)))
        raise ValueError(f"not allowed in a check: {ast.dump(node)}")

    return value(ast.parse(expression, mode="eval").body)


@pytest.mark.parametrize("name", GENERATED)
def test_the_tasks_are_the_same_for_ever(name: str) -> None:
    """The first 200 tasks are, byte for byte, what they were: on every machine and Python version."""
    data = msgspec.json.encode(generate(name).tasks, order="deterministic")
    assert hashlib.blake2b(data, digest_size=8).hexdigest() == DIGESTS[name]


@pytest.mark.parametrize("name", GENERATED)
def test_a_prefix_is_a_fair_sample(name: str, suites: dict[str, Suite]) -> None:
    """Topics take turns, levels are even, no question comes twice, and fewer tasks are the first of more."""
    tasks = suites[name].tasks
    assert len({(task.input, task.choices) for task in tasks}) == len(tasks) == 240
    assert len({task.id for task in tasks}) == 240
    topics = Counter(task.topic for task in tasks)
    assert max(topics.values()) - min(topics.values()) <= 1
    levels = Counter((task.topic, task.metadata["level"]) for task in tasks)
    assert len(levels) == len(topics) * len(LEVELS)
    assert generate(name, 50).tasks == tasks[:50]
    assert generate(name, 50, seed=1).tasks != tasks[:50]


def test_too_many_are_refused() -> None:
    """A suite that runs out of different questions says how many there are."""
    with pytest.raises(UsageError, match=r"code has no more than \d{3,4} different questions"):
        generate("code", 20_000)


def test_dice_are_even() -> None:
    """Each outcome is as likely as any other, within what chance allows; samples hold nothing twice."""
    dice = Dice("fair")
    counts = Counter(dice.between(1, 6) for _ in range(6_000))
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    assert all(abs(count - 1_000) < 5 * math.sqrt(1_000 * 5 / 6) for count in counts.values())
    assert sorted(dice.shuffled(range(50))) == list(range(50))
    assert 0 not in {dice.nonzero(-2, 2) for _ in range(100)}


@pytest.mark.parametrize("name", ["arithmetic", "word-problems"])
def test_numbers_are_those_of_their_checks(name: str, suites: dict[str, Suite]) -> None:
    """Each answer is the exact value of the expression beside it, and none is negative in a story."""
    for task in suites[name].tasks:
        check = task.metadata["check"]
        assert isinstance(check, str)
        assert exact(check) == Fraction(task.target[0]), task.id
        assert task.target == (written(Fraction(task.target[0])),)
        assert name == "arithmetic" or Fraction(task.target[0]) >= 0, task.input


@pytest.mark.parametrize("name", ["arithmetic", "word-problems"])
def test_what_is_computed_is_what_is_asked(name: str, suites: dict[str, Suite]) -> None:
    """Every number of the expression, but for small constants of the way, stands in the question."""
    for task in suites[name].tasks:
        check = str(task.metadata["check"])
        spoken = set(re.findall(r"\d+", task.input.replace(".", "")))
        if task.topic in ("quotients", "decimals"):
            continue  # decimals are written as fractions there
        used = set(re.findall(r"\d+", check)) - {"2", "100"}
        assert used <= spoken, (task.input, check)


# ---- puzzles, solved again from their text


def worlds_of_an_order(text: str) -> list[tuple[str, ...]]:
    """The orders in which all that a race puzzle says is true."""
    intro, *clues = text.split("\n")[:-1]
    people = re.split(r", | and ", intro.split(" ran a race")[0])
    places = ("first", "second", "third", "fourth", "fifth", "sixth")

    def holds(order: tuple[str, ...], clue: str) -> bool:
        if m := re.fullmatch(r"- (\w+) finished before (\w+)\.", clue):
            return order.index(m[1]) < order.index(m[2])
        if m := re.fullmatch(r"- (\w+) finished right after (\w+)\.", clue):
            return order.index(m[1]) == order.index(m[2]) + 1
        m = re.fullmatch(r"- (\w+) did not finish (\w+)\.", clue)
        assert m, clue
        return order.index(m[1]) != places.index(m[2])

    return [order for order in permutations(people) if all(holds(order, clue) for clue in clues)]


def worlds_of_an_island(text: str) -> list[dict[str, bool]]:
    """Who may be a knight, so that knights alone say what is true."""
    intro, *lines = text.split("\n")[:-1]
    people = re.split(r", | and ", re.search(r"always lie\. (.*?) live there", intro)[1])  # type: ignore[index]

    def true(world: dict[str, bool], said: str) -> bool:
        if m := re.fullmatch(r"(\w+) is a (\w+)\.", said):
            return world[m[1]] == (m[2] == "knight")
        if m := re.fullmatch(r"Exactly (\d) of us (?:is a knight|are knights)\.", said):
            return sum(world.values()) == int(m[1])
        if m := re.fullmatch(r"(\w+) and (\w+) are of the same kind\.", said):
            return world[m[1]] == world[m[2]]
        m = re.fullmatch(r"(\w+) is a (\w+), or (\w+) is\.", said)
        assert m, said
        return (m[2] == "knight") in (world[m[1]], world[m[3]])

    speeches = [re.fullmatch(r'- (\w+) says: "(.*)"', line).groups() for line in lines]  # type: ignore[union-attr]
    every = (dict(zip(people, bits, strict=True)) for bits in product((True, False), repeat=len(people)))
    return [world for world in every if all(true(world, said) == world[who] for who, said in speeches)]


def worlds_of_a_vase(text: str) -> list[str]:
    """Who may have broken it, so that as many statements are true as the puzzle says."""
    intro, *lines = text.split("\n")[:-1]
    people = re.split(r", | and ", re.search(r"one of (.*?) broke", intro)[1])  # type: ignore[index]
    honest = int(re.search(r"exactly (\d) of the", intro)[1])  # type: ignore[index]

    def true(who: str, speaker: str, said: str) -> bool:
        named = [speaker if name in ("I", "me") else name for name in re.findall(r"\b(?:I|me|[A-Z]\w+)\b", said)]
        named = [name for name in named if name != "It"]
        return (who not in named) if "wasn't" in said else (who in named)

    speeches = [re.fullmatch(r'- (\w+) says: "(.*)"', line).groups() for line in lines]  # type: ignore[union-attr]
    return [who for who in people if sum(true(who, speaker, said) for speaker, said in speeches) == honest]


def worlds_of_a_meeting(text: str) -> list[dict[str, tuple[str, ...]]]:
    """Who may have what, so that all clues hold."""
    intro, *clues = text.split("\n")[:-1]
    people = re.split(r", | and ", intro.split(" meet.")[0])
    things = [re.split(r", | and ", words) for words in re.findall(r"Each has a different [\w ]+: (.*?)\.", intro)]
    found = []
    for orders in product(*(permutations(words) for words in things)):
        world = {person: tuple(order[place] for order in orders) for place, person in enumerate(people)}

        def holds(clue: str, world: dict[str, tuple[str, ...]] = world) -> bool:
            if m := re.fullmatch(r"- (\w+) does not (?:have the|drink|come by) (\w+)\.", clue):
                return m[2] not in world[m[1]]
            verbs = "(?:has the|drinks|comes by)"
            m = re.fullmatch(rf"- Whoever {verbs} (\w+) also {verbs} (\w+)\.", clue)
            assert m, clue
            return any(m[1] in has and m[2] in has for has in world.values())

        if all(map(holds, clues)):
            found.append(world)
    return found


def test_every_puzzle_has_one_solution(suites: dict[str, Suite]) -> None:
    """Read from its text and solved anew, every puzzle has one solution, and its answer is the target."""
    places = ("first", "second", "third", "fourth", "fifth", "sixth")
    for task in suites["logic-puzzles"].tasks:
        asked = task.input.rsplit("\n", 1)[1]
        if task.topic == "order":
            (order,) = worlds_of_an_order(task.input)
            answer = order[places.index(asked.removeprefix("Who finished ")[:-1])]
        elif task.topic == "knights-and-knaves":
            (island,) = worlds_of_an_island(task.input)
            answer = "knight" if island[asked.split()[1]] else "knave"
        elif task.topic == "culprit":
            (answer,) = worlds_of_a_vase(task.input)
        else:
            (meeting,) = worlds_of_a_meeting(task.input)
            (person,) = (name for name in meeting if name in asked.split(" ") or f"{name}?" in asked)
            assert task.target[0] in meeting[person], task.input
            continue
        assert answer == task.target[0], task.input


def test_clues_are_all_needed(suites: dict[str, Suite]) -> None:
    """Without any one of its clues an order or a meeting has more than one solution."""
    for task in suites["logic-puzzles"].tasks[:48]:
        if task.topic not in ("order", "pairing"):
            continue
        solve = worlds_of_an_order if task.topic == "order" else worlds_of_a_meeting
        lines = task.input.split("\n")
        for place in range(1, len(lines) - 1):
            assert len(solve("\n".join(lines[:place] + lines[place + 1 :]))) > 1


# ---- multiple choice, checked option by option


def is_right(task: Task, option: str) -> bool:
    """Whether an option is right, found out without the generator's own functions."""
    check = str(task.metadata["check"])
    kind, *rest = check.split()
    if task.topic == "numbers":
        n = int(option)
        return {
            "prime": lambda: n > 1 and not any(n % d == 0 for d in range(2, n)),
            "divisible": lambda: n % int(rest[0]) == 0,
            "square": lambda: math.isqrt(n) ** 2 == n,
            "digits": lambda: sum(map(int, option)) == int(rest[0]),
        }[kind]()
    if task.topic == "calendar":
        if "+" in check:
            return DAYS[(DAYS.index(kind) + int(rest[1])) % 7] == option
        return f"{date.fromisoformat(check):%A}" == option
    if task.topic == "sequences":
        *shown, last = [int(each) for each in re.findall(r"\d+", task.input)]
        if "plus" in task.input:
            return int(option) == last + (last - shown[-1])
        if "times" in task.input:
            return Fraction(int(option), last) == Fraction(last, shown[-1])
        return int(option) == last + shown[-1]
    if task.topic == "letters":
        letter = rest[-1] if kind != "has" else rest[0]
        return {
            "begins": lambda: option.startswith(letter),
            "has": lambda: option.count(letter) == int(rest[1]),
            "long": lambda: len(option) == int(rest[0]) and letter in option,
        }[kind]()
    sizes = {
        "millimetres": 1, "centimetres": 10, "metres": 10**3, "kilometres": 10**6, "milligrams": 1, "grams": 10**3,
        "kilograms": 10**6, "seconds": 1, "minutes": 60, "hours": 3600, "days": 24 * 3600,
    }  # fmt: skip
    if task.topic == "units":
        if " in " in check:
            return int(option) * sizes[rest[-1]] == int(kind) * sizes[rest[0]]
        amounts = [int(each.split()[0]) * sizes[each.split()[1]] for each in task.choices]
        best = max(amounts) if kind == "most" else min(amounts)
        return int(option.split()[0]) * sizes[option.split()[1]] == best
    if task.topic == "elements":
        name, symbol = ELEMENTS[int(rest[0]) - 1].split()
        return option in (name, rest[0]) and (symbol in task.input or name in task.input or rest[0] in task.input)
    base = {"binary": 2, "hexadecimal": 16, "octal": 8}[kind]
    return int(option, base) == int(rest[0])


def test_one_option_is_right(suites: dict[str, Suite]) -> None:
    """Of the options of a question one alone is right, and its letter is the target; letters are used evenly."""
    tasks = suites["multiple-choice"].tasks
    for task in tasks:
        rights = [label(place) for place, option in enumerate(task.choices) if is_right(task, option)]
        assert tuple(rights) == task.target, task
    letters = Counter(task.target[0] for task in tasks)
    assert all(letters[letter] > 35 for letter in "ABCD"), letters


def test_options_can_be_told_apart(suites: dict[str, Suite]) -> None:
    """The text of each option, as a reply, picks that option and no other."""
    for task in suites["multiple-choice"].tasks:
        assert [picked(f"It is {option}.", task.choices) for option in task.choices] == [
            label(place) for place in range(len(task.choices))
        ], task.choices


def test_what_facts_there_are() -> None:
    """Elements have the symbols and order of the periodic table's first four rows, and no word stands twice."""
    symbols = [each.split()[1] for each in ELEMENTS]
    assert symbols == (
        "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr".split()
    )
    assert len(set(WORDS)) == len(WORDS)
    assert DAYS[(date(2024, 1, 1) + timedelta(days=3)).weekday()] == "Thursday"


# ---- format


def test_every_dress_counts_and_nothing_else(suites: dict[str, Suite]) -> None:
    """Each way to write the right answer is right, and no wrong answer in like dress is."""
    for task in suites["format"].tasks:
        dresses, wrong = task.metadata["dresses"], task.metadata["wrong"]
        assert isinstance(dresses, list)
        assert isinstance(wrong, list)
        assert len(dresses) >= 5
        assert wrong
        assert [each for each in dresses if not right(each, task.target, task.input)] == [], task.input
        assert [each for each in wrong if right(each, task.target, task.input)] == [], task.input


def test_numbers_in_words() -> None:
    """What is written in words is read as the same number by the reader of number words."""
    assert [parse_words(in_words(n)) for n in (*range(1_200), 99_999, 700_001)] == [*range(1_200), 99_999, 700_001]
