"""Roles and turns: only numbered lists are read, roles that agents wrote stay fenced, all hear each other once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet import Chat, Reply
from motet.ballot import LOOKED_AT, read_items
from motet.compose.roles import Floor, cast, with_words
from motet.errors import UsageError

WORDS = "a chemist 1. 2) 3: 12. - * ** ` # 1.5 2026 who counts \n"
SAID = st.lists(st.sampled_from(WORDS.split(" ")), max_size=60).map(" ".join) | st.text(max_size=200)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("1. a chemist\n2. a lawyer", ["a chemist", "a lawyer"]),
        ("I would ask:\n\n1) a chemist\n2) a lawyer\nThat is all.", ["a chemist", "a lawyer"]),
        ("**1.** a chemist\n- 2: `a lawyer`", ["a chemist", "a lawyer"]),
        ("  1. **A chemist**: knows acids\r\n  2. *A lawyer*", ["A chemist**: knows acids", "A lawyer"]),
        ("1. a\n2. b\n3. c\n4. d", ["a", "b", "c"]),
        ("1. a chemist\n2. A CHEMIST\n3. a lawyer", ["a chemist", "a lawyer"]),
        ("1. \n2. ***\n3. a lawyer", ["a lawyer"]),
        ("a chemist and a lawyer", []),
        ("It takes 3. Then 4.", []),
        ("1.5 litres of water\n2026 was dry", []),
        ("1.\n2.\n", []),
        ("", []),
    ],
)
def test_items(text: str, items: list[str]) -> None:
    """Numbered lines are items, each once, three at most; prose and numbers are none."""
    assert read_items(text, 3) == items


@given(SAID, st.integers(1, 5))
def test_any_text_has_few_items_that_say_something(text: str, most: int) -> None:
    """Whatever is said: never more than wanted, none twice, none without a word, none longer than a line."""
    items = read_items(text, most)
    assert len(items) <= most
    assert len({item.casefold() for item in items}) == len(items)
    assert all("\n" not in item and any(letter.isalnum() or letter == "_" for letter in item) for item in items)


@pytest.mark.parametrize("text", ["1. " + "x" * 10**6, "1." + " " * 10**6, "*" * 10**6 + "1. a", "1. a\n" * 200_000])
def test_a_megabyte_is_read_in_no_time(text: str) -> None:
    """Long texts are looked at near their end only, and in linear time."""
    assert all(len(item) <= LOOKED_AT for item in read_items(text, 3))


def test_roles_that_an_agent_wrote_are_heard() -> None:
    """A composition's role is a system message; one of an agent's stands fenced, with the reply that it came from."""
    chat = Chat.of("2 + 2?")
    assert cast(chat, "") is chat
    assert [m.role for m in cast(chat, "You count.").messages] == ["system", "user"]
    told = cast(chat, "a chemist", Reply("1. a chemist", id="r1"))
    assert [(m.role, m.source) for m in told.messages] == [("user", ""), ("note", ""), ("user", "r1")]
    assert told.question == "2 + 2?"


@pytest.mark.parametrize("texts", ["a chemist", ["a chemist", " "], [""], ["a chemist", None], [7]])
def test_texts_without_words(texts: list[str]) -> None:
    """One text for a list of them, and texts that say nothing, are refused, with whose they are and what to do."""
    with pytest.raises(UsageError, match=r"panel: roles can't be .*: give a list of texts"):
        with_words("panel", "roles", texts)


def test_everybody_hears_everything_once() -> None:
    """A turn brings what the others said since one's own last turn; who has left is asked and told no more."""
    floor = Floor(dict.fromkeys(range(3), Chat.of("2 + 2?")))
    for seat in range(3):
        floor.turn(seat, "Others say:")
        floor.say(seat, Reply(f"says {seat}", id=f"r{seat}"))
    assert [m.text for m in floor.turn(1, "They went on:").messages] == [
        "2 + 2?", "Others say:", "says 0", "says 1", "They went on:", "says 2",
    ]  # fmt: skip
    assert floor.turn(1, "Nothing new:") == floor.turn(1, "Nothing new:")
    floor.leave(2)
    assert (list(floor.chats), list(floor.said)) == ([0, 1], [0, 1, 2])
    floor.say(0, Reply("again", id="r3"))
    assert [m.text for m in floor.turn(1, "And:").messages][-2:] == ["And:", "again"]
