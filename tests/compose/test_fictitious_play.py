"""Fictitious play: who hears which mixture, when it ends, and that it finds the equilibria of matrix games."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from acting import agent, down
from hypothesis import given
from hypothesis import strategies as st
from test_compose import ask, calls, heard, shape

from motet import Budget, ModelAgent, Reply, Synthesize
from motet.compose.fictitious_play import FictitiousPlay, Mixture
from motet.errors import TooFewReplies, UsageError
from motet.message import Request
from motet.outcome import Result
from motet.trace import AskEnded

A, B, C = agent("a"), agent("b"), agent("c")

# ---- mixtures


@given(st.lists(st.sampled_from("xyz"), min_size=1))
def test_a_mixture_is_the_share_of_each_decision(said: list[str]) -> None:
    """Shares are those of the decisions so far; the mode is the most frequent, of equals the newest."""
    mixture = Mixture()
    for text in said:
        mixture.add(Reply(text), "")
    counts = Counter(said)
    assert mixture.shares == pytest.approx({text: counts[text] / len(said) for text in counts})
    most = [text for text in counts if counts[text] == max(counts.values())]
    assert mixture.mode.text == max(most, key=lambda text: len(said) - said[::-1].index(text))


# ---- who hears what


def shares(request: Request) -> dict[int, dict[str, float]]:
    """The mixture of each other stakeholder, as an agent reads it from its prompt."""
    texts = dict(re.findall(r'<reply id="(\w+)">\n(.*?)\n</reply>', request.text, re.DOTALL))
    told = re.findall(r"stakeholder (\d+): ((?:\w+ [\d.]+%(?:, )?)+)", request.text)
    return {
        int(seat): {texts[name]: round(float(share) / 100, 3) for name, share in re.findall(r"(\w+) ([\d.]+)%", each)}
        for seat, each in told
    }


def test_shape() -> None:
    """Agents × rounds calls, rounds in series, and the aggregator's."""
    assert shape(FictitiousPlay([A, B, C])) == (15, 5)
    assert shape(FictitiousPlay([A, B], rounds=2, aggregate=Synthesize(C))) == (5, 3)


def test_each_hears_the_mixture_of_the_others() -> None:
    """Not its own, with shares over all rounds so far, fenced, and no names."""
    turns = iter(["x", "y", "y", "y"])
    moving = agent("zz-moving", said=lambda request: next(turns))
    result = ask(FictitiousPlay([moving, A], rounds=4, settle=False))
    last = [call.request for call in calls(result)[-2:]]
    assert [shares(request) for request in last] == [{2: {"a": 1.0}}, {1: {"x": 0.333, "y": 0.667}}]
    assert "zz" not in last[1].text
    assert not heard(calls(result)[0])


def test_stances_are_told_to_their_own() -> None:
    """Each is told its number and its stance in the system words, and nobody else's."""
    result = ask(FictitiousPlay([A, B], ["You sell.", "You buy."], rounds=1))
    systems = [[m.text for m in call.request.messages if m.role == "system"] for call in calls(result)]
    assert [("You sell." in each[0], "You buy." in each[0]) for each in systems] == [(True, False), (False, True)]


# ---- when it ends, and with what


def test_it_ends_where_nobody_has_ever_moved() -> None:
    """The second round repeats the first, so the others would only do so again; without `settle` all are played."""
    assert ask(FictitiousPlay([A, B], rounds=9)).usage.calls == 4
    assert ask(FictitiousPlay([A, B], rounds=9, settle=False)).usage.calls == 18


def test_who_fails_has_not_settled() -> None:
    """One that fails in the second round has not answered the mixture yet, and moves in the third."""
    turns = iter(["x", down("context_length"), "y", "y", "y"])
    late = agent("late", said=lambda request: next(turns))
    assert ask(FictitiousPlay([late, A], seat=1, rounds=5)).text == "y"


def test_the_end_of_the_rounds_is_noted() -> None:
    """The most frequent decisions are given, and that they had not settled is noted."""
    turns = iter(["x", "y", "y"])
    result = ask(FictitiousPlay([agent("m", said=lambda request: next(turns)), A], seat=1, rounds=3))
    assert result.text == "y"
    assert any("had not settled" in warning for warning in result.warnings)


def test_the_reply_is_a_seat_s_or_of_all() -> None:
    """The most frequent decision of the seat, or what the aggregator makes of everybody's."""
    assert [ask(FictitiousPlay([A, B, B], seat=seat)).text for seat in (1, 2, None)] == ["a", "b", "b"]


def test_who_does_not_decide() -> None:
    """A dead stakeholder is missing, and noted where it was to give the reply; a silent table is an error."""
    dead = agent("dead", said=down())
    result = ask(FictitiousPlay([dead, A], seat=1))
    assert (result.text, result.outcome.state) == ("a", "single")
    assert any("never decided" in warning for warning in result.warnings)
    assert isinstance(ask(FictitiousPlay([dead, dead])).error, TooFewReplies)
    short = agent("short", said=lambda request: down("context_length") if "<reply" in request.text else "7")
    result = ask(FictitiousPlay([short, short], settle=False))
    assert result.text == "7"
    assert any("nobody decided anything in a further round" in warning for warning in result.warnings)


def test_a_spent_purse() -> None:
    """What was decided most often by then is given."""
    result = ask(FictitiousPlay([A, B], seat=2, rounds=3, settle=False), budget=Budget(calls=3))
    assert (result.text, result.stopped) == ("b", "calls")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: FictitiousPlay([A]), "at least 2 agents"),
        (lambda: FictitiousPlay([A, B], seat=3), "at least 3 agents, to have that seat, and has 2"),
        (lambda: FictitiousPlay([A, B], seat=0), "at least 1"),
        (lambda: FictitiousPlay([A, B], ["one"]), "give one each"),
        (lambda: FictitiousPlay([A, B], "us"), "stances can't be a str"),
    ],
)
def test_what_makes_no_sense(make: Callable[[], object], said: str) -> None:
    """It is refused when it is made, with what to do."""
    with pytest.raises(UsageError, match=said):
        make()


# ---- on known truth: matrix games

Payoff = Sequence[Sequence[float]]
"""What one gets, by one's own action and the other's."""


def player(name: str, other: int, payoff: Payoff, actions: str, others: str, begins: str) -> ModelAgent:
    """A stakeholder that gives the exact best response to the mixture that it is told; of equals the first."""

    def said(request: Request) -> str:
        mixture = shares(request).get(other)
        if mixture is None:
            return begins
        worth = [sum(mixture.get(them, 0.0) * row[i] for i, them in enumerate(others)) for row in payoff]
        return actions[worth.index(max(worth))]

    return agent(name, said=said)


def played(row: Payoff, column: Payoff, rounds: int, begins: str = "ux") -> tuple[dict[str, float], dict[str, float]]:
    """The empirical mixtures of both players of a game: u, v, w against x, y, z."""
    ours, theirs = "uvw"[: len(row)], "xyz"[: len(column)]
    players = [
        player("row", 2, row, ours, theirs, begins[0]),
        player("column", 1, column, theirs, ours, begins[1]),
    ]
    result = ask(FictitiousPlay(players, rounds=rounds, settle=False))
    return frequencies(result, "row"), frequencies(result, "column")


def frequencies(result: Result, name: str) -> dict[str, float]:
    """How often a player took each action."""
    said = [event.reply.text for event in result.trace if isinstance(event, AskEnded) and event.agent == name]
    return {action: said.count(action) / len(said) for action in set(said)}


def against(row: Payoff) -> list[list[float]]:
    """The other's payoffs in a zero-sum game."""
    return [[-row[i][j] for i in range(len(row))] for j in range(len(row[0]))]


@pytest.mark.parametrize(
    ("row", "mixed", "other"),
    [
        ([[1, -1], [-1, 1]], [1 / 2, 1 / 2], [1 / 2, 1 / 2]),  # matching pennies
        ([[2, -1], [-1, 1]], [2 / 5, 3 / 5], [2 / 5, 3 / 5]),
        ([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], [1 / 3] * 3, [1 / 3] * 3),  # rock, paper, scissors
    ],
    ids=["pennies", "skewed", "scissors"],
)
def test_it_converges_to_mixed_equilibria(row: Payoff, mixed: list[float], other: list[float]) -> None:
    """In zero-sum games with one equilibrium, after 150 rounds each frequency is within 0.1 of it."""
    ours, theirs = played(row, against(row), 150)
    assert [ours.get(action, 0.0) for action in "uvw"[: len(row)]] == pytest.approx(mixed, abs=0.1)
    assert [theirs.get(action, 0.0) for action in "xyz"[: len(other)]] == pytest.approx(other, abs=0.1)


def test_it_converges_to_pure_equilibria() -> None:
    """Prisoners end up defecting from wherever they begin; who begins in an equilibrium of stag hunt stays there."""
    dilemma = [[3, 0], [5, 1]]
    for begins in ("ux", "uy", "vy"):
        ours, theirs = played(dilemma, dilemma, 20, begins)
        assert (ours["v"] >= 0.95, theirs["y"] >= 0.95) == (True, True)
    stag = [[4, 0], [3, 3]]
    assert played(stag, stag, 10, "ux") == ({"u": 1.0}, {"x": 1.0})
    assert played(stag, stag, 10, "vy") == ({"v": 1.0}, {"y": 1.0})
