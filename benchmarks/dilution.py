"""Where mixing stops paying: a mixture of unlike members against as many draws of the best one, on known truth.

    python benchmarks/dilution.py --out benchmarks/results/dilution.json
    python benchmarks/dilution.py --figure docs/explanation/dilution.svg     # of the figures in --out; takes matplotlib

Six proposals and an aggregator, which is the best member itself: two draws each of the best and of two others (a
Mixture-of-Agents of one layer), or six of the best (Self-MoA; Li, Lin, Xia and Jin, arXiv 2502.00674). The best is
right on 70 % of the questions, and most of what makes it err is the same in all its draws; the others err
independently of it and are as good as the curve's x-axis says. The aggregator recognises a right answer among the
proposals as often as its `discrimination` says, else it mostly follows their majority. The curves cross where the
quality that is lost by mixing is worth the independence that is won: the better the aggregator discriminates, the
poorer the added members may be.

`expected` is the same model of errors computed with numpy, without motet.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist

import msgspec
import numpy as np
import numpy.typing as npt
import report

from motet import MixtureOfAgents, ModelAgent, SelfMoA, Synthesize, perform
from motet.backends.simulated import Simulated, World
from motet.run import Agent

BEST = 0.7
WITHIN = 0.6
CONFORMITY = 0.9
WRONG = 3
QUALITIES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
DISCRIMINATIONS = (0.0, 0.5, 1.0)


class Curve(msgspec.Struct):
    """What is drawn of one discrimination."""

    discrimination: float
    quality: list[float]
    self_moa: float
    moa: list[float]
    gain_standard_error: list[float]
    crossing: float | None
    expected_self_moa: float
    expected_moa: list[float]


def member(world: World, name: str, accuracy: float, discrimination: float = 0.0) -> ModelAgent:
    """A member that errs on its own, and listens as the aggregator does."""
    backend = Simulated(
        name, world, accuracy, within=WITHIN, discrimination=discrimination, conformity=CONFORMITY, tokens=8
    )
    return ModelAgent(backend, name)


def mixed(world: World, quality: float, discrimination: float) -> MixtureOfAgents:
    """Two draws each of the best and of two others of this quality, aggregated by the best."""
    best = member(world, "best", BEST, discrimination)
    others = [member(world, name, quality) for name in ("one", "two")]
    return MixtureOfAgents([who for who in (best, *others) for _ in range(2)], Synthesize(best), layers=1)


def alone(world: World, discrimination: float) -> SelfMoA:
    """Six draws of the best, aggregated by itself."""
    return SelfMoA(member(world, "best", BEST, discrimination), draws=6)


async def right(agent: Agent, world: World, n: int) -> npt.NDArray[np.bool_]:
    """Whether it is right on each of the world's first n questions."""
    asked = world.questions(n)
    return np.array([each.answer_in((await perform(agent, each.text)).text) == each.gold for each in asked])


def expected(qualities: Sequence[float], discrimination: float, n: int = 400_000, seed: int = 0) -> float:
    """The share of right answers made of two draws each of such members, the first of whom is the aggregator."""
    rng = np.random.default_rng(seed)
    normal = NormalDist().inv_cdf
    edges = [normal(place / WRONG) for place in range(1, WRONG)]

    def draws(accuracy: float, count: int) -> list[npt.NDArray[np.intp]]:
        """Answers of one member, 0 for the right one: parts of the error and of the wrong pick are kept."""
        kept = rng.standard_normal((2, n))
        said = []
        for _ in range(count):
            error, pick = np.sqrt(WITHIN) * kept + np.sqrt(1 - WITHIN) * rng.standard_normal((2, n))
            said.append(np.where(error < normal(accuracy), 0, 1 + np.searchsorted(edges, pick)))
        return said

    own, *said = draws(qualities[0], 1 + 6 // len(qualities))
    said += [answer for quality in qualities[1:] for answer in draws(quality, 6 // len(qualities))]
    votes = np.array([sum(answer == each for answer in said) for each in range(WRONG + 1)])
    majority = (votes + rng.random(votes.shape) / 2).argmax(axis=0)
    recognised = (votes[0] > 0) & (rng.random(n) < discrimination)
    follows = rng.random(n) < CONFORMITY
    return float(np.where(recognised, True, np.where(follows, majority, own) == 0).mean())


def crossing(qualities: Sequence[float], gains: Sequence[float]) -> float | None:
    """The quality at which the gain of mixing is 0, between the last point where it is below and the next."""
    below = [place for place, gain in enumerate(gains) if gain < 0]
    if not below or below[-1] + 1 == len(gains):
        return None
    low, high = below[-1], below[-1] + 1
    return round(float(np.interp(0, [gains[low], gains[high]], [qualities[low], qualities[high]])), 4)


def curve(world: World, discrimination: float, n: int) -> dict[str, object]:
    """Both kinds of mixture over the qualities of the added members, measured and expected."""
    baseline = asyncio.run(right(alone(world, discrimination), world, n))
    found = [asyncio.run(right(mixed(world, quality, discrimination), world, n)) for quality in QUALITIES]
    gains = [each.astype(float) - baseline for each in found]
    expected_alone = expected([BEST], discrimination)
    expected_mixed = [expected([BEST, quality, quality], discrimination) for quality in QUALITIES]
    return {
        "discrimination": discrimination,
        "quality": list(QUALITIES),
        "self_moa": round(float(baseline.mean()), 4),
        "moa": [round(float(each.mean()), 4) for each in found],
        "gain_standard_error": [round(float(gain.std(ddof=1) / np.sqrt(n)), 4) for gain in gains],
        "crossing": crossing(QUALITIES, [float(gain.mean()) for gain in gains]),
        "expected_self_moa": round(expected_alone, 4),
        "expected_moa": [round(each, 4) for each in expected_mixed],
        "expected_crossing": crossing(QUALITIES, [each - expected_alone for each in expected_mixed]),
    }


def draw(report: dict[str, object], path: Path) -> None:
    """The gain of mixing over the quality of the added members, a curve for each discrimination."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "motet", "font.family": "sans-serif"}
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.2))
    for each, colour in zip(
        msgspec.convert(report["curves"], list[Curve]), ("#c2410c", "#6d28d9", "#047857"), strict=True
    ):
        x = [100 * quality for quality in each.quality]
        gains = [100 * (moa - each.self_moa) for moa in each.moa]
        bars = [196 * error for error in each.gain_standard_error]
        axes.errorbar(
            x,
            gains,
            bars,
            color=colour,
            marker="o",
            capsize=3,
            label=f"aggregator recognises {each.discrimination:.0%}",
        )
        axes.plot(x, [100 * (moa - each.expected_self_moa) for moa in each.expected_moa], color=colour, linestyle=":")
        if each.crossing is not None:
            axes.annotate(
                f"{100 * each.crossing:.0f} %",
                (100 * each.crossing, 0),
                (0, 8 if each.discrimination else -16),
                textcoords="offset points",
                ha="center",
                color=colour,
            )
    axes.axhline(0, color="#888", linewidth=1)
    axes.set_xlabel("added members are right on … % (the best: 70 %)")
    axes.set_ylabel("mixture less six draws of the best, points")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, bbox_inches="tight", facecolor="white", metadata={"Date": None})


def main() -> None:
    """Measure and write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=700, help="questions a point")
    parser.add_argument("--seed", type=int, default=5, help="of the world")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--figure", type=Path, default=None, help="only draw, from the figures that are there")
    options = parser.parse_args()
    if options.figure:
        there = options.out or Path(__file__).parent / "results" / "dilution.json"
        draw(json.loads(there.read_text()), options.figure)
        return
    began = time.perf_counter()
    world = World(seed=options.seed, wrong=WRONG)
    figures = {
        "benchmark": "MoA over the best and two others against Self-MoA of the best, by the quality of the others",
        "n": options.n,
        "seed": options.seed,
        "best": BEST,
        "within": WITHIN,
        "conformity": CONFORMITY,
        "curves": [curve(world, discrimination, options.n) for discrimination in DISCRIMINATIONS],
    }
    report.write(figures, options.out, began)


if __name__ == "__main__":
    main()
