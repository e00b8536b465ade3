"""Options that several verbs share, and the completion of names in the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def _names(context: typer.Context, section: str) -> list[str]:
    """The configuration's names for the shell; a shell that completes is no place for errors."""
    try:
        from motet.api import configuration

        return list(getattr(configuration(context.params.get("config")), section))
    except Exception:
        return []


def complete_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Mixtures, agents and models that begin so."""
    return [name for name in _names(ctx, "names") if name.startswith(incomplete)]


def complete_lists(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same for the last name of a list with commas."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _names(ctx, "names") if name.startswith(last)]


def complete_pool(incomplete: str) -> list[str]:
    """Models of the embedded pool that begin so."""
    from motet.pool import CATALOGUE

    return [model.name for model in CATALOGUE if model.name.startswith(incomplete)]


def complete_runs(incomplete: str) -> list[str]:
    """Kept runs that begin so, newest first."""
    try:
        from motet.runs import kept

        return [name for name in ("last", *kept()[:50]) if name.startswith(incomplete)]
    except Exception:
        return []


def complete_benches(incomplete: str) -> list[str]:
    """Runs of bench that begin so, newest first."""
    try:
        from motet.bench.run import KIND
        from motet.journal import Journal, default_path

        with Journal(default_path()) as journal:
            runs = [run.name for run in journal.runs() if run.kind == KIND]
        return [name for name in ("last", *runs[:-50:-1]) if name.startswith(incomplete)]
    except Exception:
        return []


def complete_suites(incomplete: str) -> list[str]:
    """Built-in suites that begin so."""
    from motet.bench.suite import BUILT_IN

    return [name for name in BUILT_IN if name.startswith(incomplete)]


def group(about: str) -> typer.Typer:
    """Verbs under one name; the name alone shows them."""
    made = typer.Typer(help=about, invoke_without_command=True)

    @made.callback()
    def alone(ctx: typer.Context) -> None:
        if ctx.invoked_subcommand is None:
            typer.echo(ctx.get_help())

    return made


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="PATH",
        help="The configuration file; by default the closest motet.toml, or $MOTET_CONFIG.",
    ),
]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A kept run: its id or the beginning of it, `last`, or a trace file.",
        autocompletion=complete_runs,
    ),
]
