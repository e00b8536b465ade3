r"""Server-sent events from bytes, as they come: a line may be split anywhere, also inside a character.

    >>> parser = EventParser()
    >>> parser.feed(b"data: caf\xc3")
    []
    >>> parser.feed(b"\xa9\r\n\r\n")[0].data.decode()
    'café'

Follows the WHATWG's rules: lines end with LF, CR or CRLF; a line that begins with a colon is a comment; the data
lines of an event are joined with LF; an event without its closing blank line is none. One addition: older llama.cpp
servers send `error: {...}` lines, which count as an event named "error".
"""

from __future__ import annotations

from typing import NamedTuple

from motet.errors import BackendError

DEFAULT_LIMIT = 8 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event: its data, not yet decoded, and its name ("" if it has none)."""

    data: bytes
    name: str = ""


class EventParser:
    """Turns chunks of bytes into events.

    Args:
        limit: bytes one event may take, its unfinished line included; default 8 MiB.
    """

    __slots__ = ("_after_cr", "_data", "_first", "_limit", "_name", "_partial", "_size")

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self._limit = limit
        self._partial = bytearray()
        self._data: list[bytes] = []
        self._name = ""
        self._size = 0
        self._first = True
        self._after_cr = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes.

        Raises:
            BackendError: of kind `too_large`, when an event outgrows the limit.
        """
        if self._after_cr and chunk:
            # A CR ended the last line; a LF right after it is the other half of the same line end.
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        events: list[Event] = []
        if b"\n" in chunk or b"\r" in chunk:
            self._partial += chunk
            lines = bytes(self._partial).splitlines()
            self._after_cr = chunk.endswith(b"\r")
            self._partial.clear()
            if not chunk.endswith((b"\n", b"\r")):
                self._partial += lines.pop()
            for line in lines:
                event = self._line(line)
                if event is not None:
                    events.append(event)
        else:
            self._partial += chunk
        if self._size + len(self._partial) > self._limit:
            raise BackendError("too_large", f"one event of the stream is larger than {self._limit} bytes")
        return events

    def _line(self, line: bytes) -> Event | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            event = Event(b"\n".join(self._data), self._name) if self._data else None
            self._data, self._name, self._size = [], "", 0
            return event
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field in (b"data", b"error"):
            self._data.append(value)
            self._size += len(value)
        if field == b"event":
            self._name = value.decode("utf-8", "replace")
        elif field == b"error":
            self._name = "error"
        return None
