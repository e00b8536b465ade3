"""A folder with a configuration of known members, and the command line run in it: in this process, or as a program."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from motet import api
from motet.cli.app import run

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # lets the tests here say `from commandline import Cli`

from commandline import PROGRAM, Cli, Done  # noqa: E402


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory: a configuration, its members, and a home of its own without any model."""
    for name in ("motet.toml", "cli_members.py"):
        shutil.copy(HERE / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("MOTET_TEST_TOKEN", "hunter2")
    for name in ("MOTET_CONFIG", "MOTET_TEST_KEY", "NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    sys.modules.pop("cli_members", None)


@pytest.fixture
def cli(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[Cli]:
    """Run a command line in this process."""

    def call(*arguments: str, stdin: bytes | None = None) -> Done:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin or b"")))
        capfd.readouterr()
        code = run(arguments)
        out, err = capfd.readouterr()
        return Done(code, out, err)

    yield call
    api.close()


@pytest.fixture
def program(folder: Path) -> Cli:
    """Run a command line as a program."""

    def call(*arguments: str, stdin: bytes | None = None, **environment: str) -> Done:
        done = subprocess.run(
            [*PROGRAM, *arguments],
            input=stdin or b"",
            capture_output=True,
            timeout=60,
            check=False,
            env={**os.environ, **environment},
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call
