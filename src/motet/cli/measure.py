"""`motet measure`: whether mixing the agents of a table helps, how much it ever could, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli.options import Json

if TYPE_CHECKING:
    from motet.diagnosis.diagnose import Diagnosis


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
    from motet.cli import output
    from motet.diagnosis.diagnose import diagnose
    from motet.diagnosis.options import Options
    from motet.errors import UsageError
    from motet.tables.read import read

    if html is not None and html.is_dir():
        raise UsageError(f"--html {html} is a folder: give a file")
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
            samples=int(samples) if samples and samples.isdigit() else samples,
            groups=group,
            format=format,
        )
        if without:
            unknown = [name for name in without if name not in found.agents]
            if unknown:
                raise UsageError(f"--without {unknown[0]}: there is no such agent in {found.source}")
            found = found.select(agents=[name for name in found.agents if name not in without])
        made = diagnose(
            found, options, only=[name.strip() for name in (only or "").split(",") if name.strip()], step=step
        )
        if html is not None:
            step("drawing")
            write(html, made)
    if json:
        output.json(made)
    else:
        show(made)
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


def show(made: Diagnosis) -> None:
    """Write the diagnosis for people; the charts are for the page."""
    from motet.cli import output
    from motet.page.page import Rows, Words

    for place, section in enumerate(made.sections()):
        output.data(f"{'' if not place else chr(10)}{section.title.upper()}\n\n")
        for block in section.blocks:
            match block:
                case Words(text, kind):
                    output.paragraph({"warning": "! ", "note": ""}.get(kind, "") + text)
                case Rows(columns, rows):
                    output.show(output.table(columns, rows, wraps=columns[:1]))
                    output.data("\n")
                case _:
                    pass


def write(path: Path, made: Diagnosis) -> None:
    """Write the page, all of it or nothing.

    Raises:
        UsageError: it can't be written there.
    """
    import os

    from motet import __version__
    from motet.errors import UsageError
    from motet.page.page import page

    title = f"Does mixing help? {Path(made.about.source).name}"
    text = page(title, made.sections(), footer=f"motet {__version__}, seed {made.options.seed}")
    partial = path.with_name(f".{path.name}.part")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UsageError(f"--html {path} can't be written ({error.strerror}): give another file") from None
