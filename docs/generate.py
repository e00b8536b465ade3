"""Makes the reference pages that are nothing but docstrings: `python docs/generate.py`. A test compares them.

docs/reference/measures.md   every measure, by the first line of its file and its functions
docs/reference/measure.md    the JSON of `motet measure --json`
docs/methods/                every composition, by the docstrings of its file and its class
"""

from __future__ import annotations

import ast
import functools
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- made by docs/generate.py from the docstrings: change them, and run it -->"


def measures() -> str:
    """Every file of `motet.measure`, with what it computes and the functions that do."""
    lines = [
        "# Measures",
        "",
        NOTE,
        "",
        "Pure functions on arrays, one concept a file, in `motet.measure`. Axis 0 is items, axis 1 agents; shares",
        "go from 0 to 1. Each file's docstring has the definition, the source and what was inferred, each function's",
        "the shapes.",
        "",
        "| file | what it is | functions |",
        "|---|---|---|",
    ]
    for path in sorted((ROOT / "src/motet/measure").glob("*.py")):
        if path.stem == "__init__":
            continue
        tree = ast.parse(path.read_text("utf-8"))
        about = " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())
        names = [
            f"`{node.name}`"
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        ]
        where = f"[{path.stem}](../../src/motet/measure/{path.name})"
        lines.append(f"| {where} | {about.replace('|', chr(92) + '|')} | {', '.join(names)} |")
    return "\n".join(lines) + "\n"


def tables() -> str:
    """The formats, by the docstring of the file that reads each."""
    from motet.tables.read import FORMATS
    from motet.tables.source import LIMIT

    lines = [
        "# Tables of outcomes",
        "",
        NOTE,
        "",
        "What `motet measure` and `motet.tables.read.read` take: any of these, plain or gzipped, in UTF-8, with or",
        "without a byte-order mark. The format is told from the content, and what was told is printed; where two would",
        "fit, `--format` with one of the names below says which. More than",
        f"{LIMIT >> 30} GiB, unpacked, is refused.",
    ]
    for name in FORMATS:
        module = sys.modules[f"motet.tables.{MODULES.get(name, name.replace('-', '_'))}"]
        lines += ["", f"## `{name}`", "", (module.__doc__ or "").strip()]
    return "\n".join(lines) + "\n"


MODULES = {"inspect": "inspect_log"}
"""Formats whose file has another name."""


def measure_json() -> str:
    """The structs of a diagnosis, with their docstrings and keys."""
    from motet.diagnosis.diagnose import Diagnosis

    return _json({"measure TABLE": Diagnosis})


def bench_json() -> str:
    """The structs of a run's results, of a plan, and of two runs compared."""
    from motet.bench.compare import Compared
    from motet.bench.plan import Plan
    from motet.bench.results import Results

    verbs = {"bench SUITE": Results, "bench show RUN": Results, "bench SUITE --dry-run": Plan}
    return _json({**verbs, "bench compare RUN1 RUN2": Compared})


def methods() -> str:
    """Every composition in a table: what it does, and its shape."""
    lines = [
        "# Methods",
        "",
        NOTE,
        "",
        "Published ways to wire agents, each a composition: a word in `motet.toml`, a file in `motet.compose`, and an",
        "agent like any other, so that they nest. The page of each says what the paper does, what was read in its",
        "public code, what was inferred, and what differs here. What each is worth was measured",
        "[on local models](results.md) and, where answers are all it takes,",
        "[on recorded real models](../explanation/recorded-methods.md).",
        "",
        "| word | what it is | shape |",
        "|---|---|---|",
    ]
    for word, cls in _compositions().items():
        about, shape = _about(cls)
        first = " ".join(about.split("\n\n")[0].split()).partition(": ")
        lines.append(f"| [`{word}`]({word}.md) | {first[2] or first[0]} | {' '.join(shape.split())} |")
    return "\n".join(lines) + "\n"


def method(word: str) -> str:
    """One composition's page."""
    from motet.spec.fields import described, fields_of

    cls = _compositions()[word]
    about, shape = _about(cls)
    title, _, rest = about.partition(": ")
    others = getattr(cls, "also_known_as", ())
    called = f", also called {', '.join(others)}" if others else ""
    lines = [
        f"# {title if rest else word}",
        "",
        NOTE,
        "",
        f"In `motet.toml`: `{word}`{called}. In Python: `{cls.__module__}.{cls.__qualname__}`.",
        "",
        f"{rest[:1].upper()}{rest[1:]}" if rest else about,
    ]
    if shape:
        lines += ["", f"**Shape**: {' '.join(shape.split())}"]
    lines += ["", "| field | what it is |", "|---|---|"]
    told = described(cls)
    for field in fields_of(cls):
        if field.name != "name":
            needed = " (needed)" if field.required else ""
            lines.append(f"| `{field.name}`{needed} | {told.get(field.name, '').replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def _compositions() -> dict[str, type]:
    from motet.run import Agent
    from motet.spec.registry import variants

    return dict(sorted(variants(Agent).items()))


def _about(cls: type) -> tuple[str, str]:
    """The docstring of a composition's file, and its shape."""
    about = inspect.cleandoc(sys.modules[cls.__module__].__doc__ or "")
    text, _, shape = about.partition("\n\nShape: ")
    return text.split("\n\n>>>")[0], shape.split("\n\n")[0]


def _json(verbs: Mapping[str, type[msgspec.Struct]]) -> str:
    printed = [f"* `motet {verb} --json` prints one `{shape.__name__}`." for verb, shape in verbs.items()]
    lines = [
        f"# The JSON of `motet {next(iter(verbs)).split()[0]}`",
        "",
        NOTE,
        "",
        *printed,
        "",
        "Shares go from 0 to 1, intervals are pairs, and what is not defined is null. Keys are only ever added.",
    ]
    for struct in dict.fromkeys(each for shape in verbs.values() for each in _structs(shape)):
        about = inspect.cleandoc(struct.__doc__ or "").split("\n\nArgs:")[0]
        lines += ["", f"## {_name(struct)}", "", about, "", "| key | type |", "|---|---|"]
        hints = typing.get_type_hints(struct)
        lines += [f"| `{name}` | {_told(hints[name])} |" for name in struct.__struct_fields__]
    return "\n".join(lines) + "\n"


def _structs(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    yield struct
    for hint in typing.get_type_hints(struct).values():
        for part in _parts(hint):
            if isinstance(part, type) and issubclass(part, msgspec.Struct):
                yield from _structs(part)


def _parts(hint: object) -> Iterator[object]:
    inner = typing.get_args(hint)
    if not inner or typing.get_origin(hint) is typing.Literal:
        yield hint
    for each in inner:
        yield from _parts(each)


def _name(struct: type) -> str:
    """Two sections may have a struct of one name: the section tells them apart."""
    return f"{struct.__module__.rpartition('.')[2]}.{struct.__name__}"


def _told(hint: object) -> str:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is type(None):
        return "null"
    if origin is typing.Literal:
        return " or ".join(f'`"{value}"`' for value in inner)
    if isinstance(hint, types.UnionType) or origin is typing.Union:
        return " or ".join(map(_told, inner))
    if origin is dict:
        return f"object of {_told(inner[1])}"
    if origin in (tuple, list):
        kinds = list(dict.fromkeys(_told(each) for each in inner if each is not ...))
        return f"list of {' or '.join(kinds)}"
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return f"`{_name(hint)}`"
    names = {str: "text", float: "number", int: "whole number", bool: "true or false"}
    return names.get(hint, "pair of numbers") if isinstance(hint, type) else str(hint)


PAGES = {
    "docs/reference/tables.md": tables,
    "docs/reference/measures.md": measures,
    "docs/reference/measure.md": measure_json,
    "docs/reference/bench.md": bench_json,
    "docs/methods/README.md": methods,
    **{f"docs/methods/{word}.md": functools.partial(method, word) for word in _compositions()},
}


def main() -> int:
    """Write the pages; with `--check`, only say which are not current."""
    stale = [
        name
        for name, make in PAGES.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_text("utf-8") != make()
    ]
    if "--check" in sys.argv:
        print("\n".join(stale))
        return len(stale)
    for name in stale:
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"wrote {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
