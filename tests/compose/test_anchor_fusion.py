"""Anchor fusion: the formula as published, answers as the gallery, draws and confidence as scores."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest
from acting import agent, down
from hypothesis import given
from hypothesis import strategies as st
from test_compose import ask, calls, shape

from motet import Chat, Exact, Judge, Logprob, ModelAgent, Reply, Run, Sampling, Vote, perform
from motet.backends.simulated import Simulated, World
from motet.clock import run_virtual
from motet.compose.anchor_fusion import AnchorFusion, act
from motet.errors import TooFewReplies, UsageError
from motet.run import Agent
from motet.trace import Noted


def notes(result: object) -> list[str]:
    """What a run noted."""
    return [event.text for event in result.trace if isinstance(event, Noted)]  # type: ignore[attr-defined]


# ---- the formula


@given(
    st.integers(1, 5).flatmap(
        lambda g: st.lists(
            st.lists(st.floats(0, 1).map(lambda v: round(v, 3)), min_size=g, max_size=g, unique=True),
            min_size=1,
            max_size=4,
        )
    ),
    st.integers(1, 7),
)
def test_act_is_the_published_formula(scores: list[list[float]], top_k: int) -> None:
    """(anchor + sum of z × s over each one's top k) / (1 + models), whatever k is; one answer is never an error."""
    g = len(scores[0])
    for anchor in range(len(scores)):
        wanted = []
        for answer in range(g):
            total = scores[anchor][answer]
            for row in scores:
                best = sorted(row)[-min(top_k, g) :]
                if row[answer] in best and pstdev(row):
                    total += (row[answer] - fmean(row)) / pstdev(row) * row[answer]
            wanted.append(total / (1 + len(scores)))
        assert act(scores, anchor, top_k) == pytest.approx(wanted)


def test_who_scores_all_alike_says_nothing() -> None:
    """A row without spread adds nothing, so that it can't outvote anybody."""
    assert act([[0.6, 0.4], [0.5, 0.5], [0.5, 0.5]], 0, 2)[0] > act([[0.6, 0.4], [0.5, 0.5], [0.5, 0.5]], 0, 2)[1]


def test_top_k_keeps_impostors_out() -> None:
    """What is second for everybody gains nothing at k = 1, and does at k = 2: the field is the paper's ablation."""
    scores = [[0.6, 0.5, 0.0], [0.0, 0.5, 0.6]]
    assert act(scores, 0, 1)[1] == pytest.approx(0.5 / 3)
    assert act(scores, 0, 2)[1] > act(scores, 0, 1)[1]


# ---- the composition


def test_one_draw_is_a_vote_with_an_anchor() -> None:
    """Without scorer and with one draw the most frequent answer wins, and the agent named first breaks ties."""
    said = {"a": "4", "b": "5", "c": "6"}
    pool = {name: agent(name, text) for name, text in said.items()}
    twin = agent("twin", "5")
    assert ask(AnchorFusion([*pool.values(), twin], draws=1)).text == "5"
    assert ask(AnchorFusion([pool["a"], pool["b"], twin], draws=1)).text == "5"
    assert ask(AnchorFusion([pool["a"], pool["b"]], draws=1)).text == "4"
    assert ask(AnchorFusion([pool["b"], pool["a"]], draws=1)).text == "5"


def test_draws_are_confidence() -> None:
    """Who says the same three times outweighs two that waver, though they name the same answer once each."""
    sure, torn, also = agent("sure", "4"), agent("torn"), agent("also")
    torn.backend.script, also.backend.script = ["5", "6", "7"], ["5", "8", "9"]  # type: ignore[attr-defined]
    result = ask(AnchorFusion([torn, also, sure]))
    assert (result.text, result.usage.calls) == ("4", 9)
    assert len({call.key for call in calls(result)}) == 9


def test_confidence_is_a_scorer() -> None:
    """A scorer weighs each draw; the surest agent is the anchor."""
    pool = [agent("a", "5"), agent("b", "4"), agent("c", "6")]
    assert ask(AnchorFusion(pool, draws=1, confidence=Exact(["4"]))).text == "4"


@pytest.mark.parametrize("judge", [agent("judge", "well"), agent("judge", down())])
def test_nobody_sure(judge: ModelAgent) -> None:
    """If every score is 0 the most frequent answer is given, and that is noted."""
    pool = [agent("a", "5"), agent("b", "4"), agent("c", "four")]
    result = ask(AnchorFusion(pool, draws=1, confidence=Judge(judge)))
    assert result.text == "4"
    assert "nobody is sure of anything" in notes(result)[-1]


def test_a_confidence_that_is_no_number() -> None:
    """NaN would let anybody win: the scorer is to be mended."""

    class Broken:
        async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
            return float("nan") if reply.text == "5" else 0.5

    with pytest.raises(UsageError, match="gave NaN for the reply of a"):
        ask(AnchorFusion([agent("a", "5"), agent("b", "4")], draws=1, confidence=Broken()))


def test_dead_and_mute_members() -> None:
    """Who does not answer is no part of it; k may be larger than the answers; nobody at all is an error."""
    assert ask(AnchorFusion([agent("x", down()), agent("a", "4")], top_k=9)).text == "4"
    mute = [agent(name, Reply("", finish="abstain")) for name in "xy"]
    assert isinstance(ask(AnchorFusion(mute)).error, TooFewReplies)
    late = ask(AnchorFusion([agent("a", "4"), agent("b", "4"), agent("slow", "5", delay=60)], need=2, grace=1))
    assert late.seconds == pytest.approx(1)


def test_shapes_and_refusals() -> None:
    """Calls and depth are what the docstring says; what makes no sense is refused."""
    pair = [agent("a"), agent("b")]
    assert shape(AnchorFusion(pair)) == (6, 1)
    assert shape(AnchorFusion(pair, draws=1, confidence=Judge(agent("j")))) == (4, 2)
    wrongs: list[dict[str, object]] = [{"agents": []}, {"draws": 0}, {"top_k": 0}, {"need": 0}]
    for wrong in wrongs:
        with pytest.raises(UsageError, match="at least 1"):
            AnchorFusion(**{"agents": pair, **wrong})  # type: ignore[arg-type]


# ---- the claim


def right(mixture: Agent, world: World, n: int) -> float:
    """The share of questions it gets right."""

    async def work() -> float:
        questions = world.questions(n)
        said = [await perform(mixture, question.text, seed=1) for question in questions]
        return sum(q.answer_in(each.text) == q.gold for q, each in zip(questions, said, strict=True)) / n

    return run_virtual(work())


@pytest.mark.parametrize("first", [True, False])
def test_confidence_beats_the_vote(first: bool) -> None:
    """One able agent among four weak ones, all of whom know when they are right (auroc 0.8), wherever it is named."""
    world = World(seed=7)

    def made(name: str, accuracy: float) -> ModelAgent:
        return ModelAgent(
            Simulated(name, world, accuracy=accuracy, auroc=0.8, tokens=8), name, sampling=Sampling(logprobs=1)
        )

    able, weak = made("able", 0.8), [made(f"w{place}", 0.35) for place in range(4)]
    pool = [able, *weak] if first else [*weak, able]
    found = [right(mixture, world, 150) for mixture in (Vote(pool), AnchorFusion(pool, draws=1, confidence=Logprob()))]
    assert found[1] == pytest.approx(0.853, abs=0.001)
    assert found[0] < 0.72
