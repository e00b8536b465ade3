"""Agents into a document: what is made of dataclasses that can be found again is written down, and reads back equal.

    >>> from motet import ModelAgent, Scripted, Vote
    >>> smol = ModelAgent(Scripted("4", name="smol"), "smol-chat", system="Be brief.")
    >>> describe(Vote([smol, smol]))["mixtures"]
    {'vote': {'composition': 'vote', 'agents': ['smol-chat', 'smol-chat']}}

Values that are what they are by default are left out. Sequences read back as tuples.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence

import msgspec

from motet.agent import ModelAgent
from motet.backend import Backend
from motet.errors import ConfigError, ToolError
from motet.run import Agent
from motet.spec.entry import AgentEntry, Reference
from motet.spec.fields import alternatives, fields_of, is_function, is_mapping, is_protocol, is_record, is_sequence
from motet.spec.read import KIND
from motet.spec.registry import imported, reference_of, variants, word_of
from motet.tool import Tool, tool

Table = dict[str, object]


def describe(agent: Agent) -> Table:
    """A document from which `build` makes an equal agent, given the same models.

    Args:
        agent: a `ModelAgent` or a composition of agents.

    Returns:
        `default` (the agent's name), `agents` and `mixtures`, as in motet.toml; models are named by their backends'
        names.

    Raises:
        ConfigError: something in it can't be written down: it is no dataclass, it or a tool can't be imported again,
            or two different agents or models have one name.
    """
    writer = _Writer()
    default = writer.agent(agent)
    return {"default": default, **{key: table for key, table in writer.sections.items() if table}}


class _Writer:
    def __init__(self) -> None:
        self.sections: dict[str, Table] = {"agents": {}, "mixtures": {}}
        self._agents: dict[str, Agent] = {}
        self._models: dict[str, Backend] = {}

    def agent(self, agent: Agent) -> str:
        """Write an agent and all that is in it; gives its name."""
        known = self._agents.setdefault(agent.name, agent)
        if known is not agent and known != agent:
            raise ConfigError(f"two different agents are called {agent.name!r}: give one another name")
        if agent.name in self.sections["agents"] or agent.name in self.sections["mixtures"]:
            return agent.name
        if isinstance(agent, ModelAgent):
            self.model(agent.backend)
            entry = AgentEntry.of(agent, tuple(self._tool(each) for each in agent.tools))
            self.sections["agents"][agent.name] = self.record(entry)
        else:
            self.sections["mixtures"][agent.name] = {}  # taken, so that its members stand after it
            self.sections["mixtures"][agent.name] = self._variant(Agent, agent, "composition", {"name"})
        return agent.name

    def model(self, backend: Backend) -> str:
        """Name a backend."""
        known = self._models.setdefault(backend.name, backend)
        if known is not backend and known != backend:
            raise ConfigError(f"two different models are called {backend.name!r}: give one another name")
        return backend.name

    def value(self, hint: object, value: object) -> object:
        """What a document says for a value where a `hint` is wanted."""
        if typing.get_origin(hint) is typing.Annotated:
            return self.value(typing.get_args(hint)[0], value)
        if value is None or isinstance(value, bool | int | float | str):
            return value
        for arm in alternatives(hint):
            if is_protocol(arm) and isinstance(arm, type):
                if arm is Agent and isinstance(value, Agent):
                    return self.agent(value)
                if arm is Backend and isinstance(value, Backend):
                    return self.model(value)
                if type(value) in variants(arm).values() or len(alternatives(hint)) == 1:
                    table = self._variant(arm, value, KIND, set())
                    return table[KIND] if len(table) == 1 else table
            elif is_sequence(arm) and isinstance(value, Sequence):
                inner = typing.get_args(arm)
                each = inner if len(inner) == len(value) and Ellipsis not in inner else (inner[0],) * len(value)
                return [self.value(of, item) for of, item in zip(each, value, strict=True)]
            elif is_mapping(arm) and isinstance(value, Mapping):
                return {key: self.value(typing.get_args(arm)[1], item) for key, item in value.items()}
            elif is_record(arm) and isinstance(arm, type) and isinstance(value, arm):
                return self.record(value)
            elif is_function(arm) and callable(value):
                return self._reference(value)
            elif arm is object or arm is typing.Any:
                return msgspec.to_builtins(value)
        raise ConfigError(f"{value!r} can't be written down: it is no {hint}")

    def record(self, record: object, without: set[str] | None = None) -> Table:
        """The fields of a record that are not what they are by default."""
        table: Table = {}
        for field in fields_of(type(record)):
            value = getattr(record, field.name)
            if field.name not in (without or ()) and (field.required or value != field.default):
                table[field.name] = self.value(field.hint, value)
        return table

    def _variant(self, seam: type, value: object, key: str, without: set[str]) -> Table:
        if not is_record(type(value)):
            raise ConfigError(f"{value!r} can't be written down: only dataclasses can")
        try:
            return {key: word_of(seam, type(value)), **self.record(value, without)}
        except ImportError as error:
            raise ConfigError(f"{type(value).__name__} can't be written down: {error}") from None

    def _tool(self, given: Tool) -> Reference:
        function = given.function
        reference = Reference(f"{function.__module__}:{function.__qualname__}")
        try:
            found = imported(reference)
            if found == given or (found is function and tool(function) == given):
                return reference
        except (ImportError, ToolError):
            pass
        raise ConfigError(
            f"the tool {given.name!r} can't be written down: {reference} is neither it nor a function with its name "
            f"and description; put it at the top of a module"
        )

    @staticmethod
    def _reference(function: object) -> Reference:
        try:
            return Reference(reference_of(function))
        except ImportError as error:
            raise ConfigError(f"a function can't be written down: {error}") from None
