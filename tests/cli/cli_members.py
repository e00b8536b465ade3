"""Members of the mixtures that the tests ask: functions whose answers are known."""

from __future__ import annotations

import asyncio

from motet.errors import BackendError


def four(question: str) -> str:
    """Right about 2 + 2."""
    return "4"


def five(question: str) -> str:
    """Wrong about it."""
    return "5"


def silent(question: str) -> None:
    """Abstains."""


def hostile(question: str) -> str:
    """Writes what a terminal would obey."""
    return "4\x1b[2J\x1b]0;owned\x07"


def full(question: str) -> str:
    """Fails as a model does whose context is too short."""
    raise BackendError("context_length", f"the prompt takes {len(question)} tokens, and the context is 10")


def down(question: str) -> str:
    """Fails as a server does that is down."""
    raise BackendError("connect", "no connection", retry=False)


def broken(question: str) -> str:
    """Has a bug."""
    raise ZeroDivisionError("a bug of its own")


async def tardy(question: str) -> str:
    """Takes a second."""
    await asyncio.sleep(1.0)
    return "4"


async def dying(question: str) -> str:
    """Fails after a while."""
    await asyncio.sleep(0.2)
    raise BackendError("server", "gone", status=500, retry=False)


async def hanging(question: str) -> str:
    """Never answers."""
    await asyncio.sleep(3600)
    return "too late"


async def inward(question: str) -> str:
    """Asks motet from inside a run, which can't work."""
    import motet

    return motet.ask(question, mixture="four").text
