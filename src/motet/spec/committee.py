"""The same mixture of other members: `motet ask --agents a,b,c --mixture debate`."""

from __future__ import annotations

import copy
import typing
from collections.abc import Sequence

from motet.errors import UsageError
from motet.run import Agent
from motet.spec.checked import COMPOSITION, Checked, Uses
from motet.spec.fields import fields_of, is_sequence
from motet.spec.locate import Path as KeyPath
from motet.spec.read import suggestion
from motet.spec.registry import variant, variants
from motet.spec.source import Table


def committee(checked: Checked, agents: Sequence[str], mixture: str) -> Checked:
    """A document in which the members of one mixture are others, and that mixture is the default.

    The members are the first field that takes a list of agents, or the first that takes one. Members that are none any
    more leave their other parts as well: where they stood in another list (of judges, say) the new members stand, and
    where one stood alone (as aggregator or chair) the first of the new.

    Args:
        checked: the document.
        agents: the names of the new members.
        mixture: a mixture, or a composition with its defaults; the default mixture if "".

    Raises:
        UsageError: a name is unknown, or it is no mixture of so many agents.
        ConfigError: the mixture makes no sense with these members.
    """
    name = mixture or checked.asked("")
    members = [checked.asked(each) for each in agents]
    if not members:
        raise UsageError("a committee needs agents: name at least one")
    if name in checked.entries["mixtures"]:
        table = checked.entries["mixtures"][name].table
    elif name.replace("-", "_") in variants(Agent):
        table = {COMPOSITION: name}
    else:
        known = sorted({*checked.entries["mixtures"], *variants(Agent)})
        raise UsageError(f"there is no mixture {name!r}{suggestion(name, known)}")
    uses = checked.uses(("mixtures", name))
    return checked.with_mixture(name, _with_members(table, members, uses, name))


def _with_members(table: Table, members: list[str], uses: Uses, name: str) -> Table:
    word = table[COMPOSITION]
    assert isinstance(word, str), "the mixture was checked"
    cls = variant(Agent, word)
    assert cls is not None
    several = [each.name for each in fields_of(cls) if _takes_several(each.hint)]
    single = [each.name for each in fields_of(cls) if each.hint is Agent]
    if not several and (not single or len(members) > 1):
        takes = "one agent" if single else "no agents"
        raise UsageError(f"{name} is made of {takes}, so {len(members)} can't take part: name another mixture")
    place = (several or single)[0]
    changed = copy.deepcopy(table)
    former = {agent for path, agent in uses.agents.items() if path[2] == place} - set(members)
    for path, agent in uses.agents.items():
        if path[2] != place and agent in former:
            in_list = isinstance(path[-1], int)
            _put(changed, path[2:-1] if in_list else path[2:], list(members) if in_list else members[0])
    changed[place] = list(members) if several else members[0]
    return changed


def _takes_several(hint: object) -> bool:
    return is_sequence(hint) and typing.get_args(hint)[0] is Agent


def _put(table: typing.Any, path: KeyPath, value: object) -> None:
    """Set what stands at `path` inside nested tables and lists."""
    *way, last = path
    for step in way:
        table = table[step]
    table[last] = value
