"""Adaptive vote: when it stops, whom it asks, and that the answer is the full vote's."""

from __future__ import annotations

import random
from itertools import accumulate

import pytest
from acting import agent, down
from scipy.stats import beta  # type: ignore[import-untyped]
from test_compose import ask, calls, shape

from motet import Budget, ModelAgent, Plurality, Reply, Vote, perform
from motet.backends.simulated import Simulated, World
from motet.clock import run_virtual
from motet.compose.adaptive_vote import AdaptiveVote, likelier
from motet.errors import TooFewReplies, UsageError
from motet.outcome import Result
from motet.run import Agent


def saying(answers: str) -> list[ModelAgent]:
    """One agent for each letter, that says it."""
    return [agent(f"a{place}", said=letter) for place, letter in enumerate(answers)]


def test_likelier_is_the_beta_integral() -> None:
    """The sum of binomial coefficients is the posterior's tail beyond a half."""
    for first in range(12):
        for second in range(12):
            assert likelier(first, second) == pytest.approx(beta.sf(0.5, first + 1, second + 1))


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ("x" * 20, 4),  # (4, 0) is 0.969, (3, 0) is 0.938
        ("xxxy" + "x" * 16, 7),  # (6, 1) is 0.965, (5, 1) is 0.938
        ("xyxxxxx" + "y" * 13, 7),
        ("xxyyxyyxxyxxyyxx", 15),  # never sure; a tie by the last vote would go to the first
    ],
)
def test_it_stops_when_sure(answers: str, asked: int) -> None:
    """At 0.95, as soon as the two most frequent answers are far enough apart."""
    result = ask(AdaptiveVote(saying(answers)))
    assert (result.text, result.usage.calls) == ("x", asked)


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ("xxxyy", 3),
        ("xxyyx", 5),
        ("xxyy", 2),  # a tie goes to the first: it can't be overtaken
        ("yxx", 3),
        ("xyz", 3),
        ("x", 1),
    ],
)
def test_at_confidence_1_it_stops_when_it_cannot_be_overtaken(answers: str, asked: int) -> None:
    """And not before; it is noted."""
    result = ask(AdaptiveVote(saying(answers), confidence=1))
    assert (result.text, result.usage.calls) == (ask(Vote(saying(answers))).text, asked)
    early = ["adaptive-vote: the vote was decided before all were asked"] if asked < len(answers) else []
    assert result.warnings == early


def test_the_waves_are_what_asking_one_by_one_is() -> None:
    """No call more than one at a time makes, on 60 random votes; at confidence 1 always the full vote's answer."""
    rng = random.Random(1)
    for _ in range(60):
        answers = "".join(rng.choices("xyz", weights=[5, 2, 2], k=rng.randint(1, 12)))
        vote = AdaptiveVote(saying(answers), confidence=rng.choice([0.8, 0.95, 1]))
        result = ask(vote)
        tallies = [{said: prefix.count(said) for said in dict.fromkeys(prefix)} for prefix in accumulate(answers)]
        one_by_one = next(
            size for size, tally in enumerate(tallies, 1) if vote._decided(tally, tally, vote.agents[size:])
        )
        assert result.usage.calls == one_by_one
        if vote.confidence == 1:
            assert result.text == ask(Vote(saying(answers))).text


def test_waves_are_asked_at_once() -> None:
    """Four at once, then as many as can decide it: 2 waves in series here, not 7 calls."""
    agents = [agent(f"a{place}", said=letter, delay=1) for place, letter in enumerate("xxxyxxxxxxxx")]
    result = ask(AdaptiveVote(agents))
    assert (result.usage.calls, result.seconds) == (7, 2)
    assert shape(AdaptiveVote(agents)) == (12, 5)  # when no two agree, at the most


def test_weights() -> None:
    """Weighted votes decide who leads and who can't be overtaken; heads decide how sure that is."""
    exact = AdaptiveVote(saying("xyyyy"), weights={"a0": 5})
    assert (ask(exact).text, ask(exact).usage.calls) == ("x", 1)
    light = AdaptiveVote(saying("xxxxxy"), weights={"a5": 9})
    assert ask(light).usage.calls == 4, "four alike are sure, whatever they weigh"
    sure = AdaptiveVote(saying("xxxxxy"), weights={"a5": 9}, confidence=1)
    assert ask(sure).text == ask(Vote(saying("xxxxxy"), Plurality({"a5": 9}))).text == "y"


def test_negative_weights_can_still_unseat_the_leader() -> None:
    """Who speaks against what it says is waited for: at confidence 1 the answer is the full vote's."""
    weights = {"a1": 0.5, "a2": -1.0}
    result = ask(AdaptiveVote(saying("xyx"), weights=weights, confidence=1))
    assert (result.text, result.usage.calls) == ("y", 3)
    assert ask(Vote(saying("xyx"), Plurality(weights))).text == "y"
    rng = random.Random(3)
    for _ in range(60):
        answers = "".join(rng.choices("xyz", k=rng.randint(1, 8)))
        weights = {f"a{place}": float(rng.randint(-2, 3)) for place in range(len(answers))}
        result = ask(AdaptiveVote(saying(answers), weights=weights, confidence=1))
        assert result.text == ask(Vote(saying(answers), Plurality(weights))).text


def test_it_is_unsure_of_a_leader_that_fewer_name() -> None:
    """The rival of the Beta criterion is the answer with most heads, not the one with most weight."""
    answers = "z" + "yx" * 6 + "y"
    weights = {f"a{place}": 0.1 for place, said in enumerate(answers) if said == "y"} | {"a13": 10.0}
    result = ask(AdaptiveVote(saying(answers), weights=weights))
    assert (result.text, result.usage.calls) == ("y", 14)


@pytest.mark.timeout(30)
def test_a_large_torn_vote_does_not_hold_up_the_loop() -> None:
    """Of 3,000 draws that never agree all but the last are asked, in seconds."""
    pair = saying("xy")
    assert ask(AdaptiveVote(pair * 1500)).usage.calls == 2999


def test_who_abstains_or_fails_is_replaced() -> None:
    """They have no vote; others are asked until it is decided."""
    mute, dead = agent("mute", said=Reply("", finish="abstain")), agent("dead", said=down())
    result = ask(AdaptiveVote([mute, dead, *saying("x" * 12)]))
    assert (result.text, len(calls(result)), result.outcome.state) == ("x", 6, "degraded")
    assert result.outcome.abstained == ("mute",)


def test_everybody_abstains() -> None:
    """A clear error that says so; also when only fewer than needed vote."""
    mute = agent("mute", said=Reply("", finish="abstain"))
    result = ask(AdaptiveVote([mute] * 6))
    assert isinstance(result.error, TooFewReplies)
    assert "mute: abstained" in str(result.error)
    assert isinstance(ask(AdaptiveVote([mute, *saying("xx")], need=3)).error, TooFewReplies)


def test_need_comes_before_confidence() -> None:
    """It does not stop before as many as needed have voted."""
    assert ask(AdaptiveVote(saying("x" * 10), need=6)).usage.calls == 6


def test_a_spent_purse_gives_the_leader() -> None:
    """What was counted so far is the answer, and it is said that it was stopped."""
    result = ask(AdaptiveVote(saying("xxyxyxyxyx")), budget=Budget(calls=5))
    assert (result.text, result.stopped) == ("x", "calls")


def test_grace() -> None:
    """A wave goes on without its slow ones."""
    agents = [agent("slow", said="y", delay=60), *saying("xxxxx")]
    assert ask(AdaptiveVote(agents, grace=1)).seconds == pytest.approx(1)


@pytest.mark.parametrize("confidence", [0.5, 0, 1.1, float("nan")])
def test_confidences_that_make_no_sense(confidence: float) -> None:
    """No more than a coin, or more than certain: refused."""
    with pytest.raises(UsageError, match="give more than"):
        AdaptiveVote(saying("x"), confidence=confidence)


def test_too_few_of_anything() -> None:
    """Nobody to ask, or no reply needed: refused."""
    with pytest.raises(UsageError, match="at least 1 agents"):
        AdaptiveVote([])
    with pytest.raises(UsageError, match="at least 1 replies"):
        AdaptiveVote(saying("x"), need=0)


# ---- on known truth


def compared(n: int, draws: int) -> tuple[float, float, float, int]:
    """Accuracy of the full and of the adaptive vote, calls a question of the latter, answers that differ."""
    world = World(seed=5)
    one = ModelAgent(Simulated("m", world, accuracy=0.6, rho=0.3, within=0.3), "m")
    questions = world.questions(n)

    async def asked(agent: Agent) -> list[Result]:
        return [await perform(agent, question.text, seed=1) for question in questions]

    full, adaptive = (run_virtual(asked(vote([one] * draws))) for vote in (Vote, AdaptiveVote))
    right = [sum(q.answer_in(r.text) == q.gold for q, r in zip(questions, rs, strict=True)) for rs in (full, adaptive)]
    differing = sum(a.text != b.text for a, b in zip(full, adaptive, strict=True))
    return right[0] / n, right[1] / n, sum(result.usage.calls for result in adaptive) / n, differing


def test_as_good_as_the_full_vote_at_fewer_calls() -> None:
    """Within 0.5 points of 20 draws at 12 calls a question (n = 100, world seed 5, run seed 1)."""
    full, adaptive, calls, _ = compared(100, 20)
    assert abs(full - adaptive) <= 0.005
    assert calls < 0.65 * 20


@pytest.mark.long
def test_as_good_as_the_full_vote_at_fewer_calls_on_many() -> None:
    """Within 0.5 points of 40 draws at less than half the calls (n = 400, world seed 5, run seed 1)."""
    full, adaptive, calls, differing = compared(400, 40)
    assert abs(full - adaptive) <= 0.005
    assert calls < 0.5 * 40
    assert differing <= 4
