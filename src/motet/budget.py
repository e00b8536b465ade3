"""Budgets: calls, tokens, USD and seconds, nested; reserve the worst case, then settle on what was used.

Checking and then spending lets 64 parallel calls through a budget of 10. So a call first *reserves* the most it
can cost, in every purse from its own to the outermost, in one step that nothing can come between; when it ends it
*settles* on what it did cost, and the rest is free again. When the worst case of a call does not fit while other
calls are under way, it waits for them to settle; when nothing is under way, its output is clipped to what is left.

    >>> import asyncio
    >>> async def spend() -> float:
    ...     budget = Budget(calls=2)
    ...     for _ in range(2):
    ...         hold = await budget.reserve(Cost(input=10, output=100))
    ...         hold.settle(Usage(calls=1, input=10, output=5))
    ...     try:
    ...         await budget.reserve(Cost())
    ...     except BudgetExceeded as error:
    ...         return error.allowed
    >>> asyncio.run(spend())
    2
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator

import msgspec

from motet.errors import BudgetExceeded, UsageError
from motet.message import Usage

EARLY = 1e-6
"""Seconds by which a timer may fire before its time."""


class Cost(msgspec.Struct, frozen=True, gc=False):
    """The most a call can cost: prompt tokens, output tokens at most, and US dollars for each part."""

    calls: int = 1
    input: int = 0
    output: int = 0
    usd_input: float = 0.0
    usd_output_token: float = 0.0
    least_output: int = 1

    @property
    def usd(self) -> float:
        """Dollars at the worst."""
        return self.usd_input + self.output * self.usd_output_token


class Budget:
    """A purse, perhaps inside another. Limits that are None do not limit; usage is counted all the same.

    Args:
        calls: calls to backends, retries counted as they are reported.
        tokens: input and output tokens together.
        usd: US dollars.
        seconds: wall time from `start()` on.
        parent: the purse this one is inside of; both are charged.

    Raises:
        UsageError: a limit is negative or not a number.
    """

    __slots__ = (
        "_held_calls", "_held_tokens", "_held_usd", "_waiters",
        "calls", "deadline", "limited", "parent", "seconds", "tokens", "usd", "used",
    )  # fmt: skip

    def __init__(
        self,
        *,
        calls: int | None = None,
        tokens: int | None = None,
        usd: float | None = None,
        seconds: float | None = None,
        parent: Budget | None = None,
    ) -> None:
        for name, limit in (("calls", calls), ("tokens", tokens), ("usd", usd), ("seconds", seconds)):
            if limit is not None and not limit >= 0:
                raise UsageError(f"a budget of {limit} {name} makes no sense: give a number that is not negative")
        self.calls, self.tokens, self.usd, self.seconds, self.parent = calls, tokens, usd, seconds, parent
        self.used = Usage()
        self.deadline: float | None = None
        self.limited: bool = any(limit is not None for limit in (calls, tokens, usd, seconds)) or bool(
            parent and parent.limited
        )
        self._held_calls, self._held_tokens, self._held_usd = 0, 0, 0.0
        self._waiters: deque[asyncio.Future[None]] = deque()

    def __repr__(self) -> str:
        limits = {"calls": self.calls, "tokens": self.tokens, "usd": self.usd, "seconds": self.seconds}
        shown = ", ".join(f"{name}={limit:g}" for name, limit in limits.items() if limit is not None)
        return f"Budget({shown})"

    def start(self, within: Budget | None = None) -> Budget:
        """Put this purse inside another and start the clock of `seconds`, its own and those around it, once.

        The deadline, on the event loop's clock, is never later than the outer one's.

        Raises:
            UsageError: it is inside another one already, or around this one.
        """
        if within is not None and within not in self.chain():
            if self.parent is not None or self in within.chain():
                raise UsageError(f"{self!r} is inside or around another purse already: make a new one for each ask")
            self.parent = within
            self.limited = self.limited or within.limited
        if self.deadline is None:
            own = None if self.seconds is None else _now() + self.seconds
            outer = self.parent.start().deadline if self.parent else None
            self.deadline = own if outer is None else outer if own is None else min(own, outer)
        return self

    def chain(self) -> Iterator[Budget]:
        """This purse and every one around it, from the inside out."""
        purse: Budget | None = self
        while purse is not None:
            yield purse
            purse = purse.parent

    async def reserve(self, cost: Cost) -> Hold:
        """Set aside the worst case of a call in this purse and all around it.

        Returns:
            A `Hold`, whose `output` says how many output tokens were granted, to be settled once.

        Raises:
            BudgetExceeded: a purse is spent; the error carries which.
        """
        if not self.limited:
            self._take(cost)
            return Hold(self, cost)
        turn: Budget | None = None  # the purse whose queue this call is the first of
        try:
            while True:
                short, limit, room = self._shortest(cost)
                if short is None:
                    self._take(cost)
                    return Hold(self, cost)
                if limit in ("calls", "seconds") or not short._held_calls:
                    if room < cost.least_output or limit in ("calls", "seconds"):
                        raise short._exceeded(limit, cost)
                    cost = msgspec.structs.replace(cost, output=room)
                    continue
                waiter = asyncio.get_running_loop().create_future()
                if turn is short:
                    short._waiters.appendleft(waiter)
                else:
                    short._waiters.append(waiter)
                    if turn is not None:
                        turn._wake()
                turn = None
                try:
                    async with asyncio.timeout_at(self.deadline):
                        await waiter
                except TimeoutError:
                    pass  # the clock of `seconds` is looked at first in the next round
                finally:
                    if not waiter.cancelled():
                        turn = short
                    elif waiter in short._waiters:
                        short._waiters.remove(waiter)
        finally:
            if turn is not None:  # there may be room for the next as well, or now that this one has left
                turn._wake()

    def expired(self) -> Budget | None:
        """The outermost purse whose time is up, if one's is."""
        if self.deadline is None:
            return None
        now = _now() + EARLY
        late: Budget | None = None
        purse: Budget | None = self
        while purse is not None:
            if purse.seconds is not None and purse.deadline is not None and now >= purse.deadline:
                late = purse
            purse = purse.parent
        return late

    def exceeded_seconds(self) -> BudgetExceeded:
        """The error that says that this purse's time is up."""
        return self._exceeded("seconds", Cost())

    def _shortest(self, cost: Cost) -> tuple[Budget | None, str, int]:
        """The first purse in which `cost` does not fit, the limit that says so, and the output that would fit."""
        late = self.expired()
        if late is not None:
            return late, "seconds", 0
        for purse in self.chain():
            if purse.calls is not None and purse.used.calls + purse._held_calls + cost.calls > purse.calls:
                return purse, "calls", 0
            if purse.tokens is not None:
                left = purse.tokens - purse.used.tokens - purse._held_tokens - cost.input
                if left < cost.output:
                    return purse, "tokens", max(0, left)
            if purse.usd is not None and (usd := cost.usd) > 0:
                money = purse.usd - purse.used.usd - purse._held_usd
                if money < usd:
                    each = cost.usd_output_token
                    room = int((money - cost.usd_input) / each) if each else 0
                    return purse, "usd", max(0, min(room, cost.output - 1))  # less each time, whatever the rounding
        return None, "", 0

    def _exceeded(self, limit: str, cost: Cost) -> BudgetExceeded:
        used, wanted, allowed = {
            "calls": (self.used.calls + self._held_calls, cost.calls, self.calls),
            "tokens": (self.used.tokens + self._held_tokens, cost.input + cost.least_output, self.tokens),
            "usd": (self.used.usd + self._held_usd, cost.usd_input + cost.usd_output_token, self.usd),
            "seconds": (self.seconds, 0, self.seconds),
        }[limit]
        return BudgetExceeded(self, limit, used or 0, wanted, allowed or 0)

    # Every call goes through the next two, so they walk the chain by hand.

    def _take(self, cost: Cost, sign: int = 1) -> None:
        calls, tokens, usd = sign * cost.calls, sign * (cost.input + cost.output), sign * cost.usd
        purse: Budget | None = self
        while purse is not None:
            purse._held_calls += calls
            purse._held_tokens += tokens
            purse._held_usd = purse._held_usd + usd if purse._held_calls else 0.0  # what rounding left goes
            purse = purse.parent

    def _spend(self, usage: Usage) -> None:
        purse: Budget | None = self
        while purse is not None:
            purse.used += usage
            purse._wake()
            purse = purse.parent

    def _wake(self) -> None:
        """Let the first of those who wait look again; waking all of them would cost their number squared."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


def _now() -> float:
    return asyncio.get_running_loop().time()


class Hold:
    """What a call has set aside. Settle it exactly once; settling again does nothing."""

    __slots__ = ("_budget", "_open", "cost")

    def __init__(self, budget: Budget, cost: Cost) -> None:
        self._budget, self.cost, self._open = budget, cost, True

    @property
    def output(self) -> int:
        """Output tokens granted."""
        return self.cost.output

    def another(self) -> bool:
        """Set aside one call more, for a retry; False if a purse has none left, the time is up, or it is settled."""
        if not self._open:
            return False  # whoever waited for the call has left; it goes on for others, out of nobody's purse
        if self._budget.limited and (
            self._budget.expired()
            or any(
                purse.calls is not None and purse.used.calls + purse._held_calls >= purse.calls
                for purse in self._budget.chain()
            )
        ):
            return False
        self._budget._take(Cost())
        self.cost = msgspec.structs.replace(self.cost, calls=self.cost.calls + 1)
        return True

    def settle(self, usage: Usage) -> None:
        """Give back what was set aside and charge what was used."""
        if self._open:
            self._open = False
            self._budget._take(self.cost, -1)
            self._budget._spend(usage)
