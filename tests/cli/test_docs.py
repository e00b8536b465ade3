"""The reference names every verb and option that there is, and every key of the JSON, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from typer.main import get_command

from motet.cli import shapes
from motet.cli.app import app
from motet.cli.codes import Code

REFERENCE = Path(__file__).parents[2] / "docs/reference"


def test_cli_reference_is_complete() -> None:
    """Every option of every verb stands in the section of its verb, and no section names one that is not there."""
    sections = re.split(r"^## motet (\w+)$", (REFERENCE / "cli.md").read_text(), flags=re.MULTILINE)
    told = dict(zip(sections[1::2], sections[2::2], strict=True))
    whole = get_command(app)
    verbs = dict(whole.commands)  # type: ignore[attr-defined]
    assert told.keys() == verbs.keys()
    for name, verb in verbs.items():
        inner = list(getattr(verb, "commands", {}).values())
        options = {each for one in (inner or [verb]) for param in one.params for each in param.opts if each[0] == "-"}
        options |= {each for one in (inner or [verb]) for param in one.params for each in param.secondary_opts}
        named = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", told[name]))
        assert options - {"-f"} == named - {"--help"}, name
        for one in inner:
            assert f"motet {name} {one.name}" in told[name]


def test_exit_codes_are_told() -> None:
    """The table of exit codes holds each of them, and no others."""
    table = (REFERENCE / "cli.md").read_text().split("## Exit codes")[1].split("## ")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == {int(code) for code in Code}


def test_json_reference_is_complete() -> None:
    """Each object has a section with its keys in their order."""
    sections = re.split(r"^## .*`(\w+)`$", (REFERENCE / "json.md").read_text(), flags=re.MULTILINE)
    told = {
        name: re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
        for name, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    made = {
        name: list(each.__struct_fields__)
        for name, each in vars(shapes).items()
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == shapes.__name__
    }
    for name in ("Outcome", "Failure", "Attempt"):
        made[name] = told.get(name, [])
    assert told == made


def test_json_reference_tells_the_outcome() -> None:
    """What comes from the core is told as it is there."""
    from motet.errors import Attempt, Failure
    from motet.outcome import Outcome

    text = (REFERENCE / "json.md").read_text()
    for each in (Outcome, Failure, Attempt):
        section = text.split(f"`{each.__name__}`\n")[1].split("\n## ")[0]
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(each.__struct_fields__)
