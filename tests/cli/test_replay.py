"""`motet replay` and `motet trace`: the same bytes again, with no call, and views of what happened."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from commandline import Cli

from motet.cli import shapes
from motet.trace import Trace

MIXTURES = ("trio", "lame", "talk", "layers", "both", "fallen", "silent", "narrow")


@pytest.mark.parametrize("mixture", MIXTURES)
def test_replay_prints_the_same_bytes_without_any_call(cli: Cli, folder: Path, mixture: str) -> None:
    """With the members changed beyond use, a replay prints the text and the JSON that the run printed."""
    text = cli("ask", "What is 2 + 2?", "-m", mixture, "--seed", "5")
    json = cli("ask", "What is 2 + 2?", "-m", mixture, "--seed", "5", "--json")
    text_run, json_run = [run["run_id"] for run in cli("trace", "list", "--json").json["runs"]][::-1]  # type: ignore[attr-defined]
    members = folder / "cli_members.py"
    members.write_text(re.sub(r"(def \w+\(.*\).*:)\n", r"\1\n    raise SystemExit('called')\n", members.read_text()))
    called = subprocess.run(
        [sys.executable, "-c", "import cli_members; cli_members.four('')"], capture_output=True, text=True, check=False
    )
    assert called.stderr == "called\n"
    sys.modules.pop("cli_members", None)
    (folder / "motet.toml").unlink()
    again = cli("replay", text_run)
    assert (again.code, again.out) == (text.code, text.out)
    again = cli("replay", json_run, "--json")
    assert (again.code, again.out) == (json.code, json.out)
    assert len(cli("trace", "list", "--json").json["runs"]) == 2, "a replay is no run of its own"  # type: ignore[arg-type]


def test_a_failure_took_time_and_takes_the_same_in_a_replay(cli: Cli) -> None:
    """The seconds of who failed are those of its attempts, in the run as in its replay."""
    first = cli("ask", "What?", "--agents", "four,dying", "--json")
    replies = msgspec.json.decode(first.out, type=shapes.Answer).replies
    assert next(each.seconds for each in replies if each.agent == "dying") >= 0.2
    assert cli("replay", "--json").out == first.out


def test_replay_of_a_limit(cli: Cli) -> None:
    """What time and money decided is the same again, though nothing takes time or money."""
    for limit in (("--budget-calls", "2"), ("--budget-seconds", "0.3")):
        mixture = "layers" if "calls" in limit[0] else "waiting"
        first = cli("ask", "What?", "-m", mixture, *limit, "--json")
        again = cli("replay", "--json")
        assert (again.code, again.out) == (first.code, first.out)


def test_replay_needs_no_key(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose endpoint needed a key replays where the key is not set, and no key is in its trace."""
    monkeypatch.setenv("MOTET_TEST_KEY", "sk-topsecret-0123456789")
    first = cli("ask", "What?", "-m", "unset", "--json")
    assert first.code == 69
    monkeypatch.delenv("MOTET_TEST_KEY")
    again = cli("replay", "--json")
    assert (again.code, again.out) == (69, first.out)
    assert "topsecret" not in cli("trace", "export", "--format", "jsonl").out + first.out + first.err


def test_unknown_and_broken_runs(cli: Cli, folder: Path) -> None:
    """A run that is not there, two that begin alike, and a file that is no trace are told in a line."""
    done = cli("replay", "nowhere")
    assert (done.code, done.out) == (2, "")
    assert "there is no run 'nowhere'" in done.err
    cli("ask", "What?")
    cli("ask", "What?")
    assert "runs begin with '2'" in cli("trace", "show", "2").err
    (folder / "bad.jsonl").write_text('{"type":"nonsense"}\n')
    done = cli("trace", "show", "bad.jsonl")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "line 1 of the trace is no event" in done.err
    (folder / "empty.jsonl").write_text("")
    assert "no trace of a run" in cli("replay", "empty.jsonl").err


def test_trace_list(cli: Cli, folder: Path) -> None:
    """The newest run stands first; one that is damaged is listed without more."""
    assert "no run was kept yet" in cli("trace", "list").err
    for mixture in ("both", "trio", "lame"):
        cli("ask", f"Who is {mixture}?", "-m", mixture)
    connection = sqlite3.connect(folder / "home/state/journal.sqlite")
    connection.execute("UPDATE records SET payload = x'007b7d' WHERE run = 1")
    connection.commit()
    connection.close()
    runs = msgspec.json.decode(cli("trace", "list", "--json").out, type=shapes.Runs).runs
    assert [(run.mixture, run.outcome, run.answer) for run in runs] == [
        ("lame", "degraded", "4"),
        ("trio", "full", "4"),
        ("", None, None),
    ]
    lines = cli("trace", "list", "-n", "1").out.splitlines()
    assert len(lines) == 2
    assert lines[0].split() == ["run", "mixture", "outcome", "calls", "USD", "s", "question", "answer"]
    assert "Who is lame?" in lines[1]


def test_trace_show(cli: Cli) -> None:
    """The tree of who was asked, and who heard whom, as text and as an object."""
    cli("ask", "What?", "-m", "talk")
    out = cli("trace", "show").out
    assert "├── four  ok" in out
    assert "├── four#1  ok" in out
    assert "four#1 ← four, five" in out.splitlines()
    assert out.endswith("answer: 4\n")
    run = msgspec.json.decode(cli("trace", "show", "--json").out, type=shapes.Run)
    assert {ask.path: ask.heard for ask in run.asks}["/talk/five#1"] == ["/talk/five", "/talk/four"]


def test_trace_export(cli: Cli) -> None:
    """Mermaid, DOT and JSON lines; the last reads back as the trace."""
    cli("ask", "What?", "-m", "talk")
    assert cli("trace", "export").out.startswith("flowchart LR\n")
    assert cli("trace", "export", "-f", "dot").out.startswith("digraph motet {\n")
    lines = cli("trace", "export", "--format", "jsonl").out
    assert Trace.from_jsonl(lines).to_jsonl() == lines
    assert cli("trace", "export", "--format", "svg").code == 2
    for form in ("mermaid", "jsonl"):
        exported = msgspec.json.decode(cli("trace", "export", "-f", form, "--json").out, type=shapes.Exported)
        assert exported.text == cli("trace", "export", "-f", form).out
        assert (exported.format, len(exported.run_id) > 8) == (form, True)
