"""Many questions at once, model by model: each model's calls stand together, so that one is needed at a time.

The batch inference of Symbolic-MoE (Chen et al., arXiv 2503.05641; in the public code
dinobby/Symbolic-MoE at c0b5da8, expert_inference.py loads a model, answers all questions that recruited it, unloads it
and takes the next). There the questions are grouped before anything is asked, once for each step. Here nothing has to
be known beforehand: all questions are put at once, a call waits for its model's turn, and once the one before has
nothing left the turn goes to the model that was called first of those that wait. So a later step of all questions comes
after an earlier one, it holds for every composition, and the replies are those that one question after the other gets.

Nothing is unloaded here: a local model that has had its turn is let go of after its backend's `idle_seconds`.

What waits for a turn waits in its question's time: leave `grace` and seconds of budgets out of it, or they cut members
off whose models have not had their turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from motet.backends.wrapper import Wrapper, closing
from motet.message import Chat, Delta, Message, Reply, Request
from motet.outcome import Result
from motet.perform import perform
from motet.run import Agent

SETTLED = 0.01
"""Seconds without a new call after which a model has nothing left and the turn goes on."""


async def ask_batch(
    agent: Agent, questions: Iterable[str | Chat | Iterable[Message]], *, seed: int = 0
) -> list[Result]:
    """Put each question to an agent; the same results as one after the other, but for their times.

    Args:
        agent: a single agent or any composition.
        questions: words, messages or chats.
        seed: of every run.

    >>> from motet import ModelAgent, Scripted, Vote
    >>> agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "5", "4.0")]
    >>> [result.text for result in asyncio.run(ask_batch(Vote(agents), ["2 + 2?", "3 + 1?"]))]
    ['4', '4']
    """
    turns = Turns()
    work = (perform(agent, each, seed=seed, wrap=lambda backend: Turn(backend, turns)) for each in questions)
    tasks = [asyncio.create_task(each) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:  # if one crashes, the others must not go on, and spend, unheard
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Turns:
    """Whose turn it is: calls to one model at a time, as many of them as there are."""

    def __init__(self) -> None:
        self._model = ""
        self._under_way = 0
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def of(self, model: str) -> AsyncIterator[None]:
        """A block that runs in the model's turn."""
        if model == self._model:
            self._under_way += 1
            self._settle()
        else:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(model, []).append(turn)
            self._settle()
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():  # it had just been given
                    self._leave()
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._under_way -= 1
        self._settle()

    def _settle(self) -> None:
        """Wait anew for quiet, if nothing is under way."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._under_way and self._waiting:
            self._timer = asyncio.get_running_loop().call_later(SETTLED, self._next)

    def _next(self) -> None:
        """Give the turn to the model that was called first of those that wait."""
        self._timer = None
        self._model = next(iter(self._waiting))
        for turn in self._waiting.pop(self._model):
            if not turn.done():  # or whoever waited was cancelled
                self._under_way += 1
                turn.set_result(None)
        self._settle()


@dataclass(frozen=True)
class Turn(Wrapper):
    """A backend that is called in its turn; what it knows already needs none."""

    turns: Turns

    def lookup(self, request: Request) -> Reply | None:
        """What the inner backend knows already."""
        known: Reply | None = self.backend.lookup(request) if hasattr(self.backend, "lookup") else None
        return known

    async def complete(self, request: Request) -> Reply:
        """The inner backend's reply."""
        async with self.turns.of(self.name):
            return await self.backend.complete(request)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The inner backend's stream."""
        async with self.turns.of(self.name), closing(self.backend.stream(request)) as stream:
            async for delta in stream:
                yield delta
