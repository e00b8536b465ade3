r"""Whether motet reads recorded replies of real models as the people who recorded them did.

    python benchmarks/extraction.py --folder FOLDER [--every N] [--show KIND] [SUITE ...]

FOLDER, or `MOTET_RECORDED`, is a folder of folders of matrices that also hold the raw texts (`outputs.jsonl.gz`, one
object a line with `item_id`, `output`, and what the recorder made of it: `answer`, `correct`). Prints one JSON object
per suite: how many replies, on how many the answer and the verdict agree, and where they do not, the kind of each
disagreement with whose it is. What the kinds mean, and the figures: docs/explanation/extraction.md.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from motet.answer import answer, right
from motet.normalise import normalise

LETTERS = ("mmlu_pro",)
SUITES = ("zeroeval_gsm", "zeroeval_math_l5", *LETTERS)

WHOSE = {
    # letters
    "filled in": "recorder",
    "missed": "recorder",
    "earlier questions": "recorder",
    "several letters": "either",
    "changed its mind": "either",
    "label in a sentence": "ours",
    # numbers
    "working": "recorder",
    "formula": "recorder",
    "fraction": "recorder",
    "no answer": "recorder",
    "elsewhere": "recorder",
    "several numbers": "either",
    "sentence": "either",
    # both
    "cut off": "ours",
    "other": "ours",
}
"""Whose reading is wrong in each kind of disagreement; of `other`, which no rule explains, it is taken to be ours."""

_ANSWER_IS = re.compile(r"answer is \(?([A-J])\b")
_ONLY = re.compile(r"^The answer is \(?[A-J]\)?\.?$", re.MULTILINE)
_ENDED = re.compile(r"[.!?\"'`}\])$*>|]$")
_SEVERAL = r"answer is \(?{}\b\W{{0,3}}[\s,](?:and |or |& )?\(?(?:[A-J]\b(?! [a-z])|\d)"
_FIELD = re.compile(r'"answer"\s*:\s*"((?:[^"\\]|\\.)*)"')
_NUMBER = re.compile(r"-?(?:\d[\d,]*)?\.?\d+")
_REFUSED = re.compile(
    r"(?i)\b(?:can ?not|not|no|unknown|unable|undefined|requires?|varies|error|depends?|infinite)\b|n't"
)


class Reply(NamedTuple):
    """A recorded reply, and what the recorder made of it."""

    item: str
    model: str
    text: str
    answer: str
    correct: bool


class Item(NamedTuple):
    """What was asked, and the right answer."""

    question: str
    gold: str


def items(folder: Path) -> dict[str, Item]:
    """The questions of a suite."""
    with gzip.open(folder / "items.csv.gz", "rt", newline="", encoding="utf-8") as file:
        return {row["item_id"]: Item(row["question"], row["gold"]) for row in csv.DictReader(file)}


def replies(folder: Path, every: int = 1) -> Iterator[Reply]:
    """The raw replies of a suite, or one in so many, in the order they are stored."""
    with gzip.open(folder / "outputs.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in islice(file, 0, None, every):
            row = json.loads(line)
            recorded = row["answer"] if row["answer"] is not None else ""
            yield Reply(
                row["item_id"], row["model"], row["output"], str(recorded), str(row["correct"]) in ("1", "True")
            )


def number(key: str) -> Fraction | None:
    """The number a key is; None for any other."""
    try:
        return Fraction(key.replace(",", ""))
    except (ValueError, ZeroDivisionError):
        return None


def agree(ours: str, recorded: str, letters: bool) -> bool:
    """Whether two keys are the same answer, or both are none: no letter where those are asked for, else no number.

    A recorder that computes in floating point is followed to nine digits.
    """
    if letters:
        return (ours if re.fullmatch("[a-j]", ours) else "") == recorded
    mine, theirs = number(ours), number(recorded)
    if mine is None or theirs is None:
        return mine is theirs
    return abs(mine - theirs) <= max(Fraction(1), abs(theirs)) / Fraction(10**9)


def kind(reply: Reply, ours: str, letters: bool) -> str:
    """The kind of a disagreement about the answer."""
    return _kind_of_letter(reply, ours) if letters else _kind_of_number(reply, ours)


def _kind_of_letter(reply: Reply, ours: str) -> str:
    if not reply.answer:
        return "missed" if re.search(rf"(?<!\w){ours}(?!\w)", reply.text, re.IGNORECASE) else "other"
    said = _ANSWER_IS.findall(reply.text)
    if len(_ONLY.findall(reply.text)) >= 5:
        return "earlier questions"
    if reply.answer in said:
        if re.search(_SEVERAL.format(reply.answer), reply.text):
            return "several letters"
        return "changed its mind" if len(set(said)) > 1 or normalise(reply.answer) != ours else "other"
    if re.search(rf"(?<![\w(]){reply.answer}[.)] \S|\({reply.answer}\)", reply.text[-400:]):
        return "label in a sentence"
    return "filled in"


def _kind_of_number(reply: Reply, ours: str) -> str:
    if not reply.answer:
        return "missed" if _ENDED.search(reply.text.rstrip()) else "cut off"
    fields = _FIELD.findall(reply.text)
    if not fields:
        return "elsewhere" if number(ours) is not None else "other"
    field = fields[-1]
    values = [number(found) for found in _NUMBER.findall(field)]
    theirs = number(reply.answer)
    if number(ours) is not None:
        if "frac" in field or re.search(r"[⅓⅔½¼¾]", field):
            return "fraction"
        if len(values) > 1 and theirs in values:
            return "working"
        return "elsewhere" if values and theirs not in values else "other"
    if _REFUSED.search(field):
        return "no answer"
    words = re.findall(r"[^\W\d_]{2,}", re.sub(r"\\[a-z]+|sqrt", " ", field))
    if len(values) > 1 and re.fullmatch(r"[\[({\d\s.,/)}\]-]+", ours):
        return "several numbers"
    if not words or re.search(r"[*+^√\\]| - ", ours):
        return "formula"
    if re.search(r"\b(?:or|and|minutes|hours)\b", field) and len(words) <= 8:
        return "several numbers"
    return "sentence"


def compare(folder: Path, every: int = 1, show: str = "") -> dict[str, object]:
    """How the replies of one suite are read here and were read by the recorder.

    Args:
        folder: the suite's folder.
        every: look at one reply in so many.
        show: a kind of disagreement whose replies are printed to stderr, by model and item.
    """
    letters = folder.name in LETTERS
    asked = items(folder)
    n = same_answer = same_verdict = plain = plain_verdict = 0
    kinds: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    better: Counter[str] = Counter()
    seconds = 0.0
    for reply in replies(folder, every):
        item = asked[reply.item]
        start = time.perf_counter()
        ours = normalise(answer(reply.text, item.question))
        correct = right(reply.text, [item.gold], item.question)
        seconds += time.perf_counter() - start
        n += 1
        same_verdict += correct == reply.correct
        if agree(ours, normalise(reply.answer), letters):
            same_answer += 1
            plain += 1
            plain_verdict += correct == reply.correct
            if correct != reply.correct:
                verdicts["same answer"] += 1
            continue
        what = kind(reply, ours, letters)
        kinds[what] += 1
        plain += WHOSE[what] == "ours"
        plain_verdict += WHOSE[what] == "ours" and correct == reply.correct
        if correct != reply.correct:
            verdicts[what] += 1
        better[
            f"{what}: {'ours' if correct > reply.correct else 'recorder' if correct < reply.correct else 'neither'}"
        ] += 1
        if what == show:
            print(f"{reply.model} {reply.item}: recorded {reply.answer!r}, read {ours[:80]!r}", file=sys.stderr)
    whose = Counter(dict.fromkeys(("recorder", "either", "ours"), 0))
    for what, count in kinds.items():
        whose[WHOSE[what]] += count
    faults = sum(count for what, count in verdicts.items() if WHOSE.get(what) == "recorder")
    return {
        "suite": folder.name,
        "n": n,
        "answer": {
            "all": round(same_answer / n, 5),
            "without_recorder_errors": round(same_answer / (n - whose["recorder"]), 5),
            "without_undecided_too": round(same_answer / plain, 5),
        },
        "verdict": {
            "all": round(same_verdict / n, 5),
            "without_recorder_errors": round(same_verdict / (n - faults), 5),
            "without_undecided_too": round(plain_verdict / plain, 5),
        },
        "whose": dict(whose),
        "kinds": {what: {"answers": count, "verdicts": verdicts[what]} for what, count in kinds.most_common()},
        "same_answer_other_verdict": verdicts["same answer"],
        "right_by": dict(sorted(better.items())),
        "seconds": round(seconds, 2),
        "us_per_reply": round(seconds / n * 1e6),
    }


def main() -> None:
    """Compare the suites named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"any of {', '.join(SUITES)}; default all")
    parser.add_argument("--folder", type=Path, default=os.environ.get("MOTET_RECORDED"), help="default: MOTET_RECORDED")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="look at one reply in N")
    parser.add_argument("--show", default="", metavar="KIND", help="print the replies of this kind to stderr")
    chosen = parser.parse_args()
    if chosen.folder is None or not Path(chosen.folder).is_dir():
        parser.error(f"no folder of recorded results at {chosen.folder}: name one with --folder or MOTET_RECORDED")
    for suite in chosen.suites or SUITES:
        if not (Path(chosen.folder) / suite / "outputs.jsonl.gz").is_file():
            parser.error(f"{Path(chosen.folder) / suite} has no outputs.jsonl.gz, the raw replies")
        print(
            json.dumps(compare(Path(chosen.folder) / suite, chosen.every, chosen.show), ensure_ascii=False), flush=True
        )


if __name__ == "__main__":
    main()
