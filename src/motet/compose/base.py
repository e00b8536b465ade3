"""What compositions share: checks of their fields, said in one way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized

from motet.errors import UsageError

MOST = 1e100
"""The largest number a field may hold: sums and products of some such are still numbers."""


def at_least(least: int, what: str, given: object, name: str) -> None:
    """Refuse a composition that makes no sense.

    Raises:
        UsageError: there are fewer than `least`, or `given` is neither a list nor a whole number; says whose and what
            to do.

    >>> at_least(2, "agents", ["one"], "debate")
    Traceback (most recent call last):
    motet.errors.UsageError: debate needs at least 2 agents, and has 1: add more
    """
    if isinstance(given, str) or not isinstance(given, int | Sized):
        kind = type(given).__name__
        raise UsageError(f"{name}: {what} can't be a {kind}: give a list, or a whole number where one is wanted")
    count = given if isinstance(given, int) else len(given)
    if count < least:
        raise UsageError(f"{name} needs at least {least} {what}, and has {count}: add more")


def finite(name: str, *, least: float = -MOST, **given: object) -> None:
    """Refuse NaN, infinities and numbers below `least`, in fields and in the lists and tables of fields.

    With NaN every comparison is false, so that a vote or a choice would silently go to somebody.

    Args:
        name: whose fields they are.
        least: the smallest number that is allowed.
        given: the fields, by name; None holds no number.

    Raises:
        UsageError: there is such a number; says in which field.

    >>> finite("vote", weights={"ann": float("nan")})
    Traceback (most recent call last):
    motet.errors.UsageError: vote: weights can't be or hold nan: give numbers from -1e+100 to 1e+100
    """
    for field, value in given.items():
        for number in _numbers(value):
            if not least <= number <= MOST:
                bounds = f"give numbers from {least:g} to {MOST:g}"
                raise UsageError(f"{name}: {field} can't be or hold {_shown(number)}: {bounds}")


def _shown(number: float) -> str:
    """A number as errors show it."""
    try:
        return f"{number:g}"
    except OverflowError:  # a whole one that no float can be
        return "so large a number"


def _numbers(value: object) -> Iterator[float]:
    """The numbers in a value, and in the lists and tables of which it is made."""
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(each)
