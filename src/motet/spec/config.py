"""A configuration: models, agents and mixtures by name, checked as a whole and built one by one as they are used.

    >>> config = from_document({
    ...     "models": {"sums": "function:motet.backends.calculator:calculate"},
    ...     "mixtures": {"twice": {"composition": "vote", "agents": ["sums", "sums"]}},
    ... })
    >>> config.agent("twice").name
    'twice'

What the built-in configuration defines is there too, unless the file uses the same name. All that is wrong with a file
is told at once, each with its line; what depends on the environment (keys, one's own functions) is looked at only when
it is used, so a file with ten endpoints works with the key of one.
"""

from __future__ import annotations

import copy
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from motet.agent import ModelAgent
from motet.backend import Backend
from motet.budget import Budget
from motet.errors import ConfigError, MotetError, ToolError, UsageError
from motet.perform import DEFAULT_USD
from motet.run import Agent
from motet.spec.entries import KINDS, Entries, Entry
from motet.spec.entry import AgentEntry, BudgetEntry
from motet.spec.extend import circle
from motet.spec.fields import fields_of, is_sequence
from motet.spec.locate import Path as KeyPath
from motet.spec.model import ModelEntry, backend_of, missing_variables, model_entry
from motet.spec.problems import Problems
from motet.spec.read import Reader, Wrong, suggestion
from motet.spec.registry import variant, variants
from motet.spec.source import DEFAULT, Source, Table, check_plain, dotted, find, read

COMPOSITION: Final = "composition"


def load(path: str | Path | None = None) -> Config:
    """The configuration that applies.

    Args:
        path: its file; without one, that named by `MOTET_CONFIG`, else the closest `motet.toml`, `motet.yaml` or
            `pyproject.toml` with a `[tool.motet]` from the working directory upwards, else the built-in one.

    Raises:
        ConfigError: something is wrong with it; names file, line and key of each thing.
    """
    builtin = read(DEFAULT)
    found = Path(path).expanduser() if path is not None else find()
    return Config(read(found), builtin) if found is not None else Config(builtin)


def from_document(
    document: Mapping[str, object], *, models: Mapping[str, Backend] | None = None, keyless: bool = False
) -> Config:
    """A configuration from data, without the built-in one: what `Config.subset` or `describe` gave, say.

    Args:
        document: as in motet.toml; `folder` may say what relative paths start from.
        models: backends to use for the models of these names, whatever the document says of them.
        keyless: whether environment variables may be missing: for replays and lists, which call no model.

    Raises:
        ConfigError: something is wrong with it; names the key of each thing.
    """
    folder = document.get("folder")
    rest = {key: value for key, value in document.items() if key != "folder"}
    source = Source(rest, folder=Path(folder) if isinstance(folder, str) else None)
    check_plain(source)
    return Config(source, models=models, keyless=keyless)


def build(document: Mapping[str, object], models: Mapping[str, Backend]) -> Agent:
    """The agent that a document describes, on the given backends: the reverse of `describe`.

    >>> from motet import ModelAgent, Scripted, Vote
    >>> from motet.spec import describe
    >>> smol = Scripted("4", name="smol")
    >>> vote = Vote((ModelAgent(smol, "a"), ModelAgent(smol, "b")))
    >>> build(describe(vote), {"smol": smol}) == vote
    True

    Raises:
        ConfigError: something is wrong with it; names the key of each thing.
    """
    return from_document(document, models=models).agent()


@dataclass(frozen=True)
class _Uses:
    """The agents that an entry names, by where it does, and the models."""

    agents: Mapping[KeyPath, str]
    models: tuple[str, ...]


class Config:
    """Models, agents and mixtures by name. Make one with `load` or `from_document`.

    Args:
        source: the document.
        builtin: the one beneath it, for the names that it does not define.
        models: backends that are there already.
        keyless: whether environment variables may be missing.

    Attributes:
        default: the name of the agent or mixture that is asked when none is named; "" if there is none.
        path: the file it came from, as errors show it; "" if it came from none.

    Raises:
        ConfigError: something is wrong; names file, line and key of each thing.
    """

    def __init__(
        self,
        source: Source,
        builtin: Source | None = None,
        *,
        models: Mapping[str, Backend] | None = None,
        keyless: bool = False,
    ) -> None:
        self.path, self._source, self._keyless = source.name, source, keyless
        self._given, self._backends, self._agents = dict(models or {}), dict[str, Backend](), dict[str, Agent]()
        self._models: dict[str, ModelEntry] = {}
        self._uses: dict[tuple[str, str], _Uses] = {}
        self._entries: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
        self._problems = Problems(self._where)
        self._entries = Entries(source, builtin, self._problems).by_kind
        for kind in KINDS:
            for name in self._entries[kind]:
                self._check(kind, name)
        self._check_circles()
        self._budget = self._read_budget()
        self.default = self._read_default(builtin)
        self._problems.check()

    # ---- what there is

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models, the file's own first."""
        return tuple(dict.fromkeys((*self._entries["models"], *self._given)))

    @property
    def agents(self) -> tuple[str, ...]:
        """The names of the single agents."""
        return tuple(self._entries["agents"])

    @property
    def mixtures(self) -> tuple[str, ...]:
        """The names of the mixtures."""
        return tuple(self._entries["mixtures"])

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that can be asked: mixtures, agents, and models, each of which is a plain chat agent too."""
        return tuple(dict.fromkeys((*self.mixtures, *self.agents, *self.models)))

    @property
    def document(self) -> Table:
        """The whole configuration, `extends` resolved; `${VAR}` stands as it was written."""
        whole: Table = {"default": self.default} if self.default else {}
        for kind in KINDS:
            whole[kind] = {name: copy.deepcopy(entry.table) for name, entry in self._entries[kind].items()}
        if "budget" in self._source.document:
            whole["budget"] = copy.deepcopy(self._source.document["budget"])
        return whole

    def where(self, name: str) -> str:
        """`file:line` of what a name stands for; "" if that came from no file.

        Raises:
            UsageError: it stands for nothing.
        """
        kind = self._kind(self._asked(name))
        return self._entries[kind][name].where() if name in self._entries[kind] else ""

    def subset(self, name: str = "") -> Table:
        """All that one agent or mixture is made of, as a document that `from_document` takes.

        Args:
            name: which; the default one if "".

        Returns:
            JSON data without secrets: `${VAR}` stands as it was written.

        Raises:
            UsageError: there is no such name.
        """
        name = self._asked(name)
        needed: dict[str, Table] = {}
        for kind, each in self._reached(name):
            if each in self._entries[kind]:
                needed.setdefault(kind, {})[each] = copy.deepcopy(self._entries[kind][each].table)
        folder = {"folder": str(self._source.folder)} if self._source.folder else {}
        return {"default": name, **folder, **needed}

    def missing_variables(self, name: str = "") -> tuple[str, ...]:
        """The environment variables that an agent or mixture needs and that are not set.

        Raises:
            UsageError: there is no such name.
        """
        found = [variable for _, _, variable in self._missing(self._asked(name))]
        return tuple(dict.fromkeys(found))

    # ---- what is made of it

    def agent(self, name: str = "") -> Agent:
        """An agent or a mixture, built the first time it is asked for.

        Args:
            name: which; the default one if "". A model's name, where no agent has it, is that model asked in chat.

        Raises:
            UsageError: there is no such name.
            ConfigError: an environment variable that it needs is not set, or something in it can't be made.
        """
        name = self._asked(name)
        if name not in self._agents:
            self._need_variables(name)
            self._agents[name] = self._built(name)
        return self._agents[name]

    def model(self, name: str) -> Backend:
        """A model's backend, made the first time it is asked for; nothing is loaded or called yet.

        Raises:
            UsageError: there is no such model.
            ConfigError: an environment variable that it needs is not set, or it can't be made.
        """
        if name in self._given:
            return self._given[name]
        if name not in self._models:
            raise UsageError(f"there is no model {name!r}{suggestion(name, self.models)}")
        if name not in self._backends:
            self._need_variables(name, "models")
            entry, folder = self._models[name], self._source.folder
            try:
                self._backends[name] = backend_of(entry, name, self, folder=folder, keyless=self._keyless)
            except (MotetError, ImportError) as error:
                if isinstance(error, ConfigError) and error.key.startswith("models."):
                    raise  # that of a fallback, told already
                path = ("models", name)
                raise ConfigError(str(error), where=self._where(path), key=dotted(path)) from None
        return self._backends[name]

    def budget(self) -> Budget:
        """A fresh purse with the limits of `[budget]`; 1 USD where it does not say how many."""
        limits = self._budget
        usd = DEFAULT_USD if limits.usd is None else limits.usd
        return Budget(calls=limits.calls, tokens=limits.tokens, usd=usd, seconds=limits.seconds)

    def committee(self, agents: Sequence[str], mixture: str = "") -> Config:
        """This configuration with the members of one mixture replaced, and that mixture as the default.

        Who is no member of it any more leaves his other parts in it too: where he stood in a list (of judges, say) the
        new members stand, and where he stood alone (as aggregator or chair) the first of them.

        Args:
            agents: the names of the new members.
            mixture: a mixture, or a composition with its defaults; the default mixture if "".

        Raises:
            UsageError: a name is unknown, or it is no mixture of several agents.
            ConfigError: the mixture makes no sense with these members.
        """
        name = mixture or self._asked("")
        members = [self._asked(each) for each in agents]
        if not members:
            raise UsageError("a committee needs agents: name at least one")
        entry = self._entries["mixtures"].get(name)
        if entry is None:
            if name.replace("-", "_") not in variants(Agent):
                known = sorted({*self.mixtures, *variants(Agent)})
                raise UsageError(f"there is no mixture {name!r}{suggestion(name, known)}")
            entry = Entry({COMPOSITION: name}, ((self._source, ("mixtures", name)),))
        changed = copy.copy(self)
        changed.default, changed._agents, changed._uses = name, {}, dict(self._uses)
        changed._problems = Problems(changed._where)
        table = _with_members(entry.table, members, self._uses.get(("mixtures", name)), name)
        mixtures = {**self._entries["mixtures"], name: Entry(table, entry.origins)}
        changed._entries = {**self._entries, "mixtures": mixtures}
        changed._check("mixtures", name)
        changed._check_circles()
        changed._problems.check()
        return changed

    # ---- finding one's way

    def _kind(self, name: str) -> str:
        return next((kind for kind in reversed(KINDS) if name in self._entries[kind]), "models")

    def _asked(self, name: str) -> str:
        """The name that is meant; "" means the default one."""
        if not name and not self.default:
            raise UsageError(f"no agent is named, and there is no default{suggestion('', self.names)}")
        name = name or self.default
        if name not in self.names:
            raise UsageError(self._unknown(name))
        return name

    def _unknown(self, name: str) -> str:
        return f"there is no agent, mixture or model {name!r}{suggestion(name, self.names)}"

    def _reached(self, name: str, kind: str = "") -> list[tuple[str, str]]:
        """What a name stands for and all that it is made of, each once."""
        reached = {(kind or self._kind(name), name): None}
        for each in iter(waiting := list(reached)):
            uses = self._uses.get(each, _Uses({}, ()))
            found = [(self._kind(agent), agent) for agent in uses.agents.values()]
            found += [("models", model) for model in uses.models]
            waiting += [other for other in dict.fromkeys(found) if other not in reached]
            reached.update(dict.fromkeys(found))
        return list(reached)

    def _missing(self, name: str, kind: str = "") -> Iterator[tuple[str, KeyPath, str]]:
        """The models behind a name that lack a variable: which, the key that needs it, and the variable."""
        for of, model in self._reached(name, kind):
            if of == "models" and model in self._models and model not in self._given:
                for path, variable in missing_variables(self._models[model]):
                    yield model, path, variable

    def _need_variables(self, name: str, kind: str = "") -> None:
        if not self._keyless:
            for model, path, variable in self._missing(name, kind):
                text = f"the environment variable {variable} is not set: set it, or leave this model out"
                self._problems.tell(("models", model, *path), text)
            self._problems.check()

    def _where(self, path: KeyPath) -> str:
        kind, name, *rest = (*path, "", "")[: max(2, len(path))]
        entry = self._entries.get(str(kind), {}).get(str(name))
        return entry.where(tuple(rest)) if entry else self._source.where(path)

    # ---- reading

    def _reader(self, *, build: bool = False) -> Reader:
        return Reader(self, self._problems.tell, folder=self._source.folder, build=build)

    def _check(self, kind: str, name: str) -> None:
        """Read an entry without building agents, to find what is wrong with it and what it uses."""
        reader = self._reader()
        table = self._entries[kind][name].table
        try:
            if kind == "models":
                self._models[name] = model_entry(table, (kind, name), reader)
            elif kind == "agents":
                reader.record(AgentEntry, table, (kind, name))
            else:
                self._mixture(name, reader)
        except Wrong:
            pass  # told
        self._uses[kind, name] = _Uses(dict(reader.agents), tuple(reader.models.values()))

    def _mixture(self, name: str, reader: Reader) -> object:
        table, path = self._entries["mixtures"][name].table, ("mixtures", name)
        word = table.get(COMPOSITION)
        if not isinstance(word, str):
            reader.tell(path, f"should say its {COMPOSITION}: {', '.join(variants(Agent))}")
            raise Wrong
        cls = reader.variant(Agent, word, (*path, COMPOSITION))
        return reader.record(cls, table, path, given={"name": name}, besides=(COMPOSITION,))

    def _built(self, name: str) -> Agent:
        """An agent or a mixture, with all that is in it."""
        kind, path = self._kind(name), (self._kind(name), name)
        if kind == "models":
            return ModelAgent(self.model(name), name)
        reader = self._reader(build=True)
        try:
            if kind == "mixtures":
                made = self._mixture(name, reader)
            else:
                entry = reader.record(AgentEntry, self._entries[kind][name].table, path)
                assert isinstance(entry, AgentEntry)
                made = self._single(name, entry, reader)
        except Wrong:
            self._problems.check()
            raise
        if not isinstance(made, Agent):
            raise ConfigError(f"{type(made).__name__} is no agent", where=self._where(path), key=dotted(path))
        return made

    def _single(self, name: str, entry: AgentEntry, reader: Reader) -> ModelAgent:
        from motet.tool import Tool, tool

        tools = []
        for place, reference in enumerate(entry.tools):
            path = ("agents", name, "tools", place)
            found = reader.imported(reference, path)
            try:
                tools.append(found if isinstance(found, Tool) else tool(found))  # type: ignore[arg-type]
            except ToolError as error:
                reader.tell(path, str(error))
                raise Wrong from None
        return entry.agent(name, self.model(entry.model), tools)

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
        try:
            found = self._reader().read(BudgetEntry, self._source.document.get("budget", {}), ("budget",))
        except Wrong:
            return BudgetEntry()
        assert isinstance(found, BudgetEntry)
        return found

    def _read_default(self, builtin: Source | None) -> str:
        name = self._source.document.get("default", (builtin.document if builtin else {}).get("default", ""))
        if not isinstance(name, str):
            self._problems.tell(("default",), "should be a name")
        elif name and name not in self.names:
            self._problems.tell(("default",), self._unknown(name))
        else:
            return name
        return ""


def _with_members(table: Table, members: list[str], uses: _Uses | None, name: str) -> Table:
    """A mixture's table with other members, who take over what the former ones were besides."""
    word = table.get(COMPOSITION)
    cls = variant(Agent, word) if isinstance(word, str) else None
    parts = {field.name: field.hint for field in fields_of(cls)} if cls else {}
    several = [key for key, hint in parts.items() if is_sequence(hint) and typing.get_args(hint)[0] is Agent]
    single = [key for key, hint in parts.items() if hint is Agent]
    if not several and (not single or len(members) > 1):
        takes = "one agent" if single else "no agents"
        raise UsageError(f"{name} is made of {takes}, so {len(members)} can't take part: name another mixture")
    place = (several or single)[0]
    changed = copy.deepcopy(table)
    named = uses.agents if uses else {}
    former = {agent for path, agent in named.items() if path[2] == place} - set(members)
    for path, agent in named.items():
        if path[2] != place and agent in former:
            listed = isinstance(path[-1], int)
            _put(changed, path[2:-1] if listed else path[2:], list(members) if listed else members[0])
    changed[place] = list(members) if several else members[0]
    return changed


def _put(table: object, path: KeyPath, value: object) -> None:
    """Set what stands at `path` inside nested tables and lists."""
    *way, last = path
    for step in way:
        table = table[step]  # type: ignore[index]
    table[last] = value  # type: ignore[index]
