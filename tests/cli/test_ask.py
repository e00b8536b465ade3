"""`motet ask`: the answer on stdout and nothing else, everything about it on stderr, and the right exit code."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from commandline import Cli

from motet.cli import shapes
from motet.trace import RunEnded, Trace


def test_answer_is_all_of_stdout(cli: Cli) -> None:
    """The default mixture's answer is a line on stdout; who abstained is no reason to worry."""
    done = cli("ask", "What is 2 + 2?")
    assert (done.code, done.out, done.err) == (0, "4\n", "")


def test_json_is_one_object_of_the_stated_shape(cli: Cli) -> None:
    """The object has the keys that are promised, no others, and holds each member's reply."""
    done = cli("ask", "What is 2 + 2?", "--json")
    answer = msgspec.json.decode(done.out, type=shapes.Answer, strict=True)
    assert list(done.json) == list(shapes.Answer.__struct_fields__)
    assert (answer.answer, answer.mixture, answer.outcome.state, answer.error) == ("4", "trio", "full", None)
    said = [(each.agent, each.state, each.text) for each in answer.replies]
    assert said == [("five", "ok", "5"), ("four", "ok", "4"), ("again", "ok", "4"), ("silent", "abstained", "")]
    assert answer.outcome.abstained == ("silent",)
    assert answer.usage.calls + answer.usage.saved_calls == 4
    assert set(answer.by_agent) == {"four", "five", "again", "silent"}


def test_question_from_a_pipe(cli: Cli) -> None:
    """`-` reads stdin, and so does no question at all when something is piped; a question given goes before."""
    for arguments in (("ask", "-"), ("ask",)):
        done = cli(*arguments, stdin="\ufeffWas ist 2 + 2, ungefähr?\n".encode())
        assert (done.code, done.out) == (0, "4\n")
        assert cli("trace", "show", "--json").json["run"]["question"] == "Was ist 2 + 2, ungefähr?"  # type: ignore[index]
    cli("ask", "This one?", stdin=b"Not this one?")
    assert cli("trace", "show", "--json").json["run"]["question"] == "This one?"  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (("ask",), b"", "the question is empty"),
        (("ask", ""), b"", "the question is empty"),
        (("ask", " \n"), b"", "the question is empty"),
        (("ask", "-"), b"\x00\x01binary", "no UTF-8 text (byte 0)"),
        (("ask", "-"), b"ab\xff", "no UTF-8 text (byte 2)"),
        (("ask", "-"), b"x" * 16_000_001, "longer than 16,000,000 bytes"),
        (("ask", "\udcff"), b"", "bytes that are no text"),
        (("ask", "two", "words"), b"", "put it in quotes"),
        (("ask", "q", "--mixture", "tri"), b"", "did you mean trio?"),
        (("ask", "q", "--agents", ","), b"", "--agents names nobody"),
        (("ask", "q", "--agents", "for"), b"", "did you mean four?"),
        (("ask", "q", "--show", "replys"), b"", "did you mean replies?"),
        (("ask", "q", "--trace", "."), b"", "is a folder"),
        (("ask", "q", "--budget-usd", "-1"), b"", "--budget-usd"),
        (("ask", "q", "--budget-usd", "nan"), b"", "--budget-usd"),
        (("ask", "q", "--budget-calls", "many"), b"", "--budget-calls"),
        (("ask", "q", "--nope"), b"", "no such option: --nope"),
        (("aks", "q"), b"", "no such command 'aks'"),
    ],
)
def test_bad_usage_is_one_line_and_2(cli: Cli, arguments: tuple[str, ...], stdin: bytes, said: str) -> None:
    """What makes no sense is refused in one line, before anything is called, and as an object where JSON is wanted."""
    done = cli(*arguments, stdin=stdin)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("motet: ")
    assert done.err.count("\n") == 1
    assert said in done.err
    error = cli(*arguments, "--json", stdin=stdin).json["error"]
    assert isinstance(error, dict)
    assert (error["kind"], error["exit_code"]) == ("usage", 2)
    assert said in error["message"]
    assert cli("trace", "list", "--json").json == {"runs": []}


@pytest.mark.parametrize(
    ("mixture", "code", "state", "said"),
    [
        ("lame", 3, "degraded", "missing: down: connect: no connection"),
        ("fallen", 69, "failed", "down: connect"),
        ("nested", 69, "failed", "fallen: too_few"),
        ("narrow", 1, "failed", "context_length"),
        ("silent", 1, "failed", "it has nothing to say to this question"),
        ("dear", 69, "failed", "http://127.0.0.1:9"),
    ],
)
def test_exit_code_says_how_it_went(cli: Cli, mixture: str, code: int, state: str, said: str) -> None:
    """A missing member degrades an answer; no answer says whether models or the question were the trouble."""
    done = cli("ask", "What?", "-m", mixture)
    assert done.code == code
    assert done.out == ("4\n" if code == 3 else "")
    assert said in done.err
    done = cli("ask", "What?", "-m", mixture, "--json")
    answer = msgspec.json.decode(done.out, type=shapes.Answer)
    assert answer.outcome.state == state
    assert (answer.error is None) == (code == 3)
    assert answer.error is None or answer.error.exit_code == code
    assert answer.answer == ("4" if code == 3 else None)


def test_limits(cli: Cli) -> None:
    """A limit that leaves an answer exits with 3 and names the limit, one that leaves none with 4."""
    done = cli("ask", "What?", "-m", "layers", "--budget-calls", "2", "--json")
    answer = msgspec.json.decode(done.out, type=shapes.Answer)
    assert (done.code, answer.answer, answer.stopped) == (3, "4", "calls")
    assert "the limit of calls was reached" in done.err
    assert cli("ask", "What?", "-m", "talk", "--budget-calls", "0").code == 4
    assert cli("ask", "What?", "-m", "waiting", "--budget-seconds", "0.2").code == 3
    assert cli("ask", "What?", "-m", "hanging", "--budget-seconds", "0.2").code == 4
    done = cli("ask", "What?", "-m", "dear", "--budget-usd", "0.001", "--json")
    assert (done.code, done.json["error"]["kind"]) == (4, "budget")  # type: ignore[index]


def test_default_cap_comes_from_the_configuration(cli: Cli, folder: Path) -> None:
    """What [budget] says applies, and an option goes before it."""
    with (folder / "motet.toml").open("a") as file:
        file.write("[budget]\ncalls = 0\n")
    assert cli("ask", "What?").code == 4
    assert cli("ask", "What?", "--budget-calls", "9").code == 0


def test_agents_take_the_members_places(cli: Cli) -> None:
    """--agents makes a committee of the default mixture or of the one named."""
    done = cli("ask", "What?", "--agents", "five, silent", "--json")
    assert (done.code, done.json["answer"], done.json["mixture"]) == (0, "5", "trio")
    assert cli("ask", "What?", "--agents", "five,four", "-m", "talk", "--json").json["mixture"] == "talk"


def test_estimate_asks_nobody(cli: Cli) -> None:
    """--estimate tells the most it could take and the cap, and keeps no run."""
    done = cli("ask", "What?", "-m", "dear", "--estimate", "--json")
    found = msgspec.json.decode(done.out, type=shapes.Price)
    assert (done.code, found.calls, found.depth, found.cap_usd) == (0, 1, 1, 1.0)
    assert found.usd > 1.0
    done = cli("ask", "What?", "-m", "dear", "--estimate")
    assert "at most 1 calls, 1 in series" in done.out
    assert "the cap of $1 may end it early" in done.out
    assert cli("trace", "list", "--json").json == {"runs": []}


def test_show_goes_to_stderr(cli: Cli) -> None:
    """What --show shows stands beside the answer, not in it, and control characters of members are not obeyed."""
    done = cli("ask", "What?", "--agents", "four,hostile", "--show", "replies,graph")
    assert done.out == "4\n"
    assert "\x1b" not in done.err
    assert "\x07" not in done.err
    assert "4�[2J" in done.err
    assert "trio ← four, hostile" in done.err.splitlines()
    rounds = cli("ask", "What?", "-m", "talk", "--show", "replies,graph").err
    assert re.search(r"│ four#1 +│", rounds)
    assert re.search(r"── four#1  ok", rounds)


def test_trace_goes_to_the_file_too(cli: Cli, folder: Path) -> None:
    """--trace writes the whole run there, and its place among the kept ones is written as well."""
    assert cli("ask", "What?", "--trace", "there/run.jsonl").code == 0
    trace = Trace.from_jsonl((folder / "there/run.jsonl").read_text())
    assert isinstance(trace.events[-1], RunEnded)
    assert cli("trace", "show", "there/run.jsonl").out == cli("trace", "show", "last").out


def test_a_trace_that_cannot_be_written_is_told_before_anybody_is_asked(cli: Cli, folder: Path) -> None:
    """A folder that can't be made is wrong usage; no run was begun."""
    (folder / "in-the-way").write_text("")
    done = cli("ask", "What?", "--trace", "in-the-way/run.jsonl")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--trace in-the-way/run.jsonl can't be written" in done.err
    assert cli("trace", "list", "--json").json == {"runs": []}


def test_a_run_that_cannot_be_kept_still_answers(cli: Cli, folder: Path) -> None:
    """A state folder that can't be written costs the trace, not the answer."""
    (folder / "home" / "state").mkdir(parents=True)
    (folder / "home" / "state" / "journal.sqlite").write_text("in the way")
    done = cli("ask", "What?")
    assert (done.code, done.out) == (0, "4\n")
    assert "the run could not be kept" in done.err


def test_a_long_question_is_told_in_a_line(cli: Cli) -> None:
    """A megabyte of question fails where the context is too short, in one line."""
    done = cli("ask", "-", "-m", "narrow", stdin=b"word " * 200_000)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "the prompt takes 999999 tokens" in done.err


def test_a_bug_is_raised_as_it_is(cli: Cli) -> None:
    """A member's own bug is no failure to be told in a line: it comes with its traceback."""
    with pytest.raises(ZeroDivisionError, match="a bug of its own"):
        cli("ask", "What?", "-m", "broken")


def test_a_missing_key_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is not set is a matter of configuration: which, where, and that it can be left out."""
    done = cli("ask", "What?", "-m", "unset", "--json")
    assert done.code == 78
    error = done.json["error"]
    assert isinstance(error, dict)
    assert error["kind"] == "config"
    assert error["where"].startswith("motet.toml:")
    assert "MOTET_TEST_KEY is not set" in error["message"]
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[modles]\n", "motet.toml:1: modles: unknown section: did you mean models?"),
        ("[agents.a]\nmodel = 'four'\ntemprature = 1\n", "motet.toml:3: agents.a.temprature: unknown key"),
        ("default = [\n", "motet.toml:1"),
        (
            "[mixtures.a]\ncomposition = 'vote'\nagents = ['b']\n[mixtures.b]\ncomposition = 'vote'\nagents = ['a']\n",
            "can't contain itself: a → b → a",
        ),
    ],
)
def test_a_wrong_configuration_is_told(cli: Cli, folder: Path, text: str, said: str) -> None:
    """A typo, a cycle or broken TOML exits with 78 and says file, line and key."""
    (folder / "motet.toml").write_text(text)
    done = cli("ask", "What?")
    assert (done.code, done.out) == (78, "")
    assert said in done.err


def test_config_option(cli: Cli, folder: Path) -> None:
    """--config reads that file instead; one that is not there is a matter of configuration."""
    (folder / "other.toml").write_text("default = 'five'\n[models]\nfive = 'function:cli_members:five'\n")
    assert cli("ask", "What?", "--config", "other.toml").out == "5\n"
    assert cli("ask", "What?", "--config", "nowhere.toml").code == 78


def test_models_that_are_not_fetched(cli: Cli, folder: Path) -> None:
    """Without any language model there is the command to run; with one of another kind the answer is degraded."""
    (folder / "motet.toml").unlink()
    done = cli("ask", "What is 17 * 23?")
    assert (done.code, done.out) == (69, "")
    assert "`motet models fetch gemma3-270m smollm2-135m --accept-license`" in done.err
    assert "or only `motet models fetch smollm2-135m`" in done.err
    assert cli("ask", "What is 17 * 23?", "-m", "calculator").out == "391\n"
