"""Folders of matrices."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from motet.errors import UsageError
from motet.measure.arrays import NONE
from motet.tables.read import read

CORRECT = "item_id,a,b\nq1,1,0\nq2,0.5,1\n"


def fill(folder: Path, **files: str) -> Path:
    """Write files; `__` in a name stands for a dot, and those that end in gz are packed."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return folder


def test_everything_a_folder_may_hold(tmp_path: Path) -> None:
    """Every matrix goes where it belongs, in the order of correct.csv, packed or not."""
    line = {"item_id": "q2", "run": "a", "answers": ["x", None, "y"], "correct": [1, 0, 0.5]}
    stray = {"item_id": "q9", "run": "a", "answers": ["x"], "correct": [1]}
    table = read(
        fill(
            tmp_path / "set",
            correct__csv__gz=CORRECT,
            items__csv__gz='item_id,category,gold,question\nq2,s,X,"two\nlines"\nq1,t,Y,one\n',
            models__csv="model,family,mean\nb,B,0.5\na,A,0.75\n",
            answer__csv="item_id,b,a\nq1,X,Y\nq2,X,\n",
            samples__csv="item_id,a,b\nq1,1,1\nq2,3,1\n",
            cost_usd__csv="item_id,a,b\nq1,1,\nq2,3,1\n",
            input_tokens__csv="item_id,a,b\nq1,1,5\nq2,3,1\n",
            output_tokens__tsv="item_id\ta\tb\nq1\t10\t\nq2\t30\t10\n",
            latency_s__csv="item_id,a,b\nq1,0.1,5\nq2,3,1\n",
            output_chars__csv="item_id,a,b\nq1,1,5\nq2,3,1\n",
            samples_t08__jsonl__gz=json.dumps(line) + "\n" + json.dumps(stray),
            README__md="nothing",
        )
    )
    assert (table.format, table.items, table.agents) == ("folder", ("q1", "q2"), ("a", "b"))
    assert table.correct.tolist() == [[1, 0], [0.5, 1]]
    assert (table.topics, table.families) == (("t", "s"), ("A", "B"))
    assert table.answers is not None
    assert [[table.answer_texts[code] if code != NONE else "" for code in row] for row in table.answers] == [
        ["Y", "X"],
        ["", "X"],
    ]
    assert table.gold is not None
    assert [table.answer_texts[code] for code in table.gold] == ["Y", "X"]
    assert table.samples is not None
    assert table.samples.tolist() == [[1, 1], [3, 1]]
    assert table.cost is not None
    assert np.isnan(table.cost[0, 1])
    assert table.tokens is not None
    assert table.tokens[:, 0].tolist() == [11, 33]
    assert np.isnan(table.tokens[0, 1])
    assert table.seconds is not None
    assert table.seconds[0, 0] == 0.1
    assert table.draws is not None
    assert table.draws.correct[1, 0].tolist() == [1, 0, 0.5]
    assert table.draws.answers[1, 0, 1] == NONE
    assert np.isnan(table.draws.correct[0]).all()
    assert "not used: output_chars" in table.notes
    assert any("1 lines of items or agents that are in no matrix" in note for note in table.notes)


def test_successes_and_trials(tmp_path: Path) -> None:
    """Two counts stand for the share, and a cell without a trial is missing."""
    table = read(
        fill(
            tmp_path / "set",
            successes__csv="item_id,a,b\nq1,5,0\nq2,1,3\n",
            trials__csv="item_id,a,b\nq1,5,0\nq2,4,5\n",
        )
    )
    assert table.correct[1].tolist() == [0.25, 0.6]
    assert np.isnan(table.correct[0, 1])
    assert table.samples is not None
    assert table.samples.tolist() == [[5, 0], [4, 5]]


def test_preferences_are_graded_correctness(tmp_path: Path) -> None:
    """Preferences stand in for correctness, which is said."""
    table = read(fill(tmp_path / "set", preference__csv="item_id,a,b\nq1,0.9,0.1\nq2,0.5,1\n"))
    assert table.correct.tolist() == [[0.9, 0.1], [0.5, 1]]
    assert any("preferences are read as correctness" in note for note in table.notes)


def test_one_sort_of_tokens_is_used_and_named(tmp_path: Path) -> None:
    """With the tokens of one direction only, the note says which."""
    table = read(fill(tmp_path / "set", correct__csv=CORRECT, output_tokens__csv="item_id,a,b\nq1,1,5\nq2,3,1\n"))
    assert table.tokens is not None
    assert table.tokens[0].tolist() == [1, 5]
    assert any("tokens are those out only" in note for note in table.notes)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"answer__csv": CORRECT}, "answers without right ones"),
        ({"score__csv": CORRECT}, "scores are no correctness"),
        ({"successes__csv": "item_id,a,b\nq1,1,0\nq2,2,1\n"}, "needs trials.csv"),
        (
            {"successes__csv": "i,a,b\nq1,1,0\nq2,2,1\n", "trials__csv": "i,a,b\nq1,1,0\nq2,1,1\n"},
            "more successes than trials at item 'q2', agent 'a'",
        ),
        ({"correct__csv": CORRECT, "items__csv": "item_id,gold\nq1,X\n"}, "lacks 1 of 2 items, the first is 'q2'"),
        ({"correct__csv": CORRECT, "cost_usd__csv": "item_id,a\nq1,1\nq2,1\n"}, "lacks 1 of the table's 2 agents"),
        ({"correct__csv": CORRECT, "samples__jsonl": '{"item_id": "q1", "run": "a"}'}, "samples.jsonl:1"),
        (
            {"correct__csv": CORRECT, "samples__jsonl": '{"item_id": "q1", "run": "a", "correct": [2]}'},
            "correctness is between 0 and 1",
        ),
        (
            {"correct__csv": CORRECT, "samples__jsonl": '{"item_id": "q1", "run": "a", "correct": [1], "answers": []}'},
            "0 answers, 1 results",
        ),
        ({"README__md": "nothing"}, "not a format that is known here"),
        ({}, "an empty folder"),
    ],
)
def test_bad_folders(tmp_path: Path, files: dict[str, str], says: str) -> None:
    """A folder without results, or with files that do not fit each other, is refused in one line."""
    with pytest.raises(UsageError) as caught:
        read(fill(tmp_path / "set", **files))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
