"""Votes: what the best k agents reach together, what luck with the choice does to that, and whom the vote harms."""

from __future__ import annotations

from typing import Final, Literal

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.diagnosis.text import chance, percent, points
from motet.measure.condorcet import condorcet
from motet.measure.dawid_skene import one_coin
from motet.measure.interval import Interval
from motet.measure.majority import majority_right
from motet.measure.mcnemar import exact_sign
from motet.measure.permutation import sign_flip
from motet.measure.vote_curve import vote_curve
from motet.measure.weighted import cross_fitted
from motet.measure.wilson import wilson
from motet.page.page import Block, Cell, Chart, Rows, Rule, Words

SHOWN: Final = (1, 2, 3, 5, 7, 9, 15, 25, 50, 100)
"""Numbers of voters in the table that people read, and that of all; the chart has every one."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A vote of the k best, against the best alone.

    `interval` is Wilson's, null where a majority is of shares of samples. `rescued` and `harmed` count the items that
    the vote won and lost; `p` is McNemar's exact one, or where a majority is of shares of samples, that of swapping
    signs item by item; null where neither was computed. `random` and its interval, the middle of random committees, are
    of k agents drawn at random; `oracle` is any of the k best. `condorcet` is what independent errors would give a
    majority, `correlated` what errors as correlated as these would.
    """

    k: int
    right: float
    interval: Interval | None
    difference: float
    rescued: float
    harmed: float
    p: float | None
    random: float
    random_interval: Interval
    oracle: float
    condorcet: float
    correlated: float


class Votes(msgspec.Struct, frozen=True, kw_only=True):
    """What voting gives.

    `rule` is `plurality` where answers are recorded, ties going to the best agent among the tied; else `majority`:
    right where more than half are right, which is what a vote is if all wrong answers agree. Of several samples, the
    first votes, so `best_quality` is that of first answers. `weighted` is a vote of
    all agents with weights that were learned on other items, `one_coin` that of Dawid and Skene's EM, which sees no
    right answer; null without answers.
    """

    rule: Literal["plurality", "majority"]
    best: str
    best_quality: float
    oracle: float
    curve: tuple[Point, ...]
    weighted: float | None
    one_coin: float | None

    def at(self, k: int) -> Point:
        """The vote of the k best, or of all if there are fewer."""
        return next((point for point in self.curve if point.k >= k), self.curve[-1])


def examine(case: Case) -> Votes:
    """Compute it."""
    correct, votes, options, n = case.correct, case.votes, case.options, len(case.table.items)
    answers, gold = votes if votes is not None else (None, None)
    curve = vote_curve(correct, answers, gold, seed=options.seed, level=options.level)
    jury = condorcet(correct)
    oracle = 1 - np.cumprod(1 - correct, axis=1).mean(axis=0)
    whole = votes is not None or bool(np.isin(correct, (0, 1)).all())
    best = float(curve.best[0])
    return Votes(
        rule="majority" if votes is None else "plurality",
        best=case.names[0],
        best_quality=best,
        oracle=float(oracle[-1]),
        curve=tuple(
            Point(
                k=k + 1,
                right=float(curve.best[k]),
                interval=wilson(float(curve.best[k]) * n, n, options.level) if whole else None,
                difference=float(curve.best[k]) - best,
                rescued=float(curve.rescued[k]),
                harmed=float(curve.harmed[k]),
                p=_p(case, k + 1, float(curve.rescued[k]), float(curve.harmed[k]), whole=whole),
                random=float(curve.random[k]),
                random_interval=Interval(float(curve.random_low[k]), float(curve.random_high[k])),
                oracle=float(oracle[k]),
                condorcet=float(jury.unlike[k]),
                correlated=float(jury.correlated[k]),
            )
            for k in range(len(case.names))
        ),
        weighted=None
        if votes is None
        else float(cross_fitted(*votes, folds=min(5, n), seed=options.seed).right.mean()),
        one_coin=None if votes is None else float((one_coin(votes[0]).winner == votes[1]).mean()),
    )


def _p(case: Case, k: int, rescued: float, harmed: float, *, whole: bool) -> float | None:
    """McNemar's where votes are right or wrong; where they are half or in part, by swapping signs.

    The latter only for the numbers of voters that people are shown: majorities of shares take long.
    """
    if whole and rescued == round(rescued) and harmed == round(harmed):
        return exact_sign(int(rescued), int(harmed))
    if k == 1 or k not in (*SHOWN, len(case.names)):
        return None
    vote = majority_right(case.correct[:, :k])
    return sign_flip(vote, case.correct[:, 0], seed=case.options.seed).p


def blocks(found: Votes) -> list[Block]:
    """Show it."""
    last = found.curve[-1].k
    shown = [found.at(k) for k in dict.fromkeys((*(k for k in SHOWN if k < last), last))]
    rows = [
        (
            str(point.k),
            percent(point.right),
            points(point.difference) if point.k > 1 else "",
            _count(point),
            chance(point.p).removeprefix("p ").removeprefix("= ") if point.k > 1 and point.p is not None else "",
            percent(point.random),
            percent(point.oracle),
        )
        for point in shown
    ]
    rule = (
        "Plurality of the answers; ties go to the best agent among the tied, and who gave no answer does not vote."
        if found.rule == "plurality"
        else "No answers are recorded: a vote is counted right where more than half are right, ties as half. Where "
        "wrong answers differ, a real vote does better."
    )
    lines: list[Block] = [
        Rows(("best k", "vote", "to best", "won/lost", "p", "random k", "any right"), rows),
        Words(rule, "note"),
    ]
    if found.weighted is not None and found.one_coin is not None:
        lines.append(
            Words(
                f"All {last} with weights learned on other items (log-odds): {percent(found.weighted)}; with weights "
                f"from agreement alone (Dawid-Skene, one coin): {percent(found.one_coin)}."
            )
        )
    series: list[tuple[Cell, ...]] = [(point.k, point.right, None, None, "best k") for point in found.curve]
    series += [(point.k, point.random, *point.random_interval, "random k") for point in found.curve]
    series += [(point.k, point.correlated, None, None, "Condorcet, correlated") for point in found.curve]
    series += [(point.k, point.oracle, None, None, "any of the best k") for point in found.curve]
    lines.append(
        Chart(
            name="votes",
            title="What a vote gives, by the number of voters",
            about="Best agents first. The band holds 95 % of random committees. Condorcet's line is what a majority "
            "would give with these qualities and this correlation; no vote can cross the ceiling.",
            kind="lines",
            columns=("x", "y", "low", "high", "series"),
            rows=series,
            x="voters",
            y="right",
            rules=(
                Rule(found.oracle, f"ceiling {percent(found.oracle)}"),
                Rule(found.best_quality, f"best single {percent(found.best_quality)}"),
            ),
            percent=("y",),
        )
    )
    return lines


def _count(point: Point) -> str:
    return f"{point.rescued:g}/{point.harmed:g}" if point.k > 1 else ""
