"""Server-sent events are the same however their bytes are split."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.backends.sse import DEFAULT_LIMIT, Event, EventParser
from motet.errors import BackendError

ENDS = (b"\n", b"\r", b"\r\n")
TEXT = st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), max_size=8)


def fed(chunks: list[bytes], limit: int = DEFAULT_LIMIT) -> list[Event]:
    """The events of a stream that comes in `chunks`."""
    parser = EventParser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)]


def split(data: bytes, places: list[int]) -> list[bytes]:
    """`data` in pieces, cut at `places`."""
    cuts = sorted({place % (len(data) + 1) for place in places})
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@given(
    events=st.lists(st.tuples(st.lists(TEXT, min_size=1, max_size=3), st.sampled_from(["", "error", "ping"]))),
    ends=st.lists(st.sampled_from(ENDS), min_size=1),
    comment=TEXT,
    bom=st.booleans(),
    places=st.lists(st.integers(min_value=0)),
)
def test_any_split_of_a_stream_gives_its_events(
    events: list[tuple[list[str], str]], ends: list[bytes], comment: str, bom: bool, places: list[int]
) -> None:
    """Lines may end in LF, CR or CRLF, and be split anywhere, also inside a character or a CRLF."""
    lines: list[str] = []
    for data, name in events:
        lines += [f": {comment}", f"event: {name}"] if name else [f": {comment}"]
        lines += [*(f"data: {line}" for line in data), ""]
    # A CR and then an empty line that ends in LF would be read as one CRLF: one style of ends to a stream.
    end = ends[0]
    stream = b"\xef\xbb\xbf" * bom + b"".join(line.encode() + end for line in lines)
    expected = [Event("\n".join(data).encode(), name) for data, name in events]
    assert fed([stream]) == expected
    assert fed(split(stream, places)) == expected


@given(st.binary(), st.lists(st.integers(min_value=0)))
def test_any_split_of_any_bytes_gives_the_same(data: bytes, places: list[int]) -> None:
    """Whatever an endpoint sends, how the network cuts it makes no difference."""
    assert fed(split(data, places)) == fed([data])


@given(st.lists(st.sampled_from([b"data: x", b"\r", b"\n", b"\r\n", b":", b"data", b"event: e", b"error: y"])))
def test_byte_by_byte_is_the_same(pieces: list[bytes]) -> None:
    """The hardest split, on bytes that look like a stream."""
    data = b"".join(pieces)
    assert fed([data[place : place + 1] for place in range(len(data))]) == fed([data])


def test_fields_and_comments() -> None:
    """Comments and unknown fields are skipped, data lines joined, one space stripped, an open event left out."""
    stream = b": hello\nid: 7\nretry: 10\ndata:a\ndata:  b\ndata\n\n\n\nevent: x\n\ndata: open"
    assert fed([stream]) == [Event(b"a\n b\n")]


def test_error_lines_of_older_llama_servers() -> None:
    """`error: {...}` is an event named error."""
    assert fed([b'error: {"code": 500}\n\ndata: x\n\n']) == [Event(b'{"code": 500}', "error"), Event(b"x")]


@pytest.mark.parametrize("data", [b"data: " + b"x" * 200, b"data: xxxxxxxx\n" * 20], ids=["one line", "many lines"])
def test_an_event_has_a_limit(data: bytes) -> None:
    """An event that never ends does not fill the memory."""
    with pytest.raises(BackendError) as caught:
        fed([data[place : place + 10] for place in range(0, len(data), 10)], limit=100)
    assert caught.value.kind == "too_large"


def test_a_stream_has_none() -> None:
    """Only one event is held at a time: a long stream of short ones is fine."""
    parser = EventParser(limit=100)
    assert sum(len(parser.feed(b"data: 12345\n\n")) for _ in range(1000)) == 1000


def test_a_long_line_in_small_pieces_takes_linear_time() -> None:
    """2 MB in pieces of 16 bytes: reading again what is there already would take minutes."""
    parser = EventParser()
    began = time.perf_counter()
    for _ in range(125_000):
        parser.feed(b"0123456789abcdef")
    assert parser.feed(b"\n\n") == []
    assert time.perf_counter() - began < 3
