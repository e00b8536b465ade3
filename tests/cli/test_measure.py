"""`motet measure`: from a table to a verdict, in words, JSON and as a page; and what it says of bad tables."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
from pathlib import Path

import msgspec
import numpy as np
import pytest
from browser import browser, needs_browser
from commandline import PROGRAM, Cli
from recorded import FOLDER
from rich.console import Console

from motet.cli import output
from motet.cli.measure import fitting
from motet.diagnosis.diagnose import SECTIONS, Diagnosis
from motet.tables import source

WIDE = "item,small,large,coder\n" + "".join(
    f"q{i},{int(i % 3 == 0)},{int(i % 4 != 0)},{int(i % 5 in (0, 1))}\n" for i in range(60)
)


@pytest.fixture
def table(folder: Path) -> Path:
    """A small wide table."""
    path = folder / "results.csv"
    path.write_text(WIDE, encoding="utf-8")
    return path


def test_words(cli: Cli, table: Path) -> None:
    """The verdict comes first, then what was guessed, then the sections, each with its table."""
    done = cli("measure", str(table))
    assert done.code == 0
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == "VERDICT"
    assert lines[2].startswith(
        "Combining their answers can add at most 15.0 points (95 % interval 7.1 to 26.6) over large"
    )
    assert "60 items, 3 agents." in done.out
    assert "read as a wide table" in done.out
    headings = ["THE AGENTS", "THE CEILING", "VOTES", "COMMITTEES", "WHO ERRS WITH WHOM", "DIFFICULTY"]
    assert [line for line in lines if line in headings] == headings
    assert all(line == line.rstrip() for line in lines)


def test_json(cli: Cli, table: Path) -> None:
    """One object with every section, null where there is none; its ceiling is what counting by hand gives."""
    done = cli("measure", str(table), "--json")
    assert done.code == 0
    made = done.json
    assert list(made) == list(Diagnosis.__struct_fields__)
    lines = [line.split(",")[1:] for line in WIDE.splitlines()[1:]]
    nobody = sum("1" not in line for line in lines)
    assert made["ceiling"]["all_wrong"] == nobody  # type: ignore[index]
    assert (made["cost"], made["repeats"]) == (None, None)


def test_only_and_seed(cli: Cli, table: Path) -> None:
    """`--only` leaves the rest null; the same seed gives the same bytes, another seed another band."""
    one = cli("measure", str(table), "--only", "ceiling, votes", "--json")
    assert [name for name in SECTIONS if one.json[name] is not None] == ["ceiling", "votes"]
    assert cli("measure", str(table), "--only", "ceiling,votes", "--json").out == one.out
    assert cli("measure", str(table), "--only", "votes", "--seed", "1", "--json").json["votes"] != one.json["votes"]


def test_side_files(cli: Cli, folder: Path, table: Path) -> None:
    """Answers with the right ones, costs, tokens, seconds, samples and families beside the table are all used."""
    rows = [line.split(",") for line in WIDE.splitlines()]
    head = ",".join(rows[0])

    def beside(name: str, value: object) -> str:
        path = folder / f"{name}.csv"
        lines = [",".join([row[0], *(str(value(cell, i)) for cell in row[1:])]) for i, row in enumerate(rows[1:])]  # type: ignore[operator]
        path.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
        return str(path)

    answers = beside("answers", lambda cell, i: "yes" if cell == "1" else f"no{i % 3}")
    cost = beside("cost", lambda cell, i: 0.01 * (1 + i % 3))
    gold = folder / "gold.csv"
    gold.write_text("item,gold\n" + "".join(f"{row[0]},yes\n" for row in rows[1:]), encoding="utf-8")
    families = folder / "families.csv"
    families.write_text("agent,family\nsmall,a\nlarge,a\ncoder,b\n", encoding="utf-8")
    done = cli(
        "measure", str(table), "--answers", answers, "--gold", str(gold), "--cost", cost, "--tokens", cost,
        "--latency", cost, "--samples", "1", "--group", str(families), "--k", "3", "--budget", "0.05", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["votes"]["rule"] == "plurality"  # type: ignore[index]
    assert [each["unit"] for each in done.json["cost"]["measures"]] == ["USD", "tokens", "s"]  # type: ignore[index]
    assert {each["name"] for each in done.json["redundancy"]["families"]} == {"a", "b"}  # type: ignore[index]
    sizes = done.json["committees"]["sizes"]  # type: ignore[index]
    assert max(each["size"] for each in sizes) == 2  # three would cost 0.06


def test_without_and_missing(cli: Cli, folder: Path) -> None:
    """An agent with gaps costs items or is left out; a caution says which cells are missing."""
    path = folder / "gaps.csv"
    path.write_text(WIDE.replace("q7,0,1,0", "q7,0,1,"), encoding="utf-8")
    done = cli("measure", str(path), "--only", "ceiling")
    assert "59 items, 3 agents; 1 more had no result for some agent" in done.out
    assert "! 1 cells are missing, most of them of coder" in done.out
    alone = cli("measure", str(path), "--only", "ceiling", "--without", "coder", "--json").json
    assert (alone["about"]["items"], alone["about"]["agents"]) == (60, 2)  # type: ignore[index]
    assert cli("measure", str(path), "--missing", "pairwise", "--only", "redundancy").code == 0
    done = cli("measure", str(path), "--without", "nobody")
    assert (done.code, done.out) == (2, "")


BAD: dict[str, tuple[bytes | None, str]] = {
    "none.csv": (None, "no such file"),
    "empty.csv": (b"", "empty"),
    "one-agent.csv": (b"item,a\nq1,1\nq2,0\n", "one agent cannot be mixed"),
    "one-item.csv": (b"item,a,b\nq1,1,0\n", "one item cannot tell"),
    "no-result.csv": (b"item,a,b\nq1,,\nq2,,\n", "all of them are empty"),
    "outside.csv": (b"item,a,b\nq1,1,7\nq2,0,1\n", "outside.csv:2: agent 'b': 7 is not between 0 and 1"),
    "twice.csv": (b"item,a,b\nq1,1,0\nq1,0,1\n", "q1"),
    "answers.csv": (b"item,a,b\nq1,Paris,Rome\nq2,Oslo,Bern\n", "--gold"),
    "ragged.csv": (b"item,a,b\nq1,1,0\nq2,1\nq3,0,1\n", "ragged.csv:3: 2 columns where the header has 3"),
    "binary.csv": (bytes(range(256)) * 8, "binary"),
    "latin.csv": ("item,a,b\nq1,1,0\nqé,0,1\n".encode("latin-1"), "UTF-8"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_tables(cli: Cli, folder: Path, name: str, as_json: bool) -> None:
    """One clear line, exit code 2, and nothing written."""
    content, said = BAD[name]
    path = folder / name
    if content is not None:
        path.write_bytes(content)
    before = sorted(folder.rglob("*"))
    done = cli("measure", str(path), "--html", str(folder / "report.html"), *(("--json",) if as_json else ()))
    assert done.code == 2
    assert done.err.count("\n") == 1, done.err
    assert said.lower() in done.err.lower()
    assert sorted(folder.rglob("*")) == before
    if as_json:
        assert said.lower() in done.json["error"]["message"].lower()  # type: ignore[index]
    else:
        assert done.out == ""


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + WIDE.encode(),
        WIDE.replace(",", ";").encode(),
        WIDE.replace(",", "\t").encode(),
        WIDE.replace("\n", "\r\n").encode(),
        gzip.compress(WIDE.encode(), mtime=0),
    ],
    ids=["byte-order mark", "semicolons", "tabs", "CRLF", "gzip"],
)
def test_odd_but_good_tables(cli: Cli, folder: Path, table: Path, content: bytes) -> None:
    """They are read as the plain one is."""
    path = folder / "odd.csv"
    path.write_bytes(content)
    odd, plain = (msgspec.json.decode(cli("measure", str(each), "--json").out) for each in (path, table))
    assert {**odd, "about": None} == {**plain, "about": None}


def test_huge_files_are_refused(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two gigabytes, sparse or packed, are refused by the stated limit, and quickly."""
    path = folder / "huge.csv"
    with path.open("wb") as file:
        file.write(b"item,a,b\n")
        os.truncate(path, 2 << 30)
    done = cli("measure", str(path))
    assert done.code == 2
    assert "at most 1.1 GB are read" in done.err
    monkeypatch.setattr(source, "LIMIT", 10_000)
    bomb = folder / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(b"item,a,b\n" + b"q,1,0\n" * 100_000))
    done = cli("measure", str(bomb))
    assert done.code == 2
    assert "unpacked" in done.err


def test_options_that_make_no_sense(cli: Cli, folder: Path, table: Path) -> None:
    """An unknown section, format or folder, a page that can't be written, and a budget without costs: a line each."""
    for arguments, said in [
        (("--only", "ceilings"), "there is no section 'ceilings'"),
        (("--format", "wid"), "did you mean 'wide'?"),
        (("--html", str(folder)), "is a folder"),
        (("--html", str(folder / "none/report.html")), "can't be written"),
        (("--budget", "1"), "--cost"),
        (("--k", "1"), "--k"),
        (("--samples", "0"), "--samples 0"),
        (("--samples", "9" * 30), "--samples 999"),
        (("--samples", "²"), "no such file: ²"),
    ]:
        done = cli("measure", str(table), *arguments)
        assert (done.code, done.out) == (2, ""), arguments
        assert said in done.err
        assert done.err.count("\n") == 1


def test_a_page_replaces_only_a_page(cli: Cli, folder: Path, table: Path) -> None:
    """Not a file that is read, be it by another name, nor a device or a pipe; a link stays a link."""
    before = table.read_bytes()
    (folder / "same.csv").symlink_to(table)
    os.mkfifo(folder / "pipe")
    cost = folder / "cost.csv"
    cost.write_text(WIDE, encoding="utf-8")
    for name, said in [
        ("results.csv", "would replace"),
        ("same.csv", "would replace"),
        ("cost.csv", "would replace"),
        ("pipe", "is no plain file"),
        ("x" * 300, "can't be written"),
    ]:
        done = cli("measure", str(table), "--cost", str(cost), "--only", "ceiling", "--html", str(folder / name))
        assert (done.code, done.out) == (2, ""), name
        assert said in done.err
        assert done.err.count("\n") == 1
    assert table.read_bytes() == before
    (folder / "thesis.html").write_text("my thesis", encoding="utf-8")
    assert "no page" in cli("measure", str(table), "--only", "ceiling", "--html", str(folder / "thesis.html")).err
    assert (folder / "thesis.html").read_text(encoding="utf-8") == "my thesis"
    (folder / "old.html").write_text("<!doctype html>old", encoding="utf-8")
    (folder / "link.html").symlink_to("old.html")
    for name in ("link.html", "y" * 250 + ".html"):
        assert cli("measure", str(table), "--only", "ceiling", "--html", str(folder / name)).code == 0
    assert (folder / "link.html").is_symlink()
    assert (folder / "old.html").read_text(encoding="utf-8").startswith("<!doctype html>\n")
    assert not list(folder.glob(".*.part"))


def test_a_file_name_that_is_no_text(cli: Cli, folder: Path) -> None:
    """It is read, and shown with a mark where the bytes are no UTF-8, in JSON and on the page."""
    path = Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.csv"))
    path.write_text(WIDE, encoding="utf-8")
    page = folder / "report.html"
    done = cli("measure", str(path), "--only", "ceiling", "--json", "--html", str(page))
    assert done.code == 0, done.err
    assert done.json["about"]["source"].endswith("bad?.csv")  # type: ignore[index]
    assert "bad?.csv" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "whole"), [(40, False), (100, True)])
def test_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, width: int, whole: bool) -> None:
    """Every figure that is shown is whole, names are never squeezed out, and columns without room are told."""
    columns = ("agent", "right", "95 %", "first", "only it", "Shapley")
    rows = [("a" * 60, "76.7 %", "[64.6, 85.6]", "66.0 %", "12.0 %", "14.0 %")]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    fits = fitting(columns, rows)
    assert (fits == len(columns)) == whole
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(output.table(columns[:fits], [row[:fits] for row in rows], wraps=columns[:1]))
    shown = console.export_text()
    assert shown.count("a") > 60
    assert all(cell in shown for cell in rows[0][1:fits])


def test_names_cannot_reach_the_terminal_or_the_page(cli: Cli, folder: Path) -> None:
    """An agent named as a control sequence or as markup is text."""
    path = folder / "hostile.csv"
    path.write_text(WIDE.replace("small", "\x1b[2Jx").replace("large", "<script>alert(1)</script>"), encoding="utf-8")
    page = folder / "report.html"
    done = cli("measure", str(path), "--html", str(page))
    assert done.code == 0, done.err
    assert "\x1b" not in done.out
    assert "<script>alert" not in page.read_text(encoding="utf-8")


def _pages(folder: Path) -> list[Path]:
    """The table here, a table with everything, and a recorded one where it is at hand."""
    rng = np.random.default_rng(0)
    path = folder / "everything.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for i in range(80):
            for agent, skill in (("a", 0.8), ("b", 0.7), ("c", 0.6), ("d", 0.5)):
                for sample in range(4):
                    right = bool(rng.random() < skill)
                    row = {
                        "item": f"q{i}", "agent": agent, "family": agent > "b", "sample": sample, "correct": int(right),
                        "answer": "x" if right else f"y{rng.integers(3)}", "cost": skill * rng.random(),
                        "confidence": round(float(rng.random()), 2),
                    }  # fmt: skip
                    file.write(json.dumps({**row, "family": str(row["family"])}) + "\n")
    kept = FOLDER / "swebench_verified"
    return [folder / "results.csv", path, *([kept] if kept.is_dir() else [])]


@needs_browser
@pytest.mark.timeout(300)
async def test_page_in_a_browser(cli: Cli, folder: Path, table: Path) -> None:
    """In Chromium at 1280 and 400 pixels, light and dark: no complaint, every plot drawn, nothing cut off."""
    for path in _pages(folder):
        page = folder / "report.html"
        done = cli("measure", str(path), "--html", str(page))
        assert done.code == 0, done.err
        assert f"wrote {page}" in done.err
        async with browser() as tab:
            for width, scheme in ((1280, "light"), (400, "dark")):
                await tab.open(page, width, scheme=scheme)
                drawn = await tab.run(
                    "[...document.querySelectorAll('figure[data-chart]')].map(figure => [figure.dataset.chart,"
                    " figure.querySelectorAll('svg path, svg rect, svg circle').length])"
                )
                assert len(drawn) >= 5
                assert all(marks > 3 for _, marks in drawn), drawn
                assert await tab.cut_off() == []
                assert await tab.run("document.documentElement.scrollWidth") == width
            assert tab.complaints == []


def test_full_disk(program: Cli, table: Path) -> None:
    """Output that can't be written is an error in a line, not a traceback."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*PROGRAM, "measure", str(table)], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "motet: the output can't be written: No space left on device\n"
