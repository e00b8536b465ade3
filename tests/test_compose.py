"""Compositions: what each asks of whom, in which order, and what it makes of it; as its docstring tells it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from acting import agent, down
from test_aggregate import voter

from motet import (
    Agreement,
    Best,
    Cascade,
    Chat,
    Council,
    Debate,
    Exact,
    Judge,
    MixtureOfAgents,
    ModelAgent,
    Plurality,
    Reply,
    Sampling,
    Scripted,
    SelfMoA,
    Synthesize,
    Vote,
    estimate,
    perform,
)  # fmt: skip
from motet.clock import run_virtual
from motet.compose.debate import AGAIN
from motet.errors import TooFewReplies, UsageError
from motet.message import Request
from motet.outcome import Result
from motet.run import Agent
from motet.topology import Alone, Chain, Full, Ring, Star, Topology
from motet.trace import CallStarted

A, B, C = agent("a"), agent("b"), agent("c")


def ask(agent: Agent, question: str = "What?", **options: object) -> Result:
    """Put a question, in virtual time."""
    return run_virtual(perform(agent, question, **options))  # type: ignore[arg-type]


def calls(result: Result) -> list[CallStarted]:
    """Every call, in the order they were started."""
    return [event for event in result.trace if isinstance(event, CallStarted)]


def heard(call: CallStarted) -> list[str]:
    """The fenced texts in a prompt, in their order."""
    return re.findall(r'<reply id="\w+">\n(.*?)\n</reply>', call.request.messages[-1].text, re.DOTALL)


def shape(agent: Agent) -> tuple[int, int]:
    """Calls and depth at the most."""
    found = estimate(agent, "What?")
    return found.calls, found.depth


# ---- shapes, as the docstrings say them


@pytest.mark.parametrize(
    ("composition", "calls", "depth"),
    [
        (Vote([A, B, C]), 3, 1),  # one call an agent, all at once
        (Vote([A] * 40), 40, 1),
        (MixtureOfAgents([A, B, C], Synthesize(A)), 7, 3),  # proposers × layers and the aggregator's; layers + 1
        (MixtureOfAgents([A, B], Synthesize(C), layers=4), 9, 5),
        (MixtureOfAgents([A, B], Plurality(), layers=1), 2, 1),
        (SelfMoA(A), 7, 2),  # draws + 1, 2 in series
        (SelfMoA(A, draws=9, window=6), 9 + 2, 3),  # the first 6, then 3 new ones
        (SelfMoA(A, draws=10, window=6), 10 + 3, 4),
        (SelfMoA(A, B, draws=6, window=6), 6 + 1, 2),
        (SelfMoA(A, draws=1), 2, 2),
        (Cascade([A, B, C], Judge(C)), 3 + 2, 5),  # one an agent and the scorer's, in series; not the last's
        (Cascade([A], Judge(C)), 1, 1),
        (Cascade([A, B], Agreement([A, B, C])), 2 + 3, 3),
        (Debate([A, B, C]), 6, 2),  # agents × rounds, rounds in series
        (Debate([A, B], rounds=5), 10, 5),
        (Debate([A, B], rounds=1), 2, 1),
        (Debate([A, B], aggregate=Synthesize(C)), 5, 3),
        (Council([A, B, C]), 7, 3),  # 2 a member and the chair's, 3 in series
        (Council([A]), 2, 2),  # nothing to rank
        (Vote([Council([A, B, C]), Vote([A, B], name="inner")]), 7, 3),  # the inner vote's draws are the council's
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, int) else str(value),
)
def test_shapes(composition: Agent, calls: int, depth: int) -> None:
    """Calls and depth are what the docstring of each says."""
    assert shape(composition) == (calls, depth)


# ---- vote


def test_self_consistency() -> None:
    """One agent five times is five draws, and the most frequent answer."""
    said = iter(["4", "5", "4", "4", "6"])
    one = agent("one", said=lambda request: next(said))
    result = ask(Vote([one] * 5), "2 + 2?")
    assert (result.text, result.usage.calls) == ("4", 5)
    assert len({call.key for call in calls(result)}) == 5


def test_vote_needs_a_quorum() -> None:
    """Fewer usable replies than needed is an error, also if more are needed than there are agents."""
    assert isinstance(ask(Vote([A, B, C], need=4)).error, TooFewReplies)
    assert isinstance(ask(Vote([A, agent("x", said=down())], need=2)).error, TooFewReplies)
    assert ask(Vote([A, agent("x", said=down())], need=1)).text == "a"


def test_vote_with_grace() -> None:
    """It goes on without the slow."""
    result = ask(Vote([A, B, agent("slow", delay=60)], need=2, grace=1))
    assert result.seconds == pytest.approx(1)
    assert result.outcome.missing[0].kind == "late"


# ---- mixture of agents


def test_moa_layers() -> None:
    """Each layer hears all of the one before, fenced and without names; the aggregator hears the last."""

    def member(place: int) -> ModelAgent:
        return agent(f"p{place}", said=lambda request: f"{place}.{request.text.count('<reply id=')}")

    members = [member(place) for place in range(3)]
    result = ask(MixtureOfAgents(members, Synthesize(agent("writer", said="end")), layers=3))
    told = [sorted(heard(call)) for call in calls(result)]
    first, later = [f"{place}.0" for place in range(3)], [f"{place}.3" for place in range(3)]
    assert told == [[]] * 3 + [first] * 3 + [later] * 3 + [later]
    assert result.text == "end"
    orders = {tuple(heard(call)) for call in calls(result)[3:6]}
    assert len(orders) > 1, "each listener has an order of its own"
    assert not any(name in call.request.text for call in calls(result) for name in ("p0", "p1", "writer", "m-"))


def test_moa_keeps_the_last_layer_that_answered() -> None:
    """A second layer in which everybody fails does not lose the first."""

    def short(request: Request) -> object:
        return down("context_length") if "<reply" in request.text else "4"

    stubborn = [agent(name, said=short) for name in ("s", "t")]
    result = ask(MixtureOfAgents(stubborn, Plurality()))
    assert (result.text, result.outcome.state) == ("4", "degraded")


def test_moa_with_a_member_that_abstains() -> None:
    """Who has nothing to say is not heard and not missing."""
    mute = agent("mute", said=Reply("", finish="abstain"))
    result = ask(MixtureOfAgents([A, mute, B], Synthesize(C)))
    assert result.outcome.state == "full"
    assert [len(heard(call)) for call in calls(result)] == [0, 0, 0, 2, 2, 2, 2]


# ---- self-moa


def counting(name: str = "one") -> ModelAgent:
    """An agent that numbers its draws d0, d1, … and its syntheses s0, s1, …"""
    drawn = {"d": 0, "s": 0}

    def said(request: Request) -> str:
        kind = "s" if "<reply" in request.text else "d"
        drawn[kind] += 1
        return f"{kind}{drawn[kind] - 1}"

    return ModelAgent(Scripted(said, name=f"m-{name}"), name)


def test_self_moa_hears_all_draws_at_once() -> None:
    """In the parallel form the aggregator, by default the same agent, sees every draw."""
    result = ask(SelfMoA(counting(), draws=4))
    assert sorted(heard(calls(result)[-1])) == ["d0", "d1", "d2", "d3"]
    assert (result.text, calls(result)[-1].agent) == ("s0", "one")
    assert ask(SelfMoA(counting(), agent("other", said="mine"), draws=2)).text == "mine"


def test_self_moa_slides_a_window() -> None:
    """The first window holds draws only; each later one the synthesis so far, three times, and new draws."""
    result = ask(SelfMoA(counting(), draws=11, window=6))
    assert [sorted(heard(call)) for call in calls(result)[11:]] == [
        ["d0", "d1", "d2", "d3", "d4", "d5"],
        ["d6", "d7", "d8", "s0", "s0", "s0"],
        ["d10", "d9", "s1", "s1", "s1"],
    ]
    assert result.text == "s2"


@pytest.mark.parametrize(("window", "kept"), [(6, 6), (6, 0), (1, 1), (0, 0), (-1, 3)])
def test_windows_that_make_no_sense(window: int, kept: int) -> None:
    """A window needs room for the synthesis so far and for something new."""
    with pytest.raises(UsageError, match="keep at least 1"):
        SelfMoA(A, window=window, kept=kept)


# ---- cascade


def test_cascade_stops_at_the_first_that_is_good_enough() -> None:
    """Cheapest first; who is not needed is not asked."""
    result = ask(Cascade([agent("small", said="4"), agent("large", said="5")], Exact(["4"])), "2 + 2?")
    assert (result.text, [call.agent for call in calls(result)]) == ("4", ["small"])
    result = ask(Cascade([agent("small", said="3"), agent("large", said="5")], Exact(["4"])), "2 + 2?")
    assert (result.text, [call.agent for call in calls(result)]) == ("5", ["small", "large"])


def test_cascade_passes_over_who_abstains_or_fails() -> None:
    """Only usable replies are scored; the last usable one is given if none is good enough."""
    mute, dead = agent("mute", said=Reply("", finish="abstain")), agent("dead", said=down())
    judge = agent("judge", said="Grade: 2")
    result = ask(Cascade([mute, dead, agent("x", said="7"), mute], Judge(judge)))
    assert result.text == "7"
    assert [call.agent for call in calls(result)] == ["mute", "dead", "x", "judge", "mute"]
    nobody = ask(Cascade([mute, dead], Judge(judge)))
    assert str(nobody.error) == "0 usable replies, 1 needed — dead: server: down; mute: abstained"


def test_cascade_draws_one_agent_again() -> None:
    """The same agent named twice is asked again, and its first reply is scored like any other."""
    said = iter(["3", "4"])
    one = agent("one", said=lambda request: next(said))
    result = ask(Cascade([one, one], Exact(["4"])), "2 + 2?")
    assert (result.text, result.usage.calls) == ("4", 2)


def test_cascade_gives_its_best_when_the_money_ends() -> None:
    """The reply so far is offered."""
    from motet import Budget

    result = ask(Cascade([A, B], Judge(C)), budget=Budget(calls=2))
    assert (result.text, result.stopped) == ("a", "calls")


# ---- debate


def test_debate_stops_at_agreement() -> None:
    """As soon as all give the same answer it ends; the paper's form goes on."""
    agreeing = [agent("x", said="4"), agent("y", said="four"), agent("z", said="The answer is 4.")]
    assert ask(Debate(agreeing, rounds=5), "2 + 2?").usage.calls == 3
    assert ask(Debate(agreeing, rounds=3, stop_at_agreement=False), "2 + 2?").usage.calls == 9
    persuaded = agent("p", said=lambda request: "4" if "<reply" in request.text else "5")
    assert ask(Debate([agreeing[0], persuaded], rounds=9), "2 + 2?").usage.calls == 4


@pytest.mark.parametrize(
    ("topology", "told"),
    [
        (Full(), ["bc", "ac", "ab"]),
        (Ring(), ["bc", "ac", "ab"]),
        (Alone(), ["", "", ""]),
        (Chain(), ["", "a", "b"]),
        (Star(2), ["c", "c", "ab"]),
    ],
    ids=repr,
)
def test_debate_hears_along_the_topology(topology: Topology, told: Sequence[str]) -> None:
    """In the second round each hears those whom the topology says, after its own words as its turn."""
    result = ask(Debate([A, B, C], topology=topology))
    second = calls(result)[3:]
    assert ["".join(sorted(heard(call))) for call in second] == list(told)
    for call, own, words in zip(second, "abc", told, strict=True):
        assert [message.role for message in call.request.messages] == ["user", "assistant", "user"]
        assert call.request.messages[1].text == own
        last = call.request.messages[2].text
        assert "Below is what others answered." in last if words else last == AGAIN


def test_debate_goes_on_without_who_falls_silent() -> None:
    """Who fails in a later round keeps its last word; who never answered has no seat."""
    failing = agent("f", said=lambda request: down() if "<reply" in request.text else "5")
    mute = agent("m", said=Reply("", finish="abstain"))
    result = ask(Debate([agent("x", said="4"), failing, mute], rounds=4))
    assert [call.agent for call in calls(result)] == ["x", "f", "m", "x", "f", "x", "x"]
    assert (result.text, result.outcome.state) == ("4", "degraded")


# ---- council


def test_council_answers_ranks_and_gives() -> None:
    """Members answer, rank all answers blind under the same letters, and the chair hears them best first."""

    def member(name: str, *preferred: str) -> ModelAgent:
        ranking = voter(name, *preferred).backend.script  # type: ignore[attr-defined]
        return agent(name, said=lambda request: ranking(request) if "Ranking:" in request.text else name)

    members = [member("x", "z", "y", "x"), member("y", "z", "x", "y"), member("z", "y", "z", "x")]
    result = ask(Council(members, chair=agent("chair", said="The council says z.")))
    answers, ballots, chair = calls(result)[:3], calls(result)[3:6], calls(result)[6:]
    assert [heard(call) for call in answers] == [[], [], []]
    assert len({call.request.text for call in ballots}) == 1
    assert sorted(heard(ballots[0])) == ["x", "y", "z"]
    assert [call.agent for call in chair] == ["chair"]
    assert heard(chair[0]) == ["z", "y", "x"]
    assert result.text == "The council says z."


def test_council_without_ballots_or_chair() -> None:
    """No ballot that can be read: the members' order; no reply of the chair: the best ranked one. Both are noted."""
    result = ask(Council([A, B], chair=agent("chair", said=down())))
    assert result.text == "a"
    assert [warning.partition(": ")[2][:30] for warning in result.warnings] == [
        "a ballot of a could not be rea",
        "a ballot of b could not be rea",
        "no ballot of the council could",
        "the chair gave no reply; the b",
    ]


def test_the_chair_is_the_first_member_by_default() -> None:
    """Unless another is named, the first member presides, dead or alive."""
    assert calls(ask(Council([A, B])))[-1].agent == "a"
    dead = agent("dead", said=down())
    assert ask(Council([dead, B])).text == "b"


# ---- what makes no sense


def _three() -> list[ModelAgent]:
    return [agent(name) for name in "abc"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Vote([]),
        lambda: MixtureOfAgents([], Plurality()),
        lambda: MixtureOfAgents([A], Plurality(), layers=0),
        lambda: MixtureOfAgents([A], Plurality(), layers=-3),
        lambda: SelfMoA(A, draws=0),
        lambda: Cascade([], Exact(["x"])),
        lambda: Debate([A]),
        lambda: Debate([A, B], rounds=0),
        lambda: Council([]),
    ],
)
def test_too_few_of_anything(make: object) -> None:
    """No agents, layers, draws or rounds: refused when it is made, with what is needed."""
    with pytest.raises(UsageError, match="needs at least"):
        make()  # type: ignore[operator]


def test_mixtures_nest() -> None:
    """Any composition is a member of any other; sources lead through all of them."""
    inner = MixtureOfAgents([A, B], Synthesize(C), name="inner")
    outer = Debate([Council([inner, A], name="low"), Cascade([B, C], Exact(["nothing"]), name="steps")], rounds=2)
    result = ask(Vote([outer, SelfMoA(A, draws=2), A]))
    assert result.outcome.state == "full"
    assert result.usage.calls > 10


def test_best_of_n() -> None:
    """Drawn n times and scored: best-of-n."""
    said = iter(["3", "4", "5"])
    one = agent("one", said=lambda request: next(said))
    assert ask(Vote([one] * 3, Best(Exact(["4"]))), "2 + 2?").text == "4"


def test_the_chat_goes_with_every_ask() -> None:
    """A conversation's earlier turns reach every member of every layer."""
    from motet import Message

    chat = Chat.of([Message("user", "I am Ann."), Message("assistant", "Hello Ann."), Message("user", "Who am I?")])
    result = run_virtual(perform(MixtureOfAgents([A, B], Synthesize(C)), chat))
    assert all([m.text for m in call.request.messages][:2] == ["I am Ann.", "Hello Ann."] for call in calls(result))


def _three() -> list[ModelAgent]:
    return [agent(name) for name in "abc"]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Vote(_three(), need=0),
        lambda: Cascade(_three(), Agreement(_three()), accept=7),
        lambda: Cascade(_three(), Agreement(_three()), accept=float("nan")),
        lambda: Judge(_three()[0], scale=0),
        lambda: ModelAgent(Scripted(""), "a", max_steps=0),
        lambda: Sampling(max_tokens=0),
        lambda: Sampling(temperature=-1),
    ],
)
def test_numbers_that_make_no_sense_are_refused(make: Callable[[], object]) -> None:
    """They are told where they are given, not where they hurt."""
    with pytest.raises(UsageError):
        make()


def test_a_negative_grace_is_refused() -> None:
    """It would cancel everybody at once."""
    with pytest.raises(UsageError, match="grace of -5"):
        run_virtual(perform(Vote(_three(), grace=-5), "What?"))
