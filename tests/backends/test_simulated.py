"""Simulated agents: what was planted is found again, from the replies alone."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist, fmean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.agent import ModelAgent
from motet.backend import HOLD, Backend, Card, Price
from motet.backends.simulated import Question, Simulated, World
from motet.budget import Budget, Cost
from motet.clock import run_virtual
from motet.errors import BackendError, UsageError
from motet.message import Chat, Message, Reply, Request, Sampling, hear
from motet.perform import perform
from motet.prompt import Example, chat_prompt, completion_prompt
from motet.run import Run
from motet.testing import check_backend

NORMAL = NormalDist()
N = 2_000


def asks(question: Question, *, draw: str = "", seed: int = 0, heard: Sequence[str] = (), logprobs: int = 0) -> Request:
    """The request of a chat agent that is asked a question and has heard some answers."""
    chat = hear(Chat.of(question.text), [Reply(f"I say {text}.", id=f"r{i}") for i, text in enumerate(heard)])
    sampling = Sampling(logprobs=logprobs)
    return Request("m", chat_prompt(chat, Random(0)), sampling=sampling, draw=draw, seed=seed)


def answers(backend: Simulated, requests: Iterable[Request]) -> list[str]:
    """What a backend answers, read from the words of its replies."""

    async def ask() -> list[str]:
        found = []
        for request in requests:
            question = backend.world.find(request.text)
            assert question is not None
            found.append(question.answer_in((await backend.complete(request)).text))
        return found

    return asyncio.run(ask())


def rights(backend: Simulated, questions: Sequence[Question], draw: str = "") -> list[bool]:
    """On which questions a backend is right."""
    given = answers(backend, (asks(question, draw=draw) for question in questions))
    return [answer == question.gold for answer, question in zip(given, questions, strict=True)]


def near(share: float, expected: float, n: int) -> bool:
    """Whether a share of `n` is within four standard errors of what was expected."""
    return abs(share - expected) <= 4 * math.sqrt(max(expected * (1 - expected), 1e-9) / n) + 1e-12


def both(p: float, q: float, rho: float) -> float:
    """Probability that two normals of correlation `rho` are both below their quantiles, by the trapezoid rule."""
    a, b, load = NORMAL.inv_cdf(p), NORMAL.inv_cdf(q), math.sqrt(rho)
    if rho == 1:
        return min(p, q)
    step, rest = 0.01, math.sqrt(1 - rho)
    points = [place * step for place in range(-800, 801)]
    below = (NORMAL.cdf((a - load * z) / rest) * NORMAL.cdf((b - load * z) / rest) * NORMAL.pdf(z) for z in points)
    return step * sum(below)


# ---- the world


@given(seed=st.integers(0, 10**9), number=st.integers(0, 10**9), wrong=st.integers(1, 40))
def test_a_question_has_one_right_answer_and_as_many_different_wrong_ones_as_asked(
    seed: int, number: int, wrong: int
) -> None:
    """Answers are distinct, recognised in a text, and the question is found again in its own words."""
    world = World(seed=seed, wrong=wrong)
    question = world.question(number)
    every = {question.gold, *question.wrong}
    assert len(every) == wrong + 1
    assert all(question.answer_in(f"Not 1234567, but {answer}.") == answer for answer in every)
    assert question.answer_in(question.text) == ""
    assert world.find(f"Words before. {question.text} And after.") == question


def test_questions_differ_by_seed_and_take_topics_in_turn() -> None:
    """The same arguments give the same questions; another seed other ones; a topic can be asked for alone."""
    world = World(seed=3, topics=("a", "b", "c"))
    questions = world.questions(300)
    assert questions == World(seed=3, topics=("a", "b", "c")).questions(300)
    assert Counter(question.topic for question in questions) == {"a": 100, "b": 100, "c": 100}
    assert {q.gold for q in questions} != {q.gold for q in World(seed=4, topics=("a", "b", "c")).questions(300)}
    alone = world.questions(5, start=7, topic="b")
    assert [question.number for question in alone] == [7, 10, 13, 16, 19]
    assert {question.topic for question in alone} == {"b"}
    assert World(seed=4).find(world.question(0).text) is None


def test_no_place_or_size_gives_the_right_answer_away() -> None:
    """The right answer is the smallest as often as any other: ties broken by size favour nobody."""
    questions = World(seed=8, wrong=3).questions(N)
    ranks = Counter(sorted([question.gold, *question.wrong]).index(question.gold) for question in questions)
    assert all(near(ranks[rank] / N, 1 / 4, N) for rank in range(4))


def test_hardness_is_standard_normal() -> None:
    """The factor that all agents share has mean 0 and variance 1 over questions."""
    hardness = [question.hardness for question in World(seed=2).questions(N)]
    assert abs(fmean(hardness)) < 4 / math.sqrt(N)
    assert abs(fmean(z * z for z in hardness) - 1) < 4 * math.sqrt(2 / N)


# ---- errors


def test_accuracy_by_topic_is_recovered() -> None:
    """Each topic is answered as well as was planted, 0 and 1 included."""
    planted = {"never": 0.0, "poor": 0.3, "good": 0.85, "always": 1.0}
    world = World(seed=5, topics=tuple(planted))
    backend = Simulated("m", world, accuracy=planted, rho=0.4, within=0.4)
    for topic, accuracy in planted.items():
        share = fmean(rights(backend, world.questions(2_000, topic=topic)))
        assert near(share, accuracy, 2_000), (topic, share)


@pytest.mark.parametrize(("rho", "sigma"), [(0.0, 0.0), (0.3, 0.3), (0.7, 0.7), (0.2, 0.8), (1.0, 1.0)])
def test_correlation_between_agents_is_the_copulas(rho: float, sigma: float) -> None:
    """Two agents are right together as often as the bivariate normal says, whatever their loadings."""
    world, n = World(seed=6), 3 * N
    questions = world.questions(n)
    one = rights(Simulated("one", world, accuracy=0.6, rho=rho, within=0.5), questions)
    two = rights(Simulated("two", world, accuracy=0.8, rho=sigma, within=0.5), questions)
    together = fmean(a and b for a, b in zip(one, two, strict=True))
    expected = both(0.6, 0.8, math.sqrt(rho * sigma))
    assert near(together, expected, n), (together, expected)
    assert near(together, 0.48, n) is (rho * sigma == 0)  # 0.48 is what independent agents would give


@pytest.mark.parametrize(("rho", "within"), [(0.0, 0.0), (0.0, 0.6), (0.5, 0.0), (0.3, 0.5), (0.2, 1.0)])
def test_correlation_between_draws_is_the_copulas(rho: float, within: float) -> None:
    """Two draws of one agent are right together as often as rho + (1 - rho) * within says."""
    world = World(seed=7)
    questions = world.questions(N)
    backend = Simulated("m", world, accuracy=0.65, rho=rho, within=within)
    pairs = zip(rights(backend, questions), rights(backend, questions, draw="1"), strict=True)
    together = fmean(a and b for a, b in pairs)
    expected = both(0.65, 0.65, rho + (1 - rho) * within)
    assert near(together, expected, N), (together, expected)


def test_a_family_errs_together_and_strangers_do_not() -> None:
    """Two backends of one family are as correlated as two draws of one; without a family they are independent."""
    world = World(seed=9)
    questions = world.questions(N)
    one, two = (rights(Simulated(n, world, accuracy=0.5, within=0.7, family="f"), questions) for n in "ab")
    assert near(fmean(a and b for a, b in zip(one, two, strict=True)), both(0.5, 0.5, 0.7), N)
    other = rights(Simulated("b", world, accuracy=0.5, within=0.7), questions)
    assert near(fmean(a and b for a, b in zip(one, other, strict=True)), 0.25, N)


def test_an_agent_that_repeats_itself_repeats_its_wrong_answers() -> None:
    """With `within` at 1 every draw gives the same answer; at 0 wrong answers differ between draws."""
    world = World(seed=10, wrong=5)
    questions = world.questions(500)
    for within, same in ((1.0, True), (0.0, False)):
        backend = Simulated("m", world, accuracy=0.5, within=within)
        draws = [answers(backend, (asks(q, draw=draw) for q in questions)) for draw in ("", "1")]
        assert (draws[0] == draws[1]) is same


@pytest.mark.parametrize("agreement", [None, 0.4, 0.7, 1.0])
def test_wrong_answers_agree_as_often_as_planted(agreement: float | None) -> None:
    """Among two agents that both err, the share that give the same wrong answer is the world's `agreement`."""
    world = World(seed=11, wrong=4, agreement=agreement)
    questions = world.questions(N)
    one, two = (answers(Simulated(name, world, accuracy=0.2, within=0.5), map(asks, questions)) for name in "ab")
    wrong = [a == b for a, b, q in zip(one, two, questions, strict=True) if q.gold not in (a, b)]
    assert near(fmean(wrong), agreement or 1 / 4, len(wrong)), fmean(wrong)


def test_another_seed_of_the_run_is_another_draw() -> None:
    """A run's seed changes what varies between draws, and leaves what a family repeats."""
    world = World(seed=12)
    questions = world.questions(N)
    backend = Simulated("m", world, accuracy=0.5, within=0.6)
    seeds = [answers(backend, (asks(q, seed=seed) for q in questions)) for seed in (0, 1)]
    pairs = zip(*seeds, questions, strict=True)
    assert near(fmean(a == b == q.gold for a, b, q in pairs), both(0.5, 0.5, 0.6), N)


def test_another_part_is_another_draw() -> None:
    """The same backend given another system prompt draws anew, as copies with other roles do."""
    world = World(seed=13)
    backend = Simulated("m", world, accuracy=0.5)
    questions = world.questions(N)

    def part(words: str) -> list[bool]:
        given = answers(backend, (Request("m", (Message("system", words), Message("user", q.text))) for q in questions))
        return [answer == question.gold for answer, question in zip(given, questions, strict=True)]

    one, two = part("You are a doctor."), part("You are a lawyer.")
    assert near(fmean(a and b for a, b in zip(one, two, strict=True)), 0.25, N)


# ---- hearing


@pytest.mark.parametrize("style", ["chat", "completion"])
def test_discrimination_and_conformity_are_recovered(style: str) -> None:
    """Of those it hears, an agent picks the right answer, or the majority's, or its own, as often as planted."""
    world = World(seed=14, wrong=4)
    backend = Simulated("m", world, accuracy=0.0, discrimination=0.3, conformity=0.5)
    picked: Counter[str] = Counter()
    examples = [Example(world.question(N).text, world.question(N).gold)]

    def part(chat: Chat) -> Request:
        if style == "chat":
            return Request("m", chat_prompt(chat, Random(0), examples=examples))
        return Request("m", prompt=completion_prompt(chat, Random(0), examples=examples))

    for question in world.questions(N):
        alone = backend.think(part(Chat.of(question.text))).answer
        popular = next(answer for answer in question.wrong if answer != alone)
        replies = [Reply(f"It is {words}.", id=f"r{i}") for i, words in enumerate((popular, question.gold, popular))]
        request = part(hear(Chat.of(question.text), replies, "Others said:"))
        thought = backend.think(request)
        assert Counter(thought.heard) == {popular: 2, question.gold: 1}
        kinds = {question.gold: "right", popular: "majority"}
        assert thought.answer in (question.gold, popular, alone)
        picked[kinds.get(thought.answer, "own")] += 1
    assert near(picked["right"] / N, 0.3, N), picked
    assert near(picked["majority"] / N, 0.7 * 0.5, N), picked
    assert near(picked["own"] / N, 0.7 * 0.5, N), picked


def test_ties_are_broken_by_lot() -> None:
    """Where those heard are tied, each of their answers is followed as often."""
    world = World(seed=15, wrong=2)
    backend = Simulated("m", world, accuracy=1.0, conformity=1.0)
    thoughts = [backend.think(asks(q, heard=q.wrong)) for q in world.questions(N)]
    assert near(fmean(t.answer == t.question.wrong[0] for t in thoughts), 0.5, N)


def test_who_is_not_persuaded_stays_with_what_it_said() -> None:
    """An agent deaf to others gives in a second round what it gave in the first, wherever its own words stand."""
    world = World(seed=16)
    backend = Simulated("m", world, accuracy=0.5)
    for question in world.questions(200):
        for draw in ("", "1"):
            alone = backend.think(asks(question, draw=draw)).answer
            assert backend.think(asks(question, draw=draw, heard=question.wrong)).answer == alone
    examples = [Example(world.question(N).text, "12345", heard=("12345", "54321"))]
    for question in world.questions(200):
        chats = [Chat.of(question.text)]
        chats.append(hear(chats[0], [Reply(question.wrong[0], id="r1")]))
        prompts = [completion_prompt(chat, Random(0), examples=examples) for chat in chats]
        thoughts = [backend.think(Request("m", prompt=prompt)) for prompt in prompts]
        assert [thought.heard for thought in thoughts] == [(), question.wrong[:1]]
        assert thoughts[0].answer == thoughts[1].answer
    question = world.question(0)
    turns = (
        Message("user", question.text),
        Message("assistant", f"It is {question.wrong[2]}."),
        Message("user", "Are you sure?"),
    )
    assert backend.think(Request("m", turns)).answer == question.wrong[2]


def test_heard_texts_of_a_later_turn_are_heard() -> None:
    """Texts fenced in a turn after the agent's own are heard as well, and the question is still found."""
    world = World(seed=17)
    question = world.question(3)
    chat = Chat.of([Message("user", question.text), Message("assistant", f"It is {question.wrong[0]}.")])
    heard = hear(chat, [Reply(f"It is {question.gold}.", id="r1")], "Others said:")
    thought = Simulated("m", world, discrimination=1.0).think(Request("m", chat_prompt(heard, Random(0))))
    assert thought.own == question.wrong[0]
    assert thought.heard == (question.gold,)
    assert thought.answer == question.gold


def test_deception_is_consistent_wrong_and_sure() -> None:
    """A deceiver lies on the stated share of questions, the same way in every draw, whatever it hears, and is sure."""
    world = World(seed=18)
    liar = Simulated("liar", world, accuracy=1.0, deception=0.4, discrimination=1.0, conformity=1.0, auroc=0.95)
    honest = Simulated("liar", world, accuracy=1.0, auroc=0.95)
    lied = 0
    for question in world.questions(N):
        first = liar.think(asks(question))
        assert first.answer in (question.gold, question.wrong[0])
        lied += not first.right
        again = liar.think(asks(question, draw="1", heard=[question.gold]))
        assert again.answer == first.answer
        assert first.logprob == honest.think(asks(question)).logprob
    assert near(lied / N, 0.4, N)


# ---- confidence


@pytest.mark.parametrize("auroc", [0.5, 0.7, 0.95])
def test_confidence_tells_right_from_wrong_as_well_as_planted(auroc: float) -> None:
    """The area under the ROC curve of the reported log-probabilities is the planted one."""
    world = World(seed=19)
    backend = Simulated("m", world, accuracy=0.6, auroc=auroc)
    thoughts = [backend.think(asks(question)) for question in world.questions(N)]
    right = [thought.logprob for thought in thoughts if thought.right]
    wrong = [thought.logprob for thought in thoughts if not thought.right]
    order = sorted([(value, 1) for value in right] + [(value, 0) for value in wrong])
    ranks = sum(rank for rank, (_, mark) in enumerate(order, 1) if mark)
    measured = (ranks - len(right) * (len(right) + 1) / 2) / (len(right) * len(wrong))
    if auroc == 0.5:
        assert {*right, *wrong} == {right[0]}  # it has no idea: it is always as sure
        assert math.exp(right[0]) == pytest.approx(0.6)
    else:
        assert abs(measured - auroc) < 4 * math.sqrt(auroc * (1 - auroc) / min(len(right), len(wrong)))


def test_confidence_is_calibrated() -> None:
    """Of the replies an agent is so sure of, that share is right."""
    world = World(seed=20)
    backend = Simulated("m", world, accuracy=0.6, auroc=0.85)
    thoughts = sorted((backend.think(asks(q)) for q in world.questions(N)), key=lambda thought: thought.logprob)
    for start in range(0, N, N // 5):
        part = thoughts[start : start + N // 5]
        assert near(fmean(t.right for t in part), fmean(math.exp(t.logprob) for t in part), len(part))


async def test_log_probabilities_are_reported_where_asked_for() -> None:
    """The tokens spell the text, each carries the confidence, and alternatives share the whole probability."""
    world = World(seed=21)
    backend = Simulated("m", world, auroc=0.9)
    request = asks(world.question(1), logprobs=2)
    reply = await backend.complete(request)
    assert "".join(token.text for token in reply.logprobs) == reply.text
    assert len(reply.logprobs) == reply.usage.output
    assert {token.logprob for token in reply.logprobs} == {backend.think(request).logprob}
    assert all(sum(math.exp(lp) for _, lp in token.top) == pytest.approx(1) for token in reply.logprobs)
    assert not (await backend.complete(asks(world.question(1)))).logprobs


# ---- cost, time, failure


async def test_tokens_are_counted_from_the_texts_and_drawn_around_their_median() -> None:
    """Usage is what the words take, and the length of replies is lognormal around the planted median."""
    world = World(seed=22)
    backend = Simulated("m", world, tokens=60, tokens_sigma=0.3)
    lengths = []
    for question in world.questions(2_000):
        request = asks(question)
        reply = await backend.complete(request)
        assert reply.usage.output == backend.count(reply.text) == len(reply.text) / 4
        assert reply.usage.input == backend.count(request.text) + 4
        lengths.append(reply.usage.output)
    assert abs(median(lengths) - 60) <= 2
    inside = fmean(60 * math.exp(-0.3) <= length <= 60 * math.exp(0.3) for length in lengths)
    assert abs(inside - 0.683) < 0.05


async def test_a_reply_longer_than_allowed_is_cut_and_has_no_answer() -> None:
    """`max_tokens` and the budget's allowance cut a reply: it then gives no answer and is not usable."""
    world = World(seed=23)
    question = world.question(0)
    for request in (Request("m", (Message("user", question.text),), sampling=Sampling(max_tokens=8)),
                    Request("m", (Message("user", question.text),), allowance=8)):  # fmt: skip
        reply = await Simulated("m", world, tokens=50, tokens_sigma=0).complete(request)
        assert (reply.state, reply.usage.output, question.answer_in(reply.text)) == ("cut", 8, "")


async def test_a_short_reply_is_the_bare_answer() -> None:
    """A model that says little says the answer."""
    world = World(seed=23)
    question = world.question(0)
    reply = await Simulated("m", world, accuracy=1.0, tokens=1, tokens_sigma=0).complete(asks(question))
    assert reply.text == question.gold


def test_latency_is_lognormal_with_the_planted_share_of_stragglers() -> None:
    """On a virtual clock, calls take their planted median and the planted share takes `straggler_factor` as long."""
    world = World(seed=24)
    backend = Simulated("m", world, latency=2.0, latency_sigma=0.25, stragglers=0.1, straggler_factor=50)
    questions = world.questions(N)

    async def timed(question: Question) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await backend.complete(asks(question))
        return loop.time() - began

    async def everybody() -> list[float]:
        return await asyncio.gather(*map(timed, questions))

    taken = run_virtual(everybody())
    slow = [seconds for seconds in taken if seconds > 20]
    quick = [seconds for seconds in taken if seconds <= 20]
    assert near(len(slow) / N, 0.1, N)
    assert median(quick) == pytest.approx(2.0, rel=0.03)
    assert median(slow) == pytest.approx(100.0, rel=0.1)
    inside = [2 * math.exp(-0.25) <= seconds <= 2 * math.exp(0.25) for seconds in quick]
    assert near(fmean(inside), 0.683, len(quick))
    assert taken == pytest.approx([backend.seconds(asks(question)) for question in questions], abs=1e-6)


def test_a_stream_says_the_same_in_the_same_time() -> None:
    """Streamed pieces spell the whole reply, take as long as the call, and end with it."""
    world = World(seed=25)
    backend = Simulated("m", world, latency=3.0, latency_sigma=0.0)
    request = asks(world.question(2))

    async def streamed() -> tuple[list[str], Reply | None, float]:
        pieces, whole = [], None
        async for delta in backend.stream(request):
            pieces.append(delta.text)
            whole = delta.reply or whole
        return pieces, whole, asyncio.get_running_loop().time()

    pieces, whole, seconds = run_virtual(streamed())
    reply = run_virtual(backend.complete(request))
    assert len(pieces) > 2
    assert "".join(pieces) == reply.text
    assert whole == reply
    assert seconds == pytest.approx(3.0, abs=1e-6)


async def test_failures_come_by_kind_as_often_as_planted() -> None:
    """Calls fail with the planted kinds at the planted rates, streamed or not; the rest answer."""
    world = World(seed=26)
    backend = Simulated("m", world, failures={"timeout": 0.1, "rate_limit": 0.25})
    seen: Counter[str] = Counter()
    for question in world.questions(N):
        try:
            await backend.complete(asks(question))
        except BackendError as error:
            seen[error.kind] += 1
            if sum(seen.values()) < 20:
                with pytest.raises(BackendError, match=error.kind):
                    _ = [delta async for delta in backend.stream(asks(question))]
    assert near(seen["timeout"] / N, 0.1, N)
    assert near(seen["rate_limit"] / N, 0.25, N)


async def test_a_retry_inside_a_run_is_a_new_draw_of_failure() -> None:
    """A second attempt, reserved as a retry loop does, fails independently of the first."""
    world = World(seed=27)
    backend = Simulated("m", world, failures={"server": 0.5})
    outcomes: Counter[tuple[bool, ...]] = Counter()
    for question in world.questions(1_000):
        hold = await Budget().reserve(Cost())
        token = HOLD.set(hold)
        failed = []
        for _ in range(2):
            try:
                await backend.complete(asks(question))
                failed.append(False)
            except BackendError:
                failed.append(True)
            assert hold.another()
        HOLD.reset(token)
        outcomes[tuple(failed)] += 1
    assert all(near(outcomes[a, b] / 1_000, 0.25, 1_000) for a in (True, False) for b in (True, False))


async def test_a_growing_conversation_reuses_its_prefix() -> None:
    """With `reuses_prefix`, everything up to the last assistant turn is reported as cached, and nothing before that."""
    world = World(seed=28)
    backend = Simulated("m", world, reuses_prefix=True)
    first = (Message("system", "You work step by step."), Message("user", world.question(0).text))
    reply = await backend.complete(Request("m", first))
    assert reply.usage.cached == 0
    turns = (*first, Message("assistant", reply.text))
    longer = await backend.complete(Request("m", (*turns, Message("user", "Now review it."))))
    assert longer.usage.cached == backend.count(Request("m", turns).text) + 4 * len(turns)
    assert longer.usage.cached < longer.usage.input
    plain = Simulated("m", world)
    assert (await plain.complete(Request("m", (*turns, Message("user", "Now review it."))))).usage.cached == 0


# ---- the same every time


def test_replies_depend_on_content_alone() -> None:
    """A new instance, asked in another order, gives the same replies byte for byte."""
    world = World(seed=29, topics=("a", "b"), agreement=0.5)

    def made() -> Simulated:
        return Simulated("m", World(seed=29, topics=("a", "b"), agreement=0.5), rho=0.3, within=0.3, conformity=0.5,
                         discrimination=0.3, deception=0.1, auroc=0.8)  # fmt: skip

    requests = [asks(q, draw=draw, heard=q.wrong[:2]) for q in world.questions(200) for draw in ("", "1", "2.1")]

    async def everything(backend: Simulated, order: Sequence[Request]) -> dict[str, Reply]:
        return {request.key: await backend.complete(request) for request in order}

    forth = asyncio.run(everything(made(), requests))
    back = asyncio.run(everything(made(), requests[::-1]))
    assert forth == back
    assert len({reply.text for reply in forth.values()}) > 200


@dataclass(frozen=True)
class Panel:
    """Everybody answers; then one hears all of them."""

    members: Sequence[ModelAgent]
    chair: ModelAgent
    name: str = "panel"

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies = await run.all(run.ask(member, chat) for member in self.members)
        return await run.answer(self.chair, hear(chat, replies, "Others said:"))


@pytest.mark.parametrize("style", ["chat", "completion"])
async def test_simulated_members_work_in_a_mixture(style: str) -> None:
    """In a real run a chair that recognises right answers is right whenever a member is, and everything is priced."""
    world = World(seed=30)
    card = Card(completes=True, price=Price(input=1.0, output=2.0))
    backends = [Simulated(f"m{i}", world, accuracy=0.4, card=card) for i in range(3)]
    members = [ModelAgent(backend, backend.name, style=style) for backend in backends]  # type: ignore[arg-type]
    judge = Simulated("judge", world, accuracy=0.0, discrimination=1.0, card=card)
    panel = Panel(members, ModelAgent(judge, "judge", style=style))  # type: ignore[arg-type]
    covered = 0
    for question in world.questions(60):
        result = await perform(panel, question.text)
        some = any(question.answer_in(member.text) == question.gold for member in result.replies[:3])
        assert (question.answer_in(result.text) == question.gold) is some
        assert result.usage.calls == 4
        assert result.usage.usd == pytest.approx((result.usage.input + 2 * result.usage.output) / 1e6)
        assert not result.warnings
        covered += some
    assert near(covered / 60, 1 - 0.6**3, 60)


@dataclass(frozen=True)
class Crowd:
    """One agent, asked as many questions at once."""

    member: ModelAgent
    questions: Sequence[Question]
    name: str = "crowd"

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        replies = await run.all(run.ask(self.member, Chat.of(question.text)) for question in self.questions)
        return replies[-1]


# ---- what makes no sense


def test_a_prompt_without_a_question_of_the_world_fails_loudly() -> None:
    """A simulated model can't answer what it knows nothing about: a `bad_request` that says what to do."""
    backend = Simulated("m", World(seed=1))
    for request in (Request("m", (Message("user", "Why?"),)), Request("m", prompt="Q: Why?\nA:"), Request("m"),
                    Request("m", (Message("user", World(seed=2).question(0).text),))):  # fmt: skip
        with pytest.raises(BackendError, match=r"bad_request.*seed 1.*World\.question"):
            backend.think(request)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"accuracy": 1.2}, "accuracy on general can't be 1.2"),
        ({"accuracy": {"maths": 0.5}}, "accuracies are given for maths"),
        ({"rho": -0.1}, "rho can't be -0.1"),
        ({"within": math.nan}, "within can't be nan"),
        ({"auroc": 1.0}, "auroc can't be 1"),
        ({"failures": {"tired": 0.1}}, "'tired' is no kind"),
        ({"failures": {"server": 0.6, "timeout": 0.6}}, "failures together can't be 1.2"),
        ({"failures": {"server": -0.5, "timeout": 0.6}}, "kind server can't be -0.5"),
        ({"latency": -1.0}, "latency can't be -1"),
        ({"tokens": math.inf}, "tokens can't be inf"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, object], words: str) -> None:
    """What is no probability, time or kind of failure is an error that names the agent and the value."""
    with pytest.raises(UsageError, match=words):
        Simulated("m", World(), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seed": -1}, "seed -1"),
        ({"wrong": 0}, "0 wrong answers"),
        ({"topics": ()}, "0 topics"),
        ({"agreement": 0.2}, "give something from 0.3333 to 1"),
        ({"agreement": 1.01}, "can't agree with probability 1.01"),
    ],
)
def test_a_world_that_makes_no_sense_is_refused(arguments: dict[str, object], words: str) -> None:
    """A world with impossible arguments is an error that says what would do."""
    with pytest.raises(UsageError, match=words):
        World(**arguments)  # type: ignore[arg-type]


async def test_it_keeps_the_contract_of_backends() -> None:
    """The checks that every backend passes."""
    world = World()
    backend = Simulated("m", world, latency=0.001)
    assert isinstance(backend, Backend)
    await check_backend(backend, asks(world.question(0)))
