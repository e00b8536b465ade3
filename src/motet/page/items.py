"""Items: what a page shows one by one, to search and to filter: questions, answers, and what happened inside these.

The data are put into the page as compressed JSON, in which every text stands once however often it was said. The
browser unpacks them, so the page needs no server and still holds thousands of items. No text of theirs becomes markup:
`items.js` writes each as text, and control characters are made visible here.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from motet.errors import UsageError
from motet.printable import printable

_DIGITS: Final = 4
"""Significant digits that costs and times are kept with: more than is shown, and fewer bytes than all."""


@dataclass(frozen=True)
class Ask:
    """One ask inside an answer.

    Args:
        agent: who was asked.
        state: what became of it, in a word: `ok`, `abstained`, `cut`, `empty`, `failed`.
        text: what was said, or why it failed.
        heard: the places, in the list of the answer's asks and from 0, of those whose words were given to it.
        seconds: how long it took.
        depth: how deep it is nested: 0 for what the mixture asked itself.
    """

    agent: str
    state: str
    text: str
    heard: Sequence[int] = ()
    seconds: float = 0.0
    depth: int = 0


@dataclass(frozen=True)
class Answer:
    """One arm's answer to an item.

    Args:
        arm: the agent or mixture.
        text: its answer.
        grade: from 0 (wrong) to 1 (right); None if it was not graded.
        state: `failed` and `abstained` are marked as such, any other word is shown where the item is opened.
        note: why it failed or was not graded.
        usd: its cost; None if it is not known.
        calls: how many calls it made.
        seconds: how long it took; None if it is not known.
        asks: what happened inside, in the order in which it is to be read.
    """

    arm: str
    text: str
    grade: float | None
    state: str
    note: str = ""
    usd: float | None = None
    calls: int = 0
    seconds: float | None = None
    asks: Sequence[Ask] = ()


@dataclass(frozen=True)
class Item:
    """A question, the accepted answer, and what each arm made of it.

    Args:
        id: names it; `#item=ID` at the end of the page's address opens it.
        topic: what it is about; "" if items have no topics.
        question: the question.
        target: the accepted answer.
        answers: one for each arm.
        tags: what it can be filtered by, as "vote helped" or "all wrong".
    """

    id: str
    topic: str
    question: str
    target: str
    answers: Sequence[Answer]
    tags: Sequence[str] = ()


@dataclass(frozen=True)
class Items:
    """A block that shows items: searched, filtered and sorted, each opened in its place.

    Args:
        name: unique among the page's items.
        items: in the order in which they were asked.
        about: how to read it.
        left_out: how many more items there are that the page does not hold.
    """

    name: str
    items: Sequence[Item]
    about: str = ""
    left_out: int = 0


def packed(blocks: Sequence[Items]) -> str:
    """The items as a page carries them: JSON, compressed with gzip, in base64.

    An item is `[id, topic, question, target, tags, answers]`, an answer `[arm, text, grade, state, note, usd, calls,
    seconds, asks]`, an ask `[agent, state, text, heard, seconds, depth]`. Each text in them is its place in `texts`.

    Args:
        blocks: all of a page, which share their texts.

    Returns:
        The base64 text; the same for the same blocks.

    Raises:
        UsageError: two blocks have one name, or an ask has heard one that is not there.

    >>> twice = Item("q1", "sums", "4 + 4?", "8", [Answer("a", "eight", 0.0, "ok"), Answer("b", "eight", 0.0, "ok")])
    >>> gzip.decompress(base64.b64decode(packed([Items("all", [twice])]))).count(b"eight")
    1
    """
    places: dict[str, int] = {}
    made: dict[str, list[list[object]]] = {}

    def put(text: str) -> int:
        return places.setdefault(text, len(places))

    def ask(each: Ask) -> list[object]:
        return [put(each.agent), put(each.state), put(each.text), list(each.heard), _short(each.seconds), each.depth]

    def answer(each: Answer) -> list[object]:
        head = [put(each.arm), put(each.text), _short(each.grade), put(each.state), put(each.note)]
        return [*head, _short(each.usd), each.calls, _short(each.seconds), [ask(inner) for inner in each.asks]]

    for block in blocks:
        name = printable(block.name)
        if name in made:
            raise UsageError(f"two blocks of items in a page are named {block.name!r}: give each its own name")
        rows = made[name] = []
        for item in block.items:
            for given in item.answers:
                _check(item, given)
            rows.append(
                [
                    *(put(text) for text in (item.id, item.topic, item.question, item.target)),
                    [put(tag) for tag in item.tags],
                    [answer(each) for each in item.answers],
                ]
            )
    data = msgspec.json.encode({"texts": [printable(text) for text in places], "blocks": made})
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def _check(item: Item, answer: Answer) -> None:
    """An ask that is not there could not be shown, and would be a mistake of whoever made the list."""
    count = len(answer.asks)
    for place, ask in enumerate(answer.asks):
        wrong = [heard for heard in ask.heard if not 0 <= heard < count]
        if wrong:
            raise UsageError(
                f"item {item.id!r}, arm {answer.arm!r}: ask {place} ({ask.agent}) heard ask {wrong[0]}, but there are "
                f"{count} asks, counted from 0"
            )
