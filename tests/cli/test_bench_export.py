"""`motet bench export`: files, what is said of them, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from commandline import Cli

TASKS = """{"input": "What is 2 + 2?", "target": "4", "id": "one"}
{"input": "What is 3 + 2?", "target": "5", "id": "two"}
"""


@pytest.fixture
def made(cli: Cli, folder: Path) -> Cli:
    """The command line after a run of two tasks."""
    (folder / "tasks.jsonl").write_text(TASKS)
    done = cli("bench", "tasks.jsonl", "--with", "trio", "--no-baselines", "--run", "mine")
    assert done.code == 0, done.err
    return cli


def test_a_table(made: Cli, folder: Path) -> None:
    """The last run unless named, in the format that the name says; one line on stderr says what was written."""
    done = made("bench", "export", "last", "a.csv")
    assert (done.code, done.out) == (0, ""), done
    assert done.err == "10 answers are in a.csv\n"
    with (folder / "a.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["agent"] for row in rows} == {"trio", "again", "five", "four", "silent"}
    assert {row["part"] for row in rows} == {"member", "mixture"}
    again = made("bench", "export", "mine", "a.csv", "--arm", "trio", "--arm", "four")
    assert again.err == "4 answers are in a.csv\n"


def test_logs_and_json(made: Cli, folder: Path) -> None:
    """A folder gets a log an arm; with --json one object says which, and how many answers they hold."""
    done = made("bench", "export", "mine", "logs", "--format", "eval", "--json")
    assert done.code == 0, done.err
    files = ["again.eval", "five.eval", "four.eval", "silent.eval", "trio.eval"]
    assert done.json["run"] == "mine"
    assert done.json["answers"] == 10
    assert sorted(done.json["files"]) == [f"logs/{name}" for name in files]  # type: ignore[call-overload]
    assert sorted(path.name for path in (folder / "logs").iterdir()) == files
    done = made("bench", "export", "mine", "logs", "--format", "eval")
    assert done.err == "10 answers are in 5 files in logs\n"


@pytest.mark.parametrize(("name", "format"), [("a.csv", "csv"), ("a.jsonl", "jsonl"), ("logs", "eval")])
def test_measure_agrees_with_show(made: Cli, name: str, format: str) -> None:
    """`motet measure` on the file has the share of right answers that `motet bench show` has."""
    assert made("bench", "export", "mine", name, "--format", format).code == 0
    measured = made("measure", name, "--json")
    assert measured.code == 0, measured.err
    shown = made("bench", "show", "mine", "--json").json["lines"]
    theirs = {each["name"]: each["right"] for each in measured.json["agents"]["agents"]}  # type: ignore[call-overload, index]
    assert theirs == {line["arm"]: line["right"] for line in shown}  # type: ignore[attr-defined]


def test_what_is_refused(made: Cli, folder: Path) -> None:
    """One line on stderr, nothing on stdout, code 2, and no file."""
    before = sorted(path.name for path in folder.iterdir())
    for arguments, said in [
        (["nobody", "a.csv"], "no run of bench is called 'nobody'"),
        (["mine", "a.txt"], "end it in"),
        (["mine", "a.csv", "--format", "cvs"], "did you mean csv"),
        (["mine", "a.csv", "--arm", "tri"], "did you mean trio"),
        (["mine", "a.eval"], "name one with --arm"),
        (["mine", "nowhere/a.csv"], "can't be written"),
        (["mine", ".", "--format", "eval"], "which is no earlier export"),
    ]:
        done = made("bench", "export", *arguments)
        assert (done.code, done.out) == (2, ""), done
        assert said in done.err
        assert done.err.count("\n") == 1
    assert sorted(path.name for path in folder.iterdir()) == before
