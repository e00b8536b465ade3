"""Cautions: what in a table should keep its reader from believing the figures too easily."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from motet.diagnosis.options import Case
from motet.diagnosis.text import names, percent
from motet.measure.equivalence import minimum_detectable_effect

if TYPE_CHECKING:
    from motet.diagnosis.diagnose import Diagnosis

FEW = 100
"""Items below which intervals are wide whatever is found: at 50 % right, 100 items give ±10 points."""
SAME = 0.99
"""Two agents that agree on this share of all items, and more than their accuracies alone explain, may be one."""


SEEN = 10
"""Successes and failures that an agent needs for its agreement with the others to be judged."""


USUAL = 0.2
"""The correlation with the rest that half of all agents need to have for one without any to stand out."""


class Caution(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to be careful about."""

    kind: Literal["duplicate", "near_duplicate", "few_items", "missing", "constant", "suspicious"]
    text: str
    agents: tuple[str, ...] = ()


def cautions(diagnosis: Diagnosis, case: Case) -> tuple[Caution, ...]:
    """Everything there is to be careful about.

    Args:
        diagnosis: what was found; its `about` at least.
        case: what it was found in.

    Returns:
        The cautions, gravest first.
    """
    if not case.complete:
        return tuple(_gaps(diagnosis, case))
    return (*_copies(case), *_gaps(diagnosis, case), *_few(case), *_constant(case), *_suspicious(case))


def _copies(case: Case) -> list[Caution]:
    """Agents with the same cells throughout, and those that differ in next to none."""
    table = case.table
    columns = [case.correct] if table.answers is None else [case.correct, table.answers.astype(float)]
    found: list[Caution] = []
    groups: dict[bytes, list[int]] = {}
    for j in range(len(case.names)):
        groups.setdefault(b"".join(np.ascontiguousarray(each[:, j]).tobytes() for each in columns), []).append(j)
    twins = [group for group in groups.values() if len(group) > 1 and 0 < case.correct[:, group[0]].mean() < 1]
    for group in twins:
        alike = tuple(case.names[j] for j in group)
        text = f"{names(alike)} have the same result on every item: one agent under several names?"
        found.append(Caution(kind="duplicate", text=text, agents=alike))
    singles = sorted(group[0] for group in groups.values())  # agents stand best first
    answers = table.answers
    for place, i in enumerate(singles):
        rest = singles[place + 1 :]
        if not rest:
            continue
        same = case.correct[:, rest] == case.correct[:, [i]]
        if answers is not None:
            same &= answers[:, rest] == answers[:, [i]]
        share = same.mean(axis=0)
        right = case.correct.mean(axis=0)
        # Two agents that are nearly always right agree by that alone; what counts is agreement beyond it.
        expected = right[i] * right[rest] + (1 - right[i]) * (1 - right[rest])
        for j, agreed, by_chance in zip(rest, share, expected, strict=True):
            if agreed >= SAME and agreed - by_chance >= 0.5 * (1 - by_chance) and by_chance < SAME:
                alike = (case.names[i], case.names[j])
                text = f"{names(alike)} agree on {percent(float(agreed))} of items: copies under two names?"
                found.append(Caution(kind="near_duplicate", text=text, agents=alike))
    return found


def _gaps(diagnosis: Diagnosis, case: Case) -> list[Caution]:
    about = diagnosis.about
    if not about.missing:
        return []
    gaps = np.isnan(case.whole.correct).sum(axis=0)
    worst = int(gaps.argmax())
    n = len(case.whole.items)
    text = (
        f"{about.missing:,} cells are missing, most of them of {case.whole.agents[worst]} ({gaps[worst]:,} of {n:,}). "
        f"{about.dropped:,} of {n:,} items were left out, since not all agents have a result for them"
    )
    pairs = "; correlations use each pair's common items."
    text += pairs if about.rule == "pairwise" else ": if they are the hard ones, all figures flatter."
    return [Caution(kind="missing", text=text, agents=(case.whole.agents[worst],))]


def _few(case: Case) -> list[Caution]:
    n = len(case.table.items)
    if n >= FEW or len(case.names) < 2:
        return []
    differ = float((case.correct[:, 0] != case.correct[:, 1]).mean())
    least = minimum_detectable_effect(n, differ) if 0 < differ < 1 else float("nan")
    text = f"{n} items are few: intervals are wide, and choosing among many agents flatters"
    if math.isfinite(least):
        text += f"; between the two best, only a difference of {100 * least:.0f} points would be seen in 4 of 5 tries"
    return [Caution(kind="few_items", text=f"{text}.")]


def _constant(case: Case) -> list[Caution]:
    right = case.correct.mean(axis=0)
    found = []
    for value, word in ((0.0, "wrong"), (1.0, "right")):
        alike = tuple(case.names[j] for j in np.flatnonzero(right == value))
        if alike:
            verb = "is" if len(alike) == 1 else "are"
            text = f"{names(alike)} {verb} {word} on every item: a result that was never recorded?"
            found.append(Caution(kind="constant", text=text, agents=alike))
    return found


def _suspicious(case: Case) -> list[Caution]:
    """Agents whose successes go against everybody else's: a mislabelled or shuffled column, as a rule."""
    correct = case.correct
    if len(case.names) < 4 or len(correct) < FEW:
        return []
    others = (correct.sum(axis=1, keepdims=True) - correct) / (correct.shape[1] - 1)
    agreement = {}
    for j, name in enumerate(case.names):
        own, rest = correct[:, j], others[:, j]
        # With few successes or few failures, chance alone keeps the correlation low.
        if min(own.sum(), (1 - own).sum()) >= SEEN and rest.std() > 0:
            agreement[name] = float(np.corrcoef(own, rest)[0, 1])
    # Agents that all err independently are nothing odd, but the best there is to mix.
    if not agreement or np.median(list(agreement.values())) < USUAL:
        return []
    odd = [name for name, value in agreement.items() if value < 2 / np.sqrt(len(correct))]
    if not odd:
        return []
    verb = "is" if len(odd) == 1 else "are"
    text = (
        f"{names(odd)} {verb} right on items that have nothing to do with those the others solve, who agree among "
        "themselves. A rare gift, or shuffled rows, another version of the items, guessing?"
    )
    return [Caution(kind="suspicious", text=text, agents=tuple(odd))]
