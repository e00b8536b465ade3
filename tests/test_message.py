"""Messages, requests, replies: equality and keys, provenance, states, sums, and text that UTF-8 can't carry."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet import Chat, Message, Reply, Request, Sampling, Usage, hear
from motet.message import IMPOSSIBLE, Delta, Part, Token, ToolCall, ToolSpec, abstain, digest, encoded, recall

ANY = st.text(alphabet=st.characters(exclude_categories=[]), max_size=30)
ASKED = Chat.of("What?")


def test_provenance_is_no_part_of_equality_or_keys() -> None:
    """Words are the same words whoever they came from; everything else tells messages apart."""
    plain, heard = Message("user", "hi"), Message("user", "hi", source="r1")
    assert plain == heard
    assert hash(plain) == hash(heard)
    assert Chat((plain,)).key == Chat((heard,)).key
    assert Request("m", (plain,)).key == Request("m", (heard,)).key
    others = [
        Message("assistant", "hi"),
        Message("user", "ho"),
        Message("user", "hi", name="A"),
        Message("user", "hi", parts=(Part("image_url", "{}"),)),
        Message("user", "hi", tool_calls=(ToolCall("1", "f", "{}"),)),
        Message("user", "hi", tool_call_id="1"),
    ]
    assert len({message.content for message in [plain, *others]}) == 7
    assert len({Chat((message,)).key for message in [plain, *others]}) == 7
    assert plain != "hi"


def test_a_key_is_of_the_content_and_the_draw_only() -> None:
    """Deadline and allowance are circumstances; model, words, sampling, tools, seed and draw are not."""
    request = Request("m", ASKED.messages)
    replace = msgspec.structs.replace
    assert replace(request, deadline=1.0, allowance=5).key == request.key
    others = [
        replace(request, model="n"),
        replace(request, messages=Chat.of("Who?").messages),
        replace(request, prompt="Q:"),
        replace(request, sampling=Sampling(temperature=0)),
        replace(request, tools=(ToolSpec("f", "", "{}"),)),
        replace(request, seed=1),
        replace(request, draw="1"),
    ]
    assert len({other.key for other in [request, *others]}) == 8
    assert 0 <= request.sample_seed < 2**31
    assert request.max_tokens == 512
    assert replace(request, allowance=5).max_tokens == 5
    assert replace(request, allowance=5000).max_tokens == 512


def test_a_chat_of_what_there_is() -> None:
    """A chat is made of words, of messages, or is one already; every change is a new one."""
    assert Chat.of(ASKED) is ASKED
    assert Chat.of(iter([Message("user", "What?")])) == ASKED
    assert ASKED.note("n").messages == (Message("user", "What?"), Message("note", "n"))
    assert ASKED.messages == (Message("user", "What?"),)
    assert Chat.of([]).question == ""


def test_the_question_is_the_last_thing_the_user_said() -> None:
    """Neither what was heard nor what is noted is the question."""
    chat = Chat.of([Message("user", "first"), Message("assistant", "yes"), Message("user", "second")])
    assert hear(chat.note("now"), [Reply("third", id="r")]).question == "second"


def test_hear_carries_sources_and_leaves_out_the_unusable() -> None:
    """What is heard has the id of its reply; cut, empty and abstained replies are not heard; labels stay aligned."""
    replies = [Reply("a", id="1"), Reply("", id="2"), Reply("c", id="3"), Reply("d", finish="length", id="4")]
    chat = hear(ASKED, replies, "note", ["A", "B", "C", "D"])
    assert [(message.role, message.text, message.name, message.source) for message in chat.messages[1:]] == [
        ("note", "note", "", ""),
        ("user", "a", "A", "1"),
        ("user", "c", "C", "3"),
    ]
    assert chat.sources == ("1", "3")
    assert [message.text for message in chat.heard] == ["a", "c"]
    assert hear(ASKED, []) == ASKED
    assert hear(ASKED, [Reply("x")]).sources == ("unknown",)
    with pytest.raises(ValueError, match="1 labels for 2 replies"):
        hear(ASKED, replies[:2], labels=["A"])


def test_recall_is_a_turn_not_heard() -> None:
    """One's own earlier words are a turn of one's own, with their source."""
    chat = recall(ASKED, Reply("mine", id="r"))
    assert chat.messages[-1].role == "assistant"
    assert (chat.heard, chat.sources) == ((), ("r",))
    assert recall(ASKED, None) is ASKED


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (Reply("4"), "ok"),
        (Reply("", tool_calls=(ToolCall("1", "f", "{}"),)), "ok"),
        (abstain(), "abstained"),
        (Reply("4", finish="length"), "cut"),
        (Reply("", finish="length"), "cut"),
        (Reply(" \n"), "empty"),
        (Reply("no", finish="content_filter"), "empty"),
    ],
)
def test_states(reply: Reply, state: str) -> None:
    """A reply is usable if it is whole and has something to say."""
    assert reply.state == state
    assert reply.usable == (state == "ok")


def test_usage_adds_up_and_can_be_saved() -> None:
    """Sums go by field; what a known reply would have cost is saved, not spent."""
    one = Usage(1, 10, 2, 5, 1, 0.5, 2.0, 0, 0.0)
    assert one + one == Usage(2, 20, 4, 10, 2, 1.0, 4.0)
    assert one.tokens == 15
    assert one.as_saved() == Usage(saved_calls=1, saved_usd=0.5)
    assert one.as_saved().as_saved() == one.as_saved()


@given(ANY)
def test_any_text_can_be_sent(text: str) -> None:
    """What UTF-8 can't carry becomes U+FFFD, or the character that a pair of surrogates means; the rest stays."""
    for cleaned in (Message("user", text).text, Reply(text).text):
        cleaned.encode()
        if not any("\ud800" <= character <= "\udfff" for character in text):
            assert cleaned == text
    assert msgspec.json.decode(encoded([text, Message("user", text)]))[1]["text"] == Message("user", text).text
    assert len(digest(text)) == 32


def test_surrogates() -> None:
    """A pair is the character it means; a lone one is replaced; keys are those of the cleaned text."""
    assert Message("user", "a\ud83d\ude00b").text == "a\U0001f600b"
    assert Reply("a\ud800b").text == "a\ufffdb"
    assert digest(["é\ud800"]) == digest(["é\ufffd"])


def test_impossible_tokens() -> None:
    """Minus infinity and NaN, which JSON does not have, become a probability of nothing."""
    token = Token("x", float("-inf"), (("y", float("nan")), ("z", -0.5)))
    assert token == Token("x", IMPOSSIBLE, (("y", IMPOSSIBLE), ("z", -0.5)))


def test_parts_keep_the_wire_form() -> None:
    """A part is its wire form in one canonical order, so that equal parts have equal keys."""
    one = Part.of({"type": "image_url", "image_url": {"url": "data:,é"}})
    assert one == Part.of({"image_url": {"url": "data:,é"}, "type": "image_url"})
    assert (one.type, msgspec.json.decode(one.body)["image_url"]) == ("image_url", {"url": "data:,é"})


@given(st.builds(Reply, text=ANY, agent=ANY, finish=st.sampled_from(["stop", "length", "abstain"])))
def test_replies_survive_json(reply: Reply) -> None:
    """A reply written and read is the reply, if its names are text."""
    read = msgspec.json.decode(encoded(Delta(reply=reply)), type=Delta).reply
    assert read is not None
    assert (read.text, read.finish) == (reply.text, reply.finish)
