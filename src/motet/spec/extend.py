"""`extends`: an entry that begins as another one. Tables are merged deep, everything else is replaced.

    >>> merged({"price": {"input": 1, "output": 2}, "stop": ["a"]}, {"price": {"output": 3}, "stop": ["b"]})
    {'price': {'input': 1, 'output': 3}, 'stop': ['b']}

A table that says another `kind` than the one it would be merged into replaces it: what describes one aggregator does
not describe another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from motet.spec.read import KIND


def merged(base: Mapping[str, object], table: Mapping[str, object]) -> dict[str, object]:
    """`base` with what `table` says instead or besides."""
    result = dict(base)
    for key, value in table.items():
        before = result.get(key)
        if isinstance(value, dict) and isinstance(before, dict) and value.get(KIND) in (None, before.get(KIND)):
            value = merged(before, value)
        result[key] = value
    return result


def circle(links: Mapping[str, Sequence[str]], start: str) -> list[str] | None:
    """The way from `start` along `links` back to `start`, if there is one.

    >>> circle({"a": ["b", "c"], "b": [], "c": ["a"]}, "a")
    ['a', 'c', 'a']
    """
    came_from: dict[str, str] = {}
    waiting = [start]
    while waiting:
        here = waiting.pop(0)
        for there in links.get(here, ()):
            if there == start:
                way: list[str] = []
                while here != start:
                    way.append(here)
                    here = came_from[here]
                return [start, *reversed(way), start]
            if there not in came_from:
                came_from[there] = here
                waiting.append(there)
    return None
