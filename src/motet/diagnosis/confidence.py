"""Confidence: whether an agent's stated confidence, or the share of a vote, tells right answers from wrong ones."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.diagnosis.text import figure, percent
from motet.measure.arrays import NONE, Floats, Ints
from motet.measure.calibration import auc, brier, ece, reliability_curve
from motet.measure.interval import Interval
from motet.measure.plurality import plurality
from motet.measure.selective import accuracy_at
from motet.page.page import Block, Chart, Rows, Words

VOTERS = 5
"""How many of the best agents vote where the share of the vote stands for confidence, and how many are shown."""


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Items of like confidence, and the share of them that is right."""

    confidence: float
    right: float
    interval: Interval
    items: int


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One source of confidence. `half` is the share right on the surer half of the items."""

    name: str
    items: int
    right: float
    auc: float
    ece: float
    brier: float
    half: float
    curve: tuple[Bin, ...]


class Confidence(msgspec.Struct, frozen=True, kw_only=True):
    """How far confidence can be believed: the agents' own where it is recorded, else the share of the vote."""

    kind: Literal["stated", "votes"]
    sources: tuple[Source, ...]


def examine(case: Case) -> Confidence | None:
    """Compute it."""
    found = []
    if case.table.confidence is not None:
        for j, name in enumerate(case.names):
            known = np.isfinite(case.table.confidence[:, j])
            if known.sum() > 1:
                found.append(_source(name, case.table.confidence[known, j], case.correct[known, j]))
        if found:
            return Confidence(kind="stated", sources=tuple(found))
    if case.votes is None:
        return None
    answers, gold = case.votes
    sizes = dict.fromkeys((min(VOTERS, len(case.names)), len(case.names)))
    for k in sizes:
        share, right = _vote(answers[:, :k], gold)
        found.append(_source(f"share of the vote, {'all' if k == len(case.names) else f'best {k}'}", share, right))
    return Confidence(kind="votes", sources=tuple(found))


def _vote(answers: Ints, gold: Ints) -> tuple[Floats, Floats]:
    """The share of the voters that the winner has, and whether it is right; nobody's vote counts 0."""
    winner = plurality(answers)
    share = ((answers == winner[:, None]) & (answers != NONE)).mean(axis=1)
    return share, (winner == gold).astype(float)


def _source(name: str, confidence: Floats, right: Floats) -> Source:
    curve = reliability_curve(confidence, right)
    whole = np.isin(right, (0, 1)).all()
    return Source(
        name=name,
        items=len(right),
        right=float(right.mean()),
        auc=auc(confidence, right) if whole else float("nan"),
        ece=ece(confidence, right),
        brier=brier(confidence, right).score,
        half=accuracy_at(confidence, right, 0.5),
        curve=tuple(
            Bin(confidence=float(c), right=float(a), interval=Interval(float(low), float(high)), items=int(count))
            for c, a, low, high, count in zip(
                curve.confidence, curve.accuracy, curve.low, curve.high, curve.count, strict=True
            )
        ),
    )


def blocks(found: Confidence) -> list[Block]:
    """Show it."""
    rows = [
        (each.name, percent(each.right), figure(each.auc), percent(each.ece), percent(each.half))
        for each in found.sources[:VOTERS]
    ]
    about = (
        "Confidence as the agents stated it."
        if found.kind == "stated"
        else "No confidence is recorded; the share of the voters that the winning answer got stands for it."
    )
    series = [
        (each.confidence, each.right, each.interval.low, each.interval.high, source.name, each.items)
        for source in found.sources[:VOTERS]
        for each in source.curve
    ]
    return [
        Rows(("confidence", "right", "AUC", "ECE", "surer half"), rows),
        Words(
            f"{about} AUC: how well it tells right from wrong, 0.5 is chance; ECE: how far it is from the truth.",
            "note",
        ),
        Chart(
            name="reliability",
            title="How often it is right when it is this sure",
            about="Above the dashed line it is better than it says, below it overconfident. Bands are 95 % intervals.",
            kind="lines",
            columns=("x", "y", "low", "high", "series", "items"),
            rows=series,
            x="confidence",
            y="right",
            percent=("x", "y"),
            diagonal=True,
        ),
    ]
