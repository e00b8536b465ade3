"""Suites that are made from a seed: as many questions as are wanted, each with an answer that the code computes.

Each suite is one module with its `TOPICS` (one maker a topic), `INSTRUCTIONS`, `SCORER` and `OPTIONS`. Topics take
turns and levels rise from 1 to 3 and start again, so the first tasks of a suite are a fair sample of it. Question
number k depends on the suite, the seed and k only: the first 100 tasks of 200 are those of 100.

    >>> suite = generate("logic-puzzles", n=12, seed=3)
    >>> sorted({task.topic for task in suite.tasks})
    ['culprit', 'knights-and-knaves', 'order', 'pairing']
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Final

from motet.bench.task import Suite, Task
from motet.errors import UsageError

GENERATED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "arithmetic": "sums, products, fractions, percentages, powers, brackets",
        "word-problems": "short stories with a number at the end, of one to three steps",
        "logic-puzzles": "order, pairings, liars and culprits, each with exactly one solution",
        "multiple-choice": "numbers, calendar, sequences, words, units and elements, four or five options",
        "format": "easy questions whose answers can be written in many ways",
        "code": "small Python functions, checked by tests in a sandbox",
    }
)
"""The generated suites: the name of each and what is in it."""
LEVELS: Final = (1, 2, 3)
_ATTEMPTS: Final = 500
"""Tries at a question that was not there yet, before its topic counts as used up."""


def generate(name: str, n: int = 200, seed: int = 0) -> Suite:
    """Make a suite.

    Args:
        name: one of `GENERATED`.
        n: how many tasks; 200 give a 95 % interval of at most 7 points to either side.
        seed: another seed, other tasks.

    Raises:
        UsageError: a topic has fewer different questions than that.
    """
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    from motet.bench.generated.dice import Dice
    from motet.bench.generated.question import Maker

    topics: Mapping[str, Maker] = module.TOPICS
    names = tuple(topics)
    tasks: list[Task] = []
    seen: set[object] = set()
    for place in range(n):
        topic = names[place % len(names)]
        level = LEVELS[place // len(names) % len(LEVELS)]
        for attempt in range(_ATTEMPTS):
            made = topics[topic](Dice(f"{name}/{seed}/{place}/{attempt}"), level)
            asked = (
                made.metadata.get("solution", made.input),
                frozenset(made.choices),
            )  # two texts may ask for one function
            if asked not in seen:
                break
        else:
            raise UsageError(f"{name} has no more than {place} different questions: ask for n={place} or fewer")
        seen.add(asked)
        metadata = {"level": level} | dict(made.metadata)
        tasks.append(Task(f"{name}-{place + 1:04}", made.input, made.target, topic, metadata, made.choices))
    return Suite(
        name,
        tuple(tasks),
        licence="Apache-2.0",
        source=f"made by motet from seed {seed}",
        instructions=module.INSTRUCTIONS,
        scorer=module.SCORER,
        options=module.OPTIONS,
    )
