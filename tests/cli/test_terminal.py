"""What a person at a terminal sees: a real pseudo-terminal, the real program, real keys."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commandline import PROGRAM

from motet.runs import kept

pty = pytest.importorskip("pty")


class Terminal:
    """The program on a pseudo-terminal."""

    def __init__(self, *arguments: str, stdout: bool = True, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        unset = {"NO_COLOR", "CI", "COLUMNS", "TERM"}
        kept = {name: value for name, value in os.environ.items() if name not in unset}
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=theirs,
            stderr=theirs,
            stdout=theirs if stdout else subprocess.PIPE,
            start_new_session=True,
            env={**kept, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "30", **environment},
        )
        os.close(theirs)
        self.raw = ""

    @property
    def text(self) -> str:
        """What was written so far, without what moves the cursor or paints."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.raw).replace("\r", "")

    def until(self, pattern: str, seconds: float = 20.0) -> str:
        """Read until what was written matches."""
        ends = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            if time.monotonic() > ends or not self._read(0.2):
                raise AssertionError(f"no {pattern!r} in {self.text!r}")
        return self.text

    def _read(self, seconds: float) -> bool:
        if select.select([self._ours], [], [], seconds)[0]:
            try:
                found = os.read(self._ours, 1 << 16)
            except OSError:  # the other end is closed
                found = b""
            self.raw += found.decode()
            return bool(found)
        return True

    def type(self, keys: str) -> None:
        """Type into it."""
        os.write(self._ours, keys.encode())

    def interrupt(self) -> None:
        """Ctrl-C: what the terminal does with it."""
        os.kill(self.process.pid, signal.SIGINT)

    def end(self, seconds: float = 20.0) -> int:
        """Read to the end; the exit code."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and self._read(0.1) and self.process.poll() is None:
            pass
        code = self.process.wait(max(0.1, ends - time.monotonic()))
        while select.select([self._ours], [], [], 0)[0] and self._read(0):
            pass
        return code

    def close(self) -> None:
        """End it, whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        with contextlib.suppress(OSError):
            os.close(self._ours)


@contextlib.contextmanager
def terminal(*arguments: str, stdout: bool = True, **environment: str) -> Iterator[Terminal]:
    """A program on a terminal, ended with the block."""
    made = Terminal(*arguments, stdout=stdout, **environment)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def _in(folder: Path) -> None:
    """Every test here is in the folder with the known members."""


def test_live_view_shows_who_thinks_and_then_the_answer() -> None:
    """Members appear as they are asked, with what they say and whom they heard; the answer comes last."""
    with terminal("ask", "What?", "-m", "talk", "--agents", "four,tardy,silent,down") as shown:
        shown.until(r"tardy  0\.\d s  thinking")
        code = shown.end()
        assert code == 3
        assert re.search(r"✓ four  0\.0 s  4", shown.text)
        assert re.search(r"✗ down  0\.0 s  connect: no connection", shown.text)
        assert re.search(r"– silent  0\.0 s  abstained", shown.text)
        assert re.search(r"✓ talk  1\.\d s  4\n", shown.text)
        assert re.search(r"\d calls · 1\.\d s\n\n4\nmissing: down: connect: no connection\n$", shown.text)
        assert "\x1b[?25h" in shown.raw  # the cursor is shown again


def test_whom_an_agent_heard_is_shown() -> None:
    """In a second round each row names those whose words it was given."""
    with terminal("ask", "What?", "-m", "talk") as shown:
        assert shown.end() == 0
        assert re.search(r"✓ four  \d\.\d s  ← five  4", shown.text)
        assert re.search(r"✓ five  \d\.\d s  ← four  5", shown.text)


def test_stdout_into_a_pipe_is_the_answer_alone() -> None:
    """With stderr on the terminal and stdout in a pipe, the view is drawn and the pipe gets the bare answer."""
    with terminal("ask", "What?", stdout=False) as shown:
        assert shown.end() == 0
        assert shown.process.stdout is not None
        assert shown.process.stdout.read() == b"4\n"
        assert "✓ trio" in shown.text


@pytest.mark.parametrize("environment", [{"CI": "true"}, {"TERM": "dumb"}])
def test_nothing_moves_where_it_should_not(environment: dict[str, str]) -> None:
    """In CI and on a dumb terminal nothing is animated."""
    with terminal("ask", "What?", "-m", "lame", stdout=True, **environment) as shown:
        assert shown.end() == 3
        assert "✓" not in shown.text
        assert shown.text.startswith("4\nmissing: down")
        assert not re.search(r"\x1b\[[0-9;?]*[A-KJhl]", shown.raw)


def test_no_color() -> None:
    """NO_COLOR takes the colours out, not the view."""
    with terminal("ask", "What?", "-m", "lame", NO_COLOR="1") as shown:
        assert shown.end() == 3
        assert "✓ lame" in shown.text
        assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown.raw)


def test_a_member_cannot_write_to_the_terminal() -> None:
    """Control characters in a member's words reach neither the view nor the answer."""
    with terminal("ask", "What?", "-m", "hostile") as shown:
        assert shown.end() == 0
        assert "\x1b[2J" not in shown.raw
        assert "\x1b]0;" not in shown.raw
        assert shown.text.endswith("4�[2J�]0;owned�\n")


def test_no_question_is_told() -> None:
    """Without a question at a terminal nothing is waited for."""
    with terminal("ask") as shown:
        assert shown.end() == 2
        assert shown.text == "motet: there is no question: motet ask 'What is 17 * 23?', or give it on stdin\n"


@pytest.mark.parametrize("again", [False, True])
def test_interrupt_while_a_member_hangs(again: bool) -> None:
    """Ctrl-C, once or several times, exits with 130 at once, without a traceback, and what was said is kept."""
    with terminal("ask", "What?", "-m", "waiting") as shown:
        shown.until("✓ four")
        began = time.monotonic()
        shown.interrupt()
        if again:
            for _ in range(5):
                time.sleep(0.01)
                with contextlib.suppress(ProcessLookupError):
                    shown.interrupt()
        assert shown.end() == 130
        assert time.monotonic() - began < 3
        assert "Traceback" not in shown.text
        assert "\x1b[?25h" in shown.raw
    kept = subprocess.run([*PROGRAM, "trace", "show", "last"], capture_output=True, text=True, check=True, timeout=60)
    assert "waiting  interrupted" in kept.stdout
    assert "four  ok" in kept.stdout
    assert again or "what was said so far is kept: motet trace show" in shown.text


def test_interrupt_where_json_is_wanted() -> None:
    """Ctrl-C where an object is waited for gives one that says so."""
    process = subprocess.Popen(
        [*PROGRAM, "ask", "What?", "-m", "waiting", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    ends = time.monotonic() + 20
    while not kept() and time.monotonic() < ends:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert '"kind": "interrupted"' in out
    assert err.startswith("motet: interrupted; what was said so far is kept")


@pytest.mark.long
def test_interrupt_at_any_moment() -> None:
    """Ctrl-C from the start of the program to its end: 130 or the answer, and never a traceback of ours."""
    code = "import sys; from motet.cli import main; sys.argv[0] = 'motet'; print('in', flush=True); main()"
    for tenth in range(25):
        process = subprocess.Popen(
            [sys.executable, "-c", code, "ask", "What?", "-m", "talk", "--agents", "four,tardy"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        time.sleep(tenth / 10)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out) in ((130, ""), (0, "4\n")), err
        assert "Traceback" not in err


def test_offer_to_fetch() -> None:
    """Where no language model is here, the one without terms is offered; a no leaves the command to run."""
    Path("motet.toml").unlink()
    with terminal("ask", "What is the capital of France?") as shown:
        shown.until(r"Fetch smollm2-135m now \(92\.9 MB, Apache-2\.0\)\? \[Y/n\] ")
        shown.type("n\n")
        assert shown.end() == 69
        assert "`motet models fetch smollm2-135m` does it later" in shown.text
        assert not list(Path("home/models").glob("*/*"))


def test_terms_are_put_before_a_fetch() -> None:
    """A model with terms shows where they are and asks; without a yes nothing is fetched."""
    with terminal("models", "fetch", "gemma3-270m") as shown:
        shown.until(r"https://ai\.google\.dev/gemma/terms[\s\S]*\[y/N\] ")
        shown.type("what?\n")
        shown.until(r"\[y/N\] [\s\S]*\[y/N\] ")
        shown.type("\n")
        assert shown.end() == 2
        assert "was not fetched, since its terms were not accepted" in shown.text


def test_interrupt_at_a_question() -> None:
    """Ctrl-C where an answer is waited for exits with 130."""
    with terminal("models", "fetch", "gemma3-270m") as shown:
        shown.until(r"\[y/N\] ")
        shown.interrupt()
        assert shown.end() == 130
        assert "Traceback" not in shown.text


def test_tables_fit_eighty_columns() -> None:
    """Where space is scarce a run stays on its line, and the state of a model in one piece."""
    with terminal("ask", "What is " + "so long a question? " * 9, "--no-stream") as shown:
        assert shown.end() == 0
    with terminal("trace", "list", COLUMNS="80") as shown:
        assert shown.end() == 0
        head, _, run = shown.text.strip().splitlines()
        assert head.split() == ["run", "mixture", "outcome", "calls", "question", "answer"]
        assert re.search(r"  trio +full +4 +What is.*…  +4$", run.rstrip())
    with terminal("models", "list", COLUMNS="80") as shown:
        assert shown.end() == 0
        assert re.search(r"not here; has terms *\n", shown.text)
        assert re.search(r"^the terms of gemma3-270m: https://\S+$", shown.text, re.MULTILINE)


def test_doctor_tells_what_it_waits_for() -> None:
    """Before a model has answered, the versions stand there and a line says what goes on."""
    Path("motet.toml").write_text("default = 'slow'\n[models]\nslow = 'function:cli_members:tardy'\n")
    with terminal("doctor") as shown:
        said = shown.until(r"trying \d+ models …")
        assert "kept runs: " in said
        assert "to do" not in said
        assert shown.end() == 0
        assert re.search(r"slow +ok +1\.\d", shown.text)
