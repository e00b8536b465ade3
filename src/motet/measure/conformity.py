"""Conformity: what agents do with the answers of the others, round by round.

From one round to the next an agent keeps its answer or changes it. It is opposed where more than half of the others
that answered gave one and the same answer, and another than its own, in the round before; adopting is to give that
answer next.

    changed   share of cells whose answer differs from that of the round before
    opposed   share of cells that faced such a majority
    adopted   share of the opposed that went over to it
    resisted  share of the opposed that kept their answer; the rest went to a third
    swayed    share of those not opposed that changed all the same: what change there is without pressure

An agent that wanders is found to adopt majorities, too. Pressure shows where the opposed change more than the others
do (1 - resisted > swayed) and where they go to the majority rather than to a third answer. Even then part of it is
regression: an unusual answer is followed by a usual one, which the others often share. Only rounds in which the others'
answers are not shown tell how much.

The opposed majority is Asch's, "Effects of Group Pressure Upon the Modification and Distortion of Judgments" (1951).
Inferred: that more than half is a majority (Asch's was unanimous), and that ties and missing answers oppose nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Bools, Floats, Ints, as_answers, quotient, run_places, run_starts


@dataclass(frozen=True, eq=False)
class Conformity:
    """What the agents did from each round to the next; index 0 is from the first to the second.

    Attributes:
        changed: (t,) share of cells with another answer than before.
        opposed: (t,) share of cells that faced a majority of the others.
        adopted: (t,) share of the opposed that adopted it; NaN where nobody was opposed.
        resisted: (t,) share of the opposed that kept their answer.
        swayed: (t,) share of the others that changed.
        cells: (t,) cells counted, those with an answer in both rounds.
        agents: (m,) share of majorities that each agent adopted, over all rounds; NaN for one never opposed.
    """

    changed: Floats
    opposed: Floats
    adopted: Floats
    resisted: Floats
    swayed: Floats
    cells: Ints
    agents: Floats


def conformity(answers: npt.ArrayLike) -> Conformity:
    """What agents do with the answers of the others.

    Args:
        answers: (rounds, n, m) numbers of the answers, at least two rounds and two agents; cells without an answer
            (`NONE`) in one of two rounds are left out there.

    Returns:
        Shares for each of the rounds - 1 steps.

    Raises:
        ValueError: it is no such table.

    >>> found = conformity([[[0, 1, 1, 1]], [[1, 1, 1, 0]]])
    >>> found.adopted.tolist(), found.changed.tolist(), found.swayed.round(2).tolist()
    ([1.0], [0.5], [0.33])
    """
    cube = np.asarray(answers)
    if cube.ndim != 3 or cube.shape[0] < 2 or cube.shape[2] < 2:
        raise ValueError(f"two or more rounds by items by two or more agents are needed; these have {cube.shape}")
    rounds, n, m = cube.shape
    table = as_answers(cube.reshape(rounds * n, m))
    before, after = table[:-n], table[n:]
    majority = _opposed_majority(before)
    counted = (before != NONE) & (after != NONE)
    pressed = counted & (majority != NONE)
    moved = counted & (before != after)
    adopted = pressed & (after == majority)

    def by_step(cells: Bools) -> Ints:
        return np.array([part.sum() for part in np.split(cells, rounds - 1)], dtype=np.int64)

    cells, under = by_step(counted), by_step(pressed)
    return Conformity(
        quotient(by_step(moved), cells),
        quotient(under, cells),
        quotient(by_step(adopted), under),
        quotient(by_step(pressed & ~moved), under),
        quotient(by_step(moved & ~pressed), cells - under),
        cells,
        quotient(adopted.sum(axis=0), pressed.sum(axis=0)),
    )


def _opposed_majority(answers: npt.ArrayLike) -> Ints:
    """The answer of a majority of the others where it is another than an agent's own.

    Args:
        answers: (n, m) numbers of the answers.

    Returns:
        (n, m) that answer's number; `NONE` where there is no such majority, or the agent itself gave no answer.

    Raises:
        ValueError: as `as_answers`.

    >>> _opposed_majority([[0, 1, 1]]).tolist()
    [[1, -1, -1]]
    """
    table = as_answers(answers)
    given = table != NONE
    # An answer other than one's own that more than half of the others gave is the commonest of the item, or the second
    # commonest if the commonest is one's own. Both come from the lengths of the runs of equals in the sorted row.
    ranked = np.sort(table, axis=1)
    length = run_places(ranked) + 1
    length[:, :-1][~run_starts(ranked)[:, 1:]] = 0
    length[ranked == NONE] = 0
    first, votes = _commonest(ranked, length)
    second, fewer = _commonest(ranked, np.where(ranked == first, 0, length))
    own = table == first
    against = 2 * np.where(own, fewer, votes) > given.sum(axis=1, keepdims=True) - 1
    return np.where(given & against, np.where(own, second, first), NONE)


def _commonest(ranked: Ints, length: Ints) -> tuple[Ints, Ints]:
    """(n, 1) each: the answer with the longest run, and its length; 0 long where there is none."""
    at = np.argmax(length, axis=1)[:, None]
    return np.take_along_axis(ranked, at, axis=1), np.take_along_axis(length, at, axis=1)
