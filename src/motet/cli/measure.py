"""`motet measure`: whether mixing the agents of a table helps, how much it ever could, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli.options import Json

if TYPE_CHECKING:
    from motet.page.page import Section

NAME = 14
"""Columns of a terminal that names and remarks need at least."""


class Missing(StrEnum):
    """How missing cells are treated."""

    complete = "complete"
    pairwise = "pairwise"


def measure(
    ctx: typer.Context,
    table: Annotated[
        list[Path],
        typer.Argument(metavar="TABLE...", help="Outcomes of agents on items: a file, a folder, or several."),
    ],
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="The agents' answers, items by agents.")] = None,
    gold: Annotated[Path | None, typer.Option(metavar="FILE", help="The right answers: item and answer.")] = None,
    cost: Annotated[Path | None, typer.Option(metavar="FILE", help="US dollars, items by agents.")] = None,
    tokens: Annotated[Path | None, typer.Option(metavar="FILE", help="Tokens, items by agents.")] = None,
    latency: Annotated[Path | None, typer.Option(metavar="FILE", help="Seconds, items by agents.")] = None,
    samples: Annotated[
        str | None, typer.Option(metavar="N|FILE", help="How many samples a cell is the share of.")
    ] = None,
    group: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The family of each agent: agent and family.")
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="AGENT", help="Leave this agent out; may be given several times.")
    ] = None,
    k: Annotated[int, typer.Option("--k", metavar="N", min=2, max=20, help="Members of the largest committee.")] = 5,
    budget: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="What a committee may cost an item, in the unit of the costs."),
    ] = None,
    missing: Annotated[
        Missing, typer.Option(help="Items with missing cells: left out, or kept for the pairs that have them.")
    ] = Missing.complete,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="The format of the table, where it can't be told.")
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="A,B", help="These sections only, as in ceiling,votes.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Seed of what is drawn at random.")] = 0,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with charts as well.")] = None,
    json: Json = False,
) -> None:
    """Say whether mixing agents helps, and why.

    From a table that says which agent was right on which item: how much any combination could add, what votes add, who
    complements whom, and how sure that is. No model is asked.
    """
    from difflib import get_close_matches

    from motet import __version__
    from motet.cli import output
    from motet.diagnosis.diagnose import diagnose
    from motet.diagnosis.options import Options
    from motet.errors import UsageError
    from motet.tables.read import read

    if html is not None:
        sides = (answers, gold, cost, tokens, latency, group, Path(samples) if samples else None)
        check_page(html, [*table, *(side for side in sides if side is not None)])
    options = Options(k=k, budget=budget, missing=missing.value, seed=seed)
    with working() as step:
        step("reading")
        found = read(
            table[0] if len(table) == 1 else table,
            answers=answers,
            gold=gold,
            cost=cost,
            tokens=tokens,
            latency=latency,
            samples=samples,
            groups=group,
            format=format,
        )
        if without:
            unknown = [name for name in without if name not in found.agents]
            if unknown:
                near = get_close_matches(unknown[0], found.agents, 1)
                hint = f"; did you mean {near[0]!r}?" if near else "; give --without once for each"
                raise UsageError(f"--without {unknown[0]}: there is no such agent in {found.source}{hint}")
            found = found.select(agents=[name for name in found.agents if name not in without])
        made = diagnose(
            found, options, only=[name.strip() for name in (only or "").split(",") if name.strip()], step=step
        )
        if html is not None:
            step("drawing")
            title = f"Does mixing help? {Path(made.about.source).name}"
            write_page(html, title, made.sections(), f"motet {__version__}, seed {made.options.seed}")
    if json:
        output.json(made)
    else:
        show(made.sections())
    if html is not None:
        output.say(f"wrote {html}")


@contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Say on a terminal what is being computed; nothing moves elsewhere."""
    from motet.cli import output

    if not output.animated():
        yield lambda _: None
        return
    with output.stderr().status("") as status:
        yield lambda what: status.update(f"{what} …")


def show(sections: Sequence[Section]) -> None:
    """Write a report for people; the charts are for the page."""
    from motet.cli import output
    from motet.page.page import Rows, Words

    for place, section in enumerate(sections):
        output.data(f"{'' if not place else chr(10)}{section.title.upper()}\n\n")
        for block in section.blocks:
            match block:
                case Words(text, kind):
                    output.paragraph({"warning": "! ", "note": ""}.get(kind, "") + text)
                case Rows(columns, rows):
                    fits = fitting(columns, rows)
                    # Names are wrapped, and remarks, which stand under no heading.
                    shown = output.table(columns[:fits], [row[:fits] for row in rows], wraps=(*columns[:1], ""))
                    output.show(shown)
                    output.data("\n")
                    if fits < len(columns):
                        left = ", ".join(filter(None, columns[fits:])) or "remarks"
                        output.paragraph(f"Too narrow here for: {left}.\n")
                case _:
                    pass


def fitting(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How many of the columns a terminal has room for with every figure whole; all of them elsewhere."""
    import sys

    from rich.cells import cell_len

    from motet.cli import output

    if not sys.stdout.isatty():
        return len(columns)
    sizes = [max(map(cell_len, column)) for column in zip(columns, *rows, strict=True)]
    needed = [
        3 + (min(size, NAME) if place == 0 or not name else size)
        for place, (name, size) in enumerate(zip(columns, sizes, strict=True))
    ]
    room = output.stdout().width + 2
    return next((fits for fits in range(len(columns), 2, -1) if sum(needed[:fits]) <= room), 2)


def check_page(path: Path, inputs: Iterable[Path]) -> None:
    """Refuse a place for the page where it would replace anything but an older page.

    Raises:
        UsageError: it is a folder, a device or a pipe, one of the files that are read, or none that can be.
    """
    from motet.errors import UsageError

    try:
        if path.is_dir():
            raise UsageError(f"--html {path} is a folder: give a file")
        if not path.exists():
            return
        if not path.is_file():
            raise UsageError(f"--html {path} is no plain file: give another one")
        for each in inputs:
            if each.exists() and each.samefile(path):
                raise UsageError(f"--html {path} would replace {each}, which is read: give another file")
        with path.open("rb") as old:
            if old.read(15).lower() not in (b"", b"<!doctype html>"):
                raise UsageError(f"--html {path} would replace a file that is no page: give another one")
    except (OSError, ValueError) as error:
        raise UsageError(f"--html {path} can't be written ({_why(error)}): give another file") from None


def write_page(path: Path, title: str, sections: Sequence[Section], footer: str) -> None:
    """Write a page, all of it or nothing.

    Raises:
        UsageError: it can't be written there.
    """
    import os

    from motet.errors import UsageError
    from motet.page.page import page

    text = page(title, sections, footer=footer)
    target = Path(os.path.realpath(path))  # a link stays one
    # The name is no part of the temporary one, which would be too long where the name is nearly so.
    partial = target.with_name(f".motet-{os.getpid()}.part")
    try:
        try:
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"--html {path} can't be written ({_why(error)}): give another file") from None


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
