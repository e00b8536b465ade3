"""Ending long work in two steps: what is under way is finished first, unless that is too slow for whoever waits."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from motet.cli.codes import Code

if TYPE_CHECKING:
    from types import FrameType


class Stop(threading.Event):
    """Set when the run is to end; `code` is what to exit with then."""

    code = Code.INTERRUPTED


@contextmanager
def draining(command: str) -> Iterator[Stop]:
    """The first Ctrl-C (or SIGTERM) lets what is under way finish, the second ends it at once.

    Args:
        command: what goes on from there; told to whoever ends it.
    """
    from motet.cli import output

    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handle(number: int, frame: FrameType | None) -> None:
        stop.code = Code.TERMINATED if number == signal.SIGTERM else Code.INTERRUPTED
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        output.say("finishing what is under way; Ctrl-C again ends it at once", style="yellow")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    except KeyboardInterrupt:
        output.say(f"motet: interrupted; what is finished is kept. To go on: {command}", style="yellow")
        raise typer.Exit(stop.code) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
