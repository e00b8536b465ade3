"""A run of `motet bench` that is interrupted, run twice, changed, or in trouble: the real program and a real server."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from commandline import PROGRAM, Done

from motet.bench.suite import load_suite
from motet.errors import UsageError
from motet.score.sandbox import chosen

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from kills import Plan, Upstream, arguments, configure, left, table

PLAN = Plan(4, tasks=6, arms="ballot")
TO_GO_ON = re.compile(r"To go on: (motet .*)\n")


def _jails() -> bool:
    """Whether code is run in a sandbox of its own process here."""
    try:
        return chosen("bubblewrap") == "bubblewrap"
    except UsageError:
        return False


@pytest.fixture(scope="module")
def server() -> Iterator[Upstream]:
    """A server that outlives whoever asks it."""
    with Upstream() as made:
        yield made


@pytest.fixture
def upstream(server: Upstream, tmp_path: Path) -> Upstream:
    """The server, as new, and a configuration of its models; no retries, so that what fails has failed."""
    server.born()
    server.seconds, server.trouble, server.bulk, server.said = (0.001, 0.01), "", 0, {}
    configure(tmp_path, server.port, retries=0)
    return server


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts the program, on the journal `a b's.sqlite`, or any other command line; none outlives the test."""
    begun = []
    home = {"MOTET_HOME": str(tmp_path / "home"), "MOTET_KILLS_KEY": "none", "PYTHONWARNINGS": "default"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def call(plan: Plan, *more: str, command: str | list[str] = "") -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "motet", *arguments(plan, Path("a b's.sqlite"), *more)]
        process = subprocess.Popen(
            command or program,
            shell=isinstance(command, str) and bool(command),
            cwd=tmp_path,
            env={**os.environ, **home, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        begun.append(process)
        return process

    yield call
    for process in begun:
        if process.poll() is None:
            process.kill()
        process.communicate()


def done(process: subprocess.Popen[str]) -> Done:
    """What it came to, when it has ended."""
    out, err = process.communicate(timeout=60)
    return Done(process.returncode, out, err)


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for something."""
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, "it did not come"
        time.sleep(0.005)


def journal(folder: Path) -> Path:
    """Where the runs here are kept."""
    return folder / "a b's.sqlite"


@pytest.mark.parametrize(
    ("number", "code", "at_once", "calls"),
    [
        (signal.SIGINT, 130, 4, 6),
        (signal.SIGTERM, 143, 4, 19),  # while copies of the best member are drawn
        (signal.SIGINT, 130, 32, 18),  # all but those are under way, so they alone are left
    ],
)
def test_a_signal_drains(
    upstream: Upstream,
    start: Callable[..., subprocess.Popen[str]],
    tmp_path: Path,
    number: int,
    code: int,
    at_once: int,
    calls: int,
) -> None:
    """What is under way is finished and kept, and the command that is printed goes on without asking twice."""
    upstream.seconds = (0.3, 0.4)
    plan, first = replace(PLAN, concurrency=at_once), upstream.life
    process = start(plan, "--json")
    until(lambda: len(first.asked) >= calls)
    process.send_signal(number)
    ended = done(process)
    assert ended.code == code, ended
    assert "Traceback" not in ended.err
    assert "lines" not in ended.out
    assert (first.under_way, first.sent) == (0, set(first.asked))
    assert left(journal(tmp_path), tmp_path).known == {call[:2] for call in first.asked}
    assert "finishing what is under way; Ctrl-C again ends it at once\n" in ended.err
    found = TO_GO_ON.search(ended.err)
    assert found, ended.err
    upstream.seconds = (0.001, 0.01)
    second = upstream.born()
    gone_on = done(start(plan, command=found.group(1)))
    assert gone_on.code == 0, gone_on
    assert second.asked
    assert not set(first.asked) & set(second.asked)
    assert first.twice == second.twice == 0
    upstream.born()
    unbroken = done(start(plan, "--json", "--file", "other.sqlite"))
    assert table(gone_on.out) == table(unbroken.out)
    assert set(upstream.life.asked) == {*first.asked, *second.asked}


def test_a_second_interrupt_ends_it_at_once(
    upstream: Upstream, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """Where a reply is long in coming, a second Ctrl-C waits for nothing; what was finished is known."""
    process = start(PLAN)
    until(lambda: len(upstream.life.asked) >= 3)
    upstream.seconds = (60, 60)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert any("finishing what is under way" in process.stderr.readline() for _ in range(2))
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    ended = done(process)
    assert (ended.code, ended.out) == (130, "")
    assert time.monotonic() - began < 3
    assert "Traceback" not in ended.err
    assert TO_GO_ON.search(ended.err), ended
    first, upstream.seconds = upstream.life, (0.001, 0.01)
    second = upstream.born()
    assert done(start(PLAN)).code == 0
    assert not first.sent & set(second.asked)


@pytest.mark.skipif(not _jails(), reason="there is no sandbox that knows the time")
def test_ctrl_c_at_a_terminal_spares_what_grades(
    upstream: Upstream, start: Callable[..., subprocess.Popen[str]]
) -> None:
    """A terminal interrupts every process of the program; answers whose tests run at that moment are still right."""
    suite = load_suite("code", n=8)
    slow = "\nimport time\ntime.sleep(0.7)\n"
    upstream.said = {task.input: f"{task.metadata['solution']}{slow}" for task in suite.tasks}
    line = "bench code --n 8 --with alpha --no-baselines --concurrency 2 --run killed --file j.sqlite"
    process = start(PLAN, command=[*PROGRAM, *line.split()])
    until(lambda: len(upstream.life.asked) >= 2)
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGINT)
    ended = done(process)
    assert ended.code == 130, ended
    shown = done(start(PLAN, command=[*PROGRAM, *"bench show killed --file j.sqlite --json".split()]))
    (found,) = shown.json["lines"]  # type: ignore[misc]
    assert (found["right"], found["failed"], found["ungraded"]) == (1.0, 0, 0)
    assert 2 <= found["tasks"] < 8


def test_two_processes_on_one_run(
    upstream: Upstream, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """The second is told who has it; with --join both finish with one table, and little is asked twice."""
    upstream.seconds = (0.08, 0.12)
    plan = Plan(2, tasks=16, arms="ballot")
    first = start(plan, "--json")
    until(lambda: len(upstream.life.asked) >= 3)
    refused = done(start(plan))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("\n") == 1
    assert f"the run 'killed' is being carried on by process {first.pid} on " in refused.err
    assert "--join" in refused.err
    second = start(plan, "--json", "--join")
    one, other = done(first), done(second)
    assert (one.code, other.code) == (0, 0), (one, other)
    assert table(one.out) == table(other.out)
    # Each stage is begun at both ends. Where they meet, each asks what the other has under way: so many questions, of
    # as many calls as the longest takes. And for a fifth of a second the first does not know that it is not alone.
    longest = max(line["calls"] for line in one.json["lines"])  # type: ignore[attr-defined, index]
    assert upstream.life.twice <= 2 * 2 * plan.concurrency * longest + 8
    assert len(set(upstream.life.asked)) == 16 * (3 + 2)


@pytest.mark.parametrize("trouble", ["500", "reset"])
def test_trouble_in_the_middle_and_failed_ones_again(
    upstream: Upstream, start: Callable[..., subprocess.Popen[str]], trouble: str
) -> None:
    """Calls that fail are outcomes; the same command asks nobody again, --retry-failed only those that failed."""
    upstream.seconds = (0.05, 0.1)
    first = upstream.life
    process = start(PLAN, "--json")
    until(lambda: len(first.asked) >= 6)
    upstream.trouble = trouble  # type: ignore[assignment]
    ended = done(process)
    assert ended.code in (0, 1), ended  # 1 where too much failed to conclude anything
    assert first.refused
    failed = {line["arm"]: line["failed"] for line in ended.json["lines"]}  # type: ignore[attr-defined, index]
    assert sum(failed.values()) > 0
    upstream.trouble = ""
    second = upstream.born()
    again = done(start(PLAN, "--json"))
    assert (again.code, second.asked) == (ended.code, [])
    assert again.out == ended.out
    healed = done(start(PLAN, "--json", "--retry-failed"))
    assert healed.code == 0, healed
    assert {line["failed"] for line in healed.json["lines"]} == {0}  # type: ignore[attr-defined, index]
    assert not set(first.asked) & set(second.asked)
    upstream.born()
    assert table(done(start(PLAN, "--json", "--file", "other.sqlite")).out) == table(healed.out)


def test_a_changed_configuration(
    upstream: Upstream, start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    """The run is refused in a line that says what changed; --resume asks nothing that is still the same."""
    assert done(start(PLAN, "--no-baselines")).code == 0
    first, file = upstream.life, tmp_path / "motet.toml"
    file.write_text(file.read_text().replace('model = "beta"', 'model = "beta-2"'))
    second = upstream.born()
    refused = done(start(PLAN, "--no-baselines"))
    assert (refused.code, refused.out, second.asked) == (2, "", [])
    assert refused.err.count("\n") == 1
    assert "beta" in refused.err
    assert "--resume" in refused.err
    assert done(start(PLAN, "--no-baselines", "--resume")).code == 0
    assert {model for model, _, _ in second.asked} == {"beta-2"}
    assert len(second.asked) == sum(model == "beta" for model, _, _ in first.asked) == PLAN.tasks


@pytest.mark.skipif(shutil.which("unshare") is None, reason="the system has no namespaces")
def test_a_full_disk(upstream: Upstream, tmp_path: Path) -> None:
    """On a disk of 2 MB the run ends with a line; when there is room, the same command goes on."""
    upstream.bulk = 20_000
    plan = Plan(4, tasks=20, arms="ballot")
    (tmp_path / "disk").mkdir()
    program = [sys.executable, "-m", "motet", *arguments(plan, Path("disk/j.sqlite"), "--no-baselines")]
    script = (
        'mount -t tmpfs -o size=2m none disk || exit 99; "$@" >first.out 2>first.err; echo $? >first.code; '
        'echo; read _; mount -o remount,size=64m disk; exec "$@"'
    )
    process = subprocess.Popen(
        ["unshare", "-Urm", "sh", "-c", script, "sh", *program],
        cwd=tmp_path,
        env={**os.environ, "MOTET_HOME": str(tmp_path / "home"), "MOTET_KILLS_KEY": "none"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    if process.stdout.readline() != "\n":
        pytest.skip(f"no disk can be made here: {process.communicate()[1]}")
    first, second = upstream.life, upstream.born()
    out, err = process.communicate("\n", timeout=60)
    said = (tmp_path / "first.err").read_text()
    assert (tmp_path / "first.out").read_text() == ""
    assert int((tmp_path / "first.code").read_text()) == 1
    assert re.fullmatch(r"(?:run .*\n)?motet: the journal \S+ can't be used: the disk is full: make room .*\n", said), (
        said
    )
    assert 0 < len(first.asked) < 3 * plan.tasks
    assert process.returncode == 0, err
    assert "killed" in out
    assert len(set(first.asked) & set(second.asked)) <= 3 * plan.concurrency
