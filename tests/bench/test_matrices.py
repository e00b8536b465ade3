"""Recorded items can be asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.bench.suite import load_suite
from motet.bench.task import Task
from motet.errors import UsageError

HEAD = "item_id,category,gold,question,options,src\n"


def folder(path: Path, items: str) -> Path:
    """A folder with these items and a matrix beside them."""
    path.joinpath("items.csv").write_text(items)
    path.joinpath("correct.csv").write_text("item_id,a\n1,1\n")
    return path


def test_items_are_tasks(tmp_path: Path) -> None:
    """Question, gold, options and category are read; the rest is metadata."""
    suite = load_suite(folder(tmp_path, HEAD + '1,law,B,Which?,"[""x"", ""y""]",s\n2,law,A,Who?,"[""v"", ""w""]",\n'))
    assert suite.tasks == (
        Task("1", "Which?", ("B",), "law", {"src": "s"}, ("x", "y")),
        Task("2", "Who?", ("A",), "law", {}, ("v", "w")),
    )
    assert (suite.name, suite.scorer) == (tmp_path.name, "choice")


def test_free_answers_are_exact(tmp_path: Path) -> None:
    """Without options the gold answer is what counts."""
    suite = load_suite(folder(tmp_path, "item_id,prompt,gold\n1,2 + 2?,4\n"))
    assert (suite.tasks, suite.scorer) == ((Task("1", "2 + 2?", ("4",)),), "exact")


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ("item_id,gold\n1,B\n", "no column question or prompt or input, so its questions can't be asked"),
        ("item_id,question\n1,q\n", "no column gold or target or answer, so its answers can't be graded"),
        (HEAD + "1,law,B,Which?,x;y,s\n", "items.csv:2: the options are no JSON list"),
        (HEAD + '1,law,,Which?,"[""x"", ""y""]",s\n', "the column gold is empty, so no answer can be graded"),
        (HEAD + '1,law,C,Which?,"[""x"", ""y""]",s\n', "items.csv:2: the target 'C' is neither a letter from A to B"),
        (HEAD, "an empty suite"),
    ],
)
def test_what_can_not_be_asked_is_told(tmp_path: Path, items: str, says: str) -> None:
    """Missing questions, answers and broken options are named."""
    with pytest.raises(UsageError) as caught:
        load_suite(folder(tmp_path, items))
    assert says in str(caught.value)


def test_items_without_an_answer_are_left_out(tmp_path: Path) -> None:
    """An item that can't be graded is not asked, and the source says so."""
    suite = load_suite(folder(tmp_path, "item_id,prompt,gold\n1,2 + 2?,4\n2,3 + 3?,\n"))
    assert [task.id for task in suite.tasks] == ["1"]
    assert suite.source == f"{tmp_path}, without 1 items whose right answer is not recorded"
