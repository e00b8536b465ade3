"""Fitting: members' texts that do not fit a listener's context are dropped, shortened, summarised or played off.

The prompt is measured before it is sent. What was done, and to whose words, is recorded as a `Fitted` event; if
the question alone does not fit, that is an error of the kind `context_length`, never a silent overflow.

* `drop`: leave out whole texts, the last first, until the rest fits.
* `shorten`: give each text an equal share of the room; what is longer keeps its beginning and its end.
* `summarise`: the listener first summarises, one call each, what is longer than its share.
* `tournament`: the listener merges as many texts at a time as fit into one, until all do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from motet.message import Message

Rule = Literal["drop", "shorten", "summarise", "tournament"]
Count = Callable[[str], int]
Merge = Callable[[Sequence[Message], int], Awaitable[str]]
GAP = " […] "


def drop(heard: Sequence[Message], room: int, count: Count) -> list[Message]:
    """The first texts that fit into `room` tokens together.

    >>> texts = [Message("user", "one two", source="a"), Message("user", "three", source="b")]
    >>> [message.text for message in drop(texts, 2, lambda text: len(text.split()))]
    ['one two']
    """
    kept: list[Message] = []
    for message in heard:
        room -= count(message.text)
        if room < 0:
            break
        kept.append(message)
    return kept


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """`room` shared out fairly: who needs less than an equal share leaves the rest to the others.

    >>> shares([10, 100, 100], 110)
    [10, 50, 50]
    """
    granted = [0] * len(sizes)
    waiting = sorted(range(len(sizes)), key=lambda place: sizes[place])
    while waiting:
        place, equal = waiting[0], room // len(waiting)
        granted[place] = min(sizes[place], max(0, equal))
        room -= granted[waiting.pop(0)]
    return granted


def shortened(text: str, room: int, count: Count) -> str:
    """The beginning and the end of `text`, `room` tokens at most."""
    if count(text) <= room:
        return text
    low, high = 0, len(text)  # characters kept; found by halving, since tokens are not characters
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(_ends(text, middle)) <= room else (low, middle - 1)
    return _ends(text, low)


def _ends(text: str, characters: int) -> str:
    head = characters // 2
    return text[:head] + GAP + text[len(text) - (characters - head) :] if characters else ""


async def fit(heard: Sequence[Message], room: int, count: Count, rule: Rule, merge: Merge) -> list[Message]:
    """Heard messages that fit into `room` tokens together, by `rule`.

    Args:
        heard: the members' texts, in order.
        room: tokens left for them.
        count: tokens of a text.
        rule: what to do.
        merge: asks the listener to make one text of several, in so many tokens at most (for `summarise` and
            `tournament`); "" if it gives none. The texts may be too long for one prompt; so may be what it gives,
            and is shortened then.
    """
    if sum(count(message.text) for message in heard) <= room:
        return list(heard)
    if room <= 0:
        return []
    if rule == "drop":
        return drop(heard, room, count)
    if rule == "summarise":
        sizes = shares([count(message.text) for message in heard], room)
        heard = [
            message if count(message.text) <= size or not size else await _merged([message], size, merge)
            for message, size in zip(heard, sizes, strict=True)
        ]
    if rule == "tournament" and not any(message.name for message in heard):  # labelled texts have to stay apart
        heard = await _tournament(list(heard), room, count, merge)
    sizes = shares([count(message.text) for message in heard], room)
    texts = [shortened(message.text, size, count) for message, size in zip(heard, sizes, strict=True)]
    return [msgspec.structs.replace(message, text=text) for message, text in zip(heard, texts, strict=True) if text]


async def _merged(heard: Sequence[Message], size: int, merge: Merge) -> Message:
    """One message made of several, in the first one's place; their texts one after the other if `merge` gives none."""
    text = await merge(heard, size) or "\n\n".join(message.text for message in heard)
    return msgspec.structs.replace(heard[0], text=text)


async def _tournament(heard: list[Message], room: int, count: Count, merge: Merge) -> list[Message]:
    """Merge neighbours that fit together; every round at least halves the number of texts, so it ends."""
    while len(heard) > 1 and sum(count(message.text) for message in heard) > room:
        merged: list[Message] = []
        while heard:
            group = drop(heard, room, count)
            group = heard[: max(2, len(group))]
            heard = heard[len(group) :]
            merged.append(group[0] if len(group) == 1 else await _merged(group, max(1, room // 2), merge))
        heard = merged
    return heard
