"""Symbolic mixture of experts: skills named, experts recruited by them, and the batch form that goes model by model."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import groupby

import pytest
from acting import agent, down

from motet import Budget, Debate, ModelAgent, Plurality, Reply, Scripted, Synthesize, Vote, estimate, perform
from motet.backend import Card, deltas
from motet.backends.cached import Cached, Memory
from motet.backends.simulated import Simulated, World
from motet.backends.wrapper import Wrapper
from motet.batch import Turn, Turns, ask_batch
from motet.clock import run_virtual
from motet.compose.symbolic_moe import SymbolicMoE, profile, read_keywords
from motet.errors import BudgetExceeded, TooFewReplies, UsageError
from motet.form import keywords_form
from motet.message import Delta, Request
from motet.outcome import Result
from motet.run import Agent
from motet.trace import CallStarted, Noted

A, B, C = agent("a"), agent("b"), agent("c")
SKILLS = {"a": {"algebra": 4.0, "law": -2.0}, "b": {"law": 5.0, "music": 1.0}, "c": {"music": 3.0, "algebra": 1.0}}


def ask(agent: Agent, question: str = "What?", **options: object) -> Result:
    """Put a question, in virtual time."""
    return run_virtual(perform(agent, question, **options))  # type: ignore[arg-type]


def notes(result: Result) -> list[str]:
    """What the run noted."""
    return [event.text for event in result.trace if isinstance(event, Noted)]


def experts(result: Result) -> list[str]:
    """Who answered, but for the keyword agent."""
    return [event.agent for event in result.trace if isinstance(event, CallStarted) and event.agent != "words"]


def words(*said: str) -> ModelAgent:
    """A keyword agent that names these, a draw each and then the first again."""
    draws = iter(said)
    return agent("words", said=lambda request: f"Keywords: {next(draws, said[0])}")


# ---- skills


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("Keywords: Algebra, law", ["algebra", "law"]),
        ("I think.\n**Keywords:**\n algebra; *set theory*.", ["algebra", "set theory"]),
        ("Keywords: algebra, algebra", ["algebra"]),
        ("Keywords:", []),
        ("algebra, law", []),
        ("It takes keywords: algebra", []),
        ("Keywords: this is no keyword but a whole long sentence, law", ["law"]),
    ],
)
def test_reading_keywords(text: str, keywords: list[str]) -> None:
    """Only a line of keywords is read, and only short ones count."""
    assert read_keywords(text) == keywords


def test_what_is_named_once_is_left_out() -> None:
    """Of several draws, a skill counts that two of them name; of one, every skill."""
    names = words("law, music", "law", "algebra", "rhyme", "law")
    result = ask(SymbolicMoE([A, B, C], Plurality(), names, SKILLS, k=1, recruit="top"))
    assert (experts(result), result.usage.calls) == (["b"], 5 + 1)
    result = ask(SymbolicMoE([A, B, C], Plurality(), words("musik"), SKILLS, k=2, draws=1, recruit="top"))
    assert experts(result) == ["c", "b"]  # both know music, c three times as well and b more besides


def test_skills_by_meaning() -> None:
    """By meaning, a skill in other letters is found."""
    pytest.importorskip("wordllama")
    found = SymbolicMoE([A], Plurality(), profiles=SKILLS, alike="meaning")._known(["equations", "attorneys"])
    assert found == ["algebra", "law"]
    assert SymbolicMoE([A], Plurality(), profiles=SKILLS)._known(["equations", "laws"]) == ["law"]


@pytest.mark.parametrize("said", ["no idea", "Keywords: cookery", down()])
def test_no_skill_that_is_known(said: object) -> None:
    """A keyword agent that says nonsense or fails: experts are recruited by their strength alone, and that is noted."""
    result = ask(SymbolicMoE([A, B, C], Plurality(), agent("words", said=said), SKILLS, k=2, recruit="top"))
    assert experts(result) == ["b", "c"]
    assert any("no skill that the profiles know" in text for text in notes(result))


def test_without_profiles() -> None:
    """Nobody is asked for skills, all are alike, and that is noted."""
    result = ask(SymbolicMoE([A, B, C], Plurality(), words("law")))
    assert result.usage.calls == 3
    assert "no expert has a profile, so all are alike" in notes(result)


def test_the_only_draw_that_came_counts() -> None:
    """Where the others failed there is no second to name a skill again."""
    said = iter(["Keywords: law", *[down()] * 4])
    known = {"a": {"law": 3.0}, "b": {"art": 9.0}}
    words = agent("words", said=lambda request: next(said))
    assert experts(ask(SymbolicMoE([A, B, C], Plurality(), words, known, k=1, recruit="top"))) == ["a"]


def test_skills_are_those_of_the_pool_in_any_case() -> None:
    """A skill of an agent that takes no part is none to be matched, and capitals make no other skill."""
    known = {"a": {"Law": 4.0}, "b": {"lawns": 2.0, "law": 1.0}, "stranger": {"laws": 9.0}}
    mixture = SymbolicMoE([A, B], Plurality(), agent("words", said="Keywords: laws"), known, k=1, recruit="top")
    assert (mixture._known(["law", "laws"]), experts(ask(mixture))) == (["law", "lawns"], ["b"])
    assert experts(ask(dataclasses.replace(mixture, keywords=agent("words", said="Keywords: Law")))) == ["a"]


# ---- recruiting


def test_experts_are_drawn_by_weight() -> None:
    """Suitability times strength squared is the weight of a draw; unsuitable ones are never drawn; seeds repeat."""

    async def work() -> Counter[str]:
        drawn: Counter[str] = Counter()
        for seed in range(300):
            mixture = SymbolicMoE([A, B, C], Plurality(), words("algebra"), SKILLS, draws=1)
            drawn.update(experts(await perform(mixture, "What?", seed=seed)))
        return drawn

    drawn = run_virtual(work())
    expected = {"a": 4 * 2**2, "c": 1 * 4**2}  # suitability × (strength over all skills) ** (1 / 0.5)
    assert set(drawn) == set(expected)
    assert drawn["a"] / sum(drawn.values()) == pytest.approx(expected["a"] / sum(expected.values()), abs=0.05)
    mixture = SymbolicMoE([A, B, C], Plurality(), agent("words", said="Keywords: algebra"), SKILLS)
    assert len({tuple(experts(ask(mixture, seed=3))) for _ in range(3)}) == 1


def test_an_expert_drawn_twice_answers_twice() -> None:
    """Draws with replacement are numbered draws."""
    result = ask(SymbolicMoE([A, B], Synthesize(C), agent("words", said="Keywords: law"), {"b": {"law": 3.0}}))
    asked = [event for event in result.trace if isinstance(event, CallStarted)]
    assert [event.agent for event in asked[5:]] == ["b", "b", "b", "c"]
    assert len({event.key for event in asked}) == 9


def test_profiles_without_any_good() -> None:
    """With nothing but failures on record the least bad are preferred, and nothing is divided by zero."""
    bad = {"a": {"law": -5.0}, "b": {"law": -1.0}, "c": {"law": 0.0}}
    named = agent("words", said="Keywords: law")
    assert experts(ask(SymbolicMoE([A, B, C], Plurality(), named, bad, k=1, recruit="top"))) == ["c"]
    assert ask(SymbolicMoE([A, B], Plurality(), named, {"a": {"law": 0.0}})).text in ("a", "b")


def test_others_are_recruited_for_the_dead() -> None:
    """If none of the recruited answers, others are recruited, and that is noted; nobody left is an error."""
    dead = agent("d", said=down())
    mixture = SymbolicMoE([dead, A], Plurality(), agent("words", said="Keywords: law"), {"d": {"law": 3.0}})
    result = ask(mixture)
    assert (result.text, result.outcome.state) == ("a", "degraded")
    assert any("others are" in text for text in notes(result))
    mute = agent("m", said=Reply("", finish="abstain"))
    assert isinstance(ask(SymbolicMoE([dead, mute], Plurality())).error, TooFewReplies)


def test_shape() -> None:
    """The draws, the experts and the aggregator; an estimate falls back as a run does."""
    found = estimate(SymbolicMoE([A, B, C], Synthesize(B), A, SKILLS), "What?")
    assert (found.calls, found.depth) == (5 + 3 + 1, 3)


@pytest.mark.parametrize(
    "options",
    [{"agents": []}, {"k": 0}, {"draws": 0}, {"temperature": 0}, {"recruit": "first"}, {"alike": "sound"}],
    ids=str,
)
def test_nonsense_is_refused(options: dict[str, object]) -> None:
    """No experts, none recruited, no draws, no temperature, no such way to recruit or to match."""
    with pytest.raises(UsageError):
        SymbolicMoE(**{"agents": [A], "aggregate": Plurality(), **options})  # type: ignore[arg-type]


def test_a_purse_that_skills_have_emptied() -> None:
    """It is what the error says, and nobody else is recruited in place of those that could not be paid."""
    result = ask(SymbolicMoE([A, B, C], Plurality(), words("law"), SKILLS, k=1), budget=Budget(calls=5))
    assert (type(result.error), result.stopped) == (BudgetExceeded, "calls")
    assert not any("others are" in text for text in notes(result))


def test_grace_begins_with_a_reply() -> None:
    """An expert that fails at once does not cut off those that are slow."""
    pool = [agent("dead", said=down()), agent("slow", delay=5)]
    result = ask(SymbolicMoE(pool, Plurality(), recruit="top", grace=1))
    assert (result.text, result.seconds) == ("slow", pytest.approx(5))


# ---- what it is worth

TOPICS = ("algebra", "history", "law", "music", "botany", "code")
WORLD = World(seed=4, topics=TOPICS)


@dataclass(frozen=True)
class Logged(Wrapper):
    """A backend that notes which model was called, in a list of everybody's."""

    log: list[str]

    async def complete(self, request: Request) -> Reply:
        self.log.append(self.name)
        await asyncio.sleep(1)
        return await self.backend.complete(request)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta


def topic(request: Request) -> str:
    """A keyword agent that knows what a question is about."""
    question = WORLD.find(request.text)
    assert question is not None
    return f"Keywords: {question.topic}, thinking"


def pool(log: list[str] | None = None) -> list[ModelAgent]:
    """Six experts, each good at one topic and poor at the others."""
    made = []
    for place, best in enumerate(TOPICS):
        skill = {each: 0.9 if each == best else 0.3 for each in TOPICS}
        able = Simulated(f"m{place}", WORLD, skill, discrimination=0.2, conformity=0.5, tokens=8)
        made.append(ModelAgent(Logged(able, log) if log is not None else able, f"e{place}"))
    return made


def profiles(agents: list[ModelAgent]) -> dict[str, dict[str, float]]:
    """What each answered right and wrong of 60 other questions."""

    async def graded(agent: ModelAgent) -> dict[str, float]:
        asked = WORLD.questions(60, start=10_000)
        told = [(await perform(agent, question.text)).text for question in asked]
        pairs = zip(asked, told, strict=True)
        return profile(([each.topic], each.answer_in(text) == each.gold) for each, text in pairs)

    return {agent.name: run_virtual(graded(agent)) for agent in agents}


def test_recruiting_by_skill_beats_the_vote_of_all() -> None:
    """Three recruited by profiles from 60 graded questions beat the plain vote of all six by 10 points (n=200)."""

    async def accuracy(mixture: Agent) -> float:
        results = [(each, await perform(mixture, each.text, seed=1)) for each in WORLD.questions(200)]
        return sum(each.answer_in(result.text) == each.gold for each, result in results) / 200

    agents = pool()
    named = ModelAgent(Scripted(topic, name="words"), "words")
    known = profiles(agents)
    found = {
        kind: run_virtual(accuracy(SymbolicMoE(agents, Plurality(), named, known, draws=1, recruit=kind)))
        for kind in ("sample", "top")
    }
    vote = run_virtual(accuracy(Vote(agents)))
    print(f"n=200: {found}, vote of six {vote}")
    assert found["sample"] >= vote + 0.1


# ---- the batch form


def test_a_batch_gives_the_same_replies_model_by_model() -> None:
    """The replies are those of one question after the other; each model's calls stand together in one block a step."""
    log: list[str] = []
    agents = pool(log)
    writer = ModelAgent(Logged(Simulated("writer", WORLD, discrimination=0.5), log), "writer")
    named = ModelAgent(Logged(Scripted(topic, name="words"), log), "words")
    pairs = zip(agents, TOPICS, strict=True)
    known = {agent.name: {best: 3.0, TOPICS[place - 1]: 1.0} for place, (agent, best) in enumerate(pairs)}
    mixture = SymbolicMoE(agents, Synthesize(writer), named, known, draws=2)
    questions = [question.text for question in WORLD.questions(24)]

    async def one_by_one() -> list[Result]:
        return [await perform(mixture, question, seed=2) for question in questions]

    alone = run_virtual(one_by_one())
    apart = [model for model, _ in groupby(log)]
    calls = Counter(log)
    log.clear()
    together = run_virtual(ask_batch(mixture, questions, seed=2))
    assert [result.reply for result in together] == [result.reply for result in alone]
    assert Counter(log) == calls
    blocks = [model for model, _ in groupby(log)]
    assert len(blocks) == len(set(blocks)) == 8, blocks  # words, six experts, the writer
    assert (blocks[0], blocks[-1]) == ("words", "writer")
    assert len(apart) > 60


def test_a_batch_of_any_composition() -> None:
    """Rounds of a debate go model by model too: a block for each model and round."""
    log: list[str] = []
    mixture = Debate(pool(log)[:3], rounds=2, stop_at_agreement=False)
    run_virtual(ask_batch(mixture, [question.text for question in WORLD.questions(10)]))
    assert [(model, len(list(group))) for model, group in groupby(log)][:2] == [("m0", 10), ("m1", 10)]
    assert len([model for model, _ in groupby(log)]) <= 6


def test_one_failure_is_its_own() -> None:
    """A question that fails is a result with an error; a dead model does not hold the turn."""
    log: list[str] = []
    agents = [agent("x", said=down()), *pool(log)[:2]]
    results = run_virtual(ask_batch(Vote(agents), [question.text for question in WORLD.questions(4)]))
    assert {result.outcome.state for result in results} == {"degraded"}
    results = run_virtual(ask_batch(agents[0], ["a", "b"]))
    assert all(result.error is not None for result in results)


def test_a_crash_in_one_ends_the_others() -> None:
    """A bug comes out as it is, and nobody goes on asking."""
    log: list[str] = []

    async def work() -> int:
        one = pool(log)[0]
        with pytest.raises(UsageError, match="the question is empty"):
            await ask_batch(one, [WORLD.question(0).text, ""])
        await asyncio.sleep(1)
        return len(asyncio.all_tasks())

    assert (run_virtual(work()), log) == (1, [])


def test_whoever_is_cancelled_gives_its_turn_back() -> None:
    """A call that is cancelled while it waits, or just after it was let in, does not stop the others."""

    async def work() -> list[str]:
        turns, done = Turns(), list[str]()

        async def call(model: str) -> None:
            async with turns.of(model):
                await asyncio.sleep(1)
                done.append(model)

        tasks = [asyncio.create_task(call(model)) for model in "aabbcc"]
        await asyncio.sleep(0.5)
        for place in (0, 2):
            tasks[place].cancel()
        for turn in list(turns._waiting["c"])[:1]:
            turns._waiting["c"].remove(turn)
            turns._under_way += 1
            turn.set_result(None)  # let in, and cancelled before it notices
        tasks[4].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return done

    assert run_virtual(work()) == ["a", "b", "c"]


def test_what_is_known_needs_no_turn() -> None:
    """A cached reply is given at once; a stream waits for its turn as a reply does."""
    log: list[str] = []
    cached = Cached(Logged(Simulated("m", WORLD), log), Memory())
    one = ModelAgent(cached, "one")
    question = WORLD.question(0).text
    first = ask(one, question)
    again = run_virtual(ask_batch(one, [question]))[0]
    assert (again.text, log, again.seconds) == (first.text, ["m"], 0)

    async def streamed() -> str:
        turn = Turn(Simulated("m", WORLD), Turns())
        whole = [delta.text async for delta in turn.stream(Request("m", prompt=f"Q: {question}\nA:"))]
        return "".join(whole)

    assert WORLD.question(0).answer_in(run_virtual(streamed()))


def test_a_skill_that_can_not_be_read_is_in_no_form() -> None:
    """Whoever is held to one would name what the reader takes for two, or for a sentence."""
    model = Scripted("Keywords: law", name="m", card=Card(grammar=True))
    skills = {"a": {"law": 2.0, "civil, and penal": 3.0, "s" * 50: 1.0}}
    ask(SymbolicMoE([A, B], Plurality(), ModelAgent(model, "judge", held=True), skills, draws=1))
    assert model.requests[0].sampling.grammar == keywords_form(["law"], 2)
