"""Results files of motet bench."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.errors import UsageError
from motet.tables.read import read

GENERAL = Path(__file__).parents[2] / "benchmarks" / "results" / "general.json"


def test_the_recorded_run() -> None:
    """The run kept with the benchmarks is read whole: every entry's accuracy is the one it states."""
    table = read(GENERAL)
    stated = {entry["name"]: entry["accuracy"] for entry in json.loads(GENERAL.read_text())["entries"]}
    assert table.format == "motet"
    assert dict(zip(table.agents, table.accuracy().tolist(), strict=True)) == pytest.approx(stated)
    assert len(table.items) == 100
    assert table.topics is not None
    assert set(table.topics) == {"arithmetic", "knowledge", "word-problem"}
    assert table.tokens is not None
    assert table.tokens[0, 0] == 207
    assert table.answers is not None
    assert any("6 make more than one call" in note for note in table.notes)


def test_the_same_entry_twice(tmp_path: Path) -> None:
    """Two entries of one name are refused."""
    entry = {"name": "vote", "items": [{"id": "q1", "right": True}]}
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"entries": [entry, entry]}))
    with pytest.raises(UsageError, match="'vote' on 'q1' again"):
        read(path)


def test_not_a_run(tmp_path: Path) -> None:
    """A document that only looks like one names what is missing."""
    path = tmp_path / "run.json"
    path.write_text('{"entries": [{"name": "vote", "items": [{"right": true}]}]}')
    with pytest.raises(UsageError, match="missing required field `id`"):
        read(path)
