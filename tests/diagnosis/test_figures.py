"""Every figure of a diagnosis against the same one counted by plain loops, on a table with everything in it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from motet.diagnosis.diagnose import Diagnosis, diagnose
from motet.diagnosis.options import Options
from motet.diagnosis.verdict import verdict
from motet.tables.table import Draws, Table

N, M, S = 60, 5, 4


@cache
def table() -> Table:
    """Binary cells with answers, costs and confidences; the best agents first."""
    rng = np.random.default_rng(5)
    right = rng.normal(size=(N, 1)) + rng.normal(size=(N, M)) + np.linspace(1.2, -0.4, M) > 0
    said = np.where(right, 0, rng.integers(1, 4, size=(N, M)))
    said[3, 1] = -1 if not right[3, 1] else 0
    return Table(
        tuple(f"q{i}" for i in range(N)), tuple("abcde"), right.astype(float), answers=said,
        gold=np.zeros(N, dtype=np.int64), answer_texts=tuple("ABCD"), families=tuple("xxyyz"),
        cost=rng.random((N, M)) * np.linspace(2, 0.1, M), confidence=rng.random((N, M)),
    ).best_first()  # fmt: skip


@cache
def made() -> Diagnosis:
    """Its diagnosis."""
    return diagnose(table(), Options(splits=3, resamples=400))


def cells() -> list[list[int]]:
    """Right and wrong as whole numbers."""
    return table().correct.astype(int).tolist()


def test_agents() -> None:
    """Shares right, those right alone, Shapley's in the oracle, mean costs, and how often each is first."""
    found = made().agents
    assert found is not None
    rows = cells()
    rng = np.random.default_rng(9)
    firsts = Counter(int(np.argmax(table().correct[rng.integers(N, size=N)].mean(axis=0))) for _ in range(4000))
    for j, agent in enumerate(found.agents):
        assert agent.right == pytest.approx(sum(row[j] for row in rows) / N)
        assert agent.alone == pytest.approx(sum(row[j] == sum(row) == 1 for row in rows) / N)
        assert agent.shapley == pytest.approx(sum(row[j] / max(1, sum(row)) for row in rows) / N)
        assert agent.first == pytest.approx(firsts[j] / 4000, abs=0.1)
        assert table().cost is not None
        assert agent.cost == pytest.approx(table().cost[:, j].mean())  # type: ignore[index]
    assert sum(agent.first for agent in found.agents) == pytest.approx(1)


def test_ceiling() -> None:
    """Best, oracle, all wrong and the gain, and that independence predicts the product of the errors."""
    found, rows = made().ceiling, cells()
    assert found is not None
    nobody = sum(not any(row) for row in rows)
    best = max(sum(column) for column in zip(*rows, strict=True))
    assert (found.all_wrong, found.beta) == (nobody, pytest.approx(nobody / N))
    assert found.oracle == found.ever_oracle == pytest.approx(1 - nobody / N)
    assert found.gain == pytest.approx((N - nobody - best) / N)
    assert found.independent_beta == pytest.approx(math.prod(1 - sum(column) / N for column in zip(*rows, strict=True)))
    assert found.unsolved == tuple(item for item, row in zip(table().items, rows, strict=True) if not any(row))


def plurality(answers: list[int]) -> int:
    """The most frequent answer, that of the best agent among the tied; -1 if nobody answered."""
    counts = Counter(answer for answer in answers if answer >= 0)
    return max(counts, key=lambda answer: (counts[answer], -answers.index(answer))) if counts else -1


def test_votes() -> None:
    """Every vote, what it won and lost against the best agent, and any-right of the k best."""
    found, rows = made().votes, cells()
    assert found is not None
    assert table().answers is not None
    said = table().answers.tolist()  # type: ignore[union-attr]
    alone = [row[0] for row in rows]
    for point in found.curve:
        vote = [plurality(line[: point.k]) == 0 for line in said]
        assert point.right == pytest.approx(sum(vote) / N)
        assert point.rescued == sum(v and not a for v, a in zip(vote, alone, strict=True))
        assert point.harmed == sum(a and not v for v, a in zip(vote, alone, strict=True))
        assert point.oracle == pytest.approx(sum(any(row[: point.k]) for row in rows) / N)
        apart = int(point.rescued + point.harmed)
        least = int(min(point.rescued, point.harmed))
        exact = min(1.0, 2 * sum(math.comb(apart, i) for i in range(least + 1)) / 2**apart)
        assert point.p == pytest.approx(exact)


def test_committees() -> None:
    """The best committees by any-right and by vote among all there are; the cheapest as good as the best agent."""
    found, rows = made().committees, cells()
    assert found is not None
    said = table().answers.tolist()  # type: ignore[union-attr]
    names = table().agents
    mean = table().cost.mean(axis=0)  # type: ignore[union-attr]
    for size in found.sizes:
        scored = {}
        for members in itertools.combinations(range(M), size.size):
            if size.objective == "any_right":
                right = sum(any(row[j] for j in members) for row in rows)
            else:
                right = sum(plurality([line[j] for j in members]) == 0 for line in said)
            scored[members] = right / N
        assert size.exact
        assert size.best[0].right == pytest.approx(max(scored.values()))
        for each in size.best:
            members = tuple(sorted(names.index(name) for name in each.members))
            assert each.right == pytest.approx(scored[members])
            assert each.cost == pytest.approx(sum(mean[j] for j in members))
    single = max(sum(column) for column in zip(*rows, strict=True)) / N
    good = [
        sum(mean[j] for j in members)
        for size in (1, 2, 3)
        for members in itertools.combinations(range(M), size)
        if sum(any(row[j] for j in members) for row in rows) / N >= single
    ]
    assert found.cheapest is not None
    assert found.cheapest.cost == pytest.approx(min(good), rel=0.02)


def test_redundancy() -> None:
    """Mean phi over pairs, over the best, within and between families, and with others of each family."""
    found = made().redundancy
    assert found is not None
    rho = np.corrcoef(table().correct.T)
    pairs = list(itertools.combinations(range(M), 2))
    families = table().families
    assert families is not None
    assert found.means.phi.all == pytest.approx(np.mean([rho[i, j] for i, j in pairs]))
    inside = [rho[i, j] for i, j in pairs if families[i] == families[j]]
    outside = [rho[i, j] for i, j in pairs if families[i] != families[j]]
    assert (found.within, found.between) == (pytest.approx(np.mean(inside)), pytest.approx(np.mean(outside)))
    for family in found.families:
        own = [j for j in range(M) if families[j] == family.name]
        rest = [rho[i, j] for i in own for j in range(M) if families[j] != family.name]
        assert family.others == pytest.approx(np.mean(rest))
        assert family.agents == len(own)
    for agent in found.agents:
        j = table().agents.index(agent.name)
        others = {table().agents[i]: rho[i, j] for i in range(M) if i != j}
        assert others[agent.nearest] == max(others.values()) == pytest.approx(agent.phi)
        assert agent.mean_phi == pytest.approx(np.mean(list(others.values())))


def test_cost() -> None:
    """Frontier, perfect router, cascades of two, and the cheapest agent that is not worse beyond doubt."""
    assert made().cost is not None
    found = made().cost.measures[0]  # type: ignore[union-attr]
    correct, cost = table().correct, table().cost
    assert cost is not None
    right, mean = correct.mean(axis=0), cost.mean(axis=0)
    for j, agent in enumerate(found.agents):
        beaten = any(
            right[i] >= right[j] and mean[i] <= mean[j] and (right[i], mean[i]) != (right[j], mean[j]) for i in range(M)
        )
        assert agent.frontier is not beaten
    cheapest = int(mean.argmin())
    paid = [min((cost[i, j] for j in range(M) if correct[i, j]), default=cost[i, cheapest]) for i in range(N)]
    assert found.perfect_cost == pytest.approx(np.mean(paid))
    assert found.perfect_quality == pytest.approx(correct.max(axis=1).mean())
    names = list(table().agents)
    for each in found.cascades:
        first, second = (names.index(name) for name in each.agents)
        spent = [cost[i, first] + (0 if correct[i, first] else cost[i, second]) for i in range(N)]
        assert each.cost == pytest.approx(np.mean(spent))
        assert each.right == pytest.approx(np.maximum(correct[:, first], correct[:, second]).mean())
        assert mean[first] < mean[second]
    best = int(right.argmax())
    if found.equal is not None:
        assert found.equal.interval.high >= 0
        cheaper = [j for j in range(M) if mean[j] < found.equal.cost]
        for j in cheaper:
            apart = correct[:, j] - correct[:, best]
            assert apart.mean() + 1.5 * apart.std() / math.sqrt(N) < 0


def test_samples() -> None:
    """pass@k and pass^k by counting all choices of k samples, and flips by all pairs."""
    rng = np.random.default_rng(2)
    correct = (rng.random((N, M, S)) < np.linspace(0.8, 0.3, M)[None, :, None]).astype(float)
    said = np.where(correct > 0, 0, rng.integers(1, 4, size=correct.shape))
    drawn = replace(
        table(),
        correct=correct.mean(axis=2),
        samples=np.full((N, M), S),
        draws=Draws(said, correct),
        answers=said[:, :, 0],
    )
    found = diagnose(drawn, Options(splits=1), only=["repeats", "ceiling", "difficulty"])
    assert found.repeats is not None
    for agent in found.repeats.agents:
        j = table().agents.index(agent.name)
        for k in range(1, S + 1):
            groups = list(itertools.combinations(range(S), k))
            chosen = [correct[:, j, list(group)] for group in groups]
            assert agent.at[k - 1] == pytest.approx(np.mean([each.max(axis=1).mean() for each in chosen]))
            assert agent.hat[k - 1] == pytest.approx(np.mean([each.min(axis=1).mean() for each in chosen]))
        flips = [said[i, j, a] != said[i, j, b] for i in range(N) for a, b in itertools.combinations(range(S), 2)]
        assert agent.flips == pytest.approx(np.mean(flips))
    assert found.ceiling is not None
    assert found.ceiling.ever_oracle == pytest.approx(correct.max(axis=(1, 2)).mean())
    assert found.ceiling.all_wrong == pytest.approx((1 - correct.mean(axis=2)).prod(axis=1).sum())


def test_confidence_and_difficulty() -> None:
    """The share right on the surer half, and how many items have how many solvers, hardest first."""
    found = made().confidence
    assert found is not None
    confidence = table().confidence
    assert confidence is not None
    for source in found.sources:
        j = table().agents.index(source.name)
        surest = np.argsort(-confidence[:, j], kind="stable")[: N // 2]
        assert source.half == pytest.approx(table().correct[surest, j].mean())
    hard = made().difficulty
    assert hard is not None
    solvers = [sum(row) for row in cells()]
    assert hard.counts == tuple(solvers.count(k) for k in range(M + 1))
    assert [item.solvers for item in hard.items] == sorted(solvers)
    assert [band.solved for band in hard.bands] == sorted(band.solved for band in hard.bands)
    for band, part in zip(hard.bands, np.array_split(np.argsort(solvers, kind="stable"), len(hard.bands)), strict=True):
        assert band.right == pytest.approx(tuple(table().correct[part].mean(axis=0)), abs=1e-6)


def test_verdict_corrects_for_the_choice_of_k() -> None:
    """A vote of five that is better at p = 0.03, one of many looked at, is not called better; one of three is."""
    votes = made().votes
    assert votes is not None
    import msgspec

    def point(k: int, difference: float, p: float) -> object:
        return msgspec.structs.replace(
            votes.curve[k - 1], difference=difference, p=p, right=votes.best_quality + difference
        )

    def said(changed: dict[int, tuple[float, float]]) -> str:
        curve = tuple(
            point(k, *changed.get(k, (-0.01, 1.0))) if k > 1 else votes.curve[0] for k in range(1, len(votes.curve) + 1)
        )
        with_votes = msgspec.structs.replace(made(), votes=msgspec.structs.replace(votes, curve=curve))
        return verdict(with_votes)[1]

    assert said({3: (0.05, 0.03)}).startswith("Mixing pays here: a vote of the best 3")
    assert said({5: (0.05, 0.03)}).startswith("No vote")
    assert said({5: (0.05, 0.001)}).startswith("Mixing pays here: a vote of the best 5")
