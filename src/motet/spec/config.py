"""A configuration: models, agents and mixtures by name, checked as a whole and built one by one as they are used.

    >>> from motet.spec import from_document
    >>> config = from_document({
    ...     "models": {"sums": "function:motet.backends.calculator:calculate"},
    ...     "mixtures": {"twice": {"composition": "vote", "agents": ["sums", "sums"]}},
    ... })
    >>> config.agent("twice").name
    'twice'

What depends on the environment (keys, one's own functions) is looked at only when it is used, so a file with ten
endpoints works with the key of one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

from motet.agent import ModelAgent
from motet.backend import Backend
from motet.budget import Budget
from motet.errors import ConfigError, MotetError, ToolError, UsageError
from motet.perform import DEFAULT_USD
from motet.run import Agent
from motet.spec.checked import Checked, Key
from motet.spec.committee import committee
from motet.spec.entries import KINDS
from motet.spec.entry import AgentEntry
from motet.spec.locate import Path as KeyPath
from motet.spec.model import backend_of, identity
from motet.spec.problems import Problems
from motet.spec.read import Reader, Wrong, suggestion
from motet.spec.source import Table, dotted


class Config:
    """Models, agents and mixtures by name. Make one with `motet.spec.load` or `from_document`.

    Args:
        checked: the document.
        models: backends that are there already, by the names of their models.
        keyless: whether environment variables may be missing.

    Attributes:
        default: the name of the agent or mixture that is asked when none is named; "" if there is none.
        path: what it came from, as errors show it: a file, or `built-in`; "" if it came from data.
        models: the names of the models, the file's own first.
        agents: the names of the single agents.
        mixtures: the names of the mixtures.
        names: every name that can be asked: mixtures, agents, and models, each of which is a plain chat agent too.
    """

    def __init__(self, checked: Checked, *, models: Mapping[str, Backend] | None = None, keyless: bool = False) -> None:
        self._checked, self._keyless, self._given = checked, keyless, dict(models or {})
        self._backends: dict[str, Backend] = {}
        self._agents: dict[str, Agent] = {}
        self.path, self.default = checked.source.name, checked.default
        self.models, self.names = checked.models, checked.names
        self.agents, self.mixtures = tuple(checked.entries["agents"]), tuple(checked.entries["mixtures"])

    @property
    def document(self) -> Table:
        """The whole configuration, `extends` resolved; `${VAR}` stands as it was written."""
        whole: Table = {"default": self.default} if self.default else {}
        for kind in KINDS:
            whole[kind] = {name: copy.deepcopy(entry.table) for name, entry in self._checked.entries[kind].items()}
        if "budget" in self._checked.source.document:
            whole["budget"] = copy.deepcopy(self._checked.source.document["budget"])
        return whole

    def where(self, name: str | KeyPath) -> str:
        """`file:line` of what a name stands for, or of a key by its path; "" if that came from no file.

        Raises:
            UsageError: the name stands for nothing.
        """
        return self._checked.where(self._key(name) if isinstance(name, str) else name)

    def subset(self, name: str = "") -> Table:
        """All that one agent or mixture is made of, as a document that `from_document` takes.

        Args:
            name: which; the default one if "".

        Returns:
            JSON data without secrets: `${VAR}` stands as it was written.

        Raises:
            UsageError: there is no such name.
        """
        key = self._key(name)
        needed: dict[str, Table] = {}
        for kind, each in self._checked.reached(key):
            if each in self._checked.entries[kind]:
                needed.setdefault(kind, {})[each] = copy.deepcopy(self._checked.entries[kind][each].table)
        folder = self._checked.source.folder
        return {"default": key[1], **({"folder": str(folder)} if folder else {}), **needed}

    def identities(self, names: Iterable[str]) -> dict[str, str]:
        """What each model is that these are made of, as a digest: under one that is known, its replies are.

        Args:
            names: agents, mixtures or models; "" for the default one. Models that were given from outside are left out.

        Raises:
            UsageError: there is no such name.
        """
        reached = dict.fromkeys(key for name in names for key in self._checked.reached(self._key(name)))
        return {
            name: self._identity(name)
            for kind, name in reached
            if kind == "models" and name in self._checked.model_entries and name not in self._given
        }

    def missing_variables(self, name: str = "") -> tuple[str, ...]:
        """The environment variables that an agent or mixture needs and that are not set.

        Raises:
            UsageError: there is no such name.
        """
        return tuple(dict.fromkeys(variable for _, _, variable in self._checked.missing(self._key(name))))

    def agent(self, name: str = "") -> Agent:
        """An agent or a mixture, built the first time it is asked for.

        Args:
            name: which; the default one if "". A model's name, where no agent has it, is that model asked in chat.

        Raises:
            UsageError: there is no such name.
            ConfigError: an environment variable that it needs is not set, or something in it can't be made.
        """
        key = self._key(name)
        if key[1] not in self._agents:
            self._need_variables(key)
            self._agents[key[1]] = self._built(key)
        return self._agents[key[1]]

    def model(self, name: str) -> Backend:
        """A model's backend, made the first time it is asked for; nothing is loaded or called yet.

        Raises:
            UsageError: there is no such model.
            ConfigError: an environment variable that it needs is not set, or it can't be made.
        """
        if name in self._given:
            return self._given[name]
        if name not in self._checked.model_entries:
            raise UsageError(f"there is no model {name!r}{suggestion(name, self.models)}")
        if name not in self._backends:
            key = ("models", name)
            self._need_variables(key)
            entry, folder = self._checked.model_entries[name], self._checked.source.folder
            try:
                self._backends[name] = backend_of(
                    entry, name, self, folder=folder, keyless=self._keyless, identity=self._identity(name)
                )
            except (MotetError, ImportError) as error:
                if isinstance(error, ConfigError) and error.key.startswith("models."):
                    raise  # that of a fallback, told already
                raise ConfigError(str(error), where=self._checked.where(key), key=dotted(key)) from None
        return self._backends[name]

    def budget(self) -> Budget:
        """A fresh purse with the limits of `[budget]`; 1 USD where it does not say how many."""
        limits = self._checked.budget
        usd = DEFAULT_USD if limits.usd is None else limits.usd
        return Budget(calls=limits.calls, tokens=limits.tokens, usd=usd, seconds=limits.seconds)

    def committee(self, agents: Sequence[str], mixture: str = "") -> Config:
        """This configuration with the members of one mixture replaced, and that mixture as the default.

        Members that are none any more leave their other parts as well (aggregator, chair, judge) to the new.

        Args:
            agents: the names of the new members.
            mixture: a mixture, or a composition with its defaults; the default mixture if "".

        Raises:
            UsageError: a name is unknown, or it is no mixture of so many agents.
            ConfigError: the mixture makes no sense with these members.
        """
        changed = Config(committee(self._checked, agents, mixture), models=self._given, keyless=self._keyless)
        changed._backends = self._backends  # the same models, so the same caches and connections
        return changed

    def _identity(self, name: str) -> str:
        """What a model is; one that was given from outside is what it is called."""
        entry = self._checked.model_entries.get(name)
        if entry is None or name in self._given:
            return name
        return identity(entry, [self._identity(each) for each in entry.fallbacks], self._checked.source.folder)

    def _key(self, name: str) -> Key:
        name = self._checked.asked(name)
        return self._checked.kind(name), name

    def _need_variables(self, key: Key) -> None:
        problems = Problems(self._checked.where)
        for model, path, variable in self._checked.missing(key):
            if model not in self._given and not self._keyless:
                text = f"the environment variable {variable} is not set: set it, or leave this model out"
                problems.tell(("models", model, *path), text)
        problems.check()

    def _built(self, key: Key) -> Agent:
        """An agent or a mixture, with all that is in it."""
        kind, name = key
        if kind == "models":
            return ModelAgent(self.model(name), name)
        problems = Problems(self._checked.where)
        reader = Reader(self, problems.tell, folder=self._checked.source.folder, maker=self)
        made: object = None
        try:
            made = self._checked.mixture(name, reader) if kind == "mixtures" else self._single(name, reader)
        except Wrong:
            problems.check()
        if not isinstance(made, Agent):
            raise ConfigError(f"{type(made).__name__} is no agent", where=self._checked.where(key), key=dotted(key))
        return made

    def _single(self, name: str, reader: Reader) -> ModelAgent:
        from motet.tool import Tool, tool

        path = ("agents", name)
        entry = reader.record(AgentEntry, self._checked.entries["agents"][name].table, path)
        assert isinstance(entry, AgentEntry)
        tools = []
        for place, reference in enumerate(entry.tools):
            found = reader.imported(reference, (*path, "tools", place))
            try:
                tools.append(found if isinstance(found, Tool) else tool(found))  # type: ignore[arg-type]
            except ToolError as error:
                reader.tell((*path, "tools", place), str(error))
                raise Wrong from None
        backend = self.model(entry.model)
        try:
            return entry.agent(name, backend, tools)
        except UsageError as error:  # it is held, and its model takes no grammar
            held = (*path, "held")
            raise ConfigError(str(error), where=self._checked.where(held), key=dotted(held)) from None
