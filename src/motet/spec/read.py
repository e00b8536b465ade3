"""Tables into values: reads what a document says by the types of the fields it is for, and tells all that is wrong.

One recursion over type hints serves models, agents, budgets and every composition, aggregator, scorer and topology that
there is or will be. A hint that is a protocol is a word (`aggregate = "plurality"`) or, where there is more to say, a
table with the word as its `kind` (`aggregate = { kind = "synthesize", agent = "smol" }`); agents and models are names.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol

from msgspec import Meta

from motet.backend import Backend
from motet.errors import MotetError
from motet.run import Agent
from motet.spec.entry import ModelName, Reference
from motet.spec.fields import (
    alternatives,
    fields_of,
    is_function,
    is_mapping,
    is_protocol,
    is_record,
    is_sequence,
    is_union,
)
from motet.spec.locate import Path as KeyPath
from motet.spec.registry import REFERENCE, imported, label, variant, variants

KIND: Final = "kind"
"""The key of a table that says which variant of a seam it describes."""
LISTED = 24
"""Names that an error lists at most."""
_PLAIN: Mapping[object, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_ORDERS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("ge", "at least", lambda value, limit: value >= limit),
    ("gt", "more than", lambda value, limit: value > limit),
    ("le", "at most", lambda value, limit: value <= limit),
    ("lt", "less than", lambda value, limit: value < limit),
)


class Wrong(Exception):
    """Something in the document can't be read; what it is has been told already."""


class Names(Protocol):
    """The names that a document may use: of agents, mixtures and models; and of models alone."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def models(self) -> Sequence[str]: ...


class Maker(Protocol):
    """Makes what a name stands for."""

    def agent(self, name: str, /) -> Agent: ...

    def model(self, name: str, /) -> Backend: ...


@dataclass
class Reader:
    """Reads values of a type.

    Args:
        names: what there is.
        tell: told what is wrong with which key.
        folder: where one's own modules may lie.
        maker: makes agents and models; without it they are only looked up, and nothing is made of them.

    Attributes:
        agents: the agents that were named, by where.
        models: the same for models.
    """

    names: Names
    tell: Callable[[KeyPath, str], None]
    folder: Path | None = None
    maker: Maker | None = None
    agents: dict[KeyPath, str] = field(default_factory=dict)
    models: dict[KeyPath, str] = field(default_factory=dict)

    def read(self, hint: object, value: object, path: KeyPath) -> object:
        """The value that a document's `value` means where a `hint` is wanted.

        Raises:
            Wrong: it means none; `tell` knows why.
        """
        if is_union(hint):
            return self._one_of(hint, value, path)
        if typing.get_origin(hint) is typing.Annotated:
            inner, *limits = typing.get_args(hint)
            return self._within(limits, self.read(inner, value, path), path)
        if typing.get_origin(hint) is Literal:
            if value in typing.get_args(hint):
                return value
            raise self._wrong(path, f"should be {expected(hint)}{guess(value, typing.get_args(hint))}")
        if hint is object or hint is typing.Any:
            return value
        if not fits(hint, value):
            raise self._wrong(path, f"should be {expected(hint)}, not {_kind(value)}")
        if isinstance(value, list):
            return tuple(self._each(typing.get_args(hint), value, path))
        if isinstance(value, dict) and is_mapping(hint):
            inner = typing.get_args(hint)[1]
            return self._every({key: (inner, each, (*path, key)) for key, each in value.items()})
        if isinstance(value, dict) and is_record(hint) and isinstance(hint, type):
            return self.record(hint, value, path)
        if is_protocol(hint) and isinstance(hint, type) and isinstance(value, str | dict):
            return self._named(hint, value, path)
        if hint is ModelName and isinstance(value, str):
            return self._known(value, self.names.models, self.models, "model", path)
        if (hint is Reference or is_function(hint)) and isinstance(value, str):
            if not REFERENCE.fullmatch(value):
                raise self._wrong(path, "should be package.module:name")
            return value if hint is Reference or not self.maker else self.imported(value, path)
        return float(value) if hint is float and isinstance(value, int) else value

    def record(
        self,
        cls: type,
        table: Mapping[str, object],
        path: KeyPath,
        *,
        given: Mapping[str, object] | None = None,
        besides: Sequence[str] = (),
    ) -> object:
        """A record made of a table.

        Args:
            cls: the dataclass or struct.
            table: its fields, by key.
            path: where the table stands.
            given: fields that do not come from the table, and may not.
            besides: keys of the table that are no fields.

        Returns:
            The record; None where agents would be in it and are only looked up.

        Raises:
            Wrong: a key is unknown, missing or has no right value, or the record refuses them together.
        """
        given = given or {}
        fields = {each.name: each for each in fields_of(cls) if each.name not in given}
        unknown = [key for key in table if key not in fields and key not in besides]
        for key in unknown:
            self.tell((*path, key), f"unknown key{suggestion(key, fields)}")
        missing = [each.name for each in fields.values() if each.required and each.name not in table]
        if missing:
            self.tell(path, f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
        values = self._every(
            {key: (each.hint, table[key], (*path, key)) for key, each in fields.items() if key in table}
        )
        if unknown or missing:
            raise Wrong
        if not self.maker and is_alive(cls):
            return None
        try:
            made: object = cls(**given, **values)
        except (MotetError, ValueError) as error:
            raise self._wrong(path, str(error)) from None
        return made

    def imported(self, reference: str, path: KeyPath) -> object:
        """What `package.module:name` names.

        Raises:
            Wrong: there is no such thing.
        """
        try:
            return imported(reference, self.folder)
        except ImportError as error:
            raise self._wrong(path, str(error)) from None

    def variant(self, seam: type, word: str, path: KeyPath) -> type:
        """The class that a word stands for.

        Raises:
            Wrong: there is none.
        """
        try:
            found = variant(seam, word, self.folder)
        except ImportError as error:
            raise self._wrong(path, str(error)) from None
        if found is None:
            raise self._wrong(path, f"there is no {label(seam)} {word!r}{suggestion(word, variants(seam))}")
        return found

    def _named(self, seam: type, value: str | dict[str, object], path: KeyPath) -> object:
        """An agent or a backend by its name, or a variant of another seam by its word or table."""
        if seam is Agent and isinstance(value, str):
            self._known(value, self.names.names, self.agents, "agent, mixture or model", path)
            return self.maker.agent(value) if self.maker else None
        if seam is Backend and isinstance(value, str):
            self._known(value, self.names.models, self.models, "model", path)
            return self.maker.model(value) if self.maker else None
        table: Mapping[str, object] = {KIND: value} if isinstance(value, str) else value
        word = table.get(KIND)
        if not isinstance(word, str):
            raise self._wrong(path, f"should say its {KIND}: {', '.join(variants(seam))}")
        at = path if isinstance(value, str) else (*path, KIND)
        return self.record(self.variant(seam, word, at), table, path, besides=(KIND,))

    def _known(self, name: str, known: Sequence[str], seen: dict[KeyPath, str], what: str, path: KeyPath) -> str:
        if name not in known:
            raise self._wrong(path, f"there is no {what} {name!r}{suggestion(name, known)}")
        seen[path] = name
        return name

    def _one_of(self, hint: object, value: object, path: KeyPath) -> object:
        if value is None and type(None) in typing.get_args(hint):
            return None
        arms = alternatives(hint)
        fitting = [arm for arm in arms if fits(arm, value)]
        if len(fitting) > 1 and isinstance(value, str):  # a word may name an agent or an aggregator, say
            fitting = [arm for arm in fitting if self._names(arm, value)] or fitting
        if fitting:
            return self.read(fitting[0], value, path)
        if len(arms) == 1:
            return self.read(arms[0], value, path)
        raise self._wrong(path, f"should be {expected(hint)}, not {_kind(value)}")

    def _names(self, hint: object, word: str) -> bool:
        if hint is Agent:
            return word in self.names.names
        if hint is Backend or hint is ModelName:
            return word in self.names.models
        if is_protocol(hint) and isinstance(hint, type):
            return word.replace("-", "_") in variants(hint)
        return hint is str

    def _within(self, limits: Iterable[object], value: object, path: KeyPath) -> object:
        for limit in limits:
            if isinstance(limit, Meta) and isinstance(value, int | float):
                for attribute, words, holds in _ORDERS:
                    bound = getattr(limit, attribute)
                    if bound is not None and not holds(value, bound):
                        raise self._wrong(path, f"should be {words} {bound:g}, not {value:g}")
        return value

    def _each(self, hints: tuple[object, ...], value: list[object], path: KeyPath) -> list[object]:
        if len(hints) > 1 and hints[-1] is not Ellipsis:
            if len(value) != len(hints):
                raise self._wrong(path, f"should have {len(hints)} elements, not {len(value)}")
        else:
            hints = (hints[0],) * len(value)
        read = self._every({place: (hints[place], each, (*path, place)) for place, each in enumerate(value)})
        return list(read.values())

    def _every(self, wanted: Mapping[typing.Any, tuple[object, object, KeyPath]]) -> dict[typing.Any, object]:
        """Read each, tell all that is wrong, then give up if anything was."""
        found, failed = {}, False
        for key, (hint, value, path) in wanted.items():
            try:
                found[key] = self.read(hint, value, path)
            except Wrong:
                failed = True
        if failed:
            raise Wrong
        return found

    def _wrong(self, path: KeyPath, text: str) -> Wrong:
        self.tell(path, text)
        return Wrong()


def is_alive(hint: object) -> bool:
    """Whether agents, models or functions may be in a value of this type, so that looking them up is not enough."""
    if is_record(hint) and isinstance(hint, type):
        return any(is_alive(each.hint) for each in fields_of(hint))
    return is_protocol(hint) or is_function(hint) or any(is_alive(inner) for inner in typing.get_args(hint))


def fits(hint: object, value: object) -> bool:
    """Whether a value has the shape that a type wants, whatever is inside it."""
    if is_union(hint):
        return any(fits(arm, value) for arm in typing.get_args(hint))
    if typing.get_origin(hint) is typing.Annotated:
        return fits(typing.get_args(hint)[0], value)
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if hint is type(None):
        return value is None
    if hint is object or hint is typing.Any:
        return True
    if hint is bool:
        return isinstance(value, bool)
    if hint is int or hint is float:
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    if hint is str or hint is ModelName or hint is Reference or is_function(hint) or hint is Agent or hint is Backend:
        return isinstance(value, str)
    if is_sequence(hint):
        return isinstance(value, list)
    if is_record(hint) or (is_mapping(hint) and typing.get_args(hint)[0] is str):
        return isinstance(value, dict)
    if is_protocol(hint):
        return isinstance(value, str | dict)
    raise TypeError(f"no document can hold a {hint}")


def expected(hint: object) -> str:
    """What a type wants, in words."""
    if is_union(hint):
        return " or ".join(dict.fromkeys(expected(arm) for arm in alternatives(hint)))
    if typing.get_origin(hint) is typing.Annotated:
        return expected(typing.get_args(hint)[0])
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(str(each) for each in typing.get_args(hint))
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is Agent or hint is Backend or hint is ModelName:
        return "the name of an agent" if hint is Agent else "the name of a model"
    if hint is Reference or is_function(hint):
        return "package.module:name"
    if is_sequence(hint):
        return "a list"
    if is_protocol(hint) and isinstance(hint, type):
        return f"the word for a {label(hint)}, or a table with its {KIND}"
    return "a table"


def suggestion(word: str, known: Iterable[object]) -> str:
    """What to say after an unknown word: the known one that is most like it, or else those there are."""
    names = [str(each) for each in known]
    more = ", …" if len(names) > LISTED else ""
    there_are = f"; there are: {', '.join(names[:LISTED])}{more}" if names else "; there are none"
    return guess(word, names) or there_are


def guess(word: object, known: Iterable[object]) -> str:
    """The known word that is most like an unknown one, as a question; "" if none is.

    >>> guess("vot", ["debate", "vote"])
    ': did you mean vote?'
    """
    near = difflib.get_close_matches(str(word), [str(each) for each in known], n=1, cutoff=0.6)
    return f": did you mean {near[0]}?" if near else ""


def _kind(value: object) -> str:
    for kind, words in ((bool, "true or false"), (int, "a whole number"), (float, "a number"), (str, "text")):
        if isinstance(value, kind):
            return words
    return "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else "nothing"
