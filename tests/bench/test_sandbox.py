"""The sandboxes hold: no network, no files, no processes, bounded time and memory, and tests that can't be skipped."""

from __future__ import annotations

import ast
import os
import time
from pathlib import Path

import pytest

from motet.bench.grade import grade
from motet.bench.suite import load_suite
from motet.errors import UsageError
from motet.message import Reply
from motet.score import sandbox
from motet.score.sandbox import chosen, run_tests
from motet.score.unit_tests import Sandbox


def there(which: Sandbox) -> bool:
    """Whether a sandbox works on this machine."""
    try:
        return chosen(which) == which
    except UsageError:
        return False


BOXES: list[Sandbox] = ["bubblewrap", "monty"]
HERE = [
    pytest.param(box, marks=pytest.mark.skipif(not there(box), reason=f"{box} is not installed here")) for box in BOXES
]
in_each = pytest.mark.parametrize("box", HERE)
HOSTILE = {
    "reads a file": "text = open({secret!r}).read()\nassert not text",
    "lists a folder": "import os\nassert not os.listdir({folder!r})",
    "reads by path": "from pathlib import Path\nassert not Path({secret!r}).read_text()",
    "writes a file": "open({folder!r} + '/new', 'w').write('x')",
    "writes to /tmp": "open('/tmp/motet-was-here', 'w').write('x')",
    "calls out": "import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)",
    "asks a name server": "import socket\nsocket.getaddrinfo('example.org', 80)",
    "forks": "import os\nif os.fork() == 0:\n    os._exit(0)",
    "starts a thread": "import threading\nthreading.Thread(target=print).start()",
    "spawns": "import os\nos.posix_spawn('/bin/true', ['true'], {{}})",
    "starts a process": "import subprocess\nsubprocess.run(['/bin/true'])",
    "takes much memory": "x = [0] * 10**9",
    "takes it bit by bit": "x = []\nwhile True:\n    x.append('a' * 10**6 + str(len(x)))",
    "makes a huge number": "x = 10 ** 10 ** 9",
    "never ends": "while True:\n    pass",
    "leaves early": "import os\nos._exit(0)",
    "leaves politely": "import sys\nsys.exit(0)",
    "raises to leave": "raise SystemExit(0)",
    "goes too deep": "def g(n):\n    return g(n + 1)\ng(0)",
    "crashes": "import ctypes\nctypes.string_at(0)",
    "is no Python": "def f(:",
    "says passed": "print('passed')\nraise ValueError",
    "writes without end": "import os\nwhile True:\n    os.write(1, b'x' * 10**6)",
}


@in_each
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_code_gets_nowhere(box: Sandbox, what: str, tmp_path: Path) -> None:
    """Whatever it tries fails, in bounded time, and leaves no trace: a listening server is not even called."""
    import socket

    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        code = HOSTILE[what].format(secret=str(secret), folder=str(tmp_path), port=server.getsockname()[1])
        began = time.monotonic()
        said = run_tests(code, (), seconds=2, megabytes=128, sandbox=box)
        assert said
        assert "hunter2" not in said
        assert time.monotonic() - began < 10
        with pytest.raises(BlockingIOError):
            server.accept()
    assert sorted(os.listdir(tmp_path)) == ["secret"]
    assert not Path("/tmp/motet-was-here").exists()


@in_each
def test_right_code_passes_and_wrong_code_fails(box: Sandbox) -> None:
    """All tests have to pass, and the environment of this process is not seen."""
    code = "def f(x):\n    return sorted(set(x))\n"
    assert run_tests(code, ("assert f([2, 1, 2]) == [1, 2]", "assert f([]) == []"), sandbox=box) == ""
    assert "AssertionError" in run_tests(code, ("assert f([1]) == [1]", "assert f([2, 1]) == [2, 1]"), sandbox=box)
    assert "NameError" in run_tests(code, ("assert g(1)",), sandbox=box)
    os.environ["MOTET_SECRET"] = "hunter2"
    try:
        said = run_tests("import os\nassert not os.environ.get('MOTET_SECRET')", (), sandbox=box)
    finally:
        del os.environ["MOTET_SECRET"]
    assert said == "" or "hunter2" not in said


@pytest.mark.skipif(not there("monty"), reason="monty is not installed here")
def test_python_that_monty_does_not_know_is_not_wrong() -> None:
    """Code that is right but beyond the subset is an error that says what to install, not a wrong answer."""
    with pytest.raises(UsageError, match="install bubblewrap"):
        run_tests("def f():\n    yield 1\n", ("assert list(f()) == [1]",), sandbox="monty")


def test_without_a_sandbox_nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where neither sandbox is there, code is not run at all, and the error says what to install."""
    monkeypatch.setattr(sandbox, "_bubblewrap_works", lambda: False)
    monkeypatch.setattr(sandbox, "_has_monty", lambda: False)
    mark = tmp_path / "mark"
    for box in (*BOXES, "auto"):
        with pytest.raises(UsageError, match="install"):
            run_tests(f"open({str(mark)!r}, 'w')", (), sandbox=box)  # type: ignore[arg-type]
    assert not mark.exists()


@in_each
def test_every_solution_of_the_code_suite_passes(box: Sandbox) -> None:
    """Each reference solution passes its tests in each sandbox; a function that gives None passes none."""
    suite = load_suite("code", n=36)
    for task in suite.tasks[:: 1 if box == "monty" else 4]:  # a process each takes its time
        solution = str(task.metadata["solution"])
        assert run_tests(solution, task.target, sandbox=box) == "", task.input
        name = str(task.metadata["function"])
        assert run_tests(f"def {name}(x):\n    return None\n", task.target, sandbox=box) != "", task.input


@pytest.mark.skipif(not there("monty"), reason="monty is not installed here")
def test_the_tests_of_the_code_suite_find_mistakes() -> None:
    """Of the solutions with one number changed by 1, over 9 in 10 fail; many of the others are right all the same."""
    found = made = 0
    for task in load_suite("code", n=72).tasks:
        source = str(task.metadata["solution"])
        for place in range(sum(isinstance(node, ast.Constant) for node in ast.walk(ast.parse(source)))):
            tree = ast.parse(source)
            constant = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)][place]
            if isinstance(constant.value, int):
                constant.value += 1
                made += 1
                found += bool(run_tests(ast.unparse(tree), task.target, seconds=2, sandbox="monty"))
    assert made > 100
    assert found > 0.9 * made


async def test_code_is_graded() -> None:
    """A reply in a fenced block is graded by the tests of its task."""
    if not (there("bubblewrap") or there("monty")):
        pytest.skip("no sandbox is installed here")
    suite = load_suite("code", n=3)
    task = suite.tasks[0]
    right = await grade(suite, task, Reply(f"Here:\n```python\n{task.metadata['solution']}```"))
    wrong = await grade(suite, task, Reply("```python\ndef total(n):\n    return 0\n```"))
    assert (right.score, wrong.score) == (1, 0)
