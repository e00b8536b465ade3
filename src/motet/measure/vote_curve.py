"""The vote curve: how right a vote is as more agents join, the best first, or drawn at random.

    best_k   = accuracy of the vote of the k agents of highest mean correctness
    random_k = its mean over random committees of k, with the band that the middle `level` of them fill

With answers the vote is plurality, without them majority on correctness (see those two for their rules; the
best-placed agent is the one of higher mean correctness, also within a random committee). Beside the accuracy stands
what the vote does to the best single agent: the items that it had right and the vote lost (harm), and those that it
had wrong and the vote got (rescue); best_k · n = best_1 · n + rescued_k - harmed_k.

Committees of k and k + 1 that differ by one agent differ by one vote an item, so a whole nested curve costs m passes
over the items. Random committees are the beginnings of a random order of all agents: each is uniform among those of
its size, and those of one order are nested. Majority with fractional cells is exact for the k best (Poisson-binomial);
for random committees each order draws the cells anew as 0 or 1, which leaves the mean unbiased and adds the sampling
of cells to the band.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, UNKNOWN, Floats, Ints, as_answers, as_correct, as_gold
from motet.measure.majority import add_voter, wins
from motet.measure.plurality import Ties, as_ties, tally
from motet.measure.ranking import ranking


@dataclass(frozen=True, eq=False)
class VoteCurve:
    """Accuracy of the vote by the number of voters. Entry k - 1 is that of k voters.

    Attributes:
        members: (k,) columns in the order in which they join: by mean correctness, best first.
        best: (k,) accuracy of the vote of the k best.
        harmed: (k,) how many items the best single agent had right and this vote lost; expected numbers where it is
            drawn.
        rescued: (k,) how many items it had wrong and this vote got right.
        random: (k,) mean accuracy over random committees.
        random_low: (k,) the lower end of the band over random committees.
        random_high: (k,) the upper end.
    """

    members: Ints
    best: Floats
    harmed: Floats
    rescued: Floats
    random: Floats
    random_low: Floats
    random_high: Floats


def vote_curve(
    correct: npt.ArrayLike,
    answers: npt.ArrayLike | None = None,
    gold: npt.ArrayLike | None = None,
    *,
    ties: Ties = "best",
    largest: int | None = None,
    draws: int = 50,
    seed: int = 0,
    level: float = 0.95,
) -> VoteCurve:
    """Follow the vote from one voter to all.

    Args:
        correct: (n, m), no cell missing; it ranks the agents, and without answers it is what is voted on.
        answers: (n, m) answer numbers; left out, majority on `correct`.
        gold: (n,) the right ones, needed with `answers`. The vote, and the best single agent beside it, are then
            right where they give this answer.
        ties: the rule of plurality; majority always counts an even split half.
        largest: the largest number of voters; all agents where left out.
        draws: how many random orders; the ends of the band are rough below 50.
        seed: of the random orders.
        level: the share of random committees inside the band.

    Returns:
        The curves.

    Raises:
        ValueError: an array does not have its shape, gold is missing, or `largest` or `draws` is out of range.

    >>> curve = vote_curve([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]], draws=10)
    >>> curve.best.tolist(), curve.rescued.tolist(), curve.harmed.tolist()
    ([0.75, 0.75, 1.0], [0.0, 0.5, 1.0], [0.0, 0.5, 0.0])
    """
    table = as_correct(correct)
    n, m = table.shape
    size = m if largest is None else largest
    if not 1 <= size <= m or draws < 1:
        raise ValueError(f"voters from 1 to {m} and at least one draw are needed; {size} and {draws} given")
    order = ranking(table)
    rng = np.random.default_rng(seed)
    random = np.empty((draws, size))
    if answers is None:
        best, harmed, rescued = _majority_of_best(table[:, order[:size]])
        drawn = ((table > 0) & (table < 1)).any()
        voters = np.arange(1, size + 1)
        for draw in range(draws):
            votes = (rng.random(table.shape) < table) if drawn else table > 0
            chosen = votes[:, rng.permutation(m)[:size]]
            random[draw] = wins(np.cumsum(chosen, axis=1, dtype=np.int32), voters).mean(axis=0)
    else:
        if gold is None:
            raise ValueError("answers were given without gold: which of them are right?")
        voted = as_answers(answers)
        if voted.shape != table.shape:
            raise ValueError(f"correctness has the shape {table.shape}, answers {voted.shape}")
        count = Poll(voted, as_gold(gold, n), as_ties(ties), order)
        best, harmed, rescued = np.empty(size), np.empty(size), np.empty(size)
        alone: Floats | None = None
        for place, right in enumerate(count.join(order[:size])):
            alone = right if alone is None else alone
            best[place] = right.mean()
            harmed[place] = (alone * (1 - right)).sum()
            rescued[place] = ((1 - alone) * right).sum()
        for draw in range(draws):
            for place, right in enumerate(count.join(rng.permutation(m)[:size])):
                random[draw, place] = right.mean()
    low, high = np.quantile(random, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return VoteCurve(order[:size], best, harmed, rescued, random.mean(axis=0), low, high)


class Poll:
    """A plurality vote that agents join one at a time, each step a pass over the items.

    Args:
        answers: (n, m) answer numbers.
        gold: (n,) the right ones.
        ties: the rule of plurality.
        order: (m,) all columns, the best-placed first, whatever the order in which they join.

    >>> poll = Poll(np.array([[0, 1, 1]]), np.array([1]), "best", np.arange(3))
    >>> [right.tolist() for right in poll.join([0, 1, 2])]
    [[0.0], [0.0], [1.0]]
    """

    def __init__(self, answers: Ints, gold: Ints, ties: Ties, order: Ints) -> None:
        n, m = answers.shape
        count = tally(answers)
        self.ties = ties
        # One more entry than answers stands for "nobody gave it": cells without an answer and unknown gold point to it.
        self.entries = len(count.item)
        group = np.where(count.group == NONE, self.entries, count.group)
        self.group = np.ascontiguousarray(group.T, dtype=np.int32)
        self.rank = np.empty(m, dtype=np.int32)
        self.rank[order] = np.arange(m)
        self.gold = np.full(n, self.entries + 1, dtype=np.int32)
        held = count.answer == np.where(gold == UNKNOWN, NONE, gold)[count.item]
        self.gold[count.item[held]] = np.flatnonzero(held)
        self.silent = bool((answers == NONE).any())

    def join(self, order: npt.ArrayLike) -> Iterator[Floats]:
        """Let agents join.

        Args:
            order: (k,) the columns that join, in their order; or (k, n), an order of its own for each item.

        Yields:
            After each step, (n,) whether the vote is right.
        """
        m, n = self.group.shape
        votes = np.zeros(self.entries + 2, dtype=np.int32)
        votes[-1] = -1
        first = np.full(self.entries + 2, m, dtype=np.int32)
        leader = np.full(n, self.entries, dtype=np.int32)
        lead, lead_first, tied = np.zeros(n, np.int32), np.full(n, m, np.int32), np.ones(n, np.int32)
        rows = np.arange(n)
        for agent in np.asarray(order):
            entry, rank = (
                (self.group[agent], self.rank[agent])
                if agent.ndim == 0
                else (self.group[agent, rows], self.rank[agent])
            )
            now = votes[entry] + 1
            early = np.minimum(first[entry], rank)
            if self.silent:
                now[entry == self.entries] = 0
                early[entry == self.entries] = m
            votes[entry] = now
            first[entry] = early
            # Only the answer that got the vote can change the lead: it goes ahead, or draws level.
            ahead, level = now > lead, (now == lead) & (now > 0)
            take = ahead | (level & (early < lead_first))
            np.copyto(leader, entry, where=take)
            np.copyto(lead_first, early, where=take)
            tied += level
            np.copyto(tied, 1, where=ahead)
            np.maximum(lead, now, out=lead)
            if self.ties == "best":
                yield (leader == self.gold).astype(float)
            else:
                yield (votes[self.gold] == lead) / tied * (lead > 0)


def _majority_of_best(table: Floats) -> tuple[Floats, Floats, Floats]:
    """Accuracy, harm and rescue of the majority of the first 1, 2, ... columns, exact for fractional cells.

    The best single agent is one of the voters, so the vote is worked out given that it is right and given that it is
    wrong, from the distribution of the others' votes.
    """
    n, size = table.shape
    single, sums = table[:, 0], np.zeros((3, size))
    drawn = bool(((table > 0) & (table < 1)).any())
    block = 256 if drawn else n
    for low in range(0, n, block):
        rows, alone = table[low : low + block], single[low : low + block]
        others = np.zeros((len(rows), size + 1 if drawn else 1))
        others[:, 0] = 1 if drawn else 0
        for place in range(size):
            voters = place + 1
            if place and drawn:
                add_voter(others[:, : voters + 1], rows[:, place])
            elif place:
                others[:, 0] += rows[:, place]
            if drawn:
                spread = np.arange(voters)
                if_right = others[:, :voters] @ wins(spread + 1, voters)
                if_wrong = others[:, :voters] @ wins(spread, voters)
            else:
                if_right, if_wrong = wins(others[:, 0] + 1, voters), wins(others[:, 0], voters)
            lost, won = (alone * (1 - if_right)).sum(), ((1 - alone) * if_wrong).sum()
            sums[:, place] += alone.sum() + won - lost, lost, won
    return sums[0] / n, sums[1], sums[2]
