"""Logs of Inspect, written here as Inspect writes them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from motet.errors import UsageError
from motet.tables import inspect_log
from motet.tables.read import read


def sample(id: str | int, value: object, *, epoch: int = 1, answer: str = "4", **more: object) -> dict[str, object]:
    score = {"value": value, "answer": answer, "explanation": "Because.", "metadata": {}}
    return {
        "id": id,
        "epoch": epoch,
        "input": "2 + 2?",
        "target": "4",
        "messages": [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}],
        "output": {"model": "gpt-4o", "choices": [{"message": {"role": "assistant", "content": "4"}}], "time": 0.9},
        "scores": {"match": score},
        "metadata": {"category": "sums"},
        "model_usage": {"openai/gpt-4o": {"input_tokens": 8, "output_tokens": 2, "total_tokens": 10}},
        "total_time": 2.5,
        "working_time": 1.5,
        "uuid": "x",
    } | more


def header(model: str, task: str = "gsm8k", solver: str | None = None) -> dict[str, object]:
    run = {
        "task": task,
        "task_id": "t",
        "run_id": "r",
        "model": model,
        "dataset": {"name": "d"},
        "config": {"epochs": 1},
    }
    return {
        "version": 2,
        "status": "success",
        "eval": run | ({"solver": solver} if solver else {}),
        "plan": {"name": "plan", "steps": []},
        "results": {"total_samples": 2, "completed_samples": 2, "scores": []},
        "stats": {"started_at": "2026-01-01T00:00:00", "model_usage": {}},
    }


def eval_log(path: Path, model: str, samples: list[dict[str, object]], **more: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        start = {key: header(model, **more)[key] for key in ("version", "eval", "plan")}
        archive.writestr("_journal/start.json", json.dumps(start))
        for one in samples:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one, indent=2))
        archive.writestr("_journal/summaries/1.json", "[]")
        archive.writestr("summaries.json", "[]")
        archive.writestr("header.json", json.dumps(header(model, **more)))
    return path


def json_log(path: Path, model: str, samples: list[dict[str, object]], **more: str) -> Path:
    path.write_text(json.dumps(header(model, **more) | {"samples": samples}, indent=2))
    return path


def test_grades_numbers_and_usage(tmp_path: Path) -> None:
    """C, P, I, N, shares, booleans and failures become correctness; tokens, seconds, topics and answers are kept."""
    failed = sample("e", "C", error={"message": "boom"})
    del failed["scores"]
    first = [sample("a", "C"), sample("b/1", "P"), sample("c", "N", answer=""), sample(4, 0.25), failed]
    second = [sample("a", "I", answer="5"), sample("b/1", True), sample("c", False), sample(4, 1), sample("e", "C")]
    table = read([eval_log(tmp_path / "1.eval", "openai/gpt-4o", first), json_log(tmp_path / "2.json", "m/b", second)])
    assert table.format == "inspect"
    assert table.agents == ("openai/gpt-4o", "m/b")
    assert table.items == ("a", "b/1", "c", "4", "e")
    assert table.correct[:4].tolist() == [[1, 0], [0.5, 1], [0, 0], [0.25, 1]]
    assert np.isnan(table.correct[4, 0])
    assert table.tokens is not None
    assert table.tokens[0, 0] == 10
    assert table.seconds is not None
    assert table.seconds[0, 0] == 1.5
    assert table.topics == ("sums",) * 5
    assert table.answers is not None
    assert table.gold is not None
    assert (table.answers[0] == table.gold[0]).tolist() == [True, False]
    assert table.samples is None
    assert table.cost is None


def test_epochs_are_samples(tmp_path: Path) -> None:
    """A sample run in several epochs is averaged, and its draws are kept in order."""
    for model in "ab":
        runs = [sample("q", "CI"[n % 2], epoch=n, answer=str(n)) for n in (10, 2, 1)] + [sample("r", "C")]
        eval_log(tmp_path / "logs" / f"{model}.eval", model, runs)
    table = read(tmp_path / "logs")
    assert table.correct[0, 0] == pytest.approx(2 / 3)
    assert table.draws is not None
    assert table.draws.correct[0, 0].tolist() == [0, 1, 1]
    assert [table.answer_texts[code] for code in table.draws.answers[0, 0]] == ["1", "2", "10"]
    assert table.samples is not None
    assert table.samples.tolist() == [[3, 3], [1, 1]]


def test_cost_where_it_is_recorded(tmp_path: Path) -> None:
    """Costs of all models that a sample called are added up."""
    usage = {"a": {"total_tokens": 3, "total_cost": 0.5}, "b": {"total_tokens": 4, "total_cost": 0.25}}
    rows = [sample("q", "C", model_usage=usage), sample("r", "I", model_usage=usage)]
    table = read([eval_log(tmp_path / f"{model}.eval", model, rows) for model in "ab"])
    assert table.cost is not None
    assert table.cost[0, 0] == 0.75
    assert table.tokens is not None
    assert table.tokens[0, 0] == 7


def test_tasks_and_solvers_are_told_apart(tmp_path: Path) -> None:
    """Several tasks prefix the items; the same model with two solvers is two agents."""
    rows = [sample("q", "C"), sample("r", "I")]
    paths = [
        eval_log(tmp_path / "1.eval", "m", rows, solver="cot"),
        eval_log(tmp_path / "2.eval", "m", rows, solver="plain"),
        eval_log(tmp_path / "3.eval", "m", rows, task="other"),
    ]
    assert read(paths[:2]).agents == ("m (cot)", "m (plain)")
    both = read([*paths, eval_log(tmp_path / "4.eval", "n", rows, task="other")])
    assert "other/q" in both.items


def test_several_scorers(tmp_path: Path) -> None:
    """With two scorers the first counts, and a note names both."""
    rows = [sample("q", "C"), sample("r", "I")]
    for row in rows:
        row["scores"] = {"match": {"value": "C"}, "judge": {"value": "I"}}
    table = read([eval_log(tmp_path / f"{model}.eval", model, rows) for model in "ab"])
    assert table.correct.tolist() == [[1, 1], [1, 1]]
    assert "a.eval: correctness is the score 'match', not 'judge'" in table.notes


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (7, "the score is 7"),
        ({"a": 1}, "several values"),
        ("maybe", "'maybe' is no correctness"),
    ],
)
def test_scores_that_are_no_correctness(tmp_path: Path, value: object, says: str) -> None:
    """A score outside 0 to 1, or of several values, names the sample."""
    with pytest.raises(UsageError) as caught:
        read(eval_log(tmp_path / "a.eval", "m", [sample("q", value)]))
    assert says in str(caught.value)
    assert "sample 'q'" in str(caught.value)


def test_the_same_run_twice(tmp_path: Path) -> None:
    """Two logs of one model on one task are refused."""
    rows = [sample("q", "C"), sample("r", "I")]
    with pytest.raises(UsageError, match="sample '1' of 'm' on 'q' again"):
        read([eval_log(tmp_path / name, "m", rows) for name in ("1.eval", "2.eval")])


def test_without_samples(tmp_path: Path) -> None:
    """A log written without samples says so."""
    with pytest.raises(UsageError, match="no samples in this log"):
        read(eval_log(tmp_path / "a.eval", "m", []))


def test_damaged_archive(tmp_path: Path) -> None:
    """A cut archive is refused in one line."""
    path = eval_log(tmp_path / "a.eval", "m", [sample("q", "C")])
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(UsageError, match="a damaged archive"):
        read(path)


def test_an_archive_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds for what comes out of the archive."""
    path = eval_log(tmp_path / "a.eval", "m", [sample("q", "C", input="x" * 1_000_000)])
    monkeypatch.setattr(inspect_log, "LIMIT", 500_000)
    with pytest.raises(UsageError, match="unpacked"):
        read(path)
