"""Who errs with whom: how correlated the agents' errors are, which are redundant, and how many they really are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.diagnosis.text import figure, percent
from motet.measure.arrays import Floats, Ints
from motet.measure.correlation import (
    answer_agreement,
    by_group,
    disagreement,
    double_fault,
    kappa,
    mean_pairwise,
    phi,
    wrong_agreement,
    yule_q,
)
from motet.measure.effective import design_effect, participation_ratio
from motet.measure.marginal import marginal
from motet.measure.seriation import by_similarity
from motet.measure.tetrachoric import tetrachoric
from motet.page.page import Block, Chart, Rows, Words

TOP = 10
"""The best agents whose correlation is told apart from that of all, since they are who one would mix."""
DRAWN = 300
"""Agents in the chart."""
SHOWN = 5
"""Most and least redundant agents that people are shown; JSON has all."""


class Redundant(msgspec.Struct, frozen=True, kw_only=True):
    """An agent, and the other one whose errors are most like its own.

    `phi` is their correlation, `mean_phi` that with all others on average. `same_wrong_answer` is how often both give
    the same answer where both are wrong, null without answers. `alone` is the share of items that only it has right.
    """

    name: str
    nearest: str
    phi: float
    mean_phi: float
    disagreement: float
    double_fault: float
    same_wrong_answer: float | None
    alone: float


class Mean(msgspec.Struct, frozen=True, kw_only=True):
    """The mean over all pairs, and over those of the ten best; null where it is not defined."""

    all: float
    top: float


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """Each measure of likeness on average. `tetrachoric` is null where cells are shares, the last two without answers.

    `phi`, `tetrachoric`, `yule_q` and `kappa` are correlations of being right; `disagreement` is how often exactly one
    is right, `double_fault` how often both are wrong, `same_answer` how often both say the same, and
    `same_wrong_answer` how often they do where both are wrong.
    """

    phi: Mean
    yule_q: Mean
    kappa: Mean
    disagreement: Mean
    double_fault: Mean
    tetrachoric: Mean | None = None
    same_answer: Mean | None = None
    same_wrong_answer: Mean | None = None


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """A family of models: the mean phi between its members, and between them and everybody else."""

    name: str
    agents: int
    within: float
    others: float


class Redundancy(msgspec.Struct, frozen=True, kw_only=True):
    """How alike the agents err; `agents` go from the most to the least redundant.

    `matrix` is phi, in the order of `order`, which puts similar agents side by side.
    """

    means: Means
    design_effect: Mean
    participation: Mean
    top: int
    agents: tuple[Redundant, ...]
    families: tuple[Family, ...]
    within: float | None
    between: float | None
    order: tuple[str, ...]
    matrix: list[list[float]]


def examine(case: Case) -> Redundancy:
    """Compute it."""
    correct = case.whole.correct if case.options.missing == "pairwise" else case.correct
    names = case.names
    top = min(TOP, len(names))
    matrices = {
        "phi": phi(correct),
        "yule_q": yule_q(correct),
        "kappa": kappa(correct),
        "disagreement": disagreement(correct),
        "double_fault": double_fault(correct),
    }
    if bool(np.isin(correct[~np.isnan(correct)], (0, 1)).all()):
        matrices["tetrachoric"] = tetrachoric(correct)
    if case.votes is not None:
        matrices["same_answer"] = answer_agreement(case.votes[0])
        matrices["same_wrong_answer"] = wrong_agreement(*case.votes)
    means = Means(**{name: _mean(matrix, top) for name, matrix in matrices.items()})
    rho = matrices["phi"]
    families = case.table.families
    grouped = by_group(rho, families) if families is not None and len(set(families)) > 1 else None
    order = by_similarity(rho)
    return Redundancy(
        means=means,
        design_effect=Mean(all=design_effect(rho), top=design_effect(rho[:top, :top])),
        participation=Mean(all=participation_ratio(rho), top=participation_ratio(rho[:top, :top])),
        top=top,
        agents=_redundant(names, matrices, marginal(case.correct) if case.complete else np.full(len(names), np.nan)),
        families=()
        if grouped is None
        else tuple(
            Family(
                name=str(name),
                agents=int(size),
                within=float(grouped.means[i, i]),
                others=_others(grouped.means, grouped.sizes, i),
            )
            for i, (name, size) in enumerate(zip(grouped.groups, grouped.sizes, strict=True))
        ),
        within=None if grouped is None else grouped.within,
        between=None if grouped is None else grouped.between,
        order=tuple(names[j] for j in order),
        matrix=np.round(rho[np.ix_(order, order)], 4).tolist(),
    )


def _mean(matrix: Floats, top: int) -> Mean:
    return Mean(all=mean_pairwise(matrix), top=mean_pairwise(matrix[:top, :top]))


def _others(means: Floats, sizes: Ints, own: int) -> float:
    """The mean over the pairs with agents of other families, each pair counting once."""
    weights = np.where(np.isnan(means[own]), 0, sizes)
    weights[own] = 0
    return float(np.nansum(means[own] * weights) / weights.sum()) if weights.sum() else math.nan


def _redundant(names: tuple[str, ...], matrices: dict[str, Floats], alone: Floats) -> tuple[Redundant, ...]:
    rho = matrices["phi"].copy()
    np.fill_diagonal(rho, np.nan)
    reach = np.where(np.isnan(rho), -np.inf, rho)
    nearest = reach.argmax(axis=1)
    same = matrices.get("same_wrong_answer")
    found = [
        Redundant(
            name=name,
            nearest=names[near],
            phi=float(rho[j, near]),
            mean_phi=float(np.nanmean(rho[j])),
            disagreement=float(matrices["disagreement"][j, near]),
            double_fault=float(matrices["double_fault"][j, near]),
            same_wrong_answer=None if same is None else float(same[j, near]),
            alone=float(alone[j]),
        )
        for j, (name, near) in enumerate(zip(names, nearest.tolist(), strict=True))
        if np.isfinite(rho[j]).any()  # an agent that is always right or always wrong has no correlation
    ]
    return tuple(sorted(found, key=lambda each: -each.phi))


LABELS = {
    "phi": "phi (correlation of being right)",
    "tetrachoric": "tetrachoric correlation",
    "yule_q": "Yule's Q",
    "kappa": "Cohen's kappa",
    "disagreement": "exactly one is right",
    "double_fault": "both are wrong",
    "same_answer": "same answer",
    "same_wrong_answer": "same answer where both are wrong",
}


def blocks(found: Redundancy) -> list[Block]:
    """Show it."""
    rows = [
        (label, figure(mean.all), figure(mean.top))
        for name, label in LABELS.items()
        if (mean := getattr(found.means, name)) is not None
    ]
    rows.append(("effective agents, design effect", figure(found.design_effect.all), figure(found.design_effect.top)))
    rows.append(
        ("effective agents, participation ratio", figure(found.participation.all), figure(found.participation.top))
    )
    shown: list[Block] = [
        Rows(("mean over pairs", "all", f"{found.top} best"), rows)
        if found.top < len(found.order)
        else Rows(("mean over pairs", "all"), [row[:2] for row in rows]),
        Words(
            "phi and the tetrachoric correlation: 0 where errors have nothing to do with one another, 1 for copies; "
            "effective agents: how many independent ones these are worth.",
            "note",
        ),
    ]
    heads = ("nearest", "phi", "one right", "only it")
    if len(found.agents) > 2 * SHOWN:
        shown.append(Rows(("most redundant agents", *heads), _rows(found.agents[:SHOWN])))
        shown.append(Rows(("least redundant agents", *heads), _rows(found.agents[::-1][:SHOWN])))
    else:
        shown.append(Rows(("agent", *heads), _rows(found.agents)))
    if found.families:
        families = [
            (each.name or "(none)", str(each.agents), figure(each.within), figure(each.others))
            for each in found.families
        ]
        shown.append(Rows(("family", "agents", "phi within", "with others"), families))
        shown.append(
            Words(f"Mean phi within families {figure(found.within)}, between families {figure(found.between)}.", "note")
        )
    # Beyond this, cells are smaller than pixels, and a browser takes minutes over them.
    step = math.ceil(len(found.order) / DRAWN)
    cells = [
        (across, down, None if math.isnan(value) else value)
        for down, line in zip(found.order[::step], found.matrix[::step], strict=True)
        for across, value in zip(found.order[::step], line[::step], strict=True)
    ]
    about = "phi between being right, similar agents side by side. Bright blocks are agents that know the same."
    if step > 1:
        about += f" One agent in {step} is drawn; JSON has all."
    shown.append(
        Chart(
            name="correlation",
            title="Whose errors go together",
            about=about,
            kind="heat",
            columns=("x", "y", "value"),
            rows=cells,
            y="phi",
        )
    )
    return shown


def _rows(agents: Sequence[Redundant]) -> list[tuple[str, ...]]:
    return [
        (each.name, each.nearest, figure(each.phi), percent(each.disagreement), percent(each.alone)) for each in agents
    ]
