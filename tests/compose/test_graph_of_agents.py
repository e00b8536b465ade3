"""Graph-of-Agents: who is chosen by cards, who scores and hears whom, what is pooled, and what choosing is worth."""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest
from acting import agent, down

from motet import Chat, MixtureOfAgents, ModelAgent, Plurality, Reply, Scripted, Synthesize, estimate, perform
from motet.backend import deltas
from motet.backends.simulated import Simulated, World
from motet.backends.wrapper import Wrapper
from motet.clock import run_virtual
from motet.compose.graph_of_agents import GraphOfAgents
from motet.errors import UsageError
from motet.message import Delta, Request
from motet.outcome import Result
from motet.route.base import Forecast
from motet.route.by_topic import ByTopic
from motet.run import Agent, Run
from motet.trace import CallStarted, Noted


def ask(agent: Agent, question: str = "What?", **options: object) -> Result:
    """Put a question, in virtual time."""
    return run_virtual(perform(agent, question, **options))  # type: ignore[arg-type]


def notes(result: Result) -> list[str]:
    """What the run noted."""
    return [event.text for event in result.trace if isinstance(event, Noted)]


def node(name: str, scores: Mapping[str, int] | str = "", about: str = "") -> ModelAgent:
    """An agent that says its name, with a mark for each time it heard others; and scores others by what they said."""

    def said(request: Request) -> object:
        words = request.messages[-1].text
        if "Ranking:" in words:
            return "no idea"
        fenced = re.findall(r'<reply id="(\w+)">\n(.*?)\n</reply>', words, re.DOTALL)
        if "Scores:" in words:
            if isinstance(scores, str):
                return scores
            return "Scores: " + ", ".join(f"{letter}={scores[text]}" for letter, text in fenced)
        heard = "".join(text for _, text in fenced)
        return f"{name}({heard})" if heard else name

    return ModelAgent(Scripted(said, name=f"m-{name}"), name, about=about)  # type: ignore[arg-type]


GRADES = {"a": 2, "b": 6, "c": 10}
A, B, C = (node(name, GRADES) for name in "abc")


# ---- choice


def test_the_meta_agent_reads_cards_and_no_names() -> None:
    """It sees each `about` under a letter and no agent's name; whom it ranks first are the nodes, in its order."""
    pool = [node(f"zz{place}", about=f"field {place}") for place in range(5)]
    meta = agent("meta", said="Because. Ranking: D, B")
    result = ask(GraphOfAgents(pool, meta, k=2))
    first, *rest = [event for event in result.trace if isinstance(event, CallStarted)]
    assert "D: field 3" in first.request.text
    assert "zz" not in first.request.text
    assert [event.agent for event in rest] == ["zz3", "zz1", "zz1", "zz3"]
    assert result.text == "zz3(zz1(zz3))"


@pytest.mark.parametrize(
    ("said", "cards", "noted"),
    [
        ("I can't say", True, "could not be read"),
        (down(), True, "could not be read"),
        ("Ranking: C, B", False, "no agent has a card"),
    ],
)
def test_a_choice_that_can_not_be_made(said: object, cards: bool, noted: str) -> None:
    """A meta agent that fails or says nonsense, or agents without cards: the first are taken, and that is noted."""
    pool = [node(name, about=name * cards) for name in "abcd"]
    result = ask(GraphOfAgents(pool, agent("meta", said=said), k=2))
    assert any(noted in text for text in notes(result))
    assert {event.agent for event in result.trace if isinstance(event, CallStarted)} - {"meta"} == {"a", "b"}


def test_who_is_missing_from_the_choice_follows() -> None:
    """With fewer named than wanted, the others follow in the order given; an index twice counts once."""
    pool = [node(name, GRADES, about=name) for name in "abcd"]
    result = ask(GraphOfAgents(pool, agent("meta", said="Ranking: C, C, B"), k=3))
    asked = [event.agent for event in result.trace if isinstance(event, CallStarted)]
    assert asked[:4] == ["meta", "c", "b", "a"]


def test_a_router_in_place_of_the_meta_agent() -> None:
    """A given router chooses instead."""
    pool = [node(name) for name in "abcd"]
    route = ByTopic({"d": {"law": 0.9}, "b": {"law": 0.8, "art": 0.1}, "a": {"law": 0.2}, "c": {"art": 0.9}})
    result = ask(GraphOfAgents(pool, k=2, route=route), "A question of art")
    assert [event.agent for event in result.trace if isinstance(event, CallStarted)][:2] == ["c", "d"]


@dataclass(frozen=True)
class Naming:
    """A router that names these places."""

    places: tuple[int, ...]

    async def __call__(self, chat: Chat, agents: Sequence[Agent], run: Run, k: int) -> list[Forecast]:
        return [Forecast(place, 0.5) for place in self.places]


def test_a_router_that_says_nonsense() -> None:
    """A place that is not there is nobody, and one that is named twice is one node; none at all is an error."""
    pool = [node(name, GRADES) for name in "abcd"]
    result = ask(GraphOfAgents(pool, k=2, route=Naming((9, 2, 2, -1, 1))))
    assert [event.agent for event in result.trace if isinstance(event, CallStarted)][:2] == ["c", "b"]
    assert ask(GraphOfAgents(pool, k=2, route=Naming((3,)))).text == "d"
    with pytest.raises(UsageError, match="names none of the 4 agents"):
        ask(GraphOfAgents(pool, k=2, route=Naming(())))


def test_cards_have_letters_that_no_reply_has() -> None:
    """Inside a mixture the chat has replies under A and B already: the cards come after them."""
    pool = [node(name, about=f"field {name}") for name in "pqrs"]
    meta = agent("meta", said=lambda request: "Ranking: F, E" if "<reply" in request.text else "Ranking: A, B")
    result = ask(MixtureOfAgents([GraphOfAgents(pool, meta, k=2), node("z")], Synthesize(node("w"))))
    first, second = [e.request.text for e in result.trace if isinstance(e, CallStarted) and e.agent == "meta"]
    assert re.findall(r"^(\w): field", first, re.MULTILINE) == ["A", "B", "C", "D"]
    assert re.findall(r"^(\w): field", second, re.MULTILINE) == ["C", "D", "E", "F"]
    later = [
        e.agent for e in result.trace if isinstance(e, CallStarted) and e.path.startswith("/moa/graph-of-agents#1")
    ]
    assert later == ["meta", "s", "r", "r", "s"]


# ---- edges and message passing


def test_messages_go_from_strong_to_weak_and_back() -> None:
    """Each hears the stronger ones, best first, then the strongest hears the weaker ones' new replies; it is pooled."""
    result = ask(GraphOfAgents([A, B, C]))
    assert result.text == "c(b(c)a(cb))"
    assert result.usage.calls == 3 + 3 + 2 + 1


def test_mean_pooling_hears_everybody() -> None:
    """With a pool every source hears the weaker ones, and the pool gets all nodes' last replies, strongest first."""
    result = ask(GraphOfAgents([A, B, C], pool=Synthesize(node("w"))))
    assert all(text in result.text for text in ("c(b(c)a(cb))", "b(a(cb))", "a(cb)"))
    assert result.usage.calls == 3 + 3 + 2 + 2 + 1


def test_rounds() -> None:
    """A second round starts from the first one's replies; the shape is as stated."""
    for rounds, calls, depth in ((1, 9, 4), (2, 12, 6)):
        found = estimate(GraphOfAgents([A, B, C], rounds=rounds), "What?")
        assert (found.calls, found.depth) == (calls, depth)
    pool = [node(name, about=name) for name in "abcd"]
    found = estimate(GraphOfAgents(pool, rounds=2, pool=Synthesize(node("w"))), "What?")
    assert (found.calls, found.depth) == (1 + 6 + 2 * 4 + 1, 3 + 4 + 1)


def test_the_floor() -> None:
    """Whose share of the scores is not above the floor is out: it is not heard and hears nobody."""
    result = ask(GraphOfAgents([A, B, C], floor=0.2))
    assert result.text == "c(b(c))"
    assert ask(GraphOfAgents([A, B, C], floor=0.33)).text == "c(b(c))"
    lone = [node(name, {"a": 1, "b": 0, "c": 9}) for name in "abc"]
    assert ask(GraphOfAgents(lone, floor=0.3, pool=Plurality())).text == "c(a(c))"


def test_scores_that_can_not_be_read() -> None:
    """They count for nothing and are noted; one judge that can be read is enough; with none the order stands."""
    mute = [node(name, "I like them all") for name in "ab"]
    result = ask(GraphOfAgents([*mute, node("c", {"a": 1, "b": 9})]))
    assert result.text.startswith("b(")
    assert sum("could not be read" in text for text in notes(result)) == 2
    result = ask(GraphOfAgents([*mute, node("c", "Scores: A=5")]))
    assert result.text == "a(b(a)c(ab))"
    assert sum("could not be read" in text for text in notes(result)) == 3
    assert ask(GraphOfAgents([node(name, "Scores: A=0, B=0") for name in "abc"])).text == "a(b(a)c(ab))"


def test_a_judge_can_not_raise_itself() -> None:
    """A judge that gives everybody nearly nothing has no more say than another, since its scores sum to 1."""
    harsh = node("a", {"b": 1, "c": 1})
    kind = [node(name, {"a": 3, "b": 9, "c": 9}) for name in "bc"]
    assert ask(GraphOfAgents([harsh, *kind])).text.startswith("b(")


def test_dead_and_silent_nodes() -> None:
    """A dead node is missing; one that fails to say it again keeps its reply; nobody left is an error."""

    def stubborn(request: Request) -> object:
        return down("context_length") if "<reply" in request.text else "s"

    assert ask(GraphOfAgents([A, agent("x", said=down()), C])).text == "a(c(a))"
    result = ask(GraphOfAgents([agent("s", said=stubborn), agent("t", said=stubborn)]))
    assert (result.text, result.outcome.state) == ("s", "degraded")
    mute = [agent(name, said=Reply("", finish="abstain")) for name in "xyz"]
    assert ask(GraphOfAgents(mute)).error is not None


@pytest.mark.parametrize("options", [{"k": 1}, {"rounds": 0}, {"floor": 0.4}, {"floor": -0.1}])
def test_nonsense_is_refused(options: dict[str, object]) -> None:
    """Fewer than two nodes, no rounds, or a floor that might drop everybody."""
    with pytest.raises(UsageError):
        GraphOfAgents([A, B, C], **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        GraphOfAgents([A])


# ---- what it is worth

TOPICS = ("algebra", "history", "law", "music", "botany", "code")
WORLD = World(seed=5, topics=TOPICS)


@dataclass(frozen=True)
class Scoring(Wrapper):
    """A simulated model that also scores others: it sees whether a reply is right seven times in ten."""

    async def complete(self, request: Request) -> Reply:
        words = request.messages[-1].text
        if "Scores:" not in words:
            return await self.backend.complete(request)
        question = WORLD.find(request.text)
        assert question is not None
        lot = random.Random(request.key)
        fenced = re.findall(r'<reply id="(\w+)">\n(.*?)\n</reply>', words, re.DOTALL)
        seen = [
            (letter, (question.answer_in(text) == question.gold) == (lot.random() < 0.7)) for letter, text in fenced
        ]
        return Reply("Scores: " + ", ".join(f"{letter}={8 if right else 2}" for letter, right in seen))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta


def experts(discrimination: float) -> list[ModelAgent]:
    """Six agents, each good at its own topic, fair at the next one and poor at the others."""
    made = []
    for place, topic in enumerate(TOPICS):
        near = TOPICS[(place + 1) % 6]
        skill = {each: 0.9 if each == topic else 0.6 if each == near else 0.3 for each in TOPICS}
        backend = Simulated(f"m{place}", WORLD, accuracy=skill, discrimination=discrimination, conformity=0.5)
        made.append(ModelAgent(Scoring(backend), f"e{place}", about=f"an expert in {topic}, also knows {near}"))
    return made


def reader(request: Request) -> str:
    """A meta agent that takes those whose cards name the question's topic, the experts in it first."""
    question = WORLD.find(request.text)
    assert question is not None
    cards = dict(re.findall(r"^([A-F]): (.*)$", request.messages[-1].text, re.MULTILINE))
    order = sorted(
        cards, key=lambda name: (f"in {question.topic}" not in cards[name], question.topic not in cards[name])
    )
    return f"Ranking: {', '.join(order[:3])}"


def guess(request: Request) -> str:
    """A meta agent that chooses by lot."""
    return f"Ranking: {', '.join(random.Random(request.key).sample('ABCDEF', 3))}"


async def accuracy(mixture: Agent, n: int) -> tuple[float, float]:
    """Share of questions answered right, and calls a question."""
    right, calls = 0, 0
    for question in WORLD.questions(n):
        result = await perform(mixture, Chat.of(question.text), seed=1)
        right += question.answer_in(result.text) == question.gold
        calls += result.usage.calls
    return right / n, calls / n


def meta(said: Callable[[Request], str]) -> ModelAgent:
    """A meta agent that chooses so."""
    return ModelAgent(Scripted(said, name="meta"), "meta")


def compared(discrimination: float, n: int, **mixtures: Callable[[list[ModelAgent]], Agent]) -> dict[str, float]:
    """The accuracy of each mixture of the same six agents on the same questions."""

    async def work() -> dict[str, float]:
        pool = experts(discrimination)
        found = {name: await accuracy(make(pool), n) for name, make in mixtures.items()}
        print(f"discrimination {discrimination:g}, n={n}: {found}")
        return {name: right for name, (right, _) in found.items()}

    return run_virtual(work())


def moa(pool: list[ModelAgent]) -> Agent:
    """All six, in two layers, and the first of them to put their replies together."""
    return MixtureOfAgents(pool, Synthesize(pool[0]))


def by_cards(pool: list[ModelAgent]) -> Agent:
    """Three chosen by their cards."""
    return GraphOfAgents(pool, meta(reader))


def by_lot(pool: list[ModelAgent]) -> Agent:
    """Three chosen by lot."""
    return GraphOfAgents(pool, meta(guess))


def test_three_chosen_of_six_beat_all_six() -> None:
    """With cards that tell who knows what, 3 of 6 are at least as good as the mixture of all 6 (n=100)."""
    found = compared(0.2, 100, moa=moa, goa=by_cards)
    assert found["goa"] >= found["moa"]


@pytest.mark.long
def test_when_choosing_is_worth_it() -> None:
    """By 3 points and more where agents seldom tell a right answer from a wrong one, and because they are chosen: not
    by lot. Where they mostly can, all six are better, since a right answer among them is enough (n=500).
    """
    poor = compared(0.2, 500, moa=moa, goa=by_cards, lot=by_lot)
    assert poor["goa"] >= poor["moa"] + 0.03
    assert poor["goa"] >= poor["lot"] + 0.05
    good = compared(0.8, 500, moa=moa, goa=by_cards)
    assert good["goa"] < good["moa"]
