"""Any Python callable as a backend: how the calculator is built, and how to put one's own code into a mixture.

    >>> import asyncio
    >>> from motet.message import Message
    >>> shout = Function(lambda question: question.upper() if question else None, name="shout")
    >>> asyncio.run(shout.complete(Request("shout", messages=(Message("user", "hello"),)))).text
    'HELLO'

The function gets the user's question and gives the answer, or None to abstain: nothing to say is no failure.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from motet.backend import Card, deltas, estimate_tokens
from motet.message import Delta, Reply, Request, abstain

Answer = Callable[[str], "str | Awaitable[str | None] | None"]


@dataclass(frozen=True)
class Function:
    """A function of the question as a backend. It has no tokens and costs nothing.

    Args:
        function: takes the words of the question, gives the answer or None; sync (quick: it runs on the event
            loop) or async. What it raises is a bug, or a `BackendError` when it means that it failed.
        name: what it is called in requests and traces.
    """

    function: Answer
    name: str
    card: Card = Card(local=True, reports_usage=False, completes=True)

    async def complete(self, request: Request) -> Reply:
        """The function's answer to the question in `request`."""
        answer = self.function(request.question or request.prompt)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is not None and not isinstance(answer, str):
            raise TypeError(f"the function {self.name} gave {type(answer).__name__}: it should give text, or None")
        return abstain() if answer is None else Reply(answer)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta

    def count(self, text: str) -> int:
        """An estimate; a function has no tokens."""
        return estimate_tokens(text)
