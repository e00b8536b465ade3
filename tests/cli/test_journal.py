"""`motet journal`: its verbs on a real journal, as text and as JSON, and what is told where there is none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
from commandline import Cli

from motet.cli import shapes
from motet.journal import Call, Journal, default_path
from motet.message import Message, Reply, Request, Usage


@pytest.fixture
def path(folder: Path) -> Path:
    """A journal in the default place: a run with a result and a call, another call, and one without an end."""
    path = default_path()

    async def fill(journal: Journal) -> None:
        journal.open_run("first", "bench").close()
        await journal.record("first", "t1", "vote", 0, b'{"right":true}')
        for text, run in (("one", "first"), ("two é", "")):
            intent = await journal.begin(Call(Request("m", (Message("user", text),)), "m", "1", run))
            await journal.finish(intent, Reply(f"to {text}", usage=Usage(1, 10, output=5, usd=0.25, seconds=1)))
        await journal.begin(Call(Request("m", prompt="hanging"), "m", "1"))

    with Journal(path) as journal:
        asyncio.run(fill(journal))
    return path


def test_stats(cli: Cli, path: Path) -> None:
    """Counts, costs and times, in the default place and in a named one."""
    found = msgspec.json.decode(cli("journal", "stats", "--json").out, type=shapes.Ledger)
    assert (found.path, found.runs, found.records, found.calls) == (str(path), 1, 1, 3)
    assert (found.states, found.unfinished) == ({"ok": 2}, 1)
    assert (found.usage.calls, found.usage.tokens, found.usage.usd) == (2, 30, 0.5)
    assert found.first is not None
    assert found.last is not None
    assert found.first <= found.last
    done = cli("journal", "stats", "--file", str(path))
    assert done.code == 0
    assert "calls: 3, 20" in done.out
    assert "ended: 2 ok\nunfinished: 1 " in done.out
    assert "$0.5000" in done.out


def test_export(cli: Cli, path: Path, folder: Path) -> None:
    """The same lines to stdout and to a file; a place that can't be written is told, and leaves nothing behind."""
    lines = [json.loads(line) for line in cli("journal", "export").out.splitlines()]
    assert [line["type"] for line in lines] == ["run", "record", "call", "call", "call"]
    assert lines[3]["outcome"]["text"] == "to two é"
    done = cli("journal", "export", "out.jsonl", "--json")
    assert done.json == {"path": "out.jsonl", "lines": 5}
    assert [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()] == lines
    assert "5 lines are in out.jsonl" in cli("journal", "export", "out.jsonl").err
    done = cli("journal", "export", "--json")
    assert (done.code, done.json["error"]["kind"]) == (2, "usage")  # type: ignore[index]
    before = sorted(folder.iterdir())
    done = cli("journal", "export", "nowhere/out.jsonl")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "nowhere/out.jsonl can't be written" in done.err
    assert sorted(folder.iterdir()) == before


def test_prune_and_vacuum(cli: Cli, path: Path) -> None:
    """Nothing is that old; everything but the newest call goes when all is; then the file shrinks."""
    done = cli("journal", "prune", "--older-than", "1", "--json")
    assert done.json == {"path": str(path), "runs": 0, "records": 0, "calls": 0}
    assert cli("journal", "prune", "--keep", "1", "--json").json["runs"] == 0
    done = cli("journal", "prune", "--older-than", "0")
    assert done.out == "gone: runs 1, records of theirs 1, calls 2\n"
    assert "motet journal vacuum" in done.err
    found = msgspec.json.decode(cli("journal", "vacuum", "--json").out, type=shapes.Vacuumed)
    assert found.path == str(path)
    assert found.after == path.stat().st_size <= found.before
    assert " now\n" in cli("journal", "vacuum").out


def test_where_there_is_no_journal(cli: Cli, folder: Path) -> None:
    """A file that is not there, one that is none, and pruning without a measure are a line each; nothing is made."""
    (folder / "other").write_bytes(b"not SQLite, not at all" * 10)
    for arguments, code, said in [
        (("stats",), 2, "there is no journal"),
        (("vacuum", "--file", "nowhere"), 2, "there is no journal nowhere"),
        (("stats", "--file", "other"), 1, "it is no journal of motet's"),
        (("prune", "--older-than", "-1"), 2, "--older-than"),
    ]:
        done = cli("journal", *arguments)
        assert (done.code, done.out) == (code, ""), arguments
        assert said in done.err
        assert done.err.count("\n") == 1
    assert not default_path().exists()


def test_pruning_wants_a_measure(cli: Cli, path: Path) -> None:
    """What is to be pruned has to be said."""
    done = cli("journal", "prune")
    assert (done.code, done.out) == (2, "")
    assert "say how old it is, or how many runs are to be kept" in done.err
