"""The real program, killed at random moments, and a server that counts; `benchmarks/kills.py` does it more often."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

from kills import Plan, Upstream, campaign


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    """A server that outlives whoever asks it."""
    with Upstream() as made:
        yield made


@pytest.mark.parametrize(
    ("plan", "kills"),
    [
        (Plan(4, tasks=6, arms="talk"), 6),
        pytest.param(Plan(16, repeat=2, tasks=12), 30, marks=pytest.mark.long),
        pytest.param(Plan(1, tasks=12), 30, marks=pytest.mark.long),
    ],
    ids=lambda value: value.words if isinstance(value, Plan) else str(value),
)
@pytest.mark.timeout(600)
def test_kills_lose_nothing(upstream: Upstream, plan: Plan, kills: int) -> None:
    """No row is lost, no known reply is asked for again, few calls are paid twice, and the table is the same."""
    found = campaign(plan, kills, 7, upstream)
    assert found.kills == kills
    assert found.starting < kills
    assert found.calls > 20 * plan.repeat
    assert found.kept, found
    assert found.paid_twice <= found.at_once * kills
