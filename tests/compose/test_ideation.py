"""Ideation: who hears whom, what members are told, who decides, and how far density and authority narrow a group."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, ModelAgent, Scripted
from motet.compose.ideation import AGAIN, DIRECTION, JUNIOR, SENIOR, SENIORS, Ideation
from motet.errors import UsageError
from motet.measure.contraction import contraction_ratio
from motet.message import Request

NAMES = "abcdef"


def member(name: str, best: str = "") -> ModelAgent:
    """One whose idea is its name, and who ranks the idea `best` first."""

    def said(request: Request) -> str:
        if "Ranking:" not in request.text:
            return f"idea {name}"
        letters = dict(re.findall(r'<reply id="(\w+)">\nidea (\w)\n', request.text))
        return "Ranking: " + ", ".join(sorted(letters, key=lambda letter: letters[letter] != best))

    return ModelAgent(Scripted(said, name=f"m-{name}"), name)


def group(count: int = 4, best: str = "c") -> list[ModelAgent]:
    """So many members, who all rank the same idea first."""
    return [member(name, best) for name in NAMES[:count]]


LEADER = agent("chief", said=lambda request: "go there" if "Don't write" in request.text else "all joined")


def test_shapes() -> None:
    """As the docstring says, with and without a leader."""
    assert shape(Ideation(group(), rounds=3)) == (4 * 3 + 4, 4)
    assert shape(Ideation(group(), rounds=3, leader=LEADER)) == (4 * 3 + 3, 6)
    assert shape(Ideation(group(2), size=5, rounds=1)) == (5 + 2, 2)


def test_members_rank_what_nobody_leads() -> None:
    """The idea that members rank first is given, and it is made of all."""
    result = ask(Ideation(group()))
    assert result.text == "idea c"
    assert sorted(Ideation(group()).ideas(result)) == [f"idea {name}" for name in "abcd"]


def test_a_leader_steers_and_writes() -> None:
    """Between rounds all hear where it wants to go; at the end it writes the proposal, and the ideas are kept."""
    mixture = Ideation(group(), leader=LEADER)
    result = ask(mixture)
    second = calls(result)[5:9]
    assert all(DIRECTION in call.request.text and "go there" in heard(call) for call in second)
    assert result.text == "all joined"
    assert sorted(mixture.ideas(result)) == [f"idea {name}" for name in "abcd"]


def test_a_dead_leader_leaves_a_leaderless_group() -> None:
    """It is noted, the outcome names the leader, and the members rank."""
    result = ask(Ideation(group(), leader=agent("chief", said=down())))
    assert result.text == "idea c"
    assert any("goes on without one" in text for text in result.warnings)
    assert [failure.agent for failure in result.outcome.missing] == ["chief"]


@pytest.mark.parametrize(("density", "count"), [(0.0, 0), (0.4, 2), (1.0, 5)])
def test_density(density: float, count: int) -> None:
    """Of five others each hears that share."""
    result = ask(Ideation(group(6), density=density))
    assert [len(heard(call)) for call in calls(result)[6:12]] == [count] * 6


def test_disciplines_and_seniority_are_told_in_turn() -> None:
    """Every member is told its own, before its first idea; where nothing is to be told, it gets the bare question."""
    first = [call.request.text for call in calls(ask(Ideation(group(), disciplines=("law", "art"), seniority="mixed")))]
    assert ["law" in text for text in first[:4]] == [True, False, True, False]
    assert [SENIOR in text for text in first[:4]] == [True, False, True, False]
    assert [JUNIOR in text for text in first[:4]] == [False, True, False, True]
    assert calls(ask(Ideation(group())))[0].request.text == "What?"


def test_seniors_are_heard_as_such() -> None:
    """Where seniority is mixed, their ideas stand apart, under what they are; among equals nothing does."""
    mixed = calls(ask(Ideation(group(), seniority="mixed")))[4:8]
    for call in mixed:
        apart = call.request.messages[-1].text.split(SENIORS)[1].split("Below are ideas of others")[0]
        assert set(re.findall(r"idea (\w)", apart)) == {"a", "c"} - {call.agent}
    for equal in ("senior", "junior", "untold"):
        result = ask(Ideation(group(), seniority=equal))  # type: ignore[arg-type]
        assert not any(SENIORS in call.request.text for call in calls(result))


def test_who_hears_no_peer_is_asked_again_all_the_same() -> None:
    """Alone, or with a leader's or a senior's words only, a member is still told to give its idea."""
    groups = (
        Ideation(group(2), density=0.0),
        Ideation(group(2), density=0.0, leader=LEADER),
        Ideation(group(2), seniority="mixed"),
    )
    for each in groups:
        again = [call for call in calls(ask(each)) if any(m.role == "assistant" for m in call.request.messages)]
        assert len(again) == 2
        for call in again:
            assert call.request.messages[-1].role == "user"
            told = call.request.messages[-1].text
            assert AGAIN in told or "Then give your own idea" in told


def test_ideas_of_a_run_that_was_stopped() -> None:
    """What is given when the purse is spent names the ideas of all."""
    result = ask(Ideation(group()), budget=Budget(calls=6))
    assert result.stopped
    assert sorted(Ideation(group()).ideas(result)) == [f"idea {name}" for name in "abcd"]


@pytest.mark.parametrize("density", [-0.1, 1.1, float("nan")])
def test_a_density_that_is_none(density: float) -> None:
    """It is refused with its value."""
    with pytest.raises(UsageError, match=r"-0\.1|1\.1|nan"):
        Ideation(group(), density=density)


# ---- how far a group narrows


def inventor(name: str, task: int, boost: float) -> ModelAgent:
    """One with words of its own, who takes up a tenth of each idea it hears, and `boost` times that of authority."""
    own = [f"{name}{task}w{place}" for place in range(12)]

    def said(request: Request) -> str:
        rng = random.Random(request.key)
        if "Ranking:" in request.text:
            return "Ranking: A, B"
        before = [message.text for message in request.messages if message.role == "assistant"]
        words = (before[-1] if before else " ".join(own)).split()
        told = request.messages[-1].text
        for part in re.split(r"(?=Below )", told):
            weight = 0.1 * (boost if part.startswith((SENIORS, DIRECTION)) else 1.0)
            for idea in re.findall(r'<reply id="\w+">\n(.*?)\n</reply>', part, re.DOTALL):
                words = [b if rng.random() < weight else a for a, b in zip(words, idea.split(), strict=True)]
        return " ".join(words)

    return ModelAgent(Scripted(said, name=f"m-{name}"), name)


def diversities(tasks: int = 6, boost: float = 3.0, led: bool = False, **fields: object) -> Sequence[float]:
    """The diversity of the last ideas of six members after three rounds, task by task."""
    found = []
    for task in range(tasks):
        made = [inventor(name, task, boost) for name in NAMES]
        leader = inventor("chief", task, boost) if led else None
        mixture = Ideation(made, rounds=3, leader=leader, **fields)  # type: ignore[arg-type]
        found.append(mixture.diversity(ask(mixture, f"Task {task}?")))
    return found


def test_diversity_contracts_with_density_and_authority() -> None:
    """Six tasks, against the nominal group (density 0): 0.93 of the diversity is left at density 0.4, 0.86 at 1; 0.80
    with a leader and 0.81 with seniors, both of whom are followed three times as much.
    """
    nominal = diversities(density=0.0)
    assert nominal == [1.0] * 6
    groups: Mapping[str, Mapping[str, object]] = {
        "sparse": {"density": 0.4},
        "dense": {"density": 1.0},
        "led": {"led": True},
        "mixed": {"seniority": "mixed"},
    }
    ratio = {
        name: contraction_ratio(diversities(**fields), nominal).value  # type: ignore[arg-type]
        for name, fields in groups.items()
    }
    assert ratio == pytest.approx({"sparse": 0.93, "dense": 0.86, "led": 0.80, "mixed": 0.81}, abs=0.01)
