"""AlpacaEval annotations, written here as AlpacaEval writes them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from motet.errors import UsageError
from motet.tables.read import read


def annotation(instruction: str, model: str, preference: float | None, **more: object) -> dict[str, object]:
    return {
        "instruction": instruction,
        "output_1": "The baseline's words.",
        "generator_1": "gpt4_1106_preview",
        "dataset": "helpful_base",
        "output_2": "The model's words.",
        "generator_2": model,
        "annotator": "weighted_alpaca_eval_gpt4_turbo",
        "preference": preference,
        "price_per_example": 0.01,
        "time_per_example": 0.18,
        "raw_completion": {"text": "m", "logprobs": None},
    } | more


def put(folder: Path, model: str, rows: list[dict[str, object]]) -> Path:
    path = folder / model / "weighted_alpaca_eval_gpt4_turbo" / "annotations.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(rows, indent=2))
    (folder / model / "model_outputs.json").write_text("[]")
    return path


def test_preferences(tmp_path: Path) -> None:
    """Preference less one is correctness, 0 a tie, null missing; the judge's price is not the agent's cost."""
    put(tmp_path, "a", [annotation("Hi", "a", 1.9), annotation("Hi", "a", 1.0), annotation("Name\nthree", "a", 0.0)])
    put(tmp_path, "b", [annotation("Hi", "b", None), annotation("Name\nthree", "b", 2), annotation("Hi", "b", 1.5)])
    table = read(tmp_path)
    assert table.format == "alpaca-eval"
    assert table.agents == ("a", "b")
    assert table.items == ("1: Hi", "2: Hi", "3: Name three")
    assert table.correct[:, 0].tolist() == pytest.approx([0.9, 0, 0.5])
    assert np.isnan(table.correct[0, 1])
    assert table.correct[1:, 1].tolist() == [0.5, 1]
    assert table.topics == ("helpful_base",) * 3
    assert table.cost is None
    assert any("'gpt4_1106_preview'" in note for note in table.notes)


def test_a_generator_of_no_name_is_called_by_its_folder(tmp_path: Path) -> None:
    """Where two files call their model alike, the second is called by its folder."""
    paths = [
        put(tmp_path, model, [annotation("x", "example", 1.5), annotation("y", "example", 2)]) for model in ("p", "q")
    ]
    assert read(paths).agents == ("example", "q")


def test_bad_preference(tmp_path: Path) -> None:
    """A preference outside 1 to 2 is refused."""
    with pytest.raises(UsageError, match="annotation 1 has the preference 3, not 1 to 2"):
        read(put(tmp_path, "a", [annotation("x", "a", 1), annotation("y", "a", 3)]))


def test_two_baselines(tmp_path: Path) -> None:
    """Preferences against different baselines are not put in one table."""
    put(tmp_path, "a", [annotation("x", "a", 1)])
    put(tmp_path, "b", [annotation("x", "b", 1, generator_1="text_davinci_003")])
    with pytest.raises(UsageError, match="several baselines"):
        read(tmp_path)
