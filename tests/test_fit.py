"""Fitting: whatever is heard, the prompt fits the listener's context; by which rule is recorded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_prompt import HOSTILE

from motet import Chat, Message, ModelAgent, Reply, Run, Sampling, Scripted, Vote, hear, perform
from motet.agent import MERGE
from motet.backend import Card, estimate_tokens, prompt_tokens
from motet.clock import run_virtual
from motet.fit import GAP, Rule, drop, fit, shares, shortened
from motet.message import Request
from motet.outcome import Result
from motet.trace import CallStarted, Fitted, Streamed

RULES: tuple[Rule, ...] = ("drop", "shorten", "summarise", "tournament")


def words(text: str) -> int:
    """Tokens, for exact tests: words."""
    return len(text.split())


def said(*texts: str) -> list[Message]:
    """Heard messages with sources a, b, c, …"""
    return [Message("user", text, source=chr(ord("a") + place)) for place, text in enumerate(texts)]


async def joined(texts: Sequence[Message], tokens: int) -> str:
    """A merge that takes the first words of each."""
    return " ".join(message.text.split()[0].upper() for message in texts)


def fitted(texts: list[str], room: int, rule: Rule, merge: object = joined) -> list[tuple[str, str]]:
    """Sources and texts of what fits."""
    kept = run_virtual(fit(said(*texts), room, words, rule, merge))  # type: ignore[arg-type]
    return [(message.source, message.text) for message in kept]


LONG = "one two three four five six seven eight nine ten"


def test_what_fits_is_left_alone() -> None:
    """No rule touches what has room."""
    for rule in RULES:
        assert fitted(["a b", "c"], 3, rule) == [("a", "a b"), ("b", "c")]


def test_drop() -> None:
    """Whole texts go, the last first."""
    assert fitted(["a b", "c d", "e"], 4, "drop") == [("a", "a b"), ("b", "c d")]
    assert fitted([LONG, "c"], 4, "drop") == []


def test_shorten() -> None:
    """Each has a fair share; the long keep beginning and end, the short stay whole."""
    kept = fitted(["a b", LONG], 8, "shorten")
    assert kept[0] == ("a", "a b")
    assert kept[1][1].startswith("one two")
    assert kept[1][1].endswith(" ten")
    assert GAP.strip() in kept[1][1]
    assert words(kept[1][1]) <= 6


def test_summarise() -> None:
    """Only what is longer than its share is summarised, alone."""
    asked: list[tuple[int, int]] = []

    async def merge(texts: Sequence[Message], tokens: int) -> str:
        asked.append((len(texts), tokens))
        return "short"

    assert fitted(["a b", LONG], 8, "summarise", merge) == [("a", "a b"), ("b", "short")]
    assert asked == [(1, 6)]


def test_tournament() -> None:
    """Neighbours are merged, at least two at a time, until they fit; the first of a group lends its source."""
    assert fitted(["a a a", "b b b", "c c c", "d d d", "e e e"], 7, "tournament") == [
        ("a", "A B"),
        ("c", "C D"),
        ("e", "e e e"),
    ]
    assert fitted([LONG, LONG], 3, "tournament") == [("a", "ONE ONE")]


def test_labelled_texts_are_never_merged() -> None:
    """Texts that a ballot is about stay apart, also in a tournament."""
    heard = [msgspec.structs.replace(message, name=message.source.upper()) for message in said(LONG, LONG)]
    kept = run_virtual(fit(heard, 8, words, "tournament", joined))
    assert [message.name for message in kept] == ["A", "B"]


def test_a_merge_that_gives_nothing_or_too_much() -> None:
    """A summary that is empty leaves the text itself, shortened; one that is too long is shortened."""

    async def nothing(texts: Sequence[Message], tokens: int) -> str:
        return ""

    async def much(texts: Sequence[Message], tokens: int) -> str:
        return f"much {LONG} {LONG}"

    for rule in ("summarise", "tournament"):
        assert all(text.startswith("one") for _, text in fitted([LONG, LONG], 6, rule, nothing))
        assert all(text.startswith("much") for _, text in fitted([LONG, LONG], 6, rule, much))


@settings(max_examples=100)
@given(
    texts=st.lists(HOSTILE | st.text(max_size=200), max_size=6),
    room=st.integers(-5, 60),
    rule=st.sampled_from(RULES),
    merged=st.text(max_size=100),
)
def test_never_over_the_room(texts: list[str], room: int, rule: Rule, merged: str) -> None:
    """Whatever is said, and whatever a merge makes of it: what is kept fits, in its order, and it ends."""

    async def merge(texts: Sequence[Message], tokens: int) -> str:
        assert tokens > 0
        return merged

    heard = [Message("user", text, source=str(place)) for place, text in enumerate(texts)]
    kept = run_virtual(fit(heard, room, estimate_tokens, rule, merge))
    assert sum(estimate_tokens(message.text) for message in kept) <= max(0, room)
    order = [int(message.source) for message in kept]
    assert order == sorted(set(order))


@given(st.lists(st.integers(0, 100), max_size=6), st.integers(-10, 300))
def test_shares_are_fair(sizes: list[int], room: int) -> None:
    """Nobody gets more than it needs or than there is; who is cut short gets no less than anybody else."""
    granted = shares(sizes, room)
    assert sum(granted) <= max(0, room)
    assert all(0 <= grant <= size for grant, size in zip(granted, sizes, strict=True))
    cut = [grant for grant, size in zip(granted, sizes, strict=True) if grant < size]
    if cut:
        assert min(cut) >= max(granted) - 1
    elif room >= sum(sizes):
        assert granted == sizes


@given(st.text(max_size=200), st.integers(0, 30))
def test_shortened_keeps_both_ends(text: str, room: int) -> None:
    """What is left is at most the room, and is text, or a beginning and an end of it."""
    short = shortened(text, room, estimate_tokens)
    assert estimate_tokens(short) <= room
    head, gap, tail = short.partition(GAP)
    assert short in ("", text) or (gap and text.startswith(head) and text.endswith(tail))


def test_drop_is_a_beginning() -> None:
    """What is kept is a run of the first texts."""
    assert drop([], 5, words) == []
    assert [message.source for message in drop(said("a", LONG, "c"), 5, words)] == ["a"]


# ---- in an agent


def listener(
    rule: Rule, context: int = 400, reply: object = "fine", max_tokens: int = 32, **more: object
) -> ModelAgent:
    """An agent with a small context that refuses what does not fit."""

    def script(request: Request) -> object:
        taken = prompt_tokens(backend, request) + request.sampling.max_tokens
        assert taken <= context, f"{taken} tokens in a context of {context}"
        return "the summary" if MERGE in request.text else reply

    backend = Scripted(script, name=f"m-{rule}", card=Card(context=context, completes=True))  # type: ignore[arg-type]
    return ModelAgent(backend, "listener", fit=rule, sampling=Sampling(max_tokens=max_tokens), **more)  # type: ignore[arg-type]


def ask(agent: ModelAgent, texts: Sequence[str], labels: Sequence[str] = (), **options: object) -> Result:
    """Ask with words heard."""
    chat = hear(Chat.of("What?"), [Reply(text, id=f"r{place}") for place, text in enumerate(texts)], "Note.", labels)
    return run_virtual(perform(agent, chat, **options))  # type: ignore[arg-type]


@settings(max_examples=50)
@given(
    st.lists(
        st.one_of(HOSTILE, st.text(max_size=50), st.sampled_from([300, 3000, 20000]).map(lambda n: "<|" * n)),
        max_size=5,
    ),
    st.sampled_from(RULES),
    st.sampled_from(["chat", "completion"]),
    st.integers(120, 800),
)
def test_no_prompt_is_ever_too_long(texts: list[str], rule: Rule, style: str, context: int) -> None:
    """Hostile and huge texts, any rule, either style, every call on the way: nothing is sent that does not fit."""
    result = ask(listener(rule, context, style=style), texts)
    assert result.text == "fine"


@pytest.mark.parametrize("rule", RULES)
def test_what_was_done_is_recorded(rule: Rule) -> None:
    """The event names the rule, the tokens before and after, and whose words are gone; sources are those that stay."""
    texts = [f"text{place} " + "word " * 300 for place in range(4)]
    result = ask(listener(rule), texts)
    (event,) = [event for event in result.trace if isinstance(event, Fitted)]
    assert (event.rule, event.agent, event.path) == (rule, "listener", "/listener")
    assert event.before == sum(estimate_tokens(text.strip()) for text in texts)
    assert event.after < 300
    final = [event for event in result.trace if isinstance(event, CallStarted)][-1]
    shown = {"drop": 0, "shorten": 4, "summarise": 4, "tournament": 2}[rule]
    assert final.request.text.count("</reply>") == shown
    assert len(final.heard) == shown
    assert event.dropped == (("r0", "r1", "r2", "r3") if rule == "drop" else ())
    merges = {"summarise": 4, "tournament": 2}.get(rule, 0)
    assert result.usage.calls == merges + 1


def test_nothing_is_recorded_when_all_fits() -> None:
    """No event, no change."""
    result = ask(listener("shorten"), ["4", "5"])
    assert not any(isinstance(event, Fitted) for event in result.trace)
    assert result.checked().sources == ("r0", "r1")


def test_a_question_that_does_not_fit_is_an_error() -> None:
    """The question alone is too long: `context_length`, with the numbers and what to do; nothing is sent."""
    result = run_virtual(perform(listener("drop", context=100), "word " * 100))
    assert result.outcome.missing[0].kind == "context_length"
    assert "take 203 tokens, and m-drop has a context of 100" in str(result.error)
    assert result.usage.calls == 0


def test_tools_take_room_too() -> None:
    """What tools say of themselves is measured with the rest."""
    from motet import tool

    def long(x: int) -> int:
        """Describe."""
        return x

    agent = listener("shorten", context=200, tools=[tool(long, description="word " * 300)])
    assert "context_length" in str(ask(agent, ["4"]).error)
    assert ask(replace(agent, tools=[]), ["4"]).text == "fine"


def test_a_shortened_ballot_keeps_labels_and_places() -> None:
    """Texts that are shortened keep label and order, and stand where they stood: before a later note."""
    agent = listener("shorten", context=300)
    chat = hear(Chat.of("What?"), [Reply("old " * 200, id="o")], "OUTER")
    chat = hear(chat, [Reply("x " * 200, id="x"), Reply("y " * 200, id="y")], "INNER", ["B", "C"])
    result = run_virtual(perform(agent, chat))
    (call,) = [event for event in result.trace if isinstance(event, CallStarted)]
    text = call.request.text
    places = [text.index(part) for part in ("OUTER", 'id="A">\nold', "INNER", 'id="B">\nx', 'id="C">\ny')]
    assert places == sorted(places)


def test_a_summary_is_no_part_of_the_answer() -> None:
    """What the listener writes to make others' words shorter does not stream to the client."""
    streamed: list[str] = []
    watch = lambda event: streamed.append(event.text) if isinstance(event, Streamed) else None  # noqa: E731
    assert ask(listener("summarise"), ["word " * 900], stream=True, watchers=[watch]).usage.calls == 2
    assert "".join(streamed) == "fine"


def test_summaries_replay_and_do_not_number_the_answer() -> None:
    """The answer's key is that of a first draw, however many summaries came before."""
    result = ask(listener("tournament"), ["word " * 300] * 5)
    drawn = [event.request.draw for event in result.trace if isinstance(event, CallStarted)]
    assert drawn[-1] == ""


async def test_fitting_inside_a_mixture() -> None:
    """A listener with a small context in a mixture with talkative members still answers."""
    talkers = [ModelAgent(Scripted("word " * 800, name=f"t{place}"), f"t{place}") for place in range(3)]

    class Listening:
        name = "listening"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            replies = await run.all(run.ask(talker, chat) for talker in talkers)
            return await run.answer(listener("tournament"), hear(chat, replies, "Note."))

    assert (await perform(Vote([Listening()]), "What?")).text == "fine"
