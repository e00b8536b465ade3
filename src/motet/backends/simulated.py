"""Agents whose truth is known: the instrument on which claims about mixtures are tested.

A `World` makes questions, each with one right answer and some wrong ones. A `Simulated` backend in it is right as
often as it is told to be, errs together with others to a stated degree, listens, deceives, costs, dawdles and fails.

    >>> import asyncio
    >>> from motet.message import Message
    >>> world = World(seed=1, topics=("algebra", "history"))
    >>> question = world.question(7)
    >>> question.text
    '[w1q7] history: which number is it?'
    >>> able = Simulated("able", world, accuracy={"algebra": 0.9, "history": 1.0})
    >>> reply = asyncio.run(able.complete(Request("able", (Message("user", question.text),))))
    >>> question.answer_in(reply.text) == question.gold
    True

The model of errors is a one-factor Gaussian copula. Agent `a` is right on item `i` when

    sqrt(rho_a) * z_i + sqrt(1 - rho_a) * e_aid  <  the p_a quantile of the normal distribution,
    e_aid = sqrt(within_a) * u_ai + sqrt(1 - within_a) * v_aid,

with `z` common to all agents (how hard the item is), `u` to all draws and copies of one family, `v` new in each draw.
So the latent correlation is `sqrt(rho_a * rho_b)` between agents, `rho + (1 - rho) * within` between draws of one.

Everything is drawn by hashing content (the world's seed, the item, the request), never from a stream of random
numbers: neither the order of calls nor their timing changes a reply. `v` depends on the draw, the run's seed and
the words before the question, and not on what was heard: an agent that is not persuaded stays with what it said.
"""

from __future__ import annotations

import asyncio
import math
import re
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from statistics import NormalDist

import msgspec

from motet.backend import HOLD, Card, prompt_tokens
from motet.errors import KINDS, BackendError, Kind, UsageError
from motet.message import Delta, Reply, Request, Token, Usage

_MARK = re.compile(r"\[w(\d+)q(\d+)\]")
_NUMBER = re.compile(r"\b\d{5}\b")
_FENCE = "<reply id="
_FENCED = re.compile(r'<reply id="[^"\n]*">\n(.*?)\n</reply>', re.DOTALL)
_SUGGESTED = re.compile(r"\nSuggested answer: (.*)")
_WORDS = "let now see how the sum can add and you may try any old way but ask why not "
"""What a reply says before its answer: four characters a token, as `Simulated.count` counts them."""

_normal = NormalDist().inv_cdf
_share = NormalDist().cdf
_eight = struct.Struct("<8Q").unpack


def _uniforms(content: str) -> list[float]:
    """Eight numbers strictly between 0 and 1 that depend on `content` alone."""
    data = blake2b(content.encode("utf-8", "replace"), digest_size=64).digest()
    return [((word >> 12) + 0.5) * 2.0**-52 for word in _eight(data)]


class Question(msgspec.Struct, frozen=True):
    """One question of a world, with its truth.

    Args:
        number: its number; `world.question(number)` makes it again.
        id: unique over worlds with different seeds.
        topic: what it is about.
        text: how it is asked; carries the id, by which a backend finds it.
        gold: the right answer.
        wrong: the wrong ones, the popular one first.
        hardness: the factor all agents share: standard normal over questions, high where many err.
    """

    number: int
    id: str
    topic: str
    text: str
    gold: str
    wrong: tuple[str, ...]
    hardness: float

    def answer_in(self, text: str) -> str:
        """The last answer to this question, right or wrong, that `text` gives; "" if it gives none."""
        for found in reversed(_NUMBER.findall(text)):
            if found == self.gold or found in self.wrong:
                return str(found)
        return ""


@dataclass(frozen=True)
class World:
    """As many questions as wanted, the same ones for the same arguments.

    Args:
        seed: another seed, other questions.
        topics: what they are about, in turn.
        wrong: wrong answers to each.
        agreement: probability that two agents that err on their own give the same wrong answer; None for 1 / `wrong`,
            where no wrong answer is more popular than another.

    Raises:
        UsageError: an argument is out of its range.
    """

    seed: int = 0
    topics: tuple[str, ...] = ("general",)
    wrong: int = 3
    agreement: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "topics", tuple(self.topics))
        if self.seed < 0 or self.wrong < 1 or not self.topics:
            raise UsageError(
                f"a world of seed {self.seed} with {self.wrong} wrong answers and {len(self.topics)} topics makes no "
                f"sense: give a seed of 0 or more, and at least one of the others"
            )
        if self.agreement is not None and not 1 / self.wrong <= self.agreement <= 1:
            raise UsageError(
                f"wrong answers can't agree with probability {self.agreement:g} when there are {self.wrong} of them: "
                f"give something from {1 / self.wrong:.4g} to 1"
            )

    @property
    def popular(self) -> float:
        """Probability that an agent that errs gives the popular wrong answer.

        The others share the rest alike, so two agree with probability q² + (1 - q)² / (n - 1); solved for q.
        """
        if self.agreement is None:
            return 1 / self.wrong
        spare = (self.agreement - 1 / self.wrong) * (self.wrong - 1) / self.wrong
        return 1 / self.wrong + math.sqrt(max(0.0, spare))

    def question(self, number: int) -> Question:
        """The question of this number (0 or more)."""
        return _question(self.seed, self.topics, self.wrong, number)

    def questions(self, n: int, *, start: int = 0, topic: str | None = None) -> list[Question]:
        """The first `n` questions from number `start` on, of one topic if it is given."""
        if topic is None:
            return [self.question(number) for number in range(start, start + n)]
        if topic not in self.topics:
            raise UsageError(f"this world has no topic {topic!r}; it has: {', '.join(self.topics)}")
        first = start + (self.topics.index(topic) - start) % len(self.topics)
        return [self.question(first + place * len(self.topics)) for place in range(n)]

    def find(self, text: str) -> Question | None:
        """The first question of this world that `text` asks."""
        for mark in _MARK.finditer(text):
            if int(mark[1]) == self.seed:
                return self.question(int(mark[2]))
        return None


@lru_cache(maxsize=1 << 14)
def _question(seed: int, topics: tuple[str, ...], wrong: int, number: int) -> Question:
    start, stride, right, popular, hardness, *_ = _uniforms(f"question {seed} {number}")
    # Distinct numbers of five digits, a stride apart on a ring; which of them is right has no pattern, so that ties
    # broken by size or by place favour nobody.
    step = 1 + int(stride * (90_000 // (wrong + 1) - 1))
    answers = [str(10_000 + (int(start * 90_000) + place * step) % 90_000) for place in range(wrong + 1)]
    gold = answers.pop(int(right * len(answers)))
    first = int(popular * wrong)
    topic, name = topics[number % len(topics)], f"w{seed}q{number}"
    return Question(
        number,
        name,
        topic,
        f"[{name}] {topic}: which number is it?",
        gold,
        (*answers[first:], *answers[:first]),
        _normal(hardness),
    )


class Thought(msgspec.Struct, frozen=True):
    """What an agent made of a request, before it is put into words.

    Args:
        question: what it was asked.
        own: the answer it has by itself.
        heard: the answers it heard from others, in the order of the prompt.
        answer: the answer it gives.
        logprob: natural log of its confidence in that.
    """

    question: Question
    own: str
    heard: tuple[str, ...]
    answer: str
    logprob: float

    @property
    def right(self) -> bool:
        """Whether the answer it gives is the right one."""
        return self.answer == self.question.gold


@dataclass(frozen=True)
class Simulated:
    """A model in a world, as good and as bad as it is told to be.

    What it hears from others are the fenced texts and the "Suggested answer:" lines that `motet.prompt` writes. It
    then recognises a right answer among them with probability `discrimination`; else follows their majority (one of
    the tied, by lot) with probability `conformity`; else stays with its own: what it said before in this
    conversation, or what it would say alone.

    Args:
        name: the model's name.
        world: where its questions come from.
        accuracy: probability of being right alone: one for all, or one for each topic of the world.
        rho: how much of its error it shares with everybody (see the module); 0 errs independently.
        within: how much of the rest repeats in its other draws and in its family; 1 says the same every time.
        family: backends of one family repeat each other's errors as draws of one do; the name by default.
        discrimination: probability of recognising a right answer among those heard.
        conformity: probability of following the majority of those heard otherwise.
        deception: share of the questions on which it gives the popular wrong answer on purpose: the same ones and
            the same answer in every draw, whatever it hears, as sure of it as of a right one.
        auroc: probability that it is surer of a right reply than of a wrong one on the same topic; 0.5 is no idea.
            The log-probability it reports (on every token, where asked for) is calibrated for an agent alone: its
            exponential is the probability that the answer is right.
        tokens: median length of a reply in tokens; a reply that comes out longer than `max_tokens` is cut.
        tokens_sigma: sigma of its logarithm.
        latency: median seconds a call takes, on the event loop's clock; 0 does not wait.
        latency_sigma: sigma of its logarithm.
        stragglers: probability that a call takes `straggler_factor` times as long.
        straggler_factor: see there.
        failures: probability that a call fails, by the kind of failure. A retry inside a run is a new draw.
        reuses_prefix: report as cached whatever stands before and in the last assistant turn of a chat, since an
            earlier call has read it; for claims about one growing conversation.
        card: what is said of the model: price, context and so on.

    Raises:
        UsageError: an argument is out of its range.
    """

    name: str
    world: World
    accuracy: float | Mapping[str, float] = 0.7
    rho: float = 0.0
    within: float = 0.0
    family: str = ""
    discrimination: float = 0.0
    conformity: float = 0.0
    deception: float = 0.0
    auroc: float = 0.5
    tokens: float = 32.0
    tokens_sigma: float = 0.5
    latency: float = 0.0
    latency_sigma: float = 0.5
    stragglers: float = 0.0
    straggler_factor: float = 10.0
    failures: Mapping[Kind, float] = field(default_factory=dict)
    reuses_prefix: bool = False
    card: Card = Card(completes=True, logprobs=True)
    _skill: Mapping[str, tuple[float, float]] = field(init=False, repr=False, compare=False)
    _loads: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        topics, given = self.world.topics, self.accuracy
        by_topic = given if isinstance(given, Mapping) else dict.fromkeys(topics, given)
        if set(by_topic) != set(topics):
            raise UsageError(
                f"{self.name}: accuracies are given for {', '.join(sorted(by_topic)) or 'nothing'}, and the world's "
                f"topics are {', '.join(sorted(topics))}: give one for each"
            )
        for kind in self.failures:
            if kind not in KINDS:
                raise UsageError(f"{self.name}: {kind!r} is no kind of failure; there are: {', '.join(sorted(KINDS))}")
        named = ("rho", "within", "discrimination", "conformity", "deception", "stragglers")
        shares = {name: float(getattr(self, name)) for name in named}
        shares |= {f"accuracy on {topic}": share for topic, share in by_topic.items()}
        shares["failures together"] = sum(self.failures.values())
        shares |= {f"failures of kind {kind}": share for kind, share in self.failures.items()}
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise UsageError(f"{self.name}: {name} can't be {share:g}: give a probability, 0 to 1")
        if not 0.5 <= self.auroc < 1:
            raise UsageError(f"{self.name}: auroc can't be {self.auroc:g}: give something from 0.5 to below 1")
        for name in ("tokens", "tokens_sigma", "latency", "latency_sigma", "straggler_factor"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{self.name}: {name} can't be {getattr(self, name):g}: give 0 or more")
        object.__setattr__(self, "_skill", {topic: _skill(share) for topic, share in by_topic.items()})
        loads = (self.rho, 1 - self.rho, self.within, 1 - self.within)
        object.__setattr__(self, "_loads", tuple(math.sqrt(load) for load in loads))

    # ---- what it thinks

    def think(self, request: Request) -> Thought:
        """What it makes of a request: the truth behind the reply to the same request.

        Raises:
            BackendError: `bad_request`, the prompt asks no question of this world.
        """
        return self._think(request, self._fate(request))

    def _fate(self, request: Request) -> list[float]:
        """What chance decides about this very request: recognise, conform, tie, confidence, latency, slow, length."""
        return _uniforms(f"fate {self.world.seed} {request.key}")

    def _think(self, request: Request, fate: Sequence[float]) -> Thought:
        question, persona, heard, before = self._read(request)
        threshold, odds = self._skill[question.topic]
        own = answer = before or self._alone(question, threshold, request, persona)
        lies = self._lies(question)
        if lies:
            answer = question.wrong[0]
        elif heard:
            answer = self._persuaded(question, own, heard, fate)
        if self.auroc > 0.5:
            # A signal of unit variance, `gap` higher when the answer is right; Bayes' rule makes log-odds of it.
            gap = math.sqrt(2) * _normal(self.auroc)
            signal = _normal(fate[3]) + (gap if lies or answer == question.gold else 0.0)
            odds += gap * signal - gap * gap / 2
        return Thought(question, own, heard, answer, -math.log1p(math.exp(-odds)))

    def _alone(self, question: Question, threshold: float, request: Request, persona: str) -> str:
        """The answer it has by itself, by the copula."""
        seed, number = self.world.seed, question.number
        common, private, same, new = self._loads
        drawn = _uniforms(f"draw {seed} {number} {self.name} {request.seed} {request.draw} {persona}")
        error, pick = _normal(drawn[0]), drawn[1]
        if same:
            kept = _uniforms(f"family {seed} {number} {self.family or self.name}")
            error = same * _normal(kept[0]) + new * error
            pick = _share(same * _normal(kept[1]) + new * _normal(pick))
        if common * question.hardness + private * error < threshold:
            return question.gold
        popular, others = self.world.popular, len(question.wrong) - 1
        if pick < popular or not others:
            return question.wrong[0]
        return question.wrong[1 + min(others - 1, int((pick - popular) / (1 - popular) * others))]

    def _lies(self, question: Question) -> bool:
        if not self.deception:
            return False
        return _uniforms(f"lie {self.world.seed} {question.number} {self.name}")[0] < self.deception

    def _persuaded(self, question: Question, own: str, heard: Sequence[str], fate: Sequence[float]) -> str:
        """The answer it gives after it has heard others."""
        if question.gold in heard and fate[0] < self.discrimination:
            return question.gold
        if fate[1] < self.conformity:
            votes = {answer: heard.count(answer) for answer in heard}
            tied = sorted(answer for answer, count in votes.items() if count == max(votes.values()))
            return tied[int(fate[2] * len(tied))]
        return own

    def _read(self, request: Request) -> tuple[Question, str, tuple[str, ...], str]:
        """The question, the words before it, the answers heard, and what it said itself before."""
        if request.prompt:
            start = max(0, request.prompt.rfind("\n\nQ: "))
            asked = request.prompt[start:]
            question = self.world.find(asked)
            if question is not None:
                persona = _SUGGESTED.sub("", request.prompt[:start])  # examples show them only when something is heard
                return question, persona, _answers(question, _SUGGESTED.findall(asked)), ""
        messages = request.messages
        for place in range(len(messages) - 1, -1, -1):
            asked = messages[place].text
            question = self.world.find(asked) if messages[place].role == "user" else None
            if question is None:
                continue
            persona = "\0".join([message.text for message in messages[:place]])
            heard = _answers(question, _FENCED.findall(asked)) if _FENCE in asked else ()
            before = ""
            for turn in messages[place + 1 :]:
                if turn.role == "user":
                    heard += _answers(question, _FENCED.findall(turn.text))
                elif turn.role == "assistant":
                    before = question.answer_in(turn.text) or before
            return question, persona, heard, before
        raise BackendError(
            "bad_request",
            f"{self.name} finds no question of its world (seed {self.world.seed}) in the prompt: ask with the text of "
            f"a question that World.question() gives",
        )

    # ---- what comes of it

    def seconds(self, request: Request) -> float:
        """How long the call of this request takes."""
        fate = self._fate(request)
        slow = self.straggler_factor if fate[5] < self.stragglers else 1.0
        return self.latency * math.exp(self.latency_sigma * _normal(fate[4])) * slow

    async def complete(self, request: Request) -> Reply:
        """Its reply, or its failure, once its time has passed."""
        if self.latency:
            await asyncio.sleep(self.seconds(request))
        return self._said(request)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in pieces of four tokens spread over its time."""
        seconds = self.seconds(request) if self.latency else 0.0
        try:
            reply = self._said(request)
        except BackendError:
            await asyncio.sleep(seconds)
            raise
        pieces = [reply.text[place : place + 16] for place in range(0, len(reply.text), 16)]
        for piece in pieces:
            await asyncio.sleep(seconds / len(pieces))
            yield Delta(text=piece)
        yield Delta(reply=reply)

    def count(self, text: str) -> int:
        """Tokens in `text`, exactly: four characters each."""
        return -(-len(text) // 4)

    def _said(self, request: Request) -> Reply:
        """The thought in words: talk without meaning, as long as was drawn, and then the answer."""
        self._fail(request)
        fate = self._fate(request)
        thought = self._think(request, fate)
        length = max(1, round(self.tokens * math.exp(self.tokens_sigma * _normal(fate[6]))))
        text = f"The answer is {thought.answer}."
        if length < self.count(text):
            text = thought.answer
        text = _words(length - self.count(text)) + text
        cut = self.count(text) > request.max_tokens
        if cut:
            text = _words(request.max_tokens)
        usage = Usage(1, prompt_tokens(self, request), self._prefix(request), self.count(text))
        asked = request.sampling.logprobs
        logprobs = _tokens(text, thought.logprob, asked) if asked else ()
        return Reply(text, finish="length" if cut else "stop", logprobs=logprobs, usage=usage, model=self.name)

    def _fail(self, request: Request) -> None:
        """Raise the failure that this attempt is meant to end in, if it is."""
        if not self.failures:
            return
        # A request has one key however often it is tried: the reservation under way says which attempt this is.
        hold = HOLD.get()
        lot = _uniforms(f"failure {self.world.seed} {request.key} {hold.cost.calls if hold else 1}")[0]
        for kind, share in self.failures.items():
            lot -= share
            if lot < 0:
                raise BackendError(kind, f"{self.name} fails here, as it was told to")

    def _prefix(self, request: Request) -> int:
        """Prompt tokens that an earlier call of the same conversation has read."""
        if self.reuses_prefix:
            for place in range(len(request.messages) - 1, -1, -1):
                if request.messages[place].role == "assistant":
                    read = msgspec.structs.replace(request, messages=request.messages[: place + 1])
                    return prompt_tokens(self, read)
        return 0


def _skill(accuracy: float) -> tuple[float, float]:
    """The threshold of the copula, and the log-odds of being right, for a probability of being right."""
    sure = min(max(accuracy, 1e-9), 1 - 1e-9)
    threshold = _normal(accuracy) if 0 < accuracy < 1 else math.inf if accuracy else -math.inf
    return threshold, math.log(sure / (1 - sure))


def _answers(question: Question, texts: Sequence[str]) -> tuple[str, ...]:
    return tuple([answer for text in texts if (answer := question.answer_in(text))])


def _words(tokens: int) -> str:
    """Words that say nothing, this many tokens long."""
    letters = 4 * max(0, tokens)
    return (_WORDS * (letters // len(_WORDS) + 1))[:letters]


def _tokens(text: str, logprob: float, alternatives: int) -> tuple[Token, ...]:
    """The tokens of `text`, each as sure as the whole; where alternatives are asked for, one has the rest."""
    rest = math.log(max(1e-12, -math.expm1(logprob)))
    pieces = [text[place : place + 4] for place in range(0, len(text), 4)]
    return tuple([Token(p, logprob, ((p, logprob), ("?", rest)) if alternatives > 1 else ()) for p in pieces])
