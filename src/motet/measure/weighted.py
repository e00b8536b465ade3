"""Weighted voting: votes weighted by the log-odds that the voter is right.

    w_j = log( (K - 1) p_j / (1 - p_j) )        K classes; K = 2 gives log( p_j / (1 - p_j) )

Nitzan and Paroush, "Optimal Decision Rules in Uncertain Dichotomous Choice Situations", International Economic Review
23 (1982): of all rules this one is most often right if the voters are independent, both classes equally likely, and
p_j known. With K classes it is the maximum-likelihood answer where the K - 1 wrong ones are equally likely. A voter
worse than chance gets a negative weight: its vote speaks against its answer.

Qualities are estimated with half an item right and half an item wrong added (Krichevsky and Trofimov 1981), so that a
voter who was always right does not outvote everybody for ever. Weights learned on the items that they then vote on
flatter themselves; `cross_fitted` learns them on the other folds. Inferred: an agent's quality is its share of right
answers among the items it answered, because where it does not answer it does not vote.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Floats, Ints, as_answers, as_gold
from motet.measure.plurality import Ties, plurality_right, tally


@dataclass(frozen=True, eq=False)
class Weighted:
    """A weighted vote whose weights were learned on other items than it was scored on.

    Attributes:
        right: (n,) whether the vote was right.
        weights: (folds, m) the weights with which each fold was voted on.
        fold: (n,) the fold of each item.
    """

    right: Floats
    weights: Floats
    fold: Ints


def log_odds(quality: npt.ArrayLike, *, classes: int = 2, items: npt.ArrayLike | None = None) -> Floats:
    """The weights of voters of known quality.

    Args:
        quality: (m,) shares right.
        classes: K, how many answers there are to choose from.
        items: on how many items each share was measured, one number or (m,). Given, half an item right and half an
            item wrong are added; left out, shares of 0 and 1 are refused, because their weight is infinite.

    Returns:
        (m,) weights.

    Raises:
        ValueError: a share is outside 0 to 1, or is 0 or 1 without `items`, or there are fewer than two classes.

    >>> log_odds([0.5, 0.8]).round(3).tolist()
    [0.0, 1.386]
    >>> log_odds([1.0], items=9).round(3).tolist()
    [2.944]
    """
    share = np.asarray(quality, dtype=float)
    if share.ndim != 1 or not ((share >= 0) & (share <= 1)).all():
        raise ValueError(f"qualities are shares from 0 to 1, one an agent; these are {share.tolist()}")
    if classes < 2:
        raise ValueError(f"a vote needs at least two classes; {classes} given")
    if items is not None:
        trials = np.asarray(items, dtype=float)
        share = (share * trials + 0.5) / (trials + 1)
    if ((share == 0) | (share == 1)).any():
        raise ValueError("a quality of exactly 0 or 1 has an infinite weight: say on how many items it was measured")
    weights: Floats = np.log((classes - 1) * share / (1 - share))
    return weights


def cross_fitted(
    answers: npt.ArrayLike,
    gold: npt.ArrayLike,
    *,
    classes: int | None = None,
    folds: int = 5,
    ties: Ties = "best",
    seed: int = 0,
) -> Weighted:
    """Vote with weights learned on the other folds.

    Args:
        answers: (n, m) answer numbers, best-placed agents first.
        gold: (n,) the right ones.
        classes: K, how many answers there are to choose from; left out, the largest number of different answers that
            any item got, at least 2 (inferred: open answers have no K of their own).
        folds: into how many parts the items are split at random, at least 2; 5 is the usual number.
        ties: as in `plurality_right`.
        seed: of the split.

    Returns:
        The vote and its weights.

    Raises:
        ValueError: an array does not have its shape, or there are fewer items than folds.

    >>> answers = np.array([[0, 1, 1], [1, 0, 0], [0, 1, 1], [1, 0, 0]] * 5)
    >>> vote = cross_fitted(answers, answers[:, 0])
    >>> float(vote.right.mean())
    1.0
    """
    table = as_answers(answers)
    right = as_gold(gold, len(table))
    n, m = table.shape
    if not 2 <= folds <= n:
        raise ValueError(f"cross-fitting needs from 2 folds to as many as items; {folds} folds of {n} items")
    if classes is None:
        classes = max(2, int(np.bincount(tally(table).item, minlength=1).max()))
    fold = np.empty(n, dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(n)] = np.arange(n) % folds
    correct, given = table == right[:, None], table != NONE
    weights, won = np.empty((folds, m)), np.empty(n)
    for part in range(folds):
        held = fold == part
        trials = given[~held].sum(axis=0)
        share = correct[~held].sum(axis=0) / np.maximum(trials, 1)
        weights[part] = log_odds(share, classes=classes, items=trials)
        won[held] = plurality_right(table[held], right[held], ties=ties, weights=weights[part])
    return Weighted(won, weights, fold)
