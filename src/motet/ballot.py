r"""Ballots: what an agent was asked to say in a fixed form, read from whatever it did say. Nonsense is never a vote.

>>> read_ranking("A is wrong. Ranking: B, A, C", ["A", "B", "C"])
['B', 'A', 'C']
>>> read_ranking("1. B\n2. Reply A\n3. C", ["A", "B", "C"])
['B', 'A', 'C']
>>> read_ranking("I can't rank A, B and C.", ["A", "B", "C"]) is None
True
>>> read_grade("I would say 7/10.", 10)
7.0
>>> read_grade("It names 3 cities.", 10) is None
True
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

LOOKED_AT = 20_000
"""Characters of a ballot that are read; the end of a longer one."""
_BETWEEN = frozenset(
    "reply replies response answer option candidate number and then followed by over is better than".split()
)
"""Words that may stand between the labels of a ranking; any other makes a sentence of it."""
_ITEM = r"[^\w\n]*+{number}[^\w\n]*+(?:(?:reply|response|answer|option|candidate)[^\w\n]++)?({labels})[*_`\"')\]]*+\s*+"


def read_ranking(text: str, labels: Sequence[str]) -> list[str] | None:
    """The labels in the order an agent ranks them, best first; None if it does not rank at least two.

    What follows the last "ranking:" is read if there is one, else a line or a numbered list of nothing but labels.
    Each label counts once; who is left out shares the last place.
    """
    *before, said = re.split(r"(?i)\branking\b[^:\n]{0,40}:", text[-LOOKED_AT:])
    lines = [line for line in said.splitlines() if line.strip()]
    found = [_named(line, labels) for line in (lines[:1] if before else lines)]
    number, end = (r"(?:\d{1,3}\b)?", r"(?:$|[.:,;–—-])") if before else (r"\d{1,3}\b", "$")
    either = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    item = re.compile("(?i)" + _ITEM.format(number=number, labels=rf"(?-i:{either})(?!\w)") + end)
    found.append([match.group(1) for line in lines if (match := item.match(line))])
    need = min(2, len(labels))
    return next((ranked for ranked in map(_once, found) if len(ranked) >= need), None)


def read_choice(text: str, labels: Sequence[str]) -> str | None:
    """The one label an agent names; None if it names none or several.

    What follows the last "choice:" (or answer, best, winner, verdict) is read if there is one, else a line of nothing
    but a label.
    """
    *before, said = re.split(r"(?i)\b(?:choice|answer|best|winner|verdict)\b[^:\n]{0,20}:", text[-LOOKED_AT:])
    lines = [line for line in said.splitlines() if line.strip()]
    named = {label for line in (lines[:1] if before else lines) for label in _named(line, labels)}
    return named.pop() if len(named) == 1 else None


def read_grade(text: str, scale: float) -> float | None:
    """The grade an agent gives, from 0 to `scale`; None if there is none.

    The number right after the last "grade:" (or score, rating) is read if there is one, else "7/10" and "7 out of 10"
    unless there are several that differ, else a last line of nothing but a number.
    """
    text = text[-LOOKED_AT:]
    number = r"(?<![\w.,/-])(\d{1,4}(?:\.\d{1,4})?)"
    of = rf"\s*(?:/|out of)\s*{scale:g}(?![\w%]|[.,]\d)"
    marked = re.split(r"(?i)\b(?:grade|score|rating)\b[^:=(\n\d]{0,20}(?:\([^)\n]{0,20}\)[\s*_]*)?[:=]", text)
    if len(marked) > 1:
        found = re.findall(rf"^[^\w.-]*{number}(?:{of}|(?![\w%/-]|[.,]\d|\s*out of))", marked[-1])
    else:
        lines = [line for line in text.splitlines() if line.strip()] or [""]
        found = re.findall(number + of, text) or re.findall(rf"^[^\w.-]*{number}[^\w%/-]*$", lines[-1])
    grades = {float(grade) for grade in found}
    return grades.pop() if len(grades) == 1 and max(grades) <= scale else None


def read_scores(text: str, labels: Sequence[str], scale: float) -> tuple[str, dict[str, float]]:
    r"""What an agent says besides its scores, and the score it gives each label.

    The last line that begins with "scores:" is read, and lines of nothing but labels and numbers right after it. A
    label that is scored twice in different ways, or outside 0 to `scale`, is not scored.

    Args:
        text: what it said; of a very long one the end is read.
        labels: whom it was to score.
        scale: the best score.

    >>> read_scores("B forgets a case.\nScores: A=8, B=3/10", ["A", "B"], 10)
    ('B forgets a case.', {'A': 8.0, 'B': 3.0})
    >>> read_scores("I can't score A and B.", ["A", "B"], 10)
    ("I can't score A and B.", {})
    """
    either = "|".join(re.escape(name) for name in sorted(labels, key=len, reverse=True))
    of = rf"(?:\s*(?:/|out of)\s*{scale:g})?"
    score = rf"(?<!\w)({either})(?!\w)[^\w\n.-]{{1,6}}(\d{{1,4}}(?:\.\d{{1,4}})?){of}(?![\w%/-]|[.,]\d)"
    marks = list(re.finditer(r"(?im)^[^\w\n]*scores\b[^:\n]{0,20}:", text[-LOOKED_AT:]))
    if not marks:
        return text, {}
    start = len(text) - len(text[-LOOKED_AT:])
    line, *after = text[start + marks[-1].end() :].split("\n")
    plain = re.compile(rf"\W*(?:{score}\W*)+")
    block = [line, *takewhile(plain.fullmatch, after)]
    found: dict[str, set[float]] = {}
    for name, given in re.findall(score, "\n".join(block)):
        found.setdefault(name, set()).add(float(given))
    rest = "\n".join([text[: start + marks[-1].start()], *after[len(block) - 1 :]]).strip()
    return rest, {name: max(given) for name, given in found.items() if len(given) == 1 and max(given) <= scale}


def _named(line: str, labels: Sequence[str]) -> list[str]:
    """The labels of a line that has nothing else to say, but perhaps letters that are no labels; none if it has."""
    words = re.findall(r"\w+", line)
    plain = all(re.fullmatch(r"\d+|[A-Z]\d*", word) or word in labels or word.lower() in _BETWEEN for word in words)
    return [word for word in words if word in labels] if plain else []


def _once(labels: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(labels))
