"""The only door to models: a `Backend` completes requests, whole or as a stream.

A wrapper (`Cached`, `Retried`, `Limited`, `Replayed`) takes a backend and is one. A call succeeded only if it parsed,
has a choice, has a finish reason and, streamed, ended properly; anything else is a `BackendError` of one kind.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Protocol, runtime_checkable

import msgspec

from motet.budget import Cost, Hold
from motet.message import Delta, Reply, Request, Usage

ABSURD = 4.0
"""A reported count that is off from our own by more than this factor (and 64 tokens) is taken for wrong."""


class Price(msgspec.Struct, frozen=True):
    """US dollars per million tokens, and per second of compute (for local models, 0 unless configured).

    How long a call will take is not known before it is made: one second of it is reserved, so a purse of dollars may
    be overdrawn by the calls under way, but not by further ones.
    """

    input: float = 0.0
    output: float = 0.0
    cached: float | None = None
    second: float = 0.0

    def usd(self, usage: Usage) -> float:
        """What `usage` costs at this price.

        >>> Price(input=2, output=8, cached=1).usd(Usage(input=1000, cached=500, output=100))
        0.0023
        """
        cached = self.input if self.cached is None else self.cached
        tokens = (usage.input - usage.cached) * self.input + usage.cached * cached + usage.output * self.output
        return tokens / 1e6 + usage.seconds * self.second


FREE = Price()
"""What costs nothing."""


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a model before it is called.

    Args:
        context: tokens that prompt and reply may take together; None if unknown.
        price: what it costs; None if unknown (counted as 0 and noted).
        local: runs on this machine.
        completes: takes plain prompts, not only chats.
        logprobs: can report log-probabilities.
        tools: can call tools.
        grammar: can be held to a GBNF grammar.
        reports_usage: says how many tokens a call took; False for functions and other things without tokens.
        checked: its replies come with usage that was checked and priced by whoever gave them, as a fallback's do.
    """

    context: int | None = None
    price: Price | None = FREE
    local: bool = False
    completes: bool = False
    logprobs: bool = False
    tools: bool = False
    grammar: bool = False
    reports_usage: bool = True
    checked: bool = False


@runtime_checkable
class Backend(Protocol):
    """Whatever completes requests. `name` is the model's name in requests and traces, `card` what is known of it."""

    @property
    def name(self) -> str: ...

    @property
    def card(self) -> Card: ...

    async def complete(self, request: Request) -> Reply:
        """The whole reply.

        Raises:
            BackendError: of one of the closed set of kinds.
        """
        ...

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The reply in pieces; the last delta carries the whole, checked `Reply`, or the iterator raises."""
        ...

    def count(self, text: str) -> int:
        """Tokens in `text`, exactly where that is cheap, else estimated on the high side."""
        ...


@runtime_checkable
class Knowing(Protocol):
    """A backend that may know a reply already: a cache, a record. `lookup` costs nothing and makes no call."""

    def lookup(self, request: Request) -> Reply | None: ...


HOLD: ContextVar[Hold | None] = ContextVar("hold", default=None)
"""The reservation of the call under way: a retry loop asks it for another call before it makes one."""


async def deltas(reply: Reply) -> AsyncIterator[Delta]:
    """A stream of one piece, for backends that have the whole at once."""
    if reply.text:
        yield Delta(text=reply.text)
    yield Delta(reply=reply)


def estimate_tokens(text: str) -> int:
    """Tokens in `text` without a tokenizer, on the high side: 3 bytes a token, where English has about 4.

    >>> estimate_tokens("What is 17 * 23?")
    6
    """
    return -(-len(text.encode("utf-8", "replace")) // 3)


def prompt_tokens(backend: Backend, request: Request) -> int:
    """Tokens of the whole prompt, with 4 a message for the chat template and 500 for a picture."""
    tokens = backend.count(request.text) + sum([4 + 500 * len(message.parts) for message in request.messages])
    calls = [call.name + call.arguments for message in request.messages for call in message.tool_calls]
    if calls:
        tokens += backend.count("\n".join(calls))
    for tool in request.tools:
        tokens += backend.count(tool.parameters + tool.description)
    return tokens


def worst_case(backend: Backend, request: Request) -> Cost:
    """The most `request` can cost at `backend`."""
    if not backend.card.reports_usage:
        return Cost()
    price = backend.card.price or Price()
    tokens = prompt_tokens(backend, request)
    return Cost(
        input=tokens,
        output=request.sampling.max_tokens,
        usd_input=tokens * price.input / 1e6 + price.second,
        usd_output_token=price.output / 1e6,
    )


def checked(backend: Backend, request: Request, reply: Reply, seconds: float) -> tuple[Reply, str]:
    """`reply` with usage that makes sense and a price, and what was wrong with the usage ("" if nothing).

    Missing, negative or absurd counts are replaced by our own; what the backend claimed is kept in `reported`.
    """
    usage, card = reply.usage, backend.card
    if card.checked or reply.reported is not None:  # it was checked before: it comes from a wrapper or a record
        claimed = reply.reported
        return reply, "" if claimed is None else _trouble(request, msgspec.structs.replace(reply, usage=claimed))
    trouble = _trouble(request, reply) if card.reports_usage else ""
    if not math.isfinite(usage.usd + usage.seconds):  # JSON has no such numbers
        usage = msgspec.structs.replace(usage, usd=0.0, seconds=0.0)
    if trouble:
        words = "".join((reply.text, reply.reasoning, *(call.arguments for call in reply.tool_calls)))
        own = Usage(usage.calls, prompt_tokens(backend, request), output=backend.count(words))
        reply = msgspec.structs.replace(reply, reported=usage)
        usage = own
    took = usage.seconds if usage.seconds > 0 else seconds
    usage = msgspec.structs.replace(usage, calls=max(1, usage.calls), seconds=took)
    if card.price is not None and not usage.usd > 0 and (usage.usd or card.price != FREE):
        usage = msgspec.structs.replace(usage, usd=card.price.usd(usage))
    return msgspec.structs.replace(reply, usage=usage), trouble


def _trouble(request: Request, reply: Reply) -> str:
    usage = reply.usage
    if not 0 <= usage.usd < math.inf:
        return f"{usage.usd} USD reported"
    if min(usage.input, usage.cached, usage.output, usage.reasoning) < 0:
        names = ("input", "cached", "output", "reasoning")
        counts = [(name, getattr(usage, name)) for name in names]
        return next(f"{name} tokens reported as {count}" for name, count in counts if count < 0)
    if usage.cached > usage.input or usage.reasoning > usage.output:
        return "a part reported larger than the whole"
    if not usage.input or (not usage.output and (reply.text or reply.tool_calls)):
        return "usage missing"
    allowed = request.sampling.max_tokens  # and not what a purse made of it, which a replay does not know
    if usage.output > allowed * ABSURD + 64:
        return f"{usage.output} output tokens reported where {allowed} were allowed"
    letters = len(request.prompt) + sum([len(message.text) for message in request.messages])
    if usage.input > letters * ABSURD + 64:  # looked at closely only then, since there are no fewer bytes
        bytes_sent = len(request.text.encode("utf-8", "replace")) + 16 * len(request.messages)
        pictured = any(message.parts for message in request.messages) or request.tools
        if not pictured and usage.input > bytes_sent * ABSURD + 64:
            return f"{usage.input} input tokens reported for a prompt of {bytes_sent} bytes"
    return ""
