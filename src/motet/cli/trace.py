"""`motet trace`: the runs that were kept, and what happened in them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from motet.cli.options import Json, RunName, group

if TYPE_CHECKING:
    from motet.cli.shapes import Kept
    from motet.trace import Trace

app = group("List, show and export the runs that were kept.")


class Format(StrEnum):
    """What a run can be exported as."""

    mermaid = "mermaid"
    dot = "dot"
    jsonl = "jsonl"


@app.command("list")
def list_(
    most: Annotated[int, typer.Option("-n", metavar="N", min=1, help="How many.")] = 20, json: Json = False
) -> None:
    """List the newest runs."""
    from motet.cli import output, shapes
    from motet.runs import summaries
    from motet.view import shortened

    found = [_kept(run, trace) for run, trace in summaries(most)]
    if json:
        output.json(shapes.Runs(found))
        return
    if not found:
        output.say("no run was kept yet: motet ask 'What is 17 * 23?'")
        return
    rows: list[tuple[str, ...]] = [
        (
            each.run_id,
            each.mixture,
            each.outcome or "interrupted",
            "–" if each.calls is None else str(each.calls),
            "–" if each.usd is None else f"{each.usd:.4f}",
            "–" if each.seconds is None else f"{each.seconds:.1f}",
            shortened(each.question, 50),
            shortened(each.answer or "–", 30),
        )
        for each in found
    ]
    columns: tuple[str, ...] = ("run", "mixture", "outcome", "calls", "USD", "s", "question", "answer")
    if output.stdout().width < output.NARROW:
        left_out = [columns.index(name) for name in ("USD", "s")]
        columns, *rows = (
            tuple(cell for place, cell in enumerate(row) if place not in left_out) for row in (columns, *rows)
        )
    output.show(output.table(columns, rows, cut=("question", "answer")))


@app.command()
def show(run: RunName = "last", json: Json = False) -> None:
    """Show who was asked, how it ended, and who heard whom."""
    from motet.cli import output, shapes
    from motet.runs import load
    from motet.view import nodes

    trace = load(run)
    kept = _kept("", trace)
    if json:
        heard = _heard(trace)
        asks = [
            shapes.Ask(
                path=node.path,
                agent=node.agent,
                state=node.state,
                text=node.text,
                seconds=shapes.seconds(node.seconds),
                heard=heard.get(node.path, []),
            )
            for node in nodes(trace)
        ]
        output.json(shapes.Run(kept, asks))
        return
    about = [f"{kept.run_id}  {kept.mixture}  {kept.outcome or 'interrupted'}"]
    if kept.calls is not None and kept.usd is not None and kept.seconds is not None:
        about.append(f"{kept.calls} calls  ${kept.usd:.4f}  {kept.seconds:.2f} s")
    lines = ["  ".join(about), f"question: {' '.join(kept.question.split())}", "", graph(trace)]
    if kept.answer is not None:
        lines += ["", f"answer: {kept.answer}"]
    output.data("\n".join(lines) + "\n")


@app.command()
def export(
    run: RunName = "last",
    format_: Annotated[Format, typer.Option("--format", "-f", help="As what.")] = Format.mermaid,
    json: Json = False,
) -> None:
    """Print a run as a graph, or as its events."""
    from motet.cli import output, shapes
    from motet.runs import load
    from motet.trace import Trace
    from motet.view import dot, mermaid

    trace = load(run)
    texts = {Format.mermaid: mermaid, Format.dot: dot, Format.jsonl: Trace.to_jsonl}
    text = texts[format_](trace)
    if json:
        output.json(shapes.Exported(run_id=_kept("", trace).run_id, format=format_.value, text=text))
    else:
        output.data(text)


def graph(trace: Trace) -> str:
    """The tree of a run, and who heard whom."""
    from motet.view import tree

    heard = [f"{_short(one)} ← {', '.join(map(_short, sources))}" for one, sources in _heard(trace).items()]
    return "\n".join([tree(_numbered(trace)), *(["", "who heard whom", *heard] if heard else [])])


def numbered(agent: str, path: str) -> str:
    """The name of who was asked, with the number of the ask where it was not the first there.

    >>> numbered("critic", "/debate/critic#1"), numbered("critic", "/debate/critic")
    ('critic#1', 'critic')
    """
    _, mark, number = path.rpartition("/")[2].partition("~")[0].rpartition("#")
    return f"{agent}#{number}" if mark and number.isdecimal() else agent


def _numbered(trace: Trace) -> Trace:
    """The same run, with the numbers of the asks in the names of who was asked."""
    from msgspec.structs import replace

    from motet.trace import AskEnded, AskFailed, AskStarted, Trace

    found = Trace()
    for event in trace:
        if isinstance(event, AskStarted | AskEnded):
            event = replace(event, agent=numbered(event.agent, event.path))
        elif isinstance(event, AskFailed):
            failure = replace(event.failure, agent=numbered(event.failure.agent, event.path))
            event = replace(event, failure=failure)
        found.emit(event)
    return found


def _short(path: str) -> str:
    """A place without that of the run's own agent, which is in front of every other."""
    own, _, inner = path[1:].partition("/")
    return inner or own


def _heard(trace: Trace) -> dict[str, list[str]]:
    """The places of those whose words were given to each ask, or that it was made from."""
    from motet.view import edges

    heard: dict[str, list[str]] = {}
    for source, listener in edges(trace):
        heard.setdefault(listener.path, []).append(source.path)
    return heard


def _kept(run: str, trace: Trace | None) -> Kept:
    """What a list says of a run; of one that is damaged, its id."""
    from motet.cli import shapes
    from motet.trace import RunEnded, RunStarted

    started = next((event for event in trace or () if isinstance(event, RunStarted)), None)
    ended = next((event for event in trace or () if isinstance(event, RunEnded)), None)
    known = ended if ended is not None and not ended.error.startswith("interrupted") else None
    return shapes.Kept(
        run_id=started.run if started else run,
        date=started.date if started else "",
        mixture=started.agent if started else "",
        question=started.chat.question if started else "",
        outcome=known.outcome if known else None,
        answer=known.reply.text if known and known.reply else None,
        calls=ended.usage.calls if ended else None,
        usd=shapes.dollars(ended.usage.usd) if ended else None,
        seconds=shapes.seconds(ended.at) if ended else None,
    )
