r"""Ballots: what an agent was asked to say in a fixed form, read from whatever it did say. Nonsense is never a vote.

>>> read_ranking("1. B\\n2. Reply A\\n3. C", ["A", "B", "C"])
['B', 'A', 'C']
>>> read_ranking("They are all fine.", ["A", "B"]) is None
True
>>> read_grade("I would say 7/10.", 10)
7.0
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LOOKED_AT = 20_000
"""Characters of a ballot that are read; the end of a longer one."""


def read_ranking(text: str, labels: Sequence[str]) -> list[str] | None:
    """The labels in the order an agent ranks them, best first; None if it does not rank at least two.

    The part after the last "ranking:" is read if there is one. A label counts where it stands as a word of its own
    and in capitals (so that "a reply" is not a vote for A); each counts once. Who is left out shares the last place.
    """
    text = text[-LOOKED_AT:]
    marked = re.split(r"(?i)\branking\b[^:\n]{0,40}:", text)
    ranked = list(dict.fromkeys(_labels(marked[-1], labels)))
    return ranked if len(ranked) >= min(2, len(labels)) else None


def read_choice(text: str, labels: Sequence[str]) -> str | None:
    """The one label an agent names; None if it names none, or several without saying which it chooses."""
    text = text[-LOOKED_AT:]
    marked = re.split(r"(?i)\b(?:choice|answer|best|winner|verdict)\b[^:\n]{0,20}:", text)
    named = set(_labels(marked[-1], labels)) if len(marked) > 1 else set()
    named = named or set(_labels(text, labels))
    return named.pop() if len(named) == 1 else None


def read_grade(text: str, scale: float) -> float | None:
    """The grade an agent gives, from 0 to `scale`; None if there is none, or several that differ.

    The part after the last "grade:", "score:" or "rating:" is read if there is one; "7/10" is 7.
    """
    text = text[-LOOKED_AT:]
    marked = re.split(r"(?i)\b(?:grade|score|rating)\b[^:\n\d]{0,20}[:=]", text)
    # a number that follows a slash or "out of" is the scale, not a grade
    found = re.findall(
        r"(?<![\w./-])(\d{1,4}(?:\.\d{1,4})?)(?![\w-]|\.\d)", re.sub(r"(?:/|out of)\s*\d+", "", marked[-1])
    )
    grades = {float(number) for number in found if float(number) <= scale}
    return grades.pop() if len(grades) == 1 and len(set(found)) == 1 else None


def _labels(text: str, labels: Sequence[str]) -> list[str]:
    alternatives = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    # "A" opens sentences: alone in front of a lower-case word it is an article, not a label
    found = re.finditer(rf"(?<!\w)({alternatives})(?!\w)(?!\s+[a-z]+\s+[a-z])(?!')", text)
    return [match.group(1) for match in found]
