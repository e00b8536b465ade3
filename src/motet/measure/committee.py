"""The best committee of k agents: by any-right, by plurality, or by majority, with or without a limit on its cost.

    any_right   mean_i ( 1 - Π_{j in S} (1 - c_ij) )        for cells of 0 and 1: the share of items a member solves
    plurality   accuracy of the members' plurality, ties to the best-placed member (see `plurality`)
    majority    accuracy of their majority, an even split half (see `majority`)

Any-right is monotone and submodular: what an agent adds to a committee is at most what it adds to a part of it. So for
any committee T

    best over S of k  f(S)  ≤  f(T) + the k largest of f(T + j) - f(T)

(Nemhauser, Wolsey and Fisher, "An analysis of approximations for maximizing submodular set functions", Mathematical
Programming 14 (1978)). The exact search goes through committees in the order of a tree and leaves out a branch where
this bound, with T the members so far and j those that may follow, does not reach the best found. Cells of 0 and 1 are
packed 64 items to a word: a committee's misses are the AND of its members', counted in one instruction a word, and
items that the first members solve are dropped before the words are packed. The last three members are tried as arrays:
all pairs that may follow the third last at once.

In the worst case, when no branch can be left out, C(m, k) · ⌈n/64⌉ words are counted. `feasible` says whether that is
within the limit, about a minute's work for one core; committees of 5 of 67 agents on 2,000 items are a tenth of it.
Beyond, a beam search finds good committees, and `gap` says how much better any other could at most be: the least bound
above over all committees seen, minus the best found.

Plurality and majority have no such bound: they are tried in full where C(m, k) · n · k² is small enough (for a majority
of cells of 0 and 1, which is counted 64 items at a time, that is an eighth of it), and beyond are improved from the k
best agents by exchanging one member at a time for as long as that helps. `gap` is then the distance to the bound on
any-right, which no vote can pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, islice
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import NONE, Bools, Floats, Ints, as_answers, as_correct, as_gold
from motet.measure.majority import majority_right
from motet.measure.plurality import plurality_right
from motet.measure.ranking import ranking

Objective = Literal["any_right", "plurality", "majority"]

WORDS: Final = 3_000_000_000
"""The most words that the exact search on any-right may have to count: about a minute on one core."""

CELLS: Final = 3_000_000_000
"""The most comparisons of two cells that a full search on a vote may take: a few seconds on one core."""

_CLOSE: Final = 1e-9


@dataclass(frozen=True)
class Committee:
    """A committee and what it reaches on the items it was chosen on; see `transfer` for an honest figure.

    Attributes:
        members: columns, the one of highest mean correctness first.
        quality: the objective, a share of items from 0 to 1.
        cost: the sum of its members' costs; 0 without costs.
    """

    members: tuple[int, ...]
    quality: float
    cost: float


@dataclass(frozen=True)
class Committees:
    """The best committees found.

    Attributes:
        best: best first; of equal quality the cheaper first, then the one with the better-placed members.
        exact: whether no committee can be better than the first.
        gap: how much better than the first any committee could at most be; 0 if exact.
    """

    best: tuple[Committee, ...]
    exact: bool
    gap: float


def feasible(agents: int, size: int, items: int, *, shares: bool = False, effort: float = 1.0) -> bool:
    """Whether the exact search on any-right is within the limit even if no branch can be left out.

    Args:
        agents: m.
        size: k.
        items: n.
        shares: whether cells are fractional; 64 of them take as long as 8 words.
        effort: the part of the limit that may be used.

    Returns:
        Whether C(m, k) · ⌈n/64⌉ words, eight times as many for shares, are at most `effort` · `WORDS`.

    >>> feasible(67, 5, 2_000), feasible(200, 5, 10_000)
    (True, False)
    """
    return math.comb(agents, size) * -(-items // 64) * (8 if shares else 1) <= effort * WORDS


def largest_pool(size: int, items: int) -> int:
    """The largest number of agents for which the exact search on any-right is within the limit.

    >>> [largest_pool(size, 2_000) for size in (3, 4, 5, 6)]
    [826, 219, 104, 66]
    """
    if size == 1:
        return WORDS
    pool = size
    while feasible(pool + 1, size, items):
        pool += 1
    return pool


def committee_right(
    members: tuple[int, ...],
    correct: npt.ArrayLike,
    answers: npt.ArrayLike | None = None,
    gold: npt.ArrayLike | None = None,
    *,
    objective: Objective = "any_right",
) -> Floats:
    """Whether a committee is right, item by item, as its objective counts it.

    Args:
        members: columns, the best-placed first.
        correct: (n, m), no cell missing.
        answers: (n, m) answer numbers, for plurality.
        gold: (n,) the right ones, for plurality.
        objective: what counts as right.

    Returns:
        (n,) from 0 to 1; its mean is the committee's quality.

    Raises:
        ValueError: an array is missing or does not have its shape.

    >>> committee_right((0, 1), [[1, 0], [0, 0]]).tolist()
    [1.0, 0.0]
    """
    # Only the members' columns are checked: whoever judges many committees would check the whole table each time.
    table = as_correct(np.asarray(correct)[:, list(members)])
    if objective == "any_right":
        missed: Floats = (1 - table).prod(axis=1)
        return np.asarray(1 - missed)
    if objective == "majority":
        return majority_right(table)
    voted = None if answers is None else np.asarray(answers)[:, list(members)]
    return plurality_right(*_voted(voted, gold, table.shape))


def best_committees(
    correct: npt.ArrayLike,
    size: int,
    *,
    objective: Objective = "any_right",
    answers: npt.ArrayLike | None = None,
    gold: npt.ArrayLike | None = None,
    cost: npt.ArrayLike | None = None,
    max_cost: float = math.inf,
    top: int = 10,
    width: int = 50,
    effort: float = 1.0,
) -> Committees:
    """Find the best committees of one size.

    Args:
        correct: (n, m), no cell missing.
        size: k, how many members.
        objective: "any_right", "plurality" (needs `answers` and `gold`) or "majority".
        answers: (n, m) answer numbers.
        gold: (n,) the right ones.
        cost: (m,) what each agent costs, in any unit, not negative.
        max_cost: the most that a committee may cost.
        top: how many committees to return.
        width: how many committees the beam search keeps of each size; more find better ones and take longer.
        effort: the part of the limits `WORDS` and `CELLS` that an exact search may take before the beam takes its
            place; 1 is up to a minute, and a choice that is made again and again wants less.

    Returns:
        The best, fewer than `top` if there are not so many, none if no committee is within the cost.

    Raises:
        ValueError: an array does not have its shape, `size` or `top` is out of range, or a cost is negative.

    >>> found = best_committees([[1, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 0]], 2, top=2)
    >>> [(each.members, each.quality) for each in found.best], found.exact
    ([((0, 2), 1.0), ((0, 1), 0.75)], True)
    """
    table = as_correct(correct)
    n, m = table.shape
    if not 1 <= size <= m or top < 1 or width < 1:
        raise ValueError(f"committees have 1 to {m} members, and at least one is returned; {size} and {top} given")
    prices = np.zeros(m) if cost is None else np.asarray(cost, dtype=float)
    if prices.shape != (m,) or not (prices >= 0).all():
        raise ValueError(f"{m} agents need as many costs, none negative; these are {prices.tolist()}")
    order = ranking(table)
    pool = _Pool(table[:, order], prices[order], size, max_cost + _CLOSE * abs(max_cost))
    judge: Judge | None = None
    if objective == "plurality":
        voted, right = _voted(answers, gold, table.shape)
        judge = _plurality(voted[:, order], right)
    elif objective == "majority":
        judge = _majority(pool)
    elif objective != "any_right":
        raise ValueError(f'committees are judged by "any_right", "plurality" or "majority", not {objective!r}')
    best, beam = _Best(top, n), _Best(top, n)
    if judge is None:
        exact = feasible(m, size, n, shares=not pool.binary, effort=effort)
        # Where the search is exact, the beam only gives it a cut to begin with, for which a narrow one does.
        bound = _beam(pool, beam, top if exact else max(width, top))
        if exact:
            best.cut = beam.worst
            _search(pool, best)
        else:
            best = beam
    else:
        # Counting bits, a word of 64 items takes as long as 8 comparisons.
        cells = -(-n // 64) * 8 if objective == "majority" and pool.binary else n
        exact = math.comb(m, size) * cells * size * size <= effort * CELLS
        bound = 0.0
        if exact:
            _try_all(pool, judge, best)
        else:
            bound = _beam(pool, beam, width)
            _exchange(pool, judge, best, [tuple(range(size)), *(members for _, _, members in beam.ranked[:1])])
    ranked = best.ranked
    gap = max(0.0, (ranked[0][0] - bound) / n) if ranked and not exact else 0.0
    found = tuple(
        Committee(tuple(int(order[place]) for place in members), 1 - loss / n, spent) for loss, spent, members in ranked
    )
    return Committees(found, exact or (bool(ranked) and gap <= _CLOSE), gap)


Words = npt.NDArray[np.uint64]
Entry = tuple[float, float, tuple[int, ...]]


class _Best:
    """The best committees so far, as (items lost, cost, members by place): the smallest are the best."""

    def __init__(self, top: int, items: int) -> None:
        self.top = top
        self.close = _CLOSE * items
        self.ranked: list[Entry] = []
        self.cut = math.inf
        """Items lost by the last of as many committees that are known from elsewhere."""

    @property
    def full(self) -> bool:
        """Whether there are as many as asked for."""
        return len(self.ranked) == self.top

    @property
    def worst(self) -> float:
        """A committee that loses more items than this is none of the best."""
        return min(self.cut, self.ranked[-1][0] if self.full else math.inf) + self.close

    def offer(self, losses: Floats, costs: Floats, chosen: tuple[int, ...], others: Sequence[Ints]) -> None:
        """Take in the good enough of many committees: `chosen` with a place from each of `others`."""
        good = np.flatnonzero((losses <= self.worst) & np.isfinite(losses))
        if len(good) > self.top:
            good = good[np.lexsort((costs[good], losses[good]))[: self.top]]
        for index in good.tolist():
            members = (*chosen, *(int(places[index]) for places in others))
            self.add((round(float(losses[index]), 9), float(costs[index]), members))

    def add(self, entry: Entry) -> None:
        """Take in one committee if it is good enough and new."""
        if entry not in self.ranked and (not self.full or entry < self.ranked[-1]):
            self.ranked = sorted([*self.ranked, entry])[: self.top]


@dataclass(frozen=True, eq=False)
class _Pool:
    """What a search is about: agents by place, best first."""

    correct: Floats
    prices: Floats
    size: int
    limit: float

    @cached_property
    def missed(self) -> Floats:
        """What each agent misses."""
        missed: Floats = 1 - self.correct
        return missed

    @cached_property
    def binary(self) -> bool:
        """Whether that is 0 or 1 throughout."""
        return bool(((self.correct == 0) | (self.correct == 1)).all())


class _Misses(Protocol):
    """What some agents miss, of the items that the members so far all missed."""

    def alone(self) -> Floats:
        """(L,) the items lost if one of them joins."""

    def after(self, first: int) -> Floats:
        """(L - first - 1,) the items lost if `first` and one behind it join."""

    def pairs_after(self, first: int) -> Floats:
        """The items lost if `first` and two behind it join, in the order of `_pairs`."""


class _Bits:
    """Misses of 0 and 1, packed 64 items to a word."""

    def __init__(self, missed: Floats) -> None:
        self.words = _packed(missed > 0)

    def alone(self) -> Floats:
        return _counted(self.words)

    def after(self, first: int) -> Floats:
        return _counted(self.words[first + 1 :] & self.words[first])

    def pairs_after(self, first: int) -> Floats:
        return _counted(self._both[len(self._both) - math.comb(len(self.words) - first - 1, 2) :] & self.words[first])

    @cached_property
    def _both(self) -> Words:
        """(L(L - 1)/2, w) what each pair misses; those behind a place are the last ones."""
        one, two = _pairs(len(self.words))
        return self.words[one] & self.words[two]


class _Shares:
    """Misses that are shares: the same sums as products of matrices."""

    def __init__(self, missed: Floats, weight: Floats) -> None:
        self.missed, self.weighted = missed, missed * weight[:, None]

    def alone(self) -> Floats:
        return np.asarray(self.weighted.sum(axis=0))

    def after(self, first: int) -> Floats:
        return np.asarray(self.weighted[:, first] @ self.missed[:, first + 1 :])

    def pairs_after(self, first: int) -> Floats:
        rest = self.missed[:, first + 1 :]
        both = (rest * self.weighted[:, first, None]).T @ rest
        return np.asarray(both[np.triu_indices(rest.shape[1], 1)])


def _search(pool: _Pool, best: _Best) -> None:
    """The exact search on any-right: all committees, but for branches that the bound rules out."""
    prices = pool.prices
    free = not prices.any()

    def hopeless(losses: Floats, now: float, left: int) -> bool:
        """Whether `left` members, which alone would bring what is lost `now` to `losses`, cannot make up for it."""
        least = now - float(np.partition(now - losses, len(losses) - left)[-left:].sum())
        # Without costs, equal committees that the tree comes to later have worse-placed members and rank lower.
        return least > (best.ranked[-1][0] - best.close if free and best.full else best.worst)

    def offer(losses: Floats, costs: Floats, chosen: tuple[int, ...], others: Sequence[Ints]) -> None:
        best.offer(np.where(costs <= pool.limit, losses, math.inf), costs, chosen, others)

    def grow(chosen: tuple[int, ...], items: Floats, weight: Floats, spent: float) -> None:
        """Try all committees that begin with `chosen`; `items` are what those behind miss of what is still open."""
        left, count, first = pool.size - len(chosen), items.shape[1], len(prices) - items.shape[1]
        places, own = np.arange(first, len(prices)), prices[first:]
        if spent + float(np.partition(own, left - 1)[:left].sum()) > pool.limit:
            return
        if left == 1:
            offer(weight @ items, spent + own, chosen, [places])
            return
        misses: _Misses = _Bits(items) if pool.binary else _Shares(items, weight)
        alone = misses.alone()
        if hopeless(alone, float(weight.sum()), left):
            return
        for place in range(count - left + 1):
            joined, cost, behind = (*chosen, first + place), spent + float(own[place]), slice(place + 1, None)
            if cost > pool.limit:
                continue
            follow = misses.after(place)
            if left == 2:
                offer(follow, cost + own[behind], joined, [places[behind]])
            elif hopeless(follow, float(alone[place]), left - 1):
                continue
            elif left == 3:
                last = math.comb(count, 2) - math.comb(count - place - 1, 2)
                one, two = (each[last:] for each in _pairs(count))
                offer(misses.pairs_after(place), cost + own[one] + own[two], joined, [first + one, first + two])
            else:
                lost = weight * items[:, place]
                still = lost > 0
                grow(joined, items[still, place + 1 :], lost[still], cost)  # noqa: F821  (deleted below, when done)

    grow((), pool.missed, np.ones(len(pool.missed)), 0.0)
    del grow  # it refers to itself, which would keep the arrays of search after search until the collector comes


def _beam(pool: _Pool, best: _Best, width: int) -> float:
    """The beam search on any-right; returns how many items any committee must at least lose."""
    # Counts of up to 2**24 items are exact in 32 bits, and their products twice as fast.
    missed = pool.missed.astype(np.float32) if pool.binary else pool.missed
    m = len(pool.prices)
    beam: list[tuple[int, ...]] = [()]
    bound = 0.0
    for left in reversed(range(pool.size)):
        # What each kept committee misses, then what it would miss with each agent: one product of matrices for all.
        still = np.stack([missed[:, list(chosen)].prod(axis=1) for chosen in beam])
        losses = (still @ missed).astype(float)
        now = still.sum(axis=1, keepdims=True, dtype=float)
        bound = max(bound, float((now[:, 0] - np.sort(now - losses, axis=1)[:, -pool.size :].sum(axis=1)).max()))
        members = np.array(beam, dtype=np.int64).reshape(len(beam), -1)
        own = np.tile(pool.prices, (len(beam), 1))
        np.put_along_axis(own, members, math.inf, axis=1)
        # With the cheapest that may still follow. One of those may be the agent itself, but then the committee is the
        # cheapest that may follow, which was within the limit one step before.
        spent = pool.prices[members].sum(axis=1) + np.sort(own, axis=1)[:, :left].sum(axis=1)
        costs = own + spent[:, None]
        losses[(costs > pool.limit) | np.isinf(costs)] = math.inf
        kept: dict[tuple[int, ...], float] = {}
        for flat in np.lexsort((costs.ravel(), losses.ravel().round(9))).tolist():
            row, place = divmod(flat, m)
            if len(kept) == width or math.isinf(losses[row, place]):
                break
            kept.setdefault(tuple(sorted((*beam[row], place))), float(losses[row, place]))
        beam = list(kept)
        if not beam:
            return bound
    for group, loss in kept.items():
        best.add((round(loss, 9), float(pool.prices[list(group)].sum()), group))
    return bound


Judge = Callable[[Ints], Floats]
"""(c, k) members by place, best first, to (c,) items that their vote loses."""


def _try_all(pool: _Pool, judge: Judge, best: _Best) -> None:
    """All committees, a batch at a time."""
    every = combinations(range(len(pool.prices)), pool.size)
    while batch := list(islice(every, 4096)):
        _judged(pool, judge, best, np.array(batch))


def _exchange(pool: _Pool, judge: Judge, best: _Best, starts: Iterable[tuple[int, ...]]) -> None:
    """From each start, exchange one member at a time for as long as the vote gets better."""
    m = len(pool.prices)
    for start in starts:
        now, least = start, math.inf
        while True:
            others = [place for place in range(m) if place not in now]
            swaps = [sorted({*now} - {old} | {new}) for old in now for new in others]
            groups = np.array([sorted(now), *swaps])
            losses = _judged(pool, judge, best, groups)
            first = int(losses.argmin())
            if not losses[first] < least - best.close:
                break
            now, least = tuple(groups[first].tolist()), float(losses[first])


def _judged(pool: _Pool, judge: Judge, best: _Best, groups: Ints) -> Floats:
    """Judge committees and keep the best; those that cost too much lose everything."""
    costs = pool.prices[groups].sum(axis=1)
    losses = np.full(len(groups), math.inf)
    within = costs <= pool.limit
    if within.any():
        losses[within] = judge(groups[within])
    best.offer(losses, costs, (), list(groups.T))
    return losses


def _plurality(answers: Ints, gold: Ints) -> Judge:
    """Plurality of members by place: the first of the largest counts belongs to the best-placed of the tied."""
    voices = np.ascontiguousarray(answers.T)
    voices = voices.astype(np.int16) if voices.max() < np.iinfo(np.int16).max else voices
    right = np.ascontiguousarray((answers == gold[:, None]).T)

    def judge(groups: Ints) -> Floats:
        losses = np.empty(len(groups))
        step = max(1, 250_000 // len(gold))
        size = groups.shape[1]
        for low in range(0, len(groups), step):
            part = groups[low : low + step]
            said = [voices[part[:, seat]] for seat in range(size)]
            votes = [(each != NONE).astype(np.int16) for each in said]
            for one, two in combinations(range(size), 2):
                agree = (said[one] == said[two]) & (said[one] != NONE)
                votes[one] += agree
                votes[two] += agree
            lead, won = np.zeros_like(votes[0]), np.zeros(votes[0].shape, dtype=bool)
            for seat in range(size):
                np.copyto(won, right[part[:, seat]], where=votes[seat] > lead)
                np.maximum(lead, votes[seat], out=lead)
            losses[low : low + step] = len(gold) - won.sum(axis=1)
        return losses

    return judge


def _majority(pool: _Pool) -> Judge:
    """Majority of members by place: by counting right votes where cells are 0 or 1, else in the general way."""
    correct, n = pool.correct, len(pool.correct)
    words = _packed(correct > 0) if pool.binary else np.empty((0, 0), dtype=np.uint64)

    def counted(part: Ints) -> Floats:
        size = part.shape[1]
        voters = [words[part[:, seat]] for seat in range(size)]
        if size % 2:
            return _at_least(voters, size // 2 + 1)
        return (_at_least(voters, size // 2) + _at_least(voters, size // 2 + 1)) / 2  # an even split counts half

    def expected(part: Ints) -> Floats:
        voters = correct[:, part]
        won = majority_right(voters.reshape(-1, part.shape[1])).reshape(voters.shape[:2])
        return np.asarray(won.sum(axis=0))

    def judge(groups: Ints) -> Floats:
        step = max(1, 250_000 // n)
        right = counted if pool.binary else expected
        return n - np.concatenate([right(groups[low : low + step]) for low in range(0, len(groups), step)])

    return judge


def _at_least(voters: Sequence[Words], least: int) -> Floats:
    """(c,) on how many items at least `least` of the voters are right, each (c, w) bits.

    Every bit position has its own counter, whose k-th digit stands in the k-th of `digits`: a vote is added to 64 of
    them at once. They start so that the last digit turns 1 when `least` is reached.
    """
    width = len(voters).bit_length()
    start = (1 << width) - least
    digits = [np.full_like(voters[0], ~np.uint64(0) if start >> digit & 1 else 0) for digit in range(width + 1)]
    for vote in voters:
        carry = vote
        for place, digit in enumerate(digits):
            digits[place], carry = digit ^ carry, digit & carry
    return _counted(digits[-1])


def _voted(answers: npt.ArrayLike | None, gold: npt.ArrayLike | None, shape: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Check what plurality needs."""
    if answers is None or gold is None:
        raise ValueError("plurality needs answers and gold; without them, take the majority")
    table = as_answers(answers)
    if table.shape != shape:
        raise ValueError(f"correctness has the shape {shape}, answers {table.shape}")
    return table, as_gold(gold, len(table))


@cache
def _pairs(count: int) -> tuple[Ints, Ints]:
    """All pairs of places below `count`, in the order of `combinations`."""
    one, two = np.triu_indices(count, 1)
    return one.astype(np.int64), two.astype(np.int64)


def _packed(flags: Bools) -> Words:
    """(L, ⌈n/64⌉) the columns of (n, L) flags, 64 to a word."""
    columns = np.ascontiguousarray(flags.T)
    octets = np.zeros((columns.shape[0], -(-columns.shape[1] // 64) * 8), dtype=np.uint8)
    octets[:, : -(-columns.shape[1] // 8)] = np.packbits(columns, axis=1)
    return octets.view(np.uint64)


def _counted(words: Words) -> Floats:
    """(...) how many bits are set in each row of (..., w) words."""
    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(words).sum(axis=-1, dtype=np.int64).astype(float))
    return _looked_up(words)


def _looked_up(words: Words) -> Floats:
    """The same by a table of 16-bit counts, for numpy before 2.0."""
    return np.asarray(_table()[words.view(np.uint16)].sum(axis=-1, dtype=np.int64).astype(float))


@cache
def _table() -> npt.NDArray[np.uint8]:
    """How many bits are set in each number below 2**16."""
    octets = np.arange(1 << 16, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
    counts: npt.NDArray[np.uint8] = np.unpackbits(octets, axis=1).sum(axis=1, dtype=np.uint8)
    return counts
