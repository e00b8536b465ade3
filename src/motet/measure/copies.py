"""Copies or mixture: k draws of one agent, or one draw each of k different ones, at an equal number of calls?

Li et al., "Rethinking Mixture-of-Agents: Is Mixing Different Large Language Models Beneficial?" (2025), find that draws
of the best agent alone (Self-MoA) often beat a mixture, because mixing lowers the average quality. So two comparisons
are made: the one of practice, and the one in which diversity alone differs.

    best     k draws of the best agent        against   one draw each of the k best agents
    matched  k draws of one matched agent     against   one draw each of k different matched agents

Matched agents are the best ones of which k lie within `tolerance` of one another: from the best agent that has k - 1
others at most that far below it, all that are at most that far below it. Both sides of the second comparison are
averages over that pool, each agent weighted alike (over agents on one side, over committees of k on the other), so the
average quality of a draw is the same on both and only their dependence differs.

Any-right is exact: with w of s draws right, k draws without replacement all miss with probability C(s-w, k) / C(s, k);
k different agents with Π (1 - w_j/s), and the mean of that over all committees of the pool is an elementary symmetric
polynomial divided by C(pool, k). The vote is plurality of answers, or majority of right draws where no answers are
given, averaged over `draws` random draws (and committees) for each item on its own. A tie of answers goes to the
best-placed of the tied voters as in `plurality`: the agent of higher quality, and among copies the sample that was
recorded first. Where samples were sorted before they were recorded that favours one side, and `ties="expected"`, under
which the tied share the vote, does not. An even split of a majority always counts half. Which draws vote is random,
never a matter of position. Intervals are percentile bootstraps over items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Floats, Ints
from motet.measure.bootstrap import bootstrap_mean
from motet.measure.interval import Interval
from motet.measure.majority import wins
from motet.measure.plurality import Ties, as_ties
from motet.measure.ranking import by_mean


class Outcome(NamedTuple):
    """What k draws reach, as shares of items.

    Attributes:
        vote: their vote is right.
        any_right: any of them is right.
    """

    vote: float
    any_right: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Copies against a mixture at the same number of draws.

    Attributes:
        copies: k draws of one agent.
        mixture: one draw each of k agents.
        vote_gain: the mixture's vote minus the copies'.
        vote_interval: its interval over items.
        any_right_gain: the mixture's any-right minus the copies'.
        any_right_interval: its interval over items.
    """

    copies: Outcome
    mixture: Outcome
    vote_gain: float
    vote_interval: Interval
    any_right_gain: float
    any_right_interval: Interval


@dataclass(frozen=True, eq=False)
class CopiesOrMixture:
    """Both comparisons.

    Attributes:
        quality: (m,) mean correctness of each agent's draws.
        best: the best agent against the k best agents.
        pool: the matched agents, best first; none where no k are.
        matched: matched agents among themselves; None where there are none.
    """

    quality: Floats
    best: Comparison
    pool: Ints
    matched: Comparison | None


@dataclass(frozen=True, eq=False)
class MixingGap:
    """What each weaker agent does to the vote if it takes every other seat beside the best one.

    Attributes:
        agents: (m - 1,) all agents but the best, in the order of quality.
        gap: (m - 1,) how much lower its quality is than the best's.
        gain: (m - 1,) the vote of the half-and-half committee minus that of the best agent's copies.
        helps_up_to: the largest gap with a gain above 0; NaN where none gains.
        break_even: the gap at which a straight line through the gains falls to 0; 0 where it is below 0 from the start,
            NaN where it does not fall, or not to 0 within the gaps seen.
    """

    agents: Ints
    gap: Floats
    gain: Floats
    helps_up_to: float
    break_even: float


def copies_or_mixture(
    correct: npt.ArrayLike,
    answers: npt.ArrayLike | None = None,
    *,
    k: int = 5,
    tolerance: float = 0.05,
    ties: Ties = "best",
    draws: int | None = None,
    seed: int = 0,
    level: float = 0.95,
    resamples: int = 2000,
) -> CopiesOrMixture:
    """Compare k draws of one agent with one draw each of k agents.

    Args:
        correct: (n, m, s) whether each of s draws was right, 0 or 1.
        answers: (n, m, s) the number of each draw's answer, `NONE` for none; left out, the vote is the majority.
        k: how many draws, from 2 to s and to m.
        tolerance: how far apart the qualities of matched agents may be. Inferred default.
        ties: "best", the best-placed of the tied voters decides, or "expected", the tied share the vote.
        draws: over how many random draws a vote is averaged; left out, as many as make 160,000 votes over all items,
            from 20 to 1,000, which leaves about 0.1 points of noise.
        seed: of the draws and of the bootstrap.
        level: the nominal coverage of the intervals.
        resamples: of the bootstrap.

    Returns:
        The comparisons.

    Raises:
        ValueError: the arrays do not have their shape or values, `k` is out of range, or `ties` is neither.

    >>> correct = np.zeros((4, 2, 2)); correct[:2, 0] = 1; correct[1:3, 1] = 1
    >>> found = copies_or_mixture(correct, k=2, draws=5)
    >>> found.matched.copies, found.matched.mixture
    (Outcome(vote=0.5, any_right=0.5), Outcome(vote=0.5, any_right=0.75))
    """
    right, said = _draws(correct, answers)
    n, m, s = right.shape
    draws = min(max(20, 160_000 // n), 1000) if draws is None else draws
    if not 2 <= k <= min(m, s) or draws < 1:
        raise ValueError(f"k lies between 2 and the {min(m, s)} that {m} agents of {s} draws allow; it is {k}")
    quality = right.mean(axis=(0, 2))
    order = by_mean(quality)
    pool = order[_pool(quality[order], k, tolerance)]
    rng = np.random.default_rng(seed)
    vote = _Vote(right, said, order, as_ties(ties))

    def compare(agents: Ints, several: Ints) -> Comparison:
        """Copies of one of `agents` against k different of `several`."""
        # Each agent gives its copies equally often, so that chance does not weigh the pool.
        turns = max(1, draws // len(agents))
        alone = [vote.right(_copies(rng, right.shape, agent, k)) for agent in agents for _ in range(turns)]
        mixed = [vote.right(_different(rng, right.shape, several, k)) for _ in range(draws)]
        per_item = np.stack(
            [
                np.mean(alone, axis=0),
                np.mean(mixed, axis=0),
                _copies_any(right[:, agents], k),
                _different_any(right[:, several], k),
            ]
        )
        by_vote, by_any = (
            bootstrap_mean(mixture - copies, level=level, resamples=resamples, seed=seed)
            for copies, mixture in (per_item[:2], per_item[2:])
        )
        means = per_item.mean(axis=1).tolist()
        return Comparison(Outcome(means[0], means[2]), Outcome(means[1], means[3]), *by_vote, *by_any)

    best = compare(order[:1], order[:k])
    return CopiesOrMixture(quality, best, pool, compare(pool, pool) if len(pool) else None)


def mixing_gap(
    correct: npt.ArrayLike,
    answers: npt.ArrayLike | None = None,
    *,
    k: int = 5,
    ties: Ties = "best",
    draws: int | None = None,
    seed: int = 0,
) -> MixingGap:
    """Find where mixing starts to hurt: how much weaker an agent may be and still help the best one.

    Each other agent in turn gives ⌊k/2⌋ of k draws beside ⌈k/2⌉ of the best agent, and the vote is compared with that
    of k draws of the best. The best keeps the larger half, so that an agent that knows nothing does not decide.

    Args:
        correct: (n, m, s) whether each of s draws was right, 0 or 1.
        answers: (n, m, s) the number of each draw's answer, `NONE` for none; left out, the vote is the majority.
        k: how many draws, from 2 to s.
        ties: "best", the best-placed of the tied voters decides, or "expected", the tied share the vote.
        draws: over how many random draws a vote is averaged; left out, as many as make 40,000 votes over all items,
            from 4 to 200.
        seed: of the draws.

    Returns:
        Gaps and gains of all other agents, and where the gains end.

    Raises:
        ValueError: the arrays do not have their shape or values, there is one agent, `k` is out of range, or `ties` is
            neither.

    >>> correct = np.zeros((8, 2, 3)); correct[:6, 0] = 1; correct[:3, 1] = 1
    >>> mixing_gap(correct, k=3, draws=5).gain.tolist()
    [0.0]
    """
    right, said = _draws(correct, answers)
    n, m, s = right.shape
    draws = min(max(4, 40_000 // n), 200) if draws is None else draws
    if m < 2 or not 2 <= k <= s or draws < 1:
        raise ValueError(f"two agents and a k from 2 to {s} draws are needed; there are {m} agents, and k is {k}")
    quality = right.mean(axis=(0, 2))
    order = by_mean(quality)
    rng = np.random.default_rng(seed)
    vote = _Vote(right, said, order, as_ties(ties))
    gap, gain = quality[order[0]] - quality[order[1:]], np.zeros(m - 1)
    for _ in range(draws):
        cells = _copies(rng, right.shape, order[0], k)
        alone = vote.right(cells).mean()
        for place, agent in enumerate(order[1:]):
            guests = _copies(rng, right.shape, agent, k // 2)
            mixed = Cells(*(np.concatenate([a[:, k // 2 :], b], axis=1) for a, b in zip(cells, guests, strict=True)))
            gain[place] += (vote.right(mixed).mean() - alone) / draws
    helped = gap[gain > _NOTHING]
    break_even = float("nan")
    if m > 2 and gap.std() > _NOTHING:
        slope = float(((gap - gap.mean()) * (gain - gain.mean())).sum() / ((gap - gap.mean()) ** 2).sum())
        if slope < -_NOTHING:
            crossing = max(0.0, float(gap.mean() - gain.mean() / slope))
            break_even = crossing if crossing <= gap.max() else break_even
    return MixingGap(order[1:], gap, gain, float(helped.max()) if len(helped) else float("nan"), break_even)


class Cells(NamedTuple):
    """Which draws vote: (n, k) agents and (n, k) draws."""

    agent: Ints
    draw: Ints


_NOTHING: Final = 1e-12
_CLOSE: Final = 1e-9


def _draws(correct: npt.ArrayLike, answers: npt.ArrayLike | None) -> tuple[Floats, Ints | None]:
    """Check the draws."""
    right = np.asarray(correct, dtype=float)
    if right.ndim != 3 or not right.size or not ((right == 0) | (right == 1)).all():
        raise ValueError(f"draws are items by agents by draws, each 0 or 1, none missing; the shape is {right.shape}")
    if answers is None:
        return right, None
    said = np.asarray(answers)
    if said.shape != right.shape or said.dtype.kind not in "iu":
        raise ValueError(f"answers are whole numbers of the shape {right.shape}; these are {said.dtype} {said.shape}")
    return right, said


def _pool(quality: Floats, k: int, tolerance: float) -> slice:
    """The places of the matched agents among qualities in falling order; none where no k of them are matched."""
    # The qualities are means of whole numbers; what they differ by beyond the tolerance in the last digit is rounding.
    reach = quality + tolerance + _CLOSE
    close = np.flatnonzero(reach[k - 1 :] >= quality[: len(quality) - k + 1])
    if not len(close):
        return slice(0)
    start = int(close[0])
    return slice(start, int((reach >= quality[start]).sum()))


def _copies(rng: np.random.Generator, shape: tuple[int, ...], agent: int, k: int) -> Cells:
    """For each item k draws, without replacement, of one agent."""
    n, _, s = shape
    return Cells(np.full((n, k), agent), _seats(rng, n, s, k))


def _different(rng: np.random.Generator, shape: tuple[int, ...], agents: Ints, k: int) -> Cells:
    """For each item a draw each of k different ones of these agents."""
    n, _, s = shape
    return Cells(agents[_seats(rng, n, len(agents), k)], rng.integers(s, size=(n, k)))


def _seats(rng: np.random.Generator, rows: int, choices: int, k: int) -> Ints:
    """(rows, k) of the numbers below `choices`, k different ones in each row, in random order (Floyd's method)."""
    seats = np.empty((rows, k), dtype=np.int64)
    for seat in range(k):
        top = choices - k + seat
        pick = rng.integers(top + 1, size=rows)
        taken = (seats[:, :seat] == pick[:, None]).any(axis=1)
        seats[:, seat] = np.where(taken, top, pick)
    return seats


class _Vote:
    """The vote of some draws: plurality of what they say, or the majority of those that are right.

    Args:
        right: (n, m, s) whether each draw was right.
        said: (n, m, s) its answer; None: majority.
        order: (m,) the agents, best first.
        ties: the rule of plurality.
    """

    def __init__(self, right: Floats, said: Ints | None, order: Ints, ties: Ties) -> None:
        self.correct, self.said, self.ties = right, said, ties
        _, m, s = right.shape
        self.place = np.empty((m, s), dtype=np.int64)
        self.place[order] = np.arange(m * s).reshape(m, s)

    def right(self, cells: Cells) -> Floats:
        """(n,) how right the vote of these draws is."""
        rows = np.arange(len(self.correct))[:, None]
        won, k = self.correct[rows, cells.agent, cells.draw], cells.agent.shape[1]
        if self.said is None:
            return wins(won.sum(axis=1), k)
        given = self.said[rows, cells.agent, cells.draw]
        votes = np.zeros(given.shape, dtype=np.int16)
        for seat in range(k):
            votes += given == given[:, seat, None]
        votes[given == NONE] = 0
        tied = (votes == votes.max(axis=1, keepdims=True)) & (votes > 0)
        if self.ties == "best":
            first = np.where(tied, self.place[cells.agent, cells.draw], self.place.size).argmin(axis=1)
            return np.asarray(won[rows[:, 0], first] * tied.any(axis=1))
        # Each answer has as many voters as any other that is tied with it, so the voters' mean is the answers'.
        share: Floats = (won * tied).sum(axis=1) / np.maximum(tied.sum(axis=1), 1)
        return share


def _copies_any(right: Floats, k: int) -> Floats:
    """(n,) the chance that any of k draws of one agent is right, averaged over the agents."""
    s = right.shape[2]
    wrong = s - right.sum(axis=2)
    missed = np.ones_like(wrong)
    for seat in range(k):
        missed *= np.maximum(wrong - seat, 0) / (s - seat)
    return np.asarray(1 - missed.mean(axis=1))


def _different_any(right: Floats, k: int) -> Floats:
    """(n,) the chance that any of k different agents is right, averaged over committees.

    The mean product over committees grows agent by agent. Dividing as it grows keeps it a mean of shares, where the
    polynomial itself could overflow: of the committees of k among the first j agents, k in j hold the last.
    """
    missed = 1 - right.mean(axis=2)
    mean = np.zeros((k + 1, len(right)))
    mean[0] = 1
    for seen in range(1, missed.shape[1] + 1):
        for size in range(min(k, seen), 0, -1):
            mean[size] += (missed[:, seen - 1] * mean[size - 1] - mean[size]) * size / seen
    return np.asarray(1 - mean[k])
