"""The whole program on the embedded models: right answers, members that are missing, dead or silent, replay, Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from commandline import PROGRAM, Cli

from motet.cli import shapes
from motet.paths import cache_dir
from motet.runs import summaries
from motet.trace import line

pytestmark = pytest.mark.real
ROOT = Path(__file__).parents[2]
MEMBERS = ["calculator", "gemma3-few-shot", "smollm2-few-shot", "smollm2-chat"]
TROUBLED = """
[models.dead]
base_url = "http://127.0.0.1:9/v1"
model = "m"
retries = 0

[models.hanging]
base_url = "{url}"
model = "hang"
retries = 0
timeouts = {{ first_byte = 2 }}

[models.killed]
base_url = "{url}"
model = "drip"
retries = 0

[models.lost]
path = "lost.gguf"

[models.torn]
path = "torn.gguf"

[agents.long]
model = "smollm2-135m"
max_tokens = 1500

[mixtures.troubled]
composition = "vote"
agents = ["calculator", "gemma3-few-shot", "smollm2-few-shot", "dead", "hanging", "killed", "lost", "torn"]
"""


@contextlib.contextmanager
def server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server of faults, in a process that can be killed."""
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tests/backends/faultserver.py")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """The program in an empty folder, with the fetched models and a home of its own."""
    models = cache_dir() / "models"
    (tmp_path / "home").mkdir()
    (tmp_path / "home/models").symlink_to(models, target_is_directory=True)
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MOTET_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)

    from commandline import Done

    def call(*arguments: str, stdin: bytes = b"", **environment: str) -> Done:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=stdin,
            capture_output=True,
            timeout=110,
            check=False,
            env={**os.environ, **environment},
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


def answer(out: str) -> shapes.Answer:
    """The object of `ask --json`."""
    return msgspec.json.decode(out, type=shapes.Answer)


def test_arithmetic_and_replay_without_models(program: Cli, tmp_path: Path) -> None:
    """17 * 23 is 391, every member's reply is there, and the run replays byte for byte where no model is."""
    done = program("ask", "What is 17 * 23?", "--json", "--trace", "run.jsonl")
    found = answer(done.out)
    assert (done.code, found.answer, found.outcome.state) == (0, "391", "full")
    assert sorted(member.agent for member in found.replies) == sorted(MEMBERS)
    assert all(member.text for member in found.replies)
    assert done.err == ""
    empty = str(tmp_path / "empty")
    assert program("ask", "Who?", MOTET_HOME=empty).code == 69
    again = program("replay", "run.jsonl", "--json", MOTET_HOME=empty)
    assert (again.code, again.out) == (0, done.out)
    text = program("replay", "run.jsonl", MOTET_HOME=empty)
    assert (text.code, text.out) == (0, "391\n")


def test_capital_and_replay_of_a_synthesis(program: Cli, tmp_path: Path) -> None:
    """The capital of France is Paris by vote; a mixture whose members hear each other replays as well."""
    done = program("ask", "What is the capital of France?", "--show", "replies")
    assert (done.code, "Paris" in done.out) == (0, True)
    assert all(member in done.err for member in MEMBERS)
    done = program("ask", "What is the capital of France?", "-m", "moa", "--json", "--trace", "run.jsonl")
    assert done.code == 0
    again = program("replay", "run.jsonl", "--json", MOTET_HOME=str(tmp_path / "empty"))
    assert (again.code, again.out) == (0, done.out)


def said(text: str) -> bool:
    """Whether the newest run that is kept has an event with these words in it."""
    return any(text in line(event) for _, trace in summaries(1) for event in trace or ())


def test_answers_without_those_who_are_missing(program: Cli, tmp_path: Path) -> None:
    """One member's port is dead, one hangs, one is killed while it speaks, one's file is lost and one's is torn."""
    with server() as (url, process):
        (tmp_path / "motet.toml").write_text(TROUBLED.format(url=url))
        (tmp_path / "torn.gguf").write_bytes(b"GGUF\x03\x00\x00\x00" + bytes(64))
        asking = subprocess.Popen(
            [*PROGRAM, "ask", "What is the capital of France?", "-m", "troubled", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        began = time.monotonic()
        while time.monotonic() < began + 30 and not said('"timeout"'):
            time.sleep(0.1)
        process.kill()
        out, err = asking.communicate(timeout=100)
    found = answer(out.decode())
    missing = {failure.agent: failure.kind for failure in found.outcome.missing}
    assert (asking.returncode, found.outcome.state) == (3, "degraded")
    assert "Paris" in (found.answer or "")
    assert missing.keys() == {"dead", "hanging", "killed", "lost", "torn"}
    assert missing["dead"] == "connect"
    assert missing["hanging"] == "timeout"
    assert missing["killed"] in ("cut", "connect")
    assert missing["lost"] == missing["torn"] == "model_file"
    assert err.count(b"missing: ") == 5


def test_one_model_that_is_not_fetched(program: Cli, tmp_path: Path) -> None:
    """The default mixture answers without one of its models, says so, and says the command that fetches it."""
    models = tmp_path / "home/models"
    real = models.resolve()
    models.unlink()
    models.mkdir()
    (models / "gemma3-270m").symlink_to(real / "gemma3-270m", target_is_directory=True)
    done = program("ask", "What is the capital of France?")
    assert (done.code, "Paris" in done.out) == (3, True)
    assert "motet models fetch smollm2-135m" in done.err


def test_a_megabyte_of_question(program: Cli) -> None:
    """A question longer than every context is refused in one line."""
    done = program("ask", "-", stdin=b"What is this? " * 75_000)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "context" in done.err


def test_interrupt_while_a_local_model_writes(program: Cli, tmp_path: Path) -> None:
    """Ctrl-C in the middle of a long reply exits with 130 at once, and the run is kept."""
    (tmp_path / "motet.toml").write_text(TROUBLED.format(url="http://127.0.0.1:9/v1"))
    process = subprocess.Popen(
        [*PROGRAM, "ask", "Write a very long story about a ship.", "-m", "long"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    began = time.monotonic()
    while time.monotonic() < began + 30 and not said("call_started"):
        time.sleep(0.1)
    time.sleep(3)  # loaded by now, and writing
    assert process.poll() is None
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 2
    assert (process.returncode, out) == (130, "")
    assert err.startswith("motet: interrupted; what was said so far is kept: motet trace show ")
    assert err.count("\n") == 1
    assert "interrupted" in program("trace", "show").out


def test_models_and_doctor(program: Cli) -> None:
    """The fetched models are there, whole, and answer."""
    found = msgspec.json.decode(program("models", "list", "--json").out, type=shapes.Models)
    assert all(model.path for model in found.pool)
    done = program("models", "verify")
    assert done.code == 0
    assert "smollm2-135m is right" in done.err
    done = program("doctor", "--timeout", "60", "--json")
    health = msgspec.json.decode(done.out, type=shapes.Health)
    assert (done.code, health.ok) == (0, True)
    assert {model.state for model in health.models} == {"ok"}


def test_demo(tmp_path: Path) -> None:
    """The demo shows every member's reply to five questions, from any folder."""
    shutil.copy(ROOT / "examples/demo.py", tmp_path)
    done = subprocess.run(
        [sys.executable, "demo.py"], capture_output=True, text=True, timeout=110, check=False, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("gemma3-few-shot") == 5
    assert "391" in done.stdout
    assert "Paris" in done.stdout
