"""Methods that need no more than members' answers, on recorded results: what they are fitted with, that no grade
reaches them, and that the figures on record are those in the docs.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmark import benchmark
from recorded import FOLDER, recorded

from motet.measure.arrays import UNKNOWN
from motet.measure.plurality import plurality_right
from motet.tables.table import Table

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def bench() -> dict[str, Any]:
    """What the benchmark measures with, so that the figures on record are of what is checked here."""
    return benchmark("recorded")


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """The figures on record."""
    found: dict[str, Any] = json.loads((ROOT / "benchmarks" / "results" / "recorded.json").read_text())
    return found


def made(n: int = 80) -> Table:
    """Eight agents, each of whom is good at one of two topics, that pick one of four answers; the seed is fixed."""
    rng = np.random.default_rng(1)
    topics = tuple(("law", "sums")[row % 2] for row in range(n))
    quality = np.array([[0.9, 0.4] if place % 2 else [0.4, 0.8] for place in range(8)]).T
    gold = rng.integers(0, 4, n)
    knows = rng.random((n, 8)) < quality[[row % 2 for row in range(n)]]
    answers = np.where(knows, gold[:, None], rng.integers(0, 4, (n, 8)))
    items, agents = tuple(f"q{row}" for row in range(n)), tuple(f"agent {place}" for place in range(8))
    correct = (answers == gold[:, None]).astype(float)
    return Table(items, agents, correct, answers, gold, tuple("abcd"), topics=topics)


def unanswered(table: Table) -> Table:
    """The same where only right or wrong is recorded."""
    return replace(table, answers=None, gold=None, answer_texts=())


@pytest.mark.parametrize("answered", [True, False])
def test_no_grade_reaches_a_method(bench: dict[str, Any], answered: bool) -> None:
    """With the grades of the half that is asked turned round, everybody says the same, and is graded the other way."""
    table = made() if answered else unanswered(made())
    _, test = bench["halves"](80, 3, 20)
    correct = table.correct.copy()
    correct[test] = 1 - correct[test]
    gold = None if table.gold is None else np.where(np.isin(np.arange(80), test), UNKNOWN, table.gold)
    one, other = (
        bench["split"](bench["recording"](each, {}), 3, 20)
        for each in (table, replace(table, correct=correct, gold=gold))
    )
    methods = [name for name, done in one.items() if done.texts]
    assert len(methods) == (19 if answered else 7)
    for name in methods:
        assert one[name].texts == other[name].texts
        assert (one[name].right + other[name].right).tolist() == [1.0] * 20


def test_who_is_chosen_is_whoever_knows_the_topic(bench: dict[str, Any]) -> None:
    """Where each agent is good at one topic, choosing by topic beats the best single by 10 points and more, before
    anybody is asked at the price of one call, after all were at the price of all.
    """
    done = bench["split"](bench["recording"](unanswered(made(400)), {}), 0, 150)
    best = done["best single"].right.mean()
    for name, calls in (("route-moa, 1", 1), ("symbolic-moe, top 1", 1), ("roundtable's best of 7", 7)):
        assert done[name].right.mean() > best + 0.1
        assert done[name].calls.mean() == calls
    assert done["committee of 7"].right.mean() > best + 0.1


def test_the_fits_are_those_of_scikit_learn(bench: dict[str, Any]) -> None:
    """The ridge, its penalty by leave-one-out included, and the logistic regression."""
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 8))
    y = x @ rng.standard_normal((8, 3)) + 3 * rng.standard_normal((60, 3))
    train = np.arange(0, 60, 2)
    known = linear.RidgeCV(bench["PENALTIES"]).fit(x[train], y[train])
    assert bench["ridge"](x, y, train) == pytest.approx(known.predict(x), abs=1e-8)
    right = (y[:, 0] > 0).astype(float)
    weights = linear.LogisticRegression(C=1, fit_intercept=False, tol=1e-10).fit(x, right).coef_[0]
    assert bench["logistic"](x, right) == pytest.approx(weights, abs=1e-4)


def test_intervals_allow_for_what_splits_share(bench: dict[str, Any]) -> None:
    """The variance of the mean is multiplied by 1/splits + asked/learned, and t has one degree of freedom less."""
    gains = np.array([0.01, 0.03] * 10)
    half = 2.093 * gains.std(ddof=1) * np.sqrt(1 / 20 + 1)
    assert bench["difference"](gains, 1.0) == pytest.approx([2, 2 - 100 * half, 2 + 100 * half], abs=0.01)


@pytest.mark.parametrize("name", ["zeroeval_math_l5", pytest.param("mmlu_pro", marks=pytest.mark.long)])
def test_the_compositions_do_as_arrays_do(bench: dict[str, Any], name: str) -> None:
    """On 40 recorded items of one split, the best single agent, and the votes of the three and the seven best of the
    graded half, are right where numpy has them right.
    """
    recorded(name)  # skips
    of = bench["load"](FOLDER / name)
    train, test = bench["halves"](len(of.table.items), 7, 40)
    done = bench["split"](of, 7, 40)
    order = np.argsort(-of.table.correct[train].mean(axis=0), kind="stable")
    assert done["best single"].right.tolist() == of.table.correct[test, order[0]].tolist()
    for size in (3, 7):
        voted = plurality_right(of.table.answers[np.ix_(test, order[:size])], of.table.gold[test])
        assert done[f"vote of {size}"].right.tolist() == voted.tolist()
    assert done["adaptive vote of 7"].calls.mean() < done["vote of 7"].calls.mean()
    assert done["oracle"].right.mean() >= max(each.right.mean() for each in done.values())


def test_the_docs_have_the_figures_on_record(bench: dict[str, Any], report: dict[str, Any]) -> None:
    """Every table of the page is the one made of the JSON, and so is its command."""
    page = (ROOT / "docs" / "explanation" / "recorded-methods.md").read_text()
    assert list(report["sets"]) == list(bench["CLASSES"])
    assert all(bench["markdown"](found) in page for found in report["sets"].values())
    assert report["command"] in page


def test_the_record_says_what_the_docs_say(report: dict[str, Any]) -> None:
    """20 splits: the vote of three is better than the best single and nobody is better than it, the adaptive vote is
    within half a point of the full one at fewer calls, the vote of everybody is worse than the best single; on
    mmlu_pro the vote of three is where all items have it (71.7).
    """
    assert (report["splits"], report["seed"]) == (20, 0)
    for name in ("mmlu_pro", "zeroeval_math_l5"):
        found = {line["method"]: line for line in report["sets"][name]["methods"]}
        everybody = report["sets"][name]["agents"]
        assert found["vote of 3"]["to_best"][1] > 0
        better = [name for name, line in found.items() if line["to_vote"] and line["to_vote"][1] > 0]
        assert better == ["oracle"]
        assert found["adaptive vote of 7"]["accuracy"] == pytest.approx(found["vote of 7"]["accuracy"], abs=0.5)
        assert found["adaptive vote of 7"]["calls"] < 6 < found["vote of 7"]["calls"]
        assert found[f"vote of {everybody}"]["to_best"][2] < 0
        assert found["oracle"]["accuracy"] == max(line["accuracy"] for line in found.values())
    for name in ("bfcl_2024_08", "swebench_lite"):
        lines = report["sets"][name]["methods"]
        assert [line["method"] for line in lines if line["to_best"] and line["to_best"][1] > 0] == ["oracle"]
    mmlu = {line["method"]: line for line in report["sets"]["mmlu_pro"]["methods"]}
    assert mmlu["vote of 3"]["accuracy"] == pytest.approx(71.7, abs=1)


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["swebench_lite", "bfcl_2024_08", "zeroeval_math_l5"])
def test_other_splits_give_the_same(bench: dict[str, Any], report: dict[str, Any], name: str) -> None:
    """Three splits of other seeds: every method's mean is within three of its standard deviations over splits, and
    takes as many calls within a fifth: how long a shortlist is depends on what was learned.
    """
    recorded(name)  # skips
    found = bench["measured"](bench["load"](FOLDER / name), splits=3, cap=1000, seed=100)
    for new, old in zip(found["methods"], report["sets"][name]["methods"], strict=True):
        assert new["method"] == old["method"]
        assert new["accuracy"] == pytest.approx(old["accuracy"], abs=3 * old["sd"])
        assert new["calls"] == pytest.approx(old["calls"], rel=0.2)
