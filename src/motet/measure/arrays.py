"""The arrays that every measure takes: what their axes and values mean, and the checks they have in common.

`n` counts items (questions, tasks) and `m` agents. Axis 0 is always items, axis 1 always agents.

    correct   (n, m) float   1 right, 0 wrong; between them, the share of a cell's samples that were right; NaN missing
    answers   (n, m) int     a number for each distinct answer; two equal numbers are the same answer; NONE: no answer
    gold      (n,)   int     the number of the right answer, in the numbering of `answers`; UNKNOWN: nobody gave it
    cost      (n, m) float   what the cell took, in USD, tokens or seconds, not negative; NaN missing

No measure guesses about missing cells: those that can leave them out pair by pair say so, and the others refuse them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NONE: Final = -1
"""In `answers`: the agent gave no answer. It does not vote, and it agrees with nobody."""

UNKNOWN: Final = -2
"""In `gold`: the right answer is none of those that were given, so that no vote can be right."""


def as_correct(values: npt.ArrayLike, *, missing: bool = False) -> Floats:
    """Check a matrix of correctness.

    Args:
        values: (n, m), from 0 to 1.
        missing: whether NaN, a missing cell, is allowed.

    Returns:
        The matrix as floats.

    Raises:
        ValueError: it is not two-dimensional, has no item or no agent, holds a value outside 0 to 1, or a NaN that
            is not allowed.

    >>> as_correct([[1, 0], [1, 1]]).mean(axis=0).tolist()
    [1.0, 0.5]
    >>> as_correct([[1, 2]])
    Traceback (most recent call last):
    ValueError: correctness lies between 0 and 1; item 0, agent 1 has 2.0
    """
    correct = np.asarray(values, dtype=float)
    if correct.ndim != 2 or not correct.size:
        raise ValueError(f"a table of items by agents is needed, with at least one of each; this has {correct.shape}")
    absent = np.isnan(correct)
    if not missing and absent.any():
        row, column = np.argwhere(absent)[0]
        raise ValueError(f"{absent.sum()} cells are missing, the first at item {row}, agent {column}: leave them out")
    with np.errstate(invalid="ignore"):
        outside = (correct < 0) | (correct > 1)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ValueError(
            f"correctness lies between 0 and 1; item {row}, agent {column} has {float(correct[row, column])}"
        )
    return correct


def as_answers(values: npt.ArrayLike) -> Ints:
    """Check a matrix of answer numbers.

    Args:
        values: (n, m) whole numbers, `NONE` or at least 0.

    Returns:
        The matrix as integers.

    Raises:
        ValueError: it is not two-dimensional, is empty, or holds anything but such numbers.

    >>> as_answers([[0, 1], [2, -1]]).shape
    (2, 2)
    """
    answers = np.asarray(values)
    if answers.ndim != 2 or not answers.size:
        raise ValueError(f"a table of items by agents is needed, with at least one of each; this has {answers.shape}")
    if answers.dtype.kind not in "iu":
        raise ValueError(f"answers are whole numbers here (number them with `coded`); these are {answers.dtype}")
    if (answers < NONE).any():
        raise ValueError(f"an answer's number is at least 0, or {NONE} for none; the least here is {answers.min()}")
    return answers.astype(np.int64)


def as_gold(values: npt.ArrayLike, items: int) -> Ints:
    """Check the right answers' numbers.

    Args:
        values: (n,) whole numbers, `UNKNOWN` where nobody gave the right answer.
        items: n.

    Returns:
        The vector as integers.

    Raises:
        ValueError: it has another shape or other numbers.

    >>> as_gold([0, -2], 2).tolist()
    [0, -2]
    """
    gold = np.asarray(values)
    if gold.shape != (items,):
        raise ValueError(f"{items} items need as many right answers; these have the shape {gold.shape}")
    if gold.dtype.kind not in "iu" or (gold < UNKNOWN).any() or (gold == NONE).any():
        raise ValueError(f"a right answer's number is at least 0, or {UNKNOWN} where nobody gave it")
    return gold.astype(np.int64)


def as_cost(values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Check costs.

    Args:
        values: USD, tokens or seconds, not negative and not missing.
        shape: the shape they must have.

    Returns:
        The costs as floats.

    Raises:
        ValueError: another shape, or a negative or missing cost.

    >>> as_cost([0.5, 2], (2,)).tolist()
    [0.5, 2.0]
    """
    cost = np.asarray(values, dtype=float)
    if cost.shape != shape:
        raise ValueError(f"costs need the shape {shape} of the outcomes; these have {cost.shape}")
    wrong = ~(np.isfinite(cost) & (cost >= 0))
    if wrong.any():
        where = tuple(int(at) for at in np.argwhere(wrong)[0])
        raise ValueError(
            f"{int(wrong.sum())} costs are negative or missing, the first at {where}: leave out the agents without cost"
        )
    return cost


def as_square(values: npt.ArrayLike) -> Floats:
    """Check a measure of pairs of agents.

    Args:
        values: (m, m); m may be 0.

    Returns:
        The matrix as floats.

    Raises:
        ValueError: it is not square.

    >>> as_square([[1, 0.5], [0.5, 1]]).shape
    (2, 2)
    """
    matrix = np.asarray(values, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"a pairwise measure is a square matrix, agents by agents; this has the shape {matrix.shape}")
    return matrix


def quotient(above: npt.ArrayLike, below: npt.ArrayLike, least: float = 0.0) -> Floats:
    """A quotient that is NaN, without a warning, where the divisor is 0.

    Args:
        above: any shape.
        below: what it is divided by.
        least: up to what size a divisor counts as 0, where rounding may have kept it from being so.

    Returns:
        The shape of the two together.

    >>> quotient([1, 1], [2, 0]).tolist()
    [0.5, nan]
    """
    over, under = np.broadcast_arrays(np.asarray(above, dtype=float), np.asarray(below, dtype=float))
    result: Floats = np.divide(over, under, out=np.full(over.shape, np.nan), where=np.abs(under) > least)
    return result


def run_starts(ranked: npt.NDArray[np.generic]) -> Bools:
    """Where, in rows that are sorted, a run of equal values starts.

    Args:
        ranked: (n, k), each row sorted.

    Returns:
        (n, k).

    >>> run_starts(np.array([[3, 3, 5]])).tolist()
    [[True, False, True]]
    """
    starts = np.ones(ranked.shape, dtype=bool)
    starts[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    return starts


def run_places(ranked: npt.NDArray[np.generic]) -> Ints:
    """How many equal values stand before each one in its row, rows being sorted.

    Args:
        ranked: (n, k), each row sorted.

    Returns:
        (n, k) from 0, the first of its run.

    >>> run_places(np.array([[3, 3, 5]])).tolist()
    [[0, 1, 0]]
    """
    at = np.arange(ranked.shape[1])
    places: Ints = at - np.maximum.accumulate(np.where(run_starts(ranked), at, 0), axis=1)
    return places


def coded(answers: npt.ArrayLike, gold: npt.ArrayLike | None = None) -> tuple[Ints, Ints]:
    """Number the answers of a table of texts, equal texts alike.

    Args:
        answers: (n, m) texts; "" and None for no answer.
        gold: (n,) texts, the right answers; left out, no answer is known to be right.

    Returns:
        `answers` (n, m) and `gold` (n,) as numbers. Numbers are given in the order of first appearance, row by row.

    >>> numbers, right = coded([["a", "b"], ["b", ""]], ["a", "c"])
    >>> numbers.tolist(), right.tolist()
    ([[0, 1], [1, -1]], [0, -2])
    """
    texts = np.asarray(answers, dtype=object)
    number: dict[object, int] = {"": NONE, None: NONE}
    flat = [number.setdefault(text, len(number) - 2) for text in texts.ravel()]
    right = [UNKNOWN] * len(texts)
    if gold is not None:
        right = [
            number.get(text, UNKNOWN) if text not in ("", None) else UNKNOWN for text in np.asarray(gold, dtype=object)
        ]
    return np.array(flat, dtype=np.int64).reshape(texts.shape), np.array(right, dtype=np.int64)
