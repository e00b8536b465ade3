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
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from answers import against, graded, motet, points

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


def measured(suite: str, n: int, seed: int, file: Path) -> dict[str, Any]:
    """The lines of one suite."""
    arms = [f"{protocol}-{team}" for protocol in PROTOCOLS for team in TEAMS]
    found = motet(
        *("bench", "run", suite, "--with", ",".join(arms), "--config", str(HERE / "debates.toml"), "--n", str(n)),
        *("--seed", str(seed), "--concurrency", "12", "--no-placebos", "--yes", "--file", str(file)),
    )
    right = graded(found["run"], file)
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


def table(found: Mapping[str, Any]) -> str:
    """One suite's table as Markdown."""
    rows = {(row["protocol"], row["team"]): row for row in found["rows"]}
    lines = [
        "| protocol | copies | to their vote | to equal tokens | unlike | to their vote | to copies | to equal tokens "
        "| calls | tokens |",
        f"|{'---|' * 10}",
    ]
    for protocol, name in PROTOCOLS.items():
        copies, unlike = (rows[protocol, team] for team in TEAMS)
        equal = [(each["to_draws"] and points(each["to_draws"]["versus"])) or "–" for each in (copies, unlike)]
        cells = [name, f"{100 * copies['right']:.0f}", points(copies["to_vote"]), equal[0]]
        cells += [f"{100 * unlike['right']:.0f}", points(unlike["to_vote"]), points(unlike["to_copies"]), equal[1]]
        cells += [f"{copies['calls']:.1f}, {unlike['calls']:.1f}", f"{copies['tokens']:.0f}, {unlike['tokens']:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, write the figures and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=50, help="questions a suite")
    parser.add_argument("--suites", default=",".join(SUITES), help="which of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, default=Path("debates.sqlite"), help="the journal")
    parser.add_argument("--out", type=Path, default=None)
    told = parser.parse_args()
    suites = [measured(suite, told.n, told.seed, told.file) for suite in told.suites.split(",")]
    command = f"python benchmarks/debates_local.py --suites {told.suites} --n {told.n} --seed {told.seed}"
    if told.out:
        text = json.dumps({"command": command, "n": told.n, "seed": told.seed, "suites": suites}, indent=1)
        told.out.write_text(text + "\n", "utf-8")
    for each in suites:
        print(f"\n{each['suite']}: alone {each['members']}\n\n{table(each)}")


if __name__ == "__main__":
    main()
