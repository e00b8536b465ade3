"""The examples: each runs as its first lines say, and prints what its agents, scripted or real, make it print."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from acting import agent

from motet import ModelAgent, Request, api
from motet.backends.simulated import Simulated, World

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
ANSWERS = {"France": "Paris", "Japan": "Tokyo", "Hamlet": "Shakespeare", "15% of 240": "36", "17 * 23": "391"}


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """What `motet.ask` has opened is closed."""
    yield
    api.close()


def example(name: str) -> ModuleType:
    """An example as a module, which does not run it."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", ROOT / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, folder: Path) -> str:
    """What an example prints as a program, in a folder where there is no configuration."""
    path = ROOT / "examples" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=590, check=False, cwd=folder
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def knowing(name: str, *known: str) -> ModelAgent:
    """An agent that knows the answers to the questions with these words, and is wrong about all others."""

    def said(request: Request) -> str:
        return next((ANSWERS[words] for words in known if words in request.text), f"{name} does not know")

    return agent(name, said)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_is_short_and_says_its_command(path: Path) -> None:
    """Its docstring has the command that runs it; all but the demo are under 40 lines; it is named where they are."""
    text = path.read_text(encoding="utf-8")
    assert f"python examples/{path.name}\n" in text[: text.index('"""', 3)]
    assert len(text.splitlines()) < 40 or path.stem == "demo"
    assert f"examples/{path.name})" in (ROOT / "docs/how-to/mixtures.md").read_text(encoding="utf-8")


def test_budget(tmp_path: Path) -> None:
    """The run ends at its fourth call with the best reply so far."""
    cost, outcome = run("budget", tmp_path).splitlines()
    assert re.fullmatch(r"at most 7 calls, 3 in series, \d{4} tokens", cost)
    assert outcome == "'Oslo' after 4 calls; stopped by: calls; degraded"


def test_tools(tmp_path: Path) -> None:
    """The function is called, and its result is in the answer."""
    assert run("tools", tmp_path) == "It is 18 degrees celsius in Oslo.\n"


def test_adaptive_vote(capsys: pytest.CaptureFixture[str]) -> None:
    """Four calls where all draws agree, every call where no two do; both votes give the same answers."""
    module, turn = example("adaptive_vote"), iter(range(100))
    module.main(agent("a", lambda request: str(next(turn)) if "animal" in request.text else "the same"))
    out = capsys.readouterr().out
    assert re.findall(r"(?:all|adaptive) +(\d+) calls", out) == ["12", "4", "12", "4", "12", "12"]
    assert "16 of 36 calls saved" in out


def test_roundtable(capsys: pytest.CaptureFixture[str]) -> None:
    """Who was right on sums has the most weight there, and its answer wins against two who agree on another."""
    from motet.backends.calculator import calculate

    def sums(request: Request) -> str:
        return calculate(request.text) or "no idea"

    players = [agent("ann", "it is 7"), agent("bob", "it is 7"), agent("cat", sums)]
    example("roundtable").main(players)
    *table, plain, weighed = capsys.readouterr().out.splitlines()
    weights = {line.split()[0]: float(re.findall(r"arithmetic ([+-][\d.]+)", line)[0]) for line in table}
    assert weights["cat"] > 2 > 0 > weights["ann"] == weights["bob"]
    assert (plain, weighed) == ("a plain vote says it is 7", "the roundtable says 391")


def test_nested(capsys: pytest.CaptureFixture[str]) -> None:
    """The tree shows the members of each mixture below it; the reviewer's best grade decides; no call is over."""
    grader = agent("grader", lambda request: "Grade: 9" if "42" in request.text.split("<reply")[1] else "Grade: 1")
    example("nested").main(agent("chat", "32"), agent("shots", "37"), agent("calculator", "42"), grader)
    first, *tree, last = capsys.readouterr().out.splitlines()
    assert first == "at most 9 calls, 3 in series"
    shown = [(len(line) - len(line.lstrip("├│└─ ")), line.lstrip("├│└─ ").split("  ")[0]) for line in tree]
    assert shown == [
        (0, "committee"),
        *[(4, "draws made one"), (8, "chat"), (8, "chat"), (8, "chat")],
        *[(4, "panel"), (8, "chat"), (8, "shots"), (8, "calculator")],
        *[(4, "cheap first"), (8, "shots"), (8, "calculator"), (8, "calculator")],
        *[(4, "grader")] * 3,
    ]
    assert last == "'42' after 9 calls; full"


def test_one_flow(capsys: pytest.CaptureFixture[str]) -> None:
    """The conversation reads most of its prompts a second time, the team none of its own; both make three calls."""
    model = Simulated("m", World(), reuses_prefix=True)
    module = example("one_flow")
    module.QUESTION = World().question(1).text
    module.main(ModelAgent(model, "one"))
    said = re.findall(r"^(.*): (\d) calls, (\d+) prompt tokens, (\d+) of them", capsys.readouterr().out, re.MULTILINE)
    (team, calls, _, none), (one, as_many, read, before) = said
    assert (team, calls, none) == ("team", "3", "0")
    assert (one, as_many) == ("one conversation", "3")
    assert int(read) / 2 < int(before) < int(read)


def test_symbolic_moe(capsys: pytest.CaptureFixture[str]) -> None:
    """Each question gets the two experts that are best at what it takes, and each model all of its calls in one go."""
    chat, few = knowing("chat"), knowing("few", "Japan", "Hamlet")
    example("symbolic_moe").main(chat, few, knowing("sums", "15% of 240", "17 * 23"))
    assert capsys.readouterr().out.splitlines() == [
        "What is the capital of Japan? Tokyo from few, chat",
        "What is 17 * 23? 391 from sums, few",
        "Who wrote Hamlet? Shakespeare from few, chat",
        "What is 15% of 240? 36 from sums, few",
        "4 x rule → 4 x few → 2 x chat → 2 x sums",
    ]


def test_debate_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    """Each protocol of five says what its agents agree on, within its estimate; what can't be read is told."""
    example("debate_protocols").main([agent(name, "Tokyo") for name in "abc"], agent("judge", "Grade: 9"))
    out = capsys.readouterr().out
    rows = re.findall(r"^([\w-]+) +(\d+) of +(\d+) calls  'Tokyo'$", out, re.MULTILINE)
    assert [name for name, *_ in rows] == ["debate", "tit-for-tat", "chat-eval", "agent-verse", "multi-persona"]
    assert all(int(made) <= int(most) for _, made, most in rows)
    assert [int(made) for _, made, _ in rows][:3] == [3, 3, 3]
    assert "agent-verse: nobody was recruited" in out


def test_courtroom(tmp_path: Path) -> None:
    """Three searches, each put before the court; the side with the evidence for its answer wins."""
    said, made = run("courtroom", tmp_path).splitlines()
    assert said == "It dates from 1931, when it was opened."
    assert made == "8 calls: judge, plaintiff, judge, plaintiff, defence, judge, defence, judge"


def test_institution(capsys: pytest.CaptureFixture[str]) -> None:
    """The council is better with good officials, the chain of command with poor ones, and costs less."""
    example("institution").main()
    found = re.findall(r"skill ([\d.]+)  (\w+) +(\d+) right +([\d.]+) calls each", capsys.readouterr().out)
    right = {(skill, name): int(count) for skill, name, count, _ in found}
    assert right["0.75", "athens"] > right["0.75", "qin_han"] + 5
    assert right["0.3", "athens"] < right["0.3", "qin_han"]
    assert {cost for _, name, _, cost in found if name == "qin_han"} == {"4.0"}


def test_public_agent(tmp_path: Path) -> None:
    """The second query is computed, and the report has its result."""
    assert run("public_agent", tmp_path).splitlines() == [
        "A flat in Lyon is let for 800 a month on average.",
        "5 calls; mean(rent) where city = Lyon is 800, from 2 of 2 rows",
    ]


def test_advisers(capsys: pytest.CaptureFixture[str]) -> None:
    """Who was right each time outweighs two who agree on another answer; whoever abstains is not counted."""
    from motet.backends.calculator import calculate

    team = [agent("ann", "it is 7"), agent("bob", "it is 7"), agent("cat", lambda request: calculate(request.text))]
    example("advisers").main(team)
    assert capsys.readouterr().out.splitlines() == [
        "ann                right in 25%, from 8 counts",
        "bob                right in 25%, from 8 counts",
        "cat                right in 75%, from 8 counts",
        "a plain vote says it is 7",
        "the advisers say 391",
    ]


SHOWN = {
    "advisers": r"calculator +right in 75%(?s:.*)the advisers say 391",
    "debate_protocols": r"debate +\d of +6 calls(?s:.*)multi-persona +\d+ of +\d+ calls",
    "adaptive_vote": r"capital of France\?\n    all +12 calls .*Paris\.\n    adaptive +\d calls .*Paris",
    "nested": r"at most 9 calls, 3 in series\n(?s:.*)│   ├── smollm2-few-shot  ok(?s:.*)└── smollm2-office  ok",
    "one_flow": r"team: 3 calls, \d+ prompt(?s:.*)\none conversation: 3 calls, \d+ prompt tokens, [1-9]\d+ of",
    "own_method": r"\A.*Paris.*\ntie-break  ok",
    "roundtable": r"calculator +arithmetic \+3\.3\n(?s:.*)the roundtable says 391",
    "symbolic_moe": r"What is 17 \* 23\? 391 from calculator, gemma3-few-shot\n(?s:.*)4 x rule → ",
}


@pytest.mark.real
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SHOWN)
def test_on_the_embedded_models(name: str, tmp_path: Path) -> None:
    """The program runs on real models from any folder, and prints what does not depend on how good they are."""
    assert re.search(SHOWN[name], run(name, tmp_path))
