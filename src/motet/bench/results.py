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

from motet.bench.baselines import By, Match, best, matches
from motet.bench.contrast import Contrast, contrast, corrected
from motet.bench.run import Arm, BenchRun, Opening, Part
from motet.bench.sheet import STATES, UNFIT, Column, Sheet
from motet.diagnosis.text import between, chance, figure, percent, points
from motet.measure.arrays import Floats
from motet.measure.bootstrap import bootstrap_mean
from motet.measure.interval import Interval
from motet.measure.wilson import wilson

FEW = 20
"""Tasks below which a report says that hardly anything can be concluded: even of two arms alone, p < 0.05 needs six
tasks won and none lost, and arms that differ on a third of their tasks are rare."""
LEVEL = 0.05
"""The corrected p below which an arm is called better or worse."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One arm.

    `part` says what it is there for. `right` is its mean score over the tasks it was graded on, with Wilson's interval
    where those are 0 or 1, and a bootstrap interval over tasks else; `all_right` is the share of tasks that it got
    right in every draw (pass^k), null where each was put once. `to_best` compares it with the best member; Holm's
    correction is over the mixtures and the plain vote, over the other members, and over copies and placebos, each by
    themselves. Of `degraded` answers somebody was missing, though there is one. Calls, tokens, USD and seconds are a
    task's, and what its answer would take alone: calls shared with other arms are counted in each, and known ones take
    as long as when they were made. `failures` counts the failed by kind, `remarks` the answers on the way to which
    something was noted (a ballot that could not be read, what stood in for a judge), by its words.
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
    degraded: int
    failed: int
    failures: dict[str, int]
    ungraded: int
    unfit: bool
    remarks: dict[str, int]


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """What needs no call: `right` with its interval, and what a task takes."""

    right: float
    interval: Interval
    calls: float
    tokens: float
    usd: float


class EqualBudget(msgspec.Struct, frozen=True, kw_only=True):
    """A mixture against draws of one member, `copies`: the fewest that take as many calls, tokens or USD.

    `budget` is what an answer of the mixture takes, `copies_budget` what the copies do; `capped` says that they take
    less, since more draws are never made. Holm's correction is over all pairs of a mixture and copies.
    """

    mixture: str
    by: By
    copies: str
    draws: int
    budget: float
    copies_budget: float
    capped: bool
    versus: Contrast


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of one kind: how many, and the share of them that each arm got right (null where none was graded)."""

    name: str
    tasks: int
    right: dict[str, float | None]


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """How often a judge that was asked in both orders made the same choice, `held`, of so many gradings."""

    held: int
    gradings: int


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """All arms, members first; `verdict` in sentences; `run` and `made` say which run it is, and how it was made.

    `random_member` is a member picked anew for each task; `oracle` always picks a member that is right, so no vote,
    router or cascade of these members' answers can pass it. Both rest on tasks that all members were graded on.
    `equal_budget` compares mixtures with copies of one member, `placebos` with themselves when nothing is heard.
    `difficulty` groups tasks by how many members were right. `answered` of `expected` answers are there; `usd` is what
    was paid, judges and repeated calls included; `saved_calls` and `saved_usd` are what the answers would have taken
    beyond that, had each been made alone.
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
    spent, alone = run.journal.spent(run.name), [column.alone for column in sheet.columns.values()]
    return msgspec.structs.replace(
        found,
        run=run.name,
        made=opening,
        judge=judge,
        usd=spent.usd,
        saved_calls=max(0, sum(used.calls for used in alone) - spent.calls),
        saved_usd=max(0.0, math.fsum(used.usd for used in alone) - spent.usd),
    )


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
    for family in (("mixture", "vote"), ("member",), ("self-consistency", "placebo")):
        names = [arm.name for arm in order if arm.part in family and arm.name != top] if top is not None else []
        pairs = [contrast(name, scores[name], top or "", scores[top or ""], seed=seed) for name in names]
        to_best |= {each.arm: each for each in corrected([each for each in pairs if each is not None])}
    lines = [_line(arm, sheet.columns[arm.name], scores[arm.name], to_best.get(arm.name), seed) for arm in order]
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


def _line(arm: Arm, column: Column, scores: Floats, to_best: Contrast | None, seed: int) -> Line:
    there = column.there
    graded = scores[np.isfinite(scores)]
    draws = column.scores[np.isfinite(column.scores).all(axis=1)]
    failed, ungraded, count = column.count("failed"), column.ungraded, int(there.sum())
    seconds = column.seconds[there].astype(float)
    return Line(
        arm=arm.name,
        part=arm.part,
        tasks=len(graded),
        right=float(graded.mean()) if graded.size else math.nan,
        interval=_interval(graded, seed) if graded.size else None,
        all_right=float((draws == 1).all(axis=1).mean()) if draws.shape[1] > 1 and len(draws) else None,
        to_best=to_best,
        calls=float(column.calls.sum()) / count,
        tokens_in=float(column.input.sum()) / count,
        tokens_out=float(column.output.sum()) / count,
        usd=float(column.usd.sum()) / count,
        seconds_p50=float(np.quantile(seconds, 0.5)),
        seconds_p95=float(np.quantile(seconds, 0.95)),
        abstained=column.count("abstained"),
        degraded=column.count("degraded") + column.count("single"),
        failed=failed,
        failures=dict(sorted(column.kinds.items())),
        ungraded=ungraded,
        unfit=column.unfit,
        remarks=dict(sorted(column.remarks.items(), key=lambda each: (-each[1], each[0]))),
    )


def _interval(values: Floats, seed: int) -> Interval:
    """Of the mean of scores: Wilson's where all are 0 or 1, else the bootstrap's over tasks."""
    if np.isin(values, (0, 1)).all():
        return wilson(float(values.sum()), len(values))
    return bootstrap_mean(values, seed=seed).interval


def _equal_budget(sheet: Sheet, arms: Sequence[Arm], scores: Mapping[str, Floats], seed: int) -> list[EqualBudget]:
    copied = {(arm.of, arm.draws): arm.name for arm in arms if arm.part == "self-consistency"}
    member = next((of for of, _ in copied), best(sheet, [arm.name for arm in arms if arm.part == "member"]))
    if member is None or member not in scores:
        return []
    mixtures = [arm.name for arm in arms if arm.part == "mixture"]
    pairs: dict[tuple[str, str], Contrast] = {}
    found: list[tuple[Match, str]] = []
    for match in matches(sheet, mixtures, member):
        copies = member if match.draws == 1 else copied.get((member, match.draws))
        if copies is None or copies not in scores:
            continue
        versus = contrast(match.mixture, scores[match.mixture], copies, scores[copies], seed=seed)
        if versus is not None:
            pairs[match.mixture, copies] = versus
            found.append((match, copies))
    values = dict(zip(pairs, corrected(list(pairs.values())), strict=True))
    return [
        EqualBudget(
            mixture=match.mixture,
            by=match.by,
            copies=copies,
            draws=match.draws,
            budget=match.budget,
            copies_budget=match.copies,
            capped=match.capped,
            versus=values[match.mixture, copies],
        )
        for match, copies in found
    ]


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
        interval = _interval(values, seed)
        return Bound(
            right=float(values.mean()), interval=interval, calls=calls * times, tokens=tokens * times, usd=usd * times
        )

    return bound(picked, 1), bound(reached, len(members))


def _topics(sheet: Sheet, scores: Mapping[str, Floats], topics: Mapping[str, str]) -> list[Group]:
    names = [topics.get(task, "") for task in sheet.tasks]
    several = sorted(set(names) - {""})
    return [_group(name, np.array([each == name for each in names]), scores) for name in several] if several else []


def _difficulty(sheet: Sheet, members: Sequence[str], scores: Mapping[str, Floats]) -> list[Group]:
    """Tasks by how many members were right."""
    if len(members) < 2:
        return []
    known = np.isfinite(np.stack([scores[name] for name in members])).all(axis=0)
    right = np.where(known, np.sum([sheet.right(name) for name in members], axis=0), -1)
    groups = [
        ("no member right", right == 0),
        ("up to half of them", (right > 0) & (2 * right <= len(members))),
        ("more than half", (2 * right > len(members)) & (right < len(members))),
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
        leading, *sentences = _compared(mixtures, top)
        fair = [each for each in equal if each.copies not in unfit]
        heard = [each for each in placebos if each.other not in unfit]
        said = [*sentences, *_explained(leading, fair, heard)]
    elif top is not None and top not in unfit and not any(line.part == "mixture" for line in lines):
        said = _among_members([line.to_best for line in lines if line.to_best and not line.unfit], top)
    elif not unfit:
        said = ["There is nothing to compare: name mixtures or agents, and let members answer alone."]
    if said and oracle is not None:
        said.append(
            f"Some member is right on {percent(oracle.right)} of the tasks {between(oracle.interval)}: no vote, router "
            "or cascade of these answers can pass that."
        )
    few = max((line.tasks for line in lines), default=0)
    if said and few < FEW:
        said.append(f"These are {few} tasks: too few to tell much from chance. Give more, or read nothing into it.")
    named = [line for line in lines if line.part in ("member", "mixture", "vote")]
    missing = [f"{line.arm} ({line.degraded:,})" for line in named if line.degraded > UNFIT * max(1, line.tasks)]
    if missing:
        said.append(f"Somebody was missing in many answers of {', '.join(missing)}: see what failed.")
    return [*said, left_out] if unfit else said


def _compared(mixtures: Sequence[Contrast], top: str) -> list[str]:
    """The mixture that the verdict is about, and what is said of all of them."""
    better = [each for each in mixtures if each.difference > 0 and each.p_holm < LEVEL]
    leading = max(better or mixtures, key=lambda each: each.difference)
    won = f"{leading.wins} task{'' if leading.wins == 1 else 's'} won"
    told = f"({won}, {leading.losses} lost; {chance(leading.p_holm)}, Holm)"
    if better:
        others = [each.arm for each in better if each is not leading]
        said = [
            f"{leading.arm} is better than {top}, the best member, by {100 * leading.difference:.1f} points {told}."
        ]
        if others:
            said.append(f"So {'is' if len(others) == 1 else 'are'} {', '.join(others)}.")
    else:
        said = [
            f"No mixture is shown to be better than {top}, the best member; the nearest is {leading.arm}, "
            f"{points(leading.difference)} {told}."
        ]
    worse = [each.arm for each in mixtures if each.difference < 0 and each.p_holm < LEVEL]
    if worse:
        said.append(f"Worse than {top}: {', '.join(worse)}.")
    return [leading.arm, *said]


def _among_members(others: Sequence[Contrast], top: str) -> list[str]:
    """What is said where no mixture was asked."""
    behind = [each.arm for each in others if each.difference < 0 and each.p_holm < LEVEL]
    level = [each.arm for each in others if each.arm not in behind]
    said = [f"{top} has the most right."] if others else [f"{top} answered alone: there is nothing to compare it with."]
    if behind:
        said.append(f"It is better than {', '.join(behind)} (Holm).")
    if level:
        said.append(f"It is not shown to be better than {', '.join(level)}.")
    return said


def _explained(arm: str, equal: Sequence[EqualBudget], placebos: Sequence[Contrast]) -> list[str]:
    """Whether copies of one member do as well for as much, and whether what is heard is worth anything."""
    said = []
    words = {"calls": "calls", "tokens": "tokens", "usd": "USD"}
    for match in equal:
        if match.mixture == arm:
            versus = match.versus
            more = "better than" if versus.difference > 0 else "worse than"
            if versus.p_holm >= LEVEL:
                more = "not shown to differ from"
            same = f"For as many {words[match.by]}"
            if match.capped:
                same = f"For more {words[match.by]} ({figure(match.budget)} against {figure(match.copies_budget)})"
            gain = f"{points(versus.difference)} points; {chance(versus.p_holm)}"
            said.append(f"{same} {arm} is {more} {match.copies} ({gain}).")
    for each in placebos:
        if each.arm == arm:
            worth = "are worth" if each.p_holm < LEVEL else "are not shown to be worth anything:"
            said.append(
                f"The words that the agents of {arm} hear of one another {worth} {points(each.difference)} points over "
                f"filler of the same length ({chance(each.p_holm)})."
            )
    return said
