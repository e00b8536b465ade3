"""Questions with known answers: a `Task` is one of them, a `Suite` is a named list of them.

`load_suite` reads a built-in suite by name, or a JSONL file by path: one JSON object a line, with the column
names that Inspect's datasets use.

    input     the question
    target    the accepted answer, or a list of accepted answers with the canonical one first
    id        unique in the file; the line number where it is left out
    topic     what the question is about, for results by topic
    metadata  an object with anything else; further columns are added to it

Example:
    >>> suite = load_suite("general")
    >>> len(suite.tasks), suite.tasks[0].id
    (100, 'general-001')
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from motet.errors import UsageError

BUILT_IN: Final[Mapping[str, str]] = {
    "general": "Give only the answer.",
}
"""The suites that ship with motet: the name of each and its instructions."""


class Task(msgspec.Struct, frozen=True):
    """One question with its accepted answers.

    Args:
        id: unique within its suite.
        input: the question, as it is asked.
        target: the accepted answers, the canonical one first; never empty.
        topic: what it is about; "" where the suite does not say.
        metadata: whatever else the suite knows about it.
    """

    id: str
    input: str
    target: tuple[str, ...]
    topic: str = ""
    metadata: Mapping[str, object] = msgspec.field(default_factory=dict)


class Suite(msgspec.Struct, frozen=True):
    """Tasks under one name.

    Args:
        name: what reports call it.
        tasks: in the order of the file; never empty when loaded.
        licence: an SPDX identifier; "" where the file does not say.
        source: where the tasks come from.
        instructions: what an agent is told besides the question; "" for nothing.
    """

    name: str
    tasks: tuple[Task, ...]
    licence: str = ""
    source: str = ""
    instructions: str = ""


def load_suite(name_or_path: str | os.PathLike[str]) -> Suite:
    """Load a built-in suite by its name, or a JSONL file by its path.

    Args:
        name_or_path: one of `BUILT_IN`, or a path. A file that has a built-in's name is `./name`.

    Returns:
        The suite; one from a file is named after the file, and its source is the path.

    Raises:
        UsageError: no such suite or file, an unreadable file, no tasks in it, or a line that is not a task;
            names the file and the line.
    """
    name = os.fspath(name_or_path)
    if name in BUILT_IN:
        # Imported here, as it costs more than the rest of this module and few runs need it.
        from importlib.resources import files

        data = files("motet.bench").joinpath("suites", f"{name}.jsonl").read_bytes()
        return Suite(
            name,
            _read_jsonl(data, f"{name}.jsonl"),
            licence="Apache-2.0",
            source="written for motet",
            instructions=BUILT_IN[name],
        )
    path = Path(name)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UsageError(
            f"no suite and no file is called {name!r}; built-in suites: {', '.join(sorted(BUILT_IN))}; "
            f"or give the path of a JSONL file"
        ) from None
    except OSError as error:
        raise UsageError(f"can't read the suite {name!r}: {error.strerror}; give a JSONL file") from error
    return Suite(path.stem, _read_jsonl(data, name), source=name)


class _Row(msgspec.Struct):
    """The columns of a line that mean something here. Numbers are taken as targets, as Inspect does."""

    input: str
    target: str | int | float | list[str | int | float]
    id: str | int | None = None
    topic: str = ""
    metadata: dict[str, object] = msgspec.field(default_factory=dict)


def _read_jsonl(data: bytes, file: str) -> tuple[Task, ...]:
    tasks: list[Task] = []
    line_of: dict[str, int] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            task = _read_task(line, default_id=str(number))
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


def _read_task(line: bytes, default_id: str) -> Task:
    columns = msgspec.json.decode(line, type=dict[str, object])
    row = msgspec.convert(columns, _Row)
    targets = row.target if isinstance(row.target, list) else [row.target]
    target = tuple(str(answer) for answer in targets)
    if not row.input.strip():
        raise ValueError("`input` is blank")
    if not target or not all(answer.strip() for answer in target):
        raise ValueError("`target` is empty, or one of its answers is blank")
    # Asked without its options such a question can't be answered, and every agent would score near zero.
    if columns.get("choices"):
        raise ValueError("`choices` are not supported; write the options into `input`")
    known = {*_Row.__struct_fields__, "choices"}
    extra = {name: value for name, value in columns.items() if name not in known}
    return Task(
        id=default_id if row.id is None else str(row.id),
        input=row.input,
        target=target,
        topic=row.topic,
        metadata=row.metadata | extra,
    )
