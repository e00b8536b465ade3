"""`motet journal`: what was paid for, and how to look at it, make it smaller, and take it along."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli.options import Json, group

if TYPE_CHECKING:
    from motet.journal import Journal

app = group("Look into the journal of paid calls, and prune it.")
File = Annotated[
    Path | None,
    typer.Option("--file", metavar="PATH", help="The journal; by default the one of this user."),
]
DAY = 86_400.0


@app.command()
def stats(file: File = None, json: Json = False) -> None:
    """Say what lies in it: runs, calls and how they ended, what they cost, bytes."""
    from motet.cli import output, shapes

    with _journal(file) as journal:
        found = journal.stats()
    ledger = shapes.Ledger(
        path=found.path,
        bytes=found.bytes,
        schema=found.schema,
        runs=found.runs,
        records=found.records,
        calls=found.calls,
        states=found.states,
        unfinished=found.unfinished,
        usage=shapes.Spent.of(found.usage),
        first=_date(found.first),
        last=_date(found.last),
    )
    if json:
        output.json(ledger)
        return
    ends = ", ".join(f"{count:,} {state}" for state, count in ledger.states.items()) or "none"
    used = ledger.usage
    output.data(
        f"{ledger.path}: {output.size(ledger.bytes)}, schema {ledger.schema}\n"
        f"runs: {ledger.runs:,}, with {ledger.records:,} records\n"
        f"calls: {ledger.calls:,}"
        + (f", {ledger.first} to {ledger.last}\n" if ledger.calls else "\n")
        + f"ended: {ends}\n"
        f"unfinished: {ledger.unfinished:,} (under way, or cut off by a kill)\n"
        f"used: {used.calls:,} calls, {used.input:,} + {used.output:,} tokens, ${used.usd:.4f}, {used.seconds:.1f} s\n"
    )


@app.command()
def vacuum(file: File = None, json: Json = False) -> None:
    """Give the room that pruning left free back to the disk."""
    from motet.cli import output, shapes

    with _journal(file) as journal:
        before, after = journal.vacuum()
        path = str(journal.path)
    if json:
        output.json(shapes.Vacuumed(path=path, before=before, after=after))
    else:
        output.data(f"{path}: {output.size(before)} before, {output.size(after)} now\n")


@app.command()
def export(
    out: Annotated[str, typer.Argument(metavar="[OUT|-]", help="Where to; `-` or nothing is stdout.")] = "-",
    file: File = None,
    json: Json = False,
) -> None:
    """Write everything as JSON lines: runs, their records, calls.

    With --json a file has to be named for the lines: stdout gets one object.
    """
    from motet.cli import output, shapes
    from motet.errors import MotetError, UsageError

    if json and out == "-":
        raise UsageError("with --json stdout gets one object: name a file for the lines")
    with _journal(file) as journal:
        if out == "-":
            journal.export(_Stdout())
            return
        path = Path(out)
        part = path.with_name(f"{path.name}.part")
        try:
            with part.open("wb") as stream:
                lines = journal.export(stream)
            part.replace(path)
        except OSError as error:
            raise MotetError(f"{path} can't be written: {error.strerror or error}; name another file") from None
        finally:
            part.unlink(missing_ok=True)
    if json:
        output.json(shapes.Dumped(path=str(path), lines=lines))
    else:
        output.say(f"{lines:,} lines are in {path}", style="green")


@app.command()
def prune(
    older_than: Annotated[
        float | None, typer.Option("--older-than", metavar="DAYS", min=0, help="What is older than this goes.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", min=0, help="The newest runs of each kind that stay.")
    ] = None,
    file: File = None,
    json: Json = False,
) -> None:
    """Delete what is old: runs with their records, and calls with their replies.

    What a run that stays has paid for stays too, and so does a run that is open.
    """
    from motet.cli import output, shapes

    with _journal(file) as journal:
        found = journal.prune(older_than=None if older_than is None else older_than * DAY, keep=keep)
        path = str(journal.path)
    if json:
        output.json(shapes.Pruned(path=path, runs=found.runs, records=found.records, calls=found.calls))
        return
    output.data(f"gone: runs {found.runs:,}, records of theirs {found.records:,}, calls {found.calls:,}\n")
    if found.runs + found.calls:
        output.say("to give the room back to the disk: motet journal vacuum")


def _journal(file: Path | None) -> Journal:
    from motet.errors import UsageError
    from motet.journal import Journal, default_path

    path = file or default_path()
    if not path.is_file():
        raise UsageError(f"there is no journal {path}: name another one with --file")
    return Journal(path)


class _Stdout:
    """Bytes that go to stdout."""

    def write(self, content: bytes) -> None:
        from motet.cli import output

        output.data(content.decode())


def _date(moment: float | None) -> str | None:
    """ISO 8601, to the second."""
    if moment is None:
        return None
    return datetime.datetime.fromtimestamp(moment, datetime.UTC).isoformat(timespec="seconds")
