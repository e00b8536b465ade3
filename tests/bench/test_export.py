"""A run in the formats of others: nothing is lost in any of them, and those who read them find what the run found."""

from __future__ import annotations

import asyncio
import csv
import importlib.util
import json
import os
import resource
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from motet.agent import ModelAgent
from motet.backends.scripted import Scripted
from motet.bench.cell import Cell, Said
from motet.bench.export import export, rows
from motet.bench.export.rows import Row, rows_of
from motet.bench.run import BenchRun, read_run
from motet.bench.runner import run_suite
from motet.bench.task import Attachment, Suite, Task
from motet.compose.debate import Debate
from motet.compose.vote import Vote
from motet.errors import BackendError, UsageError
from motet.journal import Journal
from motet.message import Message, Part, Reply, Request, Usage
from motet.tables.read import read

REFERENCE = Path(__file__).parents[2] / "docs/reference/export.md"
IMAGE = Part.of({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}})
TASKS = (
    Task("plain", "2 + 2?", ("4",), topic="sums", metadata={"level": 1, "note": "é" * 3000}),
    Task("sub/dir é=1", '=cmd("2+2")\r\n\u2028"what?",\0', ("4", "four"), topic="sums"),
    Task("choice", "Which is the capital of Peru?", ("B",), choices=("Cusco", "Lima")),
    Task("talk", "And 3?", ("3",), messages=(
        Message("system", "Be brief."), Message("user", "2?"), Message("assistant", "2"),
        Message("user", "And 3?", (IMAGE,)),
    )),
    Task("file", "Read it.", ("4",), attachments=(Attachment("a.txt", "```\n4"),)),
    Task("=1+1", "-1 - 4?", ("-5",), topic="=SUM(A1)"),
)  # fmt: skip
SAID = {
    "2 + 2?": "The answer is 4.",
    "And 3?": '\0\ud83d\ude00 \ud800"\x1b[2J,\r\n=HYPERLINK("x")\u2028\u2029\x85 3',
    "Read it.": "unreadable",
    "-1 - 4?": "-5",
}


def grades(text: str, task: Task) -> float:
    """Right, half right or wrong; one text can't be read."""
    if text == "unreadable":
        raise ValueError("can't\nread \u2028 it")
    return 1.0 if any(answer in text for answer in task.target) else 0.5 if text == "half" else 0.0


def say(request: Request) -> Reply:
    """Knows some answers; costs a cent."""
    question = request.question.partition("\n")[0]
    return Reply(SAID.get(question, "B) Lima"), usage=Usage(1, 12, 2, 5, 1, usd=0.01))


def fails(request: Request) -> Reply:
    """Fails on one question, has nothing to say to another, and is half right otherwise."""
    if request.question == "2 + 2?":
        raise BackendError("server", "down", retry=False)
    return Reply("", finish="abstain") if request.question.startswith("And") else Reply("half")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BenchRun]:
    """A run with two members, a vote and a debate, each task put twice."""
    knows, shaky = ModelAgent(Scripted(say, name="knows"), "knows"), ModelAgent(Scripted(fails, name="x"), "sh/aky")
    arms = {"knows": knows, "sh/aky": shaky, "vote": Vote([knows, shaky]), "=talk": Debate([knows, shaky])}
    suite = Suite("hostile", TASKS, scorer=grades, instructions="Answer.")
    with Journal(tmp_path_factory.mktemp("run") / "journal.sqlite") as journal:
        asyncio.run(run_suite(suite, arms, journal=journal, name="first", repeat=2, command="motet bench x"))
        found = read_run(journal, "first")
        assert {cell.state for cell in found.cells()} >= {"full", "failed", "abstained"}
        assert {cell.score for cell in found.cells()} == {0, 0.5, 1, None}
        yield found


@pytest.fixture
def small(tmp_path: Path) -> Iterator[BenchRun]:
    """A run of one arm that is right or wrong, each task put once."""
    with Journal(tmp_path / "journal.sqlite") as journal:
        arms = {"knows": ModelAgent(Scripted(say, name="knows"), "knows")}
        suite = Suite("s", TASKS[:4], scorer="contains")
        asyncio.run(run_suite(suite, arms, journal=journal, name="small"))
        yield read_run(journal, "small")


def expected(run: BenchRun) -> list[Row]:
    """All rows."""
    return list(rows_of(run, run.cells()))


# ---- rows


def test_rows_say_what_the_cells_do(run: BenchRun) -> None:
    """Each answer is a row with its grade, its texts as they were, and both what it takes alone and what was paid."""
    made, cells = expected(run), list(run.cells())
    assert len(made) == len(cells) == len(TASKS) * 2 * 4
    for row, cell in zip(made, cells, strict=True):
        assert (row.task_id, row.agent, row.sample, row.correct) == (cell.task, cell.arm, cell.draw + 1, cell.score)
        assert (row.text, row.error, row.state) == (cell.text, cell.error, cell.state)
        assert (row.usd, row.paid_usd, row.saved_usd) == (cell.alone.usd, cell.usage.usd, cell.usage.saved_usd)
    assert sum(row.paid_usd for row in made) == pytest.approx(run.journal.spent("first").usd)
    assert {row.answer for row in made if row.agent == "knows" and row.task_id == "plain"} == {"4"}
    assert next(row.question for row in made if row.task_id == "choice").endswith("A) Cusco\nB) Lima")


def test_csv_holds_every_text(run: BenchRun, tmp_path: Path) -> None:
    """What a reader of CSV gets is each text as it was, formulas and line ends too, but for NUL."""
    [path] = export(run, tmp_path / "a.csv")
    with path.open(newline="", encoding="utf-8") as stream:
        head, *found = csv.reader(stream, strict=True)
    assert tuple(head) == Row.__struct_fields__
    for row, texts in zip(expected(run), found, strict=True):
        values = dict(zip(head, texts, strict=True))
        for name in ("text", "question", "error", "topic", "task_id", "agent"):
            assert values[name] == getattr(row, name).replace("\0", "�")
        assert values["correct"] == ("" if row.correct is None else str(row.correct))
        assert json.loads(values["targets"]) == list(row.targets)
        assert float(values["seconds"]) == row.seconds
    assert b"\0" not in path.read_bytes()


def test_json_lines_are_lines_to_everybody(run: BenchRun, tmp_path: Path) -> None:
    """Each line is one row, also to readers that end lines at U+2028, and nothing of it is lost."""
    [path] = export(run, tmp_path / "a.jsonl")
    lines = path.read_text("utf-8").splitlines()
    assert [msgspec.json.decode(line, type=Row) for line in lines] == expected(run)


def test_parquet_has_types(run: BenchRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers are numbers, an ungraded answer is null, texts are whole, and rows come in groups."""
    monkeypatch.setattr(rows, "GROUP", 7)
    [path] = export(run, tmp_path / "a.parquet")
    file = pq.ParquetFile(path)
    assert file.metadata.num_row_groups == 7
    table = file.read()
    assert [Row(**{**row, "targets": tuple(row["targets"])}) for row in table.to_pylist()] == expected(run)
    kinds = {name: table.schema.field(name).type for name in Row.__struct_fields__}
    assert (kinds["sample"], kinds["correct"], kinds["text"]) == (pa.int64(), pa.float64(), pa.string())
    assert kinds["targets"] == pa.list_(pa.string())
    assert table["correct"].null_count == sum(cell.score is None for cell in run.cells()) > 0


def test_pandas_and_duckdb_read_parquet(run: BenchRun, tmp_path: Path) -> None:
    """Both find the mean score of each arm."""
    pandas, duckdb = pytest.importorskip("pandas"), pytest.importorskip("duckdb")
    [path] = export(run, tmp_path / "a.parquet")
    graded: dict[str, list[float]] = {}
    for cell in run.cells():
        if cell.score is not None:
            graded.setdefault(cell.arm, []).append(cell.score)
    means = {arm: pytest.approx(float(np.mean(scores))) for arm, scores in graded.items()}
    assert pandas.read_parquet(path).groupby("agent").correct.mean().to_dict() == means
    assert dict(duckdb.sql(f"select agent, avg(correct) from '{path}' group by agent").fetchall()) == means


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "logs"])
def test_measure_finds_the_same(run: BenchRun, tmp_path: Path, name: str) -> None:
    """`motet measure` reads it without being told what it is, and has the score of every task and arm."""
    export(run, tmp_path / name, "" if "." in name else "eval")
    table, sheet = read(tmp_path / name), run.sheet()
    assert set(table.agents) == set(sheet.arms)
    for arm in sheet.arms:
        theirs = dict(zip(table.items, table.correct[:, table.agents.index(arm)].tolist(), strict=True))
        ours = dict(zip(sheet.tasks, sheet.scores(arm).tolist(), strict=True))
        assert {task: score for task, score in theirs.items() if score == score} == {
            task: score for task, score in ours.items() if score == score
        }
    assert table.cost is not None
    assert np.nansum(table.cost) == pytest.approx(
        sum(column.usd.mean(axis=1).sum() for column in sheet.columns.values())
    )
    assert dict(zip(table.items, table.topics or (), strict=True))["plain"] == "sums"


# ---- logs of Inspect


def samples(path: Path) -> dict[tuple[str, int], dict[str, object]]:
    """The samples of a log."""
    with zipfile.ZipFile(path) as archive:
        assert len(set(archive.namelist())) == len(archive.namelist())
        found = [json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("samples/")]
        for sample in found:
            assert f"samples/{sample['id']}_epoch_{sample['epoch']}.json" in archive.namelist()
    return {(sample["id"], sample["epoch"]): sample for sample in found}


def member(path: Path, name: str) -> object:
    """A file of a log."""
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(name))


def by_place(run: BenchRun, arm: str) -> dict[tuple[str, int], Cell]:
    """An arm's cells by task and epoch."""
    return {(cell.task, cell.draw + 1): cell for cell in run.cells() if cell.arm == arm}


def test_a_log_holds_an_arm(run: BenchRun, tmp_path: Path) -> None:
    """A file an arm; every answer is a sample with its conversation, score, usage, and what was said on the way."""
    paths = export(run, tmp_path / "logs", "eval")
    assert [path.name for path in paths] == ["knows.eval", "sh-aky.eval", "vote.eval", "talk.eval"]
    for path, arm in zip(paths, run.arms, strict=True):
        found, cells = samples(path), by_place(run, arm)
        assert found.keys() == cells.keys()
        for place, sample in found.items():
            cell = cells[place]
            score = sample.get("scores", {}).get("grades", {}).get("value")  # type: ignore[attr-defined]
            if cell.state in ("failed", "abstained"):
                assert score == "N"
                assert sample["messages"][-1]["role"] == "user"  # type: ignore[index]
            else:
                assert sample["messages"][-1]["content"] == cell.text  # type: ignore[index]
                assert {"C": 1.0, "I": 0.0}.get(score, score) == cell.score
            assert ("error" in sample) == (cell.state == "failed" or cell.score is None)
            asks = sample["metadata"]["motet"]["asks"]  # type: ignore[index]
            assert msgspec.convert(asks, tuple[Said, ...]) == cell.asks
        header = member(path, "header.json")
        assert isinstance(header, dict)
        scores = run.sheet().scores(arm)
        [metric, _] = header["results"]["scores"][0]["metrics"].values()
        assert metric["value"] == pytest.approx(scores[np.isfinite(scores)].mean())
        assert (header["eval"]["model"], header["status"]) == (arm, "success")
        summaries = member(path, "summaries.json")
        assert isinstance(summaries, list)
        assert [(each["id"], each["epoch"]) for each in summaries] == list(found)
        assert max(len(str(each)) for each in summaries) < 20_000


def test_the_same_run_makes_the_same_log(run: BenchRun, tmp_path: Path) -> None:
    """Two exports are the same bytes, also where an arm is named twice."""
    [one], [two] = export(run, tmp_path / "a.eval", arms=["vote"]), export(run, tmp_path / "b.eval", arms=["vote"] * 2)
    assert one.read_bytes() == two.read_bytes()


def test_a_folder_of_logs_is_replaced_and_nothing_else(run: BenchRun, tmp_path: Path) -> None:
    """Earlier logs go when new ones are there; a folder with anything else in it is refused and stays as it is."""
    folder = tmp_path / "logs"
    export(run, folder, "eval")
    export(run, folder, "eval", arms=["vote", "knows"])
    assert sorted(path.name for path in folder.iterdir()) == ["knows.eval", "vote.eval"]
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(UsageError, match=r"holds mine\.txt, which is no earlier export"):
        export(run, folder, "eval")
    assert sorted(path.name for path in folder.iterdir()) == ["knows.eval", "mine.txt", "vote.eval"]


def _inspect() -> str | None:
    """A Python that has inspect_ai."""
    return os.environ.get("MOTET_INSPECT_PYTHON") or (
        sys.executable if importlib.util.find_spec("inspect_ai") else None
    )


INSPECT = """
import json, sys
from inspect_ai.log import (list_eval_logs, read_eval_log, read_eval_log_sample_summaries, read_eval_log_samples,
                            recompute_metrics)
found = {}
for info in list_eval_logs(sys.argv[1]):
    log = read_eval_log(info)
    metrics = [{name: metric.value for name, metric in score.metrics.items()} for score in log.results.scores]
    recompute_metrics(log)
    summaries = read_eval_log_sample_summaries(info)
    streamed = list(read_eval_log_samples(info, all_samples_required=False))
    found[log.eval.model] = {
        "status": log.status, "metrics": metrics,
        "again": [{name: metric.value for name, metric in score.metrics.items()} for score in log.results.scores],
        "ids": sorted((each.id, each.epoch) for each in log.samples),
        "streamed": sorted((each.id, each.epoch) for each in streamed),
        "listed": sorted((each.id, each.epoch) for each in summaries),
        "texts": [each.output.completion for each in log.samples],
        "thin": all(each.summary().scores == next(other for other in summaries if (other.id, other.epoch) ==
                    (each.id, each.epoch)).scores for each in log.samples),
        "errors": sum(each.error is not None for each in log.samples),
        "cost": sum(usage.total_cost for usage in log.stats.model_usage.values()),
    }
print(json.dumps(found))
"""


@pytest.mark.skipif(_inspect() is None, reason="no inspect_ai: name a Python that has it in MOTET_INSPECT_PYTHON")
@pytest.mark.long
def test_inspect_reads_its_logs(run: BenchRun, small: BenchRun, tmp_path: Path) -> None:
    """Inspect's own functions read the logs, list the samples, and compute the same results from them."""
    for number, each in enumerate((run, small)):
        export(each, tmp_path / str(number), "eval")
        command = [_inspect() or "", "-c", INSPECT, str(tmp_path / str(number))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
        found, sheet = json.loads(done.stdout), each.sheet()
        assert found.keys() == each.arms.keys()
        for arm, log in found.items():
            cells = by_place(each, arm)
            places = sorted([task, epoch] for task, epoch in cells)
            assert log["ids"] == log["streamed"] == log["listed"] == places
            assert log["thin"]
            assert Counter(log["texts"]) == Counter(cell.text for cell in cells.values())
            scores = sheet.scores(arm)
            [metrics] = log["metrics"]
            assert next(iter(metrics.values())) == pytest.approx(scores[np.isfinite(scores)].mean())
            if "accuracy" in metrics:
                [again] = log["again"]
                assert again == pytest.approx(metrics)
            assert log["cost"] == pytest.approx(float(sheet.columns[arm].usd.sum()))


# ---- trajectories


def trajectories(run: BenchRun, folder: Path) -> list[dict[str, object]]:
    """All of them, as they are written."""
    [path] = export(run, folder / "a.atif.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


STEP = {"step_id", "source", "message", "metrics", "is_copied_context", "llm_call_count", "extra"}


def test_trajectories_keep_the_rules(run: BenchRun, tmp_path: Path) -> None:
    """What the format asks of every document: its fields, numbered steps, and what only steps of agents may have."""
    found = trajectories(run, tmp_path)
    assert len({each["trajectory_id"] for each in found}) == len(found) == len(list(run.cells()))
    for each, cell in zip(found, run.cells(), strict=True):
        assert each["schema_version"] == "ATIF-v1.7"
        assert each["agent"]["name"] == cell.arm  # type: ignore[index]
        steps = each["steps"]
        assert isinstance(steps, list)
        assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
        assert each["final_metrics"]["total_steps"] == len(steps)  # type: ignore[index]
        for step in steps:
            assert step.keys() <= STEP
            assert step["source"] in ("system", "user", "agent")
            assert isinstance(step["message"], str)
            assert step["source"] == "agent" or not step.keys() & {"metrics", "llm_call_count"}
            assert step.get("llm_call_count") != 0 or "metrics" not in step
        assert steps[-1]["message"] == cell.text
        metrics = each["final_metrics"]
        assert (metrics["total_prompt_tokens"], metrics["total_cost_usd"]) == (cell.alone.input, cell.alone.usd)  # type: ignore[index]


def test_trajectories_say_who_heard_whom(run: BenchRun, tmp_path: Path) -> None:
    """The second round of a debate names the steps of the first, which are those of the agents it heard."""
    heard = 0
    for each, cell in zip(trajectories(run, tmp_path), run.cells(), strict=True):
        steps = {step["step_id"]: step for step in each["steps"]}  # type: ignore[attr-defined]
        said = [step for step in steps.values() if "heard" in step.get("extra", {})]
        assert [step["extra"]["agent"] for step in said] == [one.agent for one in cell.asks]
        for step, one in zip(said, cell.asks, strict=True):
            assert [steps[at]["extra"]["agent"] for at in step["extra"]["heard"]] == [
                cell.asks[at].agent for at in one.heard
            ]
            heard += len(one.heard)
    assert heard > 0


def test_harbor_reads_its_trajectories(run: BenchRun, tmp_path: Path) -> None:
    """Harbor's own model of the format takes each."""
    harbor = pytest.importorskip("harbor.models.trajectories")
    for each in trajectories(run, tmp_path):
        harbor.Trajectory.model_validate(each)


# ---- what goes wrong


def test_what_cannot_be_exported(run: BenchRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown format or arm, several arms in one log, a place that can't be written: a line that says what to do."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    journal = run.journal.path
    for path, format, arms, said in [
        ("a.txt", "", (), r"does not say in which format: end it in \.csv"),
        ("a.csv", "cvs", (), "did you mean csv"),
        ("a.csv", "", ("vot",), "did you mean vote"),
        ("a.eval", "", (), "one .eval holds one arm, and there are 4"),
        ("file", "eval", (), "is no folder"),
        ("folder", "csv", (), "is a folder: give a file"),
        ("pipe", "csv", (), "is no plain file"),
        ("nowhere/a.csv", "", (), r"can't be written \(No such file or directory\)"),
        ("nowhere/logs", "eval", (), r"can't be written \(No such file or directory\)"),
        (f"{'a' * 300}.csv", "", (), r"can't be written \(File name too long\)"),
        (str(journal), "csv", (), "would replace the journal"),
        (str(journal.parent), "eval", (), "which is no earlier export"),
    ]:
        with pytest.raises(UsageError, match=said):
            export(run, tmp_path / path, format, arms=arms)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'motet\[parquet\]'"):
        export(run, tmp_path / "a.parquet")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "pipe"]
    assert list((tmp_path / "folder").iterdir()) == []


def test_a_run_without_answers(small: BenchRun, tmp_path: Path) -> None:
    """Nothing is written, and what was there stays."""
    empty = msgspec.structs.replace(small.opening, arms=(msgspec.structs.replace(small.opening.arms[0], key="other"),))
    run = BenchRun(small.journal, small.name, (empty,), small.tasks)
    (tmp_path / "a.csv").write_text("before")
    for name, format in (("a.csv", ""), ("a.eval", ""), ("logs", "eval"), ("a.parquet", ""), ("a.jsonl", "atif")):
        with pytest.raises(UsageError, match="'small' has no answers yet: go on with it first"):
            export(run, tmp_path / name, format)
    assert {path.name for path in tmp_path.iterdir() if "journal" not in path.name} == {"a.csv"}
    assert (tmp_path / "a.csv").read_text() == "before"


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a.atif.jsonl", "a.eval", "logs"])
def test_a_full_disk(run: BenchRun, tmp_path: Path, name: str) -> None:
    """One line says so; what was there stays, and nothing else is left."""
    (tmp_path / "a.csv").write_text("before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        arms = ["vote"] if name == "a.eval" else []
        with pytest.raises(UsageError, match=r"can't be written \(File too large\): give another place"):
            export(run, tmp_path / name, "" if "." in name else "eval", arms=arms)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "before"


def test_a_link_stays_one(small: BenchRun, tmp_path: Path) -> None:
    """What it points to is replaced."""
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to("real.csv")
    export(small, tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("run,")


def test_the_reference_names_every_column() -> None:
    """The page of the formats has each column in its order."""
    table = REFERENCE.read_text("utf-8").split("## ")[1]
    told = [line.split("`")[1] for line in table.splitlines() if line.startswith("| `")]
    assert tuple(told) == Row.__struct_fields__
