"""Tasks from rows: the same tasks whatever they are written in, and Inspect's columns mean what they mean there."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from motet.bench.rows import letter
from motet.bench.suite import Suite, load_suite
from motet.bench.task import Attachment, Task
from motet.errors import UsageError
from motet.message import Message

ROWS: list[dict[str, object]] = [
    {"id": "a", "input": "Capital of Peru?", "target": "B", "choices": ["Cusco", "Lima"], "topic": "geo", "year": 1},
    {"id": "b", "input": "2 + 2?\nExactly, please.", "target": ["4", "four"], "metadata": {"level": 2}},
    {"id": "c", "input": 'Say "hi, you".', "target": "[1, 2", "files": {"x.py": "print()\n"}},
]
TASKS = (
    Task("a", "Capital of Peru?", ("B",), "geo", {"year": 1}, ("Cusco", "Lima")),
    Task("b", "2 + 2?\nExactly, please.", ("4", "four"), "", {"level": 2}),
    Task("c", 'Say "hi, you".', ("[1, 2",), attachments=(Attachment("x.py", "print()\n"),)),
)


def written(folder: Path, name: str) -> Path:
    """The rows in the form that a file's name says."""
    path = folder / name
    if name.endswith((".csv", ".tsv")):
        columns = list(dict.fromkeys(key for row in ROWS for key in row))
        with path.open("w", newline="") as file:
            table = csv.writer(file, delimiter="\t" if name.endswith("tsv") else ",")
            table.writerow(columns)
            for row in ROWS:
                cells = [row.get(column, "") for column in columns]
                table.writerow([json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in cells])
    elif name.endswith(".parquet"):
        arrow = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        as_lists = [
            row | {"target": row["target"] if isinstance(row["target"], list) else [row["target"]]} for row in ROWS
        ]
        for row in as_lists:
            row["metadata"] = json.dumps(row["metadata"]) if "metadata" in row else None
            row["files"] = json.dumps(row["files"]) if "files" in row else None
        names = list(dict.fromkeys(key for row in as_lists for key in row))
        pq.write_table(arrow.table({column: [row.get(column) for row in as_lists] for column in names}), path)
    else:
        lines = "\n".join(map(json.dumps, ROWS))
        data = (json.dumps(ROWS) if path.suffix == ".json" else lines).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.jsonl.gz", "t.csv", "t.tsv", "t.parquet"])
def test_every_form_gives_the_same_tasks(tmp_path: Path, name: str) -> None:
    """JSON lines, a JSON list, CSV, TSV and Parquet hold the same tasks; with options, choices are graded."""
    path = written(tmp_path, name)
    suite = load_suite(path)
    numbers_as_text = name.endswith((".csv", ".tsv", ".parquet"))
    first = Task("a", "Capital of Peru?", ("B",), "geo", {"year": "1" if numbers_as_text else 1}, ("Cusco", "Lima"))
    assert suite == Suite("t", (first, *TASKS[1:]), source=str(path), scorer="choice")


def test_a_conversation() -> None:
    """An input of turns keeps them all, images as parts; the question is what the user says last."""
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {"type": "image", "image": "data:,"}]},
    ]
    from motet.bench.rows import tasks_of

    (task,) = tasks_of([(1, {"input": turns, "target": "x"})], "f")
    assert task.input == "What is it?"
    assert [message.role for message in task.messages] == ["system", "user", "assistant", "user"]
    assert task.messages[0] == Message("system", "Be brief.")
    assert task.messages[3].parts[0].body == '{"image_url":{"url":"data:,"},"type":"image_url"}'


def test_an_image_file_is_refused(tmp_path: Path) -> None:
    """An image that is a file elsewhere can't be sent, and is told with its line."""
    path = tmp_path / "t.jsonl"
    part = {"type": "image", "image": "cat.png"}
    path.write_text(json.dumps({"input": [{"role": "user", "content": [part]}], "target": "x"}))
    with pytest.raises(UsageError, match=r"t.jsonl:1: the image \"cat.png\" is a file"):
        load_suite(path)


def test_other_names_of_columns(tmp_path: Path) -> None:
    """Columns that are called otherwise are named by the caller; a name that is not there is told."""
    path = tmp_path / "t.csv"
    path.write_text("question,answer\n2 + 2?,4\n")
    assert load_suite(path, columns={"input": "question", "target": "answer"}).tasks == (Task("2", "2 + 2?", ("4",)),)
    with pytest.raises(UsageError, match=r"t\.csv:2: there is no column 'q' to be the `input`"):
        load_suite(path, columns={"input": "q"})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("input,target\nq,\n", "t.csv:2: Object missing required field `target`"),
        ("input,target\n,a\n", "t.csv:2: Object missing required field `input`"),
        ("id,input,target\nx,q,a\nx,r,b\n", "t.csv:3: duplicate id 'x', first used on line 2"),
        ("input,target,choices\nq,A,x;y\n", "t.csv:2: the `choices` are no list; write lists and objects as JSON"),
        ("input,target,choices\nq,A,[x\n", "t.csv:2: JSON is malformed"),
        ("input,target\n", "t.csv: an empty suite"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, text: str, says: str) -> None:
    """What is wrong with a row of CSV is told with its line, as in JSON lines."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        load_suite(path)
    assert says in str(caught.value)


def test_letters_of_answers() -> None:
    """A target is a letter or the text of one option; a text that is itself a letter goes before the letter."""
    assert letter("a", ("x", "y")) == "A"
    assert letter("A", ("B", "A")) == "B"
    with pytest.raises(ValueError, match="neither"):
        letter("z", ("x", "y"))
