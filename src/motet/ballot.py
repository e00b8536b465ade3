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
>>> plan = read_plan("1. A: look it up\n2. B: write it down (after 1)", ["A", "B"])
>>> [(step.who, step.text, step.after) for step in plan.steps]
[('A', 'look it up', ()), ('B', 'write it down', (0,))]
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise, takewhile

LOOKED_AT = 20_000
"""Characters of a ballot that are read; the end of a longer one."""
_BETWEEN = frozenset(
    "reply replies response answer option candidate number and then followed by over is better than".split()
)
"""Words that may stand between the labels of a ranking; any other makes a sentence of it."""
GREATEST = 9_999
"""The best grade there can be: one of more digits is not read."""
MOST_STEPS = 50
"""Steps of a plan that are read, unless told otherwise."""
MOST_FAULTS = 9
"""Faults of a plan that are told of; those after them are only counted."""
LONGEST_NAME = 40
"""Characters of the name of who does a step; what is longer is a sentence."""
PLAN_NOTE = (
    "Write a numbered list and nothing else, of at most {most} steps. Each step is one line that begins with its "
    "number, says who does it by a letter, then what is to be done, and then which steps have to be done before it, if "
    'any, for instance "1. A: ..." and "2. B: ... (after 1)".'
)
"""What an agent is told whose plan `read_plan` is to read; `{most}` stands for how many steps there may be."""
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


def read_lines(text: str, word: str) -> list[str]:
    r"""What follows on each line that begins with a word and a colon, in order; lines with nothing else left out.

    Marks of a list before the word, a number after it, and marks of emphasis are left out as well.

    >>> read_lines("I need figures.\n**Search:** rainfall in Lyon\nSearch:", "search")
    ['rainfall in Lyon']
    >>> read_lines("1. Constraint: born in 1815\n- constraint 2: a woman", "constraint")
    ['born in 1815', 'a woman']
    """
    begins = rf"(?im)^[^\w\n]*+(?:\d{{1,3}}[.)][^\w\n]*+)?{re.escape(word)}s?(?: ?#?\d{{1,3}})?[*_ ]{{0,4}}:([^\n]*)$"
    found = [said.strip(' \t\r*_`"') for said in re.findall(begins, text[-LOOKED_AT:])]
    return [said for said in found if re.search(r"\w", said)]


def read_items(text: str, most: int) -> list[str]:
    r"""The items of the numbered list that an agent gives: roles to fill, say; none if it gives no such list.

    Marks around an item are left out, and so is one that was there already. Of a very long text the end is read.

    Args:
        text: what it said.
        most: how many items count, the first ones.

    >>> read_items("I would ask:\n1. **a chemist**\n2) a lawyer\n3. A chemist", 3)
    ['a chemist', 'a lawyer']
    """
    lines = re.findall(r"(?m)^[^\w\n]{0,8}\d{1,3}[.):][*_]{0,3}[ \t]+(\S[^\n]{0,400})", text[-LOOKED_AT:])
    found: dict[str, str] = {}
    for item in (line.strip(" \t\r*_`\"'#") for line in lines):
        if re.search(r"\w", item):
            found.setdefault(item.casefold(), item)
    return list(found.values())[:most]


@dataclass(frozen=True)
class Step:
    """One step of a plan.

    Args:
        text: what is to be done.
        who: who does it, as one of the names that were given; "" if that is open.
        after: the places of the steps before it, counted from 0.
    """

    text: str
    who: str = ""
    after: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Steps, of which none waits for itself however long the way round.

    Args:
        steps: what is to be done, in the order written.
        faults: what was wrong with the plan as it was written, and how it was mended: for a note.
    """

    steps: tuple[Step, ...]
    faults: tuple[str, ...] = ()

    @property
    def waves(self) -> tuple[tuple[int, ...], ...]:
        """The places of the steps that can be done at the same time, one wave after the other.

        >>> Plan((Step("write", after=(1, 2)), Step("ask"), Step("look"))).waves
        ((1, 2), (0,))
        """
        waves: list[tuple[int, ...]] = []
        left, done = dict(enumerate(self.steps)), set[int]()
        while left:
            waves.append(tuple(place for place, step in left.items() if done.issuperset(step.after)))
            done.update(waves[-1])
            left = {place: step for place, step in left.items() if place not in done}
        return tuple(waves)


def read_plan(
    text: str, who: Sequence[str] | None = None, *, most: int = MOST_STEPS, unlike: bool = False
) -> Plan | None:
    r"""The plan an agent gives, mended where it can't be followed; None if there is no list.

    JSON is read if there is nothing else or it stands in a fence: a list of texts or of tables with "do", "who" and
    "after", or a table with such a list. Else what follows the last line "plan:" is, or all of it: a numbered list, or
    one with dashes or dots. A step may begin with who does it and a colon, and end with the numbers of the steps it
    comes after, in brackets or behind a comma: "2. B: write it (after 1)".

    A plan can always be followed: who is nobody known does nothing; a step that is not there is not waited for; steps
    that wait for each other are done in the order written; an empty one is left out. Each such thing is among the
    plan's faults.

    Args:
        text: what it said; of a very long one the end is read.
        who: whom steps can be given to; None where a plan only says what is to be done.
        most: steps at most; those after them are left out.
        unlike: a step of the same name as one before it is left out, as a role that is cast twice; a step's name is
            what it says before the first mark of punctuation.

    >>> read_plan("I would rather not.") is None
    True
    >>> read_plan('[{"do": "look", "who": "Z", "after": [2]}, {"do": "ask", "after": [1]}]', ["A"]).faults
    ("step 1 is given to 'Z', who is nobody here", 'steps 1, 2 wait for each other and are done in the order written')
    """
    faults: list[str] = []
    items = _items(text[-LOOKED_AT:], faults)
    names = {name.casefold(): name for name in who or ()}
    steps: dict[int, tuple[str, str, tuple[int, ...]]] = {}
    seen: set[str] = set()
    for number, item in items:
        doing, given, after = item
        if who is not None:
            given, doing = _assigned(number, doing, given, names, faults)
        name = re.split(r"[:,;.(–—]|\s-", doing, maxsplit=1)[0].strip(" *_").casefold()
        if not re.search(r"\w", doing):
            faults.append(f"step {number} says nothing and is left out")
        elif unlike and name and name in seen:
            faults.append(f"step {number} repeats {name[:LONGEST_NAME]!r} and is left out")
        elif len(steps) >= most:
            faults.append(f"only the first {most} of {len(items)} steps are taken")
            break
        else:
            seen.add(name)
            steps[number] = (doing, given, after)
    return _followable(steps, faults) if steps else None


_JSON = re.compile(r"```(?:json)?\s*+([\[{].*?)```", re.DOTALL | re.IGNORECASE)
_NUMBERED = re.compile(r"(?i)(\s*+)[*_#>(]*+\s*+(?:step\s++)?(\d{1,3})[*_]*+[.):][*_]*+\s++(\S.*)")
_DASHED = re.compile(r"(\s*+)[-*+•–]\s++()(\S.*)")
_AFTER = re.compile(
    r"(?i)[\s,;–—-]*[(\[,;–—]\s*(?:after|depends? on|needs|requires)\b[\s:]*(?:steps?\s+)?"
    r"((?:\d{1,3}|and|none|nothing|[\s,&#–-])*)[)\]]?[\s.]*$"
)
_NOBODY = frozenset({"", "nobody", "none", "no one", "anybody"})
_Item = tuple[str, str, tuple[int, ...]]
"""What is to be done, by whom, after which numbers."""


def _items(text: str, faults: list[str]) -> list[tuple[int, _Item]]:
    """The steps as they are written, with their numbers."""
    fence = _JSON.findall(text)
    listed = _loaded(fence[-1] if fence else text)
    if listed is not None:
        return [(number, _table(each)) for number, each in enumerate(listed, 1)]
    lines = re.split(r"(?im)^[^\w\n]*+(?:the\s)?plan\b[^:\n]{0,20}:[^\w\n]*+$", text)[-1].splitlines()
    found = list(_listed(lines, _NUMBERED)) or list(_listed(lines, _DASHED))
    starts = [place for place, (number, _) in enumerate(found) if number == "1"]
    if len(starts) > 1 and starts[-1] - starts[0] > len(starts) - 1:  # not one list in which each number is 1
        faults.append("there are several lists, of which the last is taken")
        found = found[starts[-1] :]
    numbers = [int(number or 0) for number, _ in found]
    if any(here >= after for here, after in pairwise(numbers)):
        if numbers[0]:
            faults.append("numbers are not in order, so that the steps are counted as they stand")
        numbers = [place + 1 for place in range(len(found))]
    return [(number or 1, _line(words)) for number, (_, words) in zip(numbers, found, strict=True)]


def _loaded(text: str) -> list[object] | None:
    """The list in a text that is JSON; None if it is no such text."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, dict):
        lists = [value for value in found.values() if isinstance(value, list)]
        found = lists[0] if len(lists) == 1 else None
    return found if isinstance(found, list) else None


def _table(each: object) -> _Item:
    """A step of a JSON list."""
    if not isinstance(each, Mapping):
        return _line(each) if isinstance(each, str) else ("", "", ())
    fields = {str(key).casefold(): value for key, value in each.items()}
    doing, given = fields.get("do", fields.get("task", "")), fields.get("who")
    after = fields.get("after")
    numbers = after if isinstance(after, list) else [after]
    words = " ".join(doing.split()) if isinstance(doing, str) else ""
    return words, str(given) if given else "", tuple(_numbers(" ".join(map(str, numbers))))


def _listed(lines: Sequence[str], form: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The numbers and words of the items of a list, with the indented lines below them."""
    item: tuple[str, str, str] | None = None
    for line in lines:
        match = form.match(line)
        if match and (item is None or len(match.group(1)) <= len(item[0])):
            if item:
                yield item[1:]
            item = (item[0] if item else match.group(1), match.group(2), match.group(3))
        elif item and line.strip() and len(line) - len(line.lstrip()) > len(item[0]):
            item = (*item[:2], f"{item[2]} {line.strip()}")
    if item:
        yield item[1:]


def _line(words: str) -> _Item:
    """A step in words: what it comes after stands at its end."""
    words = " ".join(words.split()).strip("* ")
    start = max(0, len(words) - 200)  # a search of all of a long line would take its time
    match = _AFTER.search(words, start)
    if match is None:
        return words, "", ()
    return words[: match.start()].strip("* "), "", tuple(_numbers(match.group(1)))


def _numbers(words: str) -> Iterator[int]:
    """The numbers of steps, each once; "1-3" are three."""
    found = re.findall(r"(?<![\w.-])(\d{1,3})(?![\d.]\d*)(?:\s*[-–]\s*(\d{1,3}))?", words)
    ranges = (range(int(first), int(last or first) + 1) for first, last in found)
    yield from dict.fromkeys(islice(chain.from_iterable(ranges), LOOKED_AT // 100))


def _assigned(number: int, doing: str, given: str, names: Mapping[str, str], faults: list[str]) -> tuple[str, str]:
    """Who does a step, "" if it is open, and what is left of the words once its name is off."""
    head, colon, rest = doing.partition(":")
    inline = bool(colon) and not given
    name = (head if inline else given).strip(" \t*_`@[]()?.\"'")
    name = re.sub(r"(?i)^(?:agent|role|worker|expert|employee)\s+(?=\w)", "", name)
    name = re.sub(r"[(\[][^()\[\]]*$", "", name).strip()  # "A (the chemist)"
    found = names.get(name.casefold(), "")
    if not inline:
        if not found and name.casefold() not in _NOBODY:
            faults.append(f"step {number} is given to {name[:LONGEST_NAME]!r}, who is nobody here")
        return found, doing
    if found or name.casefold() in _NOBODY:
        return found, rest.strip(" *")
    if re.fullmatch(r"[A-Z]\d{0,2}", name):
        faults.append(f"step {number} is given to {name!r}, who is nobody here")
        return "", rest.strip(" *")
    if len(name) <= LONGEST_NAME and len(name.split()) <= 2:
        faults.append(f"step {number} begins with {name!r}, who is nobody here")
    return "", doing


def _followable(steps: Mapping[int, tuple[str, str, tuple[int, ...]]], faults: list[str]) -> Plan:
    """A plan of these steps, in which none waits for what is not there, nor for what waits for it."""
    after: dict[int, list[int]] = {}
    for number, (_, _, wanted) in steps.items():
        after[number] = [other for other in wanted if other in steps]
        missing = [str(other) for other in wanted if other not in steps]
        if missing:
            faults.append(f"step {number} comes after {', '.join(missing[:9])}, which there is not")
    reached = _reached(after)
    bound = [number for number in steps if reached[number] >> number & 1]
    if bound:
        listed = ", ".join(map(str, bound))
        alone = len(bound) == 1
        faults.append(
            f"step {listed} waits for itself" if alone
            else f"steps {listed} wait for each other and are done in the order written"
        )  # fmt: skip
    places = {number: place for place, number in enumerate(steps)}
    found = []
    for number, (doing, given, _) in steps.items():
        kept = [o for o in after[number] if not reached[o] >> number & 1 or places[o] < places[number]]
        found.append(Step(doing, given, tuple(sorted(places[other] for other in kept))))
    told = list(dict.fromkeys(faults))
    more = [f"there are {len(told) - MOST_FAULTS} more faults"] if len(told) > MOST_FAULTS else []
    return Plan(tuple(found), (*told[:MOST_FAULTS], *more))


def _reached(after: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """All that each step waits for, at once or in the end, as the bits of a number.

    Warshall's closure: thousands of steps that wait for hundreds each would take a search from each of them minutes.
    """
    reached = {number: sum(1 << other for other in set(others)) for number, others in after.items()}
    waiting = [number for number, others in after.items() if others]
    for middle in waiting:
        for number in waiting:
            if reached[number] >> middle & 1:
                reached[number] |= reached[middle]
    return reached


def _named(line: str, labels: Sequence[str]) -> list[str]:
    """The labels of a line that has nothing else to say, but perhaps letters that are no labels; none if it has."""
    words = re.findall(r"\w+", line)
    plain = all(re.fullmatch(r"\d+|[A-Z]\d*", word) or word in labels or word.lower() in _BETWEEN for word in words)
    return [word for word in words if word in labels] if plain else []


def _once(labels: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(labels))
