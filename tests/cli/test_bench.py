"""`motet bench`: a table, a verdict, JSON, a page, the same command again; and the runs that were made."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Cli

TASKS = """{"input": "What is 2 + 2?", "target": "4", "id": "one"}
{"input": "What is 3 + 2?", "target": "5", "id": "two", "topic": "sums"}
"""


@pytest.fixture(autouse=True)
def tasks(folder: Path) -> None:
    """A suite of two."""
    (folder / "tasks.jsonl").write_text(TASKS)


def lines(json: dict[str, object]) -> dict[str, dict[str, object]]:
    """The lines of a result by arm."""
    return {line["arm"]: line for line in json["lines"]}  # type: ignore[index, attr-defined]


def test_table_and_verdict(cli: Cli) -> None:
    """Members alone and the vote, what is shared, and that no mixture is better; how it was made."""
    done = cli("bench", "tasks.jsonl", "--with", "trio")
    assert done.code == 0, done.err
    sections = done.out.split("\n\n")
    assert sections[0] == "VERDICT"
    arms = done.out.split("HOW GOOD\n\n")[1].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in arms[1:]] == [
        "again",
        "five",
        "four",
        "silent",
        "trio",
        "random",
        "oracle",
    ] or (
        [line.split("  ")[0] for line in arms[1:]]
        == ["again", "five", "four", "silent", "trio", "a random member", "oracle"]
    )
    assert "No mixture is shown to be better" in done.out or "Too many" in done.out
    assert "tasks: 2 tasks, seed 0." in done.out
    assert "command" in done.out


def test_json_and_again(cli: Cli) -> None:
    """One object; the same command again asks nobody and prints the same."""
    first = cli("bench", "tasks.jsonl", "--with", "trio", "--json")
    assert first.code == 0, first.err
    assert list(lines(first.json)) == ["again", "five", "four", "silent", "trio"]
    assert cli("bench", "tasks.jsonl", "--with", "trio", "--json").out == first.out
    shown = cli("bench", "show", "--json")
    assert shown.json == first.json


def test_parts_of_the_command(cli: Cli) -> None:
    """Without members, without baselines, with repetition; a named agent counts as a member."""
    alone = lines(cli("bench", "tasks.jsonl", "--with", "trio", "--no-members", "--json").json)
    assert list(alone) == ["trio"]
    pair = cli("bench", "tasks.jsonl", "--with", "four,trio", "--no-baselines", "--repeat", "2", "--json")
    found = lines(pair.json)
    assert (found["four"]["part"], found["trio"]["part"]) == ("member", "mixture")
    assert found["four"]["all_right"] == 0.5


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
    for arguments, said in [
        (("nowhere", "--with", "trio"), "nowhere"),
        (("tasks.jsonl", "--with", "nobody"), "nobody"),
        (("tasks.jsonl", "--with", "trio", "--html", "."), "is a folder"),
        (("show",), "none was made yet"),
        (("compare", "a", "b"), "no run of bench is called 'a'"),
        (("rm", "a", "--yes"), "no run of bench is called 'a'"),
    ]:
        done = cli("bench", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done
        assert said in done.err


def test_a_run_is_not_mixed_with_another(cli: Cli) -> None:
    """A run's name with another seed is refused, and says what changed; told so, it goes on."""
    assert cli("bench", "tasks.jsonl", "--with", "trio", "--run", "mine").code == 0
    done = cli("bench", "tasks.jsonl", "--with", "trio", "--run", "mine", "--seed", "1")
    assert done.code == 2
    assert "another seed (0)" in done.err
    assert "--resume" in done.err
    assert cli("bench", "tasks.jsonl", "--with", "trio", "--run", "mine", "--seed", "1", "--resume").code == 0


def test_an_arm_more_asks_that_arm_only(cli: Cli, folder: Path) -> None:
    """With --resume an arm can be added; what the others said stays."""
    assert cli("bench", "tasks.jsonl", "--with", "four", "--run", "mine").code == 0
    refused = cli("bench", "tasks.jsonl", "--with", "four,five", "--run", "mine")
    assert "without five" in refused.err
    done = cli("bench", "tasks.jsonl", "--with", "four,five", "--run", "mine", "--resume", "--json")
    assert list(lines(done.json)) == ["four", "five"]


def test_dry_run_asks_nobody(cli: Cli) -> None:
    """What it will take, for people and as JSON; no run is made."""
    done = cli("bench", "tasks.jsonl", "--with", "trio", "--dry-run")
    assert done.code == 0, done.err
    assert "10 answers" in done.out
    planned = cli("bench", "tasks.jsonl", "--with", "trio", "--dry-run", "--json").json
    assert (planned["answers"], planned["known"]) == (10, 0)
    assert planned["whole"]["calls"] == 8  # type: ignore[index]  # four members, each asked once for both arms
    assert cli("bench", "list").out == ""


def test_dear_runs_are_asked_about(cli: Cli) -> None:
    """What may cost much is refused where nobody can be asked, unless told or limited."""
    done = cli("bench", "tasks.jsonl", "--with", "dear")
    assert done.code == 2
    assert "may cost up to" in done.err
    assert "--yes" in done.err
    limited = cli("bench", "tasks.jsonl", "--with", "dear", "--budget-usd", "0.000001", "--json")
    assert limited.code == 4


def test_page(cli: Cli, folder: Path) -> None:
    """The page holds the tables, the charts and every task."""
    done = cli("bench", "tasks.jsonl", "--with", "trio", "--html", "r.html")
    assert done.code == 0, done.err
    text = (folder / "r.html").read_text()
    assert "Every task" in text
    assert "data-chart" in text
    assert cli("bench", "show", "last", "--html", "again.html").code == 0
    assert len((folder / "again.html").read_text()) == pytest.approx(len(text), abs=200)


def test_runs_are_listed_compared_and_removed(cli: Cli) -> None:
    """Each with its answers; two side by side; one is removed, and its calls stay known."""
    for name, arms in (("one", "four"), ("two", "four,five")):
        assert cli("bench", "tasks.jsonl", "--with", arms, "--run", name).code == 0
    listed = cli("bench", "list", "--json").json["runs"]
    assert [(run["run"], run["answered"], run["expected"]) for run in listed] == [("one", 2, 2), ("two", 4, 4)]  # type: ignore[index, attr-defined]
    assert "two" in cli("bench", "list").out
    compared = cli("bench", "compare", "one", "two")
    assert compared.code == 0
    assert "No arm is shown to have changed." in compared.out
    found = cli("bench", "compare", "one", "two", "--json").json
    assert (found["tasks"], found["only_second"]) == (2, ["five"])
    refused = cli("bench", "rm", "one")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert cli("bench", "rm", "one", "--yes", "--json").json["run"] == "one"
    assert [run["run"] for run in cli("bench", "list", "--json").json["runs"]] == ["two"]  # type: ignore[index, attr-defined]
    assert cli("bench", "show", "one").code == 2


def test_cases_are_shown_when_asked_for(cli: Cli) -> None:
    """Where the mixture helped and harmed, in words."""
    assert cli("bench", "tasks.jsonl", "--with", "trio").code == 0
    assert "HARMED" not in cli("bench", "show").out
    assert "WHERE TRIO HELPED AND HARMED" in cli("bench", "show", "--cases", "3").out


def test_a_bug_in_an_agent_is_that_answer_s_failure(cli: Cli) -> None:
    """What a function raises marks its answers, of its own kind, and no other arm's; the run ends as any other."""
    done = cli("bench", "tasks.jsonl", "--with", "broken,four", "--json")
    assert done.code == 0, done.err
    found = lines(done.json)
    assert (found["broken"]["failures"], found["four"]["failed"]) == ({"bug": 2}, 0)
    alone = cli("bench", "tasks.jsonl", "--with", "broken", "--json")
    assert alone.code == 1
    assert lines(alone.json)["broken"]["unfit"]


def test_an_edited_function_is_another_model(program: Cli, folder: Path) -> None:
    """Its old answers are not taken for the new ones: another run begins, and one with a name is refused."""
    first = program("bench", "tasks.jsonl", "--with", "four", "--json")
    assert lines(first.json)["four"]["right"] == 0.5
    assert program("bench", "tasks.jsonl", "--with", "four", "--run", "mine").code == 0
    source = folder / "cli_members.py"
    source.write_text(source.read_text().replace('return "4"', 'return "seven"'))
    again = program("bench", "tasks.jsonl", "--with", "four", "--json")
    assert lines(again.json)["four"]["right"] == 0.0
    refused = program("bench", "tasks.jsonl", "--with", "four", "--run", "mine")
    assert "with other models behind four" in refused.err


def test_nothing_is_written_over(cli: Cli, folder: Path) -> None:
    """A page takes the place of a page only: not of the journal, the configuration, or anything else."""
    assert cli("bench", "tasks.jsonl", "--with", "four", "--run", "r", "--file", "j.sqlite").code == 0
    for name in ("j.sqlite", "motet.toml", "tasks.jsonl"):
        before = (folder / name).read_bytes()
        for arguments in (("show", "r"), ("tasks.jsonl", "--with", "four", "--run", "r")):
            done = cli("bench", *arguments, "--file", "j.sqlite", "--html", name)
            assert (done.code, done.out) == (2, ""), done
        assert (folder / name).read_bytes() == before
    assert cli("bench", "export", "r", "tasks.jsonl", "--file", "j.sqlite").code == 2
    assert (folder / "tasks.jsonl").read_text() == TASKS
    assert cli("bench", "show", "--file", "typo.sqlite").code == 2
    assert not (folder / "typo.sqlite").exists()


def test_names_of_runs(cli: Cli) -> None:
    """`last` is no name; to remove one the whole name is wanted; the last is the one written to last."""
    assert cli("bench", "tasks.jsonl", "--with", "four", "--run", "last").code == 2
    for name in ("first", "second"):
        assert cli("bench", "tasks.jsonl", "--with", "four", "--run", name).code == 0
    assert cli("bench", "tasks.jsonl", "--with", "four,five", "--run", "first", "--resume").code == 0
    assert cli("bench", "show", "--json").json["run"] == "first"
    for name in ("last", "fir"):
        assert "whole name" in cli("bench", "rm", name, "--yes").err
    assert len(cli("bench", "list", "--json").json["runs"]) == 2  # type: ignore[arg-type]


def test_fewer_tasks_and_more_again(cli: Cli) -> None:
    """A run that goes on with some of its tasks is about those, and the same command finds it so."""
    assert cli("bench", "tasks.jsonl", "--with", "four", "--run", "r").code == 0
    assert cli("bench", "tasks.jsonl", "--with", "four", "--run", "r", "--n", "1").code == 2
    fewer = cli("bench", "tasks.jsonl", "--with", "four", "--run", "r", "--n", "1", "--resume", "--json")
    assert lines(fewer.json)["four"]["tasks"] == 1
    assert cli("bench", "tasks.jsonl", "--with", "four", "--run", "r", "--n", "1", "--json").out == fewer.out
    assert cli("bench", "show", "r", "--json").json["answered"] == 1
    whole = cli("bench", "tasks.jsonl", "--with", "four", "--run", "r", "--resume", "--json")
    assert lines(whole.json)["four"]["tasks"] == 2


def test_scorers_are_chosen(cli: Cli) -> None:
    """With its settings; a judge that nobody asks for is refused, and so is a scorer that there is not."""
    near = cli("bench", "tasks.jsonl", "--with", "four", "--scorer", "numeric:tolerance=1", "--json")
    assert lines(near.json)["four"]["right"] == 1.0
    assert near.json["made"]["scorer"] == "numeric"  # type: ignore[index]
    for arguments, said in [
        (("--judge", "four"), "which asks nobody"),
        (("--scorer", "judge"), "needs a judge"),
        (("--scorer", "exakt"), "no scorer 'exakt'"),
        (("--scorer", "numeric:tolerance"), "should be a setting and its value"),
        (("--with", ","), "names nobody"),
    ]:
        done = cli("bench", "tasks.jsonl", "--with", "four", *arguments)
        assert (done.code, said in done.err, done.err.count("\n")) == (2, True, 1), done
    judged = cli("bench", "tasks.jsonl", "--with", "four", "--scorer", "judge", "--judge", "five", "--json")
    assert lines(judged.json)["four"]["ungraded"] + lines(judged.json)["four"]["tasks"] == 2  # type: ignore[operator]


def test_blank_ids_are_refused(cli: Cli, folder: Path) -> None:
    """Before anybody is asked, with their line."""
    (folder / "blank.jsonl").write_text('{"input": "2 + 2?", "target": "4", "id": " "}\n')
    done = cli("bench", "blank.jsonl", "--with", "four")
    assert (done.code, "blank.jsonl:1" in done.err) == (2, True)


def test_a_name_that_is_no_text(cli: Cli) -> None:
    """Bytes that UTF-8 can't carry, in the name of a file that is not there: one object, as for any other error."""
    done = cli("bench", "bad\udcff.jsonl", "--with", "four", "--json")
    assert done.code == 2
    assert "no suite and no file" in done.json["error"]["message"]  # type: ignore[index]
