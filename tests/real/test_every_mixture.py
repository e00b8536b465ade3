"""Every mixture of the default configuration answers `motet ask` on the embedded models, and says how whole it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from motet.cli import shapes
from motet.paths import cache_dir
from motet.spec import load
from motet.spec.source import DEFAULT, VARIABLE

pytestmark = [pytest.mark.real, pytest.mark.long]
EXACT = ("vote", "adaptive-vote", "roundtable", "debate", "cascade")
"""Where the calculator has its say and the others have no way to outvote it: the answer is right, not only there."""


@pytest.mark.timeout(600)  # the largest take a minute where something else has the machine
@pytest.mark.parametrize("name", load(DEFAULT).mixtures)
def test_it_answers(name: str, tmp_path: Path) -> None:
    """There is an answer, and the outcome is full, or else says who is missing or which limit ended the run."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "models").symlink_to(cache_dir() / "models", target_is_directory=True)
    done = subprocess.run(
        [sys.executable, "-m", "motet", "ask", "--mixture", name, "--json", "What is 17 + 25?"],
        capture_output=True,
        timeout=590,
        check=False,
        cwd=tmp_path,
        env={**{key: value for key, value in os.environ.items() if key != VARIABLE}, "MOTET_HOME": str(home)},
    )
    found = msgspec.json.decode(done.stdout, type=shapes.Answer)
    assert (found.mixture, found.error) == (name, None), done.stderr.decode()
    assert found.answer is not None
    assert found.answer.strip()
    assert found.answer == "42" or name not in EXACT
    if found.outcome.state == "full":
        assert (done.returncode, found.stopped, found.outcome.missing) == (0, "", ())
    else:
        assert (done.returncode, found.outcome.state) in ((3, "degraded"), (3, "single"))
        assert found.stopped or all(missing.kind and missing.text for missing in found.outcome.missing)
