"""What the tests here call a command line, and what it came to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

PROGRAM = (sys.executable, "-m", "motet")


@dataclass(frozen=True)
class Done:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        """The object on stdout."""
        found = msgspec.json.decode(self.out)
        assert isinstance(found, dict)
        return found


Cli = Callable[..., Done]
