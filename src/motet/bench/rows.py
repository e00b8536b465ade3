r"""Rows as tasks: JSON lines, a JSON list, CSV, TSV and Parquet, with the column names of Inspect's datasets.

    input     the question; in JSON also a conversation: [{"role": "user", "content": "…"}, …]
    target    the accepted answer, or a list of accepted answers with the canonical one first
    choices   a list of options; the target is then a letter (A the first), or the text of an option
    id        unique in the file; the number of the line where it is left out
    topic     what the question is about, for results by topic
    files     an object: names and texts of files that belong to the question
    metadata  an object with anything else; further columns are added to it

Lists and objects in CSV are written as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from motet.bench.task import Attachment, Task
from motet.errors import UsageError
from motet.message import Message, Part
from motet.prompt import label
from motet.tables.grid import csv_grid, json_list, parquet_grid
from motet.tables.source import Source, decoded

Row = tuple[int, Mapping[str, object] | bytes]
"""The number of a line and what it holds; JSON is decoded when its turn comes, so that a mistake has its line."""
_NESTED: Final = ("target", "choices", "files", "metadata")
_KNOWN: Final = frozenset(("input", "target", "choices", "id", "topic", "files", "metadata"))
_TURNS: Final = ("system", "user", "assistant")


def tasks_of(rows: Iterable[Row], file: str, columns: Mapping[str, str] | None = None) -> tuple[Task, ...]:
    """The tasks that rows hold.

    Args:
        rows: line numbers and columns.
        file: what errors call the file.
        columns: the names of columns that are called otherwise, such as `{"input": "question"}`.

    Raises:
        UsageError: a row is no task, two have one id, or there is none; names the line.

    >>> tasks_of([(1, {"input": "2 + 2?", "target": 4})], "sums")[0].target
    ('4',)
    """
    tasks: list[Task] = []
    line_of: dict[str, int] = {}
    for number, row in rows:
        try:
            task = _task(row, str(number), columns or {})
            if task.id in line_of:
                raise ValueError(f"duplicate id {task.id!r}, first used on line {line_of[task.id]}")
        # RecursionError: JSON nested deeper than the decoder goes.
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{file}:{number}: {error}; fix or remove this line") from error
        line_of[task.id] = number
        tasks.append(task)
    if not tasks:
        raise UsageError(f"{file}: an empty suite; write one JSON object with `input` and `target` a line")
    return tuple(tasks)


def rows_of(path: Path) -> Iterator[Row]:
    """The rows of a file: JSON and Parquet by their endings, anything else with columns as CSV; `.gz` is unpacked.

    Raises:
        UsageError: the file can't be read as what its ending says.
    """
    kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    if kind in ("csv", "tsv", "parquet"):
        source = Source(path)
        grid = parquet_grid(source) if kind == "parquet" else csv_grid(source)
        for number, cells in grid.rows:
            try:
                row = _parsed(dict(zip(grid.columns, cells, strict=True)))
            except ValueError as error:
                raise grid.at(number, f"{error}; write lists and objects as JSON") from error
            yield number, row
        return
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = Source(path).bytes()
    data = data.removeprefix(b"\xef\xbb\xbf")
    if kind == "json" and data.lstrip().startswith(b"["):
        for number, value in enumerate(json_list(Source(path)), start=1):
            yield number, value if isinstance(value, dict) else msgspec.json.encode(value)
        return
    yield from json_rows(data)


def json_rows(data: bytes) -> Iterator[Row]:
    """The lines of JSON lines that are not blank."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        if line.strip():
            yield number, line


def _parsed(row: Mapping[str, str]) -> dict[str, object]:
    """A row of text cells: blank ones are left out, lists and objects read."""
    found: dict[str, object] = {name: text for name, text in row.items() if text.strip()}
    for name, text in row.items():
        if name == "choices" and text.strip() and not text.lstrip().startswith("["):
            raise ValueError("the `choices` are no list")  # where options hold commas, nothing else can part them
        if name in _NESTED and text.lstrip().startswith(("[", "{")):
            try:
                found[name] = decoded(text.strip().encode())
            except ValueError:
                if name != "target":  # an answer may well begin with a bracket
                    raise
    return found


class _Columns(msgspec.Struct):
    """The columns of a row that mean something here. Numbers are taken as targets, as Inspect does."""

    input: str | list[dict[str, object]]
    target: str | int | float | list[str | int | float]
    choices: list[str | int | float] | None = None
    id: str | int | None = None
    topic: str = ""
    files: dict[str, str] | None = None
    metadata: dict[str, object] | None = None


def _task(row: Mapping[str, object] | bytes, default_id: str, renamed: Mapping[str, str]) -> Task:
    columns = msgspec.json.decode(row, type=dict[str, object]) if isinstance(row, bytes) else dict(row)
    for name, called in renamed.items():
        if called not in columns:
            raise ValueError(f"there is no column {called!r} to be the `{name}`")
        columns[name] = columns.pop(called)
    found = msgspec.convert(columns, _Columns)
    messages = tuple(map(_message, found.input)) if isinstance(found.input, list) else ()
    asked = [message.text for message in messages if message.role == "user"]
    question = found.input if isinstance(found.input, str) else (asked or [""])[-1]
    if not question.strip():
        raise ValueError("`input` is blank" if not messages else "`input` has no words of the user")
    answers = found.target if isinstance(found.target, list) else [found.target]
    target = tuple(str(answer) for answer in answers)
    if not target or not all(answer.strip() for answer in target):
        raise ValueError("`target` is empty, or one of its answers is blank")
    choices = tuple(str(choice) for choice in found.choices or ())
    if found.id is not None and not str(found.id).strip():
        raise ValueError("the `id` is blank")
    extra = {name: value for name, value in columns.items() if name not in _KNOWN}
    return Task(
        id=default_id if found.id is None else str(found.id),
        input=question,
        target=tuple(letter(answer, choices) for answer in target) if choices else target,
        topic=found.topic,
        metadata=(found.metadata or {}) | extra,
        choices=choices,
        messages=messages,
        attachments=tuple(Attachment(name, text) for name, text in (found.files or {}).items()),
    )


def letter(answer: str, choices: tuple[str, ...]) -> str:
    """The letter of the option that an answer is: the letter itself, or the text of exactly one option.

    Raises:
        ValueError: it is none of them.

    >>> letter("b", ("Cusco", "Lima")), letter("Lima", ("Cusco", "Lima"))
    ('B', 'B')
    """
    letters = [label(place) for place in range(len(choices))]
    alike = [each for each, text in zip(letters, choices, strict=True) if text.strip() == answer.strip()]
    if len(alike) == 1:
        return alike[0]
    if answer.strip().upper() in letters:
        return answer.strip().upper()
    raise ValueError(f"the target {answer[:60]!r} is neither a letter from A to {letters[-1]} nor one of the `choices`")


def _message(turn: Mapping[str, object]) -> Message:
    role, content = turn.get("role"), turn.get("content")
    if role not in _TURNS:
        raise ValueError(f"a turn of `input` has the role {role!r}: {', '.join(_TURNS)} are read")
    name: str = str(role)
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError("the `content` of a turn is a text or a list of parts")
    words = "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
    others = tuple(Part.of(_wire(part)) for part in parts if part.get("type") != "text")
    if name == "user":
        return Message("user", words, others)
    return Message("system" if name == "system" else "assistant", words, others)


def _wire(part: dict[str, object]) -> dict[str, object]:
    """A part as endpoints take it; Inspect writes images as {"type": "image", "image": "data:…"}."""
    if part.get("type") != "image":
        return part
    url = str(part.get("image", ""))
    if not url.startswith(("data:", "http://", "https://")):
        raise ValueError(f"the image {json.dumps(url[:60])} is a file: give a data: or https: address")
    return {"type": "image_url", "image_url": {"url": url}}
