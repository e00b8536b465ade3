"""Roundtable Policy: weights by player and topic, learned from graded outcomes, as votes and told to a fusion agent."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Chat, ModelAgent, Reply, Vote, perform
from motet.backends.simulated import Simulated, World
from motet.clock import run_virtual
from motet.compose.roundtable import Roundtable, learn
from motet.errors import TooFewReplies, UsageError
from motet.message import Message, Request
from motet.run import Agent
from motet.spec import build, describe
from motet.trace import Noted

ANN, BOB, CAT = agent("ann", "4"), agent("bob", "5"), agent("cat", "five")
TABLE = {
    "ann": {"sums": 2.0, "words": 0.1},
    "bob": {"sums": 0.8, "words": 0.5},
    "cat": {"sums": 0.9, "words": 0.5},
}


def notes(result: object) -> list[str]:
    """What a run noted."""
    return [event.text for event in result.trace if isinstance(event, Noted)]  # type: ignore[attr-defined]


# ---- the table


def test_learn_gives_log_odds() -> None:
    """A weight is the log-odds of being right, half a right and half a wrong answer added; plus log(K - 1)."""
    graded = [("ann", "sums", 1.0)] * 8 + [("ann", "sums", 0.0)] * 2 + [("ann", "words", 0.5)] * 4
    table = learn(graded)
    assert table == {"ann": {"sums": round(math.log(8.5 / 2.5), 3), "words": 0.0}}
    assert learn(graded, classes=4)["ann"]["words"] == round(math.log(3), 3)


def test_little_evidence_counts_little() -> None:
    """One right answer weighs less than ten, and ten wrong ones speak against their player."""
    once, often, never = (learn([("p", "t", grade)] * n)["p"]["t"] for grade, n in ((1, 1), (1, 10), (0, 10)))
    assert 0 < once < often
    assert never == -often


def test_learn_refuses_what_is_no_grade() -> None:
    """Grades outside 0 to 1 are refused; nothing graded is an empty table."""
    with pytest.raises(ValueError, match="grades are from 0"):
        learn([("ann", "sums", 7.0)])
    assert learn([]) == {}


def test_table_is_data() -> None:
    """The table is written down with the composition and read back equal."""
    made = Roundtable((ANN, BOB), TABLE, fusion=CAT)
    document = describe(made)
    assert document["mixtures"]["roundtable"]["table"] == TABLE  # type: ignore[index]
    assert build(document, models={each.backend.name: each.backend for each in (ANN, BOB, CAT)}) == made


# ---- the weights


@pytest.mark.parametrize(("question", "given"), [("Of sums: 2 + 2?", "4"), ("In words, 2 + 2?", "5")])
def test_weights_go_by_topic(question: str, given: str) -> None:
    """One player outvotes two on the topic where it is reliable, and not on another."""
    assert ask(Roundtable([ANN, BOB, CAT], TABLE), question).text == given


@pytest.mark.parametrize(
    ("table", "question", "note"),
    [
        ({}, "Of sums: 2 + 2?", "the table is empty"),
        (TABLE, "2 + 2?", "no topic of the table was found"),
        (TABLE, "Sums or words?", "no topic of the table was found"),
    ],
)
def test_without_a_topic(table: Mapping[str, Mapping[str, float]], question: str, note: str) -> None:
    """Without table it is a plain vote; without one clear topic each player counts its average. Both are noted."""
    result = ask(Roundtable([ANN, BOB, CAT], table), question)
    assert result.text == "5"  # 1.05 against 0.65 + 0.7, or one against two
    assert note in "".join(notes(result))


def test_one_topic_is_that_of_every_question() -> None:
    """It need not be named, nor anybody be asked for it, and nothing is noted."""
    table = {"ann": {"all": 2.0}, "bob": {"all": 0.8}, "cat": {"all": 0.7}}
    for sorter in (None, agent("sorter", down())):
        result = ask(Roundtable([ANN, BOB, CAT], table, sorter=sorter), "2 + 2?")
        assert (result.text, notes(result), result.usage.calls) == ("4", [], 3)


def test_unknown_players_count_the_average() -> None:
    """Who is not in the table counts as those of it who sit here do on average."""
    weights = Roundtable([ANN, BOB, agent("new")], TABLE).weights("sums")
    assert weights == {"ann": 2.0, "bob": 0.8, "new": pytest.approx(1.4)}


def test_best_single_is_the_ablation() -> None:
    """The player with the highest weight on the topic is taken, whatever the others say."""
    assert ask(Roundtable([BOB, CAT, ANN], TABLE, best_single=True), "Of sums?").text == "4"
    assert ask(Roundtable([ANN, BOB, agent("cat", down())], TABLE, best_single=True), "Of words?").text == "5"


# ---- the sorter


@pytest.mark.parametrize(
    ("said", "given", "noted"), [("Choice: A", "4", 0), ("Choice: B", "5", 0), ("who knows", "5", 1)]
)
def test_sorter(said: str, given: str, noted: int) -> None:
    """The sorter names the topic by its letter; nonsense is no topic, and is noted."""
    result = ask(Roundtable([ANN, BOB, CAT], TABLE, sorter=agent("sorter", said)), "2 + 2?")
    assert (result.text, len(notes(result))) == (given, noted)
    assert "A: sums\nB: words" in calls(result)[0].request.text


def test_dead_sorter() -> None:
    """Without its sorter it still answers."""
    result = ask(Roundtable([ANN, BOB, CAT], TABLE, sorter=agent("sorter", down())), "2 + 2?")
    assert result.text == "5"
    assert result.outcome.state == "degraded"


# ---- the fusion


def test_fusion_is_told_the_shares() -> None:
    """The fusion agent hears every reply under a letter, and what part of the weight is behind it; no names."""
    result = ask(Roundtable([ANN, BOB, agent("cat", "6")], TABLE, fusion=agent("writer", "end")), "Of sums: 2 + 2?")
    assert (result.text, result.usage.calls) == ("end", 4)
    told = calls(result)[-1]
    share = {"4": "54%", "5": "22%", "6": "24%"}
    for letter, text in zip("ABC", heard(told), strict=True):
        assert f"{letter} {share[text]}" in told.request.text
    assert not any(name in told.request.text for name in ("ann", "bob", "cat"))


def test_dead_fusion() -> None:
    """If the fusion agent fails, the weighted vote stands, and that is noted."""
    result = ask(Roundtable([ANN, BOB, CAT], TABLE, fusion=agent("writer", down())), "Of sums: 2 + 2?")
    assert result.text == "4"
    assert "the fusion failed" in notes(result)[0]


def test_shapes_and_refusals() -> None:
    """Calls and depth are what the docstring says; no players, or players of whom nobody answers, are errors."""
    assert shape(Roundtable([ANN, BOB, CAT])) == (3, 1)
    assert shape(Roundtable([ANN, BOB, CAT], TABLE, fusion=agent("w"), sorter=agent("s"))) == (5, 3)
    with pytest.raises(UsageError, match="at least 1 players"):
        Roundtable([])
    mute = [agent(name, Reply("", finish="abstain")) for name in "xy"]
    assert isinstance(ask(Roundtable(mute, TABLE)).error, TooFewReplies)


# ---- the claim


def right(mixture: Agent, world: World, n: int, start: int) -> float:
    """The share of questions it gets right."""

    async def work() -> float:
        questions = world.questions(n, start=start)
        said = [await perform(mixture, question.text, seed=1) for question in questions]
        return sum(q.answer_in(each.text) == q.gold for q, each in zip(questions, said, strict=True)) / n

    return run_virtual(work())


@pytest.mark.parametrize(
    ("home", "away", "voted", "weighted", "single"),
    [(0.9, 0.5, 0.74, 0.887, 0.887), (0.75, 0.6, 0.73, 0.763, 0.707)],
)
def test_weights_beat_the_plain_vote(home: float, away: float, voted: float, weighted: float, single: float) -> None:
    """Where skills differ by topic, a table of 300 graded questions makes 300 others come out better than a vote."""
    world = World(seed=5, topics=("algebra", "history", "music"))
    players = [
        ModelAgent(
            Simulated(name, world, accuracy={t: home if t == own else away for t in world.topics}, tokens=8), name
        )
        for name, own in zip("abc", world.topics, strict=True)
    ]
    graded = []
    for question in world.questions(300):
        for player in players:
            assert isinstance(player.backend, Simulated)
            thought = player.backend.think(Request(player.name, Chat.of([Message("user", question.text)]).messages))
            graded.append((player.name, question.topic, float(thought.right)))
    table = learn(graded, classes=4)
    found = [
        right(mixture, world, 300, 3000)
        for mixture in (Vote(players), Roundtable(players, table), Roundtable(players, table, best_single=True))
    ]
    assert found == pytest.approx([voted, weighted, single], abs=0.001)
