"""What goes out: data on stdout, everything about it on stderr, plain wherever nobody looks.

Members' words are data from outside: on a terminal, and in every table, control characters are shown as `�`, so that
no reply can move the cursor or write the clipboard.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from motet.errors import MotetError
from motet.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDE = 10_000
"""Columns of a table that goes into a pipe: there, nothing is wrapped or cut."""
NARROW = 100
"""Columns of a terminal below which a table leaves out what matters least."""
LEAST = 8
"""Columns that a text is cut to at most."""


class Unread(Exception):
    """Who reads stdout has closed it: `motet trace list | head -1`."""


def data(text: str) -> None:
    """Write to stdout: what was asked for.

    Raises:
        Unread: nobody reads it.
        MotetError: it can't be written, as on a full disk.
    """
    text = printable(text) if sys.stdout.isatty() else text
    _write(text.encode(sys.stdout.encoding or "utf-8", "replace"))


def json(shape: msgspec.Struct | dict[str, object]) -> None:
    """Write one JSON object to stdout, in UTF-8 whatever the locale.

    Raises:
        Unread: nobody reads it.
    """
    from motet.message import encoded  # also for names of files that are no text

    _write(msgspec.json.format(encoded(shape), indent=2) + b"\n")


def _write(content: bytes) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise Unread from None
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed at exit
        raise MotetError(f"the output can't be written: {error.strerror}") from None


def paragraph(text: str) -> None:
    """Write a paragraph to stdout, wrapped on a terminal and in one line elsewhere."""
    if sys.stdout.isatty():
        import shutil
        import textwrap

        text = textwrap.fill(text, min(shutil.get_terminal_size().columns, NARROW), subsequent_indent="  ")
    data(f"{text}\n")


def say(text: str, style: str = "") -> None:
    """Write a line to stderr: progress, notes, errors. `style` is one of rich's, for terminals with colours."""
    text = printable(text)
    if style and coloured():
        stderr().print(text, style=style, markup=False, highlight=False, soft_wrap=True)
    else:
        sys.stderr.write(text.encode(sys.stderr.encoding or "utf-8", "replace").decode(sys.stderr.encoding or "utf-8"))
        sys.stderr.write("\n")
        sys.stderr.flush()


def coloured() -> bool:
    """Whether stderr is a terminal that may have colours."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def animated() -> bool:
    """Whether anything may move on stderr: a person looks at it, and it can move the cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")


def stdout() -> Console:
    """A console for tables that are data."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDE, highlight=False, markup=False)


def stderr() -> Console:
    """A console for what is shown beside the data."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False)


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    wraps: Sequence[str] = (),
    cut: Sequence[str] = (),
) -> RenderableType:
    """A table of texts.

    Args:
        columns: their headings.
        rows: their texts.
        wraps: the columns that are wrapped where space is scarce; the others stay whole.
        cut: the columns that stay on one line and end in `…` where space is scarce.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    plain = None if not sys.stdout.isatty() else box.SIMPLE_HEAD
    made = Table(box=plain, show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        # rich takes space from columns that may wrap, and from all alike if none may: so it is the cells that don't.
        whole = name not in wraps and name not in cut
        made.add_column(name, overflow="fold", no_wrap=whole, min_width=LEAST if name in cut else None)
    for row in rows:
        made.add_row(
            *(
                Text(printable(cell), no_wrap=True, overflow="ellipsis") if name in cut else Text(printable(cell))
                for name, cell in zip(columns, row, strict=True)
            )
        )
    return made


def show(what: RenderableType) -> None:
    """Write a table to stdout, without blanks at the ends of its lines."""
    console = stdout()
    if sys.stdout.isatty():
        console.print(what)
        return
    with console.capture() as captured:
        console.print(what)
    data("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))


def size(count: float) -> str:
    """Bytes for people.

    >>> size(98_362_432)
    '98.4 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError
