"""The reference pages that are made from docstrings are current."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


def load() -> ModuleType:
    """docs/generate.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", load().PAGES)
def test_generated_pages_are_current(name: str) -> None:
    """Each is what its docstrings say now."""
    assert (ROOT / name).read_text("utf-8") == load().PAGES[name](), "run python docs/generate.py"


def test_every_measure_says_what_it_is() -> None:
    """Each file has a docstring with more than its first line, and its functions say what goes in and comes out."""
    for path in (ROOT / "src/motet/measure").glob("*.py"):
        if path.stem == "__init__":
            continue
        text = path.read_text("utf-8")
        for name, body in re.findall(r"^def ([a-z]\w*)\(.*?^    \"\"\"(.*?)\"\"\"", text, re.MULTILINE | re.DOTALL):
            assert ">>>" in body, f"{path.name}: {name} has no example"
