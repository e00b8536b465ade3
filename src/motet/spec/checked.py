"""A document that makes sense: every entry read, every name known, nothing inside itself. Nothing is built yet.

Built-in mixtures that nothing names are read when they are asked: there are many, and each brings its method's file.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from motet.errors import ConfigError, UsageError
from motet.run import Agent
from motet.spec.entries import KINDS, Entries, Entry
from motet.spec.entry import AgentEntry, BudgetEntry
from motet.spec.extend import circle
from motet.spec.locate import Path as KeyPath
from motet.spec.model import ModelEntry, missing_variables, model_entry
from motet.spec.problems import Problems
from motet.spec.read import Reader, Wrong, suggestion
from motet.spec.registry import variants
from motet.spec.source import Source, Table

COMPOSITION: Final = "composition"
Key = tuple[str, str]
"""A kind (`models`, `agents`, `mixtures`) and a name."""


@dataclass(frozen=True)
class Uses:
    """The agents that an entry names, by where it does, and the models."""

    agents: Mapping[KeyPath, str]
    models: tuple[str, ...]


class Checked:
    """The entries of a document and what they are made of.

    Args:
        source: the document.
        beneath: the one that counts for the names that it does not define.
        given: names of models that there are besides.

    Attributes:
        entries: by kind and name, the document's own first.
        models: the names of the models.
        names: every name that can be asked: mixtures, agents, and models.
        budget: the limits of one question.
        default: who is asked when nobody is named, "" if that is not said.

    Raises:
        ConfigError: something is wrong; names file, line and key of each thing.
    """

    def __init__(self, source: Source, beneath: Source | None = None, given: Iterable[str] = ()) -> None:
        self.source = source
        self.entries: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
        self._problems = Problems(self.where)
        below = Entries(beneath, Problems(beneath.where)) if beneath else None
        self.entries = Entries(source, self._problems, below).by_kind
        self.models = tuple(dict.fromkeys((*self.entries["models"], *given)))
        self.names = tuple(dict.fromkeys((*self.entries["mixtures"], *self.entries["agents"], *self.models)))
        self.model_entries: dict[str, ModelEntry] = {}
        self._uses: dict[Key, Uses] = {}
        for kind in KINDS:
            for name, entry in self.entries[kind].items():
                if (kind != "mixtures" or not entry.builtin) and (kind, name) not in self._uses:
                    self._check(kind, name)
        self._check_circles()
        self.budget = self._read_budget()
        self.default = self._read_default(beneath)
        self._problems.check()

    def kind(self, name: str) -> str:
        """The kind of thing that a name stands for; a model's name, where no agent has it, for the model."""
        return next((kind for kind in reversed(KINDS) if name in self.entries[kind]), "models")

    def asked(self, name: str) -> str:
        """The name that is meant; "" means the default one.

        Raises:
            UsageError: there is none.
        """
        name = name or self.default
        if not name:
            raise UsageError(f"no agent is named, and there is no default{suggestion('', self.names)}")
        if name not in self.names:
            raise UsageError(self._unknown(name))
        return name

    def where(self, path: KeyPath) -> str:
        """`file:line` of a key, "" if it came from no file."""
        kind, name, *rest = (*path, "", "")[: max(2, len(path))]
        entry = self.entries.get(str(kind), {}).get(str(name))
        return entry.where(tuple(rest)) if entry else self.source.where(path)

    def reached(self, key: Key) -> list[Key]:
        """An entry and all that it is made of, each once."""
        reached = {key: None}
        for each in iter(waiting := [key]):
            uses = self.uses(each)
            found = dict.fromkeys((self.kind(agent), agent) for agent in uses.agents.values())
            found |= dict.fromkeys(("models", model) for model in uses.models)
            waiting += [other for other in found if other not in reached]
            reached |= found
        return list(reached)

    def uses(self, key: Key) -> Uses:
        """What an entry names; nothing, if there is no such entry.

        Raises:
            ConfigError: it is a built-in mixture that makes no sense in this document.
        """
        if key not in self._uses and key[1] in self.entries[key[0]]:
            self._problems = Problems(self.where)
            self._check(*key)
            self._check_circles()
            try:
                self._problems.check()
            except ConfigError:
                del self._uses[key]  # or the next who asks would not be told
                raise
        return self._uses.get(key, Uses({}, ()))

    def missing(self, key: Key) -> Iterator[tuple[str, KeyPath, str]]:
        """The models behind an entry that lack an environment variable: which, the key that needs it, the variable."""
        for kind, name in self.reached(key):
            if kind == "models" and name in self.model_entries:
                for path, variable in missing_variables(self.model_entries[name]):
                    yield name, path, variable

    def mixture(self, name: str, reader: Reader) -> object:
        """Read a mixture.

        Raises:
            Wrong: it can't be read; the reader has told why.
        """
        table, path = self.entries["mixtures"][name].table, ("mixtures", name)
        word = table.get(COMPOSITION)
        if not isinstance(word, str):
            reader.tell(path, f"should say its {COMPOSITION}: {', '.join(variants(Agent))}")
            raise Wrong
        cls = reader.variant(Agent, word, (*path, COMPOSITION))
        return reader.record(cls, table, path, given={"name": name}, besides=(COMPOSITION,))

    def with_mixture(self, name: str, table: Table) -> Checked:
        """This document with one mixture changed, or one more, as its default.

        Raises:
            ConfigError: it makes no sense so.
        """
        changed = copy.copy(self)
        before = self.entries["mixtures"].get(name)
        origins = before.origins if before else ((self.source, ("mixtures", name)),)
        changed.entries = {**self.entries, "mixtures": {**self.entries["mixtures"], name: Entry(table, origins)}}
        changed.names = tuple(dict.fromkeys((name, *self.names)))
        changed._uses, changed.default = dict(self._uses), name
        changed._problems = Problems(changed.where)
        changed._check("mixtures", name)
        changed._check_circles()
        changed._problems.check()
        return changed

    def _check(self, kind: str, name: str) -> None:
        """Read an entry and what it names, to find what is wrong with it and what it uses."""
        reader = Reader(self, self._problems.tell, folder=self.source.folder)
        table = self.entries[kind][name].table
        try:
            if kind == "models":
                self.model_entries[name] = model_entry(table, (kind, name), reader)
            elif kind == "agents":
                reader.record(AgentEntry, table, (kind, name))
            else:
                self.mixture(name, reader)
        except Wrong:
            pass  # told
        self._uses[kind, name] = Uses(dict(reader.agents), tuple(reader.models.values()))
        for agent in reader.agents.values():
            key = self.kind(agent), agent
            if key not in self._uses and agent in self.entries[key[0]]:
                self._check(*key)

    def _check_circles(self) -> None:
        """Refuse mixtures that contain themselves, and models that are their own fallback."""
        for kind, verb in (("mixtures", "contain"), ("models", "fall back on")):
            links = {
                name: [*uses.agents.values()] if kind == "mixtures" else [*uses.models]
                for (of, name), uses in self._uses.items()
                if of == kind
            }
            told: set[str] = set()
            for name in links:
                way = circle(links, name)
                if way and not told.intersection(way):
                    told.update(way)
                    self._problems.tell((kind, name), f"a {kind[:-1]} can't {verb} itself: {' → '.join(way)}")

    def _read_budget(self) -> BudgetEntry:
        reader = Reader(self, self._problems.tell)
        table = self.source.document.get("budget")
        try:
            found = reader.read(BudgetEntry, {} if table is None else table, ("budget",))
        except Wrong:
            return BudgetEntry()
        assert isinstance(found, BudgetEntry)
        return found

    def _read_default(self, beneath: Source | None) -> str:
        name = self.source.document.get("default", (beneath.document if beneath else {}).get("default", ""))
        if not isinstance(name, str):
            self._problems.tell(("default",), "should be a name")
        elif name and name not in self.names:
            self._problems.tell(("default",), self._unknown(name))
        else:
            return name
        return ""

    def _unknown(self, name: str) -> str:
        return f"there is no agent, mixture or model {name!r}{suggestion(name, self.names)}"
