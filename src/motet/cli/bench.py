"""`motet bench`: agents and mixtures over the tasks of a suite, and the runs that were made so."""

from __future__ import annotations

import gc
import shlex
import sys
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from motet.cli.codes import Code
from motet.cli.options import Config, Json, complete_benches, complete_lists, complete_suites

if TYPE_CHECKING:
    from motet.bench.plan import Plan
    from motet.bench.run import BenchRun
    from motet.bench.sheet import Sheet
    from motet.bench.task import Suite
    from motet.journal import Journal
    from motet.page.page import Section
    from motet.spec import Config as Configuration


class _RunsByDefault(TyperGroup):
    """Verbs under one name, of which `run` is meant where none is named: `motet bench general`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and args[0] not in (*self.commands, "-h", "--help"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_RunsByDefault,
    help="Compare agents and mixtures on a suite.",
    epilog="`motet bench SUITE` is short for `motet bench run SUITE`.",
    invoke_without_command=True,
)


@app.callback()
def alone(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


File = Annotated[
    Path | None, typer.Option("--file", metavar="PATH", help="The journal; by default the one of this user.")
]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="A run: its name, the beginning of it, or `last`.", autocompletion=complete_benches
    ),
]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page with charts and every task.")]


@app.command("run")
def run(
    suite: Annotated[
        str,
        typer.Argument(metavar="SUITE", help="A built-in suite, or a file of tasks.", autocompletion=complete_suites),
    ],
    arms: Annotated[
        str,
        typer.Option(
            "--with", metavar="A,B", help="Who answers: mixtures, agents, models.", autocompletion=complete_lists
        ),
    ] = "",
    members: Annotated[
        bool, typer.Option("--members/--no-members", help="Whether the mixtures' members answer alone as well.")
    ] = True,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Copies of the best member, plain vote, placebos.")
    ] = True,
    placebos: Annotated[
        bool, typer.Option("--placebos/--no-placebos", help="The placebos alone, if there are baselines.")
    ] = True,
    n: Annotated[int | None, typer.Option("--n", metavar="N", min=1, help="How many tasks.")] = None,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="How often each task is put.")] = 1,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Same seed, same run.")] = 0,
    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Questions under way at once.")] = 8,
    budget_usd: Annotated[
        float | None, typer.Option(metavar="N", min=0, help="US dollars at most for the whole run.")
    ] = None,
    scorer: Annotated[
        str, typer.Option(metavar="NAME[:K=V,…]", help="How replies are graded, if not as the suite says.")
    ] = "",
    instructions: Annotated[str, typer.Option(metavar="TEXT", help="What agents are told besides each question.")] = "",
    judge: Annotated[str, typer.Option(metavar="NAME", help="The agent that grades, where a scorer asks one.")] = "",
    name: Annotated[str, typer.Option("--run", metavar="NAME", help="The run's name; one that there is goes on.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on though something has changed.")] = False,
    join: Annotated[bool, typer.Option("--join", help="Go on while another process does.")] = False,
    again: Annotated[bool, typer.Option("--retry-failed", help="Ask again where answers failed.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it will take, and ask nobody.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, whatever it may cost.")] = False,
    html: Html = None,
    file: File = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Run a suite, or go on with a run.

    Killed or interrupted, the same command goes on: nothing that was finished is lost, or paid for again.
    """
    from motet import api
    from motet.bench.ask import chat_of
    from motet.bench.entrants import copies_of, entrants
    from motet.bench.grade import scorer_of
    from motet.bench.plan import plan
    from motet.bench.run import read_run
    from motet.bench.runner import run_suite
    from motet.bench.suite import load_suite
    from motet.budget import Budget
    from motet.cli import fetching, output
    from motet.cli.draining import draining
    from motet.cli.measure import check_page
    from motet.cli.progress import progress
    from motet.errors import UsageError
    from motet.journal import Journal, default_path

    if html is not None:
        check_page(html, [path for path in (Path(suite), file or default_path(), config) if path is not None])
    tasks = _told(load_suite(suite, n=n, seed=seed), scorer, instructions)
    known = api.configuration(config)
    names = list(dict.fromkeys(part.strip() for part in arms.split(",") if part.strip()))
    if not names and arms:
        raise UsageError(f"--with {arms!r} names nobody: give names with commas between them")
    names = names or [known.default]
    asks = scorer_of(tasks, tasks.tasks[0], judge=known.agent(judge) if judge else None)
    if judge and not getattr(asks, "agent", None):
        raise UsageError(f"--judge {judge}: {tasks.name} is graded by {tasks.scorer}, which asks nobody; see --scorer")
    if not dry_run:
        for each in [*names, *filter(None, [judge])]:
            fetching.ensure(known, each)
    named = {each: known.agent(each) for each in names}
    sample = chat_of(tasks.tasks[0], tasks)
    found = entrants(named, sample, members=members, baselines=baselines, placebos=placebos)
    models = known.identities([*names, *filter(None, [judge])])
    judged = [judge, known.subset(judge)] if judge else []
    without = [] if placebos else ["no placebos"]
    name = name or _name(tasks, known, names, [models, members, baselines, repeat, seed, *without, *judged])
    with Journal(file or default_path()) as journal:
        earlier = _answered(journal, name, found)
        if dry_run or _unlimited(budget_usd, yes):
            planned = plan(
                tasks,
                found,
                repeat=repeat,
                seed=seed,
                concurrency=concurrency,
                copies=baselines and members,
                known=earlier,
                judge=known.agent(judge) if judge else None,
                typical=journal.typical,
            )
            if dry_run:
                output.json(planned) if json else show_plan(planned, name)
                return
            _agreed(planned)
        total = len(tasks.tasks) * repeat * len(found)
        there = f", {earlier:,} of them are there already" if earlier else ""
        after = ", and then copies of the best member" if baselines and members else ""
        begun = f"run {name}: {total:,} answers{there}{after}"
        gc.freeze()  # the suite stays for the whole run: the collector need not look through it again and again
        gc.set_threshold(20_000)  # and what a question makes is in few cycles
        with (
            warnings.catch_warnings(),
            draining(_command()) as stop,
            progress(total, earlier, budget_usd, begun) as shown,
        ):
            # Where a reply can't be kept, no further call is made, and the run ends with an error that says why.
            warnings.filterwarnings("ignore", "a reply of .* was not kept", RuntimeWarning)
            sheet = api.background(
                run_suite(
                    tasks,
                    found,
                    journal=journal,
                    name=name,
                    models=models,
                    repeat=repeat,
                    seed=seed,
                    concurrency=concurrency,
                    budget=Budget(usd=budget_usd),
                    question=known.budget,
                    judge=known.agent(judge) if judge else None,
                    more=shown.more(copies_of(found)) if baselines and members else lambda _: {},
                    watch=shown.watch,
                    stop=stop.is_set,
                    resume=resume,
                    join=join,
                    again=again,
                    command=_command(),
                )
            )
        if stop.is_set() and not sheet.whole:
            left = sum(int((~column.there).sum()) for column in sheet.columns.values())
            output.say(
                f"motet: interrupted; what is finished is kept, {left:,} answers are left. To go on: {_command()}",
                style="yellow",
            )
            raise typer.Exit(stop.code)
        _report(read_run(journal, name), sheet, html=html, json=json)
        if all(column.unfit for column in sheet.columns.values()):
            raise typer.Exit(Code.FAILED)


@app.command("list")
def list_(file: File = None, json: Json = False) -> None:
    """List the runs that were made."""
    from motet.bench.run import KIND, answered, openings_of
    from motet.cli import output, shapes

    found = []
    with _opened(file) as journal:
        for info in journal.runs():
            if info.kind != KIND:
                continue
            openings = openings_of(journal, info.name)
            if not openings:  # killed before it had begun
                continue
            opening, counts = openings[-1], journal.counts(info.name)
            found.append(
                shapes.Bench(
                    run=info.name,
                    date=opening.date,
                    suite=opening.suite,
                    tasks=opening.tasks,
                    arms=[arm.name for arm in opening.arms],
                    answered=answered(opening, counts),
                    expected=len(opening.arms) * opening.tasks * opening.draws,
                    usd=shapes.dollars(journal.spent(info.name).usd),
                )
            )
    if json:
        output.json(shapes.Benches(found))
        return
    if not found:
        output.say("no run was made yet: motet bench general")
        return
    rows = [
        (
            each.run,
            each.date[:16].replace("T", " "),
            each.suite,
            f"{each.tasks:,}",
            f"{each.answered:,} of {each.expected:,}",
            f"{each.usd:.4f}",
            ", ".join(each.arms),
        )
        for each in found
    ]
    columns = ("run", "date", "suite", "tasks", "answers", "USD", "who answers")
    output.show(output.table(columns, rows, cut=("who answers",)))


@app.command()
def show(
    name: RunName = "last",
    cases: Annotated[int, typer.Option(metavar="N", min=0, help="Cases of help and harm shown of each.")] = 0,
    html: Html = None,
    file: File = None,
    json: Json = False,
) -> None:
    """Show what a run found."""
    from motet.bench.run import read_run
    from motet.cli.measure import check_page

    if html is not None:
        check_page(html, [])
    with _opened(file) as journal:
        made = read_run(journal, name)
        _report(made, made.sheet(), html=html, json=json, cases=cases)


@app.command()
def compare(first: RunName, second: RunName, file: File = None, json: Json = False) -> None:
    """Compare two runs, arm by arm, on the tasks that both have."""
    from motet.bench.compare import compare as compared
    from motet.bench.compare import sections
    from motet.bench.run import read_run
    from motet.cli import output
    from motet.cli.measure import show as shown

    with _opened(file) as journal:
        found = compared(read_run(journal, first), read_run(journal, second))
    if json:
        output.json(found)
    else:
        shown(sections(found))


@app.command("export")
def export(
    name: RunName,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to: a file, or a folder for one .eval an arm.")],
    format: Annotated[
        str,
        typer.Option(metavar="NAME", help="csv, parquet, jsonl, atif or eval, where the name does not end so."),
    ] = "",
    arms: Annotated[
        list[str] | None,
        typer.Option("--arm", metavar="NAME", help="Only the answers of this arm; may be given several times."),
    ] = None,
    file: File = None,
    json: Json = False,
) -> None:
    """Write a run's answers as a table, as logs of Inspect, or as trajectories."""
    from motet.bench.export import export as exported
    from motet.bench.run import read_run
    from motet.cli import output, shapes
    from motet.cli.measure import working

    count = 0

    def watch(written: int) -> None:
        nonlocal count
        count = written
        if written % 100 == 0:
            step(f"{written:,} answers written")

    with _opened(file) as journal, working() as step:
        made = read_run(journal, name)
        paths = exported(made, out, format, arms=arms or (), watch=watch)
    if json:
        output.json(shapes.BenchExported(run=made.name, files=[str(path) for path in paths], answers=count))
    else:
        files = str(paths[0]) if len(paths) == 1 else f"{len(paths)} files in {out}"
        output.say(f"{count:,} answers are in {files}", style="green")


@app.command()
def rm(
    name: RunName,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    file: File = None,
    json: Json = False,
) -> None:
    """Remove a run; its calls stay known. It wants the whole name."""
    from motet.bench.run import read_run
    from motet.cli import fetching, output, shapes
    from motet.errors import UsageError

    with _opened(file) as journal:
        made = read_run(journal, name)
        if made.name != name:
            raise UsageError(f"give the whole name of the run that is to be removed: {made.name!r}?")
        if not yes:
            if not fetching.asks():
                raise UsageError(f"the run {made.name!r} would be removed with its answers: give --yes")
            if not fetching.agreed(f"Remove the run {made.name!r} with its answers?", default=False):
                return
        removed = journal.remove(made.name)
    if json:
        output.json(shapes.BenchRemoved(run=made.name, records=removed))
    else:
        output.say(f"removed {made.name}; its calls stay known, so the same command is answered from the journal")


# ---- inside


def _command() -> str:
    return f"motet {shlex.join(sys.argv[1:])}"


def _opened(file: Path | None) -> Journal:
    """A journal that is there, to read in.

    Raises:
        UsageError: it is not.
    """
    from motet.errors import UsageError
    from motet.journal import Journal, default_path

    if file is not None and not file.exists():
        raise UsageError(f"there is no journal {file}")
    return Journal(file or default_path())


def _told(suite: Suite, scorer: str, instructions: str) -> Suite:
    """A suite that is graded, or asked, as the command line says.

    Raises:
        UsageError: the scorer's settings can't be read.
    """
    import msgspec

    from motet.errors import UsageError

    if scorer:
        word, _, rest = scorer.partition(":") if "." not in scorer.partition(":")[0] else (scorer, "", "")
        options: dict[str, object] = {}
        for each in filter(None, rest.split(",")):
            key, equals, value = each.partition("=")
            if not equals:
                raise UsageError(f"--scorer {scorer}: {each!r} should be a setting and its value, as in tolerance=0.01")
            try:
                options[key.strip()] = msgspec.json.decode(value)
            except msgspec.DecodeError:
                options[key.strip()] = value
        suite = msgspec.structs.replace(suite, scorer=word, options=options)
    return msgspec.structs.replace(suite, instructions=instructions) if instructions else suite


def _name(suite: Suite, known: Configuration, names: list[str], rest: list[object]) -> str:
    """A name that says what is asked, so that the same command finds its run again; with anything else it is another.

    What an agent is made of is part of it: where the configuration changes, a new run begins.
    """
    from motet.message import digest

    made = digest([suite.key, names, [known.subset(name) for name in names], *rest])
    return f"{suite.name}-{len(suite.tasks)}-{made[:8]}"


def _answered(journal: Journal, name: str, arms: Collection[str]) -> int:
    """How many answers of these arms a run has, if it is there."""
    from motet.bench.run import answered, openings_of
    from motet.errors import UsageError

    try:
        openings = openings_of(journal, name)
    except UsageError:
        return 0
    return answered(openings[-1], journal.counts(name), arms) if openings else 0


def _unlimited(budget_usd: float | None, yes: bool) -> bool:
    return budget_usd is None and not yes


def _agreed(planned: Plan) -> None:
    """Ask before much may be paid.

    Raises:
        UsageError: nobody can be asked, or does not agree.
    """
    from motet.bench.plan import ASK_ABOVE_USD
    from motet.cli import fetching
    from motet.errors import UsageError

    most = planned.whole.usd + planned.copies_usd
    if most <= ASK_ABOVE_USD or planned.known >= planned.answers:
        return
    likely = planned.whole.likely_usd
    told = f"this may cost up to {most:.2f} USD" + (f", likely {likely:.2f}" if likely is not None else "")
    if not fetching.asks():
        raise UsageError(f"{told}: give --budget-usd to limit it, or --yes; --dry-run says more")
    if not fetching.agreed(f"{told[0].upper()}{told[1:]}. Go on?", default=False):
        raise UsageError("nothing was asked: give --budget-usd to limit what it may cost")


def _report(made: BenchRun, sheet: Sheet, *, html: Path | None, json: bool, cases: int = 0) -> None:
    from motet.bench.report import browser, sections
    from motet.bench.results import results_of
    from motet.cli import output
    from motet.cli.measure import show as shown
    from motet.cli.measure import write_page

    found = results_of(made, sheet)
    if html is not None:
        whole: list[Section] = [*sections(made, sheet, found), browser(made, sheet, found)]
        write_page(
            html, f"{made.opening.suite}: {made.name}", whole, f"motet {made.opening.version}, {made.opening.date}"
        )
    if json:
        output.json(found)
    else:
        shown(sections(made, sheet, found, cases=cases))
    if html is not None:
        output.say(f"wrote {html}")


def show_plan(planned: Plan, name: str) -> None:
    """Write for people what a run will take."""
    from motet.cli import output
    from motet.diagnosis.text import figure

    def likely(value: float | None) -> str:
        return "?" if value is None else figure(value)

    rows = [
        (
            each.arm or "together",
            f"{each.calls:,}",
            f"{each.input:,}",
            f"{each.output:,}",
            f"{each.usd:.4f}",
            likely(each.likely_output),
            likely(each.likely_usd),
            likely(each.likely_seconds),
        )
        for each in (*planned.arms, planned.whole)
    ]
    columns = ("arm", "calls", "tokens in", "out", "USD", "likely out", "likely USD", "likely s")
    output.show(output.table(columns, rows, wraps=("arm",)))
    output.data("\n")
    known = f"; {planned.known:,} of them are there already" if planned.known else ""
    output.paragraph(f"{name}: {planned.answers:,} answers{known}. At most so much; calls that arms share count once.")
    if planned.copies:
        cost = f", for up to {planned.copies_usd:.4f} USD" if planned.copies_usd else ""
        output.paragraph(
            f"Up to {planned.copies} draws a task of one member are added{cost}, to compare at an equal budget."
        )
    if planned.unpriced:
        output.paragraph(f"Counted as 0 USD, since no price is known: {', '.join(planned.unpriced)}.")
    if planned.unseen:
        output.paragraph(
            f"No call is in the journal yet of {', '.join(planned.unseen)}, so nothing likely can be said: a run with "
            "--n 5 changes that."
        )
