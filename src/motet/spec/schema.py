"""The JSON Schema of a configuration, for editors: made of the fields and docstrings of what can be configured.

>>> sorted(json_schema()["properties"])
['agents', 'budget', 'default', 'mixtures', 'models']
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from typing import Literal

from msgspec import Meta

from motet.backend import Backend
from motet.backends.presets import PRESETS
from motet.run import Agent
from motet.spec.checked import COMPOSITION
from motet.spec.entries import EXTENDS
from motet.spec.entry import AgentEntry, BudgetEntry, ModelName, Reference
from motet.spec.fields import (
    Field,
    alternatives,
    fields_of,
    is_function,
    is_mapping,
    is_protocol,
    is_record,
    is_sequence,
    is_union,
    summary,
)
from motet.spec.model import BACKEND, IMPLIED, EndpointEntry, FunctionEntry, LlamaEntry
from motet.spec.read import KIND
from motet.spec.registry import REFERENCE, label, variants
from motet.spec.source import Table

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: dict[object, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
_LIMITS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_NAMES: dict[object, str] = {Agent: "an agent, a mixture or a model", Backend: "a model", ModelName: "a model"}
_OWN: Table = {"type": "string", "pattern": f"^{REFERENCE.pattern}$"}


def json_schema() -> Table:
    """The schema of motet.toml, as JSON data: editors complete and check a file by it."""
    return _Schema().whole()


class _Schema:
    def __init__(self) -> None:
        self.seams: dict[str, Table] = {}

    def whole(self) -> Table:
        """The schema of a file."""
        implied = {word: key for key, word in IMPLIED.items()}
        models = [
            self.variant(LlamaEntry, BACKEND, ["llama"], implied["llama"]),
            self.variant(FunctionEntry, BACKEND, ["function"], implied["function"]),
            self.variant(EndpointEntry, BACKEND, list(PRESETS), implied["compatible"]),
        ]
        mixtures = [self.variant(cls, COMPOSITION, _spellings(word)) for word, cls in variants(Agent).items()]
        own: Table = {"type": "object", "properties": {COMPOSITION: _OWN}, "required": [COMPOSITION]}
        short: Table = {"type": "string", "pattern": ".:.|#.", "description": "backend:model, or URL#model"}
        properties: Table = {
            "default": {"type": "string", "description": "Who is asked when nobody is named."},
            "models": _each({"anyOf": [short, *models]}, "Models by name."),
            "agents": _each(self.variant(AgentEntry), "Models given a part, by name."),
            "mixtures": _each({"anyOf": [*mixtures, own]}, "Agents made of agents, by name."),
            "budget": self.record(BudgetEntry),
        }
        return {
            "$schema": DIALECT,
            "title": "motet.toml",
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            "$defs": dict(sorted(self.seams.items())),
        }

    def variant(self, cls: type, key: str = "", words: Sequence[str] = (), implied: str = "") -> Table:
        """An entry of a section: `key` says that it is one of `words`, as does the presence of the key `implied`.

        What must be there may also come from the entry that it extends.
        """
        table = self.record(cls, without=("name", key))
        needed = table.pop("required", [])
        assert isinstance(needed, list)
        properties: Table = {key: {"enum": [*words]}} if key else {}
        properties |= {EXTENDS: {"type": "string", "description": "The entry that this one begins as."}}
        ways = [[*needed, key]] if key else [needed]
        ways += [[*needed, implied]] if implied else []
        table["properties"] = {**properties, **_table(table["properties"])}
        table["anyOf"] = [{"required": sorted(set(way))} for way in (*ways, [EXTENDS])]
        return table

    def record(self, cls: type, without: Sequence[str] = ()) -> Table:
        """A table with the fields of a dataclass or struct."""
        fields = [each for each in fields_of(cls) if each.name not in without]
        table: Table = {
            "type": "object",
            "description": summary(cls),
            "properties": {each.name: self.field(each) for each in fields},
            "additionalProperties": False,
        }
        required = [each.name for each in fields if each.required]
        return {**table, "required": required} if required else table

    def field(self, field: Field) -> Table:
        """What may stand for a field."""
        schema = self.hint(field.hint)
        if field.about:
            schema["description"] = field.about
        if isinstance(field.default, bool | int | float | str) and not field.required:
            schema["default"] = field.default
        return schema

    def hint(self, hint: object) -> Table:
        """What may stand for a value of a type. TOML has no null, so None is always the key left out."""
        if is_union(hint):
            arms = [self.hint(arm) for arm in alternatives(hint)]
            return arms[0] if len(arms) == 1 else {"anyOf": arms}
        arguments = typing.get_args(hint)
        if typing.get_origin(hint) is typing.Annotated:
            inner, *limits = arguments
            bounds = {
                word: getattr(limit, name)
                for limit in limits
                if isinstance(limit, Meta)
                for name, word in _LIMITS.items()
                if getattr(limit, name) is not None
            }
            return {**self.hint(inner), **bounds}
        if typing.get_origin(hint) is Literal:
            return {"enum": [*arguments]}
        if hint in _PLAIN:
            return {"type": _PLAIN[hint]}
        if hint in _NAMES:
            return {"type": "string", "description": f"The name of {_NAMES[hint]}."}
        if hint is Reference or is_function(hint):
            return dict(_OWN)
        if is_sequence(hint):
            return {"type": "array", "items": self.hint(arguments[0])}
        if is_mapping(hint):
            return {"type": "object", "additionalProperties": self.hint(arguments[1])}
        if is_protocol(hint) and isinstance(hint, type):
            return self.seam(hint)
        if is_record(hint) and isinstance(hint, type):
            return self.record(hint)
        return {}

    def seam(self, seam: type) -> Table:
        """A reference to what may stand for a variant of a seam: its word, or a table with its `kind`."""
        name = label(seam)
        if name not in self.seams:
            self.seams[name] = {}  # here already, for scorers that hold scorers
            tables: list[Table] = []
            words: list[str] = []
            for word, cls in variants(seam).items():
                table = self.record(cls)
                if "required" not in table:
                    words += _spellings(word)
                table["properties"] = {KIND: {"enum": _spellings(word)}, **_table(table["properties"])}
                table["required"] = [KIND, *_list(table.get("required", []))]
                tables.append(table)
            own: Table = {"type": "object", "properties": {KIND: _OWN}, "required": [KIND]}
            self.seams[name] = {"anyOf": [{"enum": words}, _OWN, *tables, own]}
        return {"$ref": f"#/$defs/{name}"}


def _spellings(word: str) -> list[str]:
    return [word, word.replace("_", "-")] if "_" in word else [word]


def _each(schema: Table, about: str) -> Table:
    return {"type": "object", "description": about, "additionalProperties": schema}


def _table(value: object) -> Table:
    assert isinstance(value, dict)
    return value


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
