"""The diagnosis of a table: what every section says, its words, and its cautions."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test

from motet.diagnosis.diagnose import SECTIONS, Diagnosis, diagnose
from motet.diagnosis.options import Options
from motet.errors import UsageError
from motet.measure.majority import majority_right
from motet.page.page import Chart, Rows, page
from motet.tables.table import Draws, Table

QUICK = Options(splits=2, resamples=50)


def pool(n: int = 120, m: int = 5, *, seed: int = 0, answers: bool = True) -> Table:
    """Agents of unlike skill with a common factor; with answers, wrong ones are one of three."""
    rng = np.random.default_rng(seed)
    right = rng.normal(size=(n, 1)) + rng.normal(size=(n, m)) + np.linspace(1, 0, m) > 0
    said = np.where(right, 0, rng.integers(1, 4, size=(n, m)))
    return Table(
        tuple(f"q{i}" for i in range(n)),
        tuple(f"agent {j}" for j in range(m)),
        right.astype(float),
        answers=said if answers else None,
        gold=np.zeros(n, dtype=np.int64) if answers else None,
        answer_texts=("A", "B", "C", "D") if answers else (),
        source="pool",
        format="wide",
    )


def full(seed: int = 0) -> Table:
    """A table with everything that can be recorded."""
    rng = np.random.default_rng(seed)
    table = pool(seed=seed)
    n, m = table.correct.shape
    correct = (rng.random((n, m, 6)) < 0.3 + 0.5 * table.correct[:, :, None]).astype(float)
    assert table.answers is not None
    said = np.where(correct > 0, 0, rng.integers(1, 4, size=correct.shape))
    return replace(
        table,
        correct=correct.mean(axis=2),
        answers=said[:, :, 0],
        samples=np.full((n, m), 6),
        draws=Draws(said, correct),
        cost=rng.random((n, m)) * np.linspace(2, 0.1, m),
        tokens=rng.integers(1, 100, size=(n, m)).astype(float),
        seconds=rng.random((n, m)),
        confidence=rng.random((n, m)),
        families=tuple("xxyyz"),
    )


@cache
def whole() -> Diagnosis:
    """The diagnosis of the full table."""
    return diagnose(full(), QUICK)


def test_everything_that_is_recorded_is_used() -> None:
    """With answers, samples, costs, confidences and families, every section is there, in JSON and as a page."""
    made = whole()
    assert all(getattr(made, name) is not None for name in SECTIONS)
    assert made.cost is not None
    assert [each.measure for each in made.cost.measures] == ["cost", "tokens", "seconds"]
    assert made.mixture is not None
    assert made.mixture.best is not None
    assert made.confidence is not None
    assert made.confidence.kind == "stated"
    kept = msgspec.json.decode(msgspec.json.encode(made))
    assert kept.keys() == set(Diagnosis.__struct_fields__)
    charts = [block.name for section in made.sections() for block in section.blocks if isinstance(block, Chart)]
    assert len(charts) == len(set(charts))
    assert {
        "votes",
        "committees",
        "correlation",
        "frontier-cost",
        "samples",
        "reliability",
        "difficulty",
        "solves",
    } <= set(charts)
    assert "Verdict" in page("t", made.sections())


def test_what_is_not_recorded_is_left_out() -> None:
    """Right and wrong alone give no cost, no samples and no confidence, and a majority in place of plurality."""
    made = diagnose(pool(answers=False), QUICK)
    assert (made.cost, made.repeats, made.confidence) == (None, None, None)
    assert made.votes is not None
    assert (made.votes.rule, made.votes.weighted) == ("majority", None)


@pytest.mark.parametrize("name", SECTIONS)
def test_sections_alone(name: str) -> None:
    """`only` computes one section and no other, and what it says is what it says among the others."""
    alone, among = diagnose(full(), QUICK, only=[name]), whole()
    assert [each for each in SECTIONS if getattr(alone, each) is not None] == [name]
    assert msgspec.json.encode(getattr(alone, name)) == msgspec.json.encode(getattr(among, name))


def test_unknown_section_is_named() -> None:
    """A section that there is not is an error with those that there are."""
    with pytest.raises(UsageError, match="no section 'ceilings'; did you mean ceiling"):
        diagnose(pool(), QUICK, only=["ceilings"])


def test_columns_and_rows_may_stand_in_any_order() -> None:
    """Shuffling items and agents changes no figure that no chance is in."""
    table = pool()
    rng = np.random.default_rng(1)
    shuffled = table.select(
        items=rng.permutation(len(table.items)).tolist(), agents=rng.permutation(len(table.agents)).tolist()
    )
    one, other = diagnose(table, QUICK), diagnose(shuffled, QUICK)
    assert one.ceiling is not None
    assert other.ceiling is not None
    assert (one.ceiling.best, one.ceiling.beta, one.ceiling.gain) == (
        other.ceiling.best,
        other.ceiling.beta,
        other.ceiling.gain,
    )
    assert one.votes is not None
    assert other.votes is not None
    assert [point.right for point in one.votes.curve] == [point.right for point in other.votes.curve]


def test_a_duplicated_agent_is_reported_and_changes_no_ceiling() -> None:
    """Twins are named; beta, the oracle and the gain stay."""
    table = pool()
    assert table.answers is not None
    twin = replace(
        table,
        agents=(*table.agents, "twin"),
        correct=np.column_stack([table.correct, table.correct[:, 1]]),
        answers=np.column_stack([table.answers, table.answers[:, 1]]),
    )
    one, other = diagnose(table, QUICK), diagnose(twin, QUICK)
    assert one.ceiling is not None
    assert other.ceiling is not None
    assert (one.ceiling.beta, one.ceiling.oracle, one.ceiling.gain) == (
        other.ceiling.beta,
        other.ceiling.oracle,
        other.ceiling.gain,
    )
    assert [each.agents for each in other.cautions if each.kind == "duplicate"] == [("agent 1", "twin")]
    assert not [each for each in one.cautions if "duplicate" in each.kind]


def test_near_duplicates_are_told_from_agents_that_are_merely_good() -> None:
    """A copy with one flipped cell is caught; two agents that are nearly always right are not called copies."""
    rng = np.random.default_rng(0)
    correct = (rng.random((400, 4)) < [0.99, 0.99, 0.6, 0.5]).astype(float)
    copied = np.column_stack([correct, correct[:, 2]])
    copied[7, 4] = 1 - copied[7, 4]
    table = Table(tuple(map(str, range(400))), tuple("abcde"), copied)
    found = [each.agents for each in diagnose(table, QUICK, only=["ceiling"]).cautions if each.kind == "near_duplicate"]
    assert [set(each) for each in found] == [{"c", "e"}]


def test_a_shuffled_column_is_suspicious() -> None:
    """An agent whose rows were shuffled is named; the others are not."""
    table = pool(400)
    correct = table.correct.copy()
    correct[:, 2] = np.random.default_rng(3).permutation(correct[:, 2])
    made = diagnose(replace(table, correct=correct, answers=None, gold=None), QUICK, only=["ceiling"])
    assert [each.agents for each in made.cautions if each.kind == "suspicious"] == [("agent 2",)]


def test_missing_cells_are_never_wrong() -> None:
    """Incomplete items are left out and counted; the figures are those of the complete ones."""
    table = pool()
    correct = table.correct.copy()
    correct[:20, 3] = np.nan
    gaps = replace(table, correct=correct)
    made = diagnose(gaps, QUICK)
    whole = diagnose(table.select(items=list(range(20, 120))), QUICK)
    assert (made.about.items, made.about.dropped, made.about.missing) == (100, 20, 20)
    assert made.ceiling == whole.ceiling
    caution = next(each for each in made.cautions if each.kind == "missing")
    assert caution.agents == ("agent 3",)
    assert "20 of 120 items were left out" in caution.text
    pairwise = diagnose(gaps, Options(splits=2, missing="pairwise"), only=["redundancy"])
    assert pairwise.redundancy is not None
    assert whole.redundancy is not None
    assert pairwise.redundancy.means.phi.all != whole.redundancy.means.phi.all


def test_a_perfect_agent_leaves_nothing_to_gain() -> None:
    """The verdict says so."""
    table = pool(answers=False)
    correct = table.correct.copy()
    correct[:, 0] = 1
    made = diagnose(replace(table, correct=correct), QUICK)
    assert made.ceiling is not None
    assert made.ceiling.gain == 0
    assert (
        "Combining their answers can add at most 0.0 points (95 % interval 0.0 to 3.0) over agent 0" in made.verdict[0]
    )
    assert "Choosing among their answers cannot pay" in made.verdict[1]


def test_a_vote_that_helps_is_said_to() -> None:
    """Five equal agents that err independently: the vote is better, beyond doubt, and the verdict says by how much."""
    rng = np.random.default_rng(0)
    right = rng.random((800, 5)) < 0.7
    said = np.where(right, 0, rng.integers(1, 10, size=right.shape))
    table = Table(
        tuple(map(str, range(800))),
        tuple("abcde"),
        right.astype(float),
        answers=said,
        gold=np.zeros(800, dtype=np.int64),
    )
    made = diagnose(table, QUICK)
    assert made.votes is not None
    best = max(made.votes.curve, key=lambda point: point.right)
    assert made.verdict[1].startswith(f"Mixing pays here: a vote of the best {best.k} reaches {100 * best.right:.1f} %")
    assert best.p is not None
    assert best.p < 0.001


def test_a_vote_of_shares_is_tested_too() -> None:
    """Cells that are shares of samples: the p is that of swapping signs, and a vote that is sure to help is said to."""
    rng = np.random.default_rng(0)
    correct = (rng.random((300, 5, 4)) < rng.choice([0.1, 0.7, 0.8], (300, 1, 1))).mean(axis=2)
    table = Table(tuple(map(str, range(300))), tuple("abcde"), correct)
    made = diagnose(table, QUICK, only=["votes"])
    assert made.votes is not None
    few = made.votes.at(3)
    vote = majority_right(correct[:, np.argsort(-correct.mean(axis=0), kind="stable")[:3]])
    found = permutation_test(
        (vote, correct[:, correct.mean(axis=0).argmax()]),
        lambda one, two, axis: (one - two).mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=4_000,
        rng=1,
    )
    assert few.p == pytest.approx(found.pvalue, abs=0.01)
    assert made.verdict[0].startswith("Mixing pays here")
    assert made.votes.curve[0].p is None


def test_votes_on_first_answers_say_so() -> None:
    """Where the best agent's first answers are not right as often as its samples, the verdict says what is added to."""
    table = full(1)
    made = diagnose(table, QUICK, only=["ceiling", "votes"])
    assert made.votes is not None
    assert made.ceiling is not None
    assert made.votes.best_quality != pytest.approx(made.ceiling.best_quality, abs=0.0005)
    said = f"to the {100 * made.votes.best_quality:.1f} % that {made.votes.best} has by the answers that vote"
    assert said in made.verdict[0]
    plain = diagnose(pool(), QUICK, only=["ceiling", "votes"])
    assert "by the answers that vote" not in plain.verdict[0]


def test_a_cheaper_agent_is_not_called_equal() -> None:
    """What few items cannot tell apart is said to be that, with the difference and its interval."""
    table = pool(20, 2, answers=False)
    cost = np.tile([1.0, 0.1], (20, 1))
    correct = np.zeros((20, 2))
    correct[:9, 0], correct[6:12, 1] = 1, 1
    made = diagnose(replace(table, correct=correct, cost=cost), QUICK, only=["cost"])
    assert made.verdict[0].startswith(
        "agent 1, at 0.1 instead of 1 USD an item, is not shown to be worse than agent 0: −15.0 points [−"
    )


def test_nobody_right() -> None:
    """Nobody is said to have nearly everything right where nobody has anything right."""
    made = diagnose(Table(("1", "2"), ("a", "b"), np.zeros((2, 2))), QUICK, only=["votes"])
    assert made.verdict == ("Nobody has anything right: there is nothing to mix.",)


def test_a_chart_of_many_agents_is_thinned() -> None:
    """The heat map draws at most 300 agents a side, and says so."""
    rng = np.random.default_rng(0)
    table = Table(tuple(map(str, range(20))), tuple(f"a{j}" for j in range(310)), rng.integers(0, 2, (20, 310)) * 1.0)
    made = diagnose(table, QUICK, only=["redundancy"])
    chart = next(block for block in made.sections()[-1].blocks if isinstance(block, Chart))
    assert len(chart.rows) == 155**2
    assert "One agent in 2 is drawn" in chart.about


def test_a_budget_bounds_committees() -> None:
    """No committee costs more; without costs, a budget makes no sense."""
    table = full()
    made = diagnose(table, Options(splits=2, budget=0.8), only=["committees"])
    assert made.committees is not None
    assert all(
        each.cost is not None and each.cost <= 0.8 + 1e-9 for size in made.committees.sizes for each in size.best
    )
    with pytest.raises(UsageError, match="pays for no committee: the two cheapest agents cost"):
        diagnose(table, Options(budget=0.01), only=["committees"])
    with pytest.raises(UsageError, match="--cost"):
        diagnose(pool(), Options(budget=1.0), only=["committees"])


@settings(max_examples=15)
@given(st.integers(2, 12), st.integers(2, 5), st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
def test_small_and_odd_tables(n: int, m: int, seed: int, share: float) -> None:
    """Few items, all right, all wrong, constant agents: every section is made, and no figure is infinite."""
    rng = np.random.default_rng(seed)
    right = rng.random((n, m)) < share
    said = np.where(right, 0, rng.integers(-1, 3, size=right.shape))
    said = np.where(~right & (said == 0), 1, said)
    table = Table(
        tuple(f"q{i}" for i in range(n)),
        tuple(f"a{j}" for j in range(m)),
        right.astype(float),
        answers=said,
        gold=np.zeros(n, dtype=np.int64),
        cost=rng.random((n, m)),
    )
    made = diagnose(table, Options(splits=1, resamples=20))
    assert made.verdict
    assert b"Infinity" not in msgspec.json.encode(made)
    for section in made.sections():
        for block in section.blocks:
            if isinstance(block, Rows):
                assert all(len(row) == len(block.columns) for row in block.rows)
            if isinstance(block, Chart):
                assert all(len(row) == len(block.columns) for row in block.rows)
                assert not any(isinstance(cell, float) and math.isinf(cell) for row in block.rows for cell in row)
