"""A page: words, tables, charts and items in one HTML file that needs nothing beside it, neither network nor server.

The charts are drawn in the reader's browser by Observable Plot, whose source is put into the page: they fit the width
of the window, follow its light or dark scheme, say what is under the pointer, and offer their data as CSV. Colours are
chosen after Okabe and Ito, and Tol, and heat maps are viridis, so that people with any common colour blindness can tell
them apart.

Whatever comes from outside (names of agents, of items, messages) is escaped: none of it can become markup or script.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final, Literal

import msgspec

from motet.page.items import Items, packed
from motet.printable import printable

Cell = str | float | int | bool | None
"""What a table or a chart holds."""


@dataclass(frozen=True)
class Words:
    """A paragraph. `strong` sets it apart, as a verdict or a warning is."""

    text: str
    kind: Literal["plain", "verdict", "warning", "note"] = "plain"


@dataclass(frozen=True)
class Rows:
    """A table.

    Args:
        columns: the headings.
        rows: texts, as they are shown. A first column of names, and figures after it.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Rule:
    """A line across a chart at a value worth comparing with."""

    value: float
    label: str


@dataclass(frozen=True)
class Chart:
    """A chart of a table.

    Args:
        name: unique in the page; its data are downloaded under this name.
        title: what it shows, in a line.
        about: how to read it, and what it rests on.
        kind: `lines` (x, y and series; low and high for a band), `points` (x, y, label and series; joined where
            `joined` is true; low and high for an upright bar; 15 or fewer have their labels beside them), `heat` (x, y
            and value, in the order given), `bars` (x and y).
        columns: the names of the columns.
        rows: the values.
        x: what the horizontal axis means, with its unit.
        y: what the vertical axis means, with its unit.
        rules: lines across.
        percent: which axes hold shares that are shown as percentages, of "x", "y" and "value".
        diagonal: whether the line x = y is drawn, as in a reliability curve.
        logarithmic: whether the horizontal axis is.
    """

    name: str
    title: str
    about: str
    kind: Literal["lines", "points", "heat", "bars"]
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    x: str = ""
    y: str = ""
    rules: Sequence[Rule] = ()
    percent: Sequence[str] = ()
    diagonal: bool = False
    logarithmic: bool = False


Block = Words | Rows | Chart | Items


@dataclass(frozen=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


_VENDOR: Final = ("vendor/d3.min.js", "vendor/plot.min.js", "charts.js")


def page(title: str, sections: Sequence[Section], *, footer: str = "") -> str:
    """Make the page.

    Args:
        title: its heading.
        sections: in the order a reader wants them.
        footer: what it was made from: the command, the version, the seed.

    Returns:
        The whole HTML text.

    >>> text = page("Report", [Section("Verdict", [Words("<b> helps")])])
    >>> "&lt;b&gt; helps" in text, "http" in text.split("<script")[0]
    (True, False)
    """
    here = files("motet.page")
    blocks = [block for section in sections for block in section.blocks]
    charts = [block for block in blocks if isinstance(block, Chart)]
    items = [block for block in blocks if isinstance(block, Items)]
    shown = msgspec.json.encode({chart.name: chart for chart in charts}).decode().replace("<", r"\u003c")
    scripts = "".join(f"<script>{(here / name).read_text('utf-8')}</script>\n" for name in _VENDOR) if charts else ""
    style = (here / "page.css").read_text("utf-8")
    if items:
        style += (here / "items.css").read_text("utf-8")
        scripts += (
            f'<script type="application/octet-stream;base64" id="items">{packed(items)}</script>\n'
            f"<script>{(here / 'items.js').read_text('utf-8')}</script>\n"
        )
    body = "\n".join(_section(section) for section in sections)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{html.escape(title)}</h1>
{body}
</main>
<footer>{html.escape(footer)}</footer>
<script type="application/json" id="charts">{shown}</script>
{scripts}</body>
</html>
"""


def _section(section: Section) -> str:
    inner = "\n".join(_block(block) for block in section.blocks)
    return f"<section>\n<h2>{html.escape(section.title)}</h2>\n{inner}\n</section>"


def _shown(text: str) -> str:
    """Escaped, and with no line break between a figure and its unit or its sign."""
    return re.sub(r"(?<=\d) (?=%)|(?<=[=<>]) (?=\d)|(?<=\bp) (?=[=<])", "&nbsp;", html.escape(printable(text)))


def _is_figure(text: str) -> bool:
    return not re.search(r"[^\W\d_p]{2}", text)


def _are_words(column: Sequence[str]) -> bool:
    """Whether a column holds words, which stand on the left as their heading does; figures stand on the right."""
    return any(not _is_figure(cell) for cell in column)


def _cell(text: str, words: bool) -> str:
    """Words may be broken anywhere where space is scarce, figures may not."""
    kind = "" if words else ' class="figure"'
    return f"<td{kind}>{_shown(text).replace('/', '/<wbr>')}</td>"


def _heading(name: str, words: bool) -> str:
    return f'<th class="words">{_shown(name)}</th>' if words else f"<th>{_shown(name)}</th>"


def _block(block: Block) -> str:
    match block:
        case Words(text, kind):
            return f'<p class="{kind}">{_shown(text)}</p>'
        case Rows(columns, rows):
            words = [_are_words([row[place] for row in rows]) for place in range(len(columns))]
            head = "".join(map(_heading, columns, words))
            lines = "\n".join("<tr>" + "".join(map(_cell, row, words)) + "</tr>" for row in rows)
            table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table>"
            return f'<div class="table">{table}</div>'
        case Chart():
            title = html.escape(block.title)
            return (
                f'<figure data-chart="{html.escape(block.name)}">\n'
                f"<figcaption><strong>{title}</strong> {html.escape(block.about)}</figcaption>\n"
                f'<div class="drawing" role="img" aria-label="{title}"></div>\n'
                '<a class="data" href="#">data (CSV)</a>\n</figure>'
            )
        case Items(name, _, about, left_out):
            more = f"{left_out:,} more {'item is' if left_out == 1 else 'items are'} not in this page."
            return (
                f'<div class="items" data-items="{html.escape(printable(name))}">\n'
                + (f'<p class="note">{_shown(about)}</p>\n' if about else "")
                + (f'<p class="note">{more}</p>\n' if left_out > 0 else "")
                + '<noscript><p class="warning">The items are shown by a script, and scripts are switched off in this '
                "browser.</p></noscript>\n</div>"
            )
