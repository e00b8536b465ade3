"""Budgets: nothing is overspent, whatever is under way at once; what is reserved comes back; the truth remains."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from acting import check_settled
from hypothesis import given, settings
from hypothesis import strategies as st

from motet import Budget, Usage
from motet.budget import Cost
from motet.clock import run_virtual
from motet.errors import BudgetExceeded, UsageError

LIMITS = st.fixed_dictionaries(
    {},
    optional={
        "calls": st.integers(0, 12),
        "tokens": st.integers(0, 300),
        "usd": st.floats(0, 3),
        "seconds": st.floats(0, 20),
    },
)


@settings(max_examples=100, deadline=None)
@given(limits=st.lists(LIMITS, min_size=1, max_size=3), seed=st.integers(0, 2**32), count=st.integers(1, 20))
def test_no_limit_is_ever_passed(limits: list[dict[str, Any]], seed: int, count: int) -> None:
    """Nested purses, calls at random times that use at most what they were granted, some cancelled or retried: at no
    moment is more used or held than allowed, and in the end every purse has used what its calls did.
    """
    rng = random.Random(seed)
    purses: list[Budget] = []
    for each in limits:
        purses.append(Budget(**each, parent=purses[-1] if purses else None))
    used = [Usage() for _ in purses]

    def check() -> None:
        for purse in purses:
            assert purse.used.calls + purse._held_calls <= (purse.calls if purse.calls is not None else 10**9)
            assert purse.used.tokens + purse._held_tokens <= (purse.tokens if purse.tokens is not None else 10**9)
            assert purse.used.usd + purse._held_usd <= (purse.usd if purse.usd is not None else 10**9) + 1e-9

    async def call() -> None:
        await asyncio.sleep(rng.choice([0, 0, rng.random() * 5]))
        place = rng.randrange(len(purses))
        cost = Cost(input=rng.randrange(20), output=rng.randrange(60), usd_input=0.01, usd_output_token=0.005)
        try:
            hold = await purses[place].reserve(cost)
        except BudgetExceeded:
            return
        check()
        assert hold.output <= cost.output
        calls = 1
        try:
            await asyncio.sleep(rng.random() * 3)
            while rng.random() < 0.3 and hold.another():
                check()
                calls += 1
        finally:
            output = rng.randint(0, hold.output)
            usage = Usage(calls, cost.input, output=output, usd=0.01 + output * 0.005)
            hold.settle(usage)
            hold.settle(usage)  # a second time is nothing
            assert not hold.another()
            for outer in range(place + 1):
                used[outer] += usage
            check()

    async def work() -> None:
        purses[-1].start()
        tasks = [asyncio.ensure_future(call()) for _ in range(count)]
        for task in tasks:
            if rng.random() < 0.15:
                asyncio.get_running_loop().call_later(rng.random() * 6, task.cancel)
        await asyncio.gather(*tasks, return_exceptions=True)

    run_virtual(work())
    check_settled(purses[-1])
    for purse, truth in zip(purses, used, strict=True):
        assert purse.used.usd == pytest.approx(truth.usd)
        assert (purse.used.calls, purse.used.tokens) == (truth.calls, truth.tokens)


def test_what_does_not_fit_waits_then_is_clipped_then_refused() -> None:
    """100 tokens: the second call waits for the first, is clipped to what that left, and the third is refused."""

    async def work() -> None:
        budget = Budget(tokens=100)
        first = await budget.reserve(Cost(input=10, output=60))
        second = asyncio.ensure_future(budget.reserve(Cost(input=10, output=60)))
        await asyncio.sleep(1)
        assert not second.done()
        first.settle(Usage(1, 10, output=30))
        assert (await second).output == 50
        (await second).settle(Usage(1, 10, output=50))
        with pytest.raises(BudgetExceeded, match=r"budget of 100 tokens is spent \(100 used or reserved, 11 more"):
            await budget.reserve(Cost(input=10, output=60))

    run_virtual(work())


def test_dollars_clip_the_output() -> None:
    """With 1 USD, at 0.1 for the prompt and 0.1 a token, 9 tokens may be written."""

    async def work() -> int:
        return (await Budget(usd=1.0).reserve(Cost(output=50, usd_input=0.1, usd_output_token=0.1))).output

    assert run_virtual(work()) in (8, 9)  # 9, or one less for the rounding


def test_waiting_ends_with_the_time() -> None:
    """Who waits for the purse of others is told when the time is up."""

    async def work() -> float:
        budget = Budget(tokens=10, seconds=5).start()
        await budget.reserve(Cost(input=5, output=5))
        with pytest.raises(BudgetExceeded, match="budget of 5 seconds is spent"):
            await budget.reserve(Cost(output=5))
        return asyncio.get_running_loop().time()

    assert run_virtual(work()) == pytest.approx(5)


def test_the_outermost_purse_whose_time_is_up_is_named() -> None:
    """Inner and outer end together: it is the outer one, since it ends the run."""

    async def work() -> None:
        outer = Budget(seconds=3).start()
        inner = Budget(seconds=9).start(within=outer)
        early = Budget(seconds=1).start(within=inner)
        assert (outer.deadline, inner.deadline, early.deadline) == (3, 3, 1)
        await asyncio.sleep(1)
        assert early.expired() is early
        assert inner.expired() is None
        await asyncio.sleep(2)
        assert early.expired() is inner.expired() is outer

    run_virtual(work())


def test_time_starts_once_and_outside_too() -> None:
    """`start` sets the clock of a purse and of those around it, once."""

    async def work() -> None:
        outer = Budget(seconds=5)
        inner = Budget(calls=1, parent=outer)
        assert inner.start().deadline == outer.deadline == 5
        await asyncio.sleep(2)
        assert inner.start().deadline == 5

    run_virtual(work())


def test_a_purse_stays_where_it_is() -> None:
    """No purse is moved from one into another, nor into itself."""

    async def work() -> None:
        one, two = Budget(calls=1), Budget(calls=2)
        inner = Budget(calls=3).start(within=one)
        inner.start(within=one)
        Budget(parent=inner).start(within=one)
        for purse, within in ((inner, two), (one, inner), (Budget(parent=two), one)):
            with pytest.raises(UsageError, match="make a new one for each ask"):
                purse.start(within=within)

    run_virtual(work())


def test_no_limits_still_count() -> None:
    """A purse without limits never waits, never refuses, and counts."""

    async def work() -> Budget:
        budget = Budget()
        holds = [await budget.reserve(Cost(input=10**6, output=10**6, usd_input=10**6)) for _ in range(100)]
        for hold in holds:
            hold.settle(Usage(1, 2, output=3, usd=0.5))
        return budget

    budget = run_virtual(work())
    check_settled(budget)
    assert budget.used == Usage(100, 200, output=300, usd=50)


@pytest.mark.parametrize("limit", [{"calls": -1}, {"usd": float("nan")}, {"seconds": -0.1}, {"tokens": -5}])
def test_limits_that_make_no_sense(limit: dict[str, Any]) -> None:
    """Negative limits and NaN are refused."""
    with pytest.raises(UsageError, match="makes no sense"):
        Budget(**limit)


def test_repr_shows_the_limits() -> None:
    """Only what limits is shown."""
    assert repr(Budget(calls=3, usd=0.5)) == "Budget(calls=3, usd=0.5)"
    assert repr(Budget()) == "Budget()"


def test_retries_take_from_the_purse() -> None:
    """Another try is had only while there are calls and time."""

    async def work() -> None:
        budget = Budget(calls=2, seconds=5).start()
        hold = await budget.reserve(Cost())
        assert hold.another()
        assert not hold.another()
        hold.settle(Usage(2))
        timely = await Budget(seconds=1).start().reserve(Cost())
        assert timely.another()
        await asyncio.sleep(2)
        assert not timely.another()

    run_virtual(work())


def test_thousands_may_wait() -> None:
    """4,000 calls through a purse that fits ten at a time: all get their turn, in no time, also when some leave."""

    async def call(budget: Budget) -> None:
        hold = await budget.reserve(Cost(output=100, usd_output_token=0.1))
        await asyncio.sleep(1)
        hold.settle(Usage(1, 0, output=1, usd=0.001))

    async def work() -> float:
        budget = Budget(usd=110, parent=Budget(usd=100.0))
        tasks = [asyncio.ensure_future(call(budget)) for _ in range(4_000)]
        await asyncio.sleep(0.5)
        for task in tasks[100::100]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        check_settled(budget)
        assert budget.used.calls == 4_000 - 39
        return asyncio.get_running_loop().time()

    import time

    began = time.process_time()
    assert run_virtual(work()) < 500
    assert time.process_time() - began < 5
