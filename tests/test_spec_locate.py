"""The line of every key: TOML by a scanner of our own, YAML by the parser's marks."""

from __future__ import annotations

import tomllib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import ConfigError
from motet.spec.locate import Path, toml_lines, yaml_lines

TEXT = '''\
# a comment with [brackets] and "quotes
default = "x"
models.short = "openai:gpt"  # ] } "

[models."a b".price]
input = 1
output = { usd = [ 2, 3 ], '"' = "]}" }

[agents.a]
system = """
[agents.not]
model = "no" \\"""
"""""
grammar = \'\'\'
x = ['a"]\'\'\'\'
examples = [
    # { question = "no" }
    { question = "q", answer = "}" },
    { question = 'r', answer = [
      "s"] },
]
since = 2026-01-01 07:32:00
style = "chat"

[[agents.b.examples]]
question = "q1"
[[agents.b.examples]]
question = "q2"
[agents.b.examples.more]
deep.er = true
'''


def test_toml_in_every_dress() -> None:
    """Comments, quoted and dotted keys, inline tables, arrays, long strings and arrays of tables are followed."""
    lines = toml_lines(TEXT)
    expected: dict[Path, int] = {
        ("default",): 2,
        ("models", "short"): 3,
        ("models", "a b", "price"): 5,
        ("models", "a b", "price", "input"): 6,
        ("models", "a b", "price", "output", "usd", 1): 7,
        ("models", "a b", "price", "output", '"'): 7,
        ("agents", "a"): 9,
        ("agents", "a", "system"): 10,
        ("agents", "a", "grammar"): 14,
        ("agents", "a", "examples"): 16,
        ("agents", "a", "examples", 0, "answer"): 18,
        ("agents", "a", "examples", 1): 19,
        ("agents", "a", "examples", 1, "answer", 0): 20,
        ("agents", "a", "since"): 22,
        ("agents", "a", "style"): 23,
        ("agents", "b", "examples", 0, "question"): 26,
        ("agents", "b", "examples", 1): 27,
        ("agents", "b", "examples", 1, "question"): 28,
        ("agents", "b", "examples", 1, "more", "deep", "er"): 30,
    }
    assert {path: lines.get(path) for path in expected} == expected
    assert set(_paths(tomllib.loads(TEXT))) == set(lines)


def _paths(value: object, path: Path = ()) -> list[Path]:
    """Every path in a parsed document."""
    inner: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [each for key, item in inner for each in ((*path, key), *_paths(item, (*path, key)))]


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=4)
SCALARS: st.SearchStrategy[str] = st.one_of(
    st.integers(-9, 9).map(str),
    st.booleans().map(lambda value: str(value).lower()),
    st.sampled_from(["1.5e3", "2026-01-01", "07:32:00", "'#'", "inf"]),
    KEYS.map(lambda text: _quoted(text)),
    KEYS.map(lambda text: f'"""\n{_quoted(text)[1:-1]}\n # [x]\n"""'),
    st.sampled_from(["'''\n'a]'''", "'''''''", '"""""x"""', '"""\\""""""']),
)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """TOML texts: tables and arrays of tables under headers, values of every kind, spaces and comments between."""

    def key() -> str:
        return draw(st.one_of(st.sampled_from(["a", "b-c", "0"]), KEYS.map(_quoted)))

    def gap() -> str:
        return draw(st.sampled_from(["", " ", "\t", "\n", " # no ] or }\n"]))

    def value(depth: int) -> str:
        kind = draw(st.sampled_from(["scalar", "scalar", "array", "inline"] if depth else ["scalar"]))
        if kind == "array":
            items = [f"{gap()}{value(depth - 1)}{gap()}" for _ in range(draw(st.integers(0, 3)))]
            return f"[{','.join(items)}{draw(st.sampled_from(['', ','])) if items else ''}{gap()}]"
        if kind == "inline":
            return "{ " + ", ".join(f"k{n} = {value(depth - 1)}" for n in range(draw(st.integers(0, 3)))) + " }"
        return draw(SCALARS)

    lines = []
    for _ in range(draw(st.integers(0, 4))):
        header = ".".join(key() for _ in range(draw(st.integers(1, 3))))
        lines.append(draw(st.sampled_from([f"[{header}]", f"[[{header}]]", f" [ {header} ] # [y]", ""])))
        lines += [f"{key()} = {value(2)}" for _ in range(draw(st.integers(0, 3)))]
    return draw(st.sampled_from(["\n", "\n\n"])).join(lines) + draw(st.sampled_from(["", "\n"]))


@given(toml_texts())
def test_every_path_has_its_line(text: str) -> None:
    """Whatever `tomllib` reads, each path of it gets a line, and the line holds the key that it is the line of."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = toml_lines(text)
    assert set(lines) == set(_paths(document))
    rows = text.split("\n")
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1] in rows[line - 1] or _quoted(path[-1])[1:-1] in rows[line - 1]


def test_yaml_marks() -> None:
    """Keys and elements of YAML get their lines, in block and flow style."""
    node = yaml.compose("models:\n  a: {backend: llama,\n      model: m}\nagents:\n  b:\n    stop:\n    - x\n    - y\n")
    lines = yaml_lines(node, "motet.yaml")
    assert lines["models", "a", "model"] == 3
    assert lines["agents", "b", "stop", 1] == 8


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: 2\na: 3\n", 3), ("a: &x\n  b: *x\n", 2)],
    ids=["a key twice", "an anchor in itself"],
)
def test_yaml_that_loaders_let_pass(text: str, line: int) -> None:
    """A key that stands twice, and an anchor that contains itself, are errors with their line."""
    with pytest.raises(ConfigError) as caught:
        yaml_lines(yaml.compose(text), "motet.yaml")
    assert caught.value.where == f"motet.yaml:{line}"
