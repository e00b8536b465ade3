"""Recorded results of real models, where they are at hand: a folder of folders of matrices (docs/reference/tables.md).

They can't be shipped with motet, since some of them may not be passed on. `MOTET_RECORDED` names the folder; without
it, one beside the repository is looked for. Tests that need it are skipped where there is none.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

from motet.tables.read import read
from motet.tables.table import Table

FOLDER = Path(os.environ.get("MOTET_RECORDED") or Path(__file__).resolve().parents[2] / "shared" / "data")


@cache
def recorded(name: str) -> Table:
    """One of the tables, agents best first; skips the test where it is not at hand."""
    if not (FOLDER / name).is_dir():
        pytest.skip(f"no recorded results at {FOLDER / name}: set MOTET_RECORDED")
    return read(FOLDER / name).best_first()
