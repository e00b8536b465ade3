"""The contract, on every composition, aggregator, scorer and topology there is: new files are found by themselves."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar

import pytest

from motet import Agreement, Borda, Judge, Plurality, Reply, Synthesize, testing
from motet.aggregate import Aggregator
from motet.clock import run_virtual
from motet.message import Chat
from motet.run import Agent, Run
from motet.score import Scorer
from motet.spec import build, describe
from motet.spec.fields import Field, alternatives, described, fields_of, is_sequence
from motet.spec.registry import variants
from motet.testing import AGENT_CHECKS, FAMILIES, check_aggregator, check_scorer, members, run_check
from motet.topology import Ring, Topology

SEAMS: tuple[type, ...] = (Agent, Aggregator, Scorer, Topology)
Fill = Callable[[type, Sequence[Agent]], object]


# ---- building anything from members


def plain(cls: type, given: Sequence[Agent]) -> object:
    """An instance with what it can't be made without."""
    return cls(**{field.name: value(field, given) for field in fields_of(cls) if field.required})


def rich(cls: type, given: Sequence[Agent]) -> object:
    """An instance with another variant wherever a field may have one."""
    found = {field.name: value(field, given, rich=True) for field in fields_of(cls)}
    return cls(**{name: each for name, each in found.items() if each is not None})


def value(field: Field, given: Sequence[Agent], *, rich: bool = False) -> object:
    """What a field of this type is filled with; None to leave it as it is."""
    voters = tuple(given[1:])
    seams: dict[type, tuple[object, object]] = {
        Agent: (given[0], given[-1]),
        Aggregator: (Synthesize(given[0]), Borda(voters)),
        Scorer: (Agreement(voters), Judge(given[-1])),
        Topology: (Ring(), Ring()),
    }
    for hint in alternatives(field.hint):
        if is_sequence(hint):
            (inner, *_) = hint.__args__  # type: ignore[attr-defined]
            if inner is Agent:
                return tuple(given)
            if inner is str and field.required:
                return ("8", "eight")
        for seam, (first, other) in seams.items():
            if hint is seam:
                return other if rich else first
    assert not field.required, f"the contract suite can't fill {field.name}: {field.hint}"
    return None


EVERY = [(word, cls, fill) for word, cls in variants(Agent).items() for fill in (plain, rich)]
NAMED = [f"{word}-{fill.__name__}" for word, _, fill in EVERY]


# ---- every composition


def test_everything_is_found() -> None:
    """Each seam has its variants, and those of the public interface are among them."""
    import motet

    found = {cls for seam in SEAMS for cls in variants(seam).values()}
    public = {thing for thing in vars(motet).values() if inspect.isclass(thing)}
    homes = ("motet.compose.", "motet.aggregate.", "motet.score.")
    assert {cls for cls in public if cls.__module__.startswith(homes)} <= found
    assert all(len(variants(seam)) >= 4 for seam in SEAMS)


@pytest.mark.parametrize("check", AGENT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("word", "cls", "fill"), EVERY, ids=NAMED)
def test_composition(word: str, cls: type, fill: Fill, check: Callable[..., object]) -> None:
    """Every composition keeps every promise of the contract, with its defaults and with everything exchanged."""
    run_check(check, lambda given: fill(cls, given))  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize(("word", "cls", "fill"), EVERY, ids=NAMED)
def test_round_trip(word: str, cls: type, fill: Fill) -> None:
    """Every composition is written down as data and built again, equal."""
    made = members(3)
    agent = fill(cls, made)
    assert isinstance(agent, Agent)
    document = describe(agent)
    assert document["mixtures"][agent.name]["composition"] == word  # type: ignore[index]
    again = build(document, models={member.backend.name: member.backend for member in made})
    assert again == agent
    assert describe(again) == document


# ---- every aggregator, scorer, topology


@pytest.mark.parametrize("fill", [plain, rich])
@pytest.mark.parametrize("word", variants(Aggregator))
def test_aggregator(word: str, fill: Fill) -> None:
    """Every aggregator gives a usable reply, the same whatever the order, from one reply as from many."""

    async def work() -> None:
        await check_aggregator(fill(variants(Aggregator)[word], members(8)[5:]))  # type: ignore[arg-type]

    run_virtual(work())


@pytest.mark.parametrize("fill", [plain, rich])
@pytest.mark.parametrize("word", variants(Scorer))
def test_scorer(word: str, fill: Fill) -> None:
    """Every scorer gives a number from 0 to 1, the same each time, and 0 for what is unusable."""

    async def work() -> None:
        await check_scorer(fill(variants(Scorer)[word], members(8)[5:]))  # type: ignore[arg-type]

    run_virtual(work())


@pytest.mark.parametrize("word", variants(Topology))
def test_topology(word: str) -> None:
    """Every topology works in a debate as any other."""
    debate = variants(Agent)["debate"]
    for check in AGENT_CHECKS:
        run_check(check, lambda given: debate(agents=given, topology=variants(Topology)[word]()))


# ---- what is told about each


def flaws(cls: type, seam: type, word: str) -> list[str]:
    """What is missing from the description of a variant."""
    found = []
    module = sys.modules[cls.__module__]
    about = cls.__dict__.get("__doc__") or ""
    if not about or about.startswith(f"{cls.__name__}("):  # what `dataclass` writes itself
        found.append("no docstring")
    fields = [field for field in fields_of(cls) if field.name != "name"]
    found += [f"{field.name} is not described" for field in fields if field.name not in described(cls)]
    if not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        found.append("not frozen")
    texts = [text for text in (field.default for field in fields) if isinstance(text, str)]
    found += [f"a default text says {family!r}" for family in FAMILIES if family in " ".join(texts).lower()]
    if seam is Agent:
        names = vars(cls).get("also_known_as")
        if not names or not all(isinstance(name, str) for name in names):
            found.append("no other names")
        if "Shape:" not in (module.__doc__ or ""):
            found.append("its module does not state its shape")
        defaults = {field.name: field.default for field in fields_of(cls)}
        if defaults.get("name") != word.replace("_", "-"):
            found.append(f"is called {defaults.get('name')!r}, and its file {word}")
    return found


@pytest.mark.parametrize("seam", SEAMS, ids=lambda seam: seam.__name__)
def test_every_variant_is_described(seam: type) -> None:
    """Docstrings, every field, other names, shape; no model's name in any text that reaches a prompt."""
    assert {word: flaws(cls, seam, word) for word, cls in variants(seam).items() if flaws(cls, seam, word)} == {}


def test_flaws_are_found() -> None:
    """A class without docstring, metadata or shape, or with a model's name in its note, does not pass."""

    @dataclasses.dataclass
    class Bare:
        agents: Sequence[Agent]
        note: str = "Be better than Claude."
        name: str = "barely"

    assert flaws(Bare, Agent, "bare") == [
        "no docstring",
        "agents is not described",
        "note is not described",
        "not frozen",
        "a default text says 'claude'",
        "no other names",
        "its module does not state its shape",
        "is called 'barely', and its file bare",
    ]


# ---- a broken agent fails the suite


@dataclasses.dataclass(frozen=True)
class Broken:
    """An agent that breaks one promise."""

    members: Sequence[Agent]
    how: str
    name: str = "broken"
    seen: ClassVar[list[int]] = []

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        if self.how == "random":
            import random

            return await run.ask(self.members[0], chat.note(str(random.random())))
        if self.how == "leaks names":
            return await run.ask(self.members[0], chat.note(f"{self.members[1].name} is asked too"))
        if self.how == "unfenced":
            reply = await run.ask(self.members[1], chat)
            return await run.ask(self.members[0], chat.note(reply.text))
        if self.how == "invents sources":
            return Reply("8", sources=("nowhere",))
        if self.how == "relies on the dead":
            await run.all([run.ask(self.members[0], chat)], need=0)
            return await run.ask(self.members[0], chat)
        if self.how == "leaves a task":
            import asyncio

            self.seen.append(id(asyncio.ensure_future(asyncio.sleep(10**6))))
            await asyncio.sleep(0.02)
        return await run.ask(self.members[0], chat)


@pytest.mark.parametrize(
    ("how", "check"),
    [
        ("random", testing.same_seed_same_keys),
        ("random", testing.replays),
        ("leaks names", testing.keeps_members_blind),
        ("unfenced", testing.keeps_members_blind),
        ("invents sources", testing.knows_its_sources),
        ("relies on the dead", testing.survives_a_dead_member),
        ("leaves a task", testing.cancels_cleanly),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_the_suite_finds_what_is_broken(how: str, check: Callable[..., object]) -> None:
    """The checks can fail: each catches an agent that breaks what it checks."""
    from motet.errors import MotetError

    with pytest.raises((AssertionError, MotetError)):
        run_check(check, lambda given: Broken(given, how))  # type: ignore[arg-type]


def test_broken_aggregators_and_scorers_are_found() -> None:
    """An aggregator that goes by who was fastest, and a scorer beyond 1, do not pass."""

    class Fastest:
        async def __call__(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply:
            return min(replies, key=lambda reply: reply.usage.seconds)

    class Beyond:
        async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
            return 1.5

    async def work() -> None:
        await check_aggregator(Plurality())
        with pytest.raises(AssertionError, match="order in which replies came"):
            await check_aggregator(Fastest())
        with pytest.raises(AssertionError, match="outside 0 to 1"):
            await check_scorer(Beyond())

    run_virtual(work())
