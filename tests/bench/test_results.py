"""The table of a run, against figures counted by hand."""

from __future__ import annotations

import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from motet.bench.results import results
from motet.bench.runner import Cell
from motet.message import Usage


def cells(arm: str, scores: str, **fields: object) -> list[Cell]:
    """One cell a digit; `-` was not graded."""
    return [
        Cell(f"t{place}", arm, 0, None if score == "-" else float(score), "full", **fields)  # type: ignore[arg-type]
        for place, score in enumerate(scores)
    ]


def test_comparison_with_the_best_member() -> None:
    """Wins, losses, McNemar's p and Holm's correction, as statsmodels has them."""
    a, b = "1111100000" * 4, "1000000000" * 4
    v, w = "1111111100" * 4, "1111000000" * 4
    found = results([*cells("b", b), *cells("a", a), *cells("v", v), *cells("w", w)], members=["a", "b"])
    assert found.best_member == "a"
    assert [line.arm for line in found.lines] == ["b", "a", "v", "w"]
    lines = {line.arm: line for line in found.lines}
    assert (lines["v"].wins, lines["v"].losses, lines["w"].wins, lines["w"].losses) == (12, 0, 0, 4)
    assert lines["v"].difference == pytest.approx(0.3)
    single = [mcnemar([[0, wins], [losses, 0]], exact=True).pvalue for wins, losses in ((12, 0), (0, 4))]
    assert [lines["v"].p, lines["w"].p] == pytest.approx(single)
    assert [lines["v"].p_holm, lines["w"].p_holm] == pytest.approx(multipletests(single, method="holm")[1].tolist())
    assert found.verdict.startswith("v is better than a, the best member, by 30.0 points (12 tasks won, 0 lost")
    assert lines["a"].p is None


def test_ungraded_tasks_are_left_out_of_both() -> None:
    """A comparison rests on the tasks that both arms were graded on; too many ungraded make an arm unfit."""
    found = results([*cells("a", "1100110011"), *cells("v", "11-0110011")], members=["a"])
    line = found.lines[1]
    assert (line.tasks, line.ungraded, line.wins, line.losses, line.unfit) == (9, 1, 0, 0, False)
    found = results([*cells("a", "1100110011"), *cells("v", "1---110011")], members=["a"])
    assert found.lines[1].unfit
    assert found.verdict == "Too many answers failed or could not be graded to conclude anything of v."


def test_no_better_mixture_is_reported_as_such() -> None:
    """Neither a lead by chance nor a loss is called better."""
    found = results([*cells("a", "1100110011"), *cells("v", "1110110011")], members=["a"])
    assert found.verdict.startswith("No mixture is shown to be better than a, the best member; the nearest is v, +10.0")
    assert results(cells("v", "11"), members=[]).verdict.startswith("There is nothing to compare")


def test_means_and_quantiles() -> None:
    """What an answer takes alone, on average; the seconds' median and 95th percentile; what was saved."""
    made = [
        *cells("a", "1" * 19, alone=Usage(1, 10, output=2, usd=0.01), usage=Usage(1, usd=0.01), seconds=1.0),
        Cell("t19", "a", 0, 1.0, "full", "", "", Usage(saved_calls=3), Usage(3, 30, output=6, usd=0.05), 9.0),
    ]
    found = results(made, members=["a"])
    line = found.lines[0]
    assert (line.calls, line.tokens_in, line.tokens_out) == (1.1, 11, 2.2)
    assert line.usd == pytest.approx(0.012)
    assert (line.seconds_p50, line.seconds_p95) == (1.0, pytest.approx(1.4))
    assert (found.saved_calls, found.usd) == (3, pytest.approx(0.19))
