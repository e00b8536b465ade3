"""The OpenAI wire: a `Request` as the JSON that goes out, a `Reply` from the JSON that comes in, whole or in pieces.

Endpoints that call themselves compatible differ in the fields they know; those differences are data, a `Wire`.

    >>> from motet.message import Message, Sampling
    >>> request = Request("m", messages=(Message("user", "hi"),), sampling=Sampling(max_tokens=8, stop=("!",)))
    >>> encode(request, "gpt-4o-mini", Wire(seed=""))
    b'{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}],"max_tokens":8,"stop":["!"]}'
    >>> draft = Draft(request)
    >>> draft.take({"choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}).text
    'Hello'
    >>> draft.reply("gpt-4o-mini").text
    'Hello'
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from motet.backends.refusal import page, refusal_in
from motet.errors import BackendError, ConfigError
from motet.message import (
    IMPOSSIBLE,
    Delta,
    Finish,
    Message,
    Reply,
    Request,
    Token,
    ToolCall,
    Usage,
    clean,
)

FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "eos": "stop",  # Together, text-generation-inference
    "eos_token": "stop",
    "end_turn": "stop",  # Anthropic's own words, through proxies
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",  # Mistral: the context is full
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
    "safety": "content_filter",  # Google
    "recitation": "content_filter",
    "refusal": "content_filter",
}
"""What providers call the end of a reply. Any other word is no end that we understand, so the reply is none."""

OURS = ("model", "messages", "prompt", "stream", "n")
"""Fields of a body that `extra` may not set."""

MOST = 2**53
"""Counts are cut off here: what is larger is absurd, and would not fit a JSON number or a database column."""


@dataclass(frozen=True, slots=True)
class Wire:
    """What an endpoint makes of the OpenAI wire.

    Args:
        limit: the field for the most output tokens, in chats.
        seed: the field for the sampling seed, "" where it is not sent.
        stream_usage: whether `stream_options.include_usage` is understood; without it some send usage anyway.
        logprobs: how log-probabilities are asked for: a flag and a count as OpenAI does, one count as Together
            does, "" where there are none.
        top_logprobs: alternatives it gives at most.
        grammar: the field for a GBNF grammar, dotted when it is inside an object; "" where there is none.
        schema: whether `response_format` with a JSON schema constrains decoding.
        completes: whether there is a /completions for plain prompts.
        tools: whether tools are understood.
        cost: whether `usage.cost` is in US dollars.
    """

    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed: str = "seed"
    stream_usage: bool = True
    logprobs: Literal["flag", "count", ""] = "flag"
    top_logprobs: int = 20
    grammar: str = ""
    schema: bool = True
    completes: bool = True
    tools: bool = True
    cost: bool = False


def check_extra(extra: Mapping[str, object]) -> None:
    """Refuse further fields of a body that are not theirs to set.

    Raises:
        ConfigError: there is one.
    """
    for name in OURS:
        if name in extra:
            why = "a draw is a call, so ask for more draws instead" if name == "n" else "every call sets it itself"
            raise ConfigError(f"{name} can't be set here: {why}", key="extra")


def encode(
    request: Request, model: str, wire: Wire, extra: Mapping[str, object] | None = None, *, stream: bool = False
) -> bytes:
    """The body of the call.

    Args:
        request: what is asked.
        model: the model's name upstream.
        wire: what the endpoint understands. A seed or log-probabilities that it does not are left out; a
            grammar, tools or a plain prompt that it does not are an error, for without them the reply is not
            what was asked for.
        extra: further fields, which win over ours.
        stream: whether the reply shall come in pieces.

    Raises:
        BackendError: of kind `bad_request`, when the endpoint can't do what is asked.
    """
    sampling = request.sampling
    body: dict[str, object] = {"model": model}
    if request.prompt:
        if not wire.completes:
            raise BackendError("bad_request", f"{model} takes chats only: give its agent chat prompts, not completions")
        body["prompt"] = request.prompt
        body["max_tokens"] = request.max_tokens
    else:
        body["messages"] = [_message(message) for message in request.messages]
        body[wire.limit] = request.max_tokens
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    if sampling.stop:
        body["stop"] = sampling.stop
    if wire.seed:
        body[wire.seed] = request.sample_seed
    if sampling.logprobs and wire.logprobs:
        most = min(sampling.logprobs, wire.top_logprobs)
        if request.prompt or wire.logprobs == "count":
            body["logprobs"] = most
        else:
            body["logprobs"], body["top_logprobs"] = True, most
    if sampling.format:
        body["response_format"] = msgspec.Raw(sampling.format.encode())
    if sampling.grammar:
        if not wire.grammar:
            raise BackendError("bad_request", f"{model} can't be held to a grammar here: use a JSON schema, or neither")
        field, _, inner = wire.grammar.partition(".")
        body[field] = {inner: sampling.grammar} if inner else sampling.grammar
    if request.tools:
        if not wire.tools:
            raise BackendError("bad_request", f"{model} can't call tools here")
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": msgspec.Raw(tool.parameters.encode()),
                },
            }
            for tool in request.tools
        ]
    if stream:
        body["stream"] = True
        if wire.stream_usage:
            body["stream_options"] = {"include_usage": True}
    if extra:
        body.update(extra)
    return msgspec.json.encode(body)


def _message(message: Message) -> dict[str, object]:
    """One turn. A `name` is not sent: Groq and others refuse it, and prompts have put it into the words already."""
    content: object = message.text
    if message.parts:
        words: list[object] = [{"type": "text", "text": message.text}] if message.text else []
        content = words + [msgspec.Raw(part.body.encode()) for part in message.parts]
    wire: dict[str, object] = {"role": "user" if message.role == "note" else message.role, "content": content}
    if message.tool_calls:
        wire["content"] = content or None
        wire["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        wire["tool_call_id"] = message.tool_call_id
    return wire


def decode(data: bytes) -> dict[str, object]:
    """The JSON object in `data`.

    Raises:
        BackendError: of kind `malformed`: HTML, cut or broken JSON, invalid UTF-8, or JSON that is no object.
    """
    try:
        value: object = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        # The standard parser forgives what is harmless and does happen: NaN among log-probabilities, numbers that
        # overflow, half of a surrogate pair. It is asked second, being slower.
        try:
            value = json.loads(data.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            raise BackendError("malformed", f"the answer is not JSON but {page(data)} ({error})") from None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]  # Google wraps an error in a list
    if not isinstance(value, dict):
        raise BackendError("malformed", f"the answer is no JSON object but {page(data)}")
    return value


class Draft:
    """A reply under construction: takes the JSON objects of an answer, one or many, and checks the whole.

    Args:
        request: what was asked.
        cost: whether `usage.cost` is in US dollars.
        limit: characters the reply may have, reasoning and arguments included.
    """

    __slots__ = (
        "_calls",
        "_chosen",
        "_cost",
        "_finish",
        "_limit",
        "_model",
        "_reasoning",
        "_refused",
        "_request",
        "_size",
        "_taken",
        "_text",
        "_tokens",
        "_usage",
    )

    def __init__(self, request: Request, *, cost: bool = False, limit: int = 8 * 1024 * 1024) -> None:
        self._request, self._cost, self._limit = request, cost, limit
        self._text: list[str] | None = None
        self._reasoning: list[str] = []
        self._calls: list[_Call] = []
        self._tokens: list[Token] = []
        self._usage = Usage(calls=1)
        self._finish: Finish | None = None
        self._refused = False
        self._model = ""
        self._size = 0
        self._taken = self._chosen = False

    def take(self, payload: Mapping[str, object]) -> Delta:
        """Add one JSON object of the answer.

        Returns:
            The words it brought.

        Raises:
            BackendError: it is an error of the endpoint, or makes no sense, or the reply grows too large.
        """
        if payload.get("error"):
            raise refusal_in(payload)
        self._taken = True
        model, usage, choices = payload.get("model"), payload.get("usage"), payload.get("choices")
        if isinstance(model, str) and model:
            self._model = model
        if isinstance(usage, dict):
            self._usage = self._read_usage(usage)
        if choices is not None and not isinstance(choices, list):
            raise BackendError("malformed", f"the answer's choices are {choices!r:.100}, not a list")
        if not choices:
            return Delta()
        choice = choices[0]
        if not isinstance(choice, dict):
            raise BackendError("malformed", f"the answer's choice is {choice!r:.100}, not an object")
        if len(choices) > 1 or choice.get("index"):
            text = "the answer has several choices, where one was asked for: ask again for another, a draw is a call"
            raise BackendError("malformed", text, retry=False)
        self._chosen = True
        return self._take_choice(choice)

    def reply(self, model: str) -> Reply:
        """The whole reply.

        Args:
            model: its name if upstream gave none.

        Raises:
            BackendError: `cut` without a finish reason, `malformed` without content.
        """
        if self._taken and not self._chosen:
            raise BackendError("malformed", "the answer has no choices")
        if self._finish is None:
            got = f"after {self._size} characters" if self._size else "and without content"
            raise BackendError("cut", f"the answer ended without a finish reason, {got}")
        finish, calls = self._finish, tuple(call.whole(place) for place, call in enumerate(self._calls))
        if calls and finish == "stop":
            finish = "tool_calls"  # Ollama and Google say stop
        elif finish == "tool_calls" and not calls:
            finish = "stop"
        if self._refused:
            finish = "content_filter"
        if self._text is None and finish == "stop":
            raise BackendError("malformed", "the answer has null content and calls no tool")
        return Reply(
            "".join(self._text or ()),
            id=self._request.key,
            finish=finish,
            tool_calls=calls,
            reasoning="".join(self._reasoning),
            logprobs=tuple(self._tokens),
            usage=self._usage,
            model=self._model or model,
        )

    def _take_choice(self, choice: Mapping[str, object]) -> Delta:
        piece = choice.get("delta") or choice.get("message") or choice
        if not isinstance(piece, dict):
            raise BackendError("malformed", f"the answer's message is {piece!r:.100}, not an object")
        text, reasoning = _words(piece.get("content", piece.get("text")))
        thought = piece.get("reasoning_content") or piece.get("reasoning")
        if isinstance(thought, str):
            reasoning += clean(thought)
        refused = piece.get("refusal")
        if isinstance(refused, str) and refused:
            self._refused = True
            text = (text or "") + clean(refused)
        if text is not None:
            self._text = self._text or []
            self._text.append(text)
        if reasoning:
            self._reasoning.append(reasoning)
        grown = len(text or "") + len(reasoning)
        calls = piece.get("tool_calls")
        if isinstance(calls, list):
            grown += sum(self._take_call(call) for call in calls)
        logprobs = choice.get("logprobs")
        if isinstance(logprobs, dict):
            tokens = _tokens(logprobs)
            self._tokens += tokens
            grown += sum(len(token.text) * (1 + len(token.top)) for token in tokens)
        self._size += grown
        if self._size > self._limit:
            raise BackendError("too_large", f"the answer is larger than {self._limit} characters")
        self._take_finish(choice.get("finish_reason"))
        return Delta(text=text or "", reasoning=reasoning)

    def _take_finish(self, reason: object) -> None:
        if reason is None or reason == "":
            return
        word = str(reason).lower()
        if word in ("error", "insufficient_system_resource"):  # OpenRouter, DeepSeek
            raise BackendError("server", f"the endpoint gave up: finish reason {word}")
        if word in ("abort", "cancelled"):  # vLLM
            raise BackendError("cut", f"the endpoint ended the answer early: finish reason {word}")
        if word not in FINISHES:
            raise BackendError("malformed", f"the answer ended for an unknown reason, {reason!r:.60}", retry=False)
        self._finish = FINISHES[word]

    def _take_call(self, wire: object) -> int:
        """Add a tool call or a piece of one; a piece belongs to the call with its index or id, or to the last."""
        function = wire.get("function") if isinstance(wire, dict) else None
        if not isinstance(wire, dict) or not isinstance(function, dict):
            raise BackendError("malformed", f"a tool call is {wire!r:.100}")
        index, ident = wire.get("index"), wire.get("id") or ""
        call = next((one for one in reversed(self._calls) if index is None or one.index == index), None)
        if call is not None:
            # Google gives every call the index 0, others give no index, some not even an id.
            other = ident != call.id if ident and call.id else index is None and function.get("name") and call.name
            call = None if other else call
        if call is None:
            call = _Call(index)
            self._calls.append(call)
        call.id = call.id or str(ident)
        call.name = call.name or str(function.get("name") or "")
        arguments = function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = msgspec.json.encode(arguments).decode()  # Ollama has sent objects
        call.arguments.append(clean(arguments or ""))
        return len(arguments or "")

    def _read_usage(self, usage: Mapping[str, object]) -> Usage:
        """The counts as they are claimed; whether they make sense is `motet.backend.checked`'s to say."""
        incoming, outgoing = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
        cached = _count(incoming.get("cached_tokens")) if isinstance(incoming, dict) else 0
        reasoning = _count(outgoing.get("reasoning_tokens")) if isinstance(outgoing, dict) else 0
        sent, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        # Google and xAI leave the reasoning out of the completion tokens, but not out of the total.
        hidden = _count(usage.get("total_tokens")) - sent - written
        if hidden > 0 and sent > 0 and written >= 0:
            written, reasoning = written + hidden, max(reasoning, hidden)
        return Usage(
            calls=1,
            input=sent,
            cached=cached or _count(usage.get("prompt_cache_hit_tokens")),  # DeepSeek
            output=written,
            reasoning=reasoning,
            usd=_number(usage.get("cost")) or 0.0 if self._cost else 0.0,
        )


class _Call:
    """A tool call under construction."""

    __slots__ = ("arguments", "id", "index", "name")

    def __init__(self, index: object) -> None:
        self.index, self.id, self.name = index, "", ""
        self.arguments: list[str] = []

    def whole(self, place: int) -> ToolCall:
        if not self.name:
            raise BackendError("malformed", "the answer calls a tool without a name")
        return ToolCall(self.id or f"call_{place}", self.name, "".join(self.arguments))


def _words(content: object) -> tuple[str | None, str]:
    """The text of a content field, and the thinking that Mistral's reasoning models put into it."""
    if content is None or isinstance(content, str):
        return None if content is None else clean(content), ""
    if not isinstance(content, list):
        raise BackendError("malformed", f"the answer's content is {content!r:.100}")
    text, thinking = "", ""
    for part in content:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            text += clean(part["text"])
        elif isinstance(part, dict) and part.get("type") == "thinking":
            thinking += _words(part.get("thinking"))[0] or ""
    return text, thinking


def _tokens(logprobs: Mapping[str, object]) -> list[Token]:
    """The tokens of a `logprobs` object, in the form of chats or in the older one of completions."""
    content = logprobs.get("content")
    if isinstance(content, list):
        entries = [entry for entry in content if isinstance(entry, dict)]
        return [
            Token(clean(str(entry.get("token", ""))), _logprob(entry.get("logprob")), _top(entry.get("top_logprobs")))
            for entry in entries
        ]
    texts, values, tops = logprobs.get("tokens"), logprobs.get("token_logprobs"), logprobs.get("top_logprobs")
    if not isinstance(texts, list) or not isinstance(values, list):
        return []
    others = tops if isinstance(tops, list) and len(tops) == len(texts) else [None] * len(texts)
    return [
        Token(clean(str(text)), _logprob(value), _top(top))
        for text, value, top in zip(texts, values, others, strict=False)
    ]


def _top(wire: object) -> tuple[tuple[str, float], ...]:
    if isinstance(wire, dict):
        return tuple((clean(str(text)), _logprob(value)) for text, value in wire.items())
    if isinstance(wire, list):
        entries = [entry for entry in wire if isinstance(entry, dict)]
        return tuple((clean(str(entry.get("token", ""))), _logprob(entry.get("logprob"))) for entry in entries)
    return ()


def _number(value: object) -> float | None:
    """A finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -MOST <= value <= MOST:
        return None
    return float(value)


def _logprob(value: object) -> float:
    known = _number(value)
    return IMPOSSIBLE if known is None else known


def _count(value: object) -> int:
    """A count as it was claimed, negative or absurd as it may be; 0 for what is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return 0
    return int(max(-MOST, min(MOST, value)))
