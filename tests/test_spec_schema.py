"""The JSON Schema: about everything that can be configured, and of one piece."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from motet.aggregate import Aggregator
from motet.backends.presets import PRESETS
from motet.run import Agent
from motet.score import Scorer
from motet.spec import json_schema, load
from motet.spec.fields import fields_of
from motet.spec.registry import variants
from motet.topology import Topology

SCHEMA: Any = json_schema()


def section(name: str) -> Any:
    """What an entry of a section may be."""
    return SCHEMA["properties"][name]["additionalProperties"]


def parts(value: object) -> Iterator[dict[str, Any]]:
    """Every table in the schema."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from parts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from parts(inner)


def test_every_composition_is_in_it() -> None:
    """Each composition has a table with its word, all of its fields, and what its docstring says of them."""
    found = {
        entry["properties"]["composition"].get("enum", ["own"])[0]: entry for entry in section("mixtures")["anyOf"]
    }
    assert set(found) == {*variants(Agent), "own"}
    for word, cls in variants(Agent).items():
        fields = [each for each in fields_of(cls) if each.name != "name"]
        properties = found[word]["properties"]
        assert set(properties) == {"composition", "extends", *(each.name for each in fields)}
        assert all(properties[each.name].get("description") for each in fields), f"say what each field of {word} means"
        needed = {each.name for each in fields if each.required}
        assert found[word]["anyOf"][0]["required"] == sorted({*needed, "composition"})


def test_every_seam_is_in_it() -> None:
    """Each aggregator, scorer and topology has a table with its kind; those that need nothing are a word too."""
    for name, seam in (("aggregator", Aggregator), ("scorer", Scorer), ("topology", Topology)):
        words, _, *tables, _ = SCHEMA["$defs"][name]["anyOf"]
        assert [each["properties"]["kind"]["enum"][0] for each in tables] == list(variants(seam))
        plain = {word for word, cls in variants(seam).items() if not any(each.required for each in fields_of(cls))}
        assert set(words["enum"]) == plain


def test_every_backend_is_in_it() -> None:
    """Every endpoint that is known by name, llama and function are backends of the schema."""
    known = {word for each in section("models")["anyOf"][1:] for word in each["properties"]["backend"]["enum"]}
    assert known == {"llama", "function", *PRESETS}


def test_it_is_of_one_piece() -> None:
    """It is JSON, and every reference in it leads somewhere."""
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    references = {part["$ref"] for part in parts(SCHEMA) if "$ref" in part}
    assert references == {f"#/$defs/{name}" for name in SCHEMA["$defs"]}


def test_the_built_in_file_uses_only_what_it_knows() -> None:
    """Every key of the built-in configuration is a property of the schema where it stands."""
    document: Any = load().document
    for kind in ("models", "agents", "mixtures"):
        entry = section(kind)
        known = {key for each in [*entry.get("anyOf", []), entry] for key in each.get("properties", {})}
        assert {key for table in document[kind].values() for key in table} <= known
