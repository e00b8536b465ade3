"""The verbs put together, and what happens when one fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from motet.cli import agents, ask, bench, config, doctor, init, journal, measure, mixtures, models, replay, trace
from motet.cli.codes import Code, code_of
from motet.errors import MotetError

EPILOG = "First: motet models fetch smollm2-135m. Then: motet ask 'Who wrote Faust?'"

app = typer.Typer(
    name="motet",
    help="Ask mixtures of different agents: they answer together.",
    epilog=EPILOG,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help comes 0.15 s sooner
)
app.command(context_settings={"allow_extra_args": True})(ask.ask)
app.command()(mixtures.mixtures)
app.command()(agents.agents)
app.command()(replay.replay)
app.command()(measure.measure)
app.command()(doctor.doctor)
app.command()(init.init)
app.add_typer(models.app, name="models")
app.add_typer(config.app, name="config")
app.add_typer(trace.app, name="trace")
app.add_typer(journal.app, name="journal")
app.add_typer(bench.app, name="bench")

_Refused: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises when the command line itself makes no sense; it has no public name."""


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
) -> None:
    if version:
        from motet import __version__
        from motet.cli.output import data

        data(f"motet {__version__}\n")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def run(arguments: Sequence[str]) -> int:
    """Run a command line.

    Args:
        arguments: what stands after `motet`.

    Returns:
        The exit code. Whatever motet raises on purpose has been told in a line by then; a bug is raised.
    """
    from typer.main import get_command

    from motet.cli.output import Unread

    for name in ("stdout", "stderr"):  # closed by whoever started this: there is nobody to tell
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    try:
        code = int(get_command(app).main(list(arguments), prog_name="motet", standalone_mode=False) or 0)
        if code in (Code.INTERRUPTED, Code.TERMINATED) and "--json" in arguments:
            _object(KeyboardInterrupt("interrupted"))
        return code
    except Unread:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed at exit
        return 0
    except _Refused as error:
        return _told(_usage(error), arguments)
    except MotetError as error:
        return _told(error, arguments)


def _usage(error: Exception) -> MotetError:
    from motet.errors import UsageError

    context = getattr(error, "ctx", None)
    said = str(getattr(error, "format_message", lambda: error)()).rstrip(".")
    where = f": see `{context.command_path} --help`" if context is not None else ""
    return UsageError(f"{said[:1].lower()}{said[1:]}{where}")


def _told(error: MotetError, arguments: Sequence[str]) -> int:
    """Say what happened, on stderr and where JSON was asked for on stdout too."""
    from motet.cli import output

    for line in str(error).splitlines():
        output.say(f"motet: {line}", style="red")
    if "--json" in arguments:
        _object(error)
    return int(code_of(error))


def _object(error: BaseException) -> None:
    from motet.cli import output, shapes

    output.json(shapes.Failed(shapes.Problem.of(error)))
