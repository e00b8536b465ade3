"""A backend that answers from a table of recorded results: real models, offline, exactly.

What an agent once answered (or only whether it was right), with its tokens, dollars and seconds, is what it answers
again; so votes, cascades, routers and committees of real models run without a call.

    >>> import asyncio
    >>> import numpy as np
    >>> from motet.message import Message
    >>> table = Table(("q1", "q2"), ("small", "large"), np.array([[1.0, 1.0], [0.0, 1.0]]))
    >>> small = Recorded(table, "small")
    >>> asyncio.run(small.complete(Request("small", (Message("user", "q2"),)))).text
    'wrong'

The question tells the item: its id, or the text that `questions` gives for it. What is heard beside the question
changes nothing, as nobody knows what the agent would have made of it: a debate of recorded agents is a vote. Tables
tell tokens in and out together; all of them are reported as output.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from motet.backend import Card, deltas, estimate_tokens
from motet.errors import BackendError, UsageError
from motet.measure.arrays import NONE, UNKNOWN, Floats
from motet.message import Chat, Delta, Reply, Request, Usage
from motet.run import Run
from motet.tables.table import Table

RIGHT: Final = "right"
WRONG: Final = "wrong"
"""What agents answer where only their being right is recorded. All that are wrong agree, so a vote is a majority."""


NOBODY: Final = "(an answer that nobody gave)"
"""What is right where no recorded answer is."""


_places: WeakKeyDictionary[Table, dict[str, int]] = WeakKeyDictionary()
"""The row of each item, by table: its agents share it."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """One agent of a table.

    Args:
        table: what was recorded.
        agent: which of its agents this is; also its name in requests and traces.
        questions: the text that asks each item, to the item's id; the ids themselves if not given.
        card: what is known of the model. Its price is not used: the recorded dollars are.

    Raises:
        UsageError: the table has no such agent, or a question asks an item that it does not have.
    """

    table: Table
    agent: str
    questions: Mapping[str, str] | None = None
    card: Card = Card(checked=True, completes=True)
    _column: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.agent not in self.table.agents:
            raise UsageError(f"{self.table.source}: no agent is called {self.agent!r}")
        object.__setattr__(self, "_column", self.table.agents.index(self.agent))

    @property
    def name(self) -> str:
        """The agent's name in the table."""
        return self.agent

    @cached_property
    def identity(self) -> str:
        """A digest of what was recorded: another table, another agent."""
        return identity(self.table)

    @property
    def varies(self) -> bool:
        """Whether draws of one question may differ."""
        right = self.table.correct[:, self._column]
        return self.table.draws is not None or bool(((right > 0) & (right < 1)).any())

    @cached_property
    def _rows(self) -> dict[str, int]:
        place = _places.get(self.table)
        if place is None:
            place = _places[self.table] = {item: row for row, item in enumerate(self.table.items)}
        if self.questions is None:
            return place
        lost = [item for item in self.questions.values() if item not in place]
        if lost:
            raise UsageError(f"{self.table.source}: no item is called {lost[0]!r}")
        return {text: place[item] for text, item in self.questions.items()}

    async def complete(self, request: Request) -> Reply:
        """What the agent answered.

        Where several samples are recorded, draw k of a question is the k-th of them in an order that the run's seed
        shuffles, so that draws are without replacement. Where only the share of right ones is, a draw is right with
        that probability. Where a single answer is recorded, every draw is that one.

        Raises:
            BackendError: `not_found`, the question asks no item of the table, nothing is recorded for it, or all its
                samples were drawn.
        """
        row = self._rows.get(request.question)
        if row is None:
            raise BackendError("not_found", f"{self.agent}: not an item that was recorded: {request.question[:60]!r}")
        answer, right = self._sample(request, row)
        if math.isnan(right):
            raise BackendError("not_found", f"{self.agent}: nothing is recorded for {self.table.items[row]!r}")
        usage = self._usage(row)
        if answer is None:
            return Reply(RIGHT if right else WRONG, usage=usage)
        if answer == NONE:
            return Reply("", finish="abstain", usage=usage)
        return Reply(self.table.answer_texts[answer], usage=usage)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta

    def count(self, text: str) -> int:
        """An estimate."""
        return estimate_tokens(text)

    def _sample(self, request: Request, row: int) -> tuple[int | None, float]:
        """The number of an answer, None where answers are not recorded; and whether it was right."""
        table, column = self.table, self._column
        if table.draws is not None:
            kept = np.flatnonzero(np.isfinite(table.draws.correct[row, column]))
            if kept.size:
                place = (row, column, self._pick(request, kept))
                said = bool((table.draws.answers[:, column] != NONE).any())
                return int(table.draws.answers[place]) if said else None, float(table.draws.correct[place])
        right = float(table.correct[row, column])
        if 0 < right < 1:
            return None, float(_chance(f"{request.seed} {request.draw} {row} {self.agent}") < right)
        return None if table.answers is None else int(table.answers[row, column]), right

    def _pick(self, request: Request, kept: npt.NDArray[np.intp]) -> int:
        """The sample that a draw is. A draw inside a draw, which has no number of its own, is one by lot."""
        draw = request.draw or "0"
        number = int(draw) if draw.isdigit() else int(_chance(draw) * kept.size)
        if number >= kept.size:
            text = f"{self.agent}: {kept.size} samples were recorded, and this is draw {number + 1}"
            raise BackendError("not_found", text)
        order: list[int] = kept.tolist()
        order.sort(key=lambda sample: _chance(f"{request.seed} {request.asked} {self.agent} {sample}"))
        return order[number]

    def _usage(self, row: int) -> Usage:
        def recorded(values: Floats | None) -> float:
            value = 0.0 if values is None else float(values[row, self._column])
            return value if math.isfinite(value) else 0.0

        table = self.table
        return Usage(1, output=round(recorded(table.tokens)), usd=recorded(table.cost), seconds=recorded(table.seconds))


def identity(table: Table) -> str:
    """A digest of the results of a table."""
    made = blake2b(repr((table.items, table.agents, table.answer_texts)).encode("utf-8", "replace"), digest_size=16)
    draws = table.draws or (None, None)
    for values in (table.correct, table.answers, table.gold, table.cost, table.tokens, table.seconds, *draws):
        made.update(b"-" if values is None else np.ascontiguousarray(values).tobytes())
    return made.hexdigest()


def _chance(content: str) -> float:
    """A number from 0 to 1 that depends on `content` alone."""
    return int.from_bytes(blake2b(content.encode("utf-8", "replace"), digest_size=8).digest()) / 2.0**64


def gold(table: Table, row: int) -> str:
    """The answer that is right: `right` where answers are not recorded, and something nobody said where nobody was.

    >>> gold(Table(("q1", "q2"), ("a", "b"), np.eye(2)), 0)
    'right'
    """
    if table.answers is None or table.gold is None:
        return RIGHT
    number = int(table.gold[row])
    return table.answer_texts[number] if number != UNKNOWN else NOBODY


@dataclass(frozen=True, eq=False)
class Checker:
    """A perfect checker of recorded agents: 1 for the right answer, 0 for any other. For cascades, as a bound.

    Args:
        table: what was recorded.
        questions: as in `Recorded`.
    """

    table: Table
    questions: Mapping[str, str] | None = None

    @cached_property
    def identity(self) -> str:
        """A digest of what was recorded."""
        return identity(self.table)

    @cached_property
    def _gold(self) -> dict[str, str]:
        place = {item: row for row, item in enumerate(self.table.items)}
        asked = self.questions or {item: item for item in place}
        return {text: gold(self.table, place[item]) for text, item in asked.items()}

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        """1.0 or 0.0; nothing that was not recorded is right."""
        return float(reply.usable and reply.text == self._gold.get(chat.question))
