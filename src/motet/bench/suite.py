"""Suites by name and by file.

`load_suite` reads a built-in suite by its name (written for motet; all but `general` are made from a seed), or tasks
from a path:

* JSON lines, a JSON list, CSV, TSV or Parquet, with the columns of `motet.bench.rows`
* a task of lm-evaluation-harness, `.yaml` (`motet.bench.lm_eval`)
* a folder of recorded results (`motet.bench.matrices`)

Example:
    >>> suite = load_suite("general")
    >>> len(suite.tasks), suite.tasks[0].id
    (100, 'general-001')
    >>> load_suite("arithmetic", n=2, seed=1).tasks[1].topic
    'differences'
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from motet.bench.generated import GENERATED, generate
from motet.bench.task import Attachment, Suite, Task
from motet.errors import UsageError

__all__ = ["BUILT_IN", "Attachment", "Suite", "Task", "load_suite"]

BUILT_IN: Final[Mapping[str, str]] = MappingProxyType(
    {"general": "knowledge, arithmetic and word problems: the 100 questions of the quickstart", **GENERATED}
)
"""The suites that ship with motet: the name of each and what is in it."""


def load_suite(
    name_or_path: str | os.PathLike[str],
    *,
    n: int | None = None,
    seed: int = 0,
    columns: Mapping[str, str] | None = None,
) -> Suite:
    """Load a built-in suite by its name, or tasks from a path.

    Args:
        name_or_path: one of `BUILT_IN`, or a path. A file that has a built-in's name is `./name`.
        n: how many tasks; by default all of a file, and 200 of a generated suite. The first so many are taken, and
            the first tasks of a generated suite are the same whatever `n`.
        seed: what a generated suite is made from; a file's tasks do not depend on it.
        columns: names of columns that are called otherwise in a file of rows, such as `{"input": "question"}`.

    Returns:
        The suite; one from a file is named after the file, and its source is the path.

    Raises:
        UsageError: no such suite or file, an unreadable file, fewer tasks than asked for, or a line that is not a
            task; names the file and the line.
    """
    name = os.fspath(name_or_path)
    if n is not None and n < 1:
        raise UsageError(f"a suite of {n} tasks makes no sense: ask for at least 1")
    if name in GENERATED:
        return generate(name, n=200 if n is None else n, seed=seed)
    suite = _general() if name == "general" else _from_path(name, columns)
    if n is None:
        return suite
    if n > len(suite.tasks):
        raise UsageError(f"{suite.name} has {len(suite.tasks)} tasks, and {n} were asked for: ask for fewer")
    return msgspec.structs.replace(suite, tasks=suite.tasks[:n])


def _general() -> Suite:
    # Imported here, as these cost more than the rest of this module and few runs need them.
    from importlib.resources import files

    from motet.bench.rows import json_rows, tasks_of

    data = files("motet.bench").joinpath("suites", "general.jsonl").read_bytes()
    tasks = tasks_of(json_rows(data), "general.jsonl")
    return Suite("general", tasks, "Apache-2.0", "written for motet", "Give only the answer.")


def _from_path(name: str, columns: Mapping[str, str] | None) -> Suite:
    from motet.bench.rows import rows_of, tasks_of

    path = Path(name)
    try:
        if path.is_dir():
            from motet.bench.matrices import matrices_suite

            return matrices_suite(path)
        if path.suffix.lower() in (".yaml", ".yml"):
            from motet.bench.lm_eval import lm_eval_suite

            return lm_eval_suite(path)
        with path.open("rb"):
            pass  # the one place that says what is wrong with a path
        tasks = tasks_of(rows_of(path), name, columns)
    except FileNotFoundError:
        raise UsageError(
            f"no suite and no file is called {name!r}; built-in suites: {', '.join(sorted(BUILT_IN))}; "
            f"or give the path of a JSONL file"
        ) from None
    except OSError as error:
        raise UsageError(f"can't read the suite {name!r}: {error.strerror}; give a JSONL file") from error
    choices = any(task.choices for task in tasks)
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return Suite(stem, tasks, source=name, scorer="choice" if choices else "exact")
