"""The knapsack with seats: which agents to seat in which roles, so that they are worth most at a limited cost.

Each seat has a role; an agent takes one seat at most, a seat holds one agent at most or stays empty. With one seat a
role it is an assignment with a budget; with as many seats of one role as there are agents, the 0/1 knapsack. Solved
exactly: agent by agent, and for each set of seats that is left, only the plans are kept than which none is cheaper and
worth as much (Nemhauser and Ullmann, "Discrete Dynamic Programming and Capital Allocation", Management Science 15,
1969). Seats of one role are interchangeable, so that many of them are no trouble; many roles are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

Plan = tuple[float, float, dict[int, str]]
"""What some seated agents cost and are worth, and who sits where."""


def seated(
    values: Sequence[Mapping[str, float]], costs: Sequence[float], seats: Sequence[str], limit: float = inf
) -> dict[int, str]:
    """The seats of the agents such that they are worth most at a cost of `limit` at most; the cheaper of equals.

    Args:
        values: what each agent is worth in each role; where it is not told, or not above 0, it is not seated.
        costs: what each agent costs, 0 or more.
        seats: the role of each seat.
        limit: on the sum of costs, which is rounded to nine decimals.

    Returns:
        The role of each agent that has a seat.

    >>> seated([{"solve": 3, "check": 1}, {"solve": 2, "check": 2}, {"check": 1}], [5, 2, 1], ["solve", "check"], 6)
    {0: 'solve', 2: 'check'}
    """
    plans: dict[tuple[str, ...], list[Plan]] = {tuple(sorted(seats)): [(0, 0, {})]}  # by the seats that are left
    for agent, (worth, cost) in enumerate(zip(values, costs, strict=True)):
        grown = {left: list(known) for left, known in plans.items()}
        for left, known in plans.items():
            for role in dict.fromkeys(left):
                place, value = left.index(role), worth.get(role, 0)
                rest = left[:place] + left[place + 1 :]
                more = [(c + cost, v + value, {**who, agent: role}) for c, v, who in known]
                if value > 0:
                    grown.setdefault(rest, []).extend(plan for plan in more if round(plan[0], 9) <= limit)
        plans = {left: _undominated(found) for left, found in grown.items()}
    return max((plan for found in plans.values() for plan in found), key=lambda plan: (plan[1], -plan[0]))[2]


def _undominated(plans: list[Plan]) -> list[Plan]:
    """The plans than which none is cheaper and worth as much."""
    kept: list[Plan] = []
    for plan in sorted(plans, key=lambda plan: (plan[0], -plan[1])):
        if not kept or plan[1] > kept[-1][1]:
            kept.append(plan)
    return kept
