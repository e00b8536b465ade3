"""What compositions share: checks of their fields, said in one way."""

from __future__ import annotations

from collections.abc import Sized

from motet.errors import UsageError


def at_least(least: int, what: str, given: Sized | int, name: str) -> None:
    """Refuse a composition that makes no sense.

    Raises:
        UsageError: there are fewer than `least`; says whose, how many and what to do.

    >>> at_least(2, "agents", ["one"], "debate")
    Traceback (most recent call last):
    motet.errors.UsageError: debate needs at least 2 agents, and has 1: add more
    """
    count = given if isinstance(given, int) else len(given)
    if count < least:
        raise UsageError(f"{name} needs at least {least} {what}, and has {count}: add more")
