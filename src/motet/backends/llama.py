"""GGUF models in this process: chats and plain completions, constrained output, log-probabilities, batched.

    >>> backend = Llama("smollm2-135m")
    >>> backend.name, backend.card.local, backend.card.context
    ('smollm2-135m', True, 2048)

Nothing is loaded before the first call. Backends for the same file and sizes share one loaded model, which is let go
after `idle_seconds` without a call, or by `unload()`; see `motet.backends.llama_server`. The event loop is never
blocked but for the loading itself. A cancelled call, or one whose deadline has passed, frees its slot within a token,
or within 128 tokens of its prompt.

A prompt that is longer than the context is a `context_length` error. One that fits is answered, and the reply is cut
(`finish="length"`) where the context is full: nothing is ever shifted out of it.

**How reproducible it is.** Sampling is seeded by the request, and a call alone gives the same reply each time, to the
last bit. llama.cpp does not promise that for a call that shares its batch, or whose prompt is cached in part, since the
order of its sums may differ. So flash attention and the repacking of weights are off and the cache has 32 bits, which
costs a tenth more time, and twice the memory for the cache. Of 16 few-shot answers given four at a time, as many were
the same words as one by one, greedy and sampled at 0.7 (median of 5 rounds of `benchmarks/local.py`): SmolLM2 16 and
16, Gemma 16 and 14. What has to be the same again is recorded and replayed, not repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import mmap
import re
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from motet.backend import Card, Price
from motet.backends.llama_server import Address, Job, Server, cores
from motet.backends.wire import Draft, Wire, decode, encode
from motet.errors import BackendError, ConfigError, ModelFileError
from motet.message import Delta, Reply, Request

TEMPLATE = b"tokenizer.chat_template"
HEADER = 64 * 1024 * 1024
"""Bytes of a GGUF file in which its chat template is looked for: vocabularies before it take 10 MB at most."""


@dataclass(frozen=True)
class Llama:
    """A GGUF model, run by llama.cpp in this process; needs `pip install 'motet[local]'`.

    Args:
        model: a GGUF file, or the name of a model of the pool (`motet models list`).
        name: what it is called in requests and traces; by default the pool's name or the file's.
        context: tokens that prompt and reply may take together. The default holds the pool's few-shot prompts (300
            tokens) and what four members said; memory grows with it (46 KB a token and slot for a model of 135M).
        parallel: calls that run at once; more wait in line. Each has a context of its own, and computes a shared
            prefix once for itself, so that more than 4 pay only for long replies.
        threads: threads that compute; by default the physical cores, at most 8.
        idle_seconds: after so long without a call the model is let go of.
        price: dollars per million tokens or per second; nothing by default.

    Raises:
        ConfigError: a number makes no sense.
    """

    model: str | Path
    name: str = ""
    context: int = 2048
    parallel: int = 4
    threads: int | None = None
    idle_seconds: float = 300.0
    price: Price = Price()

    def __post_init__(self) -> None:
        for key in ("context", "parallel", "threads"):
            number = getattr(self, key)
            if number is not None and number < 1:
                raise ConfigError(f"{number} makes no sense: give 1 or more", key=key)
        if not self.idle_seconds >= 0:
            raise ConfigError(f"{self.idle_seconds} seconds make no sense: give 0 or more", key="idle_seconds")
        if not self.name:
            object.__setattr__(self, "name", Path(self.model).name.removesuffix(".gguf"))

    @property
    def card(self) -> Card:
        """What is known of the model; whether its chat template knows tools is read from the file, if it is there."""
        try:
            tools = _knows_tools(self.path)
        except BackendError:
            tools = False
        return Card(
            context=self.context,
            price=self.price,
            local=True,
            completes=True,
            logprobs=True,
            tools=tools,
            grammar=True,
        )

    @property
    def path(self) -> Path:
        """The file.

        Raises:
            BackendError: of kind `model_file`: it is missing, not GGUF or cut off; says what to do.
        """
        from motet.pool import CATALOGUE, check_gguf, path_of

        pooled = [model.name for model in CATALOGUE]
        try:
            if self.model in pooled:
                return path_of(str(self.model))
            path = Path(self.model).expanduser().absolute()
            if not path.exists() and path.suffix != ".gguf":
                raise ModelFileError(f"there is no file {path}, and the pool has only {', '.join(pooled)}")
            check_gguf(path)
        except ModelFileError as error:
            raise BackendError("model_file", str(error)) from None
        return path

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        try:
            return self._server.loaded
        except BackendError:
            return False

    async def complete(self, request: Request) -> Reply:
        """The whole reply.

        Raises:
            BackendError: `model_file`, `context_length`, `bad_request`, `timeout` for the request's deadline, or
                `server` and `cut` where llama.cpp fails.
        """
        async with contextlib.aclosing(self.stream(request)) as deltas:
            async for delta in deltas:
                if delta.reply is not None:
                    return delta.reply
        raise BackendError("cut", f"{self.name} ended without a reply")

    async def stream(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The reply in pieces, the last with the whole of it; raises as `complete` does."""
        body, server = self._body(request), self._server
        pieces: asyncio.Queue[Delta | BaseException] = asyncio.Queue()
        loop, draft = asyncio.get_running_loop(), Draft(request)

        def tell(piece: Delta | BaseException) -> None:
            try:
                loop.call_soon_threadsafe(pieces.put_nowait, piece)
            except RuntimeError:  # the loop is closed: nobody listens
                job.stopped = True

        def hear(data: bytes) -> None:
            payload = decode(data)
            try:
                delta = draft.take(payload)
            except BackendError as error:
                raise self._explained(error, payload) from None
            if delta.text or delta.reasoning:
                tell(delta)

        def done(error: BaseException | None) -> None:
            try:
                tell(error or Delta(reply=draft.reply(self.name)))
            except BackendError as none:
                tell(none)

        job = Job(body, not request.prompt, hear, done)
        began = time.monotonic()
        server.submit(job, self.idle_seconds)
        try:
            while True:
                try:
                    async with asyncio.timeout_at(request.deadline):
                        piece = await pieces.get()
                except TimeoutError:
                    waited = time.monotonic() - began
                    raise BackendError("timeout", f"{self.name} had not finished after {waited:.1f} s") from None
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
                if piece.reply is not None:
                    return
        finally:
            job.stopped = True

    def count(self, text: str) -> int:
        """Tokens in `text`, estimated on the high side: the same whether the model is loaded or not, so that what is
        fitted into a context, and with it every prompt, is the same in a replay.
        """
        return _estimate(text)

    def tokens(self, text: str) -> int | None:
        """Tokens in `text` by the model's own tokenizer; None while it is not loaded. Blocks for about 2 ms."""
        try:
            return self._server.tokens(text)
        except BackendError:
            return None

    def unload(self) -> bool:
        """Let go of the model, for every backend that shares it: at once, or when the calls under way have ended.

        Returns:
            Whether it is gone already.
        """
        try:
            return self._server.unload()
        except BackendError:
            return True

    async def address(self) -> Address:
        """Where the model listens as an OpenAI-compatible endpoint, on loopback, with a key; loads it for good.

        It then stays loaded until `unload()`, since calls to that endpoint are not seen here.

        Raises:
            BackendError: of kind `model_file`.
        """
        return await asyncio.to_thread(self._server.address)

    @property
    def _server(self) -> Server:
        return Server.shared(self.path.resolve(), self.context, self.parallel, self.threads or cores())

    def _body(self, request: Request) -> bytes:
        """The call as llama.cpp's server takes it.

        Raises:
            BackendError: of kind `bad_request`, for what it can't do.
        """
        if not request.prompt and not request.messages:
            raise BackendError("bad_request", "the request has neither messages nor a prompt")
        if request.sampling.format and request.sampling.grammar:
            raise BackendError("bad_request", "a reply is held to a format or to a grammar: leave one of them out")
        unread = {part.type for message in request.messages for part in message.parts} - {"text"}
        if unread:
            raise BackendError(
                "bad_request",
                f"{self.name} reads words only, no {', '.join(sorted(unread))}: leave it out, or ask another model",
            )
        extra: dict[str, object] = {"return_progress": True}  # so that the callback is heard during the prompt too
        if request.prompt and request.sampling.format:
            extra["json_schema"] = _schema(request.sampling.format)  # completions do not know response_format
        wire = Wire(grammar="grammar", tools=self.card.tools)
        return encode(request, self.name, wire, extra, stream=True)

    def _explained(self, error: BackendError, payload: dict[str, object]) -> BackendError:
        """`error` in this model's terms."""
        told = payload.get("error")
        if error.kind != "context_length" or not isinstance(told, dict):
            return BackendError(error.kind, error.text)
        return BackendError(
            "context_length",
            f"the prompt takes {told.get('n_prompt_tokens')} tokens, and {self.name} has a context of "
            f"{told.get('n_ctx')}: shorten it, or raise context",
        )


@lru_cache
def _knows_tools(path: Path) -> bool:
    """Whether the chat template in a GGUF file mentions tools; where it does not, llama.cpp drops them silently."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            place = data.find(TEMPLATE, 0, HEADER)
            start = place + len(TEMPLATE) + 12  # a type of 4 bytes and a length of 8 lie between
            template = data[start : start + int.from_bytes(data[start - 8 : start], "little")]
            return place >= 0 and b"tools" in template
    except (OSError, ValueError):
        return False


def _schema(format: str) -> object:
    """The JSON schema in an OpenAI `response_format`."""
    try:
        said = msgspec.json.decode(format, type=dict[str, object])
        if said["type"] == "json_schema":
            return msgspec.convert(said["json_schema"], dict[str, object])["schema"]
        return {"type": "object"} if said["type"] == "json_object" else {}
    except (msgspec.MsgspecError, KeyError):
        raise BackendError("bad_request", f"this is no response_format: {format[:200]}") from None


def _estimate(text: str) -> int:
    """Tokens on the high side: digits, marks and line ends are one each in small models, so three bytes are too many.

    >>> _estimate("12 + 30 = 42")
    12
    """
    letters = len(re.findall("[A-Za-z]", text))
    spaces = len(re.findall("(?<! ) (?=[A-Za-z])", text))  # one before a word is part of it
    marks = sum(map(str.isascii, text)) - letters - spaces
    foreign = len(text.encode("utf-8", "replace")) - letters - spaces - marks
    return -(-letters // 3) + marks + -(-foreign // 2)
