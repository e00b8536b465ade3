"""GGUF models in the process, through llama.cpp (xllamacpp's prebuilt wheels; the extra `local`).

    backend = Llama("smollm2-135m")             # of the embedded pool
    backend = Llama("~/models/mine.gguf")       # one's own file

A model is loaded when it is first called, once a process, whatever agents and event loops share it. Requests are
batched, up to `parallel` at once; further ones wait in the order they came. A model that nobody asks for `idle_seconds`
is unloaded. Prompt prefixes that a slot still holds are reused, and counted in `usage.cached`.

Seeds are honoured, and the same request gives the same reply on the same machine as long as it is worked on alone. In a
batch the sums of a layer are taken in another order, so a token whose rival was as likely to the last bits may change.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from motet.backend import Card, Price, estimate_tokens
from motet.backends.refusal import refusal_in
from motet.backends.wire import Draft, Wire, encode
from motet.errors import BackendError, ModelFileError
from motet.message import Delta, Reply, Request
from motet.pool import CATALOGUE, check_gguf, path_of

if TYPE_CHECKING:
    import xllamacpp

CONTEXT = 2048
"""Tokens a request may take: question, four members' texts and the reply; memory grows with it."""
PARALLEL = 4
"""Requests worked on at once: as many as the default mixtures have members that are models."""
IDLE = 300.0
"""Seconds after which a model that nobody asks is unloaded."""
LEAVING = 2.0
"""Seconds that a generation under way gets to stop when Python exits."""

WIRE = Wire(grammar="grammar")


@dataclass(frozen=True)
class Llama:
    """A GGUF model run by llama.cpp in this process.

    Args:
        model: a name of the embedded pool, or the path of a GGUF file.
        name: what it is called in requests and traces; the model by default.
        context: tokens that a prompt and its reply may take together.
        parallel: requests worked on at once; each has a context of its own.
        threads: threads that compute. Half the cores by default: llama.cpp's threads wait for each other at every
            layer, so that one that has to share its core slows all of them down (here, 1 of 2 cores shared: from 54 to
            8 tokens a second).
        idle_seconds: after so long without a request the model is unloaded.
        price: US dollars per token or per second of compute; nothing by default.
    """

    model: str
    name: str = ""
    context: int = CONTEXT
    parallel: int = PARALLEL
    threads: int | None = None
    idle_seconds: float = IDLE
    price: Price | None = Price()

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", Path(self.model).name)

    @property
    def card(self) -> Card:
        """What is known of it before it is called."""
        return Card(
            context=self.context,
            price=self.price,
            local=True,
            completes=True,
            logprobs=True,
            tools=True,
            constrained=True,
        )

    async def complete(self, request: Request) -> Reply:
        """The whole reply.

        Raises:
            BackendError: `model_file` (missing, not GGUF, corrupt, not loadable), `context_length`, `bad_request`,
                `timeout` (the deadline passed).
        """
        job = _Job(self._body(request), request, self._patience(request))
        reply: asyncio.Future[Reply] = asyncio.wrap_future(self._engine().submit(job))
        try:
            return await reply
        except asyncio.CancelledError:
            job.aborted = True
            raise

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The reply in pieces, the last with the whole of it."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[Delta | None] = asyncio.Queue()

        def tell(delta: Delta | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens
                loop.call_soon_threadsafe(pieces.put_nowait, delta)

        job = _Job(self._body(request), request, self._patience(request), tell)
        done = self._engine().submit(job)
        done.add_done_callback(lambda _: tell(None))
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            reply: asyncio.Future[Reply] = asyncio.wrap_future(done)
            yield Delta(reply=await reply)
        finally:
            job.aborted = True  # of no effect once it has ended

    def count(self, text: str) -> int:
        """Tokens of a text, estimated on the high side: the library offers no tokenizer."""
        return estimate_tokens(text)

    def unload(self) -> None:
        """Give the memory back once what is under way has ended; the next request loads the model again."""
        self._engine().unload()

    def address(self) -> str:
        """The URL of the OpenAI-compatible endpoint that the loaded model also is, on loopback; loads the model."""
        return f"{self._engine().loaded().listening_address}/v1"

    def _engine(self) -> _Engine:
        return _engine(self.model, self.context, self.parallel, self.threads, self.idle_seconds)

    def _body(self, request: Request) -> dict[str, object]:
        if any(message.parts for message in request.messages):
            raise BackendError("bad_request", f"{self.name} reads text only: ask another agent about pictures")
        body: dict[str, object] = json.loads(encode(request, self.name, WIRE, stream=True))
        return body

    @staticmethod
    def _patience(request: Request) -> float | None:
        """The deadline of a request on the clock of threads."""
        if request.deadline is None:
            return None
        return time.monotonic() + request.deadline - asyncio.get_running_loop().time()


class _Job:
    """A request on its way through a model."""

    def __init__(
        self,
        body: dict[str, object],
        request: Request,
        deadline: float | None,
        tell: Callable[[Delta | None], None] | None = None,
    ) -> None:
        self.body, self.request, self.deadline, self.tell = body, request, deadline, tell
        self.aborted = False
        self.future: concurrent.futures.Future[Reply] = concurrent.futures.Future()

    def work(self, server: xllamacpp.Server) -> Reply:
        """Generate; called in a thread, holding a slot of the model."""
        draft = Draft(self.request)
        trouble: list[BaseException] = []

        def take(chunk: dict[str, object]) -> bool:
            """Take a piece; True stops the generation."""
            if self.aborted or self.late:
                return True
            try:
                if "error" in chunk:
                    raise refusal_in(chunk)
                delta = draft.take(chunk)
                if self.tell is not None and (delta.text or delta.reasoning):
                    self.tell(delta)
            except BaseException as error:  # raised here, it would be lost inside the library
                trouble.append(error)
                return True
            return False

        call = server.handle_completions if self.request.prompt else server.handle_chat_completions
        try:
            rest = call(self.body, take)
        except (ValueError, TypeError, RuntimeError) as error:
            raise BackendError("bad_request", f"llama.cpp refused the request: {error}") from None
        if isinstance(rest, dict):
            take(rest)
        if trouble:
            raise trouble[0]
        if self.late:
            raise BackendError("timeout", "the deadline passed while the model was writing", retry=False)
        if self.aborted:
            raise BackendError("late", "nobody waits for this reply any more")
        return msgspec.structs.replace(draft.reply(self.request.model), model=self.request.model)  # not the file's path

    @property
    def late(self) -> bool:
        """Whether its deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline


class _Engine:
    """A model that may be loaded, and the threads that work for it; the last one to leave unloads it."""

    def __init__(self, model: str, context: int, parallel: int, threads: int | None, idle_seconds: float) -> None:
        self._model, self._context, self._parallel = model, context, parallel
        self._threads, self._idle_seconds = threads or max(1, (os.cpu_count() or 2) // 2), idle_seconds
        self._server: xllamacpp.Server | None = None
        self._waiting: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._workers = self._busy = 0
        self.jobs: set[_Job] = set()

    def submit(self, job: _Job) -> concurrent.futures.Future[Reply]:
        """Queue a job; jobs are begun in the order they came."""
        with self._lock:
            self.jobs.add(job)
            self._waiting.put(job)
            if self._workers < self._parallel and len(self.jobs) > self._workers:
                self._workers += 1
                threading.Thread(target=self._work, name=f"motet-llama-{self._model}", daemon=True).start()
        return job.future

    def unload(self) -> None:
        """Send the threads home; the last one unloads the model."""
        with self._lock:
            for _ in range(self._workers):
                self._waiting.put(None)

    def loaded(self) -> xllamacpp.Server:
        """The model, loaded if it isn't."""
        with self._loading:
            if self._server is None:
                self._server = _load(self._model, self._context, self._parallel, self._threads)
            return self._server

    def _work(self) -> None:
        while True:
            try:
                job = self._waiting.get(timeout=self._idle_seconds)
            except queue.Empty:
                job = None
            if job is None:
                with self._lock:
                    if self.jobs and self._workers == 1:
                        continue  # something came in between
                    self._workers -= 1
                    if self._workers == 0:
                        self._server = None
                    return
            try:
                if job.aborted:
                    job.future.cancel()
                elif job.future.set_running_or_notify_cancel():
                    job.future.set_result(job.work(self.loaded()))
            except BaseException as error:
                job.future.set_exception(error)
            finally:
                with self._lock:
                    self.jobs.discard(job)


_engines: dict[tuple[str, int, int, int | None, float], _Engine] = {}
_engines_lock = threading.Lock()


def _engine(model: str, context: int, parallel: int, threads: int | None, idle_seconds: float) -> _Engine:
    key = (model, context, parallel, threads, idle_seconds)
    with _engines_lock:
        if key not in _engines:
            _engines[key] = _Engine(*key)
        return _engines[key]


def _load(model: str, context: int, parallel: int, threads: int) -> xllamacpp.Server:
    path = _path(model)
    try:
        import xllamacpp
    except ImportError:
        raise BackendError(
            "model_file", "local models need llama.cpp: run `pip install 'motet[local]'`", retry=False
        ) from None
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context * parallel
    params.n_parallel = parallel
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cpuparams.poll = params.cpuparams_batch.poll = 0  # a thread that spins takes the core others wait for
    params.cache_ram_mib = 0  # prefixes are reused from the slots, not kept beside them
    params.verbosity = -1
    try:
        return xllamacpp.Server(params)
    except Exception as error:
        raise BackendError(
            "model_file",
            f"{path} can't be loaded ({error}): the file may be corrupt (`motet models verify`), or of a kind that "
            f"this llama.cpp does not know",
            retry=False,
        ) from None


def _path(model: str) -> Path:
    """The file of a model of the pool, or of one's own; looked at before llama.cpp is."""
    try:
        if any(model == pooled.name for pooled in CATALOGUE):
            return path_of(model)
        path = Path(model).expanduser()
        check_gguf(path)
        return path
    except ModelFileError as error:
        raise BackendError("model_file", str(error), retry=False) from None


@atexit.register
def _leave() -> None:
    """Stop what is under way: a thread that is writing while Python goes away would crash."""
    engines = list(_engines.values())
    for engine in engines:
        for job in list(engine.jobs):
            job.aborted = True
        engine.unload()
    end = time.monotonic() + LEAVING
    while any(engine.jobs for engine in engines) and time.monotonic() < end:
        time.sleep(0.01)
