"""Two unlike agents match sixteen alike where their errors are independent, and not where they are shared.

Yang, Qu, Wen, Shi, Wen, Zhang, Wierman and Gu, "Understanding Agent Scaling in LLM-Based Multi-Agent Systems via
Diversity", arXiv 2602.03794: what counts is not how many agents there are but how many different things they say, the
effective channels K* (`motet.measure.channels`). In the public code (SafeRL-Lab/Agent-Scaling, src/evaluator.py, commit
44b38f3) ties of a vote are broken by chance, so that a plain vote of two is right as often as one of them; the votes
here are decided by how sure the agents are, which lets the second of two count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from motet import Best, Logprob, ModelAgent, Plurality, Sampling, Vote, perform
from motet.aggregate import Aggregator
from motet.backends.simulated import Simulated, World
from motet.measure.channels import channels
from motet.trace import CallEnded

N, SEED = 250, 7
WORLD = World(seed=SEED)


def unlike(names: str, rho: float = 0.0, family: str = "") -> list[ModelAgent]:
    """Agents of 70 % that mostly repeat themselves, are surer when right, and share errors as far as they are told."""
    return [
        ModelAgent(
            Simulated(name, WORLD, 0.7, rho=rho, within=0.9, family=family, auroc=0.9, tokens=4),
            name,
            sampling=Sampling(logprobs=1),
        )
        for name in names
    ]


@dataclass(frozen=True)
class Found:
    """How often a vote is right, and how many channels its members are."""

    accuracy: float
    k_star: float


def measured(agents: Sequence[ModelAgent], aggregate: Aggregator) -> Found:
    """A vote of agents on the first questions of the world; K* of their answers, each a direction of its own."""

    async def work() -> Found:
        right, said = 0, []
        for question in WORLD.questions(N):
            result = await perform(Vote(agents, aggregate), question.text)
            right += question.answer_in(result.text) == question.gold
            answers = [question.answer_in(e.reply.text) for e in result.trace if isinstance(e, CallEnded)]
            said.append([[float(a == each) for each in (question.gold, *question.wrong)] for a in answers])
        return Found(right / N, channels(said, centred=False).k_star)

    return asyncio.run(work())


SURE = Best(Logprob())


@pytest.fixture(scope="module")
def sixteen() -> Found:
    """Sixteen draws of one agent."""
    return measured(unlike("a") * 16, SURE)


def test_two_unlike_match_sixteen_alike(sixteen: Found) -> None:
    """At n = 250, seed 7: if errors are independent, two are as many channels as sixteen draws of one, and as right or
    more.
    """
    two = measured(unlike("ab"), SURE)
    assert two.accuracy >= sixteen.accuracy
    assert two.k_star == pytest.approx(sixteen.k_star, abs=0.1)


@pytest.mark.parametrize(("rho", "family"), [(0.9, ""), (0.0, "one")], ids=["hard for all", "one family"])
def test_not_where_their_errors_are_shared(sixteen: Found, rho: float, family: str) -> None:
    """At n = 250, seed 7: with shared errors, of hard questions or of one family, two are fewer channels and worse by
    over 5 points.
    """
    two = measured(unlike("ab", rho, family), SURE)
    assert two.accuracy < sixteen.accuracy - 0.05
    assert two.k_star < sixteen.k_star - 0.1


def test_accuracy_follows_the_channels_and_not_the_count(sixteen: Found) -> None:
    """At n = 250, seed 7: from three agents of one family to three that err on their own, more channels are more right,
    wherever sixteen stand among them.
    """
    found = [measured(unlike("abc", family="one"), SURE), sixteen, measured(unlike("abc"), SURE)]
    assert [each.k_star for each in found] == sorted(each.k_star for each in found)
    assert [each.accuracy for each in found] == sorted(each.accuracy for each in found)


def test_a_plain_vote_of_two_is_its_first_member() -> None:
    """At n = 250, seed 7: where nothing but the count decides, the second of two changes nothing, however unlike."""
    alone = measured(unlike("a"), Plurality())
    assert measured(unlike("ab"), Plurality()).accuracy == alone.accuracy
