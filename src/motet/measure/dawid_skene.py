"""Dawid and Skene: find the answers and the agents' error rates together, without knowing what is right.

Dawid and Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm", Applied Statistics 28
(1979). Each item has a true class k with probability π_k, and agent j says l with probability θ_jkl, independently
given the class. EM alternates

    P(k | i) ∝ π_k Π_j θ_{j, k, a_ij}        π_k ∝ Σ_i P(k | i)        θ_jkl ∝ s + Σ_i P(k | i) [a_ij = l]

starting from the shares of votes. `dawid_skene` is for a fixed set of classes (the letters of a multiple choice);
`one_coin` is for open answers: agent j is right with probability p_j, and otherwise gives each of L - 1 wrong answers
equally often,

    P(k | i) ∝ Π_{j: a_ij = k} p_j · Π_{j: a_ij ≠ k} (1 - p_j) / (L - 1)        p_j ∝ s + Σ_i P(a_ij | i)

An agent without an answer (`NONE`) says nothing about the item. EM stops once the objective, the log-likelihood with
its prior, rises by less than `tolerance` an item, or after `iterations` steps; 1e-5 and 100 are the values of the
public implementation crowd-kit. What was inferred: s = 0.1 of a vote is added to each cell of the error rates, because
with none an answer that an agent never gave to a class vetoes that class for good. In `one_coin` the truth is taken to
be among the answers given, so that an item on which all agree counts as right for all of them; and L is one number for
all items, because with the number of answers that each item happened to get, EM can come to rest upside down, with
everybody wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Floats, Ints, as_answers
from motet.measure.plurality import elect, tally

SMOOTHING: Final = 0.1
"""How much of a vote is added to each cell of the error rates."""

_BLOCK: Final = 256


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """What EM found with a fixed set of K classes.

    Attributes:
        winner: (n,) the most probable class; `NONE` where nobody answered.
        posterior: (n, K) the probability of each class.
        prior: (K,) how often each class is the true one.
        confusion: (m, K, K) for each agent and true class, how often it says each class.
        quality: (m,) how often the agent is right: the diagonal, weighted by the prior.
        iterations: how many steps were taken.
        converged: whether the objective came to rest before they ran out.
    """

    winner: Ints
    posterior: Floats
    prior: Floats
    confusion: Floats
    quality: Floats
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class OneCoin:
    """What EM found with one error rate an agent.

    Attributes:
        winner: (n,) the most probable answer; `NONE` where nobody answered. Ties go to the best-placed voter.
        confidence: (n,) its probability among the answers given; 0 where there is none.
        quality: (m,) how often the agent is right when it answers; NaN for one that never does.
        iterations: how many steps were taken.
        converged: whether the objective came to rest before they ran out.
    """

    winner: Ints
    confidence: Floats
    quality: Floats
    iterations: int
    converged: bool


def dawid_skene(
    answers: npt.ArrayLike, classes: int | None = None, *, iterations: int = 100, tolerance: float = 1e-5
) -> DawidSkene:
    """Estimate classes and error rates where the classes are a fixed set.

    Args:
        answers: (n, m) classes 0 to K - 1, the same class the same number on every item.
        classes: K; one more than the largest number seen where left out.
        iterations: the most steps.
        tolerance: the rise of the objective an item, in nats, below which EM stops.

    Returns:
        The classes, the agents and how EM ended.

    Raises:
        ValueError: the table is none of answer numbers, or holds a class of K or more.

    >>> found = dawid_skene([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 0]])
    >>> found.winner.tolist(), found.converged
    ([0, 1, 0, 1, 0, 1], True)
    """
    table = as_answers(answers)
    n, m = table.shape
    size = int(table.max()) + 1 if classes is None else classes
    if size < 1 or table.max() >= size:
        raise ValueError(f"answers are classes below {size}, or {NONE} for none; the largest here is {table.max()}")
    posterior = np.zeros((n, size))
    for agent in range(m):
        said = table[:, agent] != NONE
        posterior[said, table[said, agent]] += 1
    silent = posterior.sum(axis=1) == 0
    posterior[silent] = 1
    posterior /= posterior.sum(axis=1, keepdims=True)

    # One product of matrices does the sum over agents, another the sum over items, if each answer is spelt out as K
    # zeros and ones. Only a block of items is ever spelt out (all of it would be n·m·K numbers), always in the same
    # buffer, where only the ones are written and taken back.
    width = m * size
    page = np.zeros((_BLOCK, width))
    column = np.where(table != NONE, np.arange(m) * size + table, NONE)

    def spelt() -> Iterator[tuple[slice, Floats]]:
        for low in range(0, n, _BLOCK):
            block = column[low : low + _BLOCK]
            ones = (np.arange(len(block))[:, None] * width + block)[block != NONE]
            page.reshape(-1)[ones] = 1
            yield slice(low, low + len(block)), page[: len(block)]
            page.reshape(-1)[ones] = 0

    counts = np.zeros((width, size))
    for rows, shown in spelt():
        counts += shown.T @ posterior[rows]
    before, step, converged = -np.inf, 0, False
    while True:
        prior = (posterior.sum(axis=0) + SMOOTHING) / (n + SMOOTHING * size)
        said_of = counts.reshape(m, size, size).transpose(0, 2, 1) + SMOOTHING
        confusion = said_of / said_of.sum(axis=2, keepdims=True)
        if converged or step == iterations:
            break
        log_prior, log_said = np.log(prior), np.log(confusion)
        spoken = np.ascontiguousarray(log_said.transpose(0, 2, 1)).reshape(m * size, size)
        objective = SMOOTHING * (log_prior.sum() + log_said.sum())
        counts = np.zeros((m * size, size))
        for rows, shown in spelt():
            joint = log_prior + shown @ spoken
            peak = joint.max(axis=1, keepdims=True)
            odds = np.exp(joint - peak)
            total = odds.sum(axis=1, keepdims=True)
            objective += float((peak + np.log(total)).sum())
            posterior[rows] = odds / total
            counts += shown.T @ posterior[rows]
        step += 1
        converged = bool(objective - before < tolerance * n)
        before = objective
    winner = posterior.argmax(axis=1)
    winner[silent] = NONE
    quality = np.einsum("jkk,k->j", confusion, prior)
    return DawidSkene(winner, posterior, prior, confusion, quality, step, converged)


def one_coin(
    answers: npt.ArrayLike, classes: int | None = None, *, iterations: int = 100, tolerance: float = 1e-5
) -> OneCoin:
    """Estimate answers and agents where the answers are open: one error rate an agent.

    Args:
        answers: (n, m) answer numbers; only equality within an item counts.
        classes: L, how many answers an item might get; the largest number of different ones that any item did get where
            left out, at least 2.
        iterations: the most steps.
        tolerance: the rise of the objective an item, in nats, below which EM stops.

    Returns:
        The answers, the agents and how EM ended.

    Raises:
        ValueError: the table is none of answer numbers, or there are fewer than two classes.

    >>> found = one_coin([[0, 0, 1], [2, 2, 2], [3, 3, 3], [4, 4, 5], [6, 6, 7], [8, 8, 9]])
    >>> found.winner.tolist()
    [0, 2, 3, 4, 6, 8]
    """
    table = as_answers(answers)
    n, m = table.shape
    count = tally(table)
    entries = len(count.item)
    given = count.group != NONE
    cell, agent = count.group[given], np.nonzero(given)[1]
    voters = np.bincount(count.item, weights=count.votes, minlength=n)
    if classes is None:
        classes = max(2, int(np.bincount(count.item, minlength=1).max()))
    if classes < 2:
        raise ValueError(f"an item has at least two possible answers; {classes} given")
    spread = np.log(classes - 1)
    answered = np.bincount(agent, minlength=m)
    starts = np.flatnonzero(np.r_[True, count.item[1:] != count.item[:-1]]) if entries else np.zeros(0, dtype=np.int64)
    posterior = count.votes / voters[count.item]
    before, step, converged = -np.inf, 0, False
    while True:
        credit = np.bincount(agent, weights=posterior[cell], minlength=m)
        quality = (credit + SMOOTHING) / (answered + 2 * SMOOTHING)
        if converged or step == iterations or not entries:
            break
        right, wrong = np.log(quality), np.log1p(-quality)
        # All voters as if wrong, then those of the entry put right.
        alone = np.bincount(np.nonzero(given)[0], weights=wrong[agent], minlength=n) - voters * spread
        support = np.bincount(cell, weights=(right - wrong)[agent], minlength=entries) + count.votes * spread
        joint = alone[count.item] + support
        peak = np.maximum.reduceat(joint, starts)
        sizes = np.diff(np.r_[starts, entries])
        odds = np.exp(joint - np.repeat(peak, sizes))
        total = np.add.reduceat(odds, starts)
        posterior = odds / np.repeat(total, sizes)
        objective = float((peak + np.log(total)).sum() + SMOOTHING * (right + wrong).sum())
        step += 1
        converged = bool(objective - before < tolerance * n)
        before = objective
    winner = elect(n, count, posterior)
    confidence = np.zeros(n)
    np.maximum.at(confidence, count.item, posterior)
    return OneCoin(winner, confidence, np.where(answered > 0, quality, np.nan), step, converged or not entries)
