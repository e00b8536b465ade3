"""Telling formats apart, several files, and everything that is no table."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motet.errors import UsageError
from motet.tables import draft, source
from motet.tables.read import FORMATS, read


def put(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def refusal(*paths: Path, **more: object) -> str:
    with pytest.raises(UsageError) as caught:
        read(paths if len(paths) > 1 else paths[0], **more)  # type: ignore[arg-type]
    text = str(caught.value)
    assert "\n" not in text
    return text


def archived(path: Path, name: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "x")
    return path


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "an empty file"),
        (b" \n\n", "an empty file"),
        (gzip.compress(b"", mtime=0), "an empty file"),
        (b"\xef\xbb\xbf", "an empty file"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "a binary file, not a table"),
        (bytes(range(64)) + b"\0" + b"x" * 1000, "a binary file, not a table"),
        (b"item,a,b\n" + b"".join(b"q%d,1,0\n" % n for n in range(20_000)) + b"\0", "holds NUL bytes"),
        (gzip.compress(gzip.compress(b"item,a,b\nq1,1,0\n", mtime=0), mtime=0), "gzip inside gzip"),
        (gzip.compress(b"item,a\n" + b"".join(b"q%d,1\n" % n for n in range(999)), mtime=0)[:600], "cut or damaged"),
        (b"\x1f\x8b nonsense", "cut or damaged"),
        ("item,a,b\nqü,1,0\nq2,0,1\n".encode("latin-1"), "not UTF-8 (byte 0xfc); save it as UTF-8"),
        ('{"item": "ü", "a": 1, "b": 0}\n{"item": "q", "a": 1, "b": 0}'.encode("latin-1"), "UTF-8"),
        ("item,a,b\nq1,1,0\n".encode("utf-16"), "in UTF-16: save it as UTF-8"),
        (b"%PDF-1.7 ...", "a PDF"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\x28\xb5\x2f\xfd....", "packed with zstd"),
        (b"BZh91AY", "packed with bzip2"),
        (b'{"item": 1,', "looks like JSON, but is not"),
        (b'{"a": ' + b"[" * 100_000, "n"),
        (b"[1, 2, 3]", "not a format that is known here"),
        (b'{"some": {"thing": 1}}', "not a format that is known here (some)"),
        (b'"just text"', "no agents"),
        (b"PK\x03\x04 and no more", "a damaged archive"),
    ],
)
def test_no_table(tmp_path: Path, data: bytes, says: str) -> None:
    """Whatever is no table is refused in one line that says what it is and what to do."""
    text = refusal(put(tmp_path / "t.csv", data))
    assert says in text
    assert "t.csv" in text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(st.sampled_from('item,agent,correct;\t"\n\r01.%{}[]:ü\0'), max_size=200).map(str.encode),
        st.recursive(
            st.none() | st.booleans() | st.integers(-2, 3) | st.sampled_from(["x", "item", "C", "resolved"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        ["item", "agent", "correct", "entries", "name", "items", "resolved", "eval", "model"]
                    )
                    | st.sampled_from(["samples", "scores", "doc_id", "target", "resps", "instruction", "generator_2"]),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=12,
        ).map(lambda value: json.dumps(value).encode()),
    ),
    st.none() | st.sampled_from(sorted(FORMATS)),
)
def test_anything_is_read_or_refused(tmp_path: Path, data: bytes, format: str | None) -> None:
    """Whatever bytes a file holds, and whatever format is asked for: a table, or one line that says why not."""
    path = put(tmp_path / "t", data)
    try:
        read(path, format=format)
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017 - a table is as good


def test_no_such_file(tmp_path: Path) -> None:
    """A file that is not there is named."""
    assert refusal(tmp_path / "none.csv") == f"no such file: {tmp_path / 'none.csv'}"


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission says why; as root reads everything, the system's refusal is put in its place."""
    path = put(tmp_path / "t.csv", "item,a,b\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert refusal(path) == f"can't read {path}: Permission denied"


def test_archives_that_are_no_logs(tmp_path: Path) -> None:
    """A spreadsheet is named as such; any other archive lists what is in it."""
    assert "a spreadsheet; save it as CSV" in refusal(archived(tmp_path / "t.xlsx", "xl/workbook.xml"))
    assert "readme.txt" in refusal(archived(tmp_path / "t.zip", "readme.txt"))


def test_large_file_is_refused_unread(tmp_path: Path) -> None:
    """A file of 2 GB, by its length, is refused at once."""
    path = tmp_path / "t.csv"
    with path.open("wb") as stream:
        stream.truncate(2 << 30)  # a hole: it takes no room
    start = time.perf_counter()
    assert "2.1 GB; at most 1.1 GB are read" in refusal(path)
    assert time.perf_counter() - start < 1


def test_gzip_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a small gzip unpacks to is counted while it is read."""
    monkeypatch.setattr(source, "LIMIT", 1_000_000)
    path = put(tmp_path / "t.csv.gz", gzip.compress(b"item,a,b\n" + b"".join(b"q%d,1,0\n" % n for n in range(200_000))))
    assert path.stat().st_size < 1_000_000
    assert "over 1.0 MB unpacked" in refusal(path)


@pytest.mark.parametrize("name", ["t.csv", "long.csv"])
def test_too_many_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """More cells than the limit are refused before room is made for them."""
    monkeypatch.setattr(draft, "CELLS", 10)
    if name == "t.csv":
        text = "item,a,b,c\n" + "".join(f"q{n},1,0,1\n" for n in range(9))
    else:
        text = "item,agent,correct\n" + "".join(f"q{n},a{n},1\n" for n in range(9))
    assert "more than 10 cells" in refusal(put(tmp_path / name, text))


def test_pipe(tmp_path: Path) -> None:
    """A pipe, which can be read only once, is read like a file."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(b"item,a,b\nq1,1,0\nq2,0,1\n"))
    writer.start()
    table = read(path)
    writer.join()
    assert table.correct.tolist() == [[1, 0], [0, 1]]


def test_two_formats_fit(tmp_path: Path) -> None:
    """Where wide and long both fit, neither is guessed; the flag settles it either way."""
    path = put(tmp_path / "t.csv", "item,agent,correct\nq1,0,1\nq2,1,1\nq1,1,1\nq2,0,0\n")
    text = refusal(path)
    assert "a wide table" in text
    assert "a long table" in text
    assert "--format wide or --format long" in text
    assert read(path, format="long").agents == ("0", "1")
    assert "'q1' again" in refusal(path, format="wide")


def test_two_separators_fit(tmp_path: Path) -> None:
    """A header that can be parted in two ways is not guessed at."""
    assert "commas or semicolons" in refusal(put(tmp_path / "t.csv", "item,a;b,c\nq1,1;2,0\nq2,1;2,1\n"))


def test_format_that_is_none(tmp_path: Path) -> None:
    """A mistyped format is answered with the one it may have been."""
    path = put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n")
    assert "did you mean 'wide'" in refusal(path, format="wied")
    assert "there are wide, long" in refusal(path, format="excel")


@pytest.mark.parametrize("name", FORMATS)
def test_a_wrong_format_asked_for(tmp_path: Path, name: str) -> None:
    """Reading a document as what it is not ends in one line, in every format."""
    refusal(put(tmp_path / "t.json", '{"some": {"thing": 1}}'), format=name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_wrong_format_of_rows(tmp_path: Path, name: str) -> None:
    """So does reading rows as a format that they are not of."""
    refusal(put(tmp_path / "t.csv", "x,y\n1,hello\n2,world\n"), format=name)


def test_several_tables(tmp_path: Path) -> None:
    """Several files of a format that has one for all agents, or of several formats, are refused."""
    wide = [put(tmp_path / name, "item,a,b\nq1,1,0\nq2,0,1\n") for name in ("1.csv", "2.csv")]
    assert "give one of them" in refusal(*wide)
    report = put(tmp_path / "gpt.json", json.dumps({"resolved": ["x", "y"]}))
    assert "give files of one format" in refusal(wide[0], report)
    with pytest.raises(UsageError, match="no table"):
        read([])


def test_what_was_guessed_is_said(tmp_path: Path) -> None:
    """The first note says what the file was read as, and whether that was told from its content."""
    path = put(tmp_path / "t.csv", "item;a;b\nq1;1;0\nq2;0;1\n")
    assert read(path).notes[:2] == (
        "read as a wide table: one row an item, one column an agent (told from the content)",
        "columns separated by semicolons",
    )
    assert not read(path, format="wide").notes[0].endswith("content)")


@pytest.mark.parametrize(("given", "says"), [(0, "at least one draw"), ("none.csv", "no such file")])
def test_bad_samples(tmp_path: Path, given: object, says: str) -> None:
    """A number of draws below one, or a file that is not there, is refused."""
    assert says in refusal(put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n"), samples=given)


def test_samples_as_text(tmp_path: Path) -> None:
    """A command line gives the number of draws as text."""
    table = read(put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n"), samples="10")
    assert table.samples is not None
    assert table.samples.tolist() == [[10, 10], [10, 10]]


def test_speed(tmp_path: Path) -> None:
    """10,000 items by 200 agents are read in well under the three seconds that are promised."""
    results = np.random.default_rng(0).integers(0, 2, (10_000, 200))
    header = "item," + ",".join(f"a{n}" for n in range(200))
    rows = [f"q{n}," + ",".join(map(str, row)) for n, row in enumerate(results.tolist())]
    path = put(tmp_path / "t.csv", "\n".join([header, *rows]))
    start = time.perf_counter()
    table = read(path)
    assert time.perf_counter() - start < 3
    assert (table.correct == results).all()


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    """Reading a table needs numpy and no other large library."""
    path = put(tmp_path / "t.csv", "item,a,b\nq1,1,0\nq2,0,1\n")
    code = (
        f"import sys; from motet.tables.read import read; read({str(path)!r})\n"
        "print({'pyarrow', 'pandas', 'pydantic', 'aiohttp', 'rich', 'typer'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
