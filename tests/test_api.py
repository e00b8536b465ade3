"""`motet.ask` and `ask_async`: from scripts, threads, running loops and forks; cancelled, closed, and cached."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import motet
from motet import Agent, Budget, Chat, ModelAgent, Reply, Run, Scripted, Vote, api, runs
from motet.backends.journaled import version_of
from motet.errors import BackendError, BudgetExceeded, ConfigError, TooFewReplies, UsageError
from motet.journal import Journal, default_path
from motet.spec import load
from motet.trace import CallEnded, Event, RunEnded, Streamed

CONFIG = """
default = "{default}"
[models]
sums = "function:motet.backends.calculator:calculate"
[mixtures.twice]
composition = "vote"
agents = ["sums", "sums"]
[mixtures.once]
composition = "vote"
agents = ["sums"]
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with a mixture that can do sums, in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOTET_CONFIG", raising=False)
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    path = tmp_path / "motet.toml"
    path.write_text(CONFIG.format(default="twice"))
    return path


def said(text: str, delay: float = 0.0) -> ModelAgent:
    """An agent that says a text after a while."""
    return ModelAgent(Scripted(text, name=f"m-{text}", delay=delay), text)


def test_by_name_and_as_an_agent(config: Path) -> None:
    """The default, a name, a committee and an agent object can all be asked, with words or a chat."""
    assert motet.ask("What is 17 * 23?").text == "391"
    assert motet.ask(Chat.of("What is 17 * 23?"), "once").agent == "once"
    assert motet.ask("What is 17 * 23?", agents=["sums", "sums", "sums"]).usage.calls == 3
    assert motet.ask("What?", Vote([said("a"), said("a2"), said("a")])).text == "a"


def test_failures_are_raised(config: Path) -> None:
    """A run without an answer raises why; what makes no sense is refused."""
    with pytest.raises(TooFewReplies):
        motet.ask("Who are you?")
    with pytest.raises(BudgetExceeded):
        motet.ask("What is 1 + 1?", budget=Budget(calls=0))
    with pytest.raises(UsageError, match="did you mean twice"):
        motet.ask("What is 1 + 1?", "twise")
    with pytest.raises(UsageError, match="a list of names"):
        motet.ask("What is 1 + 1?", agents="sums")
    with pytest.raises(UsageError, match="take the place"):
        motet.ask("What is 1 + 1?", said("a"), agents=["b"])
    with pytest.raises(UsageError, match="a int can't be asked"):
        motet.ask("What is 1 + 1?", 4)  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        motet.ask("What is 1 + 1?", config="nowhere.toml")


async def test_inside_a_running_loop(config: Path) -> None:
    """`ask` works where a loop is running already, as in a notebook; `ask_async` works on that loop."""
    assert motet.ask("What is 2 + 2?").text == "4"
    where: list[threading.Thread] = []
    result = await motet.ask_async("What is 2 + 2?", watch=lambda event: where.append(threading.current_thread()))
    assert result.text == "4"
    assert set(where) == {threading.current_thread()}


def test_many_threads_share_the_loop(config: Path) -> None:
    """Asks from several threads run side by side, and each gets its own answer."""
    answers: dict[int, str] = {}

    def work(number: int) -> None:
        answers[number] = motet.ask("What?", said(str(number), delay=0.2)).text

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: str(number) for number in range(20)}
    assert time.monotonic() - began < 3


def test_watch_and_stream(config: Path) -> None:
    """A watcher sees every event that the trace keeps, and the words as they come where that is wanted."""
    seen: list[Event] = []
    result = motet.ask("What?", said("a b"), watch=seen.append, stream=True)
    assert [event for event in seen if not isinstance(event, Streamed)] == result.trace.events
    assert "".join(event.text for event in seen if isinstance(event, Streamed)) == "a b"


def test_keep(config: Path) -> None:
    """A run is kept only where that is wanted, and the newest of several in one second is the last one."""
    motet.ask("What is 1 + 1?")
    assert runs.kept() == []
    names = [motet.ask("What is 1 + 1?", keep=True).run_id for _ in range(5)]
    assert runs.kept() == names[::-1]


def test_without_keep_there_is_no_journal(config: Path) -> None:
    """Calls of a program that keeps nothing are nobody's record."""
    motet.ask("What is 1 + 1?")
    motet.ask("What is 1 + 1?", said("2"))
    assert not default_path().exists()


def test_calls_of_kept_runs_are_in_the_ledger(config: Path) -> None:
    """Each is made anew and written down under its run; a reply is known by what its model is, where that is known."""
    names = [motet.ask("What is 1 + 1?", "once", keep=True).run_id for _ in range(2)]
    python = motet.ask("What is 1 + 1?", said("2"), keep=True)
    with Journal(default_path()) as journal:
        assert [journal.spent(name).calls for name in (*names, python.run_id)] == [1, 1, 1]
        assert (journal.stats().states, journal.stats().unfinished) == ({"ok": 3}, 0)
        key = next(event.key for event in runs.load(names[0]) if isinstance(event, CallEnded))
        model = load().identities(["once"])["sums"]
        assert journal.known(key, "sums", version_of(model)) is not None
        key = next(event.key for event in python.trace if isinstance(event, CallEnded))
        assert journal.known(key, "m-2", version_of("")) is None, "another model may go by that name"


def test_keep_without_a_disk_warns(config: Path) -> None:
    """A run that can't be kept still answers, and says so."""
    (config.parent / "home" / "state").mkdir(parents=True)
    (config.parent / "home" / "state" / "journal.sqlite").write_text("in the way")
    with pytest.warns(RuntimeWarning, match="could not be kept"):
        assert motet.ask("What is 1 + 1?", keep=True).text == "2"


def test_configuration_is_read_again_when_it_changes(config: Path, tmp_path: Path) -> None:
    """The same file is the same configuration object until it is written; another folder has another one."""
    first = api.configuration()
    assert api.configuration() is first
    assert api.configuration(str(config)) is first
    assert api.configuration(first) is first
    config.write_text(CONFIG.format(default="once"))
    assert motet.ask("What is 1 + 1?").agent == "once"
    config.unlink()
    assert api.configuration().default == load().default != "once"


def test_tool_that_asks_is_told(config: Path) -> None:
    """`ask` from inside a run would wait for itself for ever; it says so instead."""

    class Inner:
        name = "inner"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            return Reply(motet.ask("What is 1 + 1?").text)

    agent: Agent = Inner()
    with pytest.raises(UsageError, match="await ask_async"):
        motet.ask("What?", agent)
    assert motet.ask("What is 1 + 1?").text == "2"


def test_exit_from_an_agent_reaches_the_caller(config: Path) -> None:
    """sys.exit() in an agent ends the asking thread, not the loop that others use."""

    class Leaving:
        name = "leaving"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            await asyncio.sleep(0)
            raise SystemExit(7)

    with pytest.raises(SystemExit, match="7"):
        motet.ask("What?", Leaving())
    assert motet.ask("What is 1 + 1?").text == "2"


def test_close_and_open_again(config: Path) -> None:
    """After `close` no thread is left, and the next `ask` starts anew."""
    motet.ask("What is 1 + 1?")
    api.close()
    assert "motet" not in [thread.name for thread in threading.enumerate()]
    assert motet.ask("What is 1 + 1?").text == "2"
    api.close()


def test_interrupt_cancels_the_run(config: Path) -> None:
    """Ctrl-C ends the wait at once, cancels what is under way, and the run's last event is told."""
    seen: list[Event] = []
    cancelled = threading.Event()

    class Waiting:
        name = "waiting"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise
            raise BackendError("server", "unreachable")

    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        motet.ask("What?", Waiting(), watch=seen.append)
    assert time.monotonic() - began < 3
    assert cancelled.is_set()
    assert isinstance(seen[-1], RunEnded)
    assert seen[-1].error.startswith("interrupted")


SCRIPT = """
import os, sys, warnings
warnings.simplefilter("error")
import motet
{body}
"""


def run(body: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of its own, in which every warning is an error."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.format(body=body)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cwd,
    )


def test_leaves_nothing_behind_at_exit(config: Path) -> None:
    """A script that asked, also over HTTP, ends without a warning, a traceback or a wait."""
    body = """
from motet.backends.openai import OpenAI
dead = motet.ModelAgent(OpenAI("m", base_url="http://127.0.0.1:9/v1", key_required=False), "dead")
try:
    motet.ask("What?", dead)
except motet.MotetError as error:
    print(error)
print(motet.ask("What is 17 * 23?").text)
"""
    done = run(body, config.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("connect: ")
    assert done.stdout.endswith("\n391\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_after_fork(config: Path) -> None:
    """A forked child, which has no thread but its own, can ask too."""
    body = """
warnings.simplefilter("default")  # forking with threads warns, from Python 3.12 on
print(motet.ask("What is 1 + 1?").text, flush=True)
if os.fork() == 0:
    print(motet.ask("What is 2 + 2?").text, flush=True)
    os._exit(0)
os.wait()
print(motet.ask("What is 3 + 3?").text)
"""
    done = run(body, config.parent)
    assert (done.returncode, done.stdout) == (0, "2\n4\n6\n")
