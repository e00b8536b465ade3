"""Answers as rows of a table: CSV, JSON lines and Parquet, with the same columns.

The columns are called as `motet measure` knows them, so that each of these files is a long table to it. Nothing is
done to texts but one thing: CSV that holds a NUL is no text to most readers, so there it is `�`. A text that begins
with `=` stays one in CSV as well. Answers such as `-5` are data, and a mark before them would be part of the answer to
every program; a spreadsheet that takes texts for formulas is told not to when it imports the file.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

import msgspec

from motet.bench.ask import chat_of
from motet.bench.cell import Cell
from motet.bench.run import BenchRun
from motet.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

GROUP: Final = 5000
"""Rows that are in memory at once, and a row group of Parquet."""


class Row(msgspec.Struct, frozen=True):
    """One answer.

    Args:
        run: the run's name.
        suite: the suite's.
        task_id: the task's id.
        topic: what it is about; "" where the suite does not say.
        agent: the arm: who answered.
        part: what the arm is there for: `member`, `mixture`, `vote`, `self-consistency` or `placebo`.
        sample: the how manieth time the task was put, from 1.
        correct: the grade, from 0 to 1; null where it could not be graded.
        state: `full`, `degraded`, `single`, `abstained` or `failed`; the last two are graded 0.
        answer: what votes take the text for; "" where there is none.
        text: the whole reply.
        error: why there is none, or why it was not graded.
        question: what was asked, with its options and attachments.
        targets: the accepted answers.
        calls: calls that the answer takes alone, with those that were shared with other arms or known before.
        input_tokens: prompt tokens, likewise.
        output_tokens: completion tokens, likewise.
        usd: US dollars, likewise.
        seconds: from the question to the answer, likewise.
        paid_calls: calls that were made for it.
        paid_usd: what was paid for it, grading included.
        saved_calls: calls that were not made, since they were known.
        saved_usd: what those would have cost.
    """

    run: str
    suite: str
    task_id: str
    topic: str
    agent: str
    part: str
    sample: int
    correct: float | None
    state: str
    answer: str
    text: str
    error: str
    question: str
    targets: tuple[str, ...]
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float
    seconds: float
    paid_calls: int
    paid_usd: float
    saved_calls: int
    saved_usd: float


def rows_of(run: BenchRun, cells: Iterator[Cell]) -> Iterator[Row]:
    """A row of each answer."""
    from motet.answer import answer
    from motet.normalise import normalise

    arms = run.arms
    for cell in cells:
        task, alone, paid = run.tasks[cell.task], cell.alone, cell.usage
        yield Row(
            run=run.name,
            suite=run.opening.suite,
            task_id=task.id,
            topic=task.topic,
            agent=cell.arm,
            part=arms[cell.arm].part,
            sample=cell.draw + 1,
            correct=cell.score,
            state=cell.state,
            answer=normalise(answer(cell.text, task.input)) if cell.text else "",
            text=cell.text,
            error=cell.error,
            question=chat_of(task).question,
            targets=task.target,
            calls=alone.calls,
            input_tokens=alone.input,
            output_tokens=alone.output,
            usd=alone.usd,
            seconds=cell.seconds,
            paid_calls=paid.calls,
            paid_usd=paid.usd,
            saved_calls=paid.saved_calls,
            saved_usd=paid.saved_usd,
        )


def write_csv(run: BenchRun, cells: Iterator[Cell], stream: BinaryIO) -> None:
    """Comma-separated values as RFC 4180 has them, in UTF-8; `targets` is a JSON list, and null is empty."""
    text = io.TextIOWrapper(stream, "utf-8", newline="", write_through=False)
    writer = csv.writer(text)
    writer.writerow(Row.__struct_fields__)
    for row in rows_of(run, cells):
        writer.writerow(map(_cell, msgspec.structs.astuple(row)))
    text.detach()  # flushes; the stream is closed by who opened it


def _cell(value: object) -> object:
    if isinstance(value, tuple):
        value = msgspec.json.encode(value).decode()
    return value.replace("\0", "�") if isinstance(value, str) else value


def write_jsonl(run: BenchRun, cells: Iterator[Cell], stream: BinaryIO) -> None:
    """One JSON object a line."""
    for row in rows_of(run, cells):
        stream.write(line(row))


def line(value: object) -> bytes:
    r"""A value as a line of JSON that is one line to every reader: those take U+2028 and others for a line's end.

    >>> line("a\u2028b")
    b'"a\\u2028b"\n'
    """
    made = msgspec.json.encode(value)
    for mark, escaped in ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085")):
        made = made.replace(mark, escaped)
    return made + b"\n"


def write_parquet(run: BenchRun, cells: Iterator[Cell], stream: BinaryIO) -> None:
    """Parquet with a type a column, a row group at a time.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError("Parquet needs pyarrow: pip install 'motet[parquet]'") from None
    schema = _schema()
    rows = rows_of(run, cells)
    with pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        while group := [msgspec.structs.asdict(row) for row in itertools.islice(rows, GROUP)]:
            writer.write_table(pa.Table.from_pylist(group, schema))


def _schema() -> pa.Schema:
    import pyarrow as pa

    whole = ("sample", "calls", "input_tokens", "output_tokens", "paid_calls", "saved_calls")
    kinds = {
        **dict.fromkeys(whole, pa.int64()),
        **dict.fromkeys(("correct", "usd", "seconds", "paid_usd", "saved_usd"), pa.float64()),
        "targets": pa.list_(pa.string()),
    }
    return pa.schema(
        [pa.field(name, kinds.get(name, pa.string()), nullable=name == "correct") for name in Row.__struct_fields__]
    )
