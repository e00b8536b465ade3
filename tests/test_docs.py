"""The documents: every Python block runs, every `motet` command is one, every link leads somewhere."""

from __future__ import annotations

import re
import shlex
import sys
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
FENCE = re.compile(
    r"(?P<before>(?:^<!--[^\n]*-->\n)?)^(?P<fence>```+)(?P<language>\w*)[^\n]*\n(?P<code>.*?)^(?P=fence)\s*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it is, what it says, whether it needs real models."""

    path: Path
    line: int
    language: str
    code: str
    real: bool

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


def blocks(*languages: str) -> list[Block]:
    """The blocks of a language in all documents."""
    found = []
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            if match["language"] in languages:
                line = text.count("\n", 0, match.start("fence")) + 1
                real = match["before"].strip() == "<!-- real -->"
                found.append(Block(path, line, match["language"], match["code"], real))
    return found


def commands(block: Block) -> Iterator[list[str]]:
    """The words of each `motet` command in a console block, pipes and lists of commands taken apart."""
    code = block.code.replace("\\\n", " ")
    for line in re.findall(r"^\$ (.*)$", code, re.MULTILINE):
        words: list[str] = []
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        for word in [*lexer, ";"]:
            if set(word) <= set("|&;<>"):
                if words[:1] == ["motet"]:
                    yield words[1:]
                words = []
            else:
                words.append(word)


REAL = {True: [pytest.mark.real], False: []}
PYTHON = [pytest.param(block, id=str(block), marks=REAL[block.real]) for block in blocks("python", "py")]
CONSOLE = [pytest.param(block, id=str(block)) for block in blocks("console", "sh", "shell", "bash")]


@pytest.mark.parametrize("block", PYTHON)
def test_python_blocks_run(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block runs as a program of its own, in an empty folder; what needs real models does so with them."""
    monkeypatch.chdir(tmp_path)
    if not block.real:
        monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    module = types.ModuleType("documented")
    monkeypatch.setitem(sys.modules, "documented", module)
    code = "\n" * block.line + block.code  # so that a traceback names the line of the document
    with warnings.catch_warnings():
        exec(compile(code, str(block.path), "exec"), module.__dict__)


@pytest.mark.parametrize("block", CONSOLE)
def test_commands_exist(block: Block) -> None:
    """Every `motet` command has a verb, options and values that there are."""
    from typer.main import get_command

    from motet.cli.app import app

    for words in commands(block):
        command, context, name = get_command(app), None, "motet"
        while hasattr(command, "commands"):
            context = command.make_context(name, list(words), parent=context, resilient_parsing=True)
            if not words or words[0].startswith("-"):
                break
            if "run" in command.commands and words[0] not in command.commands:
                words = ["run", *words]  # the verb that `motet bench` means where none is named
            assert words[0] in command.commands, f"{block}: there is no `motet {' '.join(words)}`"
            command, name, words = command.commands[words[0]], words[0], words[1:]
        else:
            command.make_context(name, list(words), parent=context)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Links between the documents name files and headings that there are."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", target):
            continue
        name, _, heading = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), f"{path}: {target}"
        if heading:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
            assert heading in anchors, f"{path}: {target}"


def test_blocks_are_found() -> None:
    """The reader of documents finds a block, its line and what it needs."""
    text = (
        "<!-- x -->\n\n<!-- real -->\n```python\nprint(1)\n```\n\n"
        "```console\n$ echo a | motet ask - \\\n    --json && motet init  # so\n1\n```\n"
    )
    first, second = FENCE.finditer(text)
    assert (first["before"], first["language"], first["code"]) == ("<!-- real -->\n", "python", "print(1)\n")
    block = Block(ROOT / "x.md", 1, "console", second["code"], False)
    assert list(commands(block)) == [["ask", "-", "--json"], ["init"]]


@pytest.mark.parametrize(
    "command",
    ["asc x", "ask --nope x", "trace export last --format gif", "trace lst", "replay --seed 1 last"],
)
def test_commands_that_do_not_exist_are_found(command: str) -> None:
    """A verb, an option or a value that there is not does not pass."""
    with pytest.raises(Exception, match=r".") as caught:
        test_commands_exist(Block(ROOT / "x.md", 1, "console", f"$ motet {command}\n", False))
    assert type(caught.value).__name__ in (
        "AssertionError",
        "NoSuchOption",
        "BadParameter",
        "UsageError",
        "MissingParameter",
    )
