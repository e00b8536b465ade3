r"""Stated scores: several scores on one line, read from whatever an agent did say. Nonsense scores nothing.

>>> read_scores("B forgets a case.\nScores: A=8, B=3/10", ["A", "B"], 10)
('B forgets a case.', {'A': 8.0, 'B': 3.0})
>>> read_scores("I can't score A and B.", ["A", "B"], 10)
("I can't score A and B.", {})
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from motet.ballot import LOOKED_AT


def read_scores(text: str, labels: Sequence[str], scale: float) -> tuple[str, dict[str, float]]:
    """What an agent says besides its scores, and the score it gives each label.

    The last line that begins with "scores:" is read, and lines of nothing but labels and numbers right after it. A
    label that is scored twice in different ways, or outside 0 to `scale`, is not scored.

    Args:
        text: what it said; of a very long one the end is read.
        labels: whom it was to score.
        scale: the best score.
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
