"""Patched MoA: three optimisations of one model behind one call."""

from __future__ import annotations

import re

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import ModelAgent
from motet.compose.patched_moa import CANDIDATES, CRITIQUE, NOTE, PatchedMoA
from motet.errors import UsageError
from motet.message import Request


def playing(critique: object = "A and B are wrong.", written: object = "w", *draws: str) -> ModelAgent:
    """An agent that draws, criticises, writes and grades as it is told."""
    said = iter(draws or ("x", "y", "z"))

    def play(request: Request) -> object:
        if CRITIQUE in request.text:
            return critique
        if CANDIDATES in request.text:
            return written
        return "Grade: 7" if "Grade:" in request.text else next(said)

    return agent("one", said=play)


@pytest.mark.parametrize(("optimization", "calls", "depth"), [("moa", 5, 3), ("bon", 6, 2), ("mcts", 12, 4)])
def test_shapes(optimization: str, calls: int, depth: int) -> None:
    """Calls and depth are what the docstring says of each optimisation."""
    assert shape(PatchedMoA(agent("a"), optimization)) == (calls, depth)  # type: ignore[arg-type]


def test_the_mixture_criticises_and_writes() -> None:
    """Three draws, one critique of all of them under letters, and a reply that hears draws and critique alike."""
    result = ask(PatchedMoA(playing()))
    critic, writer = calls(result)[3:]
    assert result.text == "w"
    assert sorted(heard(critic)) == ["x", "y", "z"]
    assert critic.request.question == CRITIQUE, "the question is to criticise, not the question itself"
    assert heard(writer) == [*heard(critic), "A and B are wrong."]
    letters = [re.findall(r'<reply id="(\w+)">', call.request.text) for call in (critic, writer)]
    assert letters == [["A", "B", "C"], ["A", "B", "C", "D"]]
    assert writer.request.text.index(CANDIDATES) < writer.request.text.index(NOTE)


def test_draws_are_shuffled() -> None:
    """Which letter a draw gets depends on the seed, not on who came first."""
    orders = {tuple(heard(calls(ask(PatchedMoA(playing()), seed=seed))[3])) for seed in range(12)}
    assert len(orders) > 2


def test_without_a_critique_it_writes_from_the_draws() -> None:
    """Noted."""
    result = ask(PatchedMoA(playing(critique=down("context_length"))))
    assert (result.text, len(heard(calls(result)[-1]))) == ("w", 3)
    assert any("no critique" in warning for warning in result.warnings)


def test_without_a_writer_the_most_frequent_draw_is_given() -> None:
    """Noted too."""
    result = ask(PatchedMoA(playing("Hm.", down("context_length"), "4", "5", "five")), "2 + 3?")
    assert result.text == "5"
    assert any("most frequent answer" in warning for warning in result.warnings)


def test_the_others_are_the_methods_of_that_name() -> None:
    """Best-of-n grades its own draws; the tree search revises one of them."""
    best = calls(ask(PatchedMoA(playing(), "bon")))
    assert ["Grade:" in call.request.text for call in best] == [False] * 3 + [True] * 3
    tree = calls(ask(PatchedMoA(playing("", "", *"uvwxyz"), "mcts")))
    assert [len(heard(call)) for call in tree] == [0] * 3 + [1] * 9
    assert {call.agent for call in (*best, *tree)} == {"one"}


def test_no_draws() -> None:
    """Refused when it is made."""
    with pytest.raises(UsageError, match="at least 1 draws"):
        PatchedMoA(agent("a"), n=0)


def test_an_optimization_that_is_none() -> None:
    """Refused, and not taken for the mixture."""
    with pytest.raises(UsageError, match="give bon, moa or mcts"):
        PatchedMoA(agent("a"), "best_of_n")  # type: ignore[arg-type]
