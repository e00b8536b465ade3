"""SWE-bench reports in the three shapes in which they are published."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.errors import UsageError
from motet.tables.read import read

A, B, C, D = "django__django-1", "django__django-2", "astropy__astropy-3", "sympy__sympy-4"


def put(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=4))
    return path


def harness(**ids: list[str]) -> dict[str, object]:
    """The harness's own report, schema version 2."""
    names = ("completed", "incomplete", "empty_patch", "submitted", "resolved", "unresolved", "error")
    return {
        "total_instances": 4,
        "submitted_instances": len(ids.get("submitted", [])),
        **{f"{name}_ids": ids.get(name, []) for name in names},
        "schema_version": 2,
    }


def test_reports_of_the_harness(tmp_path: Path) -> None:
    """Resolved is right; unresolved, empty, failed and not submitted are wrong; the file is named after the agent."""
    first = harness(
        completed=[A, B], resolved=[A], unresolved=[B], submitted=[A, B, C], empty_patch=[C], incomplete=[D]
    )
    second = harness(completed=[A, C], resolved=[A, C], submitted=[A, C, B], error=[B], incomplete=[D])
    table = read([put(tmp_path / "gpt.run1.json", first), put(tmp_path / "opus.run1.json", second)])
    assert table.format == "swe-bench"
    assert table.agents == ("gpt.run1", "opus.run1")
    rows = dict(zip(table.items, table.correct.tolist(), strict=True))
    assert rows == {A: [1, 1], B: [0, 0], C: [0, 1], D: [0, 0]}
    assert dict(zip(table.items, table.topics or (), strict=True))[C] == "astropy"
    assert not any("not named" in note for note in table.notes)


def test_results_of_the_leaderboard(tmp_path: Path) -> None:
    """results.json lists what is resolved: the rest is not, and what no report names is said to be missing."""
    results = {"no_generation": [D], "no_logs": [], "resolved": [A, B]}
    put(tmp_path / "20250101_x" / "results" / "results.json", results)
    put(tmp_path / "20250202_y" / "results" / "results.json", results | {"no_generation": [], "resolved": [A]})
    put(tmp_path / "20250202_y" / "results" / "resolved_by_repo.json", {"django/django": {"resolved": 1, "total": 3}})
    put(tmp_path / "20250202_y" / "logs" / A / "report.json", {A: {"resolved": True, "patch_exists": True}})
    table = read(tmp_path)
    assert table.agents == ("20250101_x", "20250202_y")
    rows = dict(zip(table.items, table.correct.tolist(), strict=True))
    assert rows == {A: [1, 1], B: [1, 0], D: [0, 0]}
    assert any("2 instances that an agent's report does not name" in note for note in table.notes)
    assert any("no report names are not in the table" in note for note in table.notes)


def test_details_with_costs(tmp_path: Path) -> None:
    """Per-instance details bring the cost too."""
    for agent, right in (("x", True), ("y", False)):
        details = {item: {"resolved": right, "cost": 0.5, "api_calls": 3} for item in (A, B)}
        put(tmp_path / agent / "per_instance_details.json", details)
    table = read(tmp_path)
    assert table.correct.tolist() == [[1, 0], [1, 0]]
    assert table.cost is not None
    assert table.cost[0, 0] == 0.5


def test_two_reports_of_one_agent(tmp_path: Path) -> None:
    """Reports that go by the same name are refused."""
    paths = [put(tmp_path / folder / "gpt.json", {"resolved": [A, B]}) for folder in "pq"]
    with pytest.raises(UsageError, match="are both of 'gpt'"):
        read(paths)


def test_ids_that_are_none(tmp_path: Path) -> None:
    """A list of anything but ids is refused."""
    with pytest.raises(UsageError, match="`resolved` holds something else than ids"):
        read(put(tmp_path / "gpt.json", {"resolved": [1, 2]}))
