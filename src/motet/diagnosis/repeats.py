"""Asked again: what several samples of one agent show, the chance that one of k is right and that all of k are."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.diagnosis.text import figure, percent
from motet.measure.arrays import Floats, Ints
from motet.measure.pass_k import pass_at_k, pass_hat_k
from motet.measure.repeats import failure_auc, flip_rate, run_gap
from motet.page.page import Block, Chart, Rows, Words

SHOWN: Final = 8
"""Agents in the table that people read."""
DRAWN: Final = 3
"""Agents in the chart."""


class Repeated(msgspec.Struct, frozen=True, kw_only=True):
    """One agent that was asked `samples` times or more each item.

    `at` and `hat` hold pass@k and pass^k for k from 1. `flips` is how often two samples of an item differ in their
    answers, or else in being right; `gap` what the best of its runs has over the mean one; `failure_auc` how well the
    number of distinct answers tells failures. Null where single samples are not recorded.
    """

    name: str
    samples: int
    items: int
    at: tuple[float, ...]
    hat: tuple[float, ...]
    flips: float | None
    gap: float | None
    failure_auc: float | None


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """Every agent with two samples or more, best first."""

    agents: tuple[Repeated, ...]


MOST: Final = 64
"""The largest k, however many samples there are."""


def examine(case: Case) -> Repeats | None:
    """Compute it."""
    samples = case.table.samples
    if samples is None:
        return None
    found = [_repeated(case, j, samples[:, j]) for j in range(len(case.names)) if samples[:, j].min() >= 2]
    return Repeats(agents=tuple(found)) if found else None


def _repeated(case: Case, j: int, samples: Ints) -> Repeated:
    right = np.round(case.correct[:, j] * samples).astype(np.int64)
    most = min(int(samples.min()), MOST)
    flips = gap = told = None
    if case.table.draws is not None:
        answers, correct = case.table.draws.answers[:, j], case.table.draws.correct[:, j]
        runs = int(np.isfinite(correct).sum(axis=1).min())
        if runs >= 2:
            flips, gap, told = _runs(answers[:, :runs], correct[:, :runs])
    return Repeated(
        name=case.names[j],
        samples=int(samples.min()),
        items=len(samples),
        at=tuple(float(pass_at_k(samples, right, k).mean()) for k in range(1, most + 1)),
        hat=tuple(float(pass_hat_k(samples, right, k).mean()) for k in range(1, most + 1)),
        flips=flips,
        gap=gap,
        failure_auc=told,
    )


def _runs(answers: Ints, correct: Floats) -> tuple[float, float, float | None]:
    known = bool((answers >= 0).any())
    whole = bool(np.isin(correct, (0, 1)).all())
    flips = flip_rate(answers if known or not whole else correct)
    return flips, run_gap(correct).gap, failure_auc(correct, answers) if known and whole else None


def blocks(found: Repeats) -> list[Block]:
    """Show it."""
    rows = [
        (
            each.name,
            str(each.samples),
            percent(each.at[0]),
            f"{percent(each.at[-1])} (k={len(each.at)})",
            percent(each.hat[-1]),
            percent(each.flips),
            figure(each.failure_auc),
        )
        for each in found.agents[:SHOWN]
    ]
    rest = len(found.agents) - SHOWN
    words = (
        "pass@k: one of k samples is right; pass^k: all of k are; flips: two samples of an item differ; AUC: how well "
        "the number of distinct answers tells failures from successes"
    )
    series = [
        (k, share, f"{each.name}, {label}")
        for each in found.agents[:DRAWN]
        for label, shares in (("pass@k", each.at), ("pass^k", each.hat))
        for k, share in enumerate(shares, 1)
    ]
    return [
        Rows(("agent", "samples", "right", "pass@k", "pass^k", "flips", "AUC"), rows),
        Words(words + (f"; {rest} more agents are in the JSON." if rest > 0 else "."), "note"),
        Chart(
            name="samples",
            title="One of k right, and all of k right",
            about=f"The {min(DRAWN, len(found.agents))} best agents. The upper line is what a perfect choice among k "
            "samples would reach, the lower one how far the agent can be relied on k times in a row.",
            kind="lines",
            columns=("x", "y", "series"),
            rows=series,
            x="samples",
            y="right",
            percent=("y",),
        ),
    ]
