"""The page of every method on local models: it says what the figures say, and the figures are of every mixture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark import benchmark

from motet.spec import load
from motet.spec.source import DEFAULT

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def methods() -> dict[str, Any]:
    """The benchmark's functions."""
    return benchmark("methods")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """The figures that are kept."""
    kept: dict[str, Any] = json.loads((ROOT / "benchmarks/results/methods.json").read_text("utf-8"))
    return kept


def test_the_page_is_made_of_the_figures(methods: dict[str, Any], found: dict[str, Any]) -> None:
    """Nobody wrote into the page by hand."""
    assert (ROOT / "docs/methods/results.md").read_text("utf-8") == methods["page"](found)


def test_every_mixture_is_there(found: dict[str, Any]) -> None:
    """Those that were measured are on both suites, on at least 100 questions, with what they are compared with."""
    assert set(found["composition"]) <= set(load(DEFAULT).mixtures)
    assert sum(suite["lines"][0]["tasks"] for suite in found["suites"].values()) >= 100
    for suite in found["suites"].values():
        arms = {line["arm"] for line in suite["lines"]}
        measured = arms & set(found["composition"])
        assert len(measured) >= 23
        assert {pair["mixture"] for pair in suite["equal_tokens"]} >= measured
        assert "plain vote" in arms
