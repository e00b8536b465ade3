r"""Where in a file each key stands: the line of every table, key and array element, by its path.

Neither `tomllib` nor a YAML loader keeps positions of values, and an error that names no line leaves its reader to
search. The text was parsed before it comes here, so it is well formed and this scanner only has to follow it.

    >>> toml_lines('[agents.a]\nmodel = "m"\n')
    {('agents',): 1, ('agents', 'a'): 1, ('agents', 'a', 'model'): 2}
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import TYPE_CHECKING

from motet.errors import ConfigError

if TYPE_CHECKING:
    import yaml

Path = tuple[str | int, ...]
"""Keys and places in arrays, outermost first."""

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[A-Za-z0-9_-]+')
# A multi-line string may end in up to two quotes of its own, in front of the three that close it.
_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"""(?:""?)?|\'\'\'.*?\'\'\'(?:\'\'?)?|"(?:[^"\\]|\\.)*"|\'[^\']*\'', re.DOTALL)
_PLAIN = re.compile(r"[^,\]}\n#]*")  # a number, a boolean or a date


def toml_lines(text: str) -> dict[Path, int]:
    """The line (from 1) of every table, key and array element of a TOML text that was parsed already."""
    return _Toml(text).lines


class _Toml:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[Path, int] = {}
        self._breaks = [match.start() for match in re.finditer("\n", text)]
        self._counts: dict[Path, int] = {}  # elements so far of each array of tables
        table: Path = ()
        self._skip()
        while self.at < len(text):
            table = self._header() if text[self.at] == "[" else self._pair(table)
            self._skip()

    def _header(self) -> Path:
        """`[a.b]`, or `[[a.b]]`, which begins a new element of an array of tables."""
        start = self.at
        several = self.text.startswith("[[", start)
        self.at += 2 if several else 1
        table = self._keys((), start)
        if several:
            self._counts[table] = place = self._counts.get(table, -1) + 1
            table = self._mark((*table, place), start)
        self.at += 2 if several else 1
        return table

    def _keys(self, table: Path, start: int) -> Path:
        """Dotted keys after `table`; a key that names an array of tables means its newest element."""
        path = table
        while True:
            self._skip()
            match = _KEY.match(self.text, self.at)
            assert match is not None, f"no key at {self.text[self.at : self.at + 20]!r}"
            self.at = match.end()
            if path in self._counts:
                path = (*path, self._counts[path])
            path = self._mark((*path, _unquoted(match.group())), start)
            self._skip()
            if self.text[self.at] != ".":
                return path
            self.at += 1

    def _pair(self, table: Path) -> Path:
        """`key = value`; gives back the table it stands in."""
        path = self._keys(table, self.at)
        self.at += 1  # the equals sign
        self._skip()
        self._value(path)
        return table

    def _value(self, path: Path) -> None:
        text = self.text
        opening = text[self.at]
        if opening in "\"'":
            match = _STRING.match(text, self.at)
            assert match is not None
            self.at = match.end()
        elif opening in "[{":
            self.at += 1
            place = 0
            while True:
                self._skip()
                if text[self.at] in "]}":
                    break
                if text[self.at] == ",":
                    self.at += 1
                elif opening == "[":
                    self._value(self._mark((*path, place), self.at))
                    place += 1
                else:
                    self._pair(path)
            self.at += 1
        else:
            match = _PLAIN.match(text, self.at)
            assert match is not None
            self.at = match.end()

    def _skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _mark(self, path: Path, position: int) -> Path:
        self.lines.setdefault(path, bisect_right(self._breaks, position - 1) + 1)
        return path


def _unquoted(key: str) -> str:
    return next(iter(tomllib.loads(f"{key} = 0"))) if key[0] in "\"'" else key


def yaml_lines(root: yaml.Node | None, name: str) -> dict[Path, int]:
    """The line (from 1) of every key and element of a composed YAML document.

    Raises:
        ConfigError: a key stands twice in one mapping, or an anchor contains itself.
    """
    import yaml

    lines: dict[Path, int] = {}

    def walk(node: yaml.Node | None, path: Path, around: tuple[int, ...]) -> None:
        if id(node) in around:
            raise ConfigError("the anchor contains itself", where=f"{name}:{lines[path]}")
        around = (*around, id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                inner, line = (*path, str(key.value)), key.start_mark.line + 1
                if inner in lines:
                    raise ConfigError(
                        f"the key stands twice, first in line {lines[inner]}",
                        where=f"{name}:{line}",
                        key=".".join(map(str, inner)),
                    )
                lines[inner] = line
                walk(value, inner, around)
        elif isinstance(node, yaml.SequenceNode):
            for place, value in enumerate(node.value):
                lines[*path, place] = value.start_mark.line + 1
                walk(value, (*path, place), around)

    walk(root, (), ())
    return lines
