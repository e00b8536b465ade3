"""What the scripts on real local models share: the command line as JSON, a run's answers, and paired differences."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from motet.measure.bootstrap import bootstrap_difference
from motet.measure.mcnemar import mcnemar


def motet(*words: str) -> Any:
    """What the command line says as JSON; its progress is shown."""
    done = subprocess.run([sys.executable, "-m", "motet", *words, "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        raise SystemExit(f"motet {' '.join(words)} ended with {done.returncode}")
    return json.loads(done.stdout)


def graded(run: str, file: Path) -> dict[str, dict[str, float]]:
    """How each answer of a run was graded, by arm and task; one that failed has 0."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        motet("bench", "export", run, str(path), "--file", str(file))
        with path.open(encoding="utf-8", newline="") as answers:
            for row in csv.DictReader(answers):
                found[row["agent"]][row["task_id"]] = float(row["correct"] or 0)
    return found


def against(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, Any]:
    """How much better the first is, on the tasks that both have: paired, with a 95 % interval and McNemar's exact p."""
    tasks = sorted(set(one) & set(other))
    first, second = ([each[task] for task in tasks] for each in (one, other))
    found = bootstrap_difference(first, second)
    p = mcnemar([bool(each) for each in first], [bool(each) for each in second]).p
    return {"difference": found.value, "interval": [found.interval.low, found.interval.high], "p": p}


def points(versus: Mapping[str, Any] | None) -> str:
    """A difference in points with its interval."""
    if versus is None:
        return "–"
    low, high = versus["interval"]
    return f"{100 * versus['difference']:+.0f} [{100 * low:+.0f}, {100 * high:+.0f}]".replace("-", "−")
