"""The answer in a reply, given the question: what the reply says that the question did not.

    >>> answer("The currency of Japan is the yen.", "What is the currency of Japan?")
    'yen'
    >>> answer("Vincent van Gogh painted The Starry Night.", "Who painted The Starry Night?")
    'Vincent van Gogh'

Models dress one answer in many sentences, and votes are counted on answers. `normalise.extract` finds what is marked as
the answer; where it finds only a sentence, the words of the question and the words that hold sentences together are
taken away, and if exactly one short run of words is left, that is the answer. In any doubt the sentence stays whole:
two answers that are not told to be the same cost a vote, two that are wrongly taken for the same cost an answer.
Where the question asks how many, the only number of the sentence is the answer. The rules are motet's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

LONGEST = 5
"""Words of an answer at most; "the Universal Declaration of Human Rights" has five that count."""

_WORD = re.compile(r"[^\W_]+(?:[.,'’/:-][^\W_]+)*%?")
_ASIDE = re.compile(r"(?i),\s+(?=(?:which|who|where|with|and it|and he|and she|as|a|an|the)\s)")
"""Where a sentence has said its thing and begins to tell more about it: "Jupiter, which is larger than …"."""
_HOLDING = frozenset(
    """a an the is are was were be been being am it its this that these those there he she they his her their
    of in on at to by for from with as and or has have had do does did will would can could
    which who whom whose what when where why how so then than thus one also about
    called named known written painted made located found used""".split()
)
_DENYING = frozenset("not no never neither nor cannot except unless but".split())  # and whatever ends in n't

# Compiled when first used, as `import motet` has to be quick.
_CHOICES = r"\b[A-J]\)? ?(?:or|and|&|,)[ (]{1,2}[A-J]\b"  # of which "A" is no article
_HOW_MANY = r"(?i)\bhow (?:many|much|far|long|old|tall|high|fast|deep|wide|heavy)\b|\bwhat number\b"
_FIGURE = r"(?a)[$€£]?(?<![\w.,/:^−–-])-?\d[\d,]*(?:\.\d+)?%?(?![\w/:^]|[.,]\d|-\d)"
_CALCULATED = r"[=+*/^\\<>{}|√×÷]| [-−–] |\d ?\("
_COMPARED = r"(?i)\b(?:than|or|between|over|under|least|most|up to|nearly|almost|from|either|minus|negative)\s+[$€£]?$"


def answer(text: str, question: str = "") -> str:
    """The answer that a reply gives to a question.

    Args:
        text: the reply.
        question: what was asked; without it, this is `normalise.extract`.

    Returns:
        The answer as the reply puts it; the sentence, or all of it, where the answer can't be told from the rest.
    """
    from motet.normalise import extract, is_maths  # its many patterns take a while to compile: not on `import motet`

    found = extract(text)
    if not question or len(found) > 2000 or len(found.split()) <= 2 or re.search(_CHOICES, found):
        return found
    if re.search(_HOW_MANY, question) and (figure := _figure(found)):
        return figure
    sentence = re.split(r"(?<=\w\w\w)[.!?](?=\s|$)|\n", found, maxsplit=1)[0]  # not after "St." or "J."
    sentence = _ASIDE.split(sentence, maxsplit=1)[0]
    words = list(_WORD.finditer(sentence))
    said = [word.group().lower().replace("’", "'") for word in words]
    if not words or any(word in _DENYING or word.endswith("n't") for word in said):
        return found
    asked = {_stem(word.group().lower()) for word in _WORD.finditer(question)}
    fresh = [word not in _HOLDING and _stem(word) not in asked for word in said]
    if not any(fresh):
        return found
    first, last = fresh.index(True), len(fresh) - 1 - fresh[::-1].index(True)
    inside = range(first, last + 1)
    # a run may hold words like "of" and "the", but nothing that the question said
    whole = all(fresh[place] or said[place] in _HOLDING - asked for place in inside)
    breaks = re.search(r"[;:,()]\s", sentence[words[first].start() : words[last].end()])
    if not whole or breaks or sum(fresh) > LONGEST or sum(not fresh[place] for place in inside) > 2:
        return found
    start, end = words[first].start(), words[last].end()
    edges = {*sentence[max(0, start - 1) : start], *sentence[end : end + 1]}
    if edges & set("^/+=\\√_{}") or is_maths(found):
        return found  # what the question does not say of a formula is half of it
    return sentence[start:end]


def right(text: str, accepted: Sequence[str], question: str = "") -> bool:
    """Whether a reply gives one of the accepted answers: as it stands, or as the answer in it.

    >>> right("The largest planet is Jupiter, which is mostly gas.", ["Jupiter"], "Which planet is the largest?")
    True
    """
    if text in accepted:  # most right answers are written as they are accepted
        return True
    from motet.normalise import matches

    return matches(text, accepted) or (bool(question) and matches(answer(text, question), accepted))


def _figure(said: str) -> str:
    """The number in a sentence that holds no other, in digits or in words, and does no sum with it; else `""`."""
    from motet.numbers import find_words

    figures = list(re.finditer(_FIGURE, said))
    if len(figures) != 1 or len(re.findall(r"\d[\d.,]*", said)) != 1 or re.search(_CALCULATED, said):
        return ""
    words = [word.group().lower().replace("’", "'") for word in _WORD.finditer(said)]
    if any(word in _DENYING or word.endswith("n't") or word == "or" for word in words):
        return ""
    if re.search(_COMPARED, said[: figures[0].start()]) or any(number.value != 1 for number in find_words(said)):
        return ""
    return figures[0].group()


def _stem(word: str) -> str:
    """A word without the endings that question and answer differ in: "painted" and "paint", "legs" and "leg"."""
    for ending in ("ies", "es", "s", "ed", "ing"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word[-1].isdigit():
            return word[: len(word) - len(ending)]
    return word
