"""The verdict: what a person wants to know first, in plain sentences that claim no more than was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motet.diagnosis.text import between, chance, figure, percent, points

if TYPE_CHECKING:
    from motet.diagnosis.ceiling import Ceiling
    from motet.diagnosis.cost import Cost
    from motet.diagnosis.diagnose import Diagnosis
    from motet.diagnosis.votes import Point, Votes

SURE = 0.05
"""The level below which a difference is called one."""
CLOSE = 0.01
"""A gain that is too small to be worth an effort."""
FIRST = 3
"""The vote that every verdict tells: the least that can have a majority."""


def verdict(diagnosis: Diagnosis) -> tuple[str, ...]:
    """Sentences, the most important first.

    Args:
        diagnosis: with at least one section.

    Returns:
        One sentence for the ceiling and the votes, one for what they mean, and one for costs, as far as known.
    """
    lines: list[str] = []
    if diagnosis.ceiling is not None:
        lines.append(_bound(diagnosis.ceiling, diagnosis.votes))
    if diagnosis.votes is not None:
        lines.append(_advice(diagnosis.votes, diagnosis.ceiling))
    if diagnosis.cost is not None:
        lines += _cheaper(diagnosis.cost.measures[0])
    return tuple(lines)


def _bound(ceiling: Ceiling, votes: Votes | None) -> str:
    text = (
        f"Combining their answers can add at most {100 * ceiling.gain:.1f} points (95 % interval "
        f"{100 * ceiling.gain_interval.low:.1f} to {100 * ceiling.gain_interval.high:.1f}) over {ceiling.best}, which "
        f"has {percent(ceiling.best_quality)} right"
    )
    if not ceiling.exact:
        text += ", if each is asked once"
    # Where two vote and no answers are recorded, a tie is a coin toss: there is nothing to tell.
    if votes is not None and len(votes.curve) > (1 if votes.rule == "plurality" else 2):
        few, everyone = votes.at(FIRST), votes.curve[-1]
        text += f"; {_rule(votes)} of the best {few.k} {_does(few)}"
        # Votes are counted on answers: first ones where there are several, and where the record differs from them.
        if abs(votes.best_quality - ceiling.best_quality) >= 0.0005:
            text += f" to the {percent(votes.best_quality)} that {votes.best} has by the answers that vote"
        if everyone.k > few.k:
            text += f"; all {everyone.k} voters {_does(everyone)}"
    return text + "."


def _rule(votes: Votes) -> str:
    return "plurality" if votes.rule == "plurality" else "a majority"


def _does(point: Point) -> str:
    """`adds 1.9 (p = 0.01)`."""
    gain = 100 * point.difference
    verb = "adds" if point.k < 4 else "add"
    lost = "loses" if point.k < 4 else "lose"
    if abs(gain) < 0.05:
        return f"{'changes' if point.k < 4 else 'change'} nothing"
    sure = f" ({chance(point.p)})" if point.p is not None else ""
    return f"{verb if gain > 0 else lost} {abs(gain):.1f}{sure}"


def _sure(point: Point, votes: int) -> bool:
    """Beyond doubt: three voters are looked at whatever comes, any other number is the best of many (Bonferroni)."""
    return point.p is not None and point.p < (SURE if point.k == FIRST else SURE / votes)


def _advice(votes: Votes, ceiling: Ceiling | None) -> str:
    helped = [each for each in votes.curve[1:] if each.difference > 0 and _sure(each, len(votes.curve) - 1)]
    if helped:
        best = max(helped, key=lambda point: point.right)
        return (
            f"Mixing pays here: a vote of the best {best.k} reaches {percent(best.right)}, "
            f"{best.rescued:.0f} items won and {best.harmed:.0f} lost against {votes.best}."
        )
    if votes.oracle == 0:
        return "Nobody has anything right: there is nothing to mix."
    room = ceiling.gain if ceiling is not None else votes.oracle - votes.best_quality
    if room < CLOSE and ceiling is not None and ceiling.gain_interval.high > 5 * CLOSE:
        return "No gain shows on these items, but they are too few to say that there is none."
    if room < CLOSE:
        return (
            f"Choosing among their answers cannot pay: {votes.best} alone has nearly everything right that any of them "
            "has."
        )
    needed = "hat there is to gain needs a router or a judge that knows which answer to take."
    if votes.rule == "majority" and len(votes.curve) < FIRST:
        return f"W{needed}"
    return f"No vote of the best k is better than {votes.best} beyond doubt; w{needed}"


def _cheaper(cost: Cost) -> list[str]:
    lines = []
    if cost.equal is not None and cost.equal.cost < 0.9 * cost.best_cost:
        lines.append(
            f"{cost.equal.name}, at {figure(cost.equal.cost)} instead of {figure(cost.best_cost)} {cost.unit} an item, "
            f"is not shown to be worse than {cost.best}: {points(cost.equal.difference)} points "
            f"{between(cost.equal.interval)}."
        )
    if cost.perfect_quality > cost.best_quality:
        lines.append(
            f"A perfect router would reach {percent(cost.perfect_quality)} at {figure(cost.perfect_cost)} {cost.unit} "
            f"an item; {cost.best} alone takes {figure(cost.best_cost)}."
        )
    return lines
