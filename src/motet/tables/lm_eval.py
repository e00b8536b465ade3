"""Sample logs of lm-evaluation-harness (`--log_samples`): `<model>/samples_<task>_<date>.jsonl`, one line a document.

    {"doc_id": 0, "target": "18", "filtered_resps": ["18"], "filter": "strict-match", "metrics": ["exact_match"],
     "exact_match": 1.0, "doc": {...}, "arguments": {...}, "resps": [["... #### 18"]], ...}

The agent is the folder, in which the harness writes `__` for the `/` of a model's name; an item is the task and the
document's number. Where a document is scored through several filters, the first filter of the file counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from motet.errors import UsageError
from motet.tables.draft import Draft
from motet.tables.grid import cell, json_lines
from motet.tables.look import Look, each, holds, mapping
from motet.tables.records import Outcome, Records

PATTERNS: Final = ("samples_*.jsonl", "samples_*.jsonl.gz")
METRICS: Final = ("exact_match", "acc", "pass@1", "prompt_level_strict_acc", "acc_norm")
"""Which metric is correctness, in order of choice; else the first in `metrics` that is a share."""
_NAME: Final = re.compile(r"samples_(?P<task>.+?)(?:_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl(?:\.gz)?")


def is_lm_eval(seen: Look) -> bool:
    """Whether this is such a log, or a folder of them."""
    return holds(seen, PATTERNS, _is_log)


def _is_log(seen: Look) -> bool:
    return {"doc_id", "target"} <= seen.keys and bool({"filtered_resps", "resps"} & seen.keys)


def lm_eval(looks: Sequence[Look]) -> Draft:
    """Read sample logs.

    Raises:
        UsageError: one is none, has no metric that says what is right, or two are of the same model and task.
    """
    records = Records()
    for seen in each(looks, PATTERNS, _is_log, "samples of lm-evaluation-harness (`doc_id`, `target`, `resps`)"):
        assert seen.source is not None
        match = _NAME.fullmatch(seen.path.name)
        task = match["task"] if match else seen.path.name.partition(".")[0]
        agent = _agent(seen.path, match is not None)
        metric = chosen = ""
        others: dict[str, None] = {}
        for number, value in json_lines(seen.source):
            line = mapping(value)
            if "doc_id" not in line:
                raise UsageError(f"{seen.path}:{number}: no `doc_id`; each line is one document's sample")
            filtered = cell(line.get("filter"))
            chosen = chosen or filtered
            if filtered != chosen:
                others[filtered] = None
                continue
            metric = metric or _metric(line, f"{seen.path}:{number}")
            item = f"{task}/{cell(line['doc_id'])}"
            try:
                score = _share(line.get(metric))
                if score is None:
                    raise ValueError(f"`{metric}` is {cell(line.get(metric))!r}, no share from 0 to 1")
                records.add(f"{seen.path}:{number}", item, agent, Outcome(score, _answer(line)))
                records.fact("topics", item, task)
                records.gold.setdefault(item, cell(line.get("target")).strip())
            except ValueError as error:
                raise UsageError(f"{seen.path}:{number}: {error}") from error
        used = f"{task}: correctness is `{metric}`"
        if others:
            used += f" through the filter {chosen!r}, not {', '.join(map(repr, others))}"
        if used not in records.notes:
            records.notes.append(used)
    draft = records.draft(looks[0].path)
    draft.loose = True
    return draft


def _agent(path: Path, named: bool) -> str:
    """The model's folder; the file's own name where it is not one that the harness gave."""
    name = path.resolve().parent.name if named else path.name.partition(".jsonl")[0]
    return name.replace("__", "/", 1)


def _metric(line: Mapping[str, object], where: str) -> str:
    names = line.get("metrics")
    listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    for name in (*METRICS, *listed):
        if name in line and _share(line[name]) is not None:
            return name
    raise UsageError(
        f"{where}: no metric from 0 to 1 says what is right ({', '.join(listed) or 'none is listed'}); "
        f"known are {', '.join(METRICS)}"
    )


def _share(value: object) -> float | None:
    if isinstance(value, (bool, int, float)):
        return float(value) if 0 <= value <= 1 or math.isnan(value) else None
    return None


def _answer(line: Mapping[str, object]) -> str | None:
    """What was answered: the text, or the number of the likeliest choice; None if it is neither."""
    found = line.get("filtered_resps", line.get("resps"))
    if not isinstance(found, list) or not found:
        return None
    if len(found) > 1:
        likelihoods = [_likelihood(choice) for choice in found]
        if None in likelihoods:
            return None
        return str(max(range(len(found)), key=lambda choice: likelihoods[choice] or 0.0))
    first = found[0]
    while isinstance(first, list) and first:
        first = first[0]
    return first.strip() if isinstance(first, str) else None


def _likelihood(choice: object) -> float | None:
    """The log-likelihood in [log-likelihood, is_greedy], which the harness writes as texts."""
    while isinstance(choice, list) and len(choice) == 1:
        choice = choice[0]
    if not isinstance(choice, list) or len(choice) != 2:
        return None
    try:
        return float(cell(choice[0]))
    except ValueError:
        return None
