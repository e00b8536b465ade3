"""Recorded agents: mixtures of real models without a call, exact."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from recorded import recorded

from motet.agent import ModelAgent
from motet.aggregate.plurality import Plurality
from motet.backends.recorded import NOBODY, RIGHT, WRONG, Checker, Recorded, gold
from motet.compose.cascade import Cascade
from motet.compose.vote import Vote
from motet.errors import BackendError, UsageError
from motet.message import Message, Reply, Request, Usage
from motet.outcome import Result
from motet.perform import perform
from motet.run import Agent
from motet.tables.table import Draws, Table


def request(text: str, **changes: object) -> Request:
    """A request that asks a question."""
    return Request("m", (Message("user", text),), asked=text, **changes)  # type: ignore[arg-type]


def say(backend: Recorded, text: str, **changes: object) -> Reply:
    """What it answers."""
    return asyncio.run(backend.complete(request(text, **changes)))


BARE = Table(("q1", "q2"), ("a", "b"), np.array([[1.0, 0.0], [np.nan, 1.0]]))
SAID = replace(
    BARE,
    correct=np.array([[1.0, 0.0], [0.0, 0.0]]),
    answers=np.array([[0, 1], [-1, 1]]),
    gold=np.array([0, -2]),
    answer_texts=("Paris", "Rome"),
    cost=np.array([[0.01, 0.02], [0.03, np.nan]]),
    tokens=np.array([[10.0, 20.0], [30.0, 40.0]]),
    seconds=np.ones((2, 2)),
)


def test_right_and_wrong_alone() -> None:
    """Where no answers are recorded, agents say whether they were right, and `right` is the answer."""
    assert [say(Recorded(BARE, name), "q1").text for name in "ab"] == [RIGHT, WRONG]
    assert gold(BARE, 0) == RIGHT


def test_answers_and_what_they_cost() -> None:
    """The recorded answer with its tokens, dollars and seconds; none is an abstention."""
    reply = say(Recorded(SAID, "b"), "q1")
    assert (reply.text, reply.usage) == ("Rome", Usage(1, output=20, usd=0.02, seconds=1.0))
    assert say(Recorded(SAID, "a"), "q2").state == "abstained"
    assert say(Recorded(SAID, "b"), "q2").usage.usd == 0.0
    assert [gold(SAID, row) for row in (0, 1)] == ["Paris", NOBODY]


def test_questions_of_their_own() -> None:
    """Items may be asked by other words than their ids."""
    backend = Recorded(SAID, "a", {"What is the capital of France?": "q1"})
    assert say(backend, "What is the capital of France?").text == "Paris"
    with pytest.raises(UsageError, match="no item is called 'q9'"):
        say(Recorded(SAID, "a", {"?": "q9"}), "?")


def test_what_was_not_recorded() -> None:
    """Another question, and a cell without a result, are failures, never answers."""
    for text in ("q2", "what else?"):
        with pytest.raises(BackendError) as caught:
            say(Recorded(BARE, "a"), text)
        assert caught.value.kind == "not_found"
    with pytest.raises(UsageError, match="no agent is called 'c'"):
        Recorded(BARE, "c")


def test_samples_are_drawn_without_replacement() -> None:
    """Five draws are the five samples in an order that the seed decides; a sixth is refused."""
    numbers = np.arange(5)[None, None, :] + np.zeros((2, 2, 1), dtype=int)
    table = replace(
        SAID,
        draws=Draws(numbers, (numbers == 0).astype(float)),
        answer_texts=tuple("ABCDE"),
        samples=np.full((2, 2), 5),
    )
    orders = set()
    for seed in range(20):
        said = [say(Recorded(table, "a"), "q1", seed=seed, draw=str(draw) if draw else "").text for draw in range(5)]
        assert sorted(said) == list("ABCDE")
        orders.add(tuple(said))
    assert len(orders) > 10
    with pytest.raises(BackendError, match="5 samples were recorded, and this is draw 6"):
        say(Recorded(table, "a"), "q1", draw="5")
    assert say(Recorded(table, "a"), "q1", draw="1.2").text in "ABCDE"


def test_shares_are_drawn() -> None:
    """A cell that is a share of samples is right with that probability."""
    table = replace(BARE, correct=np.array([[0.3, 0.0], [1.0, 1.0]]))
    said = [say(Recorded(table, "a"), "q1", seed=seed).text == RIGHT for seed in range(4000)]
    assert np.mean(said) == pytest.approx(0.3, abs=0.03)


def ask(agent: Agent, question: str) -> Result:
    """A question, performed."""
    return asyncio.run(perform(agent, question))


def test_mixtures_of_recorded_agents() -> None:
    """A vote and a cascade on a small table give what counting by hand does."""
    correct = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]], dtype=float)
    table = Table(("w", "x", "y", "z"), ("a", "b", "c"), correct, cost=np.tile([0.1, 0.2, 0.4], (4, 1)))
    agents = [ModelAgent(Recorded(table, name), name) for name in table.agents]
    vote, cascade = Vote(agents), Cascade(agents, Checker(table))
    assert [ask(vote, item).text for item in table.items] == [RIGHT, WRONG, WRONG, RIGHT]
    assert [ask(cascade, item).text for item in table.items] == [RIGHT, RIGHT, WRONG, RIGHT]
    assert [round(ask(cascade, item).usage.usd, 6) for item in table.items] == [0.1, 0.3, 0.7, 0.1]


def test_vote_of_the_three_best_of_mmlu_pro() -> None:
    """The vote of recorded agents is the plurality that the measures count: 71.7 % right."""
    table = recorded("mmlu_pro")
    agents = [ModelAgent(Recorded(table, name), name) for name in table.agents[:3]]
    vote = Vote(agents, aggregate=Plurality())

    async def all_of_them() -> list[bool]:
        return [(await perform(vote, item)).text == gold(table, row) for row, item in enumerate(table.items[:1500])]

    from motet.measure.plurality import plurality_right

    assert table.answers is not None
    assert table.gold is not None
    counted = plurality_right(table.answers[:1500, :3], table.gold[:1500])
    assert asyncio.run(all_of_them()) == [bool(right) for right in counted]


def test_perfect_cascade_of_two() -> None:
    """DeepSeek V3.2, then Gemini 3 Pro where a perfect checker says it failed: 77.8 % at 0.252 USD an item."""
    table = recorded("swebench_bash_only")
    names = ("DeepSeek V3.2 Reasoner", "Gemini 3 Pro Preview (2025-11-18)")
    cascade = Cascade([ModelAgent(Recorded(table, name), name) for name in names], Checker(table))

    async def all_of_them() -> list[Result]:
        return [await perform(cascade, item) for item in table.items]

    found = asyncio.run(all_of_them())
    assert round(100 * np.mean([result.text == RIGHT for result in found]), 1) == 77.8
    assert round(float(np.mean([result.usage.usd for result in found])), 3) == 0.252
