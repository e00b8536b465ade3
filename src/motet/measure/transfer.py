"""Transfer: what a chosen committee reaches on items that had no part in choosing it.

The best of many committees is partly the luckiest: the more there are to choose from and the fewer the items, the more
of its lead is chance. So the items are split at random, the committee is chosen on one part and scored on the other,
again and again; the mean over splits is the honest figure, and its distance to the figure on the part it was chosen on
is the optimism. The best single agent is chosen too, on the same part, and is scored on the same other part, so that
the difference between the two is paired and honest on both sides.

This is repeated hold-out validation (Stone, "Cross-validatory choice and assessment of statistical predictions", JRSS B
36 (1974)). Splits overlap, so the band over them shows how much the figure varies from split to split; it is no
confidence interval for other items. With halves (the default) the committee is chosen on fewer items than one will
have in the end, which makes the figure a little pessimistic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, Ints, as_correct
from motet.measure.committee import Objective, best_committees, committee_right
from motet.measure.interval import Interval, percentile
from motet.measure.ranking import by_mean, ranking


@dataclass(frozen=True)
class Transfer:
    """A committee's and the best single agent's quality, on the items they were chosen on and on others.

    Attributes:
        in_sample: mean quality of the chosen committee on the part it was chosen on.
        out_of_sample: its mean quality on the other part: the honest figure.
        band: where the middle `level` of splits put `out_of_sample`.
        single_in_sample: the same for the best single agent, on the part it was chosen on.
        single_out_of_sample: and on the other part.
        gain: mean of the committee's quality minus the single agent's, both on the other part.
        gain_band: where the middle `level` of splits put `gain`.
        members: the committee chosen most often, the agent of highest mean correctness first.
        agreement: the share of splits that chose it.
        single: the agent chosen most often as the best single one.
        single_agreement: the share of splits that chose it.
    """

    in_sample: float
    out_of_sample: float
    band: Interval
    single_in_sample: float
    single_out_of_sample: float
    gain: float
    gain_band: Interval
    members: tuple[int, ...]
    agreement: float
    single: int
    single_agreement: float


def transfer(
    correct: npt.ArrayLike,
    choose: Callable[[Ints], Sequence[int]],
    score: Callable[[tuple[int, ...]], npt.ArrayLike],
    *,
    repeats: int = 50,
    share: float = 0.5,
    seed: int = 0,
    level: float = 0.95,
) -> Transfer:
    """Choose on one part of the items and score on the other, repeatedly.

    Args:
        correct: (n, m), no cell missing; for the best single agent.
        choose: from the indices of the items to choose on to the columns of the committee.
        score: from a committee to (n,) how right it is on each item. It is called once for each different committee,
            so it must not depend on the split.
        repeats: how many splits; each costs one choice.
        share: the part of the items to choose on.
        seed: of the splits.
        level: the share of splits inside the bands.

    Returns:
        Both figures, their difference, and how stable the choice was.

    Raises:
        ValueError: there are too few items for two parts, or a committee's score does not have an entry an item.

    >>> correct = np.tile([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]], (10, 1))
    >>> found = transfer(correct, lambda items: (0, 2), lambda members: correct[:, members].max(axis=1), repeats=5)
    >>> found.out_of_sample, found.members, found.agreement
    (1.0, (2, 0), 1.0)
    """
    table = as_correct(correct)
    n = len(table)
    part = round(share * n)
    if not 1 <= part < n or repeats < 1:
        raise ValueError(f"{n} items cannot be split {repeats} times with a share of {share} to choose on")
    rng = np.random.default_rng(seed)
    figures = np.empty((4, repeats))
    chosen: list[tuple[int, ...]] = []
    singles: list[int] = []
    scores: dict[tuple[int, ...], Floats] = {}
    for draw in range(repeats):
        order = rng.permutation(n)
        here, there = np.sort(order[:part]), order[part:]
        members = tuple(int(member) for member in choose(here))
        if members not in scores:
            scores[members] = np.asarray(score(members), dtype=float)
            if scores[members].shape != (n,):
                raise ValueError(f"the score of {members} has the shape {scores[members].shape}; {n} items need {(n,)}")
        single = int(by_mean(table[here].mean(axis=0))[0])
        figures[:, draw] = (
            scores[members][here].mean(),
            scores[members][there].mean(),
            table[here, single].mean(),
            table[there, single].mean(),
        )
        chosen.append(members)
        singles.append(single)
    # The same agents are the same committee, whichever of them is the best on a part.
    usual, often = Counter(frozenset(members) for members in chosen).most_common(1)[0]
    usual_single, often_single = Counter(singles).most_common(1)[0]
    means = figures.mean(axis=1).tolist()
    gains = figures[1] - figures[3]
    return Transfer(
        in_sample=means[0],
        out_of_sample=means[1],
        band=percentile(figures[1], level),
        single_in_sample=means[2],
        single_out_of_sample=means[3],
        gain=float(gains.mean()),
        gain_band=percentile(gains, level),
        members=tuple(agent for agent in ranking(table).tolist() if agent in usual),
        agreement=often / repeats,
        single=usual_single,
        single_agreement=often_single / repeats,
    )


def committee_transfer(
    correct: npt.ArrayLike,
    size: int,
    *,
    objective: Objective = "any_right",
    answers: npt.ArrayLike | None = None,
    gold: npt.ArrayLike | None = None,
    cost: npt.ArrayLike | None = None,
    max_cost: float = math.inf,
    repeats: int = 50,
    share: float = 0.5,
    seed: int = 0,
    level: float = 0.95,
    effort: float = 1.0,
) -> Transfer:
    """The honest figure of the best committee of one size: `best_committees` chosen on one part, scored on the other.

    Args:
        correct: (n, m), no cell missing.
        size: k, how many members.
        objective: what the committee is chosen and scored by.
        answers: (n, m) answer numbers, for plurality.
        gold: (n,) the right ones, for plurality.
        cost: (m,) what each agent costs.
        max_cost: the most that a committee may cost.
        repeats: how many splits.
        share: the part of the items to choose on.
        seed: of the splits.
        level: the share of splits inside the bands.
        effort: of each choice, as in `best_committees`.

    Returns:
        See `transfer`.

    Raises:
        ValueError: as `best_committees` and `transfer`, or no committee is within the cost.

    >>> correct = np.tile([[1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 1]], (10, 1))
    >>> committee_transfer(correct, 2, repeats=5).out_of_sample
    1.0
    """
    table = as_correct(correct)
    voted = None if answers is None else np.asarray(answers)
    right = None if gold is None else np.asarray(gold)

    def choose(items: Ints) -> tuple[int, ...]:
        found = best_committees(
            table[items],
            size,
            objective=objective,
            answers=None if voted is None else voted[items],
            gold=None if right is None else right[items],
            cost=cost,
            max_cost=max_cost,
            top=1,
            effort=effort,
        )
        if not found.best:
            raise ValueError(f"no committee of {size} costs at most {max_cost}")
        return found.best[0].members

    def score(members: tuple[int, ...]) -> Floats:
        return committee_right(members, table, voted, right, objective=objective)

    return transfer(table, choose, score, repeats=repeats, share=share, seed=seed, level=level)
