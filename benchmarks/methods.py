"""Every mixture of the default configuration on two built-in suites, on real local models: docs/methods/results.md.

    python benchmarks/methods.py --out benchmarks/results/methods.json

It is two runs of `motet bench` on one journal (`--file`), so a call that several mixtures make alike is made once, and
whoever is interrupted goes on with the same command. Each mixture is compared, on the same questions, with the best
member alone, with as many draws of it as take the same tokens (self-consistency), and with the plain vote of all
members. `--page` writes the page again from figures that are there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from answers import against, graded, motet, points

from motet.measure.multiplicity import holm

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/methods/results.md"
SUITES = ("general", "multiple-choice")
ABOUT = {
    "general": "questions of arithmetic, words and general knowledge that come with motet",
    "multiple-choice": "questions with four or five options, made from a seed",
}
WORDS = """\
Every mixture of the default configuration, on the same questions, with the embedded models: SmolLM2 135M, Gemma 3 270M
and a calculator. Models this small can't judge: whoever grades, ranks or moderates here is held to a grammar, so that
what it says can be read, and is right about as often as a coin. So what these tables show of a method that lives by
its judges is its cost, and that it fails safe; its claim is shown on known truth (see its own page and its tests) and,
where answers alone are needed, on [recorded real models](../explanation/recorded-methods.md).""".splitlines()
COLUMNS = """\
* **right**: share of questions, with Wilson's 95 % interval.
* **to best**: points more than the best member alone, with a paired bootstrap interval; p is McNemar's, exact, with
  Holm's correction over the mixtures of the suite.
* **to copies**: points more than self-consistency at equal tokens, with as many draws of the best member whose draws
  differ as take the same tokens (`cap`: 40 draws, which take less); p as before.
* **to vote**: points more than the plain vote of all members, one draw each; p as before.
* **calls**, **tokens** (read and written), **s** (the median, with twelve questions under way) are what one answer
  takes alone; **depth** is the most calls in series; **not whole** are answers that failed or abstained, or from which
  somebody was missing.""".splitlines()
KEPT = ("arm", "part", "tasks", "right", "interval", "to_best", "calls", "tokens_in", "tokens_out", "seconds_p50")
COUNTED = ("abstained", "degraded", "failed", "ungraded", "unfit", "remarks")
OFTEN = 0.2
"""Remarks are shown that were made on this share of answers."""


def measured(wanted: Sequence[str], n: int, seed: int, file: Path) -> dict[str, Any]:
    """The figures of all mixtures on these suites."""
    mixtures = {each["name"]: each for each in motet("mixtures")["mixtures"]}
    chosen = [name for name, each in mixtures.items() if each["where"].startswith("built-in")]
    suites = {}
    for suite in wanted:
        words = ["--with", ",".join(chosen), "--no-placebos", "--n", str(n), "--seed", str(seed), "--yes"]
        found = motet("bench", "run", suite, *words, "--concurrency", "12", "--file", str(file))
        lines = [{key: line[key] for key in (*KEPT, *COUNTED)} for line in found["lines"]]
        right = graded(found["run"], file)
        compared = [line for line in lines if line["part"] == "mixture"]
        for line in compared:
            line["to_vote"] = against(right[line["arm"]], right["plain vote"])
        for line, p in zip(compared, holm([line["to_vote"]["p"] for line in compared]), strict=True):
            line["to_vote"]["p_holm"] = float(p)
        suites[suite] = {
            "run": found["run"],
            "date": found["made"]["date"],
            "machine": found["made"]["machine"],
            "models": found["made"]["models"],
            "best_member": found["best_member"],
            "oracle": found["oracle"],
            "random_member": found["random_member"],
            "lines": lines,
            "equal_tokens": [each for each in found["equal_budget"] if each["by"] == "tokens"],
            "calls_shared": found["saved_calls"],
        }
    return {
        "command": f"python benchmarks/methods.py --n {n} --seed {seed}",
        "n": n,
        "seed": seed,
        "depth": {name: mixtures[name]["depth"] for name in chosen},
        "composition": {name: mixtures[name]["composition"] for name in chosen},
        "suites": suites,
    }


def page(found: dict[str, Any]) -> str:
    """The page: what it says, and a table a suite."""
    parts = [
        "# Every method on local models",
        "",
        "<!-- made by benchmarks/methods.py: change that, and run it with --page -->",
        "",
        *WORDS,
        "",
        f"n = {found['n']} a suite, seed {found['seed']}, one run each: `{found['command']}`.",
        "",
        *COLUMNS,
        "",
    ]
    for suite, each in found["suites"].items():
        parts += [*table(suite, each, found), ""]
    return "\n".join(parts)


def table(suite: str, each: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """One suite's heading, sentences and table, the best first."""
    lines = {line["arm"]: line for line in each["lines"]}
    equal = {pair["mixture"]: pair for pair in each["equal_tokens"]}
    mixtures = sorted(
        (line for line in each["lines"] if line["part"] in ("mixture", "vote")), key=lambda line: -line["right"]
    )
    best = lines[each["best_member"]]
    better = [line["arm"] for line in mixtures if significant(line["to_best"], 1)]
    worse = [line["arm"] for line in mixtures if significant(line["to_best"], -1)]
    voted = any(line.get("to_vote") for line in mixtures)
    outvotes = [line["arm"] for line in mixtures if significant(line.get("to_vote"), 1)]
    outvoted = [line["arm"] for line in mixtures if significant(line.get("to_vote"), -1)]
    beats = [name for name, pair in equal.items() if significant(pair["versus"], 1)]
    rows = [
        f"## {suite}",
        "",
        f"{ABOUT[suite].capitalize()}. Best member: `{best['arm']}`, {share(best)}; the oracle of all members has "
        f"{100 * each['oracle']['right']:.0f} %, a random one {100 * each['random_member']['right']:.0f} %.",
        "",
        f"* Better than the best member (p < 0.05, corrected): {listed(better)}.",
        f"* Worse than it: {listed(worse)}.",
        f"* Better than as many tokens of copies: {listed(beats)}.",
        *([f"* Better than the plain vote: {listed(outvotes)}; worse: {listed(outvoted)}."] if voted else []),
        "",
        "| mixture | right | to best | p | to copies | p | to vote | p | calls | tokens | s | depth | not whole |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for line in mixtures:
        pair = equal.get(line["arm"])
        copies = f"{points(pair['versus'])} (x{pair['draws']}{', cap' if pair['capped'] else ''})" if pair else "–"
        cells = [
            f"`{line['arm']}`",
            share(line),
            points(line["to_best"]),
            chance(line["to_best"]),
            copies,
            chance(pair["versus"]) if pair else "–",
            points(line.get("to_vote")),
            chance(line.get("to_vote")),
            f"{line['calls']:.1f}",
            f"{line['tokens_in'] + line['tokens_out']:,.0f}",
            f"{line['seconds_p50']:.1f}",
            str(found["depth"].get(line["arm"], 1)),
            str(line["degraded"] + line["failed"] + line["abstained"]),
        ]
        rows.append(f"| {' | '.join(cells)} |")
    often = {
        line["arm"]: [f"{text} ({count})" for text, count in line["remarks"].items() if count >= OFTEN * line["tasks"]]
        for line in mixtures
    }
    remarks = [f"* `{arm}`: {'; '.join(said)}" for arm, said in often.items() if said]
    missing = [name for name in found["composition"] if name not in lines]
    members = ", ".join(f"`{line['arm']}` {share(line)}" for line in each["lines"] if line["part"] == "member")
    models = ", ".join(f"{name} ({what[:8]})" for name, what in each["models"].items())
    return [
        *rows,
        "",
        f"Members alone: {members}.",
        *(["", f"Not measured on this suite: {listed(missing)}."] if missing else []),
        *(["", each["note"]] if each.get("note") else []),
        "",
        "Noted on the way to a fifth of a mixture's answers or more (how many):",
        "",
        *remarks,
        "",
        f"{each['machine']}; {each['date'][:10]}; {models}. {each['calls_shared']:,} calls were shared and made once.",
    ]


def significant(versus: dict[str, Any] | None, sign: int) -> bool:
    """Whether a difference of this sign is more than chance."""
    return versus is not None and versus["p_holm"] < 0.05 and versus["difference"] * sign > 0


def listed(names: list[str]) -> str:
    """Names in a sentence."""
    return ", ".join(f"`{name}`" for name in names) or "none"


def share(line: dict[str, Any]) -> str:
    """A share with its interval."""
    low, high = line["interval"]
    return f"{100 * line['right']:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"


def chance(versus: dict[str, Any] | None) -> str:
    """A corrected p."""
    if versus is None:
        return "–"
    return "< 0.001" if versus["p_holm"] < 0.001 else f"{versus['p_holm']:.2g}"


def main() -> None:
    """Measure, write the figures and the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", default=",".join(SUITES), help="which are measured; others keep their figures")
    parser.add_argument("--n", type=int, default=100, help="questions a suite")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", type=Path, default=Path("methods.sqlite"), help="the journal")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/methods.json")
    parser.add_argument("--page", action="store_true", help="only write the page, from the figures in --out")
    told = parser.parse_args()
    if not told.page:
        found = measured(told.suites.split(","), told.n, told.seed, told.file)
        if told.out.exists():  # suites that were not measured now keep their figures, of which the page says the date
            kept = json.loads(told.out.read_text("utf-8"))
            for part in ("suites", "depth", "composition"):
                found[part] = {**kept[part], **found[part]}
        told.out.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    PAGE.write_text(page(json.loads(told.out.read_text("utf-8"))), "utf-8")
    print(f"{told.out}, {PAGE}")


if __name__ == "__main__":
    main()
