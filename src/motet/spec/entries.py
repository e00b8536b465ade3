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
from motet.spec.source import BUILTIN, Source, Table

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

    @property
    def builtin(self) -> bool:
        """Whether nothing in it is a file's own."""
        return all(source.name == BUILTIN for source, _ in self.origins)

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
    """The entries of a document, by kind and name: its own first, then those beneath that it leaves.

    Args:
        source: the document.
        problems: told what is wrong.
        beneath: entries of another document, which count for the names that this one does not define.
    """

    def __init__(self, source: Source, problems: Problems, beneath: Entries | None = None) -> None:
        self._source, self._problems = source, problems
        for key in source.document:
            if key not in SECTIONS:
                problems.tell((key,), f"unknown section{suggestion(key, SECTIONS)}")
        tables = {kind: self._tables(kind) for kind in KINDS}
        for name in tables["agents"].keys() & tables["mixtures"].keys():
            other = source.where(("agents", name))
            problems.tell(("mixtures", name), f"an agent has this name already{f' ({other})' if other else ''}")
        taken = {name for kind in KINDS for name in tables[kind]}
        self.by_kind: dict[str, dict[str, Entry]] = {}
        for kind in KINDS:
            below = beneath.by_kind[kind] if beneath else {}
            found: dict[str, Entry] = {}
            for name in tables[kind]:
                self._resolve(kind, name, tables[kind], below, found, ())
            hidden = found if kind == "models" else taken
            self.by_kind[kind] = found | {name: entry for name, entry in below.items() if name not in hidden}

    def _tables(self, kind: str) -> dict[str, Table]:
        """The tables of one kind as they stand, short lines written out."""
        found: dict[str, Table] = {}
        section = self._source.document.get(kind)
        if section is None:  # not there, or a YAML key with nothing under it
            return found
        if not isinstance(section, dict):
            self._problems.tell((kind,), "should be a table of tables")
            return found
        for name, table in section.items():
            try:
                if kind == "models" and isinstance(table, str):
                    table = expanded(table)
                if not isinstance(table, dict) or not name:
                    raise ValueError("should be a table" if name else "needs a name")
            except ValueError as error:
                self._problems.tell((kind, name), str(error))
            else:
                found[name] = table
        return found

    def _resolve(
        self,
        kind: str,
        name: str,
        tables: Mapping[str, Table],
        below: Mapping[str, Entry],
        found: dict[str, Entry],
        inside: tuple[str, ...],
    ) -> None:
        """Make an entry of a table, and of those it extends first.

        What it extends is one of the same document, else one beneath; its own name always means the one beneath.
        """
        if name in found:
            return
        table = tables[name]
        origins: tuple[tuple[Source, KeyPath], ...] = ((self._source, (kind, name)),)
        base = table.get(EXTENDS)
        extended: Entry | None = None
        wrong = ""
        if not isinstance(base, str):
            wrong = f"should be the name of another {kind[:-1]}" if base is not None else ""
        elif base in tables and base not in (*inside, name):
            self._resolve(kind, base, tables, below, found, (*inside, name))
            extended = found[base]
        elif base in below and (base == name or base not in tables):
            extended = below[base]
        elif base in tables:
            way = (*inside, name, base)
            wrong = f"nothing can extend itself: {' → '.join(way[way.index(base) :])}"
        else:
            wrong = f"there is no {kind[:-1]} {base!r}{suggestion(base, [*tables, *below])}"
        if wrong:
            self._problems.tell((kind, name, EXTENDS), wrong)
        if extended is not None:
            table, origins = merged(extended.table, table), (*origins, *extended.origins)
        found[name] = Entry({key: value for key, value in table.items() if key != EXTENDS}, origins)
