"""What travels: words, requests, replies and what they cost. Frozen, small, comparable, JSON for free.

A `Chat` is a tuple of `Message`s. A message that repeats another agent's words carries the id of the
reply they came from in `source`: provenance, left out of equality and of every key. `hear()` is the one
way to put others' words into a chat.

What is frozen and made of frozen things can be part of no cycle, so the garbage collector is spared it (`gc=False`):
with a hundred thousand calls under way its passes are what the event loop would wait for.

    >>> chat = Chat.of("What is 17 * 23?")
    >>> chat.question
    'What is 17 * 23?'
    >>> heard = hear(chat, [Reply("391", agent="smol", id="r1")])
    >>> [message.source for message in heard.messages]
    ['', 'r1']
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal

import msgspec

from motet.errors import UsageError

Role = Literal["system", "user", "assistant", "tool", "note"]
"""`note` is what a composition says to its listener; it is rendered into the user's turn, never as system."""

Finish = Literal["stop", "length", "tool_calls", "content_filter", "abstain"]
State = Literal["ok", "abstained", "cut", "empty"]


def clean(text: str) -> str:
    """`text` as UTF-8 can carry it: a lone surrogate becomes U+FFFD, a pair the character it means."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Part(msgspec.Struct, frozen=True, gc=False):
    """A payload beyond words, as the OpenAI wire has it: `type` and the whole part as canonical JSON."""

    type: str
    body: str

    @classmethod
    def of(cls, wire: dict[str, object]) -> Part:
        """A part from its wire form.

        >>> Part.of({"type": "image_url", "image_url": {"url": "data:,"}}).type
        'image_url'
        """
        return cls(str(wire.get("type", "")), json.dumps(wire, sort_keys=True, separators=(",", ":")))


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A call that a model wants made; `arguments` is the JSON text it wrote, not yet parsed."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, eq=False, omit_defaults=True, gc=False):
    """One turn. `text` are its words, `parts` whatever else it carries, `source` the reply they came from.

    A heard message (one with a source) that has a `name` is shown under that neutral label and in the order
    given; without one, the listener's prompt shuffles and labels it.
    """

    role: Role
    text: str
    parts: tuple[Part, ...] = ()
    name: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        if not self.text.isascii():
            msgspec.structs.force_setattr(self, "text", clean(self.text))

    @property
    def content(self) -> tuple[object, ...]:
        """All that counts for equality: everything but the provenance."""
        return (self.role, self.text, self.parts, self.name, self.tool_calls, self.tool_call_id)

    def __eq__(self, other: object) -> bool:
        return self.content == other.content if isinstance(other, Message) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.content)


def _told(messages: tuple[Message, ...]) -> list[Message]:
    """Messages without their provenance, as keys are made of them."""
    return [msgspec.structs.replace(message, source="") if message.source else message for message in messages]


class Chat(msgspec.Struct, frozen=True, dict=True, omit_defaults=True):
    """A conversation so far. Every change is a new chat.

    `form` is the grammar of the reply that is wanted next, "" for free text: see `held`.
    """

    messages: tuple[Message, ...]
    form: str = ""

    @classmethod
    def of(cls, words: str | Chat | Iterable[Message]) -> Chat:
        """A chat from one question, from messages, or from a chat as it is."""
        if isinstance(words, Chat):
            return words
        return cls((Message("user", words),) if isinstance(words, str) else tuple(words))

    def add(self, *messages: Message) -> Chat:
        """This chat with `messages` at its end."""
        return Chat((*self.messages, *messages))

    def note(self, text: str) -> Chat:
        """This chat with words of the composition to its listener at the end."""
        return self.add(Message("note", text))

    def under(self, text: str) -> Chat:
        """This chat with system words before everything else."""
        return Chat((Message("system", text), *self.messages), self.form)

    def held(self, form: str) -> Chat:
        """This chat, the reply to which has a form (see `motet.form`); what is added to it later ends that."""
        return Chat(self.messages, form)

    @property
    def question(self) -> str:
        """The words of the last thing the user said, without what was heard from agents."""
        for message in reversed(self.messages):
            if message.role == "user" and not message.source:
                return message.text
        return ""

    @property
    def heard(self) -> tuple[Message, ...]:
        """The words heard from others, in order; what the listener itself said before is a turn, not heard."""
        return tuple(message for message in self.messages if message.source and message.role == "user")

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The ids of the replies heard, in order, each once."""
        return tuple(dict.fromkeys([message.source for message in self.messages if message.source]))

    @cached_property
    def key(self) -> str:
        """A hash of the content, provenance left out."""
        return digest(_told(self.messages))


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """How a reply is drawn. `None` leaves a choice to the backend.

    Args:
        temperature: 0 is greedy.
        top_p: nucleus mass.
        max_tokens: output tokens at most, reasoning included.
        stop: strings that end the reply and are not part of it.
        logprobs: how many alternatives to report per token (0: none, 1: the token's own).
        format: an OpenAI `response_format` object as JSON text, "" for free text.
        grammar: a GBNF grammar, for backends that constrain decoding.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    logprobs: int = 0
    format: str = ""
    grammar: str = ""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise UsageError(f"a reply of {self.max_tokens} tokens at most makes no sense: give at least 1")
        if self.temperature is not None and not self.temperature >= 0:
            raise UsageError(f"a temperature of {self.temperature} makes no sense: give 0 (greedy) or more")


class ToolSpec(msgspec.Struct, frozen=True, gc=False):
    """A tool as a model sees it; `parameters` is its JSON Schema as JSON text."""

    name: str
    description: str
    parameters: str


class Request(msgspec.Struct, frozen=True, dict=True, omit_defaults=True):
    """What a backend gets.

    `messages` for a chat, or `prompt` for a plain completion; `asked` is the question alone, without what was heard and
    told beside it. `draw` tells the draws of one content apart; `seed` is the run's. `deadline` (on the event loop's
    clock) and `allowance` (output tokens that the budget still permits) are circumstances: no part of the key.
    """

    model: str
    messages: tuple[Message, ...] = ()
    prompt: str = ""
    sampling: Sampling = Sampling()
    tools: tuple[ToolSpec, ...] = ()
    seed: int = 0
    draw: str = ""
    asked: str = ""
    deadline: float | None = None
    allowance: int | None = None

    @cached_property
    def key(self) -> str:
        """Hash of the canonical content and the number of the draw: cache key, reply id and replay key at once."""
        return digest(
            [
                self.model,
                _told(self.messages),
                self.prompt,
                self.asked,
                self.sampling,
                self.tools,
                self.seed,
                self.draw,
            ]
        )

    @property
    def sample_seed(self) -> int:
        """The 31-bit seed that a backend samples with: another draw, another seed."""
        return int(self.key[:8], 16) & 0x7FFFFFFF

    @property
    def max_tokens(self) -> int:
        """Output tokens at most, after the budget had its say."""
        return self.sampling.max_tokens if self.allowance is None else min(self.sampling.max_tokens, self.allowance)

    @property
    def question(self) -> str:
        """The question, for backends that are functions of it; the last user turn where it is not told."""
        return self.asked or Chat(self.messages).question

    @property
    def text(self) -> str:
        """Every word of the prompt, for counting."""
        return self.prompt or "\n".join([message.text for message in self.messages])


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What was used. Adds up with `+`.

    Args:
        calls: calls that reached a backend, retries included.
        input: prompt tokens, cached ones included.
        cached: those of them that upstream had cached.
        output: completion tokens, reasoning included.
        reasoning: those of them spent on reasoning.
        usd: US dollars.
        seconds: time spent waiting for the backend.
        saved_calls: calls not made, since the reply was known already.
        saved_usd: what they would have cost.
    """

    calls: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    usd: float = 0.0
    seconds: float = 0.0
    saved_calls: int = 0
    saved_usd: float = 0.0

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.usd + other.usd,
            self.seconds + other.seconds,
            self.saved_calls + other.saved_calls,
            self.saved_usd + other.saved_usd,
        )

    def as_saved(self) -> Usage:
        """The same work had for nothing: no cost, counted as saved."""
        return Usage(saved_calls=self.calls + self.saved_calls, saved_usd=self.usd + self.saved_usd)


IMPOSSIBLE = -9999.0
"""The log-probability of what can't be: JSON has no infinity, and this is what OpenAI's endpoint says for it."""


class Token(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One output token, its natural-log probability, and the likeliest alternatives where asked for."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if not math.isfinite(self.logprob):
            msgspec.structs.force_setattr(self, "logprob", IMPOSSIBLE)
        if not all(math.isfinite(logprob) for _, logprob in self.top):
            top = tuple((text, logprob if math.isfinite(logprob) else IMPOSSIBLE) for text, logprob in self.top)
            msgspec.structs.force_setattr(self, "top", top)


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a backend or an agent gives.

    Args:
        text: the words, "" when the agent abstained or called tools.
        agent: who says it.
        id: the request's key for a model's reply; derived from the place in the run for a composed one.
        finish: why it ended.
        sources: ids of the replies it was made from.
        tool_calls: calls the model wants made.
        reasoning: words a model thought aloud, where the endpoint shows them.
        logprobs: one entry per output token, where asked for.
        usage: what it cost, as counted or corrected by motet.
        reported: what the backend claimed, when that was missing or absurd and `usage` replaces it.
        model: the model's name as upstream reports it.
        stopped: the limit that ended the run early, when this is the best so far.
    """

    text: str
    agent: str = ""
    id: str = ""
    finish: Finish = "stop"
    sources: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    logprobs: tuple[Token, ...] = ()
    usage: Usage = Usage()
    reported: Usage | None = None
    model: str = ""
    stopped: str = ""

    def __post_init__(self) -> None:
        if not self.text.isascii():
            msgspec.structs.force_setattr(self, "text", clean(self.text))

    @property
    def state(self) -> State:
        """`ok`, `abstained`, `cut` (ended by a limit) or `empty`."""
        if self.finish == "abstain":
            return "abstained"
        if self.finish == "length":
            return "cut"
        if self.tool_calls:
            return "ok"
        if self.finish == "content_filter" or not self.text.strip():
            return "empty"
        return "ok"

    @property
    def usable(self) -> bool:
        """Whether it counts towards a quorum."""
        return self.state == "ok"


class Delta(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A piece of a reply as it streams. The last one carries `reply`, the whole of it, checked."""

    text: str = ""
    reasoning: str = ""
    reply: Reply | None = None


_encode = msgspec.json.Encoder().encode


def encoded(content: object) -> bytes:
    """`content` as JSON; text that UTF-8 can't carry is cleaned, as that of messages is."""
    try:
        return _encode(content)
    except UnicodeEncodeError:
        return clean(json.dumps(msgspec.to_builtins(content), ensure_ascii=False, separators=(",", ":"))).encode()


def digest(content: object) -> str:
    """128 bits of BLAKE2b over the canonical JSON of `content`, as hex."""
    return hashlib.blake2b(encoded(content), digest_size=16).hexdigest()


def abstain(agent: str = "") -> Reply:
    """The reply of an agent that has nothing to say to this question."""
    return Reply("", agent=agent, finish="abstain")


def recall(chat: Chat, reply: Reply | None) -> Chat:
    """`chat` with the listener's own earlier reply as its turn, if there is one."""
    return chat.add(Message("assistant", reply.text, source=reply.id)) if reply is not None else chat


def chosen(best: Reply, replies: Iterable[Reply]) -> Reply:
    """One of `replies` as the reply of whoever chose it: all of them are sources of the choice."""
    return msgspec.structs.replace(best, agent="", sources=tuple(reply.id for reply in replies))


def hear(chat: Chat, replies: Sequence[Reply], note: str = "", labels: Sequence[str] = ()) -> Chat:
    """`chat` with others' words at its end, each carrying the id of the reply it came from.

    Args:
        chat: what was said so far.
        replies: whose words are heard; unusable ones are left out.
        note: what the composition says to the listener about them, put before them.
        labels: neutral names, one a reply, when the composition needs to know them (for ballots); without
            them each listener's prompt shuffles and labels the words itself.
    """
    if labels and len(labels) != len(replies):
        raise ValueError(f"{len(labels)} labels for {len(replies)} replies")
    names = labels or [""] * len(replies)
    told = [Message("note", note)] if note else []
    words = [
        Message("user", reply.text, name=label, source=reply.id or "unknown")
        for label, reply in zip(names, replies, strict=True)
        if reply.usable
    ]
    return chat.add(*told, *words)
