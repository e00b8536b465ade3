"""The table of a run, against figures counted by hand."""

from __future__ import annotations

import pytest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from motet.bench.cell import Cell
from motet.bench.results import Results
from motet.bench.results import results as table
from motet.bench.run import Arm, Part
from motet.bench.sheet import Sheet
from motet.message import Usage


def cells(arm: str, scores: str, **fields: object) -> list[Cell]:
    """One cell a digit; `-` was not graded."""
    return [
        Cell(f"t{place}", arm, 0, None if score == "-" else float(score), "full", **fields)  # type: ignore[arg-type]
        for place, score in enumerate(scores)
    ]


def results(given: list[Cell], members: list[str], **parts: Part) -> Results:
    """The table of cells; what is no member is a mixture, or what is said."""
    sheet = Sheet.of(given)
    arms = [Arm(arm, "member" if arm in members else parts.get(arm, "mixture"), "") for arm in sheet.arms]
    return table(sheet, arms)


def test_comparison_with_the_best_member() -> None:
    """Wins, losses, McNemar's p and Holm's correction, as statsmodels has them."""
    a, b = "1111100000" * 4, "1000000000" * 4
    vote, worse = "1111111100" * 4, "1111000000" * 4
    found = results([*cells("b", b), *cells("a", a), *cells("v", vote), *cells("w", worse)], members=["a", "b"])
    assert found.best_member == "a"
    assert [line.arm for line in found.lines] == ["b", "a", "v", "w"]
    lines = {line.arm: line for line in found.lines}
    v, w = lines["v"].to_best, lines["w"].to_best
    assert v is not None
    assert w is not None
    assert (v.wins, v.losses, w.wins, w.losses) == (12, 0, 0, 4)
    assert v.difference == pytest.approx(0.3)
    single = [mcnemar([[0, wins], [losses, 0]], exact=True).pvalue for wins, losses in ((12, 0), (0, 4))]
    assert [v.p, w.p] == pytest.approx(single)
    assert [v.p_holm, w.p_holm] == pytest.approx(multipletests(single, method="holm")[1].tolist())
    assert found.verdict[0].startswith("v is better than a, the best member, by 30.0 points (12 tasks won, 0 lost")
    assert lines["a"].to_best is None


def test_ungraded_tasks_are_left_out_of_both() -> None:
    """A comparison rests on the tasks that both arms were graded on; too many ungraded make an arm unfit."""
    found = results([*cells("a", "1100110011"), *cells("v", "11-0110011")], members=["a"])
    line = found.lines[1]
    assert line.to_best is not None
    assert (line.tasks, line.ungraded, line.to_best.wins, line.to_best.losses, line.unfit) == (9, 1, 0, 0, False)
    found = results([*cells("a", "1100110011"), *cells("v", "1---110011")], members=["a"])
    assert found.lines[1].unfit
    assert found.verdict == ("Too many answers failed or could not be graded to conclude anything of v.",)


def test_no_better_mixture_is_reported_as_such() -> None:
    """Neither a lead by chance nor a loss is called better."""
    found = results([*cells("a", "1100110011"), *cells("v", "1110110011")], members=["a"])
    assert found.verdict[0].startswith(
        "No mixture is shown to be better than a, the best member; the nearest is v, +10.0"
    )
    assert results(cells("v", "11"), members=[]).verdict[0].startswith("There is nothing to compare")


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
