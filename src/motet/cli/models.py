"""`motet models`: the embedded pool, and what the configuration can call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli import options
from motet.cli.options import Config, Json

if TYPE_CHECKING:
    from motet.cli.shapes import ConfiguredModel, PoolModel
    from motet.pool import ModelStatus
    from motet.spec import Config as Configuration

app = options.group("List, fetch, verify and remove the embedded models.")
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME]…", help="Models of the pool.", autocompletion=options.complete_pool),
]
All = Annotated[bool, typer.Option("--all", help="All of them.")]


@app.command("list")
def list_(config: Config = None, json: Json = False) -> None:
    """List the embedded models and those that the configuration names."""
    from motet.api import configuration
    from motet.cli import output, shapes
    from motet.paths import cache_dir
    from motet.pool import status

    pool, known = status(), configuration(config)
    configured = [_configured(known, name) for name in known.models]
    if json:
        output.json(shapes.Models([_pooled(model) for model in pool], configured))
        return
    rows = [(model.name, model.title, model.license, output.size(model.size), _state(model)) for model in pool]
    output.show(output.table(("pool", "model", "licence", "size", "state"), rows, wraps=("model", "licence")))
    terms = [f"the terms of {model.name}: {model.license_url}\n" for model in pool if _has_terms(model)]
    if terms:
        output.data("\n" + "".join(terms))
    others = [(each.name, each.backend, each.model, ", ".join(each.needs) or "–", each.where) for each in configured]
    output.data(f"\nthey lie in {cache_dir() / 'models'}\n\n")
    output.show(output.table(("configured", "backend", "model", "needs", "where"), others, wraps=("model", "needs")))


@app.command()
def fetch(
    names: Names = None,
    all_: All = False,
    accept_license: Annotated[
        bool, typer.Option("--accept-license", help="Accept the terms of models that have some.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Fetch anew what is here already.")] = False,
    json: Json = False,
) -> None:
    """Fetch embedded models.

    It may be stopped at any moment: the next fetch goes on from there.
    """
    from motet.cli import fetching, output, shapes

    found = {}
    for name in _chosen(names, all_):
        found[name] = str(fetching.get(name, accept_license=accept_license, force=force))
        output.say(f"{name} is here: {found[name]}", style="green")
    if json:
        output.json(shapes.Fetched(found))


@app.command()
def verify(names: Names = None, all_: All = False, json: Json = False) -> None:
    """Compare the checksums of fetched models.

    Without a name, of every one that is here.
    """
    from motet import pool
    from motet.cli import output, shapes

    chosen = _chosen(names, all_) if names else [model.name for model in pool.status() if all_ or model.path]
    found = {}
    for name in chosen:
        pool.verify(name)
        found[name] = str(pool.path_of(name))
        output.say(f"{name} is right: {found[name]}", style="green")
    if not chosen:
        output.say("there is no model here to verify: motet models fetch --all")
    if json:
        output.json(shapes.Fetched(found))


@app.command()
def remove(names: Names = None, all_: All = False, json: Json = False) -> None:
    """Delete embedded models from this machine."""
    from motet import pool
    from motet.cli import output, shapes

    freed = {}
    for name in _chosen(names, all_):
        freed[name] = pool.remove(name)
        output.say(f"{name}: {output.size(freed[name])} freed" if freed[name] else f"{name} was not here")
    if json:
        output.json(shapes.Removed(freed))


def _chosen(names: list[str] | None, every: bool) -> list[str]:
    """The models that are meant, checked before anything is done to the first."""
    from motet.errors import UsageError
    from motet.pool import CATALOGUE
    from motet.spec.read import suggestion

    known = [model.name for model in CATALOGUE]
    if bool(names) == every:
        raise UsageError(f"name models of the pool, or give --all; there are: {', '.join(known)}")
    for name in names or ():
        if name not in known:
            raise UsageError(f"the pool has no model {name!r}{suggestion(name, known)}")
    return list(dict.fromkeys(names or known))


def _state(model: ModelStatus) -> str:
    from motet.cli.output import size

    if model.path is not None:
        return "here" if model.verified else "here, not verified"
    if model.unfinished:
        return f"{size(model.unfinished)} of {size(model.download_size)} fetched"
    return "not here; has terms" if _has_terms(model) else "not here"


def _has_terms(model: ModelStatus) -> bool:
    """Whether there are terms that are still to be accepted."""
    return model.must_accept and not model.accepted


def _pooled(model: ModelStatus) -> PoolModel:
    from motet.cli import shapes

    return shapes.PoolModel(
        name=model.name,
        title=model.title,
        license=model.license,
        license_url=model.license_url,
        must_accept=model.must_accept,
        accepted=model.accepted.isoformat() if model.accepted else None,
        size=model.size,
        download_size=model.download_size,
        unfinished=model.unfinished,
        path=str(model.path) if model.path else None,
        verified=model.verified.isoformat() if model.verified else None,
    )


def _configured(config: Configuration, name: str) -> ConfiguredModel:
    from motet.cli import shapes
    from motet.cli.fetching import backend

    table = config.document["models"]
    assert isinstance(table, dict)
    entry = table[name]
    what = entry.get("model") or entry.get("path") or entry.get("function") or ""
    base = f" at {entry['base_url']}" if entry.get("base_url") else ""
    return shapes.ConfiguredModel(
        name=name,
        backend=backend(entry),
        model=f"{what}{base}",
        where=config.where(("models", name)),
        needs=needs(config, name, {name: entry}),
    )


def needs(config: Configuration, name: str, models: dict[str, object]) -> list[str]:
    """What is still needed before a name can be asked: variables to set, models to fetch."""
    from motet.cli.fetching import absent

    variables = [f"${variable}" for variable in config.missing_variables(name)]
    return [*variables, *dict.fromkeys(model.name for model in absent(models).values())]
