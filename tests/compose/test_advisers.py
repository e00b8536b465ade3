"""Advisers: what Bayes' rule makes of their answers, how they come to be known, and what knowing them is worth."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from acting import agent, down
from hypothesis import given
from hypothesis import strategies as st
from test_compose import ask, shape

from motet import ModelAgent, Reply, Vote, perform
from motet.backends.simulated import Simulated, World
from motet.compose.advisers import PRIOR, Advisers, answers, fused, learned
from motet.errors import UsageError

NAMES = ("ann", "bob", "cat", "dan")
COUNTS = st.tuples(st.floats(0.1, 1e4), st.floats(0.1, 1e4))
SAID = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from("wxyz")), min_size=1, max_size=6)


# ---- the rule


@given(SAID, st.dictionaries(st.sampled_from(NAMES), COUNTS))
def test_the_product_is_bayes_rule(said: list[tuple[str, str]], state: dict[str, tuple[float, float]]) -> None:
    """Over all K answers, given or not, the posterior is the normalised product of likelihoods, done by hand."""
    by_hand = dict.fromkeys("wxyz", 1.0)
    for (name, answer), truth in product(said, "wxyz"):
        right, wrong = state.get(name, PRIOR)
        reliable = right / (right + wrong)
        by_hand[truth] *= reliable if answer == truth else (1 - reliable) / 3
    whole = sum(by_hand.values())
    found = fused(said, state, classes=4)
    assert found == pytest.approx({answer: by_hand[answer] / whole for answer in found}, abs=1e-9)
    assert set(found) == {answer for _, answer in said}


@given(SAID)
def test_without_a_state_it_is_a_plain_vote(said: list[tuple[str, str]]) -> None:
    """Both rules put answers in the order of their votes while nothing is known of anybody."""
    votes = {answer: sum(given == answer for _, given in said) for _, answer in said}
    for rule in ("product", "sum"):
        found = fused(said, {}, rule=rule)  # type: ignore[arg-type]
        assert max(found, key=lambda each: round(found[each], 9)) == max(votes, key=lambda each: votes[each])


def test_equals_are_equal() -> None:
    """Advisers of the same records, in any order: the first answer wins a tie, and no rounding error does."""
    state = {"ann": (3.0, 4.0), "bob": (5.3, 1.1), "cat": (9.7, 2.3)}
    for order in permutations(state):
        said = [(name, "x") for name in order] + [(name, "y") for name in reversed(order)]
        for rule in ("product", "sum"):
            found = fused(said, state, classes=7, rule=rule)
            assert found["x"] == found["y"]


def test_who_is_worse_than_chance_speaks_against_its_answer() -> None:
    """An adviser right on 1 of 10 makes the other answer more probable than not, with 2 to choose from."""
    found = fused([("ann", "x"), ("bob", "y")], {"ann": (1.0, 9.0), "bob": (6.0, 4.0)}, classes=2)
    assert found["y"] == pytest.approx(0.9 * 0.6 / (0.9 * 0.6 + 0.1 * 0.4))


def test_many_advisers_do_not_vanish() -> None:
    """Ten thousand answers make probabilities, no zero divided by zero."""
    found = fused([(f"a{place}", "xy"[place % 3 == 0]) for place in range(10_000)], {})
    assert found == {"y": 0.0, "x": 1.0}


# ---- learning


@given(SAID, st.dictionaries(st.sampled_from(NAMES), COUNTS), st.sampled_from("wxyz"), st.floats(0, 1))
def test_what_is_learned(
    said: list[tuple[str, str]], state: dict[str, tuple[float, float]], truth: str, keep: float
) -> None:
    """Each answer adds one count in all, the old state is as it was, and whoever said nothing is as known as before."""
    before = dict(state)
    after = learned(state, said, truth, keep=keep)
    assert state == before
    for name in NAMES:
        asked = [answer for who, answer in said if who == name]
        old = state.get(name, PRIOR)
        if not asked:
            assert after.get(name) == state.get(name)
            continue
        base = [keep * count + (1 - keep) * prior for count, prior in zip(old, PRIOR, strict=True)]
        rights = asked.count(truth)
        assert after[name] == pytest.approx((base[0] + rights, base[1] + len(asked) - rights))


@pytest.mark.parametrize("bad", [1.5, -0.1, float("nan")])
def test_shares_that_are_none(bad: float) -> None:
    """Probabilities and shares outside 0 to 1 are refused, and the error has them."""
    for keep, truth in ((bad, {"x": 1.0}), (1.0, {"x": bad})):
        with pytest.raises(UsageError, match=str(bad)):
            learned({}, [("ann", "x")], truth, keep=keep)


def test_who_changes_is_found_out_sooner_by_forgetting() -> None:
    """After 100 right answers and 20 wrong ones, an adviser counts over 0.7 where all is kept, and under 0.3 at 0.9."""
    means = []
    for keep in (1.0, 0.9):
        state: Mapping[str, tuple[float, float]] = {}
        for truth in ["x"] * 100 + ["y"] * 20:
            state = learned(state, [("ann", "x")], truth, keep=keep)
        means.append(state["ann"][0] / sum(state["ann"]))
    assert means[0] > 0.7
    assert means[1] < 0.3


# ---- the composition


def test_shape_and_sources() -> None:
    """One call an adviser, all at once; the reply is that of the first who gave the answer, made of all."""
    panel = Advisers([agent("a", said="It is 5."), agent("b", said="4"), agent("c", said="four")])
    assert shape(panel) == (3, 1)
    result = ask(panel, "2 + 2?")
    assert result.text == "4"
    assert result.reply is not None
    assert len(result.reply.sources) == 3


def test_a_dead_adviser_says_nothing() -> None:
    """The others' answers are fused, and the outcome names the dead."""
    result = ask(Advisers([agent("a", said=down()), agent("b", said="4")], {"a": (99.0, 1.0)}), "2 + 2?")
    assert result.text == "4"
    assert [failure.agent for failure in result.outcome.missing] == ["a"]


@pytest.mark.parametrize("counts", [(0.0, 1.0), (1.0, -2.0), (float("nan"), 1.0), (1e90, 1e-90)])
def test_counts_that_are_none(counts: tuple[float, float]) -> None:
    """Counts of 0 and less, NaN, and such that make a reliability of 1 are refused, in the state and in the prior."""
    for fields in ({"state": {"a": counts}}, {"prior": counts}):
        with pytest.raises(UsageError, match=r"a can't be|prior can't be|can't be or hold nan"):
            Advisers([agent("a")], **fields)  # type: ignore[arg-type]
        for use in (partial(fused, [("a", "x")]), partial(learned, said=[("a", "x")], truth="x")):
            with pytest.raises(UsageError, match=r"a can't be|prior can't be|can't be or hold nan"):
                use(**({"state": {}} | fields))


def test_numbers_and_rules_that_there_are_not() -> None:
    """More classes than a float can count, and an unknown rule, are refused before anybody is asked."""
    with pytest.raises(UsageError, match="so large a number"):
        Advisers([agent("a")], classes=10**400)
    with pytest.raises(UsageError, match="can't fuse by 'mean'"):
        fused([("a", "x")], {}, rule="mean")  # type: ignore[arg-type]


# ---- on known truth

WORLD = World(seed=17)
Asked = list[tuple[str, list[tuple[str, str]]]]
"""The right answer to each question, and what each adviser says to it."""


def simulated(accuracies: Sequence[float]) -> list[ModelAgent]:
    """Advisers that are right as often as given, each by itself, and say nothing but their answer."""
    backends = [
        Simulated(name, WORLD, share, tokens=5, tokens_sigma=0) for name, share in zip("abcde", accuracies, strict=True)
    ]
    return [ModelAgent(backend, backend.name) for backend in backends]


def asked(accuracies: Sequence[float], n: int) -> Asked:
    """The first n questions, put to such advisers."""

    async def work() -> Asked:
        found = []
        for question in WORLD.questions(n):
            result = await perform(Vote(simulated(accuracies)), question.text)
            replies = [Reply(each.text, agent=each.agent) for each in result.replies]
            found.append((question.gold, answers(replies, question.text)))
        return found

    return asyncio.run(work())


def right(questions: Asked, state: Mapping[str, tuple[float, float]], **options: object) -> float:
    """The share of questions to which the fused answer is right."""
    found = [(gold, fused(said, state, **options)) for gold, said in questions]  # type: ignore[arg-type]
    return float(np.mean([max(chances, key=lambda each: chances[each]) == gold for gold, chances in found]))


def means(state: Mapping[str, Sequence[float]]) -> list[float]:
    """Each adviser's mean reliability, in the order of their names."""
    return [state[name][0] / sum(state[name]) for name in "abcde"]


@pytest.fixture(scope="module")
def unequal() -> Asked:
    """One adviser of 85 % among four of 35 to 40 %."""
    return asked((0.85, 0.4, 0.4, 0.35, 0.35), 360)


def test_fused_beats_the_vote_once_reliabilities_are_learned(unequal: Asked) -> None:
    """At n = 300, seed 17: before anything is known fusion is the plain vote, 71 % right; after 60 other questions with
    feedback it is right on 83 %, the sum on 80 %, and every reliability is known within 0.05.
    """
    state: dict[str, tuple[float, float]] = {}
    for gold, said in unequal[:60]:
        state = learned(state, said, gold)
    rest = unequal[60:]
    vote = right(rest, {})
    found = [vote, right(rest, state, rule="sum"), right(rest, state)]
    assert found == pytest.approx([0.71, 0.80, 0.833], abs=0.01)
    assert means(state) == pytest.approx([0.85, 0.4, 0.4, 0.35, 0.35], abs=0.05)


def test_the_composition_is_the_rule(unequal: Asked) -> None:
    """On 20 questions, what it answers with a learned state is what `fused` puts first."""
    state = {"a": (85.0, 15.0), **dict.fromkeys("bcde", (40.0, 60.0))}
    panel = Advisers(simulated((0.85, 0.4, 0.4, 0.35, 0.35)), state)

    async def work() -> None:
        for question, (_, said) in zip(WORLD.questions(20), unequal, strict=False):
            chances = fused(said, state)
            result = await perform(panel, question.text)
            assert question.answer_in(result.text) == max(chances, key=lambda each: chances[each])

    asyncio.run(work())


def test_what_it_says_is_as_probable_as_it_says(unequal: Asked) -> None:
    """At n = 360, seed 17, with the true reliabilities: the mean probability of the answers given first is within 0.04
    of the share of them that is right.
    """
    state = {name: (share, 1 - share) for name, share in zip("abcde", (0.85, 0.4, 0.4, 0.35, 0.35), strict=True)}
    sure = [max(fused(said, state).values()) for _, said in unequal]
    assert float(np.mean(sure)) == pytest.approx(right(unequal, state), abs=0.04)


def test_without_feedback_it_still_learns_who_is_good() -> None:
    """At n = 360, seed 17, one of 90 % among four of 50 %: told nothing but what advisers said, it finds the good one,
    and on the last 160 questions beats the plain vote.
    """
    questions = asked((0.9, 0.5, 0.5, 0.5, 0.5), 360)
    state: dict[str, tuple[float, float]] = {}
    for _, said in questions[:200]:
        state = learned(state, said, fused(said, state))
    assert int(np.argmax(means(state))) == 0
    assert right(questions[200:], state) > right(questions[200:], {}) + 0.03
