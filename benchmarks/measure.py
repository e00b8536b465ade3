"""How long a diagnosis takes and how much memory, and the exact search for committees against plain loops.

    python benchmarks/measure.py --out measure.json          # about three minutes
    python benchmarks/measure.py --only report               # one of: report, committee, loops

Tables are drawn from a factor model, so that anybody can repeat it: an agent is right where its skill, a common factor
of the item and its own luck sum above zero; wrong answers are one of nine, the likelier the more agents err alike.
Each part runs in a process of its own, whose peak memory is stated. The plain versions are what one would write with
itertools, collections and numpy in an afternoon; where running one to the end would take hours, a stated number of its
steps is timed and scaled up.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

PARTS = ("report", "committee", "loops")
SIZES = {"5998x28": (5998, 28, 10.0), "10000x200": (10_000, 200, 60.0)}


def drawn(n: int, m: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Correctness (n, m), answers (n, m) from 0 to 9, and the right ones (n,)."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.6, -0.9, m)
    ability = skill + 0.75 * rng.normal(size=(n, 1)) + 0.66 * rng.normal(size=(n, m))
    correct = ability > 0
    gold = rng.integers(10, size=n)
    trap = (gold + rng.integers(1, 10, size=n)) % 10
    other = (gold[:, None] + rng.integers(1, 10, size=(n, m))) % 10
    wrong = np.where(rng.random((n, m)) < 0.3, trap[:, None], other)
    return correct.astype(float), np.where(correct, gold[:, None], wrong), gold


def report(size: str) -> dict[str, object]:
    """The whole report, every section and the page, on a table of one size."""
    from motet.diagnosis.diagnose import diagnose
    from motet.page.page import page
    from motet.tables.table import Table

    n, m, limit = SIZES[size]
    correct, answers, gold = drawn(n, m)
    rng = np.random.default_rng(1)
    cost = rng.gamma(2.0, np.linspace(2.0, 0.1, m), size=(n, m)) / 1000
    table = Table(
        items=tuple(f"item-{i}" for i in range(n)),
        agents=tuple(f"agent-{j}" for j in range(m)),
        correct=correct,
        answers=answers,
        gold=gold,
        answer_texts=tuple("ABCDEFGHIJ"),
        cost=cost,
        families=tuple(f"family-{j % 7}" for j in range(m)),
        source="drawn",
    )
    parts: dict[str, float] = {}
    began = last = time.perf_counter()
    name = ""

    def step(what: str) -> None:
        nonlocal last, name
        now = time.perf_counter()
        if name:
            parts[name] = round(parts.get(name, 0.0) + now - last, 3)
        last, name = now, what.split(" of ")[0]

    made = diagnose(table, step=step)
    step("page")
    size_of_page = len(page("report", made.sections()))
    step("")
    seconds = time.perf_counter() - began
    return {
        "part": f"report {size}",
        "seconds": round(seconds, 2),
        "at_most": limit,
        "met": seconds <= limit,
        "by_section": parts,
        "page_bytes": size_of_page,
        "verdict": made.verdict,
    }


def committee() -> dict[str, object]:
    """The exact best committee of 5 of 67 by any-right on 2,000 items, against itertools and numpy."""
    from motet.measure.committee import best_committees

    correct, _, _ = drawn(2000, 67)
    began = time.perf_counter()
    found = best_committees(correct, 5, top=1)
    ours = time.perf_counter() - began
    right = correct > 0

    def plain(
        choices: itertools.combinations[tuple[int, ...]] | itertools.islice[tuple[int, ...]],
    ) -> tuple[float, tuple[int, ...]]:
        return max((right[:, members].any(axis=1).mean(), members) for members in choices)

    steps = 20_000
    began = time.perf_counter()
    plain(itertools.islice(itertools.combinations(range(67), 5), steps))
    each = (time.perf_counter() - began) / steps
    total = each * comb(67, 5)
    small = right[:, :18]
    same = max(small[:, members].any(axis=1).mean() for members in itertools.combinations(range(18), 5))
    check = best_committees(small.astype(float), 5, top=1).best[0].quality
    return {
        "part": "committee",
        "committees": comb(67, 5),
        "items": 2000,
        "seconds": round(ours, 3),
        "at_most": 60.0,
        "met": ours <= 60,
        "exact": found.exact,
        "quality": round(found.best[0].quality, 6),
        "plain_seconds": round(total, 1),
        "plain_timed_steps": steps,
        "times_faster": round(total / ours, 1),
        "same_result_as_plain_on_18_agents": bool(abs(same - check) < 1e-12),
    }


def loops() -> dict[str, object]:
    """Single measures on 5,998 x 28 against plain loops; medians of five rounds, taken in turn."""
    from motet.measure.correlation import phi
    from motet.measure.shapley import shapley_any_right
    from motet.measure.tetrachoric import tetrachoric
    from motet.measure.vote_curve import vote_curve

    correct, answers, gold = drawn(5998, 28)
    n, m = correct.shape

    def plain_votes() -> list[float]:
        order = np.argsort(-correct.mean(axis=0), kind="stable")
        rows, right = answers[:, order].tolist(), gold.tolist()
        return [
            sum(Counter(row[:k]).most_common(1)[0][0] == key for row, key in zip(rows, right, strict=True)) / n
            for k in range(1, m + 1)
        ]

    def plain_phi() -> np.ndarray:
        found = np.eye(m)
        for i, j in itertools.combinations(range(m), 2):
            found[i, j] = found[j, i] = np.corrcoef(correct[:, i], correct[:, j])[0, 1]
        return found

    def plain_tetrachoric() -> np.ndarray:
        from scipy.optimize import brentq
        from scipy.stats import multivariate_normal, norm

        found = np.eye(m)
        cut = norm.ppf(correct.mean(axis=0))
        for i, j in itertools.combinations(range(m), 2):
            both = (correct[:, i] * correct[:, j]).mean()

            def apart(rho: float, i: int = i, j: int = j, both: float = both) -> float:
                law = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
                return float(law.cdf([cut[i], cut[j]]) - both)

            found[i, j] = found[j, i] = brentq(apart, -0.99, 0.99, xtol=1e-6)
        return found

    def plain_shapley() -> np.ndarray:
        rng = np.random.default_rng(0)
        value = np.zeros(m)
        for _ in range(200):
            done = np.zeros(n)
            for j in rng.permutation(m):
                now = np.maximum(done, correct[:, j])
                value[j] += now.mean() - done.mean()
                done = now
        return value / 200

    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any], float]] = {
        "vote curve, every k": (lambda: vote_curve(correct, answers, gold, draws=1).best, plain_votes, 0.03),
        "phi, every pair": (lambda: phi(correct), plain_phi, 1e-9),
        "tetrachoric, every pair": (lambda: tetrachoric(correct), plain_tetrachoric, 1e-4),
        "Shapley of any-right (plain: 200 orders)": (lambda: shapley_any_right(correct), plain_shapley, 0.01),
    }
    found = {}
    for name, (ours, plain, close) in pairs.items():
        times: tuple[list[float], list[float]] = ([], [])
        results: list[Any] = [None, None]
        for _ in range(5 if "tetrachoric" not in name else 1):
            for which, work in enumerate((ours, plain)):
                began = time.perf_counter()
                results[which] = work()
                times[which].append(time.perf_counter() - began)
        mine, theirs = statistics.median(times[0]), statistics.median(times[1])
        found[name] = {
            "seconds": round(mine, 4),
            "plain_seconds": round(theirs, 4),
            "times_faster": round(theirs / mine, 1),
            "largest_difference": float(np.nanmax(np.abs(np.asarray(results[0]) - np.asarray(results[1])))),
            "within": close,
        }
    return {"part": "loops", "items": n, "agents": m, "measures": found}


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, default=None)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        name, _, size = options.part.partition(" ")
        found = report(size) if name == "report" else committee() if name == "committee" else loops()
        found["peak_mib"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
        print(json.dumps(found))
        return
    parts = [f"report {size}" for size in SIZES] + ["committee", "loops"]
    results = []
    for part in parts:
        if options.only is None or part.startswith(options.only):
            print(f"{part} …", file=sys.stderr, flush=True)
            out = subprocess.run([sys.executable, __file__, "--part", part], check=True, capture_output=True, text=True)
            results.append(json.loads(out.stdout))
    text = json.dumps(
        {
            "benchmark": "measure",
            "seed": 0,
            "results": results,
            "machine": f"{platform.machine()}, {len(__import__('os').sched_getaffinity(0))} cores, {platform.system()}",
            "python": platform.python_version(),
            "numpy": np.__version__,
            "date": datetime.now(UTC).date().isoformat(),
            "command": "python benchmarks/measure.py" + (f" --only {options.only}" if options.only else ""),
        },
        indent=1,
    )
    if options.out is not None:
        options.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
