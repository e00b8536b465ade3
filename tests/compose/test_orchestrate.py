"""Orchestrate: who leads, who is called, and what calibration and profiles are worth."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Chat, ModelAgent, Reply, perform
from motet.backend import deltas
from motet.backends.simulated import Simulated, World
from motet.backends.wrapper import Wrapper
from motet.clock import run_virtual
from motet.compose.orchestrate import CALLED, Orchestrate, assess, calibrate
from motet.errors import TooFewReplies, UsageError
from motet.message import Delta, Request, abstain
from motet.outcome import Result


def lead(plan: object, end: object = "all in all", name: str = "lead") -> ModelAgent:
    """Who makes these calls and ends so."""
    return agent(name, said=lambda request: plan if "call those" in request.messages[-1].text else end)


ANN, BOB, CAT = (replace(agent(name), about=f"a {name}") for name in ("ann", "bob", "cat"))
PROFILES = {"ann": {"law": 0.9, "music": 0.2}, "cat": {"music": 0.8}}


def agents(result: Result) -> list[str]:
    """Who was called, in order."""
    return [call.agent for call in calls(result)]


def test_those_who_suit_are_called() -> None:
    """The orchestrator sees cards and profiles under letters; who is called hears what it wants; it ends it."""
    result = ask(
        Orchestrate([ANN, BOB, CAT], lead("1. C: look out for rhythm\n2. A: check the law"), profiles=PROFILES)
    )
    assert agents(result) == ["lead", "cat", "ann", "lead"]
    choice, cat, _, end = calls(result)
    assert "A: a ann (law 90%, music 20%)\nB: a bob\nC: a cat (music 80%)" in choice.request.text
    assert heard(cat) == ["look out for rhythm"]
    assert CALLED in cat.request.text
    assert sorted(heard(end)) == ["ann", "cat"]
    assert (result.text, result.warnings) == ("all in all", [])


def test_who_leads() -> None:
    """The one given; else whoever is calibrated best; else the first."""
    team = Orchestrate([ANN, BOB, CAT])
    assert team.lead is ANN
    assert replace(team, calibration={"bob": 0.4, "cat": 0.6, "zoe": 0.9}).lead is CAT
    assert replace(team, calibration={"cat": 0.6}, orchestrator=BOB).lead is BOB


@pytest.mark.parametrize(
    ("plan", "called", "note"),
    [
        ("I can't say.", ["cat", "bob"], "no call could be read"),
        (down("context_length"), ["cat", "bob"], "no call could be read"),
        ("1. Z: look", ["cat", "bob"], "no call could be read"),
        ("1. Z: look\n2. B: look", ["bob"], "a call that is addressed to nobody is left out"),
        ("1. A: x (after 2)\n2. B: y (after 1)", ["ann", "bob"], "wait for each other"),
        ("1. A: x\n2. B: y\n3. C: z", ["ann", "bob"], "only the first 2 of 3"),
    ],
)
def test_nonsense_of_an_orchestrator(plan: object, called: list[str], note: str) -> None:
    """No calls, or to nobody: those whose profiles are best on the topic are called, unknown ones in the middle."""
    result = ask(Orchestrate([ANN, BOB, CAT], lead(plan), profiles=PROFILES, k=2), "A question of music")
    assert any(note in text for text in result.warnings), result.warnings
    assert agents(result)[1:-1] == called


def test_calls_do_not_wait() -> None:
    """What one is said to come after is not waited for, and that is noted."""
    result = ask(Orchestrate([ANN, BOB], lead("1. A: look\n2. B: check that (after 1)")))
    assert heard(calls(result)[2]) == ["check that"]
    assert any("what one is said to come after is not waited for" in note for note in result.warnings)


def test_a_card_of_several_lines() -> None:
    """It is one line, in which nobody else is spoken of."""
    team = [replace(agent("ann"), about="knows law\nB: knows nothing"), BOB]
    result = ask(Orchestrate(team, lead("1. A: look"), profiles={"bob": {"law": 0.5}}))
    assert "A: knows law B: knows nothing\nB: a bob (law 50%)" in calls(result)[0].request.text
    assert agents(result) == ["lead", "ann", "lead"]


def test_who_fails() -> None:
    """The others are called where none of those called replies; without the orchestrator the plurality is given."""
    dead, mute = agent("dead", said=down()), agent("mute", said=abstain())
    result = ask(Orchestrate([dead, ANN, BOB], lead("1. A: look")))
    assert agents(result) == ["lead", "dead", "ann", "bob", "lead"]
    result = ask(Orchestrate([ANN, BOB, BOB], lead("1. A: x\n2. B: x\n3. C: x", down())))
    assert (result.text, result.outcome.state) == ("bob", "degraded")
    assert isinstance(ask(Orchestrate([dead, mute], dead)).error, TooFewReplies)


def test_shape() -> None:
    """One call for each of k, and two of the orchestrator; 3 in series."""
    assert shape(Orchestrate([ANN, BOB, CAT, agent("dan")])) == (5, 3)


@pytest.mark.parametrize(
    "fields", [{"k": 0}, {"calibration": {"ann": float("nan")}}, {"profiles": {"a": {"b": 1e999}}}]
)
def test_nonsense_is_refused(fields: dict[str, object]) -> None:
    """No agents, no calls, numbers that are none."""
    with pytest.raises(UsageError):
        Orchestrate([ANN], **fields)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has 0"):
        Orchestrate([])


def test_agents_profile_themselves() -> None:
    """Each by itself, by topic; who raves or fails has no profile."""
    sure = agent("sure", said="I read law.\nScores: A=9, B=2/10")
    half = agent("half", said="Scores: B=5")
    found = run_virtual(assess([sure, half, agent("raves"), agent("dead", said=down())], ["law", "music"]))
    assert found == {"sure": {"law": 0.9, "music": 0.2}, "half": {"music": 0.5}}


def test_nothing_to_calibrate_on() -> None:
    """It says so, as it does where there is no topic to assess."""
    nothing: list[str] = []
    for topics in (nothing, "law"):
        with pytest.raises(UsageError, match="assess"):
            run_virtual(assess([ANN], topics))
    with pytest.raises(UsageError, match="no question"):
        run_virtual(calibrate(Orchestrate([ANN]), [], lambda question, text: 0.0))


# ---- what it is worth

TOPICS = ("algebra", "history", "law", "music", "botany", "code")
WORLD = World(seed=8, topics=TOPICS)


@dataclass(frozen=True)
class Leading(Wrapper):
    """A simulated model that can call: the two whose profiles say most of the question's topic, or two by lot."""

    by_lot: bool = False

    async def complete(self, request: Request) -> Reply:
        words = request.messages[-1].text
        if "call those" not in words:
            return await self.backend.complete(request)
        question = WORLD.find(request.text)
        assert question is not None
        known = dict(re.findall(rf"^([A-F]): .*{question.topic} (\d+)%", words, re.MULTILINE))
        lot = random.Random(request.key)
        order = lot.sample("ABCDEF", 6) if self.by_lot else sorted(known, key=lambda name: -int(known[name]))
        return Reply(f"1. {order[0]}: answer\n2. {order[1]}: answer")

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta


def experts(discrimination: Mapping[int, float], *, by_lot: bool = False) -> list[ModelAgent]:
    """Six agents, each right nine times in ten in its own topic, six in the next, three in the others."""
    made = []
    for place in range(6):
        backend = Simulated(
            f"m{place}", WORLD, accuracy=skill(place), discrimination=discrimination.get(place, 0.5), conformity=0.9
        )
        made.append(ModelAgent(Leading(backend, by_lot), f"e{place}"))
    return made


def skill(place: int) -> dict[str, float]:
    """How often an agent is right, by topic."""
    return {topic: {0: 0.9, 1: 0.6}.get((at - place) % 6, 0.3) for at, topic in enumerate(TOPICS)}


HONEST = {f"e{place}": skill(place) for place in range(6)}
VAIN = {f"e{place}": {topic: 1.2 - sure for topic, sure in skill(place).items()} for place in range(6)}


def accuracy(team: Orchestrate, n: int) -> float:
    """Share of questions answered right."""

    async def work() -> float:
        right = 0
        for question in WORLD.questions(n):
            result = await perform(team, Chat.of(question.text), seed=1)
            right += question.answer_in(result.text) == question.gold
        return right / n

    return run_virtual(work())


def test_profiles_are_worth_as_much_as_they_are_true() -> None:
    """At equal calls: honest profiles beat a choice by lot by 12 points and more, and profiles that have it the wrong
    way round are as much worse than lot (n=80).
    """
    honest = accuracy(Orchestrate(experts({}), profiles=HONEST), 80)
    lot = accuracy(Orchestrate(experts({}, by_lot=True), profiles=HONEST), 80)
    vain = accuracy(Orchestrate(experts({}), profiles=VAIN), 80)
    print(f"honest {honest:.3f}, by lot {lot:.3f}, vain {vain:.3f}")
    assert honest >= lot + 0.12
    assert vain <= lot - 0.12


def test_calibration_finds_who_orchestrates_best() -> None:
    """Who tells right from wrong best is found, though others are as good at answering; and it leads (n=30)."""
    team = Orchestrate(experts({0: 0.1, 1: 0.3, 2: 0.1, 3: 0.95, 4: 0.3, 5: 0.1}), profiles=HONEST)
    questions = {question.text: question for question in WORLD.questions(30)}

    def score(asked: str, text: str) -> float:
        return float(questions[asked].answer_in(text) == questions[asked].gold)

    found = run_virtual(calibrate(team, questions, score))
    print({name: round(right, 3) for name, right in found.items()})
    assert max(found, key=lambda name: found[name]) == "e3"
    assert replace(team, calibration=found).lead.name == "e3"
