"""The scripts in benchmarks/: each can be read, and what those check that are too long to run here is right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from acting import agent
from benchmark import BENCHMARKS, benchmark

from motet import perform
from motet.spec import load


@pytest.fixture(scope="module")
def open_ended() -> dict[str, Any]:
    """The functions of the script on ideas and tables."""
    return benchmark("open_ended")


def test_the_debates_on_local_models_are_those_of_the_script() -> None:
    """Each protocol among copies and among unlike agents is configured, and builds; copies are of one agent."""
    script, config = benchmark("debates_local"), load(BENCHMARKS / "debates.toml")
    wanted = {f"{protocol}-{team}" for protocol in script["PROTOCOLS"] for team in script["TEAMS"]}
    assert wanted <= set(config.mixtures)
    for name in wanted:
        members = {each.name for each in config.agent(name).agents}  # type: ignore[attr-defined]
        assert (len(members) == 1) == name.endswith("copies")


def test_the_answers_to_the_tables_are_what_is_in_them(open_ended: dict[str, Any]) -> None:
    """Computed here by hand, from the text of the tables."""
    tables, asked = open_ended["made"](0)
    rain = [line.split(",") for line in tables["rainfall"].splitlines()[1:]]
    known = {each.text: float(each.answer) for each in asked}
    esk = [float(row[3]) for row in rain if row[0] == "Esk"]
    north = [float(row[3]) for row in rain if row[1] == "north"]
    assert known["What was the mean rainfall in Esk?"] == pytest.approx(sum(esk) / len(esk))
    assert known["What was the highest rainfall in the north?"] == max(north)
    assert known["How many bus lines are there?"] == len(tables["buses"].splitlines()) - 1


@pytest.mark.parametrize(
    ("said", "there"), [("It was 1,045 mm.", True), ("about 1045.2", True), ("1054", False), ("no idea", False)]
)
def test_a_figure_is_found_in_an_answer(open_ended: dict[str, Callable[..., bool]], said: str, there: bool) -> None:
    """To three digits, with marks of thousands; another figure is none."""
    result = asyncio.run(perform(agent("a", said=said), "How much?"))
    assert open_ended["has"](result, "1045") == there
