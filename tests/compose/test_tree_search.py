"""Tree search: where it walks, what it expands, when it ends."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, Chat, Judge, ModelAgent, Reply, Run
from motet.backends.simulated import Simulated, World
from motet.compose.tree_search import Node, TreeSearch
from motet.errors import TooFewReplies, UsageError
from motet.message import Request
from motet.outcome import Result

A, B = agent("a"), agent("b")


@dataclass(frozen=True)
class Given:
    """A scorer that knows the score of each text, and gives 0 to any other."""

    scores: Sequence[tuple[str, float]]

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        return dict(self.scores).get(reply.text, 0.0)


def growing() -> ModelAgent:
    """An agent whose replies say where in the tree they stand: 0, 1, 2 below nothing; 00, 01, 02 below 0; and so on."""
    given: dict[str, int] = {}

    def said(request: Request) -> str:
        above = request.text.split('<reply id="A">\n')[1].split("\n</reply>")[0] if "<reply" in request.text else ""
        given[above] = given.get(above, -1) + 1
        return f"{above}{given[above]}" if above else str(given[above])

    return agent("one", said=said)


def expanded(result: Result, width: int) -> list[str]:
    """The reply below which each simulation grew, "" for the root."""
    return ["".join(heard(call)) for call in calls(result)[::width]]


def test_shape() -> None:
    """Simulations × width calls and a score for each, 2 in series a simulation."""
    assert shape(TreeSearch(A, Judge(B))) == (12, 4)
    assert shape(TreeSearch(A, Judge(B), simulations=4, width=2)) == (16, 8)


def test_the_best_reply_grows() -> None:
    """The second simulation revises the best of the first, which is heard, fenced; the best of all is given."""
    score = Given([("1", 0.5), ("12", 0.9)])
    result = ask(TreeSearch(growing(), score))
    assert expanded(result, 3) == ["", "1"]
    assert result.text == "12"
    assert len(result.checked().sources) == 6
    assert "give a better reply" in calls(result)[3].request.text


def test_revisions_that_are_worse_lose() -> None:
    """A parent that scores higher than its revisions is given."""
    assert ask(TreeSearch(growing(), Given([("2", 0.5), ("20", 0.4)]), simulations=4)).text == "2"


def test_exploration() -> None:
    """With none it stays with the best; with much it turns to what was rarely visited."""
    score = Given([("0", 0.5), ("00", 0.5), ("1", 0.4)])
    assert expanded(ask(TreeSearch(growing(), score, 3, exploration=0, width=2)), 2) == ["", "0", "1"]
    score = Given([("0", 0.9), ("00", 0.9), ("01", 0.9), ("1", 0.1)])
    assert expanded(ask(TreeSearch(growing(), score, 3, exploration=0, width=2)), 2) == ["", "0", "00"]
    assert expanded(ask(TreeSearch(growing(), score, 3, exploration=5, width=2)), 2) == ["", "0", "1"]


def test_the_upper_confidence_bound() -> None:
    """Its mean value and the weight times the root of log of the parent's visits over its own."""
    root = Node()
    root.children = [Node(root), Node(root)]
    for child, score in zip(root.children, (0.6, 0.5), strict=True):
        child.add(score)
    root.children[0].add(0.6)
    # sqrt(ln 4 / 2) = 0.833 and sqrt(ln 4 / 1) = 1.177: the second wins once the weight exceeds 0.1 / 0.345 = 0.29
    assert (root.visits, root.value) == (3, pytest.approx(1.7))
    assert root.leaf(0.28) is root.children[0]
    assert root.leaf(0.30) is root.children[1]


def test_depth_is_bounded() -> None:
    """With one level nothing is revised, however many simulations; with two, revisions are not revised."""
    score = Given([("0", 0.9), ("00", 0.95)])
    assert len(calls(ask(TreeSearch(growing(), score, simulations=9, depth=1)))) == 3
    levels = expanded(ask(TreeSearch(growing(), score, simulations=9, depth=2)), 3)
    assert max(map(len, levels)) == 1


def test_a_deep_tree() -> None:
    """A line of 1,200 revisions is no trouble."""
    deep = TreeSearch(agent("one", said="x"), Given([("x", 0.5)]), simulations=1200, width=1, depth=1200, exploration=0)
    assert ask(deep).usage.calls == 1200


def test_a_score_that_is_no_number() -> None:
    """NaN would let anybody win: the scorer is to be mended."""
    with pytest.raises(UsageError, match="gave NaN for the reply of one"):
        ask(TreeSearch(growing(), Given([("1", float("nan"))])))


def test_it_ends_with_a_reply_that_is_good_enough() -> None:
    """A score of `accept` ends the search, and that is noted where more was to come."""
    early = ask(TreeSearch(growing(), Given([("1", 1.0)]), simulations=9))
    assert len(calls(early)) == 3
    assert early.warnings == ["tree-search: a reply of simulation 1 of 9 was good enough, so it is the last"]
    assert not ask(TreeSearch(growing(), Given([("1", 1.0)]), simulations=1)).warnings
    assert len(calls(ask(TreeSearch(growing(), Given([("1", 0.7), ("11", 0.8)]), 9, accept=0.8)))) == 6


def test_grades_that_cannot_be_read_pick_nothing() -> None:
    """All score 0, it is noted, and the first reply is given."""
    result = ask(TreeSearch(growing(), Judge(agent("judge", said="Hm."))))
    assert result.text == "0"
    assert "no grade that could be read" in result.warnings[0]


def test_it_survives_failures() -> None:
    """Revisions that fail leave what there is; first replies that all fail are a clear error."""
    fails = agent("f", said=lambda request: down("context_length") if "<reply" in request.text else "7")
    result = ask(TreeSearch(fails, Given([("7", 0.5)]), simulations=3))
    assert (result.text, result.outcome.state) == ("7", "single")
    assert isinstance(ask(TreeSearch(agent("mute", said=Reply("", finish="abstain")), Given([]))).error, TooFewReplies)


def test_a_spent_purse_gives_the_best_so_far() -> None:
    """By score, whichever simulation it came from."""
    score = Given([("1", 0.5), ("11", 0.9), ("111", 0.95)])
    for allowed, text in ((3, "1"), (6, "11"), (7, "11"), (9, "111")):
        assert ask(TreeSearch(growing(), score, simulations=3, width=3), budget=Budget(calls=allowed)).text == text


@pytest.mark.parametrize("fields", [{"simulations": 0}, {"width": 0}, {"depth": 0}, {"exploration": -1.0}])
def test_what_makes_no_sense(fields: dict[str, float]) -> None:
    """No simulations, replies or levels, or negative exploration: refused."""
    with pytest.raises(UsageError, match=r"at least 1|give 0 or more"):
        TreeSearch(A, Judge(B), **fields)  # type: ignore[arg-type]


# ---- a pool of unlike agents


def test_a_pool_shares_the_expansions() -> None:
    """Each agent is asked in turn, as many calls as of one; unlike ones grade each other, never themselves."""
    pool = [
        agent(name, said=lambda request, name=name: "Grade: 5" if "Grade" in request.text else name) for name in "abcd"
    ]
    result = ask(TreeSearch(pool[0], pool=pool[1:], width=4))
    asked = [call for call in calls(result) if "Grade" not in call.request.text]
    assert [call.agent for call in asked[:4]] == ["a", "b", "c", "d"]
    assert len(asked) == 8
    for call in calls(result):
        assert "Grade" not in call.request.text or heard(call) != [call.agent]


def test_shape_of_a_pool() -> None:
    """As with one agent: simulations × width calls, and one grade for each."""
    assert shape(TreeSearch(A, pool=[B])) == (12, 4)
    assert shape(TreeSearch(A, Judge(B), pool=[B], simulations=4, width=2)) == (16, 8)


def test_one_agent_without_a_scorer_grades_itself() -> None:
    """There is nobody else."""
    one = agent("one", said=lambda request: "Grade: 5" if "Grade" in request.text else "x")
    assert ask(TreeSearch(one)).usage.calls == 12


def test_an_agent_with_two_seats_grades_neither() -> None:
    """Who stands in the pool twice is asked twice as often, and its replies are graded by the other."""
    one, two = (
        agent(name, said=lambda request, name=name: "Grade: 5" if "Grade" in request.text else name) for name in "ab"
    )
    result = ask(TreeSearch(one, pool=[one, two], width=3))
    for call in calls(result):
        assert "Grade" not in call.request.text or heard(call) != [call.agent]


def test_the_schedule_learns_whose_replies_score() -> None:
    """With little rotation the agent whose replies score is asked again; by turns all are asked alike."""
    good, bad = agent("good", said="good"), agent("bad", said="bad")
    score = Given([("good", 0.9), ("bad", 0.1)])

    def asked(**fields: object) -> int:
        search = TreeSearch(bad, score, 6, 2, exploration=5, pool=[good], **fields)  # type: ignore[arg-type]
        return [call.agent for call in calls(ask(search))].count("good")

    assert asked(rotation=0.0) == 11
    assert 6 <= asked(rotation=20.0) <= 8
    assert asked(schedule="turns", rotation=0.0) == 6


def test_who_gives_no_reply_is_not_scheduled_again() -> None:
    """Its turns go to the others; where the first to be asked are all dead, the others are asked."""
    dead = [agent(f"dead{n}", said=down()) for n in range(3)]
    result = ask(TreeSearch(dead[0], Given([("a", 0.5)]), pool=[*dead[1:], A], width=3))
    assert (result.text, result.outcome.state) == ("a", "single")
    assert [call.agent for call in calls(result)].count("a") == 6
    error = ask(TreeSearch(dead[0], Given([]), pool=dead[1:], width=2)).error
    assert isinstance(error, TooFewReplies)
    assert all(each.name in str(error) for each in dead)


def test_a_schedule_that_is_none() -> None:
    """It is refused, and so is a rotation below 0."""
    for fields in ({"schedule": "random"}, {"rotation": -1.0}):
        with pytest.raises(UsageError, match=r"give ucb or turns|rotation can't be"):
            TreeSearch(A, Judge(B), **fields)  # type: ignore[arg-type]


WORLD = World(seed=3)


@dataclass(frozen=True)
class Recognises:
    """A scorer that gives 1 to a right answer and 0 to a wrong one, but errs on one in five texts."""

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        question = WORLD.find(chat.question)
        assert question is not None
        said = question.answer_in(reply.text)
        errs = random.Random(f"{question.number} {said}").random() < 0.2
        return 0.9 * ((said == question.gold) != errs)


def searched(rho: float, seats: int, n: int) -> float:
    """The accuracy of trees over agents of accuracy 0.5, whose own draws mostly repeat their errors."""
    pool = [ModelAgent(Simulated(f"s{k}", WORLD, 0.5, rho=rho, within=0.9), f"s{k}") for k in range(seats)]
    search = TreeSearch(pool[0], Recognises(), width=4, pool=pool[1:])
    right = [ask(search, q.text).text for q in WORLD.questions(n)]
    return sum(q.answer_in(text) == q.gold for q, text in zip(WORLD.questions(n), right, strict=True)) / n


def test_unlike_agents_beat_the_same_calls_of_one() -> None:
    """At n = 60, seed 3, 8 replies a question: four agents that err apart are right on 82 %, one of them on 68 %."""
    assert searched(0.0, 4, 60) - searched(0.0, 1, 60) > 0.1


@pytest.mark.long
def test_agents_that_err_together_gain_little() -> None:
    """At n = 100, seed 3: four that err apart gain 20 points over one (58 to 78 %), errors shared to 0.9 leave 5."""
    apart = searched(0.0, 4, 100) - searched(0.0, 1, 100)
    together = searched(0.9, 4, 100) - searched(0.9, 1, 100)
    assert together < apart / 2
