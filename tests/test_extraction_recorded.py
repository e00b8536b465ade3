"""Raw replies of real models are read as those who recorded them read them, but where a reader would not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark import benchmark
from recorded import FOLDER

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "extraction.py"


@pytest.fixture(scope="module")
def compare() -> Callable[..., dict[str, Any]]:
    """What the benchmark measures with, so that the figures in the docs are those checked here."""
    found: Callable[..., dict[str, Any]] = benchmark("extraction")["compare"]
    return found


# Shares on every 13th reply; docs/explanation/extraction.md has those on all of them, and why they are not all higher.
@pytest.mark.parametrize(
    ("suite", "n", "answers", "verdicts", "ours"),
    [
        ("zeroeval_gsm", 1073, 0.985, 0.99, 0.003),
        ("zeroeval_math_l5", 597, 0.93, 0.98, 0.01),
        ("mmlu_pro", 2208, 0.945, 0.98, 0.005),
    ],
)
def test_replies_are_read_as_recorded(
    compare: Callable[..., dict[str, Any]], suite: str, n: int, answers: float, verdicts: float, ours: float
) -> None:
    """Answers and verdicts agree, nearly all disagreement is the recorder's, and no kind of it is unexplained."""
    if not (FOLDER / suite / "outputs.jsonl.gz").is_file():
        pytest.skip(f"no recorded replies at {FOLDER / suite}: set MOTET_RECORDED")
    found = compare(FOLDER / suite, every=13)
    assert found["n"] == n
    assert found["answer"]["all"] >= answers
    assert found["verdict"]["all"] >= verdicts
    assert found["verdict"]["without_recorder_errors"] >= 0.993
    assert found["verdict"]["without_undecided_too"] >= 0.997
    assert found["whose"]["ours"] <= ours * n
    assert found["same_answer_other_verdict"] == 0
