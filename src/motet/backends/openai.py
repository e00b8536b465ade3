"""Any OpenAI-compatible chat endpoint, over pooled connections: one attempt a call, four clocks, strict about ends.

    >>> backend = OpenAI("llama3.2", base_url="http://localhost:11434/v1", key_required=False, price=Price())
    >>> backend.endpoint, backend.name
    ('http://localhost:11434', 'llama3.2')

A call succeeded only if its answer parsed, has a choice and a finish reason and, streamed, ended properly: with
`[DONE]`, or else, since many servers leave that out, with the end of a body that says where it ends (chunked, or with
a length). A stream that merely stops when the connection closes might have been cut, so it is `cut`; so is any stream
without a finish reason, `[DONE]` or not.

There is one attempt a call but for one case: a connection was idle, and breaks as soon as the request is on it, before
a byte of an answer. Then the server has most likely closed it for idleness in that very moment and never read the
request, so it goes out once more, on a new connection. Nobody can know that: a server may also have read it and died.
Browsers send again here; Go's client does so only with requests that are idempotent or of which nothing was written,
which a call to a model is not. So the second time is not for nothing: it is a call in the usage, an attempt in the
record, wants the leave of the purse, and isn't made for what broke later than `STALE_SECONDS` or on a new connection.

Retries, limits and fallbacks are wrappers: `Retried`, `Limited`, `Fallback`. `presets.openai_backend` puts them
together.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from msgspec.structs import replace

from motet.backend import HOLD, Card, Price, estimate_tokens
from motet.backends import session
from motet.backends.refusal import refusal, refusal_in, tidy
from motet.backends.secret import Secret, hide, secret_texts
from motet.backends.sse import EventParser
from motet.backends.wire import Draft, Wire, check_extra, decode, encode
from motet.errors import Attempt, BackendError, ConfigError
from motet.message import Delta, Reply, Request
from motet.prices import context_of, price_of

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

ERROR_BYTES = 64 * 1024
"""Bytes of an error's body that are read."""
ERROR_SECONDS = 5.0
"""Seconds that an error's body may take: its status says enough."""
DRAIN_SECONDS = 0.1
"""Seconds waited after `[DONE]` for the end of the body, so that the connection can be used again."""
STALE_SECONDS = 1.0
"""Seconds within which a connection that the server had closed already fails: a round trip, and some patience."""
REAL_KEY = 16
"""Characters from which a key is taken out of replies too; shorter ones (`EMPTY`, `ollama`) are ordinary words."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds that the parts of one call may take; the request's deadline bounds them all.

    Args:
        connect: until the connection stands, TLS included.
        first_byte: until the first byte of the answer's body, from the start of the call. An answer that does
            not stream begins when it is finished, so slow models need more.
        idle: between two chunks.
        total: the whole call, however busily it drips.
    """

    connect: float = 10.0
    first_byte: float = 60.0
    idle: float = 30.0
    total: float = 300.0

    def __post_init__(self) -> None:
        for name in ("connect", "first_byte", "idle", "total"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"{getattr(self, name)} seconds are no time limit: give more than 0", key=name)


CLOCKS = Clocks()
"""The limits where nothing else is said."""


@dataclass(frozen=True)
class OpenAI:
    """A model behind an OpenAI-compatible endpoint.

    Args:
        model: its name upstream.
        base_url: what `/chat/completions` is appended to.
        api_key: the key; without one, the environment's is used.
        key_variable: the environment variable with the key, looked up at each call.
        key_required: whether a call without a key is refused here.
        wire: what the endpoint makes of the OpenAI wire.
        price: US dollars per million tokens; None asks `genai-prices`, if it is installed.
        context: tokens that prompt and reply may take together; None asks `genai-prices` likewise.
        provider: its id at `genai-prices`, "" to not ask.
        local: whether it runs on this machine.
        clocks: the four time limits.
        max_bytes: the largest answer that is read; default 8 MiB. Of a stream, the words count.
        extra: further fields of every call's body (`reasoning_effort` and the like). They are no part of a
            request's key: models that differ only here need names that differ.
        headers: further headers of every call.
        name: what it is called in requests and traces; by default the model's name.
        secrets: texts inside the other fields that no error, answer or repr may show. The key is one anyway, and so
            is what `extra`, `headers` or the URL's query hold under the name of a secret.

    Raises:
        ConfigError: the URL is none, or `extra` has a field that is not its to set.
    """

    model: str
    base_url: str = "https://api.openai.com/v1"
    api_key: Secret | None = None
    key_variable: str = "OPENAI_API_KEY"
    key_required: bool = True
    wire: Wire = Wire()
    price: Price | None = None
    context: int | None = None
    provider: str = ""
    local: bool = False
    clocks: Clocks = CLOCKS
    max_bytes: int = 8 * 1024 * 1024
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    name: str = ""
    secrets: Sequence[Secret] = field(default=(), compare=False)

    def __repr__(self) -> str:
        # Names enough: a URL may hold a key in its path, and `extra` and `headers` anything.
        return hide(f"OpenAI({self.model!r}, {self.endpoint!r}, name={self.name!r})", self.secrets)

    def __post_init__(self) -> None:
        check_extra(self.extra)
        try:
            url = urlsplit(self.base_url)
            sound = url.scheme in ("http", "https") and url.hostname and url.port != 0
        except ValueError:  # a port that is no number, brackets that do not close
            sound = False
        if not sound:
            raise ConfigError("an endpoint begins with http:// or https:// and a host", key="base_url")
        if url.username or url.password:
            raise ConfigError("an endpoint's URL holds no password: use api_key or its variable", key="base_url")
        if not self.name:
            object.__setattr__(self, "name", self.model)

    @cached_property
    def card(self) -> Card:
        """What is known of the model; prices and contexts are looked up the first time."""
        price, context = self.price, self.context
        if self.provider:
            price = price_of(self.provider, self.model) if price is None else price
            context = context_of(self.provider, self.model) if context is None else context
        return Card(
            context=context,
            price=price,
            local=self.local,
            completes=self.wire.completes,
            logprobs=bool(self.wire.logprobs),
            tools=self.wire.tools,
            grammar=bool(self.wire.grammar),
        )

    @cached_property
    def endpoint(self) -> str:
        """Scheme, host and port: what limits, breakers and errors name."""
        url = urlsplit(self.base_url)
        return f"{url.scheme}://{url.netloc}"

    def hide(self, text: str) -> str:
        """`text` without any of the backend's secrets, but for a key that is in the environment."""
        return hide(text, self._secrets)

    def count(self, text: str) -> int:
        """An estimate on the high side."""
        return estimate_tokens(text)

    async def complete(self, request: Request) -> Reply:
        """The whole reply, in one attempt.

        Raises:
            BackendError: of the kind that fits.
        """
        call = _Call(self, request)
        body = call.encoded(stream=False)
        response: ClientResponse | None = None
        with call.failures():
            try:
                async with asyncio.timeout_at(call.until("first_byte", self.clocks.first_byte)) as clock:
                    response = await call.post(body)
                    data = await call.rest(response, clock)
            finally:
                if response is not None:
                    response.close()
            draft = call.draft()
            draft.take(decode(call.masked(data)))
            return call.reply(draft)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The reply in pieces, in one attempt; the last one carries the whole.

        Raises:
            BackendError: of the kind that fits, also after pieces have come.
        """
        call = _Call(self, request)
        body = call.encoded(stream=True)
        draft, parser = call.draft(), EventParser(self.max_bytes)
        response: ClientResponse | None = None
        try:
            with call.failures():
                async with asyncio.timeout_at(call.until("first_byte", self.clocks.first_byte)) as clock:
                    response = await call.post(body)
                    kind = response.content_type
                    if "json" in kind or "html" in kind:  # it does not stream, or has something else to say
                        delta = draft.take(decode(call.masked(await call.rest(response, clock))))
                        chunk, done = b"", True
                    else:
                        delta, chunk, done = Delta(), await response.content.readany(), False
            if delta != Delta():
                yield delta
            while chunk:
                with call.failures():
                    events = parser.feed(chunk)
                for event in events:
                    done = event.data.strip() == b"[DONE]"
                    if done:
                        break
                    with call.failures():
                        payload = decode(call.masked(event.data))
                        if event.name == "error":
                            raise refusal_in(payload)
                        delta = draft.take(payload)
                    if delta.text or delta.reasoning:
                        yield delta
                if done:
                    break
                with call.failures():
                    async with asyncio.timeout_at(call.until("idle", self.clocks.idle)):
                        chunk = await response.content.readany()
            with call.failures():
                reply = call.reply(draft)
                if done:
                    await _drain(response)
                elif not _bounded(response):
                    raise BackendError("cut", "the connection closed before [DONE]: the answer may not be whole")
            yield Delta(reply=reply)
        finally:
            if response is not None:
                response.close()

    @cached_property
    def _secrets(self) -> tuple[Secret, ...]:
        query = dict(parse_qsl(urlsplit(self.base_url).query))
        named = [text for _, text in secret_texts([self.extra, self.headers, query])]
        named += [text.split()[-1] for text in named if text.strip()]  # without its scheme: Bearer, Basic
        return (*self.secrets, *map(Secret, named), *([self.api_key] if self.api_key else ()))

    @cached_property
    def _fixed(self) -> _Fixed:
        return _Fixed(self)


class _Fixed:
    """What is the same in every call, made once: URLs, connection clock, proxy, and headers while the key stays."""

    __slots__ = ("_backend", "_raw", "chats", "completions", "echoes", "headers", "key", "proxy", "secrets", "timeout")

    def __init__(self, backend: OpenAI) -> None:
        from urllib.request import getproxies, proxy_bypass

        from aiohttp import ClientTimeout
        from yarl import URL

        base, mark, query = backend.base_url.partition("?")
        self.chats = URL(f"{base.rstrip('/')}/chat/completions{mark}{query}")
        self.completions = URL(f"{base.rstrip('/')}/completions{mark}{query}")
        self.timeout = ClientTimeout(total=None, connect=backend.clocks.connect, ceil_threshold=math.inf)
        host = self.chats.host or ""
        near = host == "localhost" or host.startswith("127.") or host == "::1"
        self.proxy = None if near or proxy_bypass(host) else getproxies().get(self.chats.scheme)
        self._backend = backend
        self._raw: str | None = None
        self.refresh()

    def refresh(self) -> None:
        """Look the key up again, and make key and headers anew if it has changed."""
        backend = self._backend
        raw = backend.api_key.reveal() if backend.api_key else os.environ.get(backend.key_variable, "")
        if raw != self._raw:
            self._raw, self.key = raw, Secret(raw)
            self.secrets = (*backend._secrets, self.key)
            long = [secret for secret in self.secrets if len(secret.reveal()) >= REAL_KEY]
            forms = [(form.encode(), secret.name.encode()) for secret in long for form in secret.forms]
            self.echoes = sorted(dict.fromkeys(forms), key=lambda each: -len(each[0]))
            self.headers = {"Content-Type": "application/json", **backend.headers}
            if self.key:
                self.headers["Authorization"] = f"Bearer {self.key.reveal()}"


class _Call:
    """One attempt: its key, its clocks, and what its failures mean."""

    __slots__ = (
        "_backend", "_fixed", "_hard", "_hard_name", "_key", "_loop", "_lost", "_phase", "_request", "_session",
    )  # fmt: skip

    def __init__(self, backend: OpenAI, request: Request) -> None:
        self._backend, self._request = backend, request
        self._session = session.session()  # before the clocks start: the first one takes a while to open
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._hard, self._hard_name = now + backend.clocks.total, "total"
        if request.deadline is not None:
            if request.deadline <= now:
                raise BackendError("timeout", "the deadline passed before the call", retry=False, calls=0)
            if request.deadline < self._hard:
                self._hard, self._hard_name = request.deadline, "deadline"
        self._phase = "connect"
        self._lost: Attempt | None = None
        self._fixed = backend._fixed
        self._fixed.refresh()
        self._key = self._fixed.key
        if not self._key and backend.key_required:
            raise BackendError("auth", f"no key for {backend.name}: set {backend.key_variable}, or api_key", calls=0)
        if not (self._key.reveal().isascii() and self._key.reveal().isprintable()):
            text = f"the key for {backend.name} has characters no key has; {self._where_key()}"
            raise BackendError("auth", text, calls=0)

    def encoded(self, *, stream: bool) -> bytes:
        """The body that goes out."""
        backend = self._backend
        try:
            return encode(self._request, backend.model, backend.wire, backend.extra, stream=stream)
        except BackendError as error:
            raise error.but(text=backend.hide(error.text), calls=0) from None

    def draft(self) -> Draft:
        """A reply to fill in."""
        return Draft(self._request, cost=self._backend.wire.cost, limit=self._backend.max_bytes)

    def until(self, phase: str, seconds: float) -> float:
        """When the clock of `phase` runs out, or the total or the deadline does, if that is sooner."""
        when = self._loop.time() + seconds
        self._phase = phase if when < self._hard else self._hard_name
        return min(when, self._hard)

    def reply(self, draft: Draft) -> Reply:
        """The whole reply, with a request that was lost as a call of its own."""
        reply = draft.reply(self._backend.model)
        if self._lost is None:
            return reply
        return replace(reply, usage=replace(reply.usage, calls=max(1, reply.usage.calls) + 1))

    async def post(self, body: bytes) -> ClientResponse:
        """Send the call, once more if it was lost on an idle connection, and hand back an answer with status 200."""
        sent, began = session.Sent(), self._loop.time()
        try:
            response = await self._sent(self._session, body, sent)
        except Exception as error:
            seconds = self._loop.time() - began
            if not (sent.reused and seconds < STALE_SECONDS and _unanswered(error)):
                raise
            hold = HOLD.get()
            if hold is not None and not hold.another():
                raise
            text = f"{self._backend.endpoint} closed an idle connection: sent again on a new one"
            self._lost = Attempt("cut", self._hidden(text), seconds=seconds)
            response = await self._sent(session.fresh_session(), body, sent)
        if response.status == 200:
            return response
        read = b""
        try:
            with contextlib.suppress(TimeoutError, OSError, _payload_error()):
                async with asyncio.timeout(min(ERROR_SECONDS, self._backend.clocks.idle)):
                    while len(read) < ERROR_BYTES and (chunk := await response.content.readany()):
                        read += chunk
            # Before it is read, since what is read is cut: half a key would not be found any more.
            headers = {name: hide(text, self._fixed.secrets, least=REAL_KEY) for name, text in response.headers.items()}
            raise refusal(response.status, headers, self.masked(read))
        finally:
            response.close()

    async def _sent(self, on: ClientSession, body: bytes, sent: session.Sent) -> ClientResponse:
        fixed = self._fixed
        return await on.post(
            fixed.completions if self._request.prompt else fixed.chats,
            data=body,
            headers=fixed.headers,
            allow_redirects=False,  # a redirect would take the key to another host
            proxy=fixed.proxy,
            timeout=fixed.timeout,
            trace_request_ctx=sent,
        )

    async def rest(self, response: ClientResponse, clock: asyncio.Timeout) -> bytes:
        """The whole body, if it is not too large; `clock` is set anew with each chunk."""
        most = self._backend.max_bytes
        size, chunks = response.content_length or 0, []
        if size <= most:
            size = 0
            while chunk := await response.content.readany():
                size += len(chunk)
                chunks.append(chunk)
                if size > most or response.content.at_eof():
                    break
                clock.reschedule(self.until("idle", self._backend.clocks.idle))
        if size > most:
            raise BackendError("too_large", f"the answer is larger than {most} bytes")
        return b"".join(chunks)

    def masked(self, data: bytes) -> bytes:
        """`data` without the key and the other secrets, should the endpoint echo one."""
        for form, name in self._fixed.echoes:
            data = data.replace(form, name)
        return data

    @contextlib.contextmanager
    def failures(self) -> Iterator[None]:
        """Whatever goes wrong inside is a `BackendError`, without a secret and with a next step."""
        try:
            yield
        except BackendError as error:
            text = error.text
            if error.kind in ("auth", "not_found"):
                hint = self._where_key() if error.kind == "auth" else f"check base_url and model {self._backend.model}"
                text = f"{text}; {hint}"
            raise self._after(error.but(text=self._hidden(text))) from None
        except Exception as error:
            known = self._network(error)
            if known is None:
                raise
            raise self._after(known.but(text=self._hidden(known.text))) from None

    def _after(self, error: BackendError) -> BackendError:
        """An error, with the request that was lost before it."""
        if self._lost is None:
            return error
        attempts = [self._lost, Attempt(error.kind, error.text, error.status)]
        return error.but(attempts=attempts, calls=error.calls + 1)

    def _hidden(self, text: str) -> str:
        return hide(text, self._fixed.secrets)

    def _where_key(self) -> str:
        backend = self._backend
        return f"check {backend.key_variable}" if backend.key_variable and not backend.api_key else "check api_key"

    def _network(self, error: Exception) -> BackendError | None:
        """What an error of the network means; None for a bug."""
        import aiohttp

        backend, clocks = self._backend, self._backend.clocks
        endpoint, said = backend.endpoint, tidy(self._hidden(str(error)))
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return BackendError("timeout", f"no connection to {endpoint} within {clocks.connect:g} s (connect)")
        if isinstance(error, TimeoutError):
            text = {
                "first_byte": f"{endpoint} sent nothing for {clocks.first_byte:g} s (first_byte)",
                "idle": f"{endpoint} fell silent in mid-answer for {clocks.idle:g} s (idle)",
                "total": f"{endpoint} was still answering after {clocks.total:g} s (total)",
                "deadline": "the deadline passed during the call",
            }[self._phase]
            return BackendError("timeout", text)
        if isinstance(error, aiohttp.ClientSSLError):
            return BackendError("connect", f"{endpoint} can't be trusted: {said}", retry=False)
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = tidy(error.os_error.strerror or str(error.os_error))
            return BackendError("connect", f"no connection to {endpoint}: {reason}; is it running, is base_url right?")
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return BackendError("connect", f"the proxy would not connect to {endpoint}: {said}", status=error.status)
        if isinstance(error, aiohttp.ClientResponseError):
            return BackendError("malformed", f"{endpoint} does not speak HTTP: {tidy(error.message)}")
        if isinstance(error, aiohttp.ClientError | OSError):
            return BackendError("cut", f"{endpoint} broke the connection: {said or type(error).__name__}")
        return None


def _unanswered(error: Exception) -> bool:
    """Whether a connection broke without a byte of an answer."""
    from aiohttp import ServerDisconnectedError

    if isinstance(error, ServerDisconnectedError):
        return isinstance(error.message, str)  # else it is the beginning of one
    broken = isinstance(error, OSError) and error.errno in (errno.ECONNRESET, errno.EPIPE)
    return broken or isinstance(error, ConnectionError)


def _payload_error() -> type[Exception]:
    from aiohttp import ClientError

    return ClientError


def _bounded(response: ClientResponse) -> bool:
    """Whether the body said where it ends; if so, a cut would have been an error already."""
    chunked = "chunked" in response.headers.get("Transfer-Encoding", "").lower()
    return chunked or response.content_length is not None


async def _drain(response: ClientResponse) -> None:
    """Read to the end of a finished answer, if that is near: only then is the connection kept."""
    with contextlib.suppress(TimeoutError, OSError, _payload_error()):
        async with asyncio.timeout(DRAIN_SECONDS):
            while not response.content.at_eof():
                await response.content.readany()
