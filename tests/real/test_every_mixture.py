"""Every mixture of the default configuration answers `motet ask` on the embedded models, and says how whole it is."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

import motet
from motet.cli import shapes
from motet.paths import cache_dir

pytestmark = [pytest.mark.real, pytest.mark.long]
DEFAULT = Path(motet.__file__).with_name("default.toml")
NAMES = sorted(tomllib.loads(DEFAULT.read_text(encoding="utf-8"))["mixtures"])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NAMES)
def test_it_answers(name: str, tmp_path: Path) -> None:
    """There is an answer; the outcome is full, or it says who is missing or which limit ended the run."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "models").symlink_to(cache_dir() / "models", target_is_directory=True)
    environment = {key: value for key, value in os.environ.items() if key != "MOTET_CONFIG"}
    done = subprocess.run(
        [sys.executable, "-m", "motet", "ask", "--mixture", name, "--json", "What is 17 + 25?"],
        capture_output=True,
        timeout=590,
        check=False,
        cwd=tmp_path,
        env={**environment, "MOTET_HOME": str(home)},
    )
    assert done.returncode in (0, 3), done.stderr.decode()
    found = msgspec.json.decode(done.stdout, type=shapes.Answer)
    print(found)
    assert found.agent == name
    assert found.answer
    assert found.answer.strip()
