"""The public names are few, listed once, sorted, and documented."""

from __future__ import annotations

import inspect

import motet


def test_all_is_sorted_and_complete() -> None:
    """`__all__` is sorted and holds every public name of the package."""
    assert list(motet.__all__) == sorted(motet.__all__)
    names = {name for name, value in vars(motet).items() if not name.startswith("_") and not inspect.ismodule(value)}
    assert names == set(motet.__all__) - {"__version__"}


def test_public_names_are_few() -> None:
    """Everything else is free to move."""
    assert len(motet.__all__) <= 45


def test_public_names_are_documented() -> None:
    """Each public class and function says what it is."""
    missing = [name for name in motet.__all__ if name != "__version__" and not inspect.getdoc(getattr(motet, name))]
    assert missing == []
