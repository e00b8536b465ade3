"""The ceiling: how good any combination of these agents could possibly be, known before one is built.

    best    = the agent with the largest share of items right; quality is that share
    oracle  = the share of items that at least one agent has right ("any right")
    beta    = the share of items that every agent has wrong = 1 - oracle
    gain    = the share of items that the best agent has wrong and another has right = oracle - quality

The certificate: a router, a vote or a cascade answers with a member's answer, so on an item that all members have
wrong it is wrong too. None exceeds 1 - beta, and none gains more than `gain` over the best agent. Only a combination
that writes an answer of its own (a synthesis, a debate) is not bound by it.

With 0/1 cells both are shares of whole items, so that their Clopper-Pearson intervals are exact; that of `gain` is so
given which agent is best. Cells between 0 and 1, shares of several samples, are read as "one sample of each agent":
item i is all wrong with probability Π_j (1 - c_ij), and beta and gain are the means of such probabilities, the
expected values. Their counts are then not whole, and their intervals are percentile bootstraps over items. The other
version, "ever right" (an item counts as solved by an agent that got any of its samples right), is
`ceiling(correct > 0)`; for a table of 0/1 cells the two agree.

Chen, "When Does Combining Language Models Help? A Co-Failure Ceiling on Routing, Voting, and Mixture-of-Agents Across
67 Frontier Models", arXiv:2606.27288 (2026). Inferred: the interval of the gain (the paper bounds it through that of
beta), and both versions for several samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import as_correct
from motet.measure.bootstrap import bootstrap_means
from motet.measure.clopper_pearson import clopper_pearson
from motet.measure.interval import Interval, percentile
from motet.measure.ranking import by_mean
from motet.measure.wilson import wilson


@dataclass(frozen=True)
class Ceiling:
    """What bounds every router, vote and cascade over a table. All but counts and `best` are shares from 0 to 1.

    Attributes:
        n: items.
        m: agents.
        best: the column of the best single agent; the first of those that are equally good.
        quality: the share of items that it has right.
        quality_interval: Wilson where `exact`, else a percentile bootstrap over items.
        oracle: the share of items that any agent has right: what no combination of the agents' answers exceeds.
        oracle_interval: one minus the ends of `beta_interval`.
        all_wrong: how many items every agent has wrong; not a whole number where cells are shares of samples.
        beta: their share, 1 - `oracle`.
        beta_interval: Clopper-Pearson where `exact`, else a percentile bootstrap over items.
        gain: `oracle` - `quality`, the most that a combination can add to the best agent.
        gain_interval: as for beta, given which agent is best.
        exact: whether every cell is 0 or 1, so that the intervals of beta and gain are exact.
    """

    n: int
    m: int
    best: int
    quality: float
    quality_interval: Interval
    oracle: float
    oracle_interval: Interval
    all_wrong: float
    beta: float
    beta_interval: Interval
    gain: float
    gain_interval: Interval
    exact: bool


def ceiling(correct: npt.ArrayLike, *, level: float = 0.95, resamples: int = 2000, seed: int = 0) -> Ceiling:
    """How good any combination could be.

    Args:
        correct: (n, m), from 0 to 1. Shares of samples give the expected ceiling of one sample each.
        level: the nominal coverage of every interval.
        resamples: bootstrap draws, used only where cells are shares of samples.
        seed: of those draws.

    Returns:
        The ceiling, its certificate and their intervals.

    Raises:
        ValueError: the table is not such a one, or a cell is missing.

    >>> table = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
    >>> found = ceiling(table)
    >>> found.best, found.quality, found.oracle, found.beta, found.gain
    (0, 0.5, 0.75, 0.25, 0.25)
    >>> ceiling([[0.5, 0.5]]).beta, ceiling([[True, True]]).beta
    (0.25, 0.0)
    """
    table = as_correct(correct)
    n, m = table.shape
    means = table.mean(axis=0)
    best = int(by_mean(means)[0])
    quality = float(means[best])
    nobody = (1 - table).prod(axis=1)
    another = (1 - table[:, best]) - nobody
    exact = bool(((table == 0) | (table == 1)).all())
    if exact:
        beta_interval = clopper_pearson(int(nobody.sum()), n, level)
        gain_interval = clopper_pearson(int(another.sum()), n, level)
        quality_interval = wilson(float(table[:, best].sum()), n, level)
    else:
        draws = bootstrap_means(np.column_stack([nobody, another, table[:, best]]), resamples=resamples, seed=seed)
        beta_interval, gain_interval, quality_interval = (percentile(column, level) for column in draws.T)
    return Ceiling(
        n=n,
        m=m,
        best=best,
        quality=quality,
        quality_interval=quality_interval,
        oracle=1 - float(nobody.mean()),
        oracle_interval=Interval(1 - beta_interval.high, 1 - beta_interval.low),
        all_wrong=float(nobody.sum()),
        beta=float(nobody.mean()),
        beta_interval=beta_interval,
        gain=float(another.mean()),
        gain_interval=gain_interval,
        exact=exact,
    )
