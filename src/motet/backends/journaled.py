"""A backend whose calls are in a journal: asked once, written down before and after, also for the next process.

    >>> import asyncio, tempfile
    >>> from motet.backends.scripted import Scripted
    >>> from motet.message import Message
    >>> folder = tempfile.TemporaryDirectory()
    >>> model, request = Scripted("hello"), Request("scripted", (Message("user", "hi"),))
    >>> for _ in range(2):
    ...     with Journal(f"{folder.name}/journal.sqlite") as journal:
    ...         asyncio.run(Journaled(model, journal, code="1").complete(request)).usage.calls
    1
    0
    >>> folder.cleanup()

A call is written down before it is made, and made only then: what was under way when a process was killed is known. A
reply is given only when it is written down with its cost, so that what anybody saw is never lost. Replies that are
whole and usable are served again; the others, and failures, are written down as well and asked for again.

That is strict: without its journal a run ends. Who would rather have an answer than a record gives `trouble`, which is
told what is wrong; calls are made all the same then.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary, WeakValueDictionary

import msgspec

from motet.backend import HOLD, Backend, checked, worst_case
from motet.backends.cached import Cached
from motet.backends.wrapper import Wrapper, closing
from motet.errors import TAKEN, BackendError, MotetError
from motet.journal import Call, Journal
from motet.message import Delta, Reply, Request, Usage

Trouble = Callable[[MotetError], object]
"""What is told that a journal can't be used."""


def version_of(model: str) -> str:
    """The `code` of calls of a model: the version of this package, and what the model is, "" if that was not said."""
    from motet import __version__

    return f"{__version__} {model}".strip()


@dataclass(frozen=True)
class Journaled(Wrapper):
    """A backend with a journal; `Cached`, with the journal as its store.

    Args:
        backend: who is asked for what is not known. Retries and fallbacks belong inside. Around another one with the
            same file it takes that one's place, since a call is written down once.
        journal: where its calls are written down.
        code: what replies depend on besides the request: the version of the package, a digest of the configuration.
        run: the named run that pays; it has to be open. "" for none.
        serves: whether what is known is served; if not, every call is made anew, and written down.
        unusable: whether replies without words, and those cut off at the length asked for, are served as well.
        trouble: is told when the journal can't be used, and the call is made all the same; None for no call then.
    """

    journal: Journal
    code: str = ""
    run: str = ""
    serves: bool = True
    unusable: bool = False
    trouble: Trouble | None = field(default=None, repr=False, compare=False)
    _written: Backend = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        while isinstance(self.backend, Journaled) and self.backend.journal.path == self.journal.path:
            object.__setattr__(self, "backend", self.backend.backend)
        shelves = _shelves.setdefault(self.journal, WeakValueDictionary())
        place = (self.name, self.code, self.unusable)
        shelf = shelves.get(place)
        if shelf is None:
            shelf = shelves[place] = _Shelf(self.journal, *place)
        written = _Written(self.backend, shelf, self.run, self.trouble)
        object.__setattr__(self, "_written", _Served(written, shelf, self.trouble) if self.serves else written)

    def lookup(self, request: Request) -> Reply | None:
        """The reply that is known, with the usage it had when it was made.

        Raises:
            MotetError: the journal is damaged.
        """
        knowing = self._written if self.serves else self.backend
        known: Callable[[Request], Reply | None] | None = getattr(knowing, "lookup", None)  # it is `Knowing`
        return known(request) if known is not None else None

    async def complete(self, request: Request) -> Reply:
        """The reply that is known, or on its way, or else the backend's.

        Raises:
            BackendError: the call failed.
            MotetError: the journal can't be written, so no call was made.
        """
        return await self._written.complete(request)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same in pieces: in one if it is known, as they come if the call streams."""
        async with closing(self._written.stream(request)) as stream:
            async for delta in stream:
                yield delta


@dataclass(frozen=True)
class _Served(Cached):
    """A cache that goes without its store where that can't be read, if there is somebody to tell."""

    trouble: Trouble | None

    def lookup(self, request: Request) -> Reply | None:
        try:
            return super().lookup(request)
        except MotetError as error:
            if self.trouble is None:
                raise
            self.trouble(error)
            return None


class _Shelf:
    """What a journal knows of one backend under one version of the code, as `Cached` wants it."""

    def __init__(self, journal: Journal, backend: str, code: str, unusable: bool) -> None:
        self.journal, self.backend, self.code, self.unusable = journal, backend, code, unusable

    def get(self, key: str) -> Reply | None:
        return self.journal.known(key, self.backend, self.code, unusable=self.unusable)

    def put(self, key: str, reply: Reply) -> None:
        """Nothing: it is there already, since `_Written` wrote it down."""


_shelves: WeakKeyDictionary[Journal, WeakValueDictionary[tuple[str, str, bool], _Shelf]] = WeakKeyDictionary()
"""The shelves in use, so that every wrapper around one journal, however short-lived, knows of the others' calls."""


@dataclass(frozen=True)
class _Written(Wrapper):
    """A backend each of whose calls is written down before and after it is made."""

    shelf: _Shelf
    run: str
    trouble: Trouble | None

    async def complete(self, request: Request) -> Reply:
        call = await self._begun(request)
        if call is None:
            return await self.backend.complete(request)
        try:
            reply = await self.backend.complete(request)
        except BaseException as error:
            call.failed(error)
            raise
        return await call.finished(reply)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        call = await self._begun(request)
        if call is None:
            async with closing(self.backend.stream(request)) as stream:
                async for delta in stream:
                    yield delta
            return
        reply = None
        try:
            async with closing(self.backend.stream(request)) as stream:
                async for delta in stream:
                    reply = delta.reply or reply
                    if delta.text or delta.reasoning:
                        yield Delta(delta.text, delta.reasoning)
            if reply is None:
                raise BackendError("cut", f"the stream of {self.name} ended without a reply")
        except BaseException as error:
            call.failed(error)
            raise
        yield Delta(reply=await call.finished(reply))

    async def _begun(self, request: Request) -> _Under | None:
        """A call that is written down and may be made; None for one that can't be, and may be made all the same."""
        try:
            intent = self.shelf.journal.begin(Call(request, self.shelf.backend, self.shelf.code, self.run))
            return self._under(request, await asyncio.shield(intent))
        except MotetError as error:
            if self.trouble is None:
                raise
            self.trouble(error)
            return None
        except asyncio.CancelledError:

            def undo(intent: asyncio.Future[int]) -> None:
                if not intent.cancelled() and intent.exception() is None:
                    self._under(request, intent.result()).failed(asyncio.CancelledError(), made=False)

            intent.add_done_callback(undo)
            raise

    def _under(self, request: Request, intent: int) -> _Under:
        return _Under(self.backend, request, self.shelf.journal, intent, self.trouble)


class _Under:
    """A call under way."""

    __slots__ = ("_backend", "_began", "_clock", "_intent", "_journal", "_request", "_trouble")

    def __init__(
        self, backend: Backend, request: Request, journal: Journal, intent: int, trouble: Trouble | None
    ) -> None:
        self._backend, self._request, self._journal, self._intent = backend, request, journal, intent
        self._trouble = trouble
        self._clock = asyncio.get_running_loop().time
        self._began = self._clock()

    async def finished(self, reply: Reply) -> Reply:
        """`reply`, when it is written down with its cost; one that can't be is given with a warning."""
        kept = reply
        if reply.usage.calls or not reply.usage.saved_calls:  # else a cache inside had it, as a run sees it too
            kept, _ = checked(self._backend, self._request, reply, self._clock() - self._began)
        try:
            short = self._request.max_tokens < self._request.sampling.max_tokens
            await self._journal.finish(self._intent, kept, short=short)
        except MotetError as error:
            if self._trouble is not None:
                self._trouble(error)
            else:
                warnings.warn(f"a reply of {self._backend.name} was not kept: {error}", RuntimeWarning, stacklevel=2)
        return reply

    def failed(self, error: BaseException, *, made: bool = True) -> None:
        """Write down how the call failed, as a run counts it; nobody waits for that."""
        known = error if isinstance(error, BackendError) else None
        hold = HOLD.get()
        calls = known.calls if known is not None else hold.cost.calls if hold is not None else 1
        usage = Usage(calls, seconds=self._clock() - self._began)
        if known is None or known.kind in TAKEN:  # upstream may have worked on the prompt
            cost = worst_case(self._backend, self._request)
            usage = msgspec.structs.replace(usage, input=cost.input, usd=cost.usd_input)
        if known is None:
            left = isinstance(error, asyncio.CancelledError | GeneratorExit)
            known = BackendError("late", "cancelled" if left else f"{type(error).__name__}: {error}")
        try:
            future = self._journal.fail(self._intent, known, usage if made else Usage())
        except (MotetError, RuntimeError):  # it can't be opened, or the event loop has ended: the intent tells
            return
        future.add_done_callback(lambda future: future.cancelled() or future.exception())
