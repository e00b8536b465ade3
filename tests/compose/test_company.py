"""Company: how the tree is explored, executed, reviewed; and that it ends, whatever anybody says."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from acting import agent, down
from hypothesis import given, settings
from hypothesis import strategies as st
from test_compose import ask, calls, heard, shape

from motet import Budget, Chat, ModelAgent, Reply, Run
from motet.compose.company import AGAIN, INPUTS, PARTS, REVIEW, Company, Task
from motet.errors import BudgetExceeded, TooFewReplies, UsageError
from motet.message import Request, abstain
from motet.run import Agent


def manager(plan: str, verdicts: str | Sequence[str] = "clean", choice: str = "A", name: str = "boss") -> ModelAgent:
    """A manager that plans so, gives one verdict after the other (the last for ever), and puts parts together."""
    given = [verdicts] if isinstance(verdicts, str) else list(verdicts)

    def said(request: Request) -> object:
        words = request.messages[-1].text
        if "say who shall" in words:
            return plan
        if "what came back" in words:
            return f"Verdict: {given.pop(0) if len(given) > 1 else given[0]}"
        return f"Choice: {choice}" if "on the market" in words else "whole"

    return agent(name, said=said)


def worker(name: str, about: str = "") -> ModelAgent:
    """One that takes nothing apart, and says its name and how many texts it heard."""

    def said(request: Request) -> str:
        words = request.messages[-1].text
        return "Verdict: whole" if "say who shall" in words else f"{name}{words.count('<reply')}"

    return replace(agent(name, said=said), about=about)


ANN, BOB, CAT = worker("ann", "knows law"), worker("bob", "knows music"), worker("cat", "knows botany")


def agents(result: object) -> list[str]:
    """Who was called, in order."""
    return [call.agent for call in calls(result)]  # type: ignore[arg-type]


def test_explore_execute_review() -> None:
    """The plan is followed: parts that wait hear what they wait for, each is reviewed, the whole is put together."""
    boss = manager("1. A: gather\n2. B: write (after 1)")
    result = ask(Company([ANN, BOB], boss, depth=1))
    assert agents(result) == ["boss", "ann", "boss", "bob", "boss", "boss"]
    plan, gather, review, write, _, whole = calls(result)
    assert "A: knows law\nB: knows music" in plan.request.text
    assert heard(gather) == ["gather"]
    assert (heard(review), review.request.question) == (["gather", "ann1"], REVIEW)
    assert heard(write) == ["write", "ann1"]
    assert INPUTS in write.request.text
    assert heard(whole) == ["ann1", "bob2"]
    assert PARTS in whole.request.text
    assert (result.text, result.warnings) == ("whole", [])


def test_a_part_is_taken_apart_by_who_has_it() -> None:
    """Down to the depth; its parts are reviewed by it, and put together before what waits for it begins."""
    lead = manager("1. B: dig", name="lead")  # A is its own task
    boss = manager("1. B: build\n2. A: paint (after 1)")
    result = ask(Company([ANN, lead], boss))
    assert agents(result) == ["boss", "lead", "ann", "ann", "lead", "lead", "boss", "ann", "boss", "boss"]
    assert [heard(call) for call in calls(result)][3:8] == [
        ["dig"],
        ["dig", "ann1"],
        ["build", "ann1"],
        ["build", "whole"],
        ["paint", "whole"],
    ]


def test_rejected_parts_are_done_again() -> None:
    """With the result before and why it was rejected; after the last try the part is left out, and that is noted."""
    result = ask(Company([ANN], manager("1. A: dig", ["revise", "clean"]), depth=1))
    assert agents(result) == ["boss", "ann", "boss", "ann", "boss", "boss"]
    again = calls(result)[3]
    assert AGAIN in again.request.text
    assert heard(again) == ["Verdict: revise"]
    assert again.request.messages[-2].text == "ann1"
    assert result.warnings == []
    result = ask(Company([ANN, BOB], manager("1. A: dig\n2. B: fill (after 1)", "revise"), depth=1))
    assert agents(result).count("ann") == agents(result).count("bob") == 2
    assert heard(calls(result)[-1]) == []  # nothing was accepted, and nothing is passed on
    assert any("not accepted in 2 tries" in note for note in result.warnings)
    assert result.text == "whole"


def test_recruiting() -> None:
    """Who suits a part that nobody on the staff does is chosen by cards, joins the staff, and is there but once."""
    boss = manager("1. ?: plant\n2. A: plead\n3. ?: sing", choice="C")
    result = ask(Company([ANN], boss, market=[BOB, CAT, ANN], depth=1))
    assert agents(result)[:2] == ["boss", "boss"]
    recruit = calls(result)[1].request.text
    assert "B: knows music\nC: knows botany" in recruit
    assert [calls(result)[at].agent for at in (2, 3, 4)] == ["cat", "ann", "bob"]
    assert result.warnings == []


@pytest.mark.parametrize(
    ("plan", "market", "choice", "note", "does"),
    [
        ("1. Z: dig", [], "", "nobody is on the market", "boss"),
        ("1. Z: dig", [BOB], "", "given to 'Z', who is nobody here", "bob"),
        ("1. ?: dig", [BOB, CAT], "nobody", "nobody was chosen", "bob"),
        ("1. A: dig (after 2)\n2. A: fill (after 1)", [], "", "wait for each other", "ann"),
        ("I will not", [], "", "a plan could not be read", "boss"),
    ],
)
def test_nonsense_of_a_manager(plan: str, market: list[Agent], choice: str, note: str, does: str) -> None:
    """Unknown recruits, an empty market, cycles, no plan: work goes on, and it is noted."""
    result = ask(Company([ANN], manager(plan, choice=choice), market=market, depth=1))
    assert any(note in text for text in result.warnings), result.warnings
    assert does in agents(result)[1:]
    assert result.text == "whole"


def test_reasons_are_no_plan() -> None:
    """A numbered list beside the verdict that a task is whole takes nothing apart, unless it gives out work."""
    boss = manager("1. It is simple.\n2. One can do it.\nVerdict: whole")
    result = ask(Company([ANN], boss, market=[BOB, CAT]))
    assert (agents(result), result.warnings) == (["boss", "boss"], [])
    result = ask(Company([ANN], manager("1. A: dig\nVerdict: whole"), depth=1))
    assert agents(result) == ["boss", "ann", "boss", "boss"]


def test_who_did_it_does_it_again() -> None:
    """Not its first owner, who gave nothing, and would be shown another's words as its own."""
    cut = agent("cut", said=Reply("", finish="length"))
    result = ask(Company([cut, BOB], manager("1. A: dig", ["revise", "clean"]), depth=1))
    assert agents(result) == ["boss", "cut", "bob", "boss", "bob", "boss", "boss"]


def test_what_nobody_can_do_is_noted() -> None:
    """A part without result is left out, and so is a plan for which there is no room."""

    def picky(request: Request) -> object:
        return down("context_length") if "dig" in request.text else "filled"

    result = ask(Company([agent("ann", said=picky)], manager("1. A: dig\n2. A: fill"), depth=1))
    assert any("a part that nobody could do" in note for note in result.warnings)
    greedy = agent("greedy", said=lambda request: "1. A: part\n2. A: part")
    result = ask(Company([greedy], nodes=5, tries=1))
    assert any("had no room" in note for note in result.warnings)


def test_a_market_is_a_list() -> None:
    """One agent alone is refused."""
    with pytest.raises(UsageError, match="market can't be a ModelAgent"):
        Company([ANN], market=BOB)  # type: ignore[arg-type]


def test_who_fails_is_replaced() -> None:
    """The next on the staff does it; a dead manager's whole is put together by the staff."""
    dead = agent("dead", said=down())
    result = ask(Company([dead, BOB], manager("1. A: dig"), depth=1))
    assert agents(result) == ["boss", "dead", "bob", "boss", "boss"]
    result = ask(Company([ANN, BOB], dead))
    assert (result.text, result.outcome.state) == ("ann0", "single")
    assert isinstance(ask(Company([dead], agent("mute", said=abstain()))).error, TooFewReplies)


def test_shape() -> None:
    """What its docstring says: taking apart, recruiting, tries and reviews of all parts, and the whole."""
    assert shape(Company([ANN, BOB])) == (11 + 11 * 4 + 1, 2 + 11 * 4 + 1)
    assert shape(Company([ANN], market=[BOB, CAT])) == (11 + 1 + 11 * 4 + 1, 2 + 1 + 11 * 4 + 1)
    assert shape(Company([ANN], depth=1, nodes=5, tries=1)) == (1 + 4 * 2 + 1,) * 2
    assert shape(Company([ANN], depth=3, nodes=7)) == (6 + 6 * 4 + 1, 3 + 6 * 4 + 1)
    assert shape(Company([ANN], nodes=1)) == (1, 1)


def test_a_place_is_kept_for_each_level() -> None:
    """However much a manager gives out, there is room below it, down to the depth."""
    greedy = agent("greedy", said=lambda request: "\n".join(f"{n}. A: part {n}" for n in range(1, 99)))
    company = Watched([greedy], depth=3, nodes=9, tries=1)
    ask(company)
    (tree,) = company.trees
    assert [sum(level(task) == depth for task in tree) for depth in range(4)] == [1, 6, 1, 1]


@pytest.mark.parametrize("fields", [{"depth": 0}, {"nodes": 0}, {"tries": 0}])
def test_nonsense_is_refused(fields: dict[str, int]) -> None:
    """No staff, no level, no task, no try."""
    with pytest.raises(UsageError, match="needs at least 1"):
        Company([ANN], **fields)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has 0"):
        Company([])


# ---- it always ends


@dataclass(frozen=True)
class Watched(Company):
    """A company whose tree can be looked at, and which looks itself at what it executes."""

    trees: list[list[Task]] = field(default_factory=list)

    async def _explored(self, chat: Chat, staff: list[Agent], run: Run) -> list[Task]:
        self.trees.append(await super()._explored(chat, staff, run))
        return self.trees[-1]

    async def _executed(self, ready: Sequence[Task], chat: Chat, staff: Sequence[Agent], run: Run) -> None:
        for task in ready:
            assert task.state == "open"
            assert all(other.state != "open" for other in (*task.before, *task.parts))
        before = sum(task.tries for task in self.trees[-1])
        await super()._executed(ready, chat, staff, run)
        assert sum(task.tries for task in self.trees[-1]) == before + len(ready), "a wave that uses up nothing"


def anything(seed: int, bad: float) -> ModelAgent:
    """An agent that plans at random, cycles and nobodies included, judges at random, and fails or raves with `bad`."""

    def said(request: Request) -> object:
        drawn, words = random.Random(f"{seed} {request.key}"), request.messages[-1].text
        if drawn.random() < bad:
            return drawn.choice([down("context_length"), down(), abstain(), "", "banana", Reply("x", finish="length")])
        if "say who shall" in words:
            count = drawn.randint(0, 6)
            letters = [drawn.choice("ABCDZ?") for _ in range(count)]
            after = [", ".join(str(drawn.randint(0, count + 1)) for _ in range(drawn.randint(0, 3))) for _ in letters]
            lines = [f"{n}. {a}: part (after {b})" for n, (a, b) in enumerate(zip(letters, after, strict=True), 1)]
            return "\n".join(lines) or "Verdict: whole"
        if "what came back" in words:
            return drawn.choice(["Verdict: clean", "Verdict: revise"])
        return f"Choice: {drawn.choice('ABZ')}" if "on the market" in words else "done"

    return agent(f"agent {seed}", said=said)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    bad=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    staff=st.integers(1, 4),
    market=st.integers(0, 3),
    depth=st.integers(1, 4),
    nodes=st.integers(1, 20),
    tries=st.integers(1, 3),
    allowed=st.none() | st.integers(0, 40),
)
def test_it_always_ends(
    seed: int, bad: float, staff: int, market: int, depth: int, nodes: int, tries: int, allowed: int | None
) -> None:
    """Whatever managers plan, reviewers say and workers do: no task is left open, none is executed before what it waits
    for, and there are no more tasks, levels, tries and calls than allowed; there is an answer, or an error that says
    who failed.
    """
    pool = [anything(seed + place, bad) for place in range(staff + market)]
    company = Watched(pool[:staff], market=pool[staff:], depth=depth, nodes=nodes, tries=tries)
    result = ask(company, budget=Budget(calls=allowed) if allowed is not None else None)
    for tree in company.trees:
        assert len(tree) <= nodes
        assert max(level(task) for task in tree) <= depth
        assert all(task.state in ("accepted", "failed") and 1 <= task.tries <= tries for task in tree)
    assert result.usage.calls <= nodes * (2 + tries * (len(pool) + 1))
    assert allowed is None or result.usage.calls <= allowed
    if result.reply is None:
        assert isinstance(result.error, TooFewReplies | BudgetExceeded)
        assert bad or allowed is not None
    else:
        assert result.text


def level(task: Task) -> int:
    """How far it is below the root."""
    return level(task.parent) + 1 if task.parent else 0
