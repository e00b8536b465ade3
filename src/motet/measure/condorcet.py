"""Condorcet's jury theorem: what a majority of k should reach if its members erred as the theory assumes.

    equal        Σ_{r > k/2} C(k, r) p^r (1 - p)^(k - r)       independent, all of the mean quality p of the k best
    unlike       the same sum over the Poisson-binomial        independent, each of its own quality; exact
    correlated   the same sum over the beta-binomial           equal quality, pairwise correlation ρ of correctness

An even split counts half. Condorcet, "Essai sur l'application de l'analyse à la probabilité des décisions" (1785);
Ladha, "The Condorcet Jury Theorem, Free Speech, and Correlated Votes", American Journal of Political Science 36 (1992),
shows how correlation eats up what numbers add, and "Information pooling through majority-rule voting" (1995) works
with exchangeable voters. The beta-binomial is taken here: each item draws the chance p_i ~ Beta(a, b) with which every
member gets it right, a = p (1 - ρ)/ρ, b = (1 - p)(1 - ρ)/ρ. It needs just the two numbers that are measured, has
exactly that pairwise correlation, is closed, and has 0 and 1 as its limits for ρ: binomial, and p whatever the number
of voters. A copula could give each member its own quality, but needs an integral and a fitted correlation of a latent
variable. A mean correlation below 0 is taken as 0: many voters cannot all be negatively correlated.

The measured ρ is the mean over pairs of the k best of cov(c_a, c_b) / √(p_a (1 - p_a) p_b (1 - p_b)): phi for cells of
0 and 1, and for fractional cells the correlation of two draws. Pairs with an agent that is always right or always wrong
have none and are left out; without any pair, ρ is NaN and `correlated` equals `equal`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints, as_correct
from motet.measure.majority import count_right, wins
from motet.measure.ranking import ranking


@dataclass(frozen=True, eq=False)
class Condorcet:
    """The predictions. Entry k - 1 is that for the k best agents.

    Attributes:
        members: (k,) columns in the order in which they join: by mean correctness, best first.
        quality: (k,) mean quality of the k best.
        correlation: (k,) mean pairwise correlation of their correctness; NaN for k = 1.
        equal: (k,) independent members of equal quality.
        unlike: (k,) independent members of their own qualities.
        correlated: (k,) members of equal quality and this correlation.
    """

    members: Ints
    quality: Floats
    correlation: Floats
    equal: Floats
    unlike: Floats
    correlated: Floats


def condorcet(correct: npt.ArrayLike, *, largest: int | None = None) -> Condorcet:
    """Predict the majority of the 1, 2, ... best agents from their qualities and correlations.

    Args:
        correct: (n, m), no cell missing.
        largest: the largest committee; all agents where left out.

    Returns:
        The predictions, to be compared with `vote_curve(correct).best`.

    Raises:
        ValueError: see `as_correct`, or `largest` is out of range.

    >>> theory = condorcet([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> theory.equal.round(4).tolist()
    [0.6667, 0.6667, 0.7407]
    """
    table = as_correct(correct)
    n, m = table.shape
    size = m if largest is None else largest
    if not 1 <= size <= m:
        raise ValueError(f"committees of 1 to {m} agents can be told; {size} asked for")
    order = ranking(table)[:size]
    table = table[:, order]
    each = table.mean(axis=0)
    centred = table - each
    spread = np.sqrt(each * (1 - each))
    scale = np.outer(spread, spread)
    told = np.triu(scale > 1e-12, 1)
    phi = np.where(told, (centred.T @ centred / n) / np.where(told, scale, 1), 0)
    # Pairs among the first k: the upper triangle summed column by column.
    pairs, total = np.cumsum(told.sum(axis=0)), np.cumsum(phi.sum(axis=0))
    correlation = np.minimum(np.where(pairs > 0, total / np.maximum(pairs, 1), np.nan), 1.0)  # rounding exceeds 1
    sizes = np.arange(1, size + 1)
    quality = np.cumsum(each) / sizes
    return Condorcet(
        order,
        quality,
        correlation,
        np.array([jury(p, k) for p, k in zip(quality, sizes, strict=True)]),
        np.array([float((count_right(each[None, :k]) @ wins(np.arange(k + 1), k))[0]) for k in sizes]),
        np.array([jury(p, k, r) for p, k, r in zip(quality, sizes, np.nan_to_num(correlation), strict=True)]),
    )


def jury(quality: float, voters: int, correlation: float = 0.0) -> float:
    """How often a majority of equal voters is right.

    Args:
        quality: p, how often each is right.
        voters: k.
        correlation: ρ between any two, up to 1; below 0 it is taken as 0.

    Returns:
        The share of items, an even split counting half.

    Raises:
        ValueError: a number is out of range.

    >>> round(jury(0.6, 3), 3), round(jury(0.6, 101), 3), round(jury(0.6, 101, 0.2), 3)
    (0.648, 0.979, 0.67)
    """
    if not 0 <= quality <= 1 or voters < 1 or not correlation <= 1:
        raise ValueError(f"no jury of {voters} with quality {quality} and correlation {correlation}")
    if correlation >= 1 - 1e-12 or quality in (0.0, 1.0):
        return float(quality)
    # Pólya's urn: after r right votes of t the next is right with (p + r·g) / (1 + t·g), g = ρ/(1-ρ), and its sequences
    # all have one probability. With g = 0 this is the binomial, so that one recursion serves both.
    g = max(correlation, 0.0) / (1 - max(correlation, 0.0))
    steps = np.arange(voters)
    right = np.concatenate([[0], np.cumsum(np.log(quality + steps * g))])
    wrong = np.concatenate([[0], np.cumsum(np.log(1 - quality + steps * g))])
    ways = np.concatenate([[0], np.cumsum(np.log((voters - steps) / (steps + 1)))])
    chances = np.exp(ways + right + wrong[::-1] - np.log1p(steps * g).sum())
    return float(chances @ wins(np.arange(voters + 1), voters))
