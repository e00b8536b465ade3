"""The entropy judge: features of tokens, agents and rounds, a linear judge whose weights are data, stated fallbacks."""

from __future__ import annotations

import math
import random

import pytest
from acting import agent, down
from test_compose import ask, calls, shape

from motet import ModelAgent, Reply, Sampling, Vote, perform
from motet.backends.simulated import Simulated, World
from motet.clock import run_virtual
from motet.compose.entropy_judge import FEATURES, WEIGHTS, EntropyJudge, entropies, features, learn
from motet.errors import TooFewReplies, UsageError
from motet.measure.entropy import TokenEntropy
from motet.message import Token
from motet.run import Agent
from motet.trace import Noted


def notes(result: object) -> list[str]:
    """What a run noted."""
    return [event.text for event in result.trace if isinstance(event, Noted)]  # type: ignore[attr-defined]


def told(text: str, *shares: float) -> Reply:
    """A reply with a token of each probability, the rest of which is with one alternative."""
    return Reply(
        text, logprobs=tuple(Token("x", math.log(p), (("x", math.log(p)), ("y", math.log(1 - p)))) for p in shares)
    )


def entropy(p: float) -> float:
    """Of a coin."""
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


# ---- features


def test_entropies_of_a_reply() -> None:
    """Mean, maximum and last token, of whatever alternatives are shown; of the token's own where there are none."""
    found = entropies(told("Paris", 0.5, 0.9))
    assert found is not None
    assert (found.mean, found.max, found.final) == pytest.approx(
        ((entropy(0.5) + entropy(0.9)) / 2, entropy(0.5), entropy(0.9))
    )
    mixed = entropies(Reply("x", logprobs=(Token("x", math.log(0.9)), *told("", 0.5).logprobs)))
    assert mixed is not None
    assert (mixed.mean, mixed.max, mixed.final) == pytest.approx(
        ((entropy(0.9) + entropy(0.5)) / 2, entropy(0.5), entropy(0.5))
    )


@pytest.mark.parametrize(
    "reply",
    [
        Reply("Paris"),
        Reply("Paris", logprobs=(Token("x", 0.0, (("x", 0.0), ("y", 0.0))),)),
        Reply("Paris", logprobs=(Token("x", -math.inf),) * 2),
    ],
)
def test_no_entropies(reply: Reply) -> None:
    """Without log-probabilities, or with ones that no distribution has, there are none, and it is not given."""
    assert entropies(reply) is None
    result = ask(EntropyJudge([agent("none", reply), agent("unsure", told("4", 0.5)), agent("sure", told("5", 0.9))]))
    assert result.text == "5"
    assert "can't be judged" in notes(result)[0]


def test_features_of_rounds_and_agents() -> None:
    """The last round's tokens, how far from what its agent usually has, and the change since the first round."""
    first, last = TokenEntropy(0.5, 1.0, 0.2, 0, 3), TokenEntropy(0.3, 0.9, 0.1, 0, 3)
    found = features([first, last], 0.1)
    assert found == pytest.approx({"mean": 0.3, "max": 0.9, "final": 0.1, "relative": 0.2, "change": -0.2})
    assert tuple(found) == FEATURES == tuple(WEIGHTS)


# ---- judging


@pytest.mark.parametrize(
    ("weights", "given"),
    [
        (dict(WEIGHTS), "peaked"),
        ({"mean": -1.0}, "peaked"),  # lower on average
        ({"max": -1.0}, "even"),  # without a peak
        ({"final": -1.0}, "peaked"),
        ({"max": 1.0}, "peaked"),  # one may learn otherwise
    ],
)
def test_weights_decide(weights: dict[str, float], given: str) -> None:
    """Which candidate is given is the weighted sum of its features."""
    even, peaked = told("even", 0.9, 0.9, 0.9, 0.9), told("peaked", 0.999, 0.5, 0.999, 0.999)
    assert ask(EntropyJudge([agent("e", even), agent("p", peaked)], weights=weights)).text == given


def test_base_makes_agents_comparable() -> None:
    """An agent that is always less sure of its words is compared with itself."""
    terse, wordy = agent("terse", told("a", 0.9)), agent("wordy", told("b", 0.8))
    assert ask(EntropyJudge([terse, wordy], weights={"relative": -1})).text == "a"
    base = {"terse": entropy(0.95), "wordy": entropy(0.6)}
    assert ask(EntropyJudge([terse, wordy], weights={"relative": -1}, base=base)).text == "b"


def test_rounds() -> None:
    """Each agent goes over its own reply alone; its last one is its candidate, and how it changed can decide."""
    said = [told("4", 0.7), told("5", 0.95)]
    settling, steady = agent("settling"), agent("steady", told("6", 0.96))
    settling.backend.script = said  # type: ignore[attr-defined]
    result = ask(EntropyJudge([settling, steady], rounds=2, weights={"change": -1}))
    assert (result.text, result.usage.calls) == ("5", 4)
    again = [call.request.messages for call in calls(result)[2:]]
    assert [[message.role for message in each] for each in again] == [["user", "assistant", "user"]] * 2
    assert again[0][1].text == "4"


def test_a_member_that_dies_in_a_later_round() -> None:
    """Its first reply stays its candidate."""
    mortal, steady = agent("mortal"), agent("steady", told("6", 0.6))
    mortal.backend.script = [told("4", 0.99), down()]  # type: ignore[attr-defined]
    assert ask(EntropyJudge([mortal, steady], rounds=3)).text == "4"


# ---- fallbacks


def test_without_any_logprobs_it_is_a_vote() -> None:
    """If nothing can be judged, the most frequent answer is given, and that is noted."""
    result = ask(EntropyJudge([agent("a", "5"), agent("b", "4"), agent("c", "four")]))
    assert result.text == "4"
    assert "the most frequent answer is given instead" in notes(result)[-1]


def test_candidates_without_logprobs_are_not_given() -> None:
    """They can't be judged beside those that have them; that is noted."""
    result = ask(EntropyJudge([agent("a", "5"), agent("b", "5"), agent("c", told("4", 0.6))]))
    assert result.text == "4"
    assert "can't be judged: set logprobs" in notes(result)[0]


def test_shapes_and_refusals() -> None:
    """Calls and depth are what the docstring says; what makes no sense is refused."""
    pair = [agent("a"), agent("b")]
    assert shape(EntropyJudge(pair)) == (2, 1)
    assert shape(EntropyJudge(pair, rounds=3)) == (6, 3)
    wrongs: list[dict[str, object]] = [{"agents": []}, {"rounds": 0}]
    for wrong in wrongs:
        with pytest.raises(UsageError, match="at least 1"):
            EntropyJudge(**{"agents": pair, **wrong})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no feature 'median'"):
        EntropyJudge(pair, weights={"median": 1})
    mute = [agent(name, Reply("", finish="abstain")) for name in "xy"]
    assert isinstance(ask(EntropyJudge(mute)).error, TooFewReplies)
    assert ask(EntropyJudge([agent("x", down()), agent("b", told("4", 0.5))])).text == "4"


# ---- learning


def test_learn_finds_the_weights() -> None:
    """Of 4,000 candidates drawn from known weights, ridge logistic regression finds them again within 0.3."""
    rng, true = random.Random(1), {"mean": -3.0, "max": -1.0, "final": 0.5, "relative": 0.0, "change": 1.0}
    candidates = [{name: rng.gauss(0, 1) for name in FEATURES} for _ in range(4000)]
    odds = [sum(true[name] * each[name] for name in FEATURES) for each in candidates]
    right = [rng.random() < 1 / (1 + math.exp(-each)) for each in odds]
    assert learn(candidates, right) == pytest.approx(true, abs=0.3)


@pytest.mark.parametrize(("scale", "ridge"), [(1, 1e-3), (100, 1), (100, 1e-3), (1e4, 1)])
def test_learn_from_what_one_feature_tells_apart(scale: float, ridge: float) -> None:
    """However large the numbers, and however little holds the weights: the loss is at its lowest."""
    rng = random.Random(2)
    candidates = [{name: rng.gauss(0, scale) for name in FEATURES} for _ in range(200)]
    right = [each["mean"] < 0 for each in candidates]
    found = learn(candidates, right, ridge=ridge)
    assert found["mean"] < 0
    assert all(abs(found["mean"]) > 3 * abs(found[name]) for name in FEATURES[1:])


@pytest.mark.parametrize(
    ("candidates", "right", "ridge"),
    [
        ([], [], 1.0),
        ([dict.fromkeys(FEATURES, 1.0)], [], 1.0),
        ([dict.fromkeys(FEATURES, math.nan)], [True], 1.0),
        ([dict.fromkeys(FEATURES, 1.0)], [True], 0.0),
        ([dict.fromkeys(FEATURES, 1.0)], [True], math.nan),
    ],
)
def test_learn_refuses_what_teaches_nothing(
    candidates: list[dict[str, float]], right: list[bool], ridge: float
) -> None:
    """Nothing, not as much of the one as of the other, NaN, and no ridge at all."""
    with pytest.raises(ValueError, match="teach nothing"):
        learn(candidates, right, ridge=ridge)


def test_learn_from_one_kind_alone() -> None:
    """Where all were right nothing is learned, and nothing breaks."""
    found = learn([dict.fromkeys(FEATURES, 0.5)] * 10, [True] * 10)
    assert all(abs(weight) < 1 for weight in found.values())


# ---- the claim


def right(mixture: Agent, world: World, n: int) -> float:
    """The share of questions it gets right."""

    async def work() -> float:
        questions = world.questions(n)
        said = [await perform(mixture, question.text, seed=1) for question in questions]
        return sum(q.answer_in(each.text) == q.gold for q, each in zip(questions, said, strict=True)) / n

    return run_virtual(work())


def test_it_beats_a_draw_and_not_a_vote() -> None:
    """With an agent that knows when it is right (auroc 0.9), picking of 5 beats one draw; voting of 5 is still better.

    Wrong answers scatter here over three, which is a vote's best case.
    """
    world = World(seed=6)
    backend = Simulated("one", world, accuracy=0.65, auroc=0.9, tokens=8)
    one = ModelAgent(backend, "one", sampling=Sampling(logprobs=2))
    found = [right(mixture, world, 200) for mixture in (Vote([one]), EntropyJudge([one] * 5), Vote([one] * 5))]
    assert found == pytest.approx([0.625, 0.81, 0.835], abs=0.001)
