"""The file that a configuration comes from: finding it, reading it, and saying where in it something stands.

Looked for, in this order: the path that is given; the environment's `MOTET_CONFIG`; then, from the working directory
upwards, the first folder with a `motet.toml`, a `motet.yaml`, or a `pyproject.toml` that has a `[tool.motet]`.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from motet.errors import ConfigError
from motet.spec.locate import Path as KeyPath
from motet.spec.locate import toml_lines, yaml_lines

Table = dict[str, object]

VARIABLE = "MOTET_CONFIG"
"""The environment variable that names the file."""
DEFAULT = Path(__file__).parent.parent / "default.toml"
"""The configuration that there is without any file; `motet init` writes its text."""
BUILTIN = "built-in"
"""Its name, as errors show it."""


@dataclass(frozen=True)
class Source:
    """A document, and where its keys stand.

    Args:
        document: its tables, as parsed.
        name: what errors call the file, "" for a document that is none.
        lines: the line of each key.
        folder: what relative paths in it start from.
    """

    document: Table = field(repr=False)
    name: str = ""
    lines: Mapping[KeyPath, int] = field(default_factory=dict, repr=False)
    folder: Path | None = None

    def has(self, path: KeyPath) -> bool:
        """Whether a key stands in the file."""
        return path in self.lines

    def where(self, path: KeyPath) -> str:
        """`file:line` of a key, or of the closest table around it that stands in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines[path]}" if path else self.name


def find(start: Path | None = None) -> Path | None:
    """The configuration file that applies in a folder (by default the working directory); None if there is none."""
    named = os.environ.get(VARIABLE, "")
    if named:
        return Path(named).expanduser()
    try:
        folder = (start or Path.cwd()).absolute()
    except FileNotFoundError:  # the working directory was deleted
        return None
    for place in (folder, *folder.parents):
        for name in ("motet.toml", "motet.yaml"):
            if os.path.isfile(place / name):
                return place / name
        project = place / "pyproject.toml"
        if os.path.isfile(project) and _is_ours(project):
            return project
    return None


def read(path: Path) -> Source:
    """Read a TOML or YAML file, or the `[tool.motet]` of a `pyproject.toml`.

    Raises:
        ConfigError: it can't be read or parsed; says where.
    """
    name = shown(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        because = f" (named by {VARIABLE})" if str(path) == os.environ.get(VARIABLE) else ""
        raise ConfigError(f"can't be read{because}: {error.strerror}", where=name) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError("this line is not UTF-8 text: save the file as UTF-8", where=f"{name}:{line}") from None
    try:
        if path.suffix in (".yaml", ".yml"):
            document, lines = _yaml(text, name)
        else:
            document, lines = _toml(text, name)
        if path.name == "pyproject.toml":
            document, lines = _section(document, lines, ("tool", "motet"), name)
        source = Source(document, name, lines, path.absolute().parent)
        check_plain(source)
    except RecursionError:
        raise ConfigError("tables or arrays are nested too deep", where=name) from None
    return source


def builtin() -> Source:
    """The configuration that there is without any file."""
    return replace(read(DEFAULT), name=BUILTIN, folder=None)


def shown(path: Path) -> str:
    """A path as people read it: from the working directory, if it lies there."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def check_plain(source: Source) -> None:
    """Refuse what JSON can't carry, since documents are kept in traces: dates, infinity, keys that are no text.

    Raises:
        ConfigError: names each such key.
    """

    def walk(value: object, path: KeyPath) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                if isinstance(key, str):
                    yield from walk(inner, (*path, key))
                else:
                    yield f"{source.where(path)}: {dotted(path)}: the key {key!r} is no text: put it in quotes"
        elif isinstance(value, list):
            for place, inner in enumerate(value):
                yield from walk(inner, (*path, place))
        elif isinstance(value, float) and not math.isfinite(value):
            yield f"{source.where(path)}: {dotted(path)}: {value} is no number to work with: give a finite one"
        elif not isinstance(value, str | int | float | None):
            kind = type(value).__name__
            yield f"{source.where(path)}: {dotted(path)}: a {kind} has no place here: if it is text, put it in quotes"

    found = list(walk(source.document, ()))
    if found:
        raise ConfigError("\n".join(found))


def dotted(path: KeyPath) -> str:
    """A path as an error shows it.

    >>> dotted(("agents", "my agent", "examples", 0, "answer"))
    'agents."my agent".examples[0].answer'
    """
    shown = ""
    for step in path:
        if isinstance(step, int):
            shown += f"[{step}]"
        else:
            shown += ("." if shown else "") + (step if re.fullmatch(r"[\w-]+", step) else f'"{step}"')
    return shown


def _toml(text: str, name: str) -> tuple[Table, dict[KeyPath, int]]:
    try:
        return tomllib.loads(text), toml_lines(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        said = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
        what, line, column = said.groups() if said else (str(error), None, None)
        place = f"{name}:{line or max(1, len(text.splitlines()))}"
        raise ConfigError(f"{what}{f' (column {column})' if column else ''}", where=place) from None


def _yaml(text: str, name: str) -> tuple[Table, dict[KeyPath, int]]:
    try:
        import yaml
    except ImportError:
        raise ConfigError("reading YAML needs pyyaml: pip install 'motet[yaml]', or write TOML", where=name) from None
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        lines = yaml_lines(node, name)
        document = loader.construct_document(node) if node is not None else {}
    except yaml.MarkedYAMLError as error:  # its text would quote the line, which may hold what nobody should see
        mark = error.problem_mark or error.context_mark
        raise ConfigError(error.problem or "no YAML", where=f"{name}:{mark.line + 1 if mark else 1}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"no YAML: {type(error).__name__}", where=name) from None
    finally:
        loader.dispose()
    if not isinstance(document, dict):
        raise ConfigError("the document is no mapping: begin with models:, agents: or mixtures:", where=f"{name}:1")
    return document, lines


def _section(
    document: Table, lines: Mapping[KeyPath, int], section: KeyPath, name: str
) -> tuple[Table, dict[KeyPath, int]]:
    inner: object = document
    for key in section:
        inner = inner.get(str(key)) if isinstance(inner, dict) else None
    if not isinstance(inner, dict):
        raise ConfigError(f"has no [{dotted(section)}]", where=name)
    depth = len(section)
    return inner, {path[depth:]: line for path, line in lines.items() if path[:depth] == section}


def _is_ours(project: Path) -> bool:
    """Whether a pyproject.toml has a `[tool.motet]`; one that can't be read has none."""
    try:
        text = project.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return False
    if "motet" not in text:
        return False
    try:
        tool = tomllib.loads(text).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        return re.search(r"^\s*\[\s*tool\s*\.\s*motet\b", text, re.MULTILINE) is not None  # then say what is wrong
    return isinstance(tool, dict) and "motet" in tool
