"""Perfect routers and cascades: the most that choosing could gain, and the least it could cost.

The perfect router knows beforehand who will be right. Each item goes to the cheapest of those that are; an item that
nobody gets right goes to the agent that is cheapest on average over all items, since nothing tells them apart:

    item i:  argmin over {j : correct_ij = max_k correct_ik} of cost_ij   if that maximum is above 0
             argmin over j of mean_i cost_ij                              otherwise

The perfect cascade asks agents in a fixed order and has a perfect checker: it stops at the first right answer, and
pays all it asked. With shares of correct samples q, each call is a fresh draw:

    quality = 1 - Π_k (1 - q_k)      cost = Σ_k cost_k Π_{j<k} (1 - q_j)

The router is the oracle of Hu et al., "RouterBench" (2024); the cascade that of Chen, Zaharia and Zou, "FrugalGPT"
(2023) with a checker that never errs. Inferred: where an item that nobody gets right goes, which neither settles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints, as_correct, as_cost


@dataclass(frozen=True, eq=False)
class PerfectRouter:
    """The perfect router.

    Attributes:
        quality: its mean correctness; with one sample a cell, the share of items that any agent gets right.
        cost: its mean cost an item.
        choice: (n,) the column each item goes to.
    """

    quality: float
    cost: float
    choice: Ints


@dataclass(frozen=True, eq=False)
class PerfectCascade:
    """The cascade with a perfect checker.

    Attributes:
        quality: its mean correctness.
        cost: its mean cost an item, of all calls made.
        calls: (k,) share of items that reach each agent, in the order given.
    """

    quality: float
    cost: float
    calls: Floats


def perfect_router(correct: npt.ArrayLike, cost: npt.ArrayLike) -> PerfectRouter:
    """The router that knows who will be right, and what each will cost.

    Args:
        correct: (n, m), no missing cells.
        cost: (n, m), in one unit.

    Returns:
        Its quality, its mean cost, and its choices; ties go to the earlier column.

    Raises:
        ValueError: shapes differ, or cells are missing.

    >>> found = perfect_router([[1, 1], [0, 1], [0, 0]], [[1, 5], [1, 5], [1, 2]])
    >>> found.choice.tolist(), found.cost
    ([0, 1, 0], 2.3333333333333335)
    """
    right = as_correct(correct)
    paid = as_cost(cost, right.shape)
    most = right.max(axis=1, keepdims=True)
    choice = np.argmin(np.where(right == most, paid, np.inf), axis=1)
    choice = np.where(most[:, 0] > 0, choice, int(np.argmin(paid.mean(axis=0))))
    rows = np.arange(len(right))
    return PerfectRouter(float(most.mean()), float(paid[rows, choice].mean()), choice.astype(np.int64))


def perfect_cascade(correct: npt.ArrayLike, cost: npt.ArrayLike, order: Sequence[int]) -> PerfectCascade:
    """The cascade that stops exactly at the first right answer.

    Args:
        correct: (n, m), no missing cells.
        cost: (n, m), in one unit.
        order: columns, the first asked first; an agent may come again where cells are shares of samples.

    Returns:
        Its quality, its mean cost, and how often each agent is asked.

    Raises:
        ValueError: shapes differ, cells are missing, or the order names no agent or one that there is not.

    >>> perfect_cascade([[1, 1], [0, 1]], [[1, 5], [1, 5]], [0, 1]).cost
    3.5
    """
    right = as_correct(correct)
    paid = as_cost(cost, right.shape)
    columns = np.array(order, dtype=np.int64)
    if not columns.size or columns.min() < 0 or columns.max() >= right.shape[1]:
        raise ValueError(f"an order names columns from 0 to {right.shape[1] - 1}; this is {list(order)}")
    wrong = np.cumprod(1 - right[:, columns], axis=1)
    reached = np.column_stack([np.ones(len(right)), wrong[:, :-1]])
    return PerfectCascade(
        float((1 - wrong[:, -1]).mean()), float((reached * paid[:, columns]).sum(axis=1).mean()), reached.mean(axis=0)
    )
