"""Puzzles with exactly one solution: every possible world is tried, and one alone may keep all that is said.

`solutions` counts the worlds that keep a puzzle's clues; a puzzle is given out when that is 1, and each clue is needed:
without it there would be more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import permutations, product
from operator import and_
from typing import Final, NamedTuple

from motet.bench.generated.dice import Dice
from motet.bench.generated.question import Maker, Question

INSTRUCTIONS: Final = (
    'Think it through, then give the answer on a last line that begins with "Answer:": one word, or as asked.'
)
SCORER: Final = "exact"
OPTIONS: Final[Mapping[str, object]] = {}

NAMES: Final = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hope", "Ida", "Jack", "Kim", "Liv", "Max", "Nora")
_PETS: Final = ("cat", "dog", "parrot", "rabbit", "turtle")
_DRINKS: Final = ("tea", "coffee", "milk", "juice", "water")
_WAYS: Final = ("bus", "tram", "bicycle", "train", "ferry")
_PLACE: Final = ("first", "second", "third", "fourth", "fifth", "sixth")


class Clue(NamedTuple):
    """What a puzzle says, and whether it is so in a world."""

    said: str
    holds: Callable[[Mapping[str, int]], bool]


def solutions(worlds: Sequence[Mapping[str, int]], clues: Sequence[Clue]) -> list[Mapping[str, int]]:
    """The worlds in which all clues hold."""
    return [world for world in worlds if all(clue.holds(world) for clue in clues)]


def _puzzle(dice: Dice, worlds: Sequence[Mapping[str, int]], truth: Mapping[str, int], pool: Sequence[Clue]) -> str:
    """Clues that are true, leave only `truth`, and are all needed; as lines."""
    kept = [clue for clue in dice.shuffled(pool) if clue.holds(truth)]
    # The worlds that a clue leaves, as the bits of a number: each clue is dropped if the others are enough.
    left = {clue: sum(1 << place for place, world in enumerate(worlds) if clue.holds(world)) for clue in kept}
    for clue in list(kept):
        rest = [each for each in kept if each is not clue]
        if reduce(and_, map(left.__getitem__, rest), -1).bit_count() == 1:
            kept = rest
    if solutions(worlds, kept) != [truth]:
        raise AssertionError("the clues of a puzzle allow another solution")
    return "\n".join(f"- {clue.said}" for clue in dice.shuffled(kept))


def _order(dice: Dice, level: int) -> Question:
    people = dice.sample(NAMES, level + 2)
    worlds = [dict(zip(order, range(len(people)), strict=True)) for order in permutations(sorted(people))]
    truth = dict(zip(people, range(len(people)), strict=True))
    pool: list[Clue] = []
    for a, b in permutations(people, 2):
        pool.append(Clue(f"{a} finished before {b}.", lambda w, a=a, b=b: w[a] < w[b]))  # type: ignore[misc]
        pool.append(Clue(f"{a} finished right after {b}.", lambda w, a=a, b=b: w[a] == w[b] + 1))  # type: ignore[misc]
    for a in people:
        for place in range(len(people)):
            pool.append(Clue(f"{a} did not finish {_PLACE[place]}.", lambda w, a=a, p=place: w[a] != p))  # type: ignore[misc]
    world = next(each for each in worlds if each == truth)
    lines = _puzzle(dice, worlds, world, pool)
    asked = dice.between(0, len(people) - 1)
    intro = f"{_listed(sorted(people))} ran a race; no two finished together."
    return Question(f"{intro}\n{lines}\nWho finished {_PLACE[asked]}?", (people[asked],), {"solutions": 1})


def _pairing(dice: Dice, level: int) -> Question:
    size = 3 if level < 3 else 4
    people = sorted(dice.sample(NAMES, size))
    kinds = [("has the", "pet", _PETS), ("drinks", "drink", _DRINKS), ("comes by", "way of coming", _WAYS)]
    chosen = dice.sample(kinds, 1 if level == 1 else 2)
    things = [(verb, what, sorted(dice.sample(words, size))) for verb, what, words in chosen]
    single = [list(permutations(range(size))) for _ in things]
    worlds = [
        {f"{person}/{kind}": order[place] for kind, order in enumerate(orders) for place, person in enumerate(people)}
        for orders in product(*single)
    ]
    truth = dice.choice(worlds)
    pool: list[Clue] = []
    for kind, (verb, _, words) in enumerate(things):
        for person in people:
            for number, word in enumerate(words):
                key = f"{person}/{kind}"
                not_ = {"has the": "does not have the", "drinks": "does not drink", "comes by": "does not come by"}[
                    verb
                ]
                pool.append(Clue(f"{person} {not_} {word}.", lambda w, k=key, n=number: w[k] != n))  # type: ignore[misc]
    if len(things) == 2:
        (verb, _, words), (other, _, more) = things
        for (i, word), (j, second) in product(enumerate(words), enumerate(more)):
            said = f"Whoever {verb} {word} also {other} {second}."
            pool.append(
                Clue(said, lambda w, i=i, j=j: any(w[f"{p}/0"] == i and w[f"{p}/1"] == j for p in people))  # type: ignore[misc]
            )
    lines = _puzzle(dice, worlds, truth, pool)
    kind = dice.between(0, len(things) - 1)
    verb, _, words = things[kind]
    person = dice.choice(people)
    told = [f"Each has a different {what}: {_listed(each)}." for _, what, each in things]
    ask = {"has the": "Which pet does {} have?", "drinks": "What does {} drink?", "comes by": "How does {} come?"}[verb]
    answer = words[truth[f"{person}/{kind}"]]
    intro = f"{_listed(people)} meet. {' '.join(told)}"
    target = (answer, f"by {answer}", f"the {answer}") if verb != "drinks" else (answer,)
    return Question(f"{intro}\n{lines}\n{ask.format(person)}", target, {"solutions": 1})


def _knights(dice: Dice, level: int) -> Question:
    people = sorted(dice.sample(NAMES, level + 1))
    worlds = [dict(zip(people, bits, strict=True)) for bits in product((0, 1), repeat=len(people))]
    while True:
        clues = [_speech(dice, person, people) for person in people]
        found = solutions(worlds, clues)
        if len(found) == 1:
            break
    (truth,) = found
    lines = "\n".join(f"- {clue.said}" for clue in clues)
    intro = (
        f"On an island, knights always tell the truth and knaves always lie. {_listed(people)} live there, "
        "and each is one or the other."
    )
    asked = dice.choice(people)
    answer = "knight" if truth[asked] else "knave"
    return Question(f"{intro}\n{lines}\nIs {asked} a knight or a knave?", (answer, f"a {answer}"), {"solutions": 1})


def _speech(dice: Dice, speaker: str, people: Sequence[str]) -> Clue:
    """What an islander says: it is true exactly if the islander is a knight."""
    a, b = dice.choice([each for each in people if each != speaker]), dice.choice(people)
    kind, other = ("knight", 1) if dice.between(0, 1) else ("knave", 0)
    count = dice.between(0, len(people))
    claims: list[tuple[str, Callable[[Mapping[str, int]], bool]]] = [
        (f"{a} is a {kind}.", lambda w: w[a] == other),
        (
            f"exactly {count} of us {'is a knight' if count == 1 else 'are knights'}.",
            lambda w: sum(w.values()) == count,
        ),
    ]
    if a != b and b != speaker:
        claims.append((f"{a} and {b} are of the same kind.", lambda w: w[a] == w[b]))
        claims.append((f"{a} is a {kind}, or {b} is.", lambda w: other in (w[a], w[b])))
    said, claim = dice.choice(claims)
    return Clue(f'{speaker} says: "{said[0].upper()}{said[1:]}"', lambda w: claim(w) == bool(w[speaker]))


def _culprit(dice: Dice, level: int) -> Question:
    people = sorted(dice.sample(NAMES, level + 2))
    worlds = [{"who": place} for place in range(len(people))]
    honest = dice.between(1, len(people) - 1)
    while True:
        said: list[tuple[str, str, Callable[[int], bool]]] = []
        for speaker in people:
            named = dice.choice(people)
            two = dice.sample([each for each in people if each != speaker], 2)
            kind = dice.between(0, 2)
            if kind == 0:
                said.append((speaker, "I did it." if named == speaker else f"{named} did it.", _is(people, [named])))
            elif kind == 1:
                words = "It wasn't me." if named == speaker else f"It wasn't {named}."
                said.append((speaker, words, _is(people, [each for each in people if each != named])))
            else:
                said.append((speaker, f"It was {two[0]} or {two[1]}.", _is(people, two)))
        truths = [sum(claim(world["who"]) for _, _, claim in said) for world in worlds]
        if truths.count(honest) == 1:
            break
    lines = "\n".join(f'- {speaker} says: "{words}"' for speaker, words, _ in said)
    tell = "is true" if honest == 1 else "are true"
    intro = (
        f"Exactly one of {_listed(people)} broke the vase. Each says something, and exactly {honest} of the "
        f"{len(people)} statements {tell}."
    )
    answer = people[truths.index(honest)]
    return Question(f"{intro}\n{lines}\nWho broke the vase?", (answer,), {"solutions": 1})


def _is(people: Sequence[str], named: Sequence[str]) -> Callable[[int], bool]:
    places = {people.index(each) for each in named}
    return lambda who: who in places


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


TOPICS: Final[Mapping[str, Maker]] = {
    "order": _order,
    "pairing": _pairing,
    "knights-and-knaves": _knights,
    "culprit": _culprit,
}
