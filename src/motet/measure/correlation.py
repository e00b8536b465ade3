"""How alike agents are: in what they get right, and in what they answer. Each measure is a matrix over all pairs.

Between errors, from the shares of the items that both agents have (a both right, b only the first, c only the second,
d both wrong; a + b + c + d = 1):

    phi           (ad - bc) / √((a+b)(c+d)(a+c)(b+d)), the Pearson correlation of the two columns
    Yule's Q      (ad - bc) / (ad + bc), which does not depend on how good the two are; ±1 as soon as a cell is empty
    Cohen's κ     (o - e) / (1 - e), o = a + d agreement, e = (a+b)(a+c) + (c+d)(b+d) that expected by chance
    disagreement  b + c, the share of items that exactly one has right
    double fault  d, the share of items that both have wrong

Between answers: how often two agents give the same answer, its κ, and how often they give the same wrong answer when
both are wrong, which is what a vote suffers from.

All are worked out by products of matrices. Missing cells (NaN) are left out pair by pair. Cells between 0 and 1,
shares of several samples, enter phi as they are (Pearson); in the other measures the 2x2 table is that of one sample
each, a = mean c_i c_j and so on, so that the diagonal compares an agent with a second sample of itself.

Yule, "On the methods of measuring association between two attributes", J. Royal Stat. Soc. 75 (1912); Cohen, "A
coefficient of agreement for nominal scales", Educ. Psychol. Meas. 20 (1960); Kuncheva and Whitaker, "Measures of
diversity in classifier ensembles", Machine Learning 51 (2003); agreement when both are wrong: Kim, Garg, Peng and Garg,
"Correlated errors in large language models", arXiv:2506.07962 (2025).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Bools, Floats, Ints, as_answers, as_correct, as_gold, as_square, quotient
from motet.measure.kappa import beyond_chance

_CONSTANT: Final = 1e-13
"""A variance of shares below this is rounding; the least one of a 0/1 column is about 1/n."""

_CELLS: Final = 8_000_000
"""Cells of working memory in one block of the answers' products: 64 MB."""


class _Table(NamedTuple):
    """The 2x2 table of every pair: four (m, m) matrices of shares, NaN where a pair has no item in common."""

    both: Floats
    only_first: Floats
    only_second: Floats
    neither: Floats


def phi(correct: npt.ArrayLike) -> Floats:
    """The correlation of every pair of agents' correctness.

    Args:
        correct: (n, m), from 0 to 1, NaN where a cell is missing.

    Returns:
        (m, m), symmetric, from -1 to 1, with 1 on the diagonal. NaN where either agent is constant on the items that
        both have.

    Raises:
        ValueError: the table is not such a one.

    >>> phi([[1, 1], [1, 0], [0, 0], [0, 0]]).round(3).tolist()
    [[1.0, 0.577], [0.577, 1.0]]
    """
    table = as_correct(correct, missing=True)
    seen = ~np.isnan(table)
    present = seen.astype(float)
    n = present.T @ present
    # Centred on each agent's own mean first: with shares the products would otherwise lose half their digits.
    centre = np.where(seen, table, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    values = np.where(seen, table - centre, 0.0)
    sums, squares = values.T @ present, (values**2).T @ present
    count = np.maximum(n, 1)
    variance = squares / count - (sums / count) ** 2
    variance[variance <= _CONSTANT] = np.nan
    covariance = (values.T @ values) / count - sums * sums.T / count**2
    correlation: Floats = np.clip(covariance / np.sqrt(variance * variance.T), -1, 1)
    np.fill_diagonal(correlation, np.where(np.isnan(np.diag(variance)), np.nan, 1.0))
    return correlation


def yule_q(correct: npt.ArrayLike) -> Floats:
    """Yule's Q of every pair of agents.

    Args:
        correct: (n, m), from 0 to 1, NaN where a cell is missing.

    Returns:
        (m, m), symmetric, from -1 to 1. NaN where the products ad and bc are both 0, as with a constant agent.

    Raises:
        ValueError: the table is not such a one.

    >>> yule_q([[1, 1], [1, 1], [1, 0], [0, 1], [0, 0], [0, 0]]).round(3).tolist()
    [[1.0, 0.6], [0.6, 1.0]]
    """
    a, b, c, d = _tables(correct)
    return quotient(a * d - b * c, a * d + b * c)


def kappa(correct: npt.ArrayLike) -> Floats:
    """Cohen's kappa between the correctness of every pair of agents.

    Args:
        correct: (n, m), from 0 to 1, NaN where a cell is missing.

    Returns:
        (m, m), symmetric, at most 1. It is 0 where just one of the two is constant, as chance then explains all
        agreement, and NaN where both are constant and alike.

    Raises:
        ValueError: the table is not such a one.

    >>> kappa([[1, 1], [1, 0], [0, 0], [0, 0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    a, b, c, d = _tables(correct)
    expected = (a + b) * (a + c) + (c + d) * (b + d)
    return beyond_chance(a + d, expected)


def disagreement(correct: npt.ArrayLike) -> Floats:
    """The share of items that exactly one of two agents has right.

    Args:
        correct: (n, m), from 0 to 1, NaN where a cell is missing.

    Returns:
        (m, m), symmetric; NaN where two agents have no item in common.

    Raises:
        ValueError: the table is not such a one.

    >>> disagreement([[1, 1], [1, 0], [0, 0], [0, 0]])[0, 1].tolist()
    0.25
    """
    table = _tables(correct)
    return table.only_first + table.only_second


def double_fault(correct: npt.ArrayLike) -> Floats:
    """The share of items that both of two agents have wrong.

    Args:
        correct: (n, m), from 0 to 1, NaN where a cell is missing.

    Returns:
        (m, m), symmetric; the diagonal is each agent's share wrong. NaN where two agents have no item in common.

    Raises:
        ValueError: the table is not such a one.

    >>> double_fault([[1, 1], [1, 0], [0, 0], [0, 0]]).tolist()
    [[0.5, 0.5], [0.5, 0.75]]
    """
    return _tables(correct).neither


def answer_agreement(answers: npt.ArrayLike) -> Floats:
    """How often two agents give the same answer, right or wrong.

    Args:
        answers: (n, m) answer numbers.

    Returns:
        (m, m), symmetric: the share of the items that both answered on which the answers are equal. NaN where there is
        no such item.

    Raises:
        ValueError: the table is not such a one.

    >>> answer_agreement([[3, 3], [1, 2], [0, -1]])[0, 1].tolist()
    0.5
    """
    given = as_answers(answers)
    return _same(given, given != NONE)


def answer_kappa(answers: npt.ArrayLike) -> Floats:
    """Cohen's kappa between two agents' answers: their agreement beyond that of their liking for certain answers.

    The agreement expected by chance is the sum over answers of the product of the two agents' shares. Inferred: each
    agent's shares are those among all the items it answered, not only those that both answered, so that the matrix is
    one product; where every cell has an answer this is Cohen's kappa exactly. With free answers, nearly all distinct,
    chance agreement is near 0 and kappa near plain agreement.

    Args:
        answers: (n, m) answer numbers, which must mean the same on every item (letters of options do).

    Returns:
        (m, m), symmetric, at most 1. NaN where there is no item that both answered, or both give one same answer only.

    Raises:
        ValueError: the table is not such a one.

    >>> answer_kappa([[0, 0], [0, 1], [1, 1], [1, 1]])[0, 1].tolist()
    0.5
    """
    given = as_answers(answers)
    answered = given != NONE
    totals = answered.sum(axis=0).astype(float)
    chance = quotient(_gram(given, answered), np.outer(totals, totals))
    return beyond_chance(_same(given, answered), chance)


def wrong_agreement(answers: npt.ArrayLike, gold: npt.ArrayLike) -> Floats:
    """How often two agents give the same wrong answer when both are wrong.

    With wrong answers spread evenly over w options it would be 1/w; a vote is misled as far as it is higher.

    Args:
        answers: (n, m) answer numbers.
        gold: (n,) the right answers' numbers; on an item whose right answer nobody gave, all are wrong.

    Returns:
        (m, m), symmetric: the share, among the items on which both gave an answer and both are wrong, of those on which
        the answers are equal. NaN where there is no such item.

    Raises:
        ValueError: an array is not such a one.

    >>> wrong_agreement([[3, 3], [1, 2], [0, 4], [5, -1]], [0, 0, 0, 0])[0, 1].tolist()
    0.5
    """
    given = as_answers(answers)
    right = as_gold(gold, len(given))
    return _same(given, (given != NONE) & (given != right[:, None]))


def mean_pairwise(matrix: npt.ArrayLike) -> float:
    """The mean over all pairs of two different agents, those that are NaN left out.

    Args:
        matrix: (m, m), symmetric; the diagonal does not count.

    Returns:
        The mean; NaN where no pair is defined, as with one agent.

    Raises:
        ValueError: the matrix is not square.

    >>> mean_pairwise([[1, 0.5, 0.1], [0.5, 1, float("nan")], [0.1, float("nan"), 1]])
    0.3
    """
    square = as_square(matrix)
    pairs = square[np.triu_indices(len(square), 1)]
    pairs = pairs[~np.isnan(pairs)]
    return float(pairs.mean()) if pairs.size else float("nan")


@dataclass(frozen=True, eq=False)
class ByGroup:
    """A pairwise measure within and between groups of agents, such as families of models.

    Attributes:
        groups: the groups, in the order of their first agent.
        sizes: (g,) how many agents each has.
        means: (g, g), symmetric: the mean over the pairs of an agent of one group and one of the other, on the diagonal
            over the pairs within the group; NaN where no pair is defined, as within a group of one.
        within: the mean over all pairs of two agents of the same group, each pair counting once, so that large groups
            weigh more; NaN where there is none.
        between: the mean over all pairs of agents of different groups.
    """

    groups: tuple[Hashable, ...]
    sizes: Ints
    means: Floats
    within: float
    between: float


def by_group(matrix: npt.ArrayLike, groups: Sequence[Hashable]) -> ByGroup:
    """Average a pairwise measure within and between groups; pairs that are NaN are left out.

    Args:
        matrix: (m, m), symmetric.
        groups: (m,) the group of each agent.

    Returns:
        The means.

    Raises:
        ValueError: the matrix is not square, or there is not one group for each agent.

    >>> found = by_group([[1, 0.8, 0.2], [0.8, 1, 0.4], [0.2, 0.4, 1]], ["a", "a", "b"])
    >>> found.within, round(found.between, 3), found.means.round(3).tolist()
    (0.8, 0.3, [[0.8, 0.3], [0.3, nan]])
    """
    square = as_square(matrix)
    m = len(square)
    if len(groups) != m:
        raise ValueError(f"{m} agents need as many groups; there are {len(groups)}")
    names = tuple(dict.fromkeys(groups))
    place = {name: index for index, name in enumerate(names)}
    member = np.zeros((m, len(names)))
    member[np.arange(m), [place[name] for name in groups]] = 1
    counts = (~np.isnan(square) & ~np.eye(m, dtype=bool)).astype(float)
    values = np.where(counts > 0, square, 0.0)
    sums, pairs = member.T @ values @ member, member.T @ counts @ member
    inside_sum, inside_pairs = np.trace(sums), np.trace(pairs)
    within, between = quotient(
        np.array([inside_sum, sums.sum() - inside_sum]), np.array([inside_pairs, pairs.sum() - inside_pairs])
    ).tolist()
    return ByGroup(names, member.sum(axis=0).astype(np.int64), quotient(sums, pairs), within, between)


def _tables(correct: npt.ArrayLike) -> _Table:
    """The 2x2 tables of all pairs over the items that both agents have."""
    table = as_correct(correct, missing=True)
    seen = ~np.isnan(table)
    right, wrong, present = np.where(seen, table, 0.0), np.where(seen, 1 - table, 0.0), seen.astype(float)
    n = present.T @ present
    first = quotient(right.T @ wrong, n)
    return _Table(quotient(right.T @ right, n), first, first.T, quotient(wrong.T @ wrong, n))


def _same(given: Ints, counted: Bools) -> Floats:
    """The share, of the items on which both cells are counted, of those with equal answers."""
    present = counted.astype(float)
    items = np.arange(len(given))[:, None]
    # An item and an answer together make one number, so that answers are equal only within an item.
    width = int(given.max()) + 1
    return quotient(_gram(items * max(width, 1) + given, counted), present.T @ present)


def _gram(label: Ints, counted: Bools) -> Floats:
    """(m, m): the sum over labels of the product of how many counted cells of each of two agents have that label."""
    m = label.shape[1]
    agent = np.broadcast_to(np.arange(m), label.shape)[counted]
    distinct, index = np.unique(label[counted], return_inverse=True)
    order = np.argsort(index, kind="stable")
    index, agent = index[order], agent[order]
    total = np.zeros((m, m))
    size = max(1, _CELLS // m)
    for start in range(0, distinct.size, size):
        low, high = np.searchsorted(index, [start, start + size])
        rows = min(size, distinct.size - start)
        cells = (index[low:high] - start) * m + agent[low:high]
        counts = np.bincount(cells, minlength=rows * m).reshape(rows, m).astype(float)
        total += counts.T @ counts
    return total
