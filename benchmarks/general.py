"""Every member and every mixture of the default configuration on the 100 built-in questions.

    python benchmarks/general.py --out general.json

For each: accuracy with its Wilson interval, by topic, calls, tokens and seconds a question; then whether the best
mixture beats the best member (exact McNemar). Members and mixtures answer the same questions with the same seed, so a
mixture's vote is over the very answers that its members are scored on. Seconds are of questions asked one at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import statistics
import sys
import time
from pathlib import Path

from motet import perform
from motet.answer import right as is_right
from motet.bench.suite import Suite, load_suite
from motet.measure.mcnemar import mcnemar
from motet.measure.wilson import wilson
from motet.spec import load


async def measure(name: str, suite: Suite, seed: int, config_path: str | None) -> dict[str, object]:
    """One agent on every question, one after the other."""
    agent = load(config_path).agent(name)
    right: list[bool] = []
    rows: list[dict[str, object]] = []
    for place, task in enumerate(suite.tasks):
        result = await perform(agent, task.input, seed=seed)
        text = result.reply.text if result.reply else None
        right.append(text is not None and is_right(text, task.target, task.input))
        rows.append(
            {
                "id": task.id,
                "topic": task.topic,
                "right": right[-1],
                "answer": text,
                "outcome": result.outcome.state,
                "calls": result.usage.calls,
                "tokens": result.usage.tokens,
                "seconds": round(result.seconds, 3),
            }
        )
        print(f"\r{name}: {place + 1}/{len(suite.tasks)}  right {sum(right)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    low, high = wilson(sum(right), len(right))
    topics = sorted({task.topic for task in suite.tasks})
    return {
        "name": name,
        "n": len(right),
        "right": sum(right),
        "accuracy": sum(right) / len(right),
        "wilson_95": [round(low, 4), round(high, 4)],
        "by_topic": {
            topic: [
                sum(row["right"] is True for row in rows if row["topic"] == topic),
                sum(row["topic"] == topic for row in rows),
            ]
            for topic in topics
        },
        "unanswered": sum(row["answer"] is None for row in rows),
        "calls_per_question": statistics.mean(row["calls"] for row in rows),  # type: ignore[type-var]
        "tokens_per_question": statistics.mean(row["tokens"] for row in rows),  # type: ignore[type-var]
        "seconds_median": statistics.median(row["seconds"] for row in rows),  # type: ignore[type-var]
        "items": rows,
    }


def verdict(members: list[dict[str, object]], mixtures: list[dict[str, object]]) -> dict[str, object]:
    """The best mixture against the best member, paired by question."""

    def outcomes(entry: dict[str, object]) -> list[bool]:
        return [row["right"] for row in entry["items"]]  # type: ignore[attr-defined]

    member = max(members, key=lambda entry: entry["right"])  # type: ignore[arg-type,return-value]
    mixture = max(mixtures, key=lambda entry: entry["right"])  # type: ignore[arg-type,return-value]
    gained, lost, p = mcnemar(outcomes(mixture), outcomes(member))
    union = sum(any(row) for row in zip(*(outcomes(entry) for entry in members), strict=True))
    return {
        "best_member": member["name"],
        "best_mixture": mixture["name"],
        "gained": gained,
        "lost": lost,
        "mcnemar_exact_p": p,
        "some_member_right": union,
        "beats": bool(p < 0.05 and gained > lost),
    }


def table(entries: list[dict[str, object]]) -> str:
    """The table as Markdown."""
    topics = list(entries[0]["by_topic"])  # type: ignore[call-overload]
    head = ["", "right", "95 % interval", *topics, "calls", "tokens", "seconds"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for entry in entries:
        low, high = entry["wilson_95"]  # type: ignore[misc]
        cells = [
            f"`{entry['name']}`",
            f"{entry['right']} of {entry['n']}",
            f"{100 * low:.0f} to {100 * high:.0f} %",  # type: ignore[has-type]
            *(f"{got} of {of}" for got, of in entry["by_topic"].values()),  # type: ignore[attr-defined]
            f"{entry['calls_per_question']:.1f}",
            f"{entry['tokens_per_question']:.0f}",
            f"{entry['seconds_median']:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="general")
    parser.add_argument("--only", default="", help="names, separated by commas; all members and mixtures by default")
    parser.add_argument("--config", default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=None, help="the first so many questions")
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    suite = load_suite(options.suite)
    if options.limit:
        suite = Suite(suite.name, suite.tasks[: options.limit])
    config = load(options.config)
    chosen = options.only.split(",") if options.only else [*config.agents, *config.mixtures]
    report: dict[str, object] = {
        "benchmark": "general",
        "n": len(suite.tasks),
        "seed": options.seed,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "command": " ".join(["python", *sys.argv]),
    }
    entries: list[dict[str, object]] = []
    for name in chosen:
        entries.append(asyncio.run(measure(name, suite, options.seed, options.config)))
        members = [entry for entry in entries if entry["name"] in config.agents]
        mixtures = [entry for entry in entries if entry["name"] in config.mixtures]
        report["entries"] = entries
        if members and mixtures:
            report["verdict"] = verdict(members, mixtures)
        if options.out:
            options.out.write_text(json.dumps(report, indent=1, ensure_ascii=False))
    print(table(entries))
    print(json.dumps(report.get("verdict"), indent=1))


if __name__ == "__main__":
    main()
