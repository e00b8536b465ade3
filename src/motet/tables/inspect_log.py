"""Logs of Inspect: `.eval`, a zip archive with one JSON file a sample, or `.json` with all of them; one log a model.

    header.json              {"eval": {"task": "gsm8k", "model": "openai/gpt-4o", ...}, "status": "success", ...}
    samples/q1_epoch_1.json  {"id": "q1", "epoch": 1, "target": "4", "scores": {"match": {"value": "C", "answer": "4"}},
                              "model_usage": {"openai/gpt-4o": {"total_tokens": 10}}, "working_time": 1.2, ...}

The agent is the model; with the solver, where two logs differ in that only. Epochs are samples. As a score, C is right,
P half, I and N (no answer) wrong. A sample without a score, because it failed, is missing.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from motet.errors import UsageError
from motet.tables.cells import Shares
from motet.tables.draft import Draft
from motet.tables.grid import cell
from motet.tables.look import Look, each, holds, mapping
from motet.tables.records import NAN, Outcome, Records
from motet.tables.source import LIMIT, decoded, reading, size

PATTERNS: Final = ("*.eval", "*.json", "*.json.gz")
GRADES: Final[Mapping[str, float]] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
TOPICS: Final = ("topic", "category", "subject")
"""Keys of a sample's metadata that say what it is about, in order of choice."""
_SAMPLE: Final = re.compile(r"samples/.+_epoch_\d+\.json", re.DOTALL)
_HEADS: Final = ("header.json", "_journal/start.json", "start.json")


def is_inspect(seen: Look) -> bool:
    """Whether this is such a log, or a folder of them."""
    return holds(seen, PATTERNS, _is_log)


def _is_log(seen: Look) -> bool:
    if seen.kind == "zip":
        return any(name in _HEADS for name in seen.names)
    document = mapping(seen.document)
    return "model" in mapping(document.get("eval")) and ("samples" in document or "status" in document)


@dataclass
class _Log:
    """One log: what was run, and its samples as they are read."""

    seen: Look
    task: str
    model: str
    solver: str


def inspect_log(looks: Sequence[Look]) -> Draft:
    """Read logs.

    Raises:
        UsageError: one is none, is damaged, has no samples or a score that is no share, or two are of the same run.
    """
    logs = [_head(seen) for seen in each(looks, PATTERNS, _is_log, "a log of Inspect")]
    tasks = {log.task for log in logs}
    solvers: dict[tuple[str, str], set[str]] = {}
    for log in logs:
        solvers.setdefault((log.task, log.model), set()).add(log.solver)
    records = Records()
    for log in logs:
        agent = f"{log.model} ({log.solver})" if len(solvers[log.task, log.model]) > 1 else log.model
        _gather(log, agent, f"{log.task}/" if len(tasks) > 1 else "", records)
    draft = records.draft(looks[0].path)
    draft.loose = True
    return draft


def _head(seen: Look) -> _Log:
    if seen.kind == "zip":
        head = mapping(next(_unpacked(seen, [next(name for name in _HEADS if name in seen.names)])))
    else:
        head = mapping(seen.document)
    run = mapping(head.get("eval"))
    task, model = cell(run.get("task")), cell(run.get("model"))
    if not model:
        raise UsageError(f"{seen.path}: does not say which model it is of (`eval.model`)")
    return _Log(seen, task, model, cell(run.get("solver")))


def _samples(log: _Log) -> Iterator[Mapping[str, object]]:
    if log.seen.kind == "zip":
        names = [name for name in log.seen.names if _SAMPLE.fullmatch(name)]
        values: Iterator[object] = _unpacked(log.seen, names)
    else:
        found = mapping(log.seen.document).get("samples")
        values = iter(found if isinstance(found, list) else [])
    yield from map(mapping, values)


def _unpacked(seen: Look, names: Sequence[str]) -> Iterator[object]:
    """The JSON files of an archive, one at a time and within the limit."""
    left = LIMIT
    with reading(seen.path):
        try:
            with zipfile.ZipFile(seen.path) as archive:
                for name in names:
                    with archive.open(name) as stream:
                        data = stream.read(left + 1)
                    left -= len(data)
                    if left < 0:
                        raise UsageError(f"{seen.path}: over {size(LIMIT)} unpacked; split it by items")
                    try:
                        yield decoded(data)
                    except ValueError as error:
                        raise UsageError(f"{seen.path}: {name}: {error}; make or fetch it again") from error
        except zipfile.BadZipFile as error:
            raise UsageError(f"{seen.path}: a damaged archive ({error}); make or fetch it again") from error
        except (NotImplementedError, RuntimeError) as error:  # an unknown compression, or a password
            raise UsageError(
                f"{seen.path}: packed in a way that this Python can't unpack ({error}); "
                "write it as JSON: inspect log convert --to json"
            ) from error


def _gather(log: _Log, agent: str, prefix: str, records: Records) -> None:
    path, scorer, count = log.seen.path, "", 0
    shares = Shares()
    for sample in _samples(log):
        count += 1
        item = prefix + cell(sample.get("id"))
        scores = mapping(sample.get("scores"))
        if not scorer and scores:
            scorer = next(iter(scores))
            if len(scores) > 1:
                others = ", ".join(map(repr, list(scores)[1:]))
                records.notes.append(f"{path.name}: correctness is the score {scorer!r}, not {others}")
        score = mapping(scores.get(scorer))
        answer = score.get("answer")
        try:
            records.add(
                str(path),
                item,
                agent,
                Outcome(
                    _correct(score.get("value"), shares),
                    cell(answer).strip() if answer is not None else None,
                    _total(sample, "total_cost"),
                    _total(sample, "total_tokens"),
                    _seconds(sample),
                ),
                sample=cell(sample.get("epoch")) or "1",
            )
            metadata = mapping(sample.get("metadata"))
            topic = next((cell(metadata[key]) for key in TOPICS if key in metadata), "")
            records.fact("topics", item, topic)
        except ValueError as error:
            raise UsageError(f"{path}: sample {cell(sample.get('id'))!r}: {error}") from error
        target = sample.get("target")
        records.gold.setdefault(item, cell(target[0] if isinstance(target, list) and target else target).strip())
    if not count:
        raise UsageError(f"{path}: no samples in this log; write it with them (--log-samples)")


def _correct(value: object, shares: Shares) -> float:
    if value is None:
        return NAN
    if isinstance(value, str):
        return GRADES[value] if value in GRADES else shares[value]
    if isinstance(value, (bool, int, float)):
        if math.isnan(value) or 0 <= value <= 1:
            return float(value)
        raise ValueError(f"the score is {value:g}, and correctness runs from 0 to 1")
    raise ValueError("the score has several values; log one that says whether the sample is right")


def _total(sample: Mapping[str, object], what: str) -> float:
    """The sum over the models that a sample called; NaN where one does not say."""
    usage = mapping(sample.get("model_usage"))
    found = [mapping(one).get(what) for one in usage.values()]
    amounts = [float(one) for one in found if isinstance(one, (int, float))]
    return sum(amounts) if amounts and len(amounts) == len(found) else NAN


def _seconds(sample: Mapping[str, object]) -> float:
    for key in ("working_time", "total_time"):
        value = sample.get(key)
        if isinstance(value, (int, float)) and value >= 0:
            return float(value)
    return NAN
