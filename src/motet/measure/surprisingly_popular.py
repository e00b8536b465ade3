"""Surprisingly popular: the answer whose share of votes exceeds most what the voters predicted it would be.

    winner_i = argmax_a ( share of agents that gave a  -  mean share that agents predicted for a )

Prelec, Seung and McCoy, "A solution to the single-question crowd wisdom problem", Nature 541 (2017): those who know
the right answer also know that many will get it wrong, those who are wrong expect everyone to agree with them, so the
right answer is more popular than predicted even where it is in the minority. With two answers this is the rule of the
paper. With more the paper weighs votes by predictions that agents make of each other, which needs the shares that the
voters of each answer predict for every other; the difference of shares used here is its plain reading.

Two forms of prediction are taken. Shares, (n, m, K): agent j expects `predictions[i, j, a]` of the others to give
answer a; NaN where it predicted nothing. Guesses, (n, m): the answer that agent j expects most others to give, `NONE`
where it made none; the predicted share of an answer is then the share of guesses that name it (inferred: a model asked
for one answer is asked for less, and more reliably read, than a table of shares).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Floats, Ints, as_answers
from motet.measure.plurality import Tally, elect, tally


def surprisingly_popular(answers: npt.ArrayLike, predictions: npt.ArrayLike) -> Ints:
    """The answer that wins each item.

    Args:
        answers: (n, m) answer numbers, best-placed agents first.
        predictions: (n, m) guesses, in the numbering of `answers`; or (n, m, K) shares from 0 to 1, K above the
            largest answer number.

    Returns:
        (n,) answer numbers, one that an agent gave; `NONE` where nobody gave one. Where nobody predicted anything the
        most votes win; ties go to the best-placed voter.

    Raises:
        ValueError: the two do not fit together.

    >>> surprisingly_popular([[0, 0, 0, 1, 1]], [[0, 0, 0, 0, 0]]).tolist()
    [1]
    >>> surprisingly_popular([[0, 0, 1]], [[[0.9, 0.1], [0.9, 0.1], [0.7, 0.3]]]).tolist()
    [1]
    """
    table = as_answers(answers)
    n = len(table)
    count = tally(table)
    voters = np.bincount(count.item, weights=count.votes, minlength=n)
    actual = count.votes / voters[count.item]
    shares = np.asarray(predictions)
    expected = _guessed(table, count, shares) if shares.ndim == 2 else _predicted(table, count, shares)
    return elect(n, count, actual - expected)


def _guessed(table: Ints, count: Tally, predictions: npt.NDArray[np.generic]) -> Floats:
    """(g,) the share of guesses that name the entry's answer."""
    guesses = as_answers(predictions)
    if guesses.shape != table.shape:
        raise ValueError(f"answers have the shape {table.shape}, guesses {guesses.shape}: one guess a cell is needed")
    made = np.maximum((guesses != NONE).sum(axis=1), 1)
    # Entries are sorted by item and answer, so the entry that a guess names is found by bisection.
    width = int(max(table.max(), guesses.max())) + 1
    keys = count.item * width + count.answer
    row, column = np.nonzero(guesses != NONE)
    wanted = row * width + guesses[row, column]
    place = np.searchsorted(keys, wanted)
    named = place < len(keys)
    named[named] = keys[place[named]] == wanted[named]
    votes = np.bincount(place[named], minlength=len(keys))
    share: Floats = votes / made[count.item]
    return share


def _predicted(table: Ints, count: Tally, predictions: npt.NDArray[np.generic]) -> Floats:
    """(g,) the mean predicted share of the entry's answer."""
    shares = np.asarray(predictions, dtype=float)
    if shares.ndim != 3 or shares.shape[:2] != table.shape or shares.shape[2] <= table.max():
        raise ValueError(
            f"answers have the shape {table.shape} and numbers to {table.max()}; predicted shares of the shape "
            f"{shares.shape} do not fit: one is needed for each cell and answer number"
        )
    absent = np.isnan(shares)
    if ((shares < 0) | (shares > 1)).any():
        raise ValueError(
            f"predicted shares lie between 0 and 1; these reach from {np.nanmin(shares)} to {np.nanmax(shares)}"
        )
    mean: Floats = np.where(absent, 0.0, shares).sum(axis=1) / np.maximum((~absent).sum(axis=1), 1)
    return mean[count.item, count.answer]
