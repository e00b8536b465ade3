"""Who answers the tasks of a run: the agents and mixtures that are named, their members, and the baselines beside them.

>>> from motet import Plurality, Scripted
>>> a, b = (ModelAgent(Scripted("4", name=name), name) for name in "ab")
>>> named = {"pair": Vote((a, b), aggregate=Plurality({"a": 2}))}
>>> [(name, each.part) for name, each in entrants(named, Chat.of("2 + 2?")).items()]
[('a', 'member'), ('b', 'member'), ('pair', 'mixture'), ('plain vote', 'vote')]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass

from motet.agent import ModelAgent
from motet.bench.baselines import PLAIN_VOTE, best, copies, matches, plain_vote, varies
from motet.bench.placebo import placebo
from motet.bench.run import Part
from motet.bench.sheet import Sheet
from motet.compose.vote import Vote
from motet.estimate import Estimate, estimate
from motet.message import Chat
from motet.run import Agent


@dataclass(frozen=True)
class Entrant:
    """Who answers, and what for.

    Args:
        agent: who is asked.
        part: what it is there for (see `motet.bench.run.Arm`).
        of: whose draws it votes on, or whose placebo it is.
        draws: how many it votes on.
    """

    agent: Agent
    part: Part = "mixture"
    of: str = ""
    draws: int = 0

    @property
    def told(self) -> Callable[[Agent, Chat], Chat] | None:
        """What its agents are told in place of what they would hear."""
        return placebo if self.part == "placebo" else None


def entrants(
    named: Mapping[str, Agent],
    sample: Chat,
    *,
    members: bool = True,
    baselines: bool = True,
    placebos: bool = True,
) -> dict[str, Entrant]:
    """Who answers, members first; self-consistency comes later, when it is known whose (see `copies_of`).

    Args:
        named: whom to bench.
        sample: a task, to see in which mixtures agents hear one another, and who only judges what others say.
        members: whether the mixtures' members answer alone as well; judges and the like, who are never asked the
            question itself, are none.
        baselines: whether the plain vote and the placebos are added.
        placebos: whether the placebos are among these.

    Raises:
        MotetError: a mixture can't be performed at all, or not on placeholders, which baselines take; says why.
    """
    alone = {name: agent for name, agent in named.items() if not leaves(agent) or isinstance(agent, ModelAgent)}
    mixtures = {name: agent for name, agent in named.items() if name not in alone}
    shapes: dict[str, Estimate] = {}
    for name, agent in mixtures.items():
        try:
            shapes[name] = estimate(agent, sample)
        except Exception:  # only the baselines can't do without; then all that a mixture is made of are members
            if baselines:
                raise
    inner = {
        leaf.name: leaf
        for name, agent in mixtures.items()
        for leaf in leaves(agent)
        if name not in shapes or leaf.name not in shapes[name].offices
    }
    inner = dict(sorted(inner.items()))
    if members:
        alone |= {name: leaf for name, leaf in inner.items() if name not in named}
    found = {name: Entrant(agent, "member") for name, agent in alone.items()}
    found |= {name: Entrant(agent) for name, agent in mixtures.items()}
    if baselines and mixtures:
        if members and len(inner) > 1 and PLAIN_VOTE not in named:
            plain = plain_vote(inner)
            if not any(_same_vote(agent, plain) for agent in mixtures.values()):
                found[PLAIN_VOTE] = Entrant(plain, "vote")
        for name, agent in mixtures.items():
            control = f"{name}, placebo"
            if placebos and control not in named and shapes[name].listening:
                found[control] = Entrant(agent, "placebo", of=name)
    return found


def leaves(agent: Agent) -> list[ModelAgent]:
    """The single agents that a composition is made of, each once, in the order in which they stand in it.

    >>> from motet import Scripted
    >>> a, b = (ModelAgent(Scripted("4", name=name), name) for name in "ab")
    >>> [leaf.name for leaf in leaves(Vote((Vote((b, a)), a)))]
    ['b', 'a']
    """
    found: dict[str, ModelAgent] = {}

    def walk(value: object) -> None:
        if isinstance(value, ModelAgent):
            found.setdefault(value.name, value)
        elif is_dataclass(value) and not isinstance(value, type):
            for field in fields(value):
                walk(getattr(value, field.name))
        elif isinstance(value, list | tuple):
            for each in value:
                walk(each)
        elif isinstance(value, Mapping):
            for each in value.values():
                walk(each)

    walk(agent)
    return list(found.values())


def copies_of(given: Mapping[str, Entrant]) -> Callable[[Sheet], dict[str, Entrant]]:
    """What tells `run_suite` who answers as well: draws of the best member, for each mixture as many as it is worth.

    Of members whose draws can't differ, copies can't gain anything: it is the best of the others that is drawn.
    """
    members = [name for name, each in given.items() if each.part == "member" and varies(each.agent)]
    mixtures = [name for name, each in given.items() if each.part == "mixture"]

    def more(sheet: Sheet) -> dict[str, Entrant]:
        member = best(sheet, members)
        if member is None:
            return {}
        agent = given[member].agent
        draws = sorted({match.draws for match in matches(sheet, mixtures, member)} - {1})
        return {f"{member} x{many}": Entrant(copies(agent, many), "self-consistency", member, many) for many in draws}

    return more


def _same_vote(agent: Agent, plain: Vote) -> bool:
    """Whether a mixture is the plain vote already: its ties may go to somebody else."""
    if not isinstance(agent, Vote) or agent.aggregate != plain.aggregate:
        return False
    return sorted(agent.agents, key=_by_name) == sorted(plain.agents, key=_by_name)


def _by_name(agent: Agent) -> str:
    return agent.name
