"""`motet bench`: a table, a verdict, JSON, and the same command again."""

from __future__ import annotations

from pathlib import Path

from commandline import Cli

TASKS = """{"input": "What is 2 + 2?", "target": "4", "id": "one"}
{"input": "What is 3 + 2?", "target": "5", "id": "two"}
"""


def test_table_and_verdict(cli: Cli, folder: Path) -> None:
    """Members alone and the vote, what is shared, and that no mixture is better."""
    (folder / "tasks.jsonl").write_text(TASKS)
    done = cli("bench", "tasks.jsonl", "--with", "trio")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [line.split()[0] for line in lines[1:6]] == ["again", "five", "four", "silent", "trio"]
    assert "No mixture is shown to be better" in done.out or "Too many" in done.out
    assert "tasks: 2 tasks, seed 0." in done.out


def test_json_and_again(cli: Cli, folder: Path) -> None:
    """One object; the same command again asks nobody and prints the same."""
    (folder / "tasks.jsonl").write_text(TASKS)
    first = cli("bench", "tasks.jsonl", "--with", "trio", "--json")
    assert first.code == 0, first.err
    assert [line["arm"] for line in first.json["lines"]] == ["again", "five", "four", "silent", "trio"]  # type: ignore[index]
    assert cli("bench", "tasks.jsonl", "--with", "trio", "--json").out == first.out


def test_bad_input(cli: Cli, folder: Path) -> None:
    """An unknown suite or mixture, a malformed line, duplicates, no target, nothing in it: a line each, code 2."""
    for name, text, said in [
        ("bad.jsonl", TASKS + "{", "bad.jsonl:3"),
        ("twice.jsonl", TASKS + TASKS, "duplicate id 'one'"),
        ("none.jsonl", '{"input": "What?"}\n', "target"),
        ("empty.jsonl", "", "empty"),
    ]:
        (folder / name).write_text(text)
        done = cli("bench", name, "--with", "trio")
        assert (done.code, done.out) == (2, ""), done
        assert said in done.err
        assert done.err.count("\n") == 1
    assert cli("bench", "nowhere", "--with", "trio").code == 2
    (folder / "tasks.jsonl").write_text(TASKS)
    done = cli("bench", "tasks.jsonl", "--with", "nobody")
    assert (done.code, done.out) == (2, "")
    assert "nobody" in done.err


def test_a_run_is_not_mixed_with_another(cli: Cli, folder: Path) -> None:
    """A run's name with another seed is refused, and says what changed."""
    (folder / "tasks.jsonl").write_text(TASKS)
    assert cli("bench", "tasks.jsonl", "--with", "trio", "--run", "mine").code == 0
    done = cli("bench", "tasks.jsonl", "--with", "trio", "--run", "mine", "--seed", "1")
    assert done.code == 2
    assert "another seed" in done.err
