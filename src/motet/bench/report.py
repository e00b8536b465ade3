"""A run as people read it: the verdict first, then what it rests on, in sections that a terminal and a page show."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from motet.bench.ask import options_of
from motet.bench.cases import MOST, harmed, helped
from motet.bench.cell import Cell
from motet.bench.contrast import Contrast
from motet.bench.results import Group, Line, Results
from motet.bench.run import BenchRun, Opening
from motet.bench.sheet import STATES, Sheet
from motet.bench.task import Task
from motet.diagnosis.diagnose import diagnose
from motet.diagnosis.text import between, chance, figure, percent, points
from motet.errors import UsageError
from motet.measure.frontier import pareto
from motet.page.items import Answer, Ask, Item, Items
from motet.page.page import Block, Chart, Rows, Section, Words
from motet.tables.table import Table
from motet.view import shortened

BROWSED: Final = 2000
"""Tasks that a page holds at most, to be searched: with eight arms, some megabytes."""
SHOWN: Final = 20_000
"""Characters of a text that a page holds at most."""
MOST_REMARKS: Final = 4
"""Remarks of an arm that are shown; the JSON has all."""
FEW: Final = 6
"""Topics of which a table is picture enough."""
PARTS: Final = {
    "member": "member",
    "mixture": "mixture",
    "vote": "baseline",
    "self-consistency": "copies",
    "placebo": "placebo",
}
"""What a report calls what an arm is there for."""


def sections(run: BenchRun, sheet: Sheet, found: Results, *, cases: int = MOST) -> list[Section]:
    """The report without the tasks themselves.

    Args:
        run: the run, for how it was made.
        sheet: its figures.
        found: what they show.
        cases: how many cases of help and harm are shown of each mixture.

    Returns:
        Sections, the verdict first.
    """
    opening = run.opening
    said: list[Block] = [Words(line, "verdict") for line in found.verdict]
    if found.answered < found.expected:
        left = f"{found.answered:,} of {found.expected:,} answers are there: these figures are of an unfinished run."
        said.append(Words(left, "warning"))
    if found.judge is not None and found.judge.gradings:
        share = percent(found.judge.held / found.judge.gradings)
        said.append(
            Words(f"The judge, asked in both orders, held to its choice in {share} of {found.judge.gradings:,}.")
        )
    said.append(Words(_about(opening, found), "note"))
    made = [
        Section("Verdict", said),
        Section("How good", _arms(found, opening)),
        Section("What an answer takes", _takes(found)),
    ]
    if any(line.remarks for line in found.lines):
        made.append(Section("What was noted on the way", _remarks(found)))
    if found.equal_budget:
        made.append(Section("For the same budget", _equal(found)))
    if found.placebos:
        made.append(Section("What hearing one another is worth", _placebos(found)))
    made += _ceiling(run, sheet, found)
    made.append(Section("Quality and cost", _cost(found)))
    if found.topics:
        topics: list[Block] = [_topics(found)]
        if len(found.topics) > FEW:
            topics.append(_heat("topics", "Right, by topic", found.topics, found.lines))
        made.append(Section("By topic", topics))
    if cases:
        made += _cases(run, sheet, found, cases)
    made.append(Section("How this was made", [_made(opening)]))
    return made


def browser(run: BenchRun, sheet: Sheet, found: Results) -> Section:
    """Every task with every answer, to be searched; texts are read from the journal."""
    kept = dict(list(run.tasks.items())[:BROWSED])
    answers: dict[str, dict[tuple[str, int], Cell]] = {task: {} for task in kept}
    for cell in run.cells():
        if cell.task in answers:
            answers[cell.task][cell.arm, cell.draw] = cell
    order = [(line.arm, draw) for line in found.lines for draw in range(sheet.draws)]
    tags = _tags(sheet, found)
    items = [
        Item(
            id=task.id,
            topic=task.topic,
            question=_question(task),
            target="\n".join(task.target)[:SHOWN],
            answers=[
                _answer(answers[task.id][place], several=sheet.draws > 1)
                for place in order
                if place in answers[task.id]
            ],
            tags=tags.get(task.id, ()),
        )
        for task in kept.values()
    ]
    about = "Search the questions and the answers; open one to see what everybody said, and who heard whom."
    return Section("Every task", [Items("tasks", items, about, len(run.tasks) - len(items))])


# ---- the tables


def _about(opening: Opening, found: Results) -> str:
    times = f", each {opening.draws} times" if opening.draws > 1 else ""
    shared = ""
    if found.saved_calls:
        shared = f" {found.saved_calls:,} calls were shared by arms or known already"
        shared += f", which saved {found.saved_usd:.4f} USD." if found.saved_usd else "."
    paid = f" {found.usd:.4f} USD were paid." if found.usd else ""
    count = f"{opening.tasks:,} task{'' if opening.tasks == 1 else 's'}"
    run = f"Run {found.run}. " if found.run else ""
    return f"{run}{opening.suite}: {count}{times}, seed {opening.seed}.{paid}{shared}"


def _arms(found: Results, opening: Opening) -> list[Block]:
    repeated = opening.draws > 1
    columns = ["who", "as", "right", "95 %", *([f"all {opening.draws} right"] if repeated else []), "to best", "95 %",
               "p", "won", "lost"]  # fmt: skip
    rows = [_row(line, found.best_member, repeated) for line in found.lines]
    for name, bound in (("a random member", found.random_member), ("oracle", found.oracle)):
        if bound is not None:
            shares = [percent(bound.right), between(bound.interval), *([""] if repeated else [])]
            rows.append([name, "bound", *shares, *[""] * 5])
    note = (
        "“To best” is the difference to the best member in percentage points, on the tasks that both were graded on, "
        "with a paired bootstrap interval. The p is exact McNemar’s (a sign flip’s for graded scores): how likely such "
        "a difference is by chance. It has Holm’s correction, since of many comparisons some look large by chance, "
        "over the mixtures and the plain vote, over members, and over copies and placebos."
    )
    return [Rows(columns, rows), Words(note, "note")] if found.lines else []


def _row(line: Line, best: str | None, repeated: bool) -> list[str]:
    versus = line.to_best
    return [
        line.arm,
        "unfit" if line.unfit else "best member" if line.arm == best else PARTS[line.part],
        percent(line.right),
        between(line.interval),
        *([percent(line.all_right)] if repeated else []),
        points(versus.difference) if versus else "",
        between(versus.interval) if versus else "",
        _p(versus) if versus else "",
        str(versus.wins) if versus else "",
        str(versus.losses) if versus else "",
    ]


def _takes(found: Results) -> list[Block]:
    columns = ["who", "calls", "tokens in", "out", "USD", "s, median", "95th", "silent", "partial", "failed"]
    rows = [
        [
            line.arm,
            figure(line.calls),
            f"{line.tokens_in:,.0f}",
            f"{line.tokens_out:,.0f}",
            figure(line.usd),
            figure(line.seconds_p50),
            figure(line.seconds_p95),
            str(line.abstained),
            str(line.degraded),
            str(line.failed + line.ungraded),
        ]
        for line in found.lines
    ]
    note = (
        "Calls, tokens, USD and seconds are what one answer takes alone: calls that were shared count for each, and "
        "take as long as when they were made, with as many other questions under way. “Silent” had nothing to say; in "
        "“partial” answers somebody was missing; “failed” gave no answer, or none that could be graded."
    )
    kinds: Counter[str] = Counter()
    for line in found.lines:
        kinds.update(line.failures)
    failed = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
    made: list[Block] = [Rows(columns, rows), Words(note, "note")]
    return [*made, Words(f"Failures: {failed}.", "warning")] if failed else made


def _remarks(found: Results) -> list[Block]:
    """Of each arm what was noted most often: verdicts that could not be read, and what stood in for them."""
    rows = [
        [line.arm, f"{count:,}", remark]
        for line in found.lines
        for remark, count in list(line.remarks.items())[:MOST_REMARKS]
    ]
    note = (
        "On the way to so many answers. What could not be read, or stood in for another, is never taken for a verdict."
    )
    return [Rows(["who", "answers", ""], rows), Words(note, "note")]


def _p(contrast: Contrast) -> str:
    return chance(contrast.p_holm).removeprefix("p ").removeprefix("= ")


def _equal(found: Results) -> list[Block]:
    words = {"calls": "calls", "tokens": "tokens", "usd": "USD"}
    rows = [
        [
            each.mixture,
            words[each.by],
            figure(each.budget),
            each.copies,
            figure(each.copies_budget) + (" (no more are drawn)" if each.capped else ""),
            points(each.versus.difference),
            between(each.versus.interval),
            _p(each.versus),
            str(each.versus.wins),
            str(each.versus.losses),
        ]
        for each in found.equal_budget
    ]
    note = (
        "Self-consistency: the answer most draws of one member give, with the fewest draws that take as many calls, "
        "tokens or USD as the mixture’s answer does on average. A mixture that does not beat this is paid for its "
        "calls, not for its agents. The member that is copied is the best one whose draws can differ."
    )
    return [
        Rows(
            ["mixture", "for as many", "it takes", "copies", "they take", "difference", "95 %", "p", "won", "lost"],
            rows,
        ),
        Words(note, "note"),
    ]


def _placebos(found: Results) -> list[Block]:
    rows = [
        [each.arm, points(each.difference), between(each.interval), _p(each), str(each.wins), str(each.losses)]
        for each in found.placebos
    ]
    note = (
        "Each mixture against itself on the same replies of its members, where all that agents would hear of one "
        "another is replaced by filler of as many tokens."
    )
    return [Rows(["mixture", "difference", "95 %", "p", "won", "lost"], rows), Words(note, "note")]


def _ceiling(run: BenchRun, sheet: Sheet, found: Results) -> list[Section]:
    members = [line.arm for line in found.lines if line.part == "member"]
    blocks: list[Block] = []
    if found.oracle is not None and found.best_member is not None:
        best = next(line for line in found.lines if line.arm == found.best_member)
        blocks.append(
            Words(
                f"Some member is right on {percent(found.oracle.right)} of the tasks {between(found.oracle.interval)}; "
                f"the best one is on {percent(best.right)}. What lies between is all that votes, routers and cascades "
                "of these answers can gain."
            )
        )
    if found.difficulty:
        blocks.append(_groups(found.difficulty, found.lines))
        blocks.append(
            Words(
                "Tasks by how many members were right. The groups are made of the members’ own answers, "
                "so theirs are not to be compared within a group; those of mixtures are.",
                "note",
            )
        )
    made = [Section("The ceiling", blocks)] if blocks else []
    table = members_table(run, sheet, members)
    if table is not None:
        with contextlib.suppress(UsageError):  # too few tasks that all members were graded on
            made += diagnose(table, only=["redundancy"]).sections()[1:]
    return made


def members_table(run: BenchRun, sheet: Sheet, members: Sequence[str]) -> Table | None:
    """The members' outcomes, as `motet measure` takes them; None where there are too few."""
    if len(members) < 2 or len(sheet.tasks) < 2:
        return None
    correct = np.stack([sheet.scores(member) for member in members], axis=1)
    if not np.isfinite(correct).any():
        return None
    usd = np.stack([sheet.columns[member].usd.mean(axis=1) for member in members], axis=1)
    topics = tuple(run.tasks[task].topic for task in sheet.tasks)
    return Table(sheet.tasks, tuple(members), correct, cost=usd, topics=topics, source=run.name)


def _cost(found: Results) -> list[Block]:
    priced = any(line.usd > 0 for line in found.lines)
    lines = [line for line in found.lines if np.isfinite(line.right) and not line.unfit and line.part != "placebo"]
    costs = [line.usd if priced else line.tokens_in + line.tokens_out for line in lines]
    on = set(pareto([line.right for line in lines], costs).tolist()) if lines else set()
    rows = [
        (
            cost,
            line.right,
            line.arm,
            PARTS[line.part],
            place in on,
            line.interval[0] if line.interval else None,
            line.interval[1] if line.interval else None,
        )
        for place, (line, cost) in enumerate(zip(lines, costs, strict=True))
    ]
    unit = "USD" if priced else "tokens"
    efficient = ", ".join(lines[place].arm for place in sorted(on, key=lambda place: costs[place]))
    return [
        Words(f"Nobody is both better and cheaper than these: {efficient}."),
        Chart(
            "cost",
            f"Right answers against {unit} an answer",
            "Bars are 95 % intervals; the line joins those that nobody beats at no more cost.",
            "points",
            ("x", "y", "label", "series", "joined", "low", "high"),
            rows,
            x=f"{unit} an answer",
            y="right",
            percent=("y",),
            logarithmic=all(cost > 0 for cost in costs),
        ),
    ]


def _groups(groups: Sequence[Group], lines: Sequence[Line]) -> Rows:
    columns = ["who", *(f"{group.name} ({group.tasks:,})" for group in groups)]
    return Rows(columns, [[line.arm, *(percent(group.right[line.arm]) for group in groups)] for line in lines])


def _topics(found: Results) -> Rows:
    """Topics by the best member and the mixtures; the picture has the others too."""
    chosen = [line.arm for line in found.lines if line.part == "mixture" or line.arm == found.best_member]
    chosen = chosen or [line.arm for line in found.lines]
    rows = [[group.name, f"{group.tasks:,}", *(percent(group.right[arm]) for arm in chosen)] for group in found.topics]
    return Rows(["topic", "tasks", *chosen], rows)


def _heat(name: str, title: str, groups: Sequence[Group], lines: Sequence[Line]) -> Chart:
    rows = [(group.name, line.arm, group.right[line.arm]) for line in lines for group in groups]
    return Chart(name, title, "The share of tasks that each got right.", "heat", ("x", "y", "value"), rows,
                 percent=("value",))  # fmt: skip


def _made(opening: Opening) -> Rows:
    facts = {
        "command": opening.command,
        "date": opening.date,
        "motet": opening.version,
        "python": opening.python,
        "machine": opening.machine,
        "suite": f"{opening.suite} ({', '.join(filter(None, (opening.source, opening.licence)))})",
        "tasks": f"{opening.tasks:,}, {opening.draws} times each" if opening.draws > 1 else f"{opening.tasks:,}",
        "seed": str(opening.seed),
        "scorer": opening.scorer,
        "told": opening.instructions,
        "models": ", ".join(f"{name} ({what[:12]})" for name, what in sorted(opening.models.items())),
    }
    return Rows(["", ""], [[name, value] for name, value in facts.items() if value])


# ---- the cases


def _cases(run: BenchRun, sheet: Sheet, found: Results, most: int) -> list[Section]:
    members = [line.arm for line in found.lines if line.part == "member"]
    mixtures = [line.arm for line in found.lines if line.part == "mixture"]
    best = found.best_member
    if best is None or not mixtures:
        return []
    chosen = {
        (mixture, word): pick(sheet, mixture, best, members, most)
        for mixture in mixtures
        for word, pick in (("helped", helped), ("harmed", harmed))
    }
    texts = _texts(run, {task for tasks in chosen.values() for task in tasks}, {best, *mixtures})
    made = []
    for mixture in mixtures:
        blocks: list[Block] = []
        for word in ("helped", "harmed"):
            tasks = chosen[mixture, word]
            if not tasks:
                blocks.append(Words(f"It {word} nowhere."))
                continue
            rows = [_case(run.tasks[task], mixture, best, members, sheet, texts) for task in tasks]
            blocks.append(Words(f"It {word}, the clearest {len(rows)}:" if len(rows) == most else f"It {word}:"))
            columns = ["task", "question", "accepted", f"{best} said", f"{mixture} said", "members right"]
            blocks.append(Rows(columns, rows))
        made.append(Section(f"Where {mixture} helped and harmed", blocks))
    return made


def _texts(run: BenchRun, tasks: set[str], arms: set[str]) -> dict[tuple[str, str], str]:
    return {
        (cell.task, cell.arm): cell.text or f"({cell.state})"
        for cell in run.cells()
        if cell.draw == 0 and cell.task in tasks and cell.arm in arms
    }


def _case(
    task: Task, mixture: str, best: str, members: Sequence[str], sheet: Sheet, texts: Mapping[tuple[str, str], str]
) -> list[str]:
    place = sheet.tasks.index(task.id)
    right = sum(bool(sheet.right(member)[place]) for member in members)
    question = shortened(task.input, 160)
    return [
        task.id,
        question,
        shortened(", ".join(task.answers), 60),
        shortened(texts.get((task.id, best), ""), 80),
        shortened(texts.get((task.id, mixture), ""), 80),
        f"{right} of {len(members)}",
    ]


# ---- the tasks


def _question(task: Task) -> str:
    blocks = [task.input, options_of(task.choices), *(f"{each.name}:\n{each.text}" for each in task.attachments)]
    return "\n\n".join(filter(None, blocks))[:SHOWN]


def _answer(cell: Cell, *, several: bool) -> Answer:
    return Answer(
        arm=f"{cell.arm}, draw {cell.draw + 1}" if several else cell.arm,
        text=cell.text[:SHOWN],
        grade=cell.score,
        state=cell.state,
        note=cell.error,
        usd=cell.alone.usd,
        calls=cell.alone.calls,
        seconds=cell.seconds,
        asks=[
            Ask(said.agent, said.state, said.text[:SHOWN], list(said.heard), said.seconds, depth=said.depth - 1)
            for said in cell.asks
        ],
    )


def _tags(sheet: Sheet, found: Results) -> dict[str, tuple[str, ...]]:
    """What a task can be found by: who helped and harmed on it, and how the members did."""
    members = [line.arm for line in found.lines if line.part == "member"]
    scores = {line.arm: sheet.scores(line.arm) for line in found.lines}
    tags: dict[str, list[str]] = {}

    def put(tag: str, places: Iterable[int]) -> None:
        for place in places:
            tags.setdefault(sheet.tasks[place], []).append(tag)

    best = found.best_member
    if best is not None:
        for line in found.lines:
            if line.part == "mixture":
                gain = np.nan_to_num(scores[line.arm] - scores[best])
                put(f"{line.arm} helped", np.flatnonzero(gain > 0).tolist())
                put(f"{line.arm} harmed", np.flatnonzero(gain < 0).tolist())
    if len(members) > 1:
        right = np.stack([sheet.right(member) for member in members])
        put("no member right", np.flatnonzero(~right.any(axis=0)).tolist())
        put("every member right", np.flatnonzero(right.all(axis=0)).tolist())
        put("members differ", np.flatnonzero(right.any(axis=0) & ~right.all(axis=0)).tolist())
    number = STATES.index("failed")
    failed = [np.flatnonzero((sheet.columns[line.arm].states == number).any(axis=1)) for line in found.lines]
    put("failed", sorted({int(place) for places in failed for place in places}))
    return {task: tuple(several) for task, several in tags.items()}
