"""`ask`: a question to a mixture, in one line; from a script, a notebook, or a running event loop.

    >>> from motet import ModelAgent, Scripted, Vote
    >>> agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "four", "5")]
    >>> ask("What is 2 + 2?", Vote(agents)).text
    '4'

`ask` works on one event loop in a thread of its own, kept for the whole process: so it can be called where a loop runs
already, and connections and models stay open between calls. They are closed when Python exits.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import datetime
import os
import secrets
import sys
import threading
import warnings
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from motet.budget import Budget
from motet.errors import UsageError
from motet.message import Chat, Message
from motet.outcome import Result
from motet.perform import perform
from motet.run import Agent
from motet.runs import Keeper
from motet.trace import Watcher

if TYPE_CHECKING:
    from motet.spec import Config

T = TypeVar("T")
PATIENCE = 5.0
"""Seconds that a run which was interrupted gets to write down what it has; then it is left behind."""


def ask(
    question: str | Chat | Iterable[Message],
    mixture: str | Agent | None = None,
    *,
    agents: Sequence[str] | None = None,
    config: str | Path | Config | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    watch: Watcher | None = None,
    stream: bool = False,
    keep: bool = False,
) -> Result:
    """Put a question to a mixture, and wait for the answer.

    Args:
        question: words, messages or a chat.
        mixture: the name of a mixture, an agent or a model of the configuration, or an agent made in Python; the
            configuration's default if None.
        agents: names of agents that take the place of the mixture's members.
        config: a configuration, or the file of one; by default the one that `motet.spec.load` finds.
        budget: what the question may cost; by default what the configuration says, or else 1 USD.
        seed: same seed, same run.
        watch: called with each event as it happens, from another thread.
        stream: whether the answer's words are told to `watch` as they are written.
        keep: whether the run is kept in the journal with every call that it pays for, as those of `motet ask` are: for
            `motet trace`, `motet replay` and `motet journal`.

    Returns:
        The result: `text`, `replies`, `outcome`, `usage`, `trace`.

    Raises:
        MotetError: there is no answer; says why.
        KeyboardInterrupt: Ctrl-C; the run is cancelled.
    """
    asked = prepare(mixture, agents=agents, config=config, budget=budget)
    keeper = asked.keeper() if keep else None
    put = asked.put(question, seed=seed, watchers=_watchers(watch), stream=stream, keeper=keeper)
    return _answered(background(put), keeper)


async def ask_async(
    question: str | Chat | Iterable[Message],
    mixture: str | Agent | None = None,
    *,
    agents: Sequence[str] | None = None,
    config: str | Path | Config | None = None,
    budget: Budget | None = None,
    seed: int = 0,
    watch: Watcher | None = None,
    stream: bool = False,
    keep: bool = False,
) -> Result:
    """`ask` for async code: works on the running event loop; cancelling it cancels the run.

    Args:
        question, mixture, agents, config, budget, seed, stream, keep: as for `ask`.
        watch: called with each event as it happens, on the event loop.

    Raises:
        MotetError: there is no answer; says why.

    >>> from motet import ModelAgent, Scripted
    >>> asyncio.run(ask_async("What is 2 + 2?", ModelAgent(Scripted("4"), "a"))).text
    '4'
    """
    asked = prepare(mixture, agents=agents, config=config, budget=budget)
    keeper = asked.keeper() if keep else None
    put = asked.put(question, seed=seed, watchers=_watchers(watch), stream=stream, keeper=keeper)
    return _answered(await put, keeper)


def _answered(result: Result, keeper: Keeper | None) -> Result:
    if keeper is not None and keeper.trouble:
        warnings.warn(keeper.trouble, RuntimeWarning, stacklevel=3)
    result.checked()
    return result


def _watchers(watch: Watcher | None) -> list[Watcher]:
    return [watch] if watch is not None else []


@dataclass(frozen=True)
class Asked:
    """Who is asked, with which purse.

    `wanted` is what a replay needs to make the same agent again; `models` is what each model is, by its name.
    """

    agent: Agent
    budget: Budget | None
    wanted: dict[str, object]
    models: Mapping[str, str]

    def keeper(self) -> Keeper:
        """Keeps a run that is put with it."""
        return Keeper(_run_id(), self.models)

    async def put(
        self,
        question: str | Chat | Iterable[Message],
        *,
        seed: int = 0,
        watchers: Sequence[Watcher] = (),
        stream: bool = False,
        keeper: Keeper | None = None,
    ) -> Result:
        """Put a question. A run that failed is a result too; the keeper tells whether it could be kept."""
        async with keeper or contextlib.nullcontext():
            return await perform(
                self.agent,
                question,
                seed=seed,
                budget=self.budget,
                watchers=[keeper, *watchers] if keeper else watchers,
                stream=stream,
                run_id=keeper.run if keeper else _run_id(),
                wanted=self.wanted,
                wrap=keeper.wrap if keeper else None,
            )


def _run_id() -> str:
    """A name that sorts by time within a second too: the newest of the kept runs is `last`."""
    now = datetime.datetime.now(datetime.UTC)
    return f"{now:%Y%m%d-%H%M%S}-{now.microsecond // 1000:03}{secrets.token_hex(2)}"


def prepare(
    mixture: str | Agent | None = None,
    *,
    agents: Sequence[str] | None = None,
    config: str | Path | Config | None = None,
    budget: Budget | None = None,
) -> Asked:
    """Who is meant by a name; nothing is called yet. The arguments are those of `ask`.

    Raises:
        UsageError: there is no such name, or the arguments make no sense together.
        ConfigError: something is wrong with the configuration.
    """
    if isinstance(mixture, Agent):
        if agents is not None:
            raise UsageError("agents take the place of a named mixture's members: give a name, or an agent alone")
        return Asked(mixture, budget, {}, {})
    if mixture is not None and not isinstance(mixture, str):
        raise UsageError(f"a {type(mixture).__name__} can't be asked: give an agent or the name of one")
    known = configuration(config)
    if isinstance(agents, str):
        raise UsageError(f'agents should be a list of names: ["{agents}"]')
    if agents is not None:
        known = known.committee(agents, mixture or "")
        mixture = known.default
    agent = known.agent(mixture or "")
    name = mixture or ""
    return Asked(agent, budget or known.budget(), {"config": known.subset(name)}, known.identities([name]))


# ---- the configuration, kept while its file stays the same

_configs: dict[str, tuple[object, Config]] = {}
_lock = threading.Lock()


def configuration(config: str | Path | Config | None = None) -> Config:
    """The configuration that applies, read again only when its file has changed: its models stay loaded.

    Args:
        config: a configuration as it is, or its file; by default the one that `motet.spec.load` finds.

    Raises:
        ConfigError: something is wrong with it; names file, line and key.
    """
    from motet.spec import Config, load
    from motet.spec.source import find

    if isinstance(config, Config):
        return config
    path = Path(config).expanduser() if config is not None else find()
    name, state = str(path.absolute()) if path is not None else "", None
    if path is not None:
        with contextlib.suppress(OSError):  # `load` says what is wrong with it
            stat = path.stat()
            state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    with _lock:
        known = _configs.get(name)
        if known is None or known[0] != state:
            known = _configs[name] = (state, load(path))
        return known[1]


# ---- the loop in the background


class _Background:
    """An event loop that runs in a daemon thread until Python exits."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._open = True
        self.thread = threading.Thread(target=self._run, name="motet", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        while self._open:
            # A tool that calls sys.exit() throws that out of the loop; whoever waits for its task gets it as well.
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self._loop.run_forever()

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine here, and wait for it; what is raised into the waiting thread cancels it."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            tasks.append(self._loop.create_task(work))
            tasks[0].add_done_callback(settle)

        def settle(task: asyncio.Task[T]) -> None:
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(task.result())

        self._loop.call_soon_threadsafe(start)
        try:
            _wait(future)
        except BaseException:
            self._loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            _wait(future, PATIENCE)
            raise
        return future.result()

    def close(self) -> None:
        """Cancel what still runs, close what is open, and stop."""

        async def finish() -> None:
            left = asyncio.all_tasks() - {asyncio.current_task()}
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            await self._loop.shutdown_asyncgens()  # the HTTP session is one

        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(finish(), self._loop).result(PATIENCE)
        self._open = False
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.thread.join(PATIENCE)
        if not self.thread.is_alive():
            self._loop.close()


def _wait(future: concurrent.futures.Future[T], seconds: float | None = None) -> None:
    """Wait until it is done, or that long, without raising what came of it."""
    # Windows does not interrupt a wait for Ctrl-C, so there it is a series of short ones.
    step = 0.1 if sys.platform == "win32" and seconds is None else seconds
    while not concurrent.futures.wait([future], step).done and seconds is None:
        pass


_background: _Background | None = None
_orphans: list[_Background] = []


def background(work: Coroutine[object, object, T]) -> T:
    """Run a coroutine on the process's background loop, and wait for it. Ctrl-C cancels it.

    Raises:
        UsageError: called from a coroutine that runs there itself, which would wait for ever.
    """
    global _background
    with _lock:
        if _background is None:
            _background = _Background()
        here = _background
    if threading.current_thread() is here.thread:
        work.close()
        raise UsageError("motet.ask was called by an agent or a tool while a run waits for it: await ask_async there")
    try:
        return here.run(work)
    finally:
        # Last registered is first called: the loop has to be closed before what its runs have imported and opened.
        atexit.unregister(close)
        atexit.register(close)


def close() -> None:
    """Close the background loop with its connections; the next `ask` opens a new one."""
    global _background
    with _lock:
        here, _background = _background, None
    if here is not None:
        here.close()


def _forget() -> None:
    """In a forked child that thread is not there, its sockets are the parent's, and so are loaded models."""
    global _background, _lock
    if _background is not None:
        _orphans.append(_background)  # kept, since an open loop that is let go warns
    _background, _lock = None, threading.Lock()
    _configs.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
