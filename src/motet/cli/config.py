"""`motet config`: the configuration that applies, where it comes from, and what it may say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from motet.cli.options import Config, Json, group

app = group("Show and explain the configuration that applies.")

Keys = tuple[str | int, ...]


@app.command()
def show(config: Config = None, json: Json = False) -> None:
    """Print the whole of it, without secrets.

    The built-in parts are in it, and `extends` is resolved.
    """
    from motet.api import configuration
    from motet.cli import output
    from motet.cli.toml import dumps

    known = configuration(config)
    document = known.document
    if json:
        output.json(document)
    else:
        output.data(f"# {known.path}\n\n{dumps(document)}")


@app.command()
def explain(
    key: Annotated[str, typer.Argument(metavar="KEY", help="A dotted key, as in agents.calculator.model.")] = "",
    config: Config = None,
    json: Json = False,
) -> None:
    """Say where a value comes from and what it means.

    Without a key, what the sections are.
    """
    from motet.api import configuration
    from motet.cli import output, shapes
    from motet.spec import json_schema

    known, schema = configuration(config), json_schema()
    document = known.document
    if not key:
        sections = schema["properties"]
        assert isinstance(sections, dict)
        if json:
            output.json(shapes.Sections({name: about.get("description", "") for name, about in sections.items()}))
            return
        output.data("".join(f"{name}: {about.get('description', '')}\n" for name, about in sections.items()))
        return
    path = _path(key, document, schema)
    value = _at(document, path)
    about = _schema_at(schema, document, path)
    where = known.where(path) if value is not None else ""
    found = shapes.Explained(key=key, value=value, where=where, about=str(about.get("description", "")))
    if json:
        output.json(found)
        return
    from motet.cli.toml import value as as_toml

    usual = f"; {as_toml(about['default'])} by default" if "default" in about else ""
    lines = [f"{key} = {as_toml(value)}" if value is not None else f"{key} is not set{usual}"]
    lines += [f"from {where}"] if where else []
    lines += [found.about] if found.about else []
    output.data("\n".join(lines) + "\n")


@app.command()
def schema(json: Json = False) -> None:
    """Print the JSON Schema of motet.toml, for editors.

    It is JSON with or without --json.
    """
    from motet.cli import output
    from motet.spec import json_schema

    output.json(json_schema())


def _path(key: str, document: object, schema: dict[str, object]) -> Keys:
    """A dotted key as a path; a name with dots in it is found as well.

    Raises:
        UsageError: there is no such key.
    """
    from motet.errors import UsageError
    from motet.spec.read import suggestion

    path: list[str | int] = []
    here, rest = document, key
    while rest:
        table: Sequence[str] = list(here) if isinstance(here, dict) else []
        allowed = _schema_at(schema, document, tuple(path)).get("properties", {})
        assert isinstance(allowed, dict)
        known = [*dict.fromkeys((*table, *allowed))]
        if isinstance(here, list):
            known = [str(place) for place in range(len(here))]
        fits = [name for name in known if rest == name or rest.startswith(f"{name}.")]
        if not fits:
            told = f"{key[: len(key) - len(rest)]}{rest.partition('.')[0]}"
            raise UsageError(f"there is no key {told!r}{suggestion(rest.partition('.')[0], known)}")
        name = max(fits, key=len)
        path.append(int(name) if isinstance(here, list) else name)
        here = _at(document, tuple(path))
        rest = rest[len(name) + 1 :]
    return tuple(path)


def _at(document: object, path: Keys) -> object:
    for step in path:
        try:
            document = document[step]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def _schema_at(schema: dict[str, object], document: object, path: Keys) -> dict[str, object]:
    """What the schema says of a path; where there are alternatives, of the one that the document has chosen."""
    here: dict[str, object] = schema
    for place in range(len(path) + 1):
        here = _chosen(schema, here, _at(document, path[:place]))
        if place == len(path):
            break
        properties, step = here.get("properties"), path[place]
        inner = properties.get(step) if isinstance(properties, dict) else None
        inner = inner or here.get("items") or here.get("additionalProperties")
        here = inner if isinstance(inner, dict) else {}
    return here


def _chosen(schema: dict[str, object], here: dict[str, object], value: object) -> dict[str, object]:
    """The alternative that fits a value best: by the word that says its kind, else by its keys."""
    about = {key: text for key, text in here.items() if key in ("description", "default")}
    if "$ref" in here:
        name = str(here["$ref"]).rpartition("/")[2]
        seams = schema["$defs"]
        assert isinstance(seams, dict)
        here = {**seams[name], **about}
    arms = here.get("anyOf")
    if not isinstance(arms, list) or "properties" in here:
        return here
    tables = [arm for arm in arms if isinstance(arm, dict) and isinstance(arm.get("properties"), dict)]
    keys = value if isinstance(value, dict) else {}
    for arm in tables:
        for word in ("backend", "composition", "kind"):
            if keys.get(word) in arm["properties"].get(word, {}).get("enum", ()):
                return {**arm, **about}
    fitting = (arm for arm in tables if keys and keys.keys() <= arm["properties"].keys())
    return {**next(fitting, {}), **about}
