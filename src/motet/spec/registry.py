"""Finding what a word in a configuration stands for: compositions, aggregators, scorers, topologies, one's own classes.

Nothing is registered. A seam is a protocol, and its home is where it is defined: every dataclass there that keeps the
protocol can be named, by its file (`motet/aggregate/borda.py` is `borda`) or, where the home is one file, by its own
name in lower case. The home of agents is `motet.compose`. So a new file is found by itself.

    >>> from motet.aggregate import Aggregator
    >>> sorted(variants(Aggregator))
    ['best', 'borda', 'plurality', 'synthesize']
    >>> from motet.run import Agent
    >>> variants(Agent)["self_moa"]
    <class 'motet.compose.self_moa.SelfMoA'>
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType

from motet.run import Agent
from motet.spec.fields import fields_of, is_record

HOMES: Mapping[type, str] = MappingProxyType({Agent: "motet.compose"})
"""Where the variants of a protocol are, when it isn't where the protocol is."""
REFERENCE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
"""`package.module:name`."""


def label(seam: type) -> str:
    """What people call a variant of a seam.

    >>> label(Agent)
    'composition'
    """
    return "composition" if seam is Agent else seam.__name__.lower()


@cache
def variants(seam: type) -> Mapping[str, type]:
    """The classes that keep a protocol, by the word that names each.

    Raises:
        TypeError: one file holds two, so that its name would name both.
    """
    home = _home(seam)
    if not hasattr(home, "__path__"):
        return MappingProxyType({_snake(cls.__name__): cls for cls in _keeping(seam, home)})
    found = {info.name: _only(seam, info.name) for info in pkgutil.iter_modules(home.__path__)}
    return MappingProxyType({word: cls for word, cls in found.items() if cls is not None})


def _home(seam: type) -> ModuleType:
    return importlib.import_module(HOMES.get(seam, seam.__module__.removesuffix(".base")))


@cache
def _only(seam: type, name: str) -> type | None:
    """The class of a file at home that keeps a protocol, or None.

    Raises:
        TypeError: it holds two, so that its name would name both.
    """
    home = _home(seam).__name__
    classes = list(_keeping(seam, importlib.import_module(f"{home}.{name}")))
    if len(classes) > 1:
        names = ", ".join(cls.__name__ for cls in classes)
        raise TypeError(f"{home}.{name} holds {names}: give each {label(seam)} a file of its own")
    return classes[0] if classes else None


def variant(seam: type, word: str, folder: Path | None = None) -> type | None:
    """The class that a word stands for; `package.module:Class` is one's own. None if there is none.

    Raises:
        ImportError: one's own can't be imported; says why.
    """
    if ":" not in word:
        name, home = word.replace("-", "_"), _home(seam)
        if not hasattr(home, "__path__"):
            return variants(seam).get(name)
        # only the file that is named: to import all of them takes longer than the rest of a configuration
        there = any(info.name == name for info in pkgutil.iter_modules(home.__path__))
        return _only(seam, name) if there else None
    found = imported(word, folder)
    if not (isinstance(found, type) and is_record(found)):
        raise ImportError(f"{word} is no dataclass, and a {label(seam)} has to be one")
    return found


def word_of(seam: type, cls: type) -> str:
    """The word that stands for a class.

    Raises:
        ImportError: none does, since the class can't be imported.
    """
    known = next((word for word, found in variants(seam).items() if found is cls), None)
    return known or reference_of(cls)


def imported(reference: str, folder: Path | None = None) -> object:
    """What `package.module:name` names; modules in `folder` are found too.

    Raises:
        ImportError: there is no such thing, or its module fails; says why.
    """
    if not REFERENCE.fullmatch(reference):
        raise ImportError(f"{reference!r} should be package.module:name")
    module, _, name = reference.partition(":")
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))  # at the end, so that nothing there can take another module's place
    try:
        found: object = importlib.import_module(module)
    except Exception as error:  # whatever a user's module does when it is run
        raise ImportError(f"importing {module} failed: {type(error).__name__}: {error}") from error
    for step in name.split("."):
        if not hasattr(found, step):
            raise ImportError(f"{module} has no {name}")
        found = getattr(found, step)
    return found


def reference_of(thing: object) -> str:
    """`package.module:name` of a class or function.

    Raises:
        ImportError: it has none: it is a lambda, or was made inside a function or in the script that runs.
    """
    module, name = getattr(thing, "__module__", ""), getattr(thing, "__qualname__", "")
    reference = f"{module}:{name}"
    if module != "__main__" and REFERENCE.fullmatch(reference) and imported(reference) is thing:
        return reference
    raise ImportError(f"{name or thing!r} can't be imported from anywhere: put it at the top of a module")


def _keeping(seam: type, module: ModuleType) -> Iterator[type]:
    """The public dataclasses of a module that keep a protocol."""
    for name, thing in vars(module).items():
        own = isinstance(thing, type) and thing.__module__ == module.__name__ and not name.startswith("_")
        if own and is_record(thing) and _keeps(thing, seam):
            yield thing


def _keeps(cls: type, seam: type) -> bool:
    known = {*dir(cls), *(field.name for field in fields_of(cls))}
    wanted = {name for name in (*vars(seam), *inspect.get_annotations(seam)) if not name.startswith("_")}
    call = "__call__"
    same_call = call not in vars(seam) or _parameters(getattr(cls, call)) == _parameters(vars(seam)[call])
    return same_call and wanted <= known


def _parameters(function: object) -> list[str]:
    return list(inspect.signature(function).parameters) if inspect.isfunction(function) else []


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
