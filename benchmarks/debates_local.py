"""Five debate protocols on real local models, among copies and among unlike agents: docs/explanation/debates.md.

    python benchmarks/debates_local.py --out benchmarks/results/debates-local.json

Runs of `motet bench` with the mixtures of benchmarks/debates.toml, on two built-in suites: each protocol among three
draws of Gemma 3 270M, and among Gemma, SmolLM2 135M asked in few-shot form, and the same asked in turns. Each is
compared, on the same questions, with the vote of the same three agents, asked once, who do not debate; with as many
draws of the best member as take the same tokens (self-consistency); and the unlike team with the copies. The tables are
printed. Who is interrupted goes on with the same command.
"""

from __future__ import annotations

import argparse
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

HERE = Path(__file__).resolve().parent
SUITES = ("general", "multiple-choice")
PROTOCOLS = {
    "vote": "no debate: a vote",
    "minds": "society of minds",
    "tit-for-tat": "tit for tat",
    "chat-eval": "chat-eval, one by one",
    "agent-verse": "agent-verse, vertical",
    "multi-persona": "multi-persona",
}
TEAMS = ("copies", "unlike")


def motet(*words: str) -> str:
    """What the command line says; its progress is shown."""
    done = subprocess.run([sys.executable, "-m", "motet", *words], stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        raise SystemExit(f"motet {' '.join(words)} ended with {done.returncode}")
    return done.stdout


def measured(suite: str, n: int, seed: int, file: Path) -> dict[str, Any]:
    """The lines of one suite."""
    arms = [f"{protocol}-{team}" for protocol in PROTOCOLS for team in TEAMS]
    found = json.loads(
        motet(
            *("bench", "run", suite, "--with", ",".join(arms), "--config", str(HERE / "debates.toml"), "--n", str(n)),
            *("--seed", str(seed), "--concurrency", "12", "--no-placebos", "--yes", "--file", str(file), "--json"),
        )
    )
    right: dict[str, dict[str, float]] = defaultdict(dict)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        motet("bench", "export", found["run"], str(path), "--file", str(file))
        with path.open(encoding="utf-8", newline="") as answers:
            for row in csv.DictReader(answers):
                right[row["agent"]][row["task_id"]] = float(row["correct"] or 0)
    lines = {line["arm"]: line for line in found["lines"]}
    equal = {each["mixture"]: each for each in found["equal_budget"] if each["by"] == "tokens"}
    rows = []
    for protocol in PROTOCOLS:
        for team in TEAMS:
            arm = f"{protocol}-{team}"
            line = lines[arm]
            rows.append(
                {
                    "protocol": protocol,
                    "team": team,
                    "right": line["right"],
                    "interval": line["interval"],
                    "to_vote": against(right[arm], right[f"vote-{team}"]) if protocol != "vote" else None,
                    "to_copies": against(right[arm], right[f"{protocol}-copies"]) if team != "copies" else None,
                    "to_draws": equal.get(arm),
                    "calls": line["calls"],
                    "tokens": line["tokens_in"] + line["tokens_out"],
                    "remarks": line["remarks"],
                    "not_whole": line["degraded"] + line["failed"] + line["abstained"],
                }
            )
    members = {line["arm"]: line["right"] for line in found["lines"] if line["part"] == "member"}
    return {
        "suite": suite,
        "date": found["made"]["date"],
        "machine": found["made"]["machine"],
        "members": members,
        "best_member": found["best_member"],
        "rows": rows,
    }


def against(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """How much better the first is, on the tasks that both have: paired, with a 95 % interval and McNemar's exact p."""
    tasks = sorted(set(one) & set(other))
    first, second = ([each[task] for task in tasks] for each in (one, other))
    found = bootstrap_difference(first, second)
    low, high = found.interval
    p = mcnemar([bool(each) for each in first], [bool(each) for each in second]).p
    return {"difference": found.value, "low": low, "high": high, "p": p}


def table(found: Mapping[str, Any]) -> str:
    """One suite's table as Markdown."""
    rows = {(row["protocol"], row["team"]): row for row in found["rows"]}
    lines = [
        "| protocol | copies | to their vote | unlike | to their vote | to copies | to equal tokens | calls | tokens |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for protocol, name in PROTOCOLS.items():
        copies, unlike = (rows[protocol, team] for team in TEAMS)
        draws = unlike["to_draws"]
        versus = draws and {
            "difference": draws["versus"]["difference"],
            "low": draws["versus"]["interval"][0],
            "high": draws["versus"]["interval"][1],
        }
        cells = [name, f"{100 * copies['right']:.0f}", points(copies["to_vote"]), f"{100 * unlike['right']:.0f}"]
        cells += [points(unlike["to_vote"]), points(unlike["to_copies"]), points(versus)]
        cells += [f"{copies['calls']:.1f}, {unlike['calls']:.1f}", f"{copies['tokens']:.0f}, {unlike['tokens']:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def points(versus: Mapping[str, float] | None) -> str:
    """A difference in points with its interval."""
    if versus is None:
        return "–"
    shown = (100 * versus[key] for key in ("difference", "low", "high"))
    return "{:+.0f} [{:+.0f}, {:+.0f}]".format(*shown).replace("-", "−")


def main() -> None:
    """Measure, write the figures and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=50, help="questions a suite")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, default=Path("debates.sqlite"), help="the journal")
    parser.add_argument("--out", type=Path, default=None)
    told = parser.parse_args()
    suites = [measured(suite, told.n, told.seed, told.file) for suite in SUITES]
    command = f"python benchmarks/debates_local.py --n {told.n} --seed {told.seed}"
    if told.out:
        text = json.dumps({"command": command, "n": told.n, "seed": told.seed, "suites": suites}, indent=1)
        told.out.write_text(text + "\n", "utf-8")
    for each in suites:
        print(f"\n{each['suite']}: alone {each['members']}\n\n{table(each)}")


if __name__ == "__main__":
    main()
