"""A run in the formats of others: tables, logs of Inspect, trajectories. Whatever is written is whole, or not there.

>>> import asyncio, tempfile
>>> from motet import ModelAgent, Scripted
>>> from motet.bench.run import read_run
>>> from motet.bench.runner import run_suite
>>> from motet.bench.suite import load_suite
>>> from motet.journal import Journal
>>> folder = tempfile.TemporaryDirectory()
>>> with Journal(f"{folder.name}/journal.sqlite") as journal:
...     arms = {"always 4": ModelAgent(Scripted("4"), "always 4")}
...     sheet = asyncio.run(run_suite(load_suite("arithmetic", n=6), arms, journal=journal, name="first"))
...     [path] = export(read_run(journal, "first"), Path(folder.name, "first.csv"))
>>> path.read_text().splitlines()[0].split(",")[:7]
['run', 'suite', 'task_id', 'topic', 'agent', 'part', 'sample']
>>> folder.cleanup()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from motet.bench.cell import Cell
from motet.bench.export.atif import write_atif
from motet.bench.export.files import check, whole
from motet.bench.export.inspect_log import write_logs
from motet.bench.export.rows import write_csv, write_jsonl, write_parquet
from motet.bench.run import BenchRun
from motet.errors import UsageError
from motet.spec.read import suggestion

Write = Callable[[BenchRun, Iterator[Cell], BinaryIO], None]

FORMATS: Final[dict[str, Write | None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "jsonl": write_jsonl,
    "atif": write_atif,
    "eval": None,  # a file an arm
}
"""Who writes the one file of a format."""
ENDINGS: Final = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".atif.jsonl": "atif",
    ".jsonl": "jsonl",
    ".eval": "eval",
}
"""Which format the end of a name means; the first one that fits counts."""


def export(
    run: BenchRun,
    path: Path,
    format: str = "",
    *,
    arms: Sequence[str] = (),
    watch: Callable[[int], None] = lambda count: None,
) -> list[Path]:
    """Write a run's answers, in the order in which they came.

    Args:
        run: the run; one that is not finished gives the answers that are there.
        path: where to. For `eval` either a file that ends so, which holds one arm, or a folder that gets one an arm.
        format: a key of `FORMATS`; "" goes by the end of the path.
        arms: whose answers; () for everybody's.
        watch: is told how many answers are written.

    Returns:
        The files.

    Raises:
        UsageError: an unknown format or arm, no answers, a path that can't be written or that would replace what is
            no export, or pyarrow is missing.
    """
    name = format or next((name for ending, name in ENDINGS.items() if path.name.lower().endswith(ending)), "")
    if name not in FORMATS:
        if format:
            raise UsageError(f"no run is exported as {format!r}{suggestion(format, FORMATS)}")
        raise UsageError(f"{path} does not say in which format: end it in {', '.join(ENDINGS)}, or give --format")
    for arm in arms:
        if arm not in run.arms:
            raise UsageError(f"nobody is called {arm!r} in the run {run.name!r}{suggestion(arm, run.arms)}")
    write = FORMATS[name]
    answers = _counted(run, arms, watch)
    if write is None:
        return write_logs(run, answers, path, tuple(dict.fromkeys(arms)) or tuple(run.arms))
    check(path, run)
    with whole(path) as stream:
        write(run, answers, stream)
    return [path]


def _counted(run: BenchRun, arms: Sequence[str], watch: Callable[[int], None]) -> Iterator[Cell]:
    """The answers of some arms, counted.

    Raises:
        UsageError: there are none.
    """
    count = 0
    for cell in run.cells():
        if not arms or cell.arm in arms:
            yield cell
            count += 1
            watch(count)
    if not count:
        whose = f" of {', '.join(arms)}" if arms else ""
        raise UsageError(f"the run {run.name!r} has no answers{whose} yet: go on with it first")
