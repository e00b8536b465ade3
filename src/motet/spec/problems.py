"""All that is wrong with a document, told at once: who reads a file three times for three typos reads no fourth."""

from __future__ import annotations

from collections.abc import Callable

from motet.errors import ConfigError
from motet.spec.locate import Path as KeyPath
from motet.spec.source import dotted


class Problems:
    """Collects what is wrong; `check` raises it, one line each.

    Args:
        where: says where a key stands, as `file:line`.
    """

    def __init__(self, where: Callable[[KeyPath], str]) -> None:
        self._where = where
        self._found: list[tuple[str, str, str]] = []

    def tell(self, path: KeyPath, text: str, where: str = "") -> None:
        """Note what is wrong with a key."""
        problem = (where or self._where(path), dotted(path), text)
        if problem not in self._found:
            self._found.append(problem)

    def check(self) -> None:
        """Raise what was found, and forget it.

        Raises:
            ConfigError: something was; `where` and `key` are those of the first.
        """
        if self._found:
            (where, key, text), *others = sorted(self._found, key=_place)
            self._found = []
            lines = [": ".join(part for part in other if part) for other in others]
            raise ConfigError("\n".join([text, *lines]), where=where, key=key)


def _place(problem: tuple[str, str, str]) -> tuple[str, int]:
    file, _, line = problem[0].rpartition(":")
    return file, int(line) if line.isdigit() else 0
