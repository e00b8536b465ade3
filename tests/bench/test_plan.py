"""What a run will take, against what it took."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from motet.agent import ModelAgent
from motet.aggregate import Synthesize
from motet.backend import Card, Price
from motet.backends.scripted import Scripted
from motet.bench.entrants import entrants
from motet.bench.plan import plan
from motet.bench.runner import run_suite
from motet.bench.suite import load_suite
from motet.compose.moa import MixtureOfAgents
from motet.compose.vote import Vote
from motet.journal import Journal
from motet.message import Chat, Reply, Request, Sampling, Usage

SUITE = load_suite("arithmetic", n=30)
SAMPLE = Chat.of("2 + 2?")


def priced(name: str, tokens: int = 10) -> ModelAgent:
    """A model whose replies are `tokens` long of at most 50, at a dollar for a million tokens in and ten out."""

    def say(request: Request) -> Reply:
        return Reply(f"{name} {request.key[:6]}", usage=Usage(1, input=20, output=tokens))

    backend = Scripted(say, name=name, card=Card(price=Price(input=1, output=10)))
    return ModelAgent(backend, name, sampling=Sampling(max_tokens=50))


def test_a_plan_is_what_the_run_then_takes(tmp_path: Path) -> None:
    """Calls to the last one, shared ones once; dollars at most what the plan says; likely ones from the journal."""
    a, b = priced("a"), priced("b")
    moa = MixtureOfAgents((a, b), Synthesize(a), layers=2, name="moa")
    given = entrants({"v": Vote((a, b), name="v"), "moa": moa}, SAMPLE)
    with Journal(tmp_path / "j.sqlite") as journal:
        before = plan(SUITE, given, repeat=2, typical=journal.typical)
        assert before.unseen == ("a", "b")
        assert before.whole.likely_usd is None
        asyncio.run(run_suite(SUITE, given, journal=journal, name="r", repeat=2))
        spent = journal.spent()
        assert before.whole.calls == spent.calls
        assert before.answers == 30 * 2 * len(given)
        assert spent.usd < before.whole.usd
        after = plan(SUITE, given, repeat=2, typical=journal.typical, concurrency=4)
    assert after.whole.usd == before.whole.usd
    assert after.whole.likely_output == spent.output
    assert after.whole.likely_usd is not None
    assert after.whole.likely_usd < after.whole.usd
    assert sum(each.calls for each in after.arms) > after.whole.calls  # arms share calls
    by_arm = {each.arm: each.calls for each in after.arms}
    assert (by_arm["a"], by_arm["v"], by_arm["moa"]) == (60, 120, 300)
    assert by_arm["moa, placebo"] == 240  # the writer's prompt is a proposer's, where all replies are as long


def test_unpriced_and_copies() -> None:
    """What no price is known of is named; copies at most as many as the mixture is worth, and what those cost."""
    free = ModelAgent(Scripted("4", name="free", card=Card(price=None)), "free")
    given = entrants({"v": Vote((priced("a"), priced("b"), free), name="v")}, SAMPLE)
    found = plan(SUITE, given, copies=True)
    assert found.unpriced == ("free",)
    one = {each.arm: each for each in found.arms}
    ratio = (one["v"].input + one["v"].output) / min(each.input + each.output for each in found.arms[:3])
    assert found.copies == math.ceil(max(3, ratio))
    assert found.copies_usd == pytest.approx(found.copies * max(one["a"].usd, one["b"].usd), rel=0.5)
    assert plan(SUITE, given).copies == 0


@pytest.mark.parametrize("n", [1, 3, 10, 200])
def test_any_number_of_tasks(n: int) -> None:
    """From one task to more than are sampled."""
    found = plan(load_suite("arithmetic", n=n), entrants({"a": priced("a")}, SAMPLE))
    assert found.whole.calls == n
