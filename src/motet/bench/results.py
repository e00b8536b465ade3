"""What a run shows: how good each arm was, at what cost, and whether any mixture is better than the best member.

>>> from motet.bench.cell import Cell
>>> cells = [Cell(str(i), arm, 0, float(i < right), "full") for i in range(40) for arm, right in (("a", 20), ("v", 31))]
>>> found = results(Sheet.of(cells), [Arm("a", "member", ""), Arm("v", "mixture", "")])
>>> [(line.arm, line.right, line.to_best and line.to_best.wins) for line in found.lines]
[('a', 0.5, None), ('v', 0.775, 11)]
>>> found.verdict[0]
'v is better than a, the best member, by 27.5 points (11 tasks won, 0 lost; p < 0.001, Holm).'
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from motet.bench.baselines import By, best, matches
from motet.bench.contrast import Contrast, contrast, corrected
from motet.bench.run import Arm, BenchRun, Opening, Part
from motet.bench.sheet import STATES, Column, Sheet
from motet.diagnosis.text import between, chance, percent
from motet.measure.arrays import Floats
from motet.measure.bootstrap import bootstrap_mean
from motet.measure.interval import Interval
from motet.measure.wilson import wilson

UNFIT = 0.1
"""The share of failed or ungraded answers of an arm above which nothing should be concluded from it."""
LEVEL = 0.05
"""The corrected p below which an arm is called better or worse."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One arm.

    `part` says what it is there for. `right` is its mean score over the tasks it was graded on, with Wilson's interval
    where scores are 0 or 1; `all_right` is the share of tasks that it got right in every draw (pass^k), null where each
    was put once. `to_best` compares it with the best member, null for members; Holm's correction is over all arms but
    members. Calls, tokens, USD and seconds are a task's, and what its answer would take alone: calls shared with other
    arms are counted in each, and known ones take as long as when they were made. `failures` counts the failed by kind.
    """

    arm: str
    part: Part
    tasks: int
    right: float
    interval: Interval | None
    all_right: float | None
    to_best: Contrast | None
    calls: float
    tokens_in: float
    tokens_out: float
    usd: float
    seconds_p50: float
    seconds_p95: float
    abstained: int
    failed: int
    failures: dict[str, int]
    ungraded: int
    unfit: bool


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """What needs no call: `right` with its interval, and what a task takes."""

    right: float
    interval: Interval
    calls: float
    tokens: float
    usd: float


class EqualBudget(msgspec.Struct, frozen=True, kw_only=True):
    """A mixture against as many draws of one member, `copies`, as make as many calls, or take as many tokens or USD.

    `capped` says that more draws than were made would be worth as much.
    """

    mixture: str
    by: By
    copies: str
    draws: int
    capped: bool
    versus: Contrast


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of one kind: how many, and the share of them that each arm got right (null where none was graded)."""

    name: str
    tasks: int
    right: dict[str, float | None]


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """How often a judge that was asked in both orders held to its choice, `held`, of so many gradings."""

    held: int
    gradings: int


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """All arms, members first; `verdict` in sentences; `run` and `made` say which run it is, and how it was made.

    `random_member` is a member picked anew for each task; `oracle` always picks a member that is right, so no vote,
    router or cascade of these members' answers can pass it. Both rest on tasks that all members were graded on.
    `equal_budget` compares mixtures with copies of one member, `placebos` with themselves when nothing is heard.
    `difficulty` groups tasks by how many of the members' first answers were right. `answered` of `expected` answers
    are there; `saved_calls` and `saved_usd` are what sharing and earlier processes saved, `usd` what was paid.
    """

    run: str
    made: Opening | None
    lines: tuple[Line, ...]
    best_member: str | None
    random_member: Bound | None
    oracle: Bound | None
    equal_budget: tuple[EqualBudget, ...]
    placebos: tuple[Contrast, ...]
    topics: tuple[Group, ...]
    difficulty: tuple[Group, ...]
    judge: Judge | None
    verdict: tuple[str, ...]
    answered: int
    expected: int
    saved_calls: int
    saved_usd: float
    usd: float


def results_of(run: BenchRun, sheet: Sheet | None = None) -> Results:
    """The table of a run that is kept; `sheet` if it is at hand."""
    sheet, opening = sheet or run.sheet(), run.opening
    topics = {task.id: task.topic for task in run.tasks.values()}
    found = results(sheet, opening.arms, topics=topics, seed=opening.seed)
    judge = None
    if opening.scorer == "versus":
        answered = [column.scores[column.states < STATES.index("abstained")] for column in sheet.columns.values()]
        graded = sum(int(np.isfinite(scores).sum()) for scores in answered)
        judge = Judge(held=graded - sum(column.swayed for column in sheet.columns.values()), gradings=graded)
    return msgspec.structs.replace(found, run=run.name, made=opening, judge=judge)


def results(sheet: Sheet, arms: Sequence[Arm], *, topics: Mapping[str, str] | None = None, seed: int = 0) -> Results:
    """Make the table.

    Args:
        sheet: the figures of a run.
        arms: who answered, and what for.
        topics: what each task is about, by its id.
        seed: of the intervals.

    Returns:
        The results.
    """
    order = [arm for arm in arms if arm.part == "member"] + [arm for arm in arms if arm.part != "member"]
    order = [arm for arm in order if arm.name in sheet.columns and sheet.columns[arm.name].there.any()]
    scores = {arm.name: sheet.scores(arm.name) for arm in order}
    members = [arm.name for arm in order if arm.part == "member"]
    top = best(sheet, members)
    to_best: dict[str, Contrast] = {}
    if top is not None:
        pairs = [(arm.name, contrast(arm.name, scores[arm.name], top, scores[top], seed=seed)) for arm in order
                 if arm.part != "member"]  # fmt: skip
        found = corrected([each for _, each in pairs if each is not None])
        to_best = {each.arm: each for each in found}
    lines = [_line(arm, sheet.columns[arm.name], scores[arm.name], to_best.get(arm.name)) for arm in order]
    equal = _equal_budget(sheet, order, scores, seed)
    controls = [(arm.of, arm.name) for arm in order if arm.part == "placebo" and arm.of in scores]
    placebos = [contrast(one, scores[one], other, scores[other], seed=seed) for one, other in controls]
    heard = corrected([each for each in placebos if each is not None])
    random, oracle = _bounds(sheet, members, seed)
    columns = [sheet.columns[arm.name] for arm in order]
    return Results(
        run="",
        made=None,
        judge=None,
        lines=tuple(lines),
        best_member=top,
        random_member=random,
        oracle=oracle,
        equal_budget=tuple(equal),
        placebos=tuple(heard),
        topics=tuple(_topics(sheet, scores, topics or {})),
        difficulty=tuple(_difficulty(sheet, members, scores)),
        verdict=tuple(_verdict(lines, top, equal, heard, oracle)),
        answered=sum(int(column.there.sum()) for column in columns),
        expected=len(sheet.tasks) * sheet.draws * len(arms),
        saved_calls=sum(column.paid.saved_calls for column in columns),
        saved_usd=math.fsum(column.paid.saved_usd for column in columns),
        usd=math.fsum(column.paid.usd for column in columns),
    )


def _line(arm: Arm, column: Column, scores: Floats, to_best: Contrast | None) -> Line:
    there = column.there
    graded = scores[np.isfinite(scores)]
    whole = bool(np.isin(graded, (0, 1)).all())
    draws = column.scores[np.isfinite(column.scores).all(axis=1)]
    failed, ungraded, count = column.count("failed"), column.ungraded, int(there.sum())
    seconds = column.seconds[there].astype(float)
    return Line(
        arm=arm.name,
        part=arm.part,
        tasks=len(graded),
        right=float(graded.mean()) if graded.size else math.nan,
        interval=wilson(float(graded.sum()), len(graded)) if whole and graded.size else None,
        all_right=float((draws == 1).all(axis=1).mean()) if draws.shape[1] > 1 and len(draws) else None,
        to_best=to_best,
        calls=float(column.calls.sum()) / count,
        tokens_in=float(column.input.sum()) / count,
        tokens_out=float(column.output.sum()) / count,
        usd=float(column.usd.sum()) / count,
        seconds_p50=float(np.quantile(seconds, 0.5)),
        seconds_p95=float(np.quantile(seconds, 0.95)),
        abstained=column.count("abstained"),
        failed=failed,
        failures=dict(sorted(column.kinds.items())),
        ungraded=ungraded,
        unfit=failed + ungraded > UNFIT * count,
    )


def _equal_budget(sheet: Sheet, arms: Sequence[Arm], scores: Mapping[str, Floats], seed: int) -> list[EqualBudget]:
    copied = {(arm.of, arm.draws): arm.name for arm in arms if arm.part == "self-consistency"}
    found: list[tuple[EqualBudget, Contrast]] = []
    for member in dict.fromkeys(of for of, _ in copied):
        mixtures = [arm.name for arm in arms if arm.part == "mixture" and arm.name != member]
        for match in matches(sheet, mixtures, member) if member in scores else []:
            copies = member if match.draws == 1 else copied.get((member, match.draws))
            if copies is None or copies not in scores:
                continue
            versus = contrast(match.mixture, scores[match.mixture], copies, scores[copies], seed=seed)
            if versus is not None:
                made = EqualBudget(
                    mixture=match.mixture,
                    by=match.by,
                    copies=copies,
                    draws=match.draws,
                    capped=match.capped,
                    versus=versus,
                )
                found.append((made, versus))
    values = corrected([versus for _, versus in found])
    return [msgspec.structs.replace(made, versus=value) for (made, _), value in zip(found, values, strict=True)]


def _bounds(sheet: Sheet, members: Sequence[str], seed: int) -> tuple[Bound | None, Bound | None]:
    if len(members) < 2:
        return None, None
    columns = [sheet.columns[name] for name in members]
    scores = np.stack([column.scores for column in columns])  # (members, tasks, draws)
    known = np.isfinite(scores).all(axis=(0, 2))
    if not known.any():
        return None, None
    picked, reached = scores[:, known].mean(axis=(0, 2)), scores[:, known].max(axis=0).mean(axis=1)
    count = max(1, sum(int(column.there.sum()) for column in columns))
    calls = sum(int(column.calls.sum()) for column in columns) / count
    tokens = sum(int(column.input.sum()) + int(column.output.sum()) for column in columns) / count
    usd = math.fsum(float(column.usd.sum()) for column in columns) / count

    def bound(values: Floats, times: int) -> Bound:
        whole = bool(np.isin(values, (0, 1)).all())
        interval = wilson(float(values.sum()), len(values)) if whole else bootstrap_mean(values, seed=seed).interval
        return Bound(
            right=float(values.mean()), interval=interval, calls=calls * times, tokens=tokens * times, usd=usd * times
        )

    return bound(picked, 1), bound(reached, len(members))


def _topics(sheet: Sheet, scores: Mapping[str, Floats], topics: Mapping[str, str]) -> list[Group]:
    names = [topics.get(task, "") for task in sheet.tasks]
    several = sorted(set(names) - {""})
    return [_group(name, np.array([each == name for each in names]), scores) for name in several] if several else []


def _difficulty(sheet: Sheet, members: Sequence[str], scores: Mapping[str, Floats]) -> list[Group]:
    """Tasks by the share of members whose first answer was right."""
    if len(members) < 2:
        return []
    first = np.stack([sheet.columns[name].scores[:, 0] for name in members])
    known = np.isfinite(first).all(axis=0)
    right = np.where(known, (first >= 0.5).sum(axis=0), -1)
    groups = [
        ("no member right", right == 0),
        ("a minority right", (right > 0) & (2 * right <= len(members)) & known),
        ("a majority right", (2 * right > len(members)) & (right < len(members))),
        ("every member right", right == len(members)),
    ]
    return [_group(name, chosen, scores) for name, chosen in groups if chosen.any()]


def _group(name: str, chosen: Floats, scores: Mapping[str, Floats]) -> Group:
    def right(values: Floats) -> float | None:
        graded = values[chosen & np.isfinite(values)]
        return float(graded.mean()) if graded.size else None

    return Group(name=name, tasks=int(chosen.sum()), right={arm: right(values) for arm, values in scores.items()})


def _verdict(
    lines: Sequence[Line],
    top: str | None,
    equal: Sequence[EqualBudget],
    placebos: Sequence[Contrast],
    oracle: Bound | None,
) -> list[str]:
    unfit = [line.arm for line in lines if line.unfit]
    left_out = f"Too many answers failed or could not be graded to conclude anything of {', '.join(unfit)}."
    mixtures = [line.to_best for line in lines if line.part == "mixture" and line.to_best and not line.unfit]
    said = []
    if top is not None and top not in unfit and mixtures:
        leading = max(mixtures, key=lambda each: each.difference)
        said = [_compared(leading, top), *_explained(leading.arm, equal, placebos)]
        if oracle is not None:
            said.append(
                f"Some member is right on {percent(oracle.right)} of the tasks {between(oracle.interval)}: no vote, "
                "router or cascade of these answers can pass that."
            )
    elif not unfit:
        said = ["There is nothing to compare: name mixtures, and let their members answer alone."]
    return [*said, left_out] if unfit else said


def _compared(leading: Contrast, top: str) -> str:
    told = f"({leading.wins} tasks won, {leading.losses} lost; {chance(leading.p_holm)}, Holm)"
    gain = 100 * leading.difference
    if gain > 0 and leading.p_holm < LEVEL:
        return f"{leading.arm} is better than {top}, the best member, by {gain:.1f} points {told}."
    return (
        f"No mixture is shown to be better than {top}, the best member; the nearest is {leading.arm}, "
        f"{gain:+.1f} {told}."
    )


def _explained(arm: str, equal: Sequence[EqualBudget], placebos: Sequence[Contrast]) -> list[str]:
    """Whether copies of one member do as well for as much, and whether what is heard is worth anything."""
    said = []
    words = {"calls": "calls", "tokens": "tokens", "usd": "dollars"}
    for match in equal:
        if match.mixture == arm:
            versus = match.versus
            more = "better than" if versus.difference > 0 else "worse than"
            if versus.p_holm >= LEVEL:
                more = "not shown to differ from"
            said.append(
                f"For as many {words[match.by]} it is {more} {match.copies} ({100 * versus.difference:+.1f} points; "
                f"{chance(versus.p_holm)})."
            )
    for each in placebos:
        if each.arm == arm:
            worth = "are worth" if each.p_holm < LEVEL else "are not shown to be worth anything:"
            said.append(
                f"The words its agents hear of one another {worth} {100 * each.difference:+.1f} points over filler of "
                f"the same length ({chance(each.p_holm)})."
            )
    return said
