"""Logs of Inspect: a `.eval` for each arm, which `inspect view` opens and Inspect's own functions read.

A zip archive of JSON files, laid out as Inspect's recorder does (read in inspect_ai 0.3.285, log format 2):

    _journal/start.json        what is evaluated, and how
    samples/q1_epoch_1.json    an answer: the conversation, the score, the usage
    summaries.json             the answers without their conversations, which a viewer lists
    reductions.json            where tasks were put several times, the mean score of each
    header.json                the first one, and the results

The model is the arm, a draw is an epoch. As scores, C is right and I wrong, or a number where an arm has others; N,
which counts as 0, is no answer. An answer that could not be graded has no score but an error, as where a scorer of
Inspect raises. Who was asked on the way, and who heard whom, is in the metadata of a sample under `motet`.
"""

from __future__ import annotations

import datetime
import json
import math
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import IO, BinaryIO, Final

import msgspec
import numpy as np

from motet.bench.ask import chat_of
from motet.bench.cell import Cell
from motet.bench.export.files import check, several
from motet.bench.run import Arm, BenchRun
from motet.bench.sheet import Column
from motet.bench.task import Suite, Task
from motet.errors import UsageError
from motet.measure.arrays import Floats
from motet.message import Message, Part, Usage, digest

VERSION: Final = 2
"""Of the format."""
THIN: Final = 1000
"""Characters of a text that a summary holds at most."""
SPOOLED: Final = 1 << 20
"""Bytes of summaries that an arm keeps in memory; more are kept in a temporary file."""

Json = dict[str, object]


def write_logs(run: BenchRun, cells: Iterator[Cell], path: Path, arms: Sequence[str]) -> list[Path]:
    """Write a log of each arm that has answers.

    Args:
        run: the run.
        cells: its answers, those of `arms` only.
        path: a file that ends in `.eval`, for one arm; else a folder, which may hold earlier exports of the same kind:
            they are replaced.
        arms: whose.

    Returns:
        The files.

    Raises:
        UsageError: one file and several arms, a folder with anything else in it, or it can't be written.
    """
    single = path.name.lower().endswith(".eval")
    if single and len(arms) > 1:
        raise UsageError(
            f"{path}: one .eval holds one arm, and there are {len(arms)} here: name one with --arm, or give a folder "
            "and --format eval"
        )
    sheet = run.sheet()
    there = [arm for arm in arms if sheet.columns[arm].there.any()] or list(arms[:1])
    if single:
        check(path, run)
    folder = path.resolve().parent if single else path
    last = max((record.made for record in run.journal.records(run.name)), default=0.0)
    completed = datetime.datetime.fromtimestamp(last, datetime.UTC).isoformat(timespec="seconds")
    earlier = [] if single else _earlier(path)
    names = [path.resolve().name] if single else list(_names(there))
    with several(folder, names, told=path, make=not single, stale=lambda: earlier) as streams, ExitStack() as stack:
        logs: dict[str, _Log] = {}
        for arm, stream in zip(there, streams, strict=True):
            log = _Log(run, run.arms[arm], sheet.columns[arm], sheet.scores(arm), completed, stream)
            logs[arm] = stack.enter_context(closing(log))
        for cell in cells:
            if cell.arm in logs:  # not one of an arm that had none a moment ago, where the run goes on meanwhile
                logs[cell.arm].add(cell, run.tasks[cell.task])
        for log in logs.values():
            log.finish()
    return [path] if single else [path / name for name in names]


def _names(arms: Sequence[str]) -> Iterator[str]:
    """File names that say who, and that differ even where upper and lower case do not.

    >>> list(_names(["vote", "Vote", "3 x smol/2"]))
    ['vote.eval', 'Vote-2.eval', '3-x-smol-2.eval']
    """
    taken: set[str] = set()
    for arm in arms:
        stem = re.sub(r"[^\w.-]+", "-", arm).strip("-.")[:60] or "arm"  # names have 255 bytes at most
        name, number = stem, 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name.lower())
        yield f"{name}.eval"


def _earlier(folder: Path) -> list[Path]:
    """The logs that a folder holds from before.

    Raises:
        UsageError: it is none, or holds anything else.
    """
    try:
        if not folder.exists():
            return []
        if not folder.is_dir():
            raise UsageError(f"{folder} is no folder: give one for the logs of several arms, or --arm and a .eval")
        found = sorted(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder} can't be written ({error}): give another folder") from None
    for each in found:
        if not _ours(each):
            raise UsageError(f"{folder} holds {each.name}, which is no earlier export: give an empty or a new folder")
    return found


def _ours(path: Path) -> bool:
    """Whether a file is a log that was written here."""
    try:
        with zipfile.ZipFile(path) as archive:
            head = json.loads(archive.read("header.json"))
        return "motet" in head["eval"]["packages"]
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        return False


class _Log:
    """The log of one arm, as it is written."""

    def __init__(
        self, run: BenchRun, arm: Arm, column: Column, scores: Floats, completed: str, stream: BinaryIO
    ) -> None:
        opening = run.opening
        self.run, self.arm, self.column, self.scores, self.completed = run, arm, column, scores, completed
        self.scorer = opening.scorer or "score"
        known = column.scores[np.isfinite(column.scores)]
        self.letters = bool(np.isin(known, (0, 1)).all())
        self.suite = Suite(opening.suite, (), instructions=opening.instructions)
        self.used = Usage()
        self.whole = 0
        self.archive = zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED)
        self.summaries: IO[bytes] = tempfile.SpooledTemporaryFile(SPOOLED)  # noqa: SIM115  (closed by `close`)
        self._put("_journal/start.json", {"version": VERSION, "eval": self._spec(), "plan": self._plan()})

    def add(self, cell: Cell, task: Task) -> None:
        """Write an answer."""
        sample = self._sample(cell, task)
        self._put(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
        self.summaries.write(b",\n" if self.summaries.tell() else b"[")
        self.summaries.write(msgspec.json.encode(_summary(sample)))
        self.used += cell.alone
        self.whole += "error" not in sample

    def finish(self) -> None:
        """Write what can be said when all is there."""
        self.summaries.write(b"]" if self.summaries.tell() else b"[]")
        self.summaries.seek(0)
        with self.archive.open(_entry("summaries.json"), "w") as member:
            shutil.copyfileobj(self.summaries, member)
        if self.run.opening.draws > 1:
            self._put("reductions.json", [self._reduction()])
        self._put("header.json", self._header())
        self.archive.close()

    def close(self) -> None:
        """Let go of the files, be it finished or given up."""
        self.summaries.close()
        with suppress(OSError, ValueError):  # a full disk, which was told already
            self.archive.close()

    def _put(self, name: str, content: object) -> None:
        self.archive.writestr(_entry(name), msgspec.json.encode(content))

    # ---- what is evaluated

    def _spec(self) -> Json:
        opening, run = self.run.opening, self.run
        metrics = [{"name": self._metric}, {"name": "stderr"}]
        made = digest([run.name, self.arm.name, self.arm.key, run.openings[0].date])
        return {
            "eval_id": made[:22],
            "run_id": digest([run.name, run.openings[0].date])[:22],
            "created": run.openings[0].date,
            "task": opening.suite,
            # Logs of one task id are taken for attempts at the same thing, of which a viewer lists the last.
            "task_id": digest([opening.suite, opening.asking, self.arm.name])[:22],
            "task_version": 0,
            "dataset": {
                "name": opening.suite,
                "location": opening.source or None,
                "samples": len(run.tasks),
                "sample_ids": [_id(task) for task in run.tasks.values()],
                "shuffled": False,
            },
            "model": self.arm.name,
            "config": {
                "epochs": opening.draws,
                "epochs_reducer": ["mean"] if opening.draws > 1 else None,
                "fail_on_error": False,
                "score_on_error": True,
            },
            "packages": {"motet": opening.version},
            "metadata": {
                "run": run.name,
                "part": self.arm.part,
                "of": self.arm.of,
                "draws": self.arm.draws,
                "seed": opening.seed,
                "models": opening.models,
                "licence": opening.licence,
                "command": opening.command,
                "python": opening.python,
                "machine": opening.machine,
            },
            "scorers": [{"name": self.scorer, "metrics": metrics}],
        }

    def _plan(self) -> Json:
        return {"name": "plan", "steps": [{"solver": self.arm.part, "params": {}}], "config": {}}

    @property
    def _metric(self) -> str:
        return "accuracy" if self.letters else "mean"

    # ---- an answer

    def _sample(self, cell: Cell, task: Task) -> Json:
        uuid = digest([self.run.name, self.arm.key, task.id, cell.draw])[:22]
        turns = chat_of(task, self.suite).messages
        asked = [{"id": f"{uuid}-{place}", **_turn(message)} for place, message in enumerate(turns)]
        answered = cell.state not in ("abstained", "failed")
        usage = {self.arm.name: _usage(cell.alone)}
        output: Json = {"model": self.arm.name, "choices": [], "completion": "", "time": cell.seconds}
        messages = asked
        if answered:
            said: Json = {"id": f"{uuid}-{len(asked)}", "role": "assistant", "content": cell.text}
            said |= {"source": "generate", "model": self.arm.name}
            messages = [*asked, said]
            output |= {"choices": [{"message": said, "stop_reason": "stop"}], "completion": cell.text}
            output["usage"] = usage[self.arm.name]
        found: Json = {
            "id": _id(task),
            "epoch": cell.draw + 1,
            "input": asked[0]["content"] if len(asked) == 1 and isinstance(asked[0]["content"], str) else asked,
            "choices": list(task.choices) or None,
            "target": task.target[0] if len(task.target) == 1 else list(task.target),
            "messages": messages,
            "output": output,
            "events": self._events(cell, uuid, asked, output),
            "metadata": {
                **task.metadata,
                **({"topic": task.topic} if task.topic else {}),
                "motet": {
                    "state": cell.state,
                    "calls": cell.alone.calls,
                    "paid_calls": cell.usage.calls,
                    "paid_usd": cell.usage.usd,
                    "saved_calls": cell.usage.saved_calls,
                    "saved_usd": cell.usage.saved_usd,
                    "asks": [msgspec.to_builtins(said) for said in cell.asks],
                },
            },
            "model_usage": usage,
            "total_time": cell.seconds,
            "working_time": cell.seconds,
            "uuid": uuid,
        }
        if cell.score is not None:
            found["scores"] = {self.scorer: self._score(cell, task, answered)}
        if cell.state == "failed" or cell.score is None:
            message = cell.error if cell.state == "failed" else f"not graded: {cell.error}"
            found["error"] = {"message": message, "traceback": "", "traceback_ansi": ""}
        return found

    def _events(self, cell: Cell, uuid: str, asked: Sequence[Json], output: Json) -> list[Json]:
        """What a viewer shows as the transcript: who said what on the way, and the arm, which is the model, answering.

        When each was asked is not kept, so all of them have the time at which the run was begun.
        """
        said: list[Json] = [
            {
                "event": "info",
                "source": each.agent,
                "data": {"said": each.text, "state": each.state, "heard": [cell.asks[at].agent for at in each.heard]},
            }
            for each in cell.asks
        ]
        model: Json = {"event": "model", "model": self.arm.name, "input": asked, "output": output}
        model |= {"tools": [], "tool_choice": "none", "config": {}, "error": cell.error or None}
        common = {"timestamp": self.run.openings[0].date, "working_start": 0.0}
        return [{"uuid": f"{uuid}-e{place}", **common, **each} for place, each in enumerate([*said, model])]

    def _score(self, cell: Cell, task: Task, answered: bool) -> Json:
        from motet.answer import answer

        assert cell.score is not None
        if not answered:
            return {"value": "N", "answer": "", "explanation": cell.error}
        value = "IC"[int(cell.score)] if self.letters and cell.score in (0, 1) else cell.score
        return {"value": value, "answer": answer(cell.text, task.input), "explanation": cell.error or None}

    # ---- the results

    def _reduction(self) -> Json:
        """The mean score of each task over its draws."""
        means = [
            {"value": score, "sample_id": _id(task)}
            for task, score in zip(self.run.tasks.values(), self.scores.tolist(), strict=True)
            if math.isfinite(score)
        ]
        return {"scorer": self.scorer, "reducer": "mean", "samples": means}

    def _header(self) -> Json:
        opening = self.run.opening
        graded = self.scores[np.isfinite(self.scores)]
        count = len(graded)
        metrics = {self._metric: float(graded.mean()) if count else 0.0}
        metrics["stderr"] = float(graded.std(ddof=1)) / math.sqrt(count) if count > 1 else 0.0
        results: Json = {
            "total_samples": len(self.run.tasks) * opening.draws,
            "completed_samples": self.whole,
            "scores": [
                {
                    "name": self.scorer,
                    "scorer": self.scorer,
                    "reducer": "mean" if opening.draws > 1 else None,
                    "scored_samples": count,
                    "unscored_samples": int(self.column.there.any(axis=1).sum()) - count,
                    "params": {},
                    "metrics": {name: {"name": name, "value": value, "params": {}} for name, value in metrics.items()},
                }
            ],
        }
        return {
            "version": VERSION,
            "status": "success" if bool(self.column.there.all()) else "cancelled",
            "eval": self._spec(),
            "plan": self._plan(),
            "results": results,
            "stats": {
                "started_at": self.run.openings[0].date,
                "completed_at": self.completed,
                "model_usage": {self.arm.name: _usage(self.used)},
            },
        }


def _entry(name: str) -> zipfile.ZipInfo:
    """A member of an archive with no date, so that the same run makes the same file."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _id(task: Task) -> str:
    """A task's id as it can be part of a name in an archive, where a NUL would end it."""
    return task.id.replace("\0", "�")


def _summary(sample: Mapping[str, object]) -> Json:
    """What a viewer lists of a sample."""
    kept = ("id", "epoch", "choices", "model_usage", "total_time", "working_time", "uuid")
    messages, error = sample["messages"], sample.get("error")
    assert isinstance(messages, list)
    return {
        **{name: sample[name] for name in kept},
        "input": _thin(sample["input"]),
        "target": _thin(sample["target"]),
        "scores": _thin(sample.get("scores")),
        "metadata": {name: _thin(value) for name, value in _mapping(sample["metadata"]).items() if _flat(value)},
        "error": _mapping(error)["message"] if error is not None else None,
        "completed": True,
        "message_count": len(messages),
    }


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, dict)
    return value


def _flat(value: object) -> bool:
    return isinstance(value, (str, int, float, bool))


def _thin(value: object) -> object:
    """A value with its texts cut to what a list has room for."""
    if isinstance(value, str):
        return value if len(value) <= THIN else f"{value[:THIN]}..."
    if isinstance(value, dict):
        return {name: _thin(each) for name, each in value.items()}
    return [_thin(each) for each in value] if isinstance(value, list) else value


def _turn(message: Message) -> Json:
    """A turn of what was asked."""
    content: object = message.text
    if message.parts:
        content = [{"type": "text", "text": message.text}, *map(_part, message.parts)]
    return {"role": message.role if message.role != "note" else "user", "content": content, "source": "input"}


def _part(part: Part) -> Json:
    """A part beyond words, as Inspect has it: an image, or data in the words of the endpoint."""
    wire = json.loads(part.body)
    image = wire.get("image_url")
    if isinstance(image, dict) and "url" in image:
        return {"type": "image", "image": image["url"]}
    return {"type": "data", "data": wire}


def _usage(usage: Usage) -> Json:
    """As Inspect counts, where input excludes what was read from a cache."""
    return {
        "input_tokens": usage.input - usage.cached,
        "output_tokens": usage.output,
        "total_tokens": usage.tokens,
        "input_tokens_cache_read": usage.cached,
        "reasoning_tokens": usage.reasoning,
        "total_cost": usage.usd,
    }
