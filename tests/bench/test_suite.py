"""The suite loader, and the correctness of the suites that ship with motet."""

from __future__ import annotations

import ast
import json
import operator
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.bench.generated import GENERATED
from motet.bench.suite import BUILT_IN, Suite, Task, load_suite
from motet.errors import UsageError

OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}

GOOD = '{"id": "a", "input": "2 + 2?", "target": "4"}'


def exact(expression: str) -> Fraction:
    """The value of an arithmetic expression over integers, in exact fractions; anything else is an error."""

    def value(node: ast.expr) -> Fraction:
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return Fraction(number)
            case ast.BinOp(left=left, op=op, right=right):
                return Fraction(OPERATORS[type(op)](value(left), value(right)))
        raise ValueError(f"not allowed in a check: {ast.dump(node)}")

    return value(ast.parse(expression, mode="eval").body)


@pytest.fixture(scope="module")
def general() -> Suite:
    return load_suite("general")


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "mine.jsonl"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_built_in_names_are_what_ships() -> None:
    """Every suite file and maker is listed, every listed suite loads, and each states its licence and instructions."""
    shipped = {Path(entry.name).stem for entry in files("motet.bench").joinpath("suites").iterdir()}
    assert shipped | set(GENERATED) == set(BUILT_IN)
    for name in BUILT_IN:
        suite = load_suite(name, n=24)
        assert suite.name == name
        assert suite.licence
        assert suite.source
        assert suite.instructions


def test_general_ids_are_ordered(general: Suite) -> None:
    """The hundred ids are unique and run from general-001 to general-100 in order."""
    assert [task.id for task in general.tasks] == [f"general-{n:03}" for n in range(1, 101)]


def test_general_topics_are_mixed_evenly(general: Suite) -> None:
    """Each ten questions hold 4 of knowledge, 3 of arithmetic, 3 word problems: a prefix is a fair sample."""
    for start in range(0, 100, 10):
        topics = Counter(task.topic for task in general.tasks[start : start + 10])
        assert topics == {"knowledge": 4, "arithmetic": 3, "word-problem": 3}


def test_general_has_no_question_twice(general: Suite) -> None:
    """No question comes back in other case, spacing or punctuation, and no sum comes back in other words."""
    questions = Counter(re.sub(r"[\s?.,]", "", task.input.casefold()) for task in general.tasks)
    assert questions.most_common(1)[0][1] == 1
    sums = Counter(task.metadata["check"] for task in general.tasks if task.topic == "arithmetic")
    assert sums.most_common(1)[0][1] == 1


def test_general_targets_are_clean(general: Suite) -> None:
    """Every question has at least one accepted answer, none blank, padded or listed twice."""
    for task in general.tasks:
        assert task.target
        assert all(answer and answer == answer.strip() for answer in task.target)
        assert len(set(task.target)) == len(task.target)


def test_general_checks_give_the_target(general: Suite) -> None:
    """Each computed question carries an expression whose exact value is its first accepted answer."""
    for task in general.tasks:
        if task.topic == "knowledge":
            assert "check" not in task.metadata
            continue
        check = task.metadata["check"]
        assert isinstance(check, str)
        assert exact(check) == Fraction(task.target[0]), task.id


def test_general_holds_the_questions_of_the_readme(general: Suite) -> None:
    """The two questions that the documentation asks are among the hundred, with their answers."""
    targets = {task.input: task.target for task in general.tasks}
    assert targets["What is 17 * 23?"] == ("391",)
    assert targets["What is the capital of France?"] == ("Paris",)


@pytest.mark.parametrize("expression", ["-7", "1.5 + 1", "True + 1", "abs(3)", "x", "2 @ 3", "1 if 1 else 2"])
def test_exact_refuses_what_a_check_may_not_hold(expression: str) -> None:
    """The evaluator takes integers and seven operators, nothing else, so that a check stays a plain sum."""
    with pytest.raises((ValueError, KeyError)):
        exact(expression)


def test_loads_a_file_with_every_column(tmp_path: Path) -> None:
    """A line's columns land in the task's fields, and unknown columns join its metadata."""
    line = {
        "id": 7,
        "input": "Sky?",
        "target": ["blue", "azure"],
        "topic": "t",
        "metadata": {"m": 1},
        "level": [2],
    }
    path = write(tmp_path, json.dumps(line))
    task = Task("7", "Sky?", ("blue", "azure"), "t", {"m": 1, "level": [2]})
    assert load_suite(path) == load_suite(str(path)) == Suite("mine", (task,), source=str(path))


def test_id_defaults_to_the_line_number(tmp_path: Path) -> None:
    """A task without id takes its line's number, also with a byte order mark, blank lines and CRLF."""
    first, second = '{"input": "a", "target": 1}', '{"input": "b", "target": [0.5, "half"]}'
    path = write(tmp_path, f"\ufeff{first}\r\n\r\n{second}\r\n")
    assert load_suite(path).tasks == (Task("1", "a", ("1",)), Task("3", "b", ("0.5", "half")))


text = st.text(min_size=1).filter(str.strip)


@given(st.dictionaries(text, st.tuples(text, st.lists(text, min_size=1), st.text()), min_size=1))
def test_whatever_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: dict[str, tuple[str, list[str], str]]
) -> None:
    """Any texts survive the file, also with the odd line separators that JSON leaves unescaped."""
    lines = [
        json.dumps({"id": id, "input": input, "target": target, "topic": topic}, ensure_ascii=False)
        for id, (input, target, topic) in rows.items()
    ]
    path = write(tmp_path_factory.mktemp("suite"), "\n".join(lines))
    tasks = tuple(Task(id, input, tuple(target), topic) for id, (input, target, topic) in rows.items())
    assert load_suite(path).tasks == tasks


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"input": "q", "target": "a"', "truncated"),
        ("What is 2 + 2?", "malformed"),
        ("[1, 2]", "Expected `object`, got `array`"),
        (b'{"input": "\xff", "target": "a"}', "Invalid UTF-8"),
        ('{"input": "q", "target": "a", "x": ' + "[" * 100_000, "recursion"),
        ('{"target": "a"}', "missing required field `input`"),
        ('{"input": "q"}', "missing required field `target`"),
        ('{"input": 5, "target": "a"}', "Expected `str | array`, got `int` - at `$.input`"),
        ('{"input": " ", "target": "a"}', "`input` is blank"),
        ('{"input": "q", "target": []}', "`target` is empty"),
        ('{"input": "q", "target": ["a", " "]}', "blank"),
        ('{"input": "q", "target": null}', "got `null` - at `$.target`"),
        ('{"input": "q", "target": true}', "got `bool` - at `$.target`"),
        ('{"input": "q", "target": "a", "metadata": 3}', "at `$.metadata`"),
        (
            '{"input": "q", "target": "C", "choices": ["x", "y"]}',
            "neither a letter from A to B nor one of the `choices`",
        ),
        ('{"input": "q", "target": "A", "choices": "x"}', "at `$.choices`"),
        ('{"input": [{"role": "tool", "content": "q"}], "target": "a"}', "has the role 'tool'"),
        ('{"input": [{"role": "assistant", "content": "q"}], "target": "a"}', "no words of the user"),
        ('{"input": [{"role": "user", "content": 3}], "target": "a"}', "a text or a list of parts"),
        ('{"input": "q", "target": "a", "files": {"x": 3}}', "at `$.files"),
        ('{"id": "a", "input": "q", "target": "b"}', "duplicate id 'a', first used on line 1"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str | bytes, says: str) -> None:
    """A line that is no task is refused with the file, the line's number and what is wrong with it."""
    encoded = line.encode() if isinstance(line, str) else line
    path = write(tmp_path, GOOD.encode() + b"\n\n" + encoded)
    with pytest.raises(UsageError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert says in str(caught.value)


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
def test_an_empty_file_is_refused(tmp_path: Path, content: str) -> None:
    """A file without a task is an error that names the file and says what belongs there."""
    path = write(tmp_path, content)
    with pytest.raises(UsageError, match="an empty suite") as caught:
        load_suite(path)
    assert str(path) in str(caught.value)


def test_an_unknown_name_lists_the_known(tmp_path: Path) -> None:
    """A name that is neither suite nor file is answered with the suites there are."""
    with pytest.raises(UsageError, match=r"'genral'.*general"):
        load_suite("genral")
    with pytest.raises(UsageError, match="no suite and no file"):
        load_suite(tmp_path / "absent.jsonl")


def test_a_folder_without_items_is_no_suite(tmp_path: Path) -> None:
    """A folder that holds no questions is an error that says what is missing."""
    with pytest.raises(UsageError, match=r"without items\.csv"):
        load_suite(tmp_path)


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    """A path that can't be read is an error with the system's reason, not a traceback."""
    with pytest.raises(UsageError, match="can't read"):
        load_suite(write(tmp_path, GOOD) / "inside.jsonl")


def test_so_many_tasks(tmp_path: Path) -> None:
    """The first n are taken; more than there are, or none, is an error."""
    path = write(tmp_path, GOOD + '\n{"input": "b", "target": 1}')
    assert [task.id for task in load_suite(path, n=1).tasks] == ["a"]
    with pytest.raises(UsageError, match="has 2 tasks, and 3 were asked for"):
        load_suite(path, n=3)
    with pytest.raises(UsageError, match="0 tasks makes no sense"):
        load_suite("arithmetic", n=0)
