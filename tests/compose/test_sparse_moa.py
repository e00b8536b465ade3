"""Sparse MoA: what a judge passes on, when a moderator ends it, who is told to be whom, and what is saved by it."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, MixtureOfAgents, ModelAgent, Plurality, Reply, Scripted, Synthesize, perform
from motet.backends.simulated import Simulated, World
from motet.compose.sparse_moa import SparseMoA
from motet.errors import UsageError
from motet.message import Request
from motet.run import Agent

A, B, C, D = (agent(name) for name in "abcd")
WRITER = agent("writer", said="end")
_FENCED = re.compile(r'<reply id="(\w+)">\n(.*?)\n</reply>', re.DOTALL)


def lettered(request: Request) -> dict[str, str]:
    """The texts in a prompt by their letters."""
    return dict(_FENCED.findall(request.text))


def referee(*preferred: str, verdict: str = "CONTINUE") -> ModelAgent:
    """A judge that ranks the given texts first, and a moderator with that verdict."""

    def said(request: Request) -> str:
        if "Verdict:" in request.text:
            return f"Enough said.\nVerdict: {verdict}"
        order = sorted(lettered(request).items(), key=lambda each: (*preferred, each[1]).index(each[1]))
        return f"Ranking: {', '.join(letter for letter, _ in order)}"

    return agent("referee", said=said)


# ---- who is asked, and what they hear


def test_shape() -> None:
    """As the docstring says: (proposers + 2) × layers calls, 3 × layers in series; less without its parts."""
    assert shape(SparseMoA([A, B, C], Synthesize(D), D)) == (10, 6)
    assert shape(SparseMoA([A, B, C, D], Synthesize(D), D, layers=3)) == (18, 9)
    assert shape(SparseMoA([A, B, C], Synthesize(D), D, stop=False)) == (9, 5)
    assert shape(SparseMoA([A, B, C], Synthesize(D), D, select=False, stop=False)) == (7, 3)


def test_the_best_k_are_passed_on() -> None:
    """The next layer, the moderator and the aggregator hear the k that the judge puts first, and nobody else."""
    result = ask(SparseMoA([A, B, C], Synthesize(WRITER), referee("c", "a")))
    said = [(call.agent, sorted(heard(call))) for call in calls(result)]
    everything, best = ["a", "b", "c"], ["a", "c"]
    assert said == [
        ("a", []), ("b", []), ("c", []), ("referee", everything), ("referee", best),
        ("a", best), ("b", best), ("c", best), ("referee", everything), ("writer", best),
    ]  # fmt: skip
    assert result.text == "end"
    assert not result.warnings


def test_the_moderator_ends_it() -> None:
    """After STOP no further layer is asked, the aggregator hears what was selected, and it is noted."""
    result = ask(SparseMoA([A, B, C], Synthesize(WRITER), referee("b", verdict="STOP"), k=1, layers=5))
    assert [call.agent for call in calls(result)] == ["a", "b", "c", "referee", "referee", "writer"]
    assert heard(calls(result)[-1]) == ["b"]
    assert [warning.partition(": ")[2] for warning in result.warnings] == ["the moderator ended it after layer 1 of 5"]


def test_a_moderator_of_its_own() -> None:
    """It decides, and the judge selects."""
    stopper = agent("stopper", said="verdict: **Stop**")
    result = ask(SparseMoA([A, B, C], Synthesize(WRITER), referee("a", "b"), stopper))
    assert [call.agent for call in calls(result)] == ["a", "b", "c", "referee", "stopper", "writer"]


def test_parts_left_out() -> None:
    """The paper's ablations: without selection all are passed on, without stopping nobody moderates."""
    dense = ask(SparseMoA([A, B, C], Synthesize(WRITER), referee(), select=False, stop=False, name="moa"))
    assert [call.key for call in calls(dense)] == [
        call.key for call in calls(ask(MixtureOfAgents([A, B, C], Synthesize(WRITER))))
    ]
    unmoderated = ask(SparseMoA([A, B, C], Synthesize(WRITER), referee("a", "b", verdict="STOP"), stop=False))
    assert unmoderated.usage.calls == 9
    unjudged = ask(SparseMoA([A, B, C], Synthesize(WRITER), referee(verdict="STOP"), select=False))
    assert [len(heard(call)) for call in calls(unjudged)] == [0, 0, 0, 3, 3]


def test_roles_are_system_words_of_each_proposer() -> None:
    """Each proposer is told its role in every layer, and nobody else is."""
    result = ask(SparseMoA([A, B], Synthesize(WRITER), referee(), roles=["You doubt.", "You count."]))
    systems = [(call.agent, [m.text for m in call.request.messages if m.role == "system"]) for call in calls(result)]
    assert systems == [
        ("a", ["You doubt."]), ("b", ["You count."]), ("referee", []),
        ("a", ["You doubt."]), ("b", ["You count."]), ("writer", []),
    ]  # fmt: skip


# ---- what goes wrong


@pytest.mark.parametrize(
    "nonsense", ["I like them all.", "Ranking: none", "", down()], ids=["text", "none", "", "dead"]
)
def test_a_judge_that_cannot_be_read_selects_nothing(nonsense: object) -> None:
    """Every reply is passed on, and that is noted: nothing is picked by chance."""
    judge = agent("judge", said=lambda request: nonsense)
    result = ask(SparseMoA([A, B, C], Synthesize(WRITER), judge))
    assert sorted(heard(calls(result)[-1])) == ["a", "b", "c"]
    assert any("every reply of the layer is passed on" in warning for warning in result.warnings)
    assert any("no verdict that could be read; it goes on" in warning for warning in result.warnings)
    assert [call.agent for call in calls(result)].count("a") == 2


@pytest.mark.parametrize(
    "said", ["Do not STOP yet.", "Verdict: STOP or CONTINUE", "Verdict: maybe", "The answer is 4.", "Verdict:"]
)
def test_a_verdict_that_says_nothing_goes_on(said: str) -> None:
    """Only a clear STOP ends it."""
    result = ask(SparseMoA([A, B], Synthesize(WRITER), agent("judge", said=said)))
    assert [call.agent for call in calls(result)].count("a") == 2
    assert any("no verdict" in warning for warning in result.warnings)


def test_the_dead_and_the_mute() -> None:
    """Who fails or abstains is not judged; with k replies left there is nothing to select."""
    mute = agent("mute", said=Reply("", finish="abstain"))
    result = ask(SparseMoA([A, agent("dead", said=down("auth")), mute], Synthesize(WRITER), referee()))
    assert (result.text, result.outcome.state) == ("end", "degraded")
    assert [call.agent for call in calls(result)] == ["a", "dead", "mute", "referee", "a", "mute", "writer"]
    assert "abstained" in str(ask(SparseMoA([mute, mute], Plurality(), referee())).error)


def test_a_later_layer_in_which_everybody_fails() -> None:
    """What was selected before stands, and that is noted."""

    def short(request: Request) -> object:
        return down("context_length") if "<reply" in request.text else "4"

    stubborn = [agent(name, said=short) for name in "st"]
    result = ask(SparseMoA(stubborn, Synthesize(WRITER), referee(), layers=3))
    assert heard(calls(result)[-1]) == ["4", "4"]
    assert any("nobody answered in layer 2" in warning for warning in result.warnings)


def test_the_best_so_far_is_given_when_the_money_ends() -> None:
    """What the judge put first is offered."""
    result = ask(SparseMoA([A, B, C], Synthesize(WRITER), referee("c")), budget=Budget(calls=5))
    assert (result.text, result.stopped) == ("c", "calls")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SparseMoA([A], Plurality(), D), "at least 2 proposers"),
        (lambda: SparseMoA([A, B], Plurality(), D, layers=0), "at least 1 layers"),
        (lambda: SparseMoA([A, B], Plurality(), D, k=0), "at least 1 replies"),
        (lambda: SparseMoA([A, B], Plurality(), D, k=3), "give a smaller k"),
        (lambda: SparseMoA([A, B], Plurality(), D, roles=["You doubt."]), "give one each"),
    ],
)
def test_what_makes_no_sense(make: Callable[[], object], said: str) -> None:
    """It is refused when it is made, with what to do."""
    with pytest.raises(UsageError, match=said):
        make()


# ---- on known truth

WORLD = World(seed=11)


def simulated(name: str, accuracy: float) -> ModelAgent:
    """A proposer that errs on its own, recognises 3 of 10 right answers and else mostly follows the majority."""
    backend = Simulated(name, WORLD, accuracy, within=0.5, discrimination=0.3, conformity=0.6, tokens=120)
    return ModelAgent(backend, name)


def simulated_judge(discrimination: float) -> ModelAgent:
    """A judge that ranks right answers first if it recognises them, then those given most; it stops at agreement."""

    def said(request: Request) -> str:
        question = WORLD.find(request.text)
        assert question is not None
        given = {letter: question.answer_in(text) for letter, text in lettered(request).items()}
        if "Verdict:" in request.text:
            return f"Verdict: {'STOP' if len(set(given.values())) == 1 else 'CONTINUE'}"
        recognises, votes = random.Random(request.key).random() < discrimination, list(given.values())
        order = sorted(given, key=lambda x: (recognises and given[x] != question.gold, -votes.count(given[x]), x))
        return f"Ranking: {', '.join(order)}"

    return ModelAgent(Scripted(said, name="judge"), "judge")


def measured(composition: Agent, n: int) -> tuple[npt.NDArray[np.float64], float]:
    """Whether it is right on each of the first n questions, and its mean tokens."""

    async def work() -> tuple[npt.NDArray[np.float64], float]:
        right, tokens = [], []
        for question in WORLD.questions(n):
            result = await perform(composition, question.text)
            right.append(float(question.answer_in(result.text) == question.gold))
            tokens.append(result.usage.tokens)
        return np.array(right), float(np.mean(tokens))

    return asyncio.run(work())


def pool(count: int) -> tuple[list[ModelAgent], ModelAgent]:
    """Proposers of 55 to 70 %, and the best of them."""
    made = [simulated(f"p{place}", 0.55 + 0.05 * (place % 4)) for place in range(count)]
    return made, made[3]


def test_what_it_saves() -> None:
    """At n = 60, seed 11: six proposers in three layers take a quarter of dense MoA's tokens, mostly by stopping."""
    proposers, best = pool(6)
    judge = simulated_judge(0.7)
    _, dense = measured(MixtureOfAgents(proposers, Synthesize(best), layers=3), 60)
    _, sparse = measured(SparseMoA(proposers, Synthesize(best), judge, layers=3), 60)
    _, unstopped = measured(SparseMoA(proposers, Synthesize(best), judge, layers=3, stop=False), 60)
    assert 0.2 < sparse / dense < 0.3
    assert 0.7 < unstopped / dense < 0.8


def test_what_it_does_not_save() -> None:
    """At n = 100, seed 11: with four in two layers, as in the code, a judge costs what it saves but for early stops."""
    proposers, best = pool(4)
    judge = simulated_judge(0.7)
    _, dense = measured(MixtureOfAgents(proposers, Synthesize(best)), 100)
    _, sparse = measured(SparseMoA(proposers, Synthesize(best), judge), 100)
    _, unstopped = measured(SparseMoA(proposers, Synthesize(best), judge, stop=False), 100)
    assert 0.55 < sparse / dense < 0.7
    assert unstopped / dense > 1


@pytest.mark.long
def test_accuracy_is_kept_if_the_judge_discriminates() -> None:
    """At n = 2000, seed 11, six in three layers: within 1 point of dense MoA at under 60 % of its tokens with a judge
    that recognises 7 of 10 right answers; a judge that recognises none costs over 3 points.
    """
    n = 2000
    proposers, best = pool(6)
    right, dense = measured(MixtureOfAgents(proposers, Synthesize(best), layers=3), n)
    kept, sparse = measured(SparseMoA(proposers, Synthesize(best), simulated_judge(0.7), layers=3), n)
    lost, _ = measured(SparseMoA(proposers, Synthesize(best), simulated_judge(0.0), layers=3), n)
    assert sparse <= 0.6 * dense
    assert abs((kept - right).mean()) <= 0.01
    assert (lost - right).mean() < -0.03
