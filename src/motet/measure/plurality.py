"""Plurality: the answer that most agents gave.

    winner_i = argmax_a Σ_j w_j [answers_ij = a]        w_j = 1 unless weights are given

An agent without an answer (`NONE`) does not vote. A tie goes to the tied answer whose best-placed voter stands first
in the order of the columns, so callers who mean "best first" pass the columns in that order; `ties="expected"` gives
what an even draw among the tied answers would be right on average. Totals that differ by less than a billionth of the
largest count as tied, so that the order in which weights are added does not decide.

The rule is Condorcet's and Borda's foil and older than any paper; with texts as answers it is self-consistency (Wang
et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models", ICLR 2023). What was inferred: the
papers leave ties open; the best-placed voter is what a person without further information would follow.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Floats, Ints, as_answers, as_gold, run_starts

Ties = Literal["best", "expected"]

_CLOSE: Final = 1e-9


class Tally(NamedTuple):
    """The votes, one entry for each distinct answer of each item, in the order of items and of answers' numbers.

    Attributes:
        item: (g,) whose answer it is.
        answer: (g,) its number.
        votes: (g,) the summed weights of those who gave it.
        first: (g,) the first column that gave it.
        group: (n, m) for each cell the entry of its answer, `NONE` where there is none.
    """

    item: Ints
    answer: Ints
    votes: Floats
    first: Ints
    group: Ints


def tally(answers: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Tally:
    """Count the votes for each distinct answer of each item.

    Args:
        answers: (n, m) answer numbers.
        weights: (m,) what each agent's vote counts; one each where left out.

    Returns:
        The entries.

    Raises:
        ValueError: the table or the weights do not have their shape.

    >>> tally([[4, 2, 4]]).votes.tolist()
    [1.0, 2.0]
    """
    table = as_answers(answers)
    n, m = table.shape
    weight = _weights(weights, m)
    # Sorting is by far the longest part; numpy sorts 16-bit integers by radix, several times faster than wider ones.
    small = table.astype(np.int16) if table.max() < np.iinfo(np.int16).max else table
    order = np.argsort(small, axis=1, kind="stable")
    ranked = np.take_along_axis(table, order, axis=1)
    starts = run_starts(ranked) & (ranked != NONE)
    # The NONE cells of a row come first in it, before its first start: they get the number of the row before and are
    # blanked out last.
    number = np.cumsum(starts.ravel()).reshape(n, m) - 1
    group = np.empty((n, m), dtype=np.int64)
    np.put_along_axis(group, order, number, axis=1)
    group[table == NONE] = NONE
    given = group != NONE
    item, place = np.nonzero(starts)
    votes = np.bincount(group[given], weights=np.broadcast_to(weight, (n, m))[given], minlength=len(item))
    return Tally(item, ranked[item, place], votes.astype(float), order[item, place], group)


def plurality(answers: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Ints:
    """The answer that wins each item.

    Args:
        answers: (n, m) answer numbers, best-placed agents first.
        weights: (m,) what each agent's vote counts; one each where left out.

    Returns:
        (n,) answer numbers; `NONE` where nobody gave one.

    Raises:
        ValueError: the table or the weights do not have their shape.

    >>> plurality([[0, 1, 1], [2, 0, 1], [-1, -1, -1]]).tolist()
    [1, 2, -1]
    >>> plurality([[0, 1, 1]], weights=[3, 1, 1]).tolist()
    [0]
    """
    n = len(as_answers(answers))
    return elect(n, tally(answers, weights))


def elect(items: int, count: Tally, scores: Floats | None = None) -> Ints:
    """The winning answer of each item, given a score for each entry of the tally.

    Args:
        items: n.
        count: the tally.
        scores: (g,) what is to be largest; the votes where left out. Ties go to the best-placed voter.

    Returns:
        (n,) answer numbers; `NONE` where nobody gave one.

    >>> elect(1, tally([[7, 3, 3]]), np.array([0.1, 0.9])).tolist()
    [7]
    """
    tied = _tied(items, count, count.votes if scores is None else scores)
    place = np.where(tied, count.first, np.iinfo(np.int64).max)
    winner = np.full(items, NONE, dtype=np.int64)
    best = np.full(items, np.iinfo(np.int64).max)
    np.minimum.at(best, count.item, place)
    chosen = tied & (place == best[count.item])
    winner[count.item[chosen]] = count.answer[chosen]
    return winner


def plurality_right(
    answers: npt.ArrayLike,
    gold: npt.ArrayLike,
    *,
    ties: Ties = "best",
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Whether the winning answer of each item is right.

    Args:
        answers: (n, m) answer numbers, best-placed agents first.
        gold: (n,) the right ones.
        ties: "best", the best-placed agent decides, or "expected", an even draw among the tied.
        weights: (m,) what each agent's vote counts; one each where left out.

    Returns:
        (n,) 1 right, 0 wrong (nobody answering is wrong); with "expected", the share that the right answer holds
        among the tied.

    Raises:
        ValueError: an array does not have its shape, or `ties` is neither.

    >>> plurality_right([[0, 1, 1], [0, 1, 2]], [1, 2]).tolist()
    [1.0, 0.0]
    >>> plurality_right([[0, 1]], [1], ties="expected").tolist()
    [0.5]
    """
    table = as_answers(answers)
    right = as_gold(gold, len(table))
    count = tally(table, weights)
    if as_ties(ties) == "best":
        won: Floats = (elect(len(table), count) == right).astype(float)
        return won
    tied = _tied(len(table), count, count.votes)
    among = np.bincount(count.item[tied], minlength=len(table))
    held = np.bincount(count.item[tied & (count.answer == right[count.item])], minlength=len(table))
    share: Floats = held / np.maximum(among, 1)
    return share


def _weights(values: npt.ArrayLike | None, agents: int) -> Floats:
    """Check the weights of votes.

    Args:
        values: (m,) finite numbers, or None for one each.
        agents: m.

    Returns:
        The vector as floats.

    Raises:
        ValueError: it has another shape or is not finite.

    >>> _weights(None, 2).tolist()
    [1.0, 1.0]
    """
    if values is None:
        return np.ones(agents)
    weights = np.asarray(values, dtype=float)
    if weights.shape != (agents,) or not np.isfinite(weights).all():
        raise ValueError(f"{agents} agents need as many finite weights; these are {weights.tolist()}")
    return weights


def as_ties(ties: str) -> Ties:
    """Check the name of a rule for ties.

    >>> as_ties("expected")
    'expected'
    """
    if ties == "best":
        return "best"
    if ties == "expected":
        return "expected"
    raise ValueError(f'ties are decided by "best" or "expected", not by {ties!r}')


def _tied(items: int, count: Tally, scores: Floats) -> npt.NDArray[np.bool_]:
    """Which entries hold the largest score of their item."""
    largest = np.full(items, -np.inf)
    np.maximum.at(largest, count.item, scores)
    reach = largest[count.item]
    tied: npt.NDArray[np.bool_] = scores >= reach - _CLOSE * np.abs(reach)
    return tied
