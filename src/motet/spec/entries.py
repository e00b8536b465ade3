"""From documents to entries: the built-in ones beneath the file's own, short lines written out, `extends` resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from motet.spec.extend import merged
from motet.spec.locate import Path as KeyPath
from motet.spec.model import expanded
from motet.spec.problems import Problems
from motet.spec.read import suggestion
from motet.spec.source import Source, Table

KINDS: Final = ("models", "agents", "mixtures")
SECTIONS: Final = (*KINDS, "budget", "default")
EXTENDS: Final = "extends"


@dataclass(frozen=True)
class Entry:
    """One table, `extends` resolved.

    Args:
        table: what it says.
        origins: the places that it is made of, its own first.
    """

    table: Table
    origins: tuple[tuple[Source, KeyPath], ...]

    def where(self, rest: KeyPath = ()) -> str:
        """`file:line` of a key in it, or of the closest table around that."""
        while rest:
            for source, path in self.origins:
                if source.has((*path, *rest)):
                    return source.where((*path, *rest))
            rest = rest[:-1]
        source, path = self.origins[0]
        return source.where(path)


class Entries:
    """The entries of a document, by kind and name, its own first and then the built-in ones that it leaves.

    Args:
        source: the document.
        builtin: the one beneath it.
        problems: told what is wrong.
    """

    def __init__(self, source: Source, builtin: Source | None, problems: Problems) -> None:
        self.by_kind: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
        self._problems = problems
        for key in source.document:
            if key not in SECTIONS:
                problems.tell((key,), f"unknown section{suggestion(key, SECTIONS)}")
        own = self._tables(source)
        beneath = self._tables(builtin) if builtin is not None else {kind: {} for kind in KINDS}
        for name in own["agents"].keys() & own["mixtures"].keys():
            other = source.where(("agents", name))
            problems.tell(("mixtures", name), f"an agent has this name already{f' ({other})' if other else ''}")
        taken = {name for kind in KINDS for name in own[kind]}
        for kind in KINDS:
            raw = {name: (source, table, beneath[kind].get(name)) for name, table in own[kind].items()}
            for name, table in beneath[kind].items():
                if builtin is not None and name not in (own[kind] if kind == "models" else taken):
                    raw[name] = (builtin, table, None)
            for name in raw:
                self._resolve(kind, name, raw, ())

    def _tables(self, source: Source) -> dict[str, dict[str, Table]]:
        """The tables of each kind as they stand, short lines written out."""
        found: dict[str, dict[str, Table]] = {kind: {} for kind in KINDS}
        for kind in KINDS:
            section = source.document.get(kind, {})
            if not isinstance(section, dict):
                self._problems.tell((kind,), "should be a table of tables")
                continue
            for name, table in section.items():
                try:
                    if kind == "models" and isinstance(table, str):
                        table = expanded(table)
                    if not isinstance(table, dict) or not name:
                        raise ValueError("should be a table" if name else "needs a name")
                except ValueError as error:
                    self._problems.tell((kind, name), str(error))
                else:
                    found[kind][name] = table
        return found

    def _resolve(
        self, kind: str, name: str, raw: Mapping[str, tuple[Source, Table, Table | None]], inside: tuple[str, ...]
    ) -> None:
        """Make an entry of a table, and of those it extends first. One that extends its own name means the built-in
        one that it replaces.
        """
        found = self.by_kind[kind]
        if name in found:
            return
        source, table, replaced = raw[name]
        origins: tuple[tuple[Source, KeyPath], ...] = ((source, (kind, name)),)
        base = table.get(EXTENDS)
        wrong = ""
        if base == name and replaced is not None:
            table = merged(replaced, table)
        elif isinstance(base, str) and base in raw and base not in (*inside, name):
            self._resolve(kind, base, raw, (*inside, name))
            if base in found:
                table, origins = merged(found[base].table, table), (*origins, *found[base].origins)
        elif isinstance(base, str) and base in raw:
            way = (*inside, name, base)
            wrong = f"nothing can extend itself: {' → '.join(way[way.index(base) :])}"
        elif isinstance(base, str):
            wrong = f"there is no {kind[:-1]} {base!r}{suggestion(base, raw)}"
        elif base is not None:
            wrong = f"should be the name of another {kind[:-1]}"
        if wrong:
            self._problems.tell((kind, name, EXTENDS), wrong, source.where((kind, name, EXTENDS)))
        found[name] = Entry({key: value for key, value in table.items() if key != EXTENDS}, origins)
