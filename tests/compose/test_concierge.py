"""Concierge: who is hired when, who leaves, what is pruned."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import replace

import pytest
from acting import agent, down
from hypothesis import given, settings
from hypothesis import strategies as st
from test_compose import ask, calls, heard, shape

from motet import Chat, ModelAgent, Reply, perform
from motet.clock import run_virtual
from motet.compose.concierge import HIRE, STAFF, Concierge, pruned, refuses
from motet.errors import TooFewReplies, UsageError
from motet.message import Message, Request, abstain
from motet.outcome import Result

TRADES = "abcdef"


def specialist(trade: str, said: object = None) -> ModelAgent:
    """One whose card names its trade, and who says it."""
    return replace(agent(f"m{trade}", said=trade if said is None else said), about=f"trade {trade}")


def host(plan: str, name: str = "host") -> ModelAgent:
    """A concierge that plans so, and knows from the cards who can do the step that was named last, if anybody can."""

    def said(request: Request) -> str:
        words = request.messages[-1].text
        if "numbered list" in words:
            return plan
        if "Choice:" not in words:
            return "all in all"
        wanted = re.findall(r'<reply id="\w+">\n(\w)\n</reply>', words)[-1]
        found = re.search(rf"^(\w+): trade {wanted}$", words, re.MULTILINE)
        return f"Choice: {found.group(1)}" if found else "Choice: NONE"

    return agent(name, said=said)


def hires(result: Result) -> int:
    """How often somebody was looked for to be hired."""
    return sum(HIRE in call.request.text for call in calls(result))


def served(result: Result) -> str:
    """The trades that worked, in order."""
    return "".join(call.agent[1] for call in calls(result) if re.fullmatch("m.", call.agent))


def test_hiring_on_demand() -> None:
    """Nobody is there at first; who is there is asked for again without hiring; the reply is made of what was found."""
    result = ask(Concierge([specialist(trade) for trade in TRADES], host("1. b\n2. d\n3. b")))
    assert (served(result), hires(result)) == ("bdb", 2)
    assert heard(calls(result)[-1]) != []
    assert (result.text, result.warnings) == ("all in all", [])


def test_only_those_who_are_there_are_shown() -> None:
    """The concierge chooses from the cards of the roster, the recruiter from those of all others."""
    result = ask(Concierge([specialist(trade) for trade in TRADES], host("1. b\n2. d"), host("", "hr")))
    looks = [call for call in calls(result) if "Choice:" in call.request.text]
    shown = ["".join(re.findall(r"trade (\w)", call.request.text)) for call in looks]
    assert [call.agent for call in looks] == ["hr", "host", "hr"]
    assert shown == ["abcdef", "b", "acdef"]
    assert STAFF in looks[1].request.text


@settings(max_examples=25)
@given(st.lists(st.sampled_from(TRADES), min_size=1, max_size=12), st.integers(1, 6))
def test_who_was_used_least_recently_leaves(wanted: list[str], size: int) -> None:
    """Whatever is wanted in turn: as many are hired as a least-recently-used cache of that size misses."""
    plan = "\n".join(f"{n}. {trade}" for n, trade in enumerate(wanted, 1))
    result = ask(Concierge([specialist(trade) for trade in TRADES], host(plan), size=size, steps=12))
    cache: OrderedDict[str, None] = OrderedDict()
    misses = 0
    for trade in wanted:
        misses += trade not in cache
        cache[trade] = None
        cache.move_to_end(trade)
        if len(cache) > size:
            cache.popitem(last=False)
    assert hires(result) == misses
    assert served(result) == "".join(wanted)


@pytest.mark.parametrize("failing", ["I'm sorry, but I cannot do that.", abstain(), down("context_length"), ""])
def test_a_refusal_is_a_gap(failing: object) -> None:
    """Who refuses, abstains or fails is not asked for the step again; another is hired, and hears nothing of it."""
    pool = [specialist("a", said=failing), specialist("b")]
    boss = agent(
        "host", said=lambda r: "1. x" if "numbered list" in r.text else "Choice: B" if "Choice:" in r.text else "end"
    )
    result = ask(Concierge(pool, boss))
    assert served(result) in ("ab", "b")
    assert not any("sorry" in call.request.text for call in calls(result))
    assert result.text == "end"


def test_a_step_that_nobody_does() -> None:
    """It is given up after some tries, and noted; so is the whole if nobody does anything."""
    mute = [specialist(trade, said="I cannot do that.") for trade in "abcd"]
    result = ask(Concierge(mute, host("1. a"), tries=2))
    assert (len(served(result)), result.text) == (2, "all in all")
    assert "concierge: nobody who was asked could do step 1" in result.warnings
    dead = [specialist(trade, said=down()) for trade in "abcd"]
    assert isinstance(ask(Concierge(dead)).error, TooFewReplies)
    assert ask(Concierge([*dead[:3], specialist("d")])).text == "d"


def test_without_cards_and_with_nonsense() -> None:
    """Without cards they are hired in order, and nobody is asked; a choice that can't be read is noted."""
    result = ask(Concierge([agent("p"), agent("q")], host("1. a")))
    assert [call.agent for call in calls(result)] == ["host", "p", "host"]
    raving = agent("host", said=lambda request: "1. a" if "numbered list" in request.text else "banana")
    result = ask(Concierge([specialist("a"), specialist("b")], raving))
    assert served(result) == "a"
    assert any("could not be read" in note for note in result.warnings)
    raving = agent("host", said=lambda request: "1. a\n2. b" if "numbered list" in request.text else "banana")
    result = ask(Concierge([specialist("a")], raving))  # all are hired: who is there does the second step too
    assert served(result) == "aa"
    assert "concierge: nobody was chosen; who is there tries" in result.warnings
    result = ask(Concierge([specialist("a")], agent("host", said="banana")))
    assert result.text == "a"
    assert "concierge: no plan could be read; the question is one step" in result.warnings


def test_some_have_no_card() -> None:
    """Who has none is shown as unknown, and does not keep those from being hired who have one."""
    boss = host("1. a\n2. b")
    result = ask(Concierge([agent("mx", said="x"), specialist("a"), specialist("b")], boss))
    assert served(result) == "ab"
    result = ask(Concierge([agent("mx", said="x"), specialist("b")], boss))  # nobody for a: the first is hired
    assert served(result) == "xb"


def test_nobody_is_asked_twice_for_the_whole() -> None:
    """Where no step is done, the concierge and then all agents are asked, each once."""
    mute = agent("mute", said=abstain())
    result = ask(Concierge([mute, specialist("a", said="I cannot do that.")]))
    whole = [call.agent for call in calls(result) if call.request.messages[-1].text == "What?"]
    assert whole == ["mute", "ma", "mute", "ma"]  # as the one step, then as the whole


REFUSALS = [
    "I cannot do that.",
    "I can't access the internet.",
    "I'm sorry, but I can't help with that.",
    "Sorry, I am unable to look that up.",
    "I lack the capability to book flights.",
    "We do not have access to live prices.",
    "I won't be able to draw it.",
    "I’m sorry, but I can’t help with that.",
    "I don’t have access to live prices.",
    "As a model I do not have real-time access to prices.",
    "I don't have any tools for this.",
]
ANSWERS = [
    "391",
    "Penguins cannot fly.",
    "I cannot but agree.",
    "I can't believe how simple it is: 7.",
    "I don't have the time at hand, but the tools are here.",
    "I can see why: it is 7.",
    "You can't divide by zero.",
    "The patient is unable to walk.",
    "x " * 300 + "I cannot do more.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text: str) -> None:
    """Who says that it can't, refuses."""
    assert refuses(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_no_refusals(text: str) -> None:
    """Answers about what others can't do, turns of phrase, and what comes late, are none."""
    assert not refuses(text)


def test_refusals_are_pruned_from_the_conversation() -> None:
    """The assistant's turns that refuse are taken out, and no other; nobody is shown them."""
    turns = [
        Message("user", "Book a flight."),
        Message("assistant", "I lack the capability to book flights."),
        Message("user", "I can't do it myself."),
        Message("assistant", "Where to?"),
        Message("user", "To Lyon, please."),
    ]
    assert pruned(Chat.of(turns)).messages == (turns[0], *turns[2:])
    result = run_virtual(perform(Concierge([specialist("a")], host("1. a")), Chat.of(turns)))
    assert not any("lack the capability" in message.text for call in calls(result) for message in call.request.messages)
    assert all("I can't do it myself." in "".join(m.text for m in call.request.messages) for call in calls(result))


def test_a_dead_concierge() -> None:
    """At the end what the last specialist found is given, and that is noted."""
    given = iter(["1. a", "Choice: A", down()])
    result = ask(Concierge([specialist("a"), specialist("b")], agent("host", said=lambda request: next(given))))
    assert (result.text, result.outcome.state) == ("a", "degraded")
    assert isinstance(result.reply, Reply)
    assert any("the concierge gave no reply" in note for note in result.warnings)


def test_shape() -> None:
    """Plan and end; hire and do for the first step, a choice too for the next, none to hire once all are; no cards,
    no choices.
    """
    assert shape(Concierge([specialist(trade) for trade in TRADES])) == (2 + 2 + 5 * 3,) * 2
    assert shape(Concierge([specialist("a"), specialist("b")])) == (2 + 2 + 3 + 4 * 2,) * 2
    assert shape(Concierge([agent("p"), agent("q")])) == (2 + 6,) * 2


@pytest.mark.parametrize("fields", [{"size": 0}, {"steps": 0}, {"tries": 0}])
def test_nonsense_is_refused(fields: dict[str, int]) -> None:
    """Nobody to hire, no place, no step, no try."""
    with pytest.raises(UsageError, match="needs at least 1"):
        Concierge([agent("p")], **fields)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has 0"):
        Concierge([])
