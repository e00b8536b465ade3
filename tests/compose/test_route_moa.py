"""RouteMoA: who is asked before anything is known, how answers correct the scores, when it ends, and what it saves."""

from __future__ import annotations

import math
import random
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec
import pytest
from acting import agent, down

from motet import Chat, MixtureOfAgents, ModelAgent, Plurality, Reply, Sampling, Scripted, Synthesize, estimate, perform
from motet.backend import Card, Price, deltas
from motet.backends.simulated import Simulated, World
from motet.backends.wrapper import Wrapper
from motet.ballot import read_scores
from motet.clock import run_virtual
from motet.compose.route_moa import Judged, RouteMoA
from motet.errors import TooFewReplies, UsageError
from motet.message import Delta, Request
from motet.outcome import Result
from motet.route.base import Forecast, Router, ranked
from motet.route.by_topic import ByTopic
from motet.run import Agent
from motet.spec import build, describe
from motet.spec.registry import variants
from motet.trace import CallStarted, Noted


def ask(agent: Agent, question: str = "What?", **options: object) -> Result:
    """Put a question, in virtual time."""
    return run_virtual(perform(agent, question, **options))  # type: ignore[arg-type]


def notes(result: Result) -> list[str]:
    """What the run noted."""
    return [event.text for event in result.trace if isinstance(event, Noted)]


def asked(result: Result) -> list[str]:
    """Who was called, in order."""
    return [event.agent for event in result.trace if isinstance(event, CallStarted)]


def member(name: str, own: int | None = None, others: int | None = None) -> ModelAgent:
    """An agent that says its name and how many it heard, and states scores where it is asked to."""

    def said(request: Request) -> str:
        letters = re.findall(r'<reply id="(\w+)">', request.text)
        scores = [f"own={own}"] if own is not None else []
        scores += [f"{letter}={others}" for letter in letters] if others is not None else []
        line = f"\nScores: {', '.join(scores)}" if scores and "Scores:" in request.text else ""
        return f"{name}{len(letters)}{line}"

    return agent(name, said=said)


def route(**quality: float) -> ByTopic:
    """A scorer with one quality an agent."""
    return ByTopic({name: {"all": value} for name, value in quality.items()})


# ---- lines of scores


@pytest.mark.parametrize(
    ("text", "rest", "scores"),
    [
        ("42\nScores: own=7, A=4", "42", {"own": 7, "A": 4}),
        ("42\n**Scores:** own: 7/10; A = 4 out of 10; B: 2.5", "42", {"own": 7, "A": 4, "B": 2.5}),
        ("42\nScores:\n- own: 7\n- A: 4\n\nThe end.", "42\n\n\nThe end.", {"own": 7, "A": 4}),
        ('42\nScores: {"own": 7, "A": 4}', "42", {"own": 7, "A": 4}),
        ("Scores: A=1\nNo, wait.\nScores: A=9", "Scores: A=1\nNo, wait.", {"A": 9}),
        ("Scores: A=1, A=9, B=3", "", {"B": 3}),
        ("Scores: A=11, B=-1, own=70%, C=5", "", {}),
        ("Their scores: A=1", "Their scores: A=1", {}),
        ("A: 7\nB: 3", "A: 7\nB: 3", {}),
        ("", "", {}),
    ],
)
def test_reading_scores(text: str, rest: str, scores: dict[str, float]) -> None:
    """The last line of scores is read and taken off; what is twice, out of range or in prose is no score."""
    assert read_scores(text, ["own", "A", "B"], 10) == (rest, scores)


def test_a_long_reply_keeps_its_beginning() -> None:
    """Only the end is searched, and nothing of the reply is lost."""
    text = "word " * 10_000
    assert read_scores(text + "\nScores: A=3", ["A"], 10) == (text.strip(), {"A": 3})


# ---- the ranking before and after


def test_only_the_shortlist_is_asked() -> None:
    """The k best forecasts answer; who is worse than the best by more than the gap never does."""
    pool = [member(name, 9) for name in "abcd"]
    result = ask(RouteMoA(pool, Plurality(), route(a=0.3, b=0.9, c=0.85, d=0.6)))
    assert asked(result) == ["b", "c"]
    result = ask(RouteMoA(pool, Plurality(), route(a=0.3, b=0.9, c=0.85, d=0.6), k=1))
    assert asked(result) == ["b"]


def test_scores_go_no_further() -> None:
    """The line of scores is taken off before a reply is heard or given, and the last layer is not asked for any."""
    pool = [member("a", 2, 1), member("b", 3, 1)]
    result = ask(RouteMoA(pool, Plurality(), layers=2))
    calls = [event for event in result.trace if isinstance(event, CallStarted)]
    assert len(calls) == 4
    assert "Scores:" in calls[0].request.text
    assert not any("Scores:" in call.request.text or "own=" in call.request.text for call in calls[2:])
    assert result.text == "b2"  # the best of the ranking stands first


def test_self_assessment_changes_who_is_next() -> None:
    """An agent that is unsure of its reply gives its place to one that was not asked yet."""
    pool = [member("a", 1), member("b", 6), member("c", 6)]
    result = ask(RouteMoA(pool, Plurality(), route(a=0.8, b=0.75, c=0.7), k=2, layers=2))
    assert asked(result) == ["a", "b", "b", "c"]


def test_cross_assessment_is_of_the_layer_before_by_the_best() -> None:
    """Who ranks highest judges what it heard; its scores bring one down that was sure of itself."""
    pool = [member("a", 7, 1), member("b", 9, 10), member("c", 5)]
    result = ask(RouteMoA(pool, Plurality(), route(a=0.8, b=0.62, c=0.61), k=2, layers=3, accept=1))
    assert asked(result) == ["a", "b", "a", "b", "c", "a"]
    judged = Judged((2, 1, 1), {0: 0.8, 1: 0.6})
    judged.hear({0: {"own": 7}, 1: {"own": 9}}, {})
    assert judged.score(0) == pytest.approx((2 * 0.8 + 0.7) / 3)
    judged.hear({0: {"own": 5, "A": 3, "B": 2}, 1: {"own": 9, "A": 10}}, {"A": 1, "B": 0})
    assert judged.score(0) == pytest.approx((2 * 0.8 + 0.6 + 0.2) / 4)  # 0 is the only one that scored both
    assert judged.score(1) == pytest.approx((2 * 0.6 + 0.9 + 0.3) / 4)


def test_it_ends_when_a_scored_answer_is_good_enough() -> None:
    """A high forecast alone does not end it; a stated score that keeps it high does, and that is noted."""
    sure = ask(RouteMoA([member("a", 9), member("b", 2)], Plurality(), route(a=0.9, b=0.8)))
    assert (len(asked(sure)), "layer 1 of 3 was good enough, so it is the last" in notes(sure)) == (2, True)
    mute = ask(RouteMoA([member("a"), member("b")], Plurality(), route(a=0.9, b=0.8)))
    assert len(asked(mute)) == 6
    assert any("a stated no score of its own" in text for text in notes(mute))
    assert any("nobody scored the replies" in text for text in notes(mute))


def test_without_the_judges() -> None:
    """With no weight on assessments nobody is asked for any, and the forecast stands."""
    result = ask(RouteMoA([member("a", 9, 9), member("b", 9, 9)], Plurality(), weights=(1, 0, 0)))
    assert len(asked(result)) == 6
    assert not any("Scores:" in event.request.text for event in result.trace if isinstance(event, CallStarted))


def test_cost_and_latency_decide_between_near_equals() -> None:
    """The dearer of two that are nearly as good comes second, and so does the slower; not a much better one."""
    near = {0: Forecast(0, 0.8, usd=0.1, seconds=1), 1: Forecast(1, 0.78, usd=0.01, seconds=9)}
    quality = {0: 0.8, 1: 0.78}.__getitem__
    assert ranked(near, quality, cost=0.05, latency=0) == [1, 0]
    assert ranked(near, quality, cost=0, latency=0.05) == [0, 1]
    assert ranked(near, {0: 0.9, 1: 0.78}.__getitem__, cost=0.05, latency=0) == [0, 1]
    dear = ModelAgent(Scripted("dear", name="m"), "dear", sampling=Sampling(max_tokens=1000))
    dear.backend.card = Card(price=Price(output=20))  # type: ignore[misc]
    cheap = agent("cheap")
    assert asked(ask(RouteMoA([dear, cheap], Plurality(), k=1, layers=1))) == ["cheap"]
    known = ByTopic(usd={"dear": 0.0, "cheap": 1.0})
    assert asked(ask(RouteMoA([dear, cheap], Plurality(), known, k=1, layers=1))) == ["dear"]


def test_topics_are_whole_words() -> None:
    """Scores of the topics that stand in the question count, else the mean; unknown agents have what is said."""

    async def forecasts(question: str) -> list[float]:
        found: list[Forecast] = []

        class Asking:
            name = "asking"

            async def __call__(self, chat: Chat, run: object) -> Reply:
                found.extend(await table(chat, pool, run, 1))  # type: ignore[arg-type]
                return Reply("done")

        await perform(Asking(), question)
        return [each.quality for each in sorted(found, key=lambda each: each.place)]

    table, pool = ByTopic({"a": {"art": 0.9, "law": 0.1}}, unknown=0.4), [agent("a"), agent("b")]
    assert run_virtual(forecasts("Art or what?")) == [0.9, 0.4]
    assert run_virtual(forecasts("Party or start?")) == [0.5, 0.4]
    table = ByTopic({"a": {"c++": 0.9, "c": 0.3}, "b": {".net": 0.8, "net": 0.2}})
    assert run_virtual(forecasts("Is C++ faster than .NET?")) == [pytest.approx(0.6), pytest.approx(0.5)]
    assert run_virtual(forecasts("Is c faster than a net?")) == [0.3, 0.2]


# ---- what goes wrong


def test_the_next_take_the_place_of_the_dead() -> None:
    """Who gives no usable reply is out and the next in the ranking is asked; a layer is one that replied."""
    pool = [agent("a", said=down()), agent("b", said=Reply("", finish="abstain")), member("c"), member("d")]
    result = ask(RouteMoA(pool, Plurality(), k=1, layers=1))
    assert (asked(result), result.text) == (["a", "b", "c"], "c0")
    dead = [agent(name, said=down()) for name in "ab"]
    assert isinstance(ask(RouteMoA(dead, Plurality())).error, TooFewReplies)


def test_nobody_is_left_for_a_later_layer() -> None:
    """Where all fail once they hear others, the layer before stands, and that is noted."""
    shy = [agent(name, said=lambda request: down() if "<reply" in request.text else "4") for name in "abc"]
    result = ask(RouteMoA(shy, Plurality(), k=2, weights=(1, 0, 0)))
    assert (asked(result), result.text) == (["a", "b", "a", "b", "c"], "4")
    assert "nobody is left to ask for layer 2 of 3; the one before stands" in notes(result)
    assert not any("nobody is left" in text for text in notes(ask(RouteMoA([member("a")], Plurality()))))


def test_scores_without_a_reply() -> None:
    """A line of scores alone is no reply."""
    lone = agent("a", said="Scores: own=10")
    assert asked(ask(RouteMoA([lone, member("b", 9)], Plurality(), k=1)))[:2] == ["a", "b"]
    result = ask(RouteMoA([lone], Plurality()))
    assert isinstance(result.error, TooFewReplies)
    assert "a stated scores and gave no reply to score" in notes(result)


@dataclass(frozen=True)
class Nobody:
    """A router that names nobody there is."""

    async def __call__(self, chat: Chat, agents: object, run: object, k: int) -> list[Forecast]:
        return [Forecast(7, 0.9)]


def test_nonsense_is_refused() -> None:
    """No agents, no layers, nobody a layer, no weight on the forecast; a router that names nobody says so."""
    wrong: list[dict[str, object]] = [
        {"agents": []},
        {"k": 0},
        {"layers": 0},
        {"weights": (0, 1, 1)},
        {"weights": (1, -1, 1)},
    ]
    for options in wrong:
        with pytest.raises(UsageError):
            RouteMoA(**{"agents": [member("a")], "aggregate": Plurality(), **options})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="names none"):
        ask(RouteMoA([member("a")], Plurality(), Nobody()))


def test_shape() -> None:
    """At most k × layers calls and the aggregator's, layers + 1 in series, whatever is forecast."""
    pool = [member(name) for name in "abcde"]
    for table in (ByTopic(), route(a=0.99, b=0.98, c=0.97, d=0.1, e=0.1)):
        found = estimate(RouteMoA(pool, Synthesize(pool[0]), table), "What?")
        assert (found.calls, found.depth) == (3 * 3 + 1, 4)


def test_it_is_data() -> None:
    """A mixture with its router is written down and built again."""
    assert set(variants(Router)) == {"by_topic", "by_cards"}
    pool = [agent("a"), agent("b")]
    made = RouteMoA(tuple(pool), Plurality(), route(a=0.9, b=0.1), weights=(3.0, 1.0, 0.0))
    again = build(describe(made), models={each.backend.name: each.backend for each in pool})
    assert again == made


# ---- what it is worth

TOPICS = ("algebra", "history", "law", "music", "botany", "code")
WORLD = World(seed=6, topics=TOPICS)


@dataclass(frozen=True)
class Stating(Wrapper):
    """A simulated model that states how sure it is, and sees whether others are right seven times in ten."""

    async def complete(self, request: Request) -> Reply:
        sampling = msgspec.structs.replace(request.sampling, logprobs=1)
        reply = await self.backend.complete(msgspec.structs.replace(request, sampling=sampling))
        if "Scores:" not in request.text:
            return reply
        question = WORLD.find(request.text)
        assert question is not None
        lot = random.Random(request.key)
        scores = {"own": round(10 * math.exp(reply.logprobs[0].logprob))}
        for letter, text in re.findall(r'<reply id="(\w+)">\n(.*?)\n</reply>', request.text, re.DOTALL):
            scores[letter] = 8 if (question.answer_in(text) == question.gold) == (lot.random() < 0.7) else 2
        line = "Scores: " + ", ".join(f"{name}={score}" for name, score in scores.items())
        return msgspec.structs.replace(reply, text=f"{reply.text}\n{line}")

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta


def experts(discrimination: float) -> tuple[list[ModelAgent], dict[str, dict[str, float]]]:
    """Six agents, each good at a topic, fair at its neighbours and poor at the others; and their skills."""
    pool, skills = [], {}
    for place, topic in enumerate(TOPICS):
        near = (TOPICS[place - 1], TOPICS[(place + 1) % 6])
        skill = {each: 0.85 if each == topic else 0.75 if each in near else 0.3 for each in TOPICS}
        able = Simulated(f"m{place}", WORLD, skill, discrimination=discrimination, conformity=0.5, auroc=0.8)
        skills[f"e{place}"] = skill
        pool.append(ModelAgent(Stating(able), f"e{place}"))
    return pool, skills


def measured(mixture: Agent, n: int) -> tuple[float, float, float]:
    """Accuracy, calls and tokens a question."""

    async def work() -> tuple[float, float, float]:
        right, calls, tokens = 0, 0, 0
        for question in WORLD.questions(n):
            result = await perform(mixture, question.text, seed=1)
            right += question.answer_in(result.text) == question.gold
            calls, tokens = calls + result.usage.calls, tokens + result.usage.tokens
        return right / n, calls / n, tokens / n

    found = run_virtual(work())
    print(f"{mixture.name} n={n}: {found[0]:.3f}, {found[1]:.1f} calls, {found[2]:.0f} tokens")
    return found


def test_it_saves_most_of_what_a_mixture_of_all_costs() -> None:
    """A quarter of the calls and 15 % of the tokens of six agents in three layers are enough for it (n=60)."""
    pool, skills = experts(0.2)
    _, moa_calls, moa_tokens = measured(MixtureOfAgents(pool, Plurality(), layers=3), 60)
    _, calls, tokens = measured(RouteMoA(pool, Plurality(), ByTopic(skills)), 60)
    assert calls <= 0.25 * moa_calls
    assert tokens <= 0.15 * moa_tokens


@pytest.mark.long
def test_what_the_saving_costs() -> None:
    """Nothing where agents seldom tell right from wrong, as a mixture of all is diluted. Where they often do, 3 points
    and more, since whoever is heard helps; and nothing, at a third of the tokens, with a higher bar (n=400).
    """
    pool, skills = experts(0.2)
    assert (
        measured(RouteMoA(pool, Plurality(), ByTopic(skills)), 400)[0]
        >= measured(MixtureOfAgents(pool, Plurality(), layers=3), 400)[0]
    )
    pool, skills = experts(0.4)
    moa, _, moa_tokens = measured(MixtureOfAgents(pool, Plurality(), layers=3), 400)
    assert measured(RouteMoA(pool, Plurality(), ByTopic(skills)), 400)[0] <= moa - 0.03
    right, _, tokens = measured(RouteMoA(pool, Plurality(), ByTopic(skills), accept=0.9), 400)
    assert right >= moa - 0.005
    assert tokens <= 0.35 * moa_tokens


def test_a_weight_of_zero_is_no_evidence() -> None:
    """What a judge says that has no weight ends nothing."""
    judged = Judged((2, 0, 0), {0: 0.9})
    judged.hear({0: {"own": 10, "A": 10}}, {"A": 0})
    assert not judged.evident(0)
    assert judged.score(0) == pytest.approx(0.9)
