"""What can be written into a table: the fields of a dataclass or struct, with their types, defaults and descriptions.

>>> from motet.compose import Cascade
>>> [field.name for field in fields_of(Cascade)]
['agents', 'score', 'accept', 'name']
>>> fields_of(Cascade)[2].about
'the score that is good enough.'
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import msgspec


@dataclasses.dataclass(frozen=True)
class Field:
    """One field: `default` is what it is when it is not given, if it need not be."""

    name: str
    hint: object
    required: bool
    default: object
    about: str


def is_record(hint: object) -> bool:
    """Whether a type is a dataclass or a struct, that is a table of fields."""
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, msgspec.Struct))


def fields_of(record: type) -> tuple[Field, ...]:
    """The fields that a record is made with, in order.

    Raises:
        TypeError: the type of a field can't be found out.
    """
    if record not in _known:
        _known[record] = tuple(_fields(record))
    return _known[record]


_known: dict[type, tuple[Field, ...]] = {}


def _fields(record: type) -> Iterator[Field]:
    try:
        hints = typing.get_type_hints(record, include_extras=True)
    except NameError as error:
        raise TypeError(f"the types of {record.__name__}'s fields must be imported at run time: {error}") from None
    about = described(record)
    if issubclass(record, msgspec.Struct):
        for info in msgspec.structs.fields(record):
            default = _default(info.default, info.default_factory, msgspec.NODEFAULT)
            yield Field(info.name, hints[info.name], info.required, default, about.get(info.name, ""))
    elif dataclasses.is_dataclass(record):
        missing = dataclasses.MISSING
        for each in dataclasses.fields(record):
            if each.init:
                required = each.default is missing and each.default_factory is missing
                default = _default(each.default, each.default_factory, missing)
                yield Field(each.name, hints[each.name], required, default, about.get(each.name, ""))


def _default(value: object, factory: object, missing: object) -> object:
    if value is not missing:
        return value
    return factory() if callable(factory) and factory is not missing else None


def described(record: type) -> Mapping[str, str]:
    """What the docstrings of a record and its bases say of each argument, under `Args:`."""
    found: dict[str, str] = {}
    for each in reversed(record.__mro__[:-1]):
        text = inspect.cleandoc(each.__dict__.get("__doc__") or "")
        section = re.search(r"^Args:\n((?: .*\n?|\n)*)", text, re.MULTILINE)
        for name, said in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section.group(1) if section else "", re.M):
            found[name] = " ".join(said.split())
    return MappingProxyType(found)


def summary(record: type) -> str:
    """The first sentence or so of a record's docstring."""
    return " ".join((inspect.getdoc(record) or "").split("\n\n")[0].split())


def alternatives(hint: object) -> tuple[object, ...]:
    """The types that a union allows, None left out; any other type alone.

    >>> alternatives(int | None), alternatives(str)
    ((<class 'int'>,), (<class 'str'>,))
    """
    if is_union(hint):
        return tuple(each for each in typing.get_args(hint) if each is not type(None))
    return (hint,)


def is_union(hint: object) -> bool:
    """Whether a type is a union."""
    import types

    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def is_sequence(hint: object) -> bool:
    """Whether a type is a sequence of one kind of things."""
    return typing.get_origin(hint) in (Sequence, list, tuple)


def is_mapping(hint: object) -> bool:
    """Whether a type is a mapping."""
    return typing.get_origin(hint) in (Mapping, dict)


def is_protocol(hint: object) -> bool:
    """Whether a type is a seam, that is a protocol which several classes keep."""
    return isinstance(hint, type) and bool(getattr(hint, "_is_protocol", False))


def is_function(hint: object) -> bool:
    """Whether a type is that of a plain callable."""
    return typing.get_origin(hint) is Callable or hint is Callable
