"""What every file of a method keeps: it is short, and its prompts name no model."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from motet import compose

FILES = [path for path in sorted(Path(compose.__path__[0]).glob("*.py")) if path.stem not in ("__init__", "base")]
NAMES = re.compile(r"(?i)\b(?:gpt|claude|gemini|gemma|llama|mistral|mixtral|qwen|deepseek|phi|smollm)")
by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def docstrings(tree: ast.Module) -> list[ast.Expr]:
    """The texts that stand for themselves: of the file, its classes and functions, and below its constants."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    ]


@by_file
def test_it_is_short(path: Path) -> None:
    """At most 150 lines of code: docstrings, comments and empty lines are not counted."""
    text = path.read_text("utf-8")
    told = {line for node in docstrings(ast.parse(text)) for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = [line for place, line in enumerate(text.splitlines(), 1) if place not in told]
    assert len([line for line in lines if line.strip() and not line.lstrip().startswith("#")]) <= 150


@by_file
def test_its_prompts_name_no_model(path: Path) -> None:
    """No text in the code, which is all that an agent can be told, has a model's or a family's name."""
    tree = ast.parse(path.read_text("utf-8"))
    about = {id(node.value) for node in docstrings(tree)}
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in about]
    assert not [text for text in texts if isinstance(text, str) and NAMES.search(text)]
