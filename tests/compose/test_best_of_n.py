"""Best-of-n: who is drawn, what is scored, which reply is given."""

from __future__ import annotations

import pytest
from acting import agent, down
from test_compose import ask, calls, shape

from motet import Budget, Exact, Judge, Logprob, ModelAgent, Reply, Sampling, perform
from motet.backends.simulated import Simulated, World
from motet.clock import run_virtual
from motet.compose.best_of_n import BestOfN
from motet.errors import TooFewReplies, UsageError
from motet.message import Request
from motet.outcome import Result
from motet.run import Agent

A, B = agent("a"), agent("b")


def judging(grades: dict[str, str]) -> ModelAgent:
    """A judge that gives each text its grade."""

    def said(request: Request) -> str:
        return next(grade for text, grade in grades.items() if f"\n{text}\n" in request.text)

    return agent("judge", said=said)


def drawing(*texts: str) -> ModelAgent:
    """An agent that says one text after the other."""
    said = iter(texts)
    return agent("one", said=lambda request: next(said))


def test_shape() -> None:
    """Agents × n calls and a judgement for each; the draws and then the judgements at once."""
    assert shape(BestOfN([A], Judge(B))) == (6, 2)
    assert shape(BestOfN([A, B], Judge(B), n=4)) == (16, 2)


def test_the_best_scored_is_given() -> None:
    """The highest grade wins, the first of equals; all draws are its sources."""
    judge = Judge(judging({"x": "Grade: 2", "y": "Grade: 9", "z": "Grade: 9"}))
    result = ask(BestOfN([drawing("x", "y", "z")], judge))
    assert result.text == "y"
    assert len(result.checked().sources) == 3
    assert len({call.key for call in calls(result)[:3]}) == 3


def test_several_agents_are_drawn_n_times_each() -> None:
    """Two agents, three draws of each."""
    result = ask(BestOfN([A, B], Exact(["b"])))
    assert [call.agent for call in calls(result)] == ["a", "b"] * 3
    assert result.text == "b"


def test_the_best_few_vote() -> None:
    """With several voters the most frequent answer among the best-scored is given, not the one that pleased most."""
    judge = judging({"7": "Grade: 10", "4": "Grade: 8", "it is 4": "Grade: 7", "9": "Grade: 1"})
    texts = ("9", "4", "7", "it is 4", "9", "9")
    assert ask(BestOfN([drawing(*texts)], Judge(judge), n=6), "2 + 2?").text == "7"
    assert ask(BestOfN([drawing(*texts)], Judge(judge), n=6, voters=3), "2 + 2?").text == "4"
    assert ask(BestOfN([drawing(*texts)], Judge(judge), n=6, voters=99), "2 + 2?").text == "9"


def test_grades_that_cannot_be_read_pick_nothing() -> None:
    """A judge that answers nonsense is noted, its grades are 0, and the first draw stands."""
    result = ask(BestOfN([drawing("x", "y", "z")], Judge(agent("judge", said="Hm."))))
    assert result.text == "x"
    assert "no grade that could be read" in result.warnings[0]


def test_dead_and_mute_agents_are_not_scored() -> None:
    """Only usable draws are; with none there is a clear error."""
    mute, dead = agent("mute", said=Reply("", finish="abstain")), agent("dead", said=down())
    result = ask(BestOfN([mute, dead, A], Exact(["a"]), n=1))
    assert (result.text, result.outcome.state) == ("a", "single")
    assert isinstance(ask(BestOfN([mute, dead], Exact(["a"]))).error, TooFewReplies)


def test_a_spent_purse_gives_the_best_that_was_scored() -> None:
    """The first draw before anything is scored, then the best score so far."""
    judge = judging({"x": "Grade: 2", "y": "Grade: 9", "z": "Grade: 10"})
    given = [ask(BestOfN([drawing("x", "y", "z")], Judge(judge)), budget=Budget(calls=n)).text for n in (3, 5, 6)]
    assert given == ["x", "y", "z"]


def test_too_few_of_anything() -> None:
    """No agents, draws or voters: refused."""
    with pytest.raises(UsageError, match="at least 1 agents"):
        BestOfN([], Exact(["x"]))
    with pytest.raises(UsageError, match="at least 1 draws"):
        BestOfN([A], Exact(["x"]), n=0)
    with pytest.raises(UsageError, match="at least 1 voters"):
        BestOfN([A], Exact(["x"]), voters=0)


def test_a_scorer_that_knows_a_little_helps() -> None:
    """An agent right in 6 of 10 that is surer when right (AUROC 0.8): best of 8 gains 10 points and more (n = 200)."""
    world = World(seed=3)
    model = Simulated("m", world, accuracy=0.6, auroc=0.8)
    one = ModelAgent(model, "m", sampling=Sampling(logprobs=1))
    questions = world.questions(200)

    async def asked(agent: Agent) -> list[Result]:
        return [await perform(agent, question.text) for question in questions]

    def accuracy(agent: Agent) -> float:
        results = run_virtual(asked(agent))
        return sum(q.answer_in(r.text) == q.gold for q, r in zip(questions, results, strict=True)) / len(questions)

    alone, best = accuracy(one), accuracy(BestOfN([one], Logprob(), n=8))
    assert best > alone + 0.1
