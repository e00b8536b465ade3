"""A backend that answers from a function of the request: exact, instant, for tests and examples.

    >>> import asyncio
    >>> from motet.message import Message
    >>> parrot = Scripted(lambda request: request.question)
    >>> asyncio.run(parrot.complete(Request("parrot", messages=(Message("user", "hi"),)))).text
    'hi'

A script may give a text, a whole `Reply`, or an exception to be raised.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from motet.backend import Card, estimate_tokens, prompt_tokens
from motet.message import Delta, Reply, Request, Usage

Said = str | Reply | BaseException


@dataclass
class Scripted:
    """A backend that says what its script says.

    Args:
        script: a function of the request, one text for every request, or texts that are said in turn (the last
            one for ever).
        name: what it is called in requests and traces.
        delay: seconds before each reply, or a function of the request.
        card: what is known of it.

    Attributes:
        requests: every request it got, oldest first.
    """

    script: Callable[[Request], Said] | str | Sequence[Said]
    name: str = "scripted"
    delay: float | Callable[[Request], float] = 0.0
    card: Card = Card(local=True, completes=True, tools=True)
    requests: list[Request] = field(default_factory=list, repr=False, compare=False)

    async def complete(self, request: Request) -> Reply:
        """What the script says, with usage counted from the texts."""
        self.requests.append(request)
        place = len(self.requests) - 1
        delay = self.delay if isinstance(self.delay, int | float) else self.delay(request)
        if delay:
            await asyncio.sleep(delay)
        said: Said
        if isinstance(self.script, str):
            said = self.script
        elif callable(self.script):
            said = self.script(request)
        else:
            said = self.script[min(place, len(self.script) - 1)]
        if isinstance(said, BaseException):
            raise said
        reply = Reply(said) if isinstance(said, str) else said
        if reply.usage == Usage() and self.card.reports_usage:
            usage = Usage(1, prompt_tokens(self, request), output=max(1, self.count(reply.text)))
            reply = msgspec.structs.replace(reply, usage=usage)
        return reply

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, word by word."""
        reply = await self.complete(request)
        for piece in re.findall(r"\S*\s*", reply.text):
            if piece:
                yield Delta(text=piece)
        yield Delta(reply=reply)

    def count(self, text: str) -> int:
        """An estimate."""
        return estimate_tokens(text)
