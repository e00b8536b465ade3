"""Sample logs of lm-evaluation-harness, written here as the harness writes them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from motet.errors import UsageError
from motet.tables.read import read

DATE = "2025-03-01T12-00-00.123456"


def gsm8k(doc: int, reply: str, answer: str, right: bool, filter: str = "strict-match") -> dict[str, object]:
    """A line of a generative task."""
    return {
        "doc_id": doc,
        "doc": {"question": f"Question {doc}?", "answer": f"Because.\n#### {doc + 10}"},
        "target": f"Because 1,0 and 2.\n#### {doc + 10}",
        "arguments": {"gen_args_0": {"arg_0": f"Question: {doc}?\nAnswer:", "arg_1": {"until": ["Question:"]}}},
        "resps": [[reply]],
        "filtered_resps": [answer],
        "filter": filter,
        "metrics": ["exact_match"],
        "doc_hash": "ab" * 32,
        "prompt_hash": "cd" * 32,
        "target_hash": "ef" * 32,
        "exact_match": float(right),
    }


def arc(doc: int, likelihoods: list[float], target: int) -> dict[str, object]:
    """A line of a multiple-choice task: log-likelihood and greediness of each choice, as texts."""
    choices = [[str(value), "False"] for value in likelihoods]
    return {
        "doc_id": doc,
        "doc": {"question": "Which?", "choices": {"text": ["w", "x", "y"]}},
        "target": str(target),
        "arguments": {f"gen_args_{n}": {"arg_0": "Which?", "arg_1": f" {n}"} for n in range(3)},
        "resps": [[choice] for choice in choices],
        "filtered_resps": choices,
        "filter": "none",
        "metrics": ["acc", "acc_norm"],
        "acc": float(likelihoods.index(max(likelihoods)) == target),
        "acc_norm": 0.0,
    }


def log(folder: Path, model: str, task: str, lines: list[dict[str, object]], *, packed: bool = False) -> Path:
    path = folder / model / f"samples_{task}_{DATE}.jsonl{'.gz' if packed else ''}"
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    (path.parent / f"results_{DATE}.json").write_text(json.dumps({"results": {task: {"alias": task}}, "configs": {}}))
    return path


def test_a_folder_of_models_and_tasks(tmp_path: Path) -> None:
    """Models are folders, items tasks and documents; the results files beside the logs are passed over."""
    log(tmp_path, "org__small", "gsm8k", [gsm8k(0, "It is 10.", "10", True), gsm8k(1, "No idea", "[invalid]", False)])
    log(tmp_path, "org__large", "gsm8k", [gsm8k(0, "$10", "$10.00", True), gsm8k(1, "11", "11", True)], packed=True)
    log(tmp_path, "org__small", "arc_easy", [arc(0, [-1.5, -0.5, -3], 1)])
    log(tmp_path, "org__large", "arc_easy", [arc(0, [-0.1, -0.5, -3], 1)])
    table = read(tmp_path)
    assert table.format == "lm-eval"
    assert table.agents == ("org/large", "org/small")
    assert table.items == ("arc_easy/0", "gsm8k/0", "gsm8k/1")
    assert table.correct.tolist() == [[0, 1], [1, 1], [1, 0]]
    assert table.topics == ("arc_easy", "gsm8k", "gsm8k")
    assert table.answers is not None
    assert table.gold is not None
    assert table.answer_texts[table.answers[0, 0]] == "0"
    assert table.answers[1, 0] == table.answers[1, 1] == table.gold[1]
    assert ((table.answers == table.gold[:, None]) == (table.correct == 1)).all()
    assert "arc_easy: correctness is `acc`" in table.notes


def test_filters_are_not_mixed(tmp_path: Path) -> None:
    """A document scored through two filters counts once, by the first, and the note names both."""
    for model, right in (("a", True), ("b", False)):
        strict = [gsm8k(doc, "x", str(doc + 10), right) for doc in (0, 1)]
        flexible = [gsm8k(doc, "x", str(doc + 10), not right, "flexible-extract") for doc in (0, 1)]
        log(tmp_path, model, "gsm8k", strict + flexible)
    table = read(tmp_path)
    assert table.correct.tolist() == [[1, 0], [1, 0]]
    assert any("through the filter 'strict-match', not 'flexible-extract'" in note for note in table.notes)


def test_single_files(tmp_path: Path) -> None:
    """Logs may be given one by one, and a log of one line is one too."""
    paths = [log(tmp_path, model, "gsm8k", [gsm8k(0, "x", "10", True), gsm8k(1, "x", "1", False)]) for model in "ab"]
    assert read(paths).agents == ("a", "b")


def test_not_a_number_is_missing(tmp_path: Path) -> None:
    """NaN, which Python's json writes, is a missing result."""
    nan = gsm8k(1, "x", "10", True) | {"exact_match": float("nan")}
    paths = [log(tmp_path, model, "gsm8k", [gsm8k(0, "x", "10", True), gsm8k(1, "x", "1", True)]) for model in "ab"]
    paths.append(log(tmp_path, "c", "gsm8k", [gsm8k(0, "x", "10", True), nan]))
    assert read(paths).missing == 1


def test_the_same_model_and_task_twice(tmp_path: Path) -> None:
    """Two runs of a model on a task are refused, and both files are named."""
    path = log(tmp_path, "a", "gsm8k", [gsm8k(0, "x", "10", True)])
    again = path.with_name(path.name.replace("2025", "2026"))
    again.write_bytes(path.read_bytes())
    with pytest.raises(UsageError) as caught:
        read(tmp_path)
    assert "'a' on 'gsm8k/0' again" in str(caught.value)
    assert path.name in str(caught.value)
    assert again.name in str(caught.value)


def test_no_metric_that_is_correctness(tmp_path: Path) -> None:
    """A task whose metrics are no shares is refused, with their names."""
    line = gsm8k(0, "x", "10", True)
    del line["exact_match"]
    path = log(tmp_path, "a", "wikitext", [line | {"metrics": ["word_perplexity"], "word_perplexity": 12.5}] * 2)
    with pytest.raises(UsageError, match=r"no metric from 0 to 1 .*word_perplexity"):
        read(path)


def test_broken_line(tmp_path: Path) -> None:
    """A cut line is named."""
    path = log(tmp_path, "a", "gsm8k", [gsm8k(0, "x", "10", True), gsm8k(1, "x", "10", True)])
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UsageError, match=r"\.jsonl:2: "):
        read(path)


def test_other_files_in_the_folder_are_named(tmp_path: Path) -> None:
    """What lies beside the logs and is none of them is told, never passed over in silence."""
    for model in ("a", "b"):
        folder = tmp_path / model
        folder.mkdir()
        lines = [
            {"doc_id": i, "target": "4", "filtered_resps": ["4" if model == "a" or i else "5"], "filter": "none",
             "metrics": ["exact_match"], "exact_match": float(model == "a" or i > 0), "doc": {}, "resps": [["4"]]}
            for i in range(3)
        ]  # fmt: skip
        text = "\n".join(map(json.dumps, lines))
        (folder / "samples_t_2026-01-01T00-00-00.000000.jsonl").write_text(text)
    (tmp_path / "results.csv").write_text("item,a,b\nq1,1,0\nq2,0,1\n")
    table = read(tmp_path)
    assert table.format == "lm-eval"
    assert "not used: 'results.csv'" in table.notes
