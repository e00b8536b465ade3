"""The manual of the configuration is true: its examples load, its tables are those of the code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from motet.aggregate import Aggregator
from motet.route.base import Router
from motet.run import Agent
from motet.score import Scorer
from motet.spec import load
from motet.spec.fields import fields_of
from motet.spec.registry import label, variants
from motet.spec.source import DEFAULT
from motet.topology import Topology

MANUAL = Path(__file__).parent.parent / "docs" / "reference" / "config.md"
TEXT = MANUAL.read_text("utf-8")
MIXTURES = MANUAL.parents[1] / "how-to" / "mixtures.md"
MY_AGENTS = """
from dataclasses import dataclass
from motet.run import Agent

def answer(question: str) -> str | None:
    return None

def look_up(word: str) -> str:
    "Look a word up."
    return word

@dataclass(frozen=True)
class Relay:
    first: Agent
    second: Agent
    name: str = "relay"

    async def __call__(self, chat, run):
        return await run.answer(self.second, chat)
"""


def blocks(language: str) -> list[str]:
    """The manual's examples in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with the module that the manual's examples name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MOTET_CONFIG", raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "my_agents.py").write_text(MY_AGENTS)


@pytest.mark.parametrize("text", blocks("toml"), ids=lambda text: text.splitlines()[0])
def test_toml_examples_load(text: str, tmp_path: Path) -> None:
    """Every TOML example is a configuration without a mistake."""
    (tmp_path / "motet.toml").write_text(text)
    config = load()
    assert config.path == "motet.toml"


def test_the_one_file_of_ones_own_code_builds(tmp_path: Path) -> None:
    """The example with one's own code builds its agents."""
    (text,) = [text for text in blocks("toml") if "my_agents" in text]
    (tmp_path / "motet.toml").write_text(text)
    assert load().agent("mine").name == "mine"


@pytest.mark.parametrize("code", blocks("python"))
def test_python_examples_run(code: str) -> None:
    """Every Python example runs."""
    exec(compile(code, str(MANUAL), "exec"), {"__name__": "manual"})


def table(header: str, rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, re.sub(r"[^|]+", "---", header), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines).replace("|  |", "| |")


def keys(cls: type, *, needed: bool = False) -> str:
    """The keys of a record, quoted."""
    fields = [each for each in fields_of(cls) if each.name != "name" and (each.required or not needed)]
    return ", ".join(f"`{each.name}`" for each in fields)


def test_the_tables_are_those_of_the_code() -> None:
    """Each composition, aggregator, scorer and topology is listed with its keys: add what is missing."""
    compositions = [[f"`{word}`", keys(cls), keys(cls, needed=True)] for word, cls in variants(Agent).items()]
    assert table("| composition | keys | of which needed |", compositions) in TEXT
    seams = [
        [label(seam), f"`{word}`", keys(cls)]
        for seam in (Aggregator, Router, Scorer, Topology)
        for word, cls in variants(seam).items()
    ]
    assert table("| | word | keys |", seams) in TEXT


def test_every_built_in_entry_is_told() -> None:
    """The manual names each built-in model and agent; the page of mixtures has a line for each, and for no others."""
    config = load(DEFAULT)
    models, agents = re.findall(r"^\| (?:models|agents) \| (.*) \|$", TEXT, re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", models)) == set(config.models)
    assert set(re.findall(r"`([\w-]+)`", agents)) == set(config.agents)
    told = re.findall(r"^\| `([\w-]+)` \|", MIXTURES.read_text("utf-8"), re.MULTILINE)
    assert sorted(told) == sorted(config.mixtures)
    assert f"{len(told)} of them" in TEXT
