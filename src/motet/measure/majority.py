"""Majority: the share of items on which more than half of the members are right, from correctness alone.

Where no answers are known, all that can be said of a vote is that a right majority wins it. This is the pessimistic
reading: it takes all wrong answers of an item to agree with each other. Plurality can only do better, because wrong
voters who disagree leave a smaller right group in front. An even split counts half, an even draw between two sides.

    right_i = P(R_i > m/2) + ½ P(R_i = m/2),    R_i = Σ_j X_ij,    X_ij ~ Bernoulli(correct_ij), independent

With cells of 0 and 1 nothing is random. A cell between them is the share of its samples that were right: then R_i is
Poisson-binomial, and its distribution is the convolution of the members' (the recursion over members is that of Barlow
and Heidtmann, "Computing k-out-of-n system reliability", IEEE Trans. Reliability 33 (1984)). Given the cells the draws
of two agents are independent; how the agents depend on each other lies in the cells.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, as_correct


def majority_right(correct: npt.ArrayLike) -> Floats:
    """How often more than half of the members are right.

    Args:
        correct: (n, m), no cell missing.

    Returns:
        (n,) 1 where they are, ½ where they are evenly split, 0 where not; expected values where cells are fractional.

    Raises:
        ValueError: see `as_correct`.

    >>> majority_right([[1, 1, 0], [1, 0, 0]]).tolist()
    [1.0, 0.0]
    >>> majority_right([[1, 0], [0.5, 0.5]]).tolist()
    [0.5, 0.5]
    """
    table = as_correct(correct)
    m = table.shape[1]
    right = wins(table.sum(axis=1), m)
    drawn = ((table > 0) & (table < 1)).any(axis=1)
    if drawn.any():
        right[drawn] = count_right(table[drawn]) @ wins(np.arange(m + 1), m)
    return right


def wins(right: npt.ArrayLike, voters: npt.ArrayLike) -> Floats:
    """What a majority gets for so many right votes of so many: 1, ½ for an even split, or 0.

    >>> wins([1, 2, 3], 4).tolist()
    [0.0, 0.5, 1.0]
    """
    lead = 2 * np.asarray(right, dtype=float) - np.asarray(voters, dtype=float)
    return np.asarray((np.sign(lead) + 1) / 2)


def count_right(correct: npt.ArrayLike) -> Floats:
    """The distribution of the number of members that are right: Poisson-binomial, exact.

    Args:
        correct: (n, m) the probabilities, members independent of each other.

    Returns:
        (n, m + 1) the probability of 0, 1, ..., m right.

    Raises:
        ValueError: see `as_correct`.

    >>> count_right([[0.5, 0.5]]).tolist()
    [[0.25, 0.5, 0.25]]
    """
    table = as_correct(correct)
    n, m = table.shape
    chances = np.zeros((n, m + 1))
    # Blocks of rows stay in the processor's cache over all m steps; each step touches only what can be non-zero.
    for low in range(0, n, 256):
        rows, part = table[low : low + 256], chances[low : low + 256]
        part[:, 0] = 1
        for agent in range(m):
            add_voter(part[:, : agent + 2], rows[:, agent])
    return chances


def add_voter(chances: Floats, right: Floats) -> None:
    """Add one voter to a distribution of right votes, in place.

    Args:
        chances: (n, k + 2) of which the last column is still zero: the distribution over k voters.
        right: (n,) the probability that the new one is right.

    >>> chances = np.array([[1.0, 0.0]])
    >>> add_voter(chances, np.array([0.25]))
    >>> chances.tolist()
    [[0.75, 0.25]]
    """
    moved = chances[:, :-1] * right[:, None]
    chances[:, :-1] -= moved
    chances[:, 1:] += moved
