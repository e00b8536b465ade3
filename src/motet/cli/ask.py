"""`motet ask`: a question to a mixture; the answer on stdout, how it came about on stderr."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli import options
from motet.cli.options import Config, Json

if TYPE_CHECKING:
    from rich.table import Table

    from motet.api import Asked
    from motet.budget import Budget
    from motet.outcome import Result
    from motet.spec import Config as Configuration
    from motet.trace import Watcher

MOST = 16_000_000
"""Bytes of a question that are read: more than any model's context holds."""
SHOWN = ("replies", "graph")
EXAMPLE = "motet ask 'What is 17 * 23?'"


def ask(
    ctx: typer.Context,
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION|-", help="The question, in quotes; - reads it from stdin.")
    ] = None,
    mixture: Annotated[
        str,
        typer.Option(
            "--mixture",
            "-m",
            metavar="NAME",
            help="Who is asked: a mixture, an agent or a model; see `motet mixtures`.",
            autocompletion=options.complete_names,
        ),
    ] = "",
    agents: Annotated[
        str,
        typer.Option(
            "--agents",
            metavar="A,B,C",
            help="Agents that take the place of the mixture's members.",
            autocompletion=options.complete_lists,
        ),
    ] = "",
    show: Annotated[
        str, typer.Option(metavar="WHAT", help="Show on stderr: replies (every member's), graph (who heard whom).")
    ] = "",
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what it would cost at most; ask nobody.")] = False,
    seed: Annotated[int, typer.Option(help="Same seed, same run.")] = 0,
    trace: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the trace of the run there as well.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream/--no-stream", help="Show the answer as it is written, on a terminal.")
    ] = True,
    budget_usd: Annotated[float | None, typer.Option(metavar="N", min=0, help="US dollars at most.")] = None,
    budget_calls: Annotated[int | None, typer.Option(metavar="N", min=0, help="Calls to models at most.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(metavar="N", min=0, help="Tokens at most, in and out.")] = None,
    budget_seconds: Annotated[float | None, typer.Option(metavar="N", min=0, help="Seconds at most.")] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Ask a question; several agents answer it together.

    The answer goes to stdout. Exit codes: 0 an answer; 3 an answer, but somebody was missing or a limit ended the run;
    4 no answer within the limits; 69 no answer, because models failed; 1 no answer otherwise (all abstained, the reply
    was cut); 2 and 78 for what is wrong with the command or the configuration; 130 after Ctrl-C.
    """
    from motet import api
    from motet.errors import UsageError

    if ctx.args:
        raise UsageError(f"the question is {len(ctx.args) + 1} separate words: put it in quotes, as in {EXAMPLE}")
    question = _question(question)
    views = _views(show)
    members = [name.strip() for name in agents.split(",") if name.strip()] if agents else None
    if members == []:
        raise UsageError("--agents names nobody: give names with commas between them, as in --agents a,b")
    if trace is not None and trace.is_dir():
        raise UsageError(f"--trace {trace} is a folder: give a file")
    known = api.configuration(config)
    if members:
        known = known.committee(members, mixture)
        mixture = known.default
    purse = _purse(known, budget_usd, budget_calls, budget_tokens, budget_seconds)
    if estimate:
        _estimate(known, mixture, question, purse, json)
        return
    from motet.cli import fetching
    from motet.cli.codes import code_of_result

    fetching.ensure(known, mixture or known.default)
    asked = api.prepare(mixture or None, config=known, budget=purse)
    if trace is not None:
        _writable(trace)
    result = _perform(asked, question, seed, trace, stream)
    report(result, views, json)
    raise typer.Exit(code_of_result(result))


def report(result: Result, views: list[str], json: bool) -> None:
    """Say what came of a run: the answer on stdout; what is missing, and what was asked to be shown, on stderr."""
    from motet.cli import output, shapes
    from motet.cli.trace import graph
    from motet.printable import printable

    if "replies" in views:
        output.stderr().print(_replies(result))
    if "graph" in views:
        output.stderr().print(printable(graph(result.trace)), soft_wrap=True)
    if json:
        output.json(shapes.Answer.of(result))
    elif result.reply is not None:
        output.data(result.reply.text.strip() + "\n")
    for warning in result.warnings:
        output.say(f"note: {' '.join(warning.split())}", style="dim")
    if result.reply is None:
        output.say(f"motet: no answer: {' '.join(str(result.error).split())}", style="red")
        return
    for failure in result.outcome.missing:
        output.say(f"missing: {' '.join(str(failure).split())}", style="yellow")
    if result.stopped:
        output.say(f"stopped: the limit of {result.stopped} was reached; this is the best so far", style="yellow")


def _question(given: str | None) -> str:
    """The question, from the command line or from stdin.

    Raises:
        UsageError: there is none, or it is no text.
    """
    from motet.errors import UsageError

    if given is None and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError(f"there is no question: {EXAMPLE}, or give it on stdin")
    question = _from_stdin() if given in (None, "-") else given or ""
    if any("\ud800" <= each <= "\udfff" for each in question):
        raise UsageError("the question holds bytes that are no text in this locale: give it as UTF-8")
    if not question.strip():
        raise UsageError(f"the question is empty: say what is to be answered, as in {EXAMPLE}")
    return question


def _writable(trace: Path) -> None:
    """See that a trace can be written, before a call is paid for; what stands in the file stays until the run begins.

    Raises:
        UsageError: it can't.
    """
    from motet.errors import UsageError

    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        if not trace.exists() or trace.is_file():  # whoever reads a pipe would take the closing for the end
            trace.open("a").close()
    except OSError as error:
        raise UsageError(f"--trace {trace} can't be written ({error.strerror}): give another file") from None


def _from_stdin() -> str:
    from motet.errors import UsageError

    content = sys.stdin.buffer.read(MOST + 1)
    if len(content) > MOST:
        raise UsageError(f"the question on stdin is longer than {MOST:,} bytes: no model takes so much, give less")
    try:
        text = content.decode("utf-8-sig")
        place = text.find("\0")
    except UnicodeDecodeError as error:
        text, place = "", error.start
    if place >= 0:
        raise UsageError(f"what comes on stdin is no UTF-8 text (byte {place:,}): give the question as text")
    return text.strip()


def _views(show: str) -> list[str]:
    from motet.errors import UsageError
    from motet.spec.read import suggestion

    views = [view.strip() for view in show.split(",") if view.strip()]
    for view in views:
        if view not in SHOWN:
            raise UsageError(f"--show does not know {view!r}{suggestion(view, SHOWN)}")
    return views


def _purse(
    config: Configuration, usd: float | None, calls: int | None, tokens: int | None, seconds: float | None
) -> Budget:
    """The configuration's purse, with the limits that the command line gives instead."""
    from motet.budget import Budget

    base = config.budget()
    return Budget(
        usd=base.usd if usd is None else usd,
        calls=base.calls if calls is None else calls,
        tokens=base.tokens if tokens is None else tokens,
        seconds=base.seconds if seconds is None else seconds,
    )


def _estimate(config: Configuration, mixture: str, question: str, purse: Budget, json: bool) -> None:
    from motet.cli import output, shapes
    from motet.cli.mixtures import estimated

    found = estimated(config, mixture, question)
    name = mixture or config.default
    if json:
        output.json(shapes.Price.of(name, found, purse.usd))
        return
    lines = [
        f"{name}: at most {found.calls} calls, {found.depth} in series, {found.input + found.output:,} tokens "
        f"({found.input:,} in, {found.output:,} out), ${found.usd:.4f}"
    ]
    if found.unpriced:
        lines.append(f"counted as $0, since no price is known: {', '.join(found.unpriced)}")
    if purse.usd is not None and found.usd > purse.usd:
        lines.append(f"the cap of ${purse.usd:g} may end it early: --budget-usd raises it")
    output.data("\n".join(lines) + "\n")


def _perform(asked: Asked, question: str, seed: int, trace: Path | None, stream: bool) -> Result:
    """Put the question: kept as it goes, drawn where somebody looks, cancelled by Ctrl-C."""
    from motet import api
    from motet.cli import output
    from motet.cli.live import View, live
    from motet.runs import TraceFile

    keeper, file = asked.keeper(), TraceFile(trace) if trace is not None else None
    watchers: list[Watcher] = [file] if file is not None else []
    view = View()
    drawn = output.animated()
    if drawn:
        watchers.append(view)
    try:
        with live(view) if drawn else contextlib.nullcontext():
            put = asked.put(question, seed=seed, watchers=watchers, stream=drawn and stream, keeper=keeper)
            return api.background(put)
    except KeyboardInterrupt:
        where = f"; what was said so far is kept: motet trace show {keeper.run}" if keeper.begun else ""
        output.say(f"motet: interrupted{where}", style="yellow")
        raise
    finally:
        if file is not None:
            file.close()
        for kept in (keeper, file):
            if kept is not None and kept.trouble:
                output.say(f"note: {kept.trouble}", style="yellow")


def _replies(result: Result) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from motet.cli.live import FAILED, MARKS
    from motet.cli.trace import numbered
    from motet.printable import printable

    table = Table(box=box.ROUNDED, header_style="bold", show_lines=True)
    for name in ("agent", "state", "seconds", "reply"):
        table.add_column(name, justify="right" if name == "seconds" else "left", overflow="fold")
    for member in result.replies:
        mark, style = MARKS.get(member.state, FAILED)
        table.add_row(
            Text(numbered(member.agent, member.path)),
            Text(f"{mark} {member.state}", style=style),
            f"{member.seconds:.1f}",
            Text(printable(member.text)),
        )
    return table
