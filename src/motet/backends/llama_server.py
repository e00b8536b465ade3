"""One GGUF model in this process: loaded at the first call, shared by all, fed in order, let go when idle.

`Server.shared` gives the one server for a file and its sizes, however many backends, event loops and threads ask for
it. `submit` puts a call at the end of its queue; as many calls as there are slots run at once, and llama.cpp computes
them in one batch. Each is called from a thread of its own, since xllamacpp blocks its caller.

What was found about xllamacpp (2026.10), and what is done about it here:

- A stream's callback that returns true ends the generation and frees the slot at the next token. During a long prompt
  it is called once a batch, so batches are 128 tokens: as fast on a CPU as 512, and a call stops within a second.
- It loads with Python's lock held, so the whole process stands still for that time (half a second for 100 MB). Loading
  is done once, without the warm-up and without trying first what fits into a GPU; nothing else helps.
- Its OpenMP threads spin while they wait for each other. When another process takes a core, two threads on two cores
  fell from 49 to 1.5 tokens a second; waiting passively they stayed at 20. So passive it is, set while the library is
  imported, unless the environment says otherwise.
- It says on stderr what it does; verbosity -1 silences all of that but the parser of grammars, whose complaint about a
  wrong one is worth reading.
- A corrupt file is an exception, never a crash. Damaged weights behind a sound header are not noticed: that is what
  `motet models verify` is for.
- Its HTTP server can't be turned off. It listens on loopback under a random port, and takes calls only with this
  process's own random key.
"""

from __future__ import annotations

import atexit
import http.client
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec

from motet.backends.secret import Secret
from motet.errors import BackendError

BATCH = 128
"""Tokens of prompts that are computed in one step."""
PREFIXES_MIB = 128
"""Memory for the prompts of slots that were given to another prompt since, so that agents who take turns find theirs
again: 46 KB a token for a model of 135M, so about 9 few-shot prompts."""
MOST_THREADS = 8
"""More hardly help: the memory's bandwidth is the limit by then."""
EXIT_SECONDS = 30.0
"""How long the end of the process waits for calls to stop: each does at its next token, at once but on a machine where
others leave it hardly any time."""

_KEY = os.urandom(16).hex()
_registry: dict[tuple[object, ...], Server] = {}
_registering = threading.Lock()


class Native(Protocol):
    """What is used of `xllamacpp.Server`."""

    listening_address: str

    def handle_chat_completions(self, body: bytes, callback: Callable[[bytes], bool]) -> None: ...
    def handle_completions(self, body: bytes, callback: Callable[[bytes], bool]) -> None: ...


class Address(NamedTuple):
    """Where a loaded model listens as an OpenAI-compatible endpoint, and the key it wants."""

    url: str
    key: Secret


class Job:
    """One call: what goes in, who hears each piece of the answer, and who is told that it is over.

    Args:
        body: the JSON of a streaming call.
        chat: whether it is a chat or a plain completion.
        hear: is given each JSON object of the answer, in a thread of the server's; what it raises ends the call.
        done: is told once at the end, with what went wrong; not if the call was stopped.

    Attributes:
        stopped: set it to end the call, wherever it is; nobody listens any more.
    """

    __slots__ = ("body", "chat", "done", "hear", "stopped")

    def __init__(
        self, body: bytes, chat: bool, hear: Callable[[bytes], None], done: Callable[[BaseException | None], None]
    ) -> None:
        self.body, self.chat, self.hear, self.done = body, chat, hear, done
        self.stopped = False


class Server:
    """One model with `parallel` slots of `context` tokens; use `Server.shared` to have it only once.

    Args:
        path: the GGUF file.
        context: tokens of prompt and reply together, in each slot.
        parallel: slots, so calls that run at once.
        threads: threads that compute.
    """

    def __init__(self, path: Path, context: int, parallel: int, threads: int) -> None:
        self.path, self.context, self.parallel, self.threads = path, context, parallel, threads
        self._native: Native | None = None
        self._loading = threading.Lock()
        self._change = threading.Condition()  # guards all that follows
        self._waiting: deque[Job] = deque()
        self._running: set[Job] = set()
        self._workers: list[threading.Thread] = []
        self._free = 0  # workers that wait for a job
        self._idle_seconds = 0.0
        self._last = 0.0
        self._kept = self._leaving = False

    @classmethod
    def shared(cls, path: Path, context: int, parallel: int, threads: int) -> Server:
        """The process's one server for this file and these sizes; nothing is loaded yet."""
        # The process is in the key since a forked child has the parent's objects but none of its threads.
        key = (os.getpid(), path, context, parallel, threads)
        with _registering:
            if key not in _registry:
                _registry[key] = cls(path, context, parallel, threads)
            return _registry[key]

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._native is not None

    def submit(self, job: Job, idle_seconds: float) -> None:
        """Put a call at the end of the queue.

        Args:
            job: the call.
            idle_seconds: how long the model stays loaded without calls; of several wishes the longest counts.
        """
        with self._change:
            self._idle_seconds = max(self._idle_seconds, idle_seconds)
            self._waiting.append(job)
            if self._free < len(self._waiting) and len(self._workers) < self.parallel:
                # Daemons: those of an executor would be waited for at the end of the process, call by call.
                worker = threading.Thread(target=self._work, name=f"llama {self.path.stem}", daemon=True)
                self._workers.append(worker)
                worker.start()
            self._change.notify()

    def unload(self) -> bool:
        """Let go of the model: now, or when the calls that run or wait have ended.

        Returns:
            Whether it is gone already.
        """
        with self._change:
            self._kept, self._leaving = False, True
            self._let_go()
            return self._native is None

    def address(self) -> Address:
        """Where it listens; loads it, and keeps it loaded until `unload`, since calls by HTTP are not seen here."""
        with self._change:
            self._kept = True
        try:
            return Address(self._load().listening_address + "/v1", Secret(_KEY))
        except BackendError:
            self._kept = False
            raise

    def tokens(self, text: str) -> int | None:
        """How many tokens `text` is, by the model's own tokenizer (2 ms); None while it is not loaded."""
        native = self._native
        if native is None:
            return None
        connection = http.client.HTTPConnection(urlsplit(native.listening_address).netloc, timeout=5)
        try:
            body = msgspec.json.encode({"content": text})
            connection.request("POST", "/tokenize", body, {"Authorization": f"Bearer {_KEY}"})
            return len(msgspec.json.decode(connection.getresponse().read(), type=_Tokens).tokens)
        except (OSError, http.client.HTTPException, msgspec.DecodeError):
            return None  # it is being unloaded
        finally:
            connection.close()

    def stop(self) -> None:
        """Stop every call, and let go of the model once they have ended."""
        with self._change:
            for job in (*self._waiting, *self._running):
                job.stopped = True
            self._leaving, self._kept = True, False
            self._change.notify_all()

    def join(self, seconds: float) -> None:
        """Wait for its threads to end, after `stop`."""
        until = time.monotonic() + seconds
        for worker in list(self._workers):
            worker.join(max(0.0, until - time.monotonic()))
        with self._change:
            self._let_go()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            error: BaseException | None = None
            try:
                self._call(job)
            except BaseException as raised:  # a bug in `hear` too is raised where the call was made
                error = raised
            with self._change:
                self._running.discard(job)
                self._last = time.monotonic()
            if not job.stopped:
                job.done(error)

    def _next(self) -> Job | None:
        """The job that has waited longest; None when the model has been let go of, and the thread with it."""
        with self._change:
            while True:
                while self._waiting:
                    job = self._waiting.popleft()
                    if not job.stopped:
                        self._running.add(job)
                        return job
                self._let_go()
                if self._native is None:
                    self._workers.remove(threading.current_thread())
                    return None
                left = None if self._kept else max(0.0, self._last + self._idle_seconds - time.monotonic())
                self._free += 1
                self._change.wait(left if left is None else min(left, threading.TIMEOUT_MAX))
                self._free -= 1

    def _let_go(self) -> None:
        """Unload if that is wanted, or due, and nobody needs the model."""
        due = not self._kept and time.monotonic() >= self._last + self._idle_seconds
        if (self._leaving or due) and not self._waiting and not self._running:
            self._native, self._leaving, self._idle_seconds = None, False, 0.0
            self._change.notify_all()

    def _call(self, job: Job) -> None:
        native = self._load()
        handle = native.handle_chat_completions if job.chat else native.handle_completions
        raised: list[BaseException] = []

        def hear(data: bytes) -> bool:
            if not job.stopped:
                try:
                    job.hear(data)
                except BaseException as error:  # xllamacpp would swallow it
                    raised.append(error)
            return job.stopped or bool(raised)

        try:
            handle(job.body, hear)
        except (ValueError, RuntimeError) as error:
            raise BackendError("bad_request", f"llama.cpp refused the request: {error}") from None
        finally:
            del native, handle  # an error keeps this frame, and would keep the model in memory with it
        if raised:
            raise raised[0]

    def _load(self) -> Native:
        with self._loading:
            if self._native is None:
                self._native = load(self.path, self.context, self.parallel, self.threads)
                self._last = time.monotonic()
            return self._native


class _Tokens(msgspec.Struct):
    tokens: list[int]


def load(path: Path, context: int, parallel: int, threads: int) -> Native:
    """Load a model, with the process standing still for that time.

    Raises:
        BackendError: of kind `model_file`, when it can't be loaded or xllamacpp isn't there.
    """
    xllamacpp = _library()
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.stem}
    params.n_ctx, params.n_parallel = context * parallel, parallel
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = PREFIXES_MIB
    params.swa_full = True  # else a prefix longer than the sliding window could not be used again
    # With these a reply hardly depends on what else is in its batch, or on what is cached: `motet.backends.llama`.
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.no_extra_bufts = True
    params.warmup = params.fit_params = False
    params.verbosity = -1
    params.ui = params.endpoint_slots = False
    params.api_keys = [_KEY]
    try:
        native: Native = xllamacpp.Server(params)
    except (ValueError, RuntimeError):
        raise BackendError(
            "model_file",
            f"llama.cpp can't load {path}: the file is damaged or of a kind it does not know, or memory is short for "
            f"{parallel} contexts of {context} tokens; check it with `motet models verify` or get it again, or lower "
            f"context or parallel",
        ) from None
    return native


def cores() -> int:
    """Physical cores that this process may use, at most `MOST_THREADS`: what a model computes with by default.

    >>> 1 <= cores() <= MOST_THREADS
    True
    """
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return min(MOST_THREADS, _physical(usable))


def _physical(usable: Iterable[int]) -> int:
    """How many cores these logical ones are; where the system does not say, as many."""
    siblings: set[str] = set()
    for number in usable:
        try:
            siblings.add(Path(f"/sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list").read_text())
        except OSError:
            siblings.add(str(number))
    return len(siblings)


def _library() -> ModuleType:
    """xllamacpp, imported so that its threads wait for each other without spinning."""
    said = "OMP_WAIT_POLICY" in os.environ
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # OpenMP reads it when it is loaded, and never again
    try:
        import xllamacpp
    except ImportError as error:
        raise BackendError(
            "model_file", f"local models need xllamacpp: run `pip install 'motet[local]'` ({error})"
        ) from None
    finally:
        if not said:
            del os.environ["OMP_WAIT_POLICY"]
    module: ModuleType = xllamacpp
    return module


@atexit.register
def _close() -> None:
    """Stop what runs and let go of all models: a thread that comes back into a dead interpreter would crash it."""
    servers = [server for key, server in _registry.items() if key[0] == os.getpid()]
    until = time.monotonic() + EXIT_SECONDS
    for server in servers:
        server.stop()
    for server in servers:
        with suppress(RuntimeError):
            server.join(until - time.monotonic())
