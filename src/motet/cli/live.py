"""The live view: who is thinking, who heard whom, and what it costs, on stderr while a run goes on.

A `View` is a watcher: it is told each event from the thread of the run, and drawn from another. It keeps no more than
a line an ask, and draws what fits the terminal, those who think first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from motet.message import Usage
from motet.trace import (
    AskEnded,
    AskFailed,
    AskStarted,
    CallEnded,
    CallFailed,
    CallStarted,
    Event,
    Hedged,
    RunEnded,
    RunStarted,
    Streamed,
)
from motet.view import shortened

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

FRAMES_A_SECOND = 12
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
MARKS = {"ok": ("✓", "green"), "abstained": ("–", "dim"), "cut": ("✂", "yellow"), "empty": ("∅", "yellow")}
FAILED = ("✗", "red")
PLAIN = {"✓": "+", "–": "-", "✂": "%", "∅": "0", "✗": "x", "←": "<-", "·": "|", "…": "...", "└": "`"}
HEARD = 4
"""Names of those an agent heard that are shown."""
MARGIN = 3
"""Lines that are kept free of asks: how many are left out, the answer so far, and the sum."""


@dataclass
class Row:
    """One ask, as it is drawn."""

    agent: str
    depth: int
    began: float
    heard: list[str]
    state: str = "thinking"
    text: str = ""
    seconds: float = 0.0
    calls: int = 0


@dataclass
class View:
    """What is known of a run while it goes on."""

    rows: dict[str, Row] = field(default_factory=dict)
    usage: Usage = Usage()
    answer: str = ""
    ended: float | None = None
    refresh: Callable[[], None] | None = None
    _names: dict[str, str] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)

    def __call__(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._began = time.monotonic()
        elif isinstance(event, AskStarted):
            heard = dict.fromkeys(self._names[source] for source in event.heard if source in self._names)
            heard.pop(event.agent, None)  # what it said before itself
            self.rows[event.path] = Row(event.agent, event.path.count("/") - 1, event.at, list(heard))
        elif isinstance(event, AskEnded):
            self._end(event, event.reply.state, event.reply.text)
            self._names.setdefault(event.reply.id, event.agent)
        elif isinstance(event, AskFailed):
            self._end(event, "failed", f"{event.failure.kind}: {event.failure.text}")
        elif isinstance(event, CallStarted):
            if event.path in self.rows:
                self.rows[event.path].calls += 1
            if self.refresh is not None and not self.usage.calls:
                self.refresh()  # at once: loading a local model holds up every other thread
        elif isinstance(event, CallEnded):
            self.usage += event.reply.usage
        elif isinstance(event, CallFailed):
            self.usage += event.usage
        elif isinstance(event, Hedged):
            if event.path in self.rows:
                self.rows[event.path].text = f"late: {event.other} was asked as well"
        elif isinstance(event, Streamed):
            self.answer += event.text
        elif isinstance(event, RunEnded):
            self.ended = event.at

    def _end(self, event: Event, state: str, text: str) -> None:
        row = self.rows.get(event.path)
        if row is not None:
            row.state, row.text, row.seconds = state, text, event.at - row.began

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began if self.ended is None else self.ended

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        height = max(1, (options.height or console.height) - MARGIN)
        rows = list(self.rows.values())
        if len(rows) > height:
            busy = [row for row in rows if row.state == "thinking"][:height]
            chosen = {id(row) for row in (*busy, *rows[-(height - len(busy)) or len(rows) :])}
            shown = [row for row in rows if id(row) in chosen][:height]
        else:
            shown = rows
        lines = [self._line(row, options.max_width) for row in shown]
        if len(shown) < len(rows):
            lines.append(_text(f"… {len(rows) - len(shown)} more", "dim"))
        if self.answer and self.ended is None:
            lines.append(_text(shortened(self.answer[-4 * options.max_width :], options.max_width - 2), "italic"))
        lines.append(_text(f"{self._sum()}", "dim"))
        for line in lines:
            if options.ascii_only:
                line.plain = "".join(PLAIN.get(each, each if each.isascii() else "?") for each in line.plain)
            line.truncate(options.max_width, overflow="ellipsis")
            yield line

    def _line(self, row: Row, width: int) -> Text:
        thinking = row.state == "thinking"
        mark, style = MARKS.get(row.state, FAILED)
        if thinking:
            mark, style = SPINNER[int(self.now * FRAMES_A_SECOND) % len(SPINNER)], "cyan"
        seconds = self.now - row.began if thinking else row.seconds
        line = _text("  " * row.depth)
        line.append(f"{mark} ", style)
        line.append(row.agent, "bold" if thinking else "")
        line.append(f"  {seconds:.1f} s", "dim")
        if row.heard:
            more = ", …" if len(row.heard) > HEARD else ""
            line.append(f"  ← {', '.join(row.heard[:HEARD])}{more}", "blue")
        said = row.text if row.text else "thinking" if thinking and row.calls else row.state if not thinking else ""
        if said:
            from motet.printable import printable

            line.append(f"  {shortened(printable(said), width)}", "red" if row.state == "failed" else "dim")
        return line

    def _sum(self) -> str:
        used = self.usage
        parts = [f"{used.calls} call{'' if used.calls == 1 else 's'}"]
        parts += [f"{used.tokens:,} tokens"] if used.tokens else []
        parts += [f"${used.usd:.4f}"] if used.usd else []
        parts += [f"{used.saved_calls} saved"] if used.saved_calls else []
        return " · ".join([*parts, f"{self.now:.1f} s"])


def _text(words: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(words, style=style, no_wrap=True)


@contextmanager
def live(view: View) -> Iterator[None]:
    """Draw a view on stderr while the block runs; its last state stays."""
    from rich.live import Live

    from motet.cli.output import stderr

    console = stderr()
    with Live(
        view,
        console=console,
        refresh_per_second=FRAMES_A_SECOND,
        redirect_stdout=False,
        redirect_stderr=False,
        vertical_overflow="crop",
    ) as drawn:
        view.refresh = drawn.refresh
        yield
    console.print()
