"""Tree search: where it walks, what it expands, when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, Chat, Judge, ModelAgent, Reply, Run
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
