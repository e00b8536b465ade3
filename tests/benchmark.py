"""Benchmarks as tests use them: what a script measures with, so that what is on record is what is checked."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def benchmark(name: str) -> dict[str, Any]:
    """The functions of a script, which finds what it shares with others as when it is run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        return runpy.run_path(str(BENCHMARKS / f"{name}.py"))
