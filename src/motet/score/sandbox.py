"""Running code that nobody has read, against tests, where it can do no harm.

Two sandboxes, and no third way: where neither is there, nothing is run.

`bubblewrap` (Linux on x86-64 or ARM64; `apt install bubblewrap`): a Python of its own in namespaces of its own.
    Guaranteed by the kernel: no network; no file but those of `/usr` and of Python's installation, all read-only, and
    nothing to write to; no environment; no other process seen; no process or thread started; the memory cap; killed
    when the time is over. Not guaranteed: safety from a flaw of the kernel itself, which is shared.

`monty` (any system; `pip install 'motet[sandbox]'`): pydantic-monty, an interpreter of a subset of Python, in a process
    of its own. It has no network, files, processes or imports but parts of the standard library because nothing of that
    kind was built into it; it has a memory cap, and is killed when the time is over. Not guaranteed: that it knows all
    of Python. Code that it does not know (generators, say) is reported as such, not as wrong.

Neither guards the tests from the code: code that is written to fool its own tests may do so. It can't pass by ending
the process early, or by printing something.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import platform
import secrets
import shutil
import struct
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Final

from motet.errors import UsageError
from motet.score.unit_tests import Sandbox

if TYPE_CHECKING:
    from pydantic_monty import Monty

_RUNNER: Final = r"""
import json, sys
code, tests, megabytes, seconds, passed = json.loads(sys.stdin.read())
import resource
for limit, most in (("AS", megabytes << 20), ("CPU", int(seconds) + 1), ("FSIZE", 0), ("CORE", 0)):
    resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (most, most))
out, sys.stdout, sys.stderr = sys.stdout, None, None
space = {"__name__": "solution"}
try:
    exec(compile(code, "solution", "exec"), space)
    for test in tests:
        exec(compile(test, "test", "exec"), space)
except BaseException as error:
    out.write("failed " + type(error).__name__ + ": " + str(error)[:200])
else:
    out.write(passed)
out.flush()
"""
_CALLS: Final = {
    # The audit number of the machine, and its system calls that make processes and threads: clone3, then the older.
    "x86_64": (0xC000003E, (435, 56, 57, 58)),
    "aarch64": (0xC00000B7, (435, 220)),
}
_SYSTEM: Final = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache")


def run_tests(
    code: str, tests: tuple[str, ...], *, seconds: float = 5.0, megabytes: int = 256, sandbox: Sandbox = "auto"
) -> str:
    """Run code, then its tests, in a sandbox. It blocks: call it in a thread.

    Args:
        code: Python source.
        tests: statements that raise if the code is wrong.
        seconds: wall-clock time for all of it.
        megabytes: memory it may use.
        sandbox: which one.

    Returns:
        "" if every test passed, else what went wrong.

    Raises:
        UsageError: there is no such sandbox here, or it does not know the Python that the code is written in.
    """
    which = chosen(sandbox)
    if which == "bubblewrap":
        return _in_bubblewrap(code, tests, seconds, megabytes)
    return _in_monty(code, tests, seconds, megabytes)


def chosen(sandbox: Sandbox = "auto") -> Sandbox:
    """The sandbox that is used here.

    Raises:
        UsageError: none is there; says what to install.
    """
    if sandbox in ("auto", "bubblewrap") and _bubblewrap_works():
        return "bubblewrap"
    if sandbox in ("auto", "monty") and _has_monty():
        return "monty"
    if sandbox == "bubblewrap":
        raise UsageError("bubblewrap is not installed, or may not make namespaces here: use the sandbox monty")
    if sandbox == "monty":
        raise UsageError("pydantic-monty is not installed: pip install 'motet[sandbox]'")
    raise UsageError(
        "code is run in a sandbox only, and there is none: pip install 'motet[sandbox]', or install bubblewrap"
    )


# ---- bubblewrap


def _bubblewrap(program: str, filter_at: int) -> list[str]:
    """A command line that runs a Python program with nothing around it."""
    homes = dict.fromkeys((sys.base_prefix, sys.base_exec_prefix))
    binds = [part for path in (*_SYSTEM, *homes) for part in ("--ro-bind-try", path, path)]
    python = getattr(sys, "_base_executable", None) or sys.executable  # not the one of a virtual environment
    jail = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", *binds, "--remount-ro", "/"]
    return [*jail, "--seccomp", str(filter_at), "--chdir", "/", "--", python, "-I", "-S", "-B", "-c", program]


def _start(program: str) -> subprocess.Popen[bytes]:
    """Start a Python program in the sandbox."""
    into, out = os.pipe()
    try:
        os.write(out, _no_processes())
        os.close(out)
        return subprocess.Popen(
            _bubblewrap(program, into),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=(into,),
            process_group=0,  # Ctrl-C at a terminal is for the program, which may let this finish
        )
    finally:
        os.close(into)


def _no_processes() -> bytes:
    """A filter of system calls, as the kernel reads it, under which no process and no thread can be started.

    The limit on processes would do, but does not hold for root; and with processes the memory cap, which is one each,
    could be had many times.
    """
    audit, calls = _CALLS[platform.machine()]
    # Each instruction is code, jump if so, jump if not, operand; jumps count from the next instruction.
    load, same, above, end = 0x20, 0x15, 0x35, 0x06
    steps = [(load, 0, 0, 4), (same, 1, 0, audit), (end, 0, 0, 0x80000000), (load, 0, 0, 0)]
    steps.append((above, len(calls) + 1, 0, 0x40000000))  # the same calls under other numbers
    steps += [(same, len(calls) - place, 0, call) for place, call in enumerate(calls)]
    steps += [(end, 0, 0, 0x7FFF0000), (end, 0, 0, 0x00050001)]  # allowed, or not permitted
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


@functools.cache
def _bubblewrap_works() -> bool:
    if shutil.which("bwrap") is None or platform.machine() not in _CALLS:
        return False
    with contextlib.suppress(OSError, subprocess.TimeoutExpired), _start("print(6 * 7)") as process:
        try:
            return process.communicate(timeout=20)[0].strip() == b"42"
        finally:
            process.kill()
    return False


def _in_bubblewrap(code: str, tests: tuple[str, ...], seconds: float, megabytes: int) -> str:
    passed = secrets.token_hex(16)  # not to be guessed, so that printing does not pass a test
    given = json.dumps([code, tests, megabytes, seconds, passed]).encode()
    process = _start(_RUNNER)
    alarm = threading.Timer(seconds, process.kill)
    alarm.start()
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as into:
            into.write(given)
        said = process.stdout.read(1_000).decode(errors="replace")  # no more, whatever the code writes
        late = not alarm.is_alive()
        alarm.cancel()
        process.kill()
    if late:
        return f"not done after {seconds:g} s"
    if said == passed:
        return ""
    return said.removeprefix("failed ")[:300] if said.startswith("failed ") else "the process ended early"


# ---- monty


def _has_monty() -> bool:
    import importlib.util

    return importlib.util.find_spec("pydantic_monty") is not None


@functools.cache
def _monty() -> Monty:
    from pydantic_monty import Monty

    pool = Monty()
    pool.__enter__()
    atexit.register(pool.__exit__, None, None, None)
    return pool


def _in_monty(code: str, tests: tuple[str, ...], seconds: float, megabytes: int) -> str:
    from pydantic_monty import CollectString, MontyError, ResourceLimits

    limits = ResourceLimits(max_feed_duration_secs=seconds / 2, max_memory=megabytes << 20)
    try:
        with _monty().checkout(limits=limits) as session:
            session.feed_run(code, print_callback=CollectString())
            session.feed_run("\n".join(tests), print_callback=CollectString())
    except MontyError as error:
        if "not yet support" in str(error):
            raise UsageError(f"the sandbox monty does not know this Python ({error}): install bubblewrap") from error
        return str(error)[:300]
    return ""
