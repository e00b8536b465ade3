"""SWE-bench reports: which instances an agent resolved; one file an agent.

    {"resolved_ids": ["django__django-1"], "unresolved_ids": [...], "submitted_ids": [...], "total_instances": 500}
    {"resolved": ["django__django-1"], "no_generation": [...], "no_logs": [...]}
    {"django__django-1": {"resolved": true, "cost": 0.07}, ...}

The first is the harness's own report, the second and third are those of its leaderboard. As there, an instance that an
agent did not submit, whose patch was empty or failed to apply, is not resolved. The instances are those that any of the
reports names, for there is no list of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from motet.errors import UsageError
from motet.tables.draft import Draft
from motet.tables.look import Look, each, holds, mapping
from motet.tables.records import NAN, Outcome, Records

PATTERNS: Final = ("*.json", "*.json.gz")
RESOLVED: Final = ("resolved_ids", "resolved")
_DULL: Final = frozenset({"results", "report", "per_instance_details", "resolved", "evaluation", "eval"})
"""File and folder names that say nothing about the agent."""


def is_swe_bench(seen: Look) -> bool:
    """Whether this is such a report, or a folder of them."""
    return holds(seen, PATTERNS, _is_report)


def swe_bench(looks: Sequence[Look]) -> Draft:
    """Read reports.

    Raises:
        UsageError: one is no report, or two are of the same agent.
    """
    reports: dict[str, dict[str, Outcome]] = {}
    files: dict[str, Path] = {}
    totals: list[int] = []
    for seen in each(looks, PATTERNS, _is_report, "the ids that an agent resolved (`resolved_ids` or `resolved`)"):
        agent = _agent(seen.path)
        if agent in reports:
            raise UsageError(f"{files[agent]} and {seen.path} are both of {agent!r}; name the files after their agents")
        report = mapping(seen.document)
        files[agent] = seen.path
        reports[agent] = _details(report) if _is_detailed(report) else _listed(seen.path, report)
        total = report.get("total_instances")
        totals += [total] if isinstance(total, int) else []
    items = dict.fromkeys(item for report in reports.values() for item in report)
    records = Records()
    implied = 0
    for agent, report in reports.items():
        for item in items:
            outcome = report.get(item)
            implied += outcome is None
            records.add(str(files[agent]), item, agent, outcome or Outcome(0.0))
            records.fact("topics", item, item.partition("__")[0] if "__" in item else "")
    if implied:
        records.notes.append(f"{implied} instances that an agent's report does not name count as not resolved by it")
    if totals and max(totals) > len(items):
        records.notes.append(f"{max(totals)} instances in all, {len(items)} named: nobody resolved the others")
    elif not totals:
        records.notes.append("instances that no report names are not in the table; with them, all would look worse")
    return records.draft(looks[0].path)


def _is_detailed(report: Mapping[str, object]) -> bool:
    return bool(report) and all(isinstance(mapping(value).get("resolved"), bool) for value in report.values())


def _is_report(seen: Look) -> bool:
    report = mapping(seen.document)
    if set(report) == {seen.path.parent.name}:
        return False  # logs/<instance>/report.json: of one instance, not of one agent
    return any(isinstance(report.get(key), list) for key in RESOLVED) or _is_detailed(report)


def _details(report: Mapping[str, object]) -> dict[str, Outcome]:
    found = {}
    for item, value in report.items():
        told = mapping(value)
        cost = told.get("cost")
        amount = float(cost) if isinstance(cost, (int, float)) and cost >= 0 else NAN
        found[item] = Outcome(float(bool(told["resolved"])), cost=amount)
    return found


def _listed(path: Path, report: Mapping[str, object]) -> dict[str, Outcome]:
    """Every id that a report lists anywhere; those it lists as resolved are right."""
    name = next(key for key in RESOLVED if isinstance(report.get(key), list))
    found: dict[str, Outcome] = {}
    for key, ids in report.items():
        if isinstance(ids, list) and (key.endswith("_ids") or "resolved" in report):
            if not all(isinstance(item, str) for item in ids):
                raise UsageError(f"{path}: `{key}` holds something else than ids")
            found.update(dict.fromkeys(ids, Outcome(0.0)))
    resolved = report[name]
    assert isinstance(resolved, list)
    found.update(dict.fromkeys(resolved, Outcome(1.0)))
    return found


def _agent(path: Path) -> str:
    """The file's name, or the name of the nearest folder above it that says something."""
    names = [path.name.removesuffix(".gz").removesuffix(".json"), *(parent.name for parent in path.resolve().parents)]
    return next((name for name in names if name and name.lower() not in _DULL), path.name)
