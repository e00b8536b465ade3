"""Agents into documents and back: everything that a mixture can be made of reads back equal."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Literal, Union

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from motet import Chat, Example, ModelAgent, Plurality, Reply, Run, Sampling, Scripted, Vote
from motet.aggregate import Aggregator
from motet.backend import Backend
from motet.errors import ConfigError, MotetError
from motet.run import Agent
from motet.score import Scorer
from motet.spec import build, describe
from motet.spec.fields import fields_of, is_mapping, is_protocol, is_record, is_sequence
from motet.spec.registry import variants
from motet.tool import tool
from motet.topology import Topology

MODELS: dict[str, Backend] = {name: Scripted(name, name=name) for name in ("one", "two/large:3b", "drei ß")}
TEXTS = st.text(max_size=8)


def counted(text: str) -> str:
    """The number of words in a text."""
    return str(len(text.split()))


def model_agents(name: str) -> st.SearchStrategy[ModelAgent]:
    """A single agent with anything in it."""
    sampling = st.builds(
        Sampling,
        temperature=st.none() | st.floats(0, 2),
        top_p=st.none() | st.floats(0.1, 1),
        max_tokens=st.integers(1, 999),
        stop=st.lists(TEXTS, max_size=2).map(tuple),
        logprobs=st.integers(0, 3),
        format=st.sampled_from(["", '{"type": "json_object"}', '{"type":"json_object"}', "not JSON"]),
        grammar=TEXTS,
    )
    return st.builds(
        ModelAgent,
        backend=st.sampled_from(list(MODELS.values())),
        name=st.just(name),
        system=TEXTS,
        examples=st.lists(st.builds(Example, TEXTS, TEXTS), max_size=2).map(tuple),
        style=st.sampled_from(["chat", "completion"]),
        sampling=sampling,
        tools=st.sampled_from([(), (tool(counted),)]),
        max_steps=st.integers(1, 9),
        fit=st.sampled_from(["drop", "shorten", "summarise", "tournament"]),
        about=TEXTS,
    )


def values(hint: Any, agents: st.SearchStrategy[Agent]) -> st.SearchStrategy[Any]:
    """Values of a type hint: how the fields of whatever composition there is are filled."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, UnionType):
        return st.one_of([values(arm, agents) for arm in arguments])
    if origin is typing.Annotated:
        return values(arguments[0], agents)
    if origin is Literal:
        return st.sampled_from(arguments)
    if is_sequence(hint):
        return st.lists(values(arguments[0], agents), min_size=1, max_size=3).map(tuple)
    if is_mapping(hint):
        return st.dictionaries(values(arguments[0], agents), values(arguments[1], agents), max_size=2)
    if hint is Agent:
        return agents
    if hint is Backend:
        return st.sampled_from(list(MODELS.values()))
    if is_protocol(hint):
        return st.sampled_from(list(variants(hint).values())).flatmap(lambda cls: records(cls, agents))
    if is_record(hint):
        return records(hint, agents)
    numbers = {bool: st.booleans(), int: st.integers(0, 9), float: st.floats(0, 1), str: TEXTS, type(None): st.none()}
    return numbers[hint]


def records(cls: type, agents: st.SearchStrategy[Agent], **given: Any) -> st.SearchStrategy[Any]:
    """Objects of a dataclass or struct, each field given a value or left as it is."""
    fields = {field.name: values(field.hint, agents) for field in fields_of(cls) if field.name not in given}
    needed = {name: fields[name] for name in fields if next(f for f in fields_of(cls) if f.name == name).required}
    spare = {name: fields[name] for name in fields if name not in needed}

    def made(chosen: Mapping[str, Any]) -> Any:
        try:
            return cls(**given, **chosen)
        except (MotetError, ValueError):  # values that it refuses together are no example
            assume(False)

    return st.fixed_dictionaries(needed, optional=spare).map(made)


SINGLE = tuple(
    ModelAgent(model, name, system=name) for name, model in zip(("a", "b c", "d'\"é"), MODELS.values(), strict=True)
)
MEMBERS: st.SearchStrategy[Agent] = st.sampled_from([*SINGLE, Vote(SINGLE[:2], Plurality({"a": 2.0}), name="inner")])


def seats() -> list[tuple[type, type]]:
    """Every variant of every seam."""
    return [(seam, cls) for seam in (Agent, Aggregator, Scorer, Topology) for cls in variants(seam).values()]


@dataclass(frozen=True)
class Holder:
    """A composition of one's own, with a place for a variant of any seam."""

    aggregate: Aggregator | None = None
    score: Scorer | None = None
    topology: Topology | None = None
    name: str = "holder"

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        raise NotImplementedError


PLACES: dict[type, str] = {Aggregator: "aggregate", Scorer: "score", Topology: "topology"}


@pytest.mark.parametrize(("seam", "cls"), seats(), ids=lambda cls: cls.__name__)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_everything_reads_back_equal(seam: type, cls: type, data: st.DataObject) -> None:
    """Every composition, aggregator, scorer and topology there is, filled by its type hints, survives being data."""
    made = data.draw(records(cls, MEMBERS, name="outer") if seam is Agent else records(cls, MEMBERS))
    agent: Agent = made if seam is Agent else Holder(**{PLACES[seam]: made})
    document = json.loads(json.dumps(describe(agent)))
    again = build(document, MODELS)
    assert again == agent
    assert describe(again) == document


@settings(max_examples=30, deadline=None)
@given(agent=model_agents("x"))
def test_single_agents_read_back_equal(agent: ModelAgent) -> None:
    """An agent with any part, sampling, examples and tools survives being data."""
    assert build(json.loads(json.dumps(describe(agent))), MODELS) == agent


def test_a_document_is_short() -> None:
    """What is as it is by default is left out; a shared agent is written once."""
    one = ModelAgent(MODELS["one"], "x", system="Be brief.")
    assert describe(Vote((one, Vote((one,), name="inner")))) == {
        "default": "vote",
        "agents": {"x": {"model": "one", "system": "Be brief."}},
        "mixtures": {
            "vote": {"composition": "vote", "agents": ["x", "inner"]},
            "inner": {"composition": "vote", "agents": ["x"]},
        },
    }


def test_what_cannot_be_written_down() -> None:
    """Names that mean two things, and code that can't be imported again, are refused with the reason."""
    one, two = MODELS["one"], Scripted("other", name="one")

    @dataclass(frozen=True)
    class Local:
        name: str = "local"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            raise NotImplementedError

    class Bare:
        name = "bare"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            raise NotImplementedError

    refused: list[tuple[Agent, str]] = [
        (Vote((ModelAgent(one, "x"), ModelAgent(one, "x", system="other"))), "two different agents are called 'x'"),
        (Vote((ModelAgent(one, "x"), ModelAgent(two, "y"))), "two different models are called 'one'"),
        (Local(), "Local can't be written down: .*can't be imported from anywhere"),
        (Bare(), "only dataclasses can"),
        (ModelAgent(one, "x", tools=(tool(lambda: 1, name="f"),)), "the tool 'f' can't be written down"),
        (ModelAgent(one, "x", tools=(tool(counted, name="f"),)), "the tool 'f' can't be written down"),
        (Vote((ModelAgent(one, "x"),), aggregate=Plurality), "can't be written down"),  # type: ignore[arg-type]
    ]
    for agent, said in refused:
        with pytest.raises(ConfigError, match=said):
            describe(agent)
