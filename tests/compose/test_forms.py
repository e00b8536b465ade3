"""Every mixture of the default configuration, with models that keep to the form they are held to and say nonsense."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from drawing import Grammar

from motet import perform
from motet.backend import deltas, prompt_tokens
from motet.backends.wrapper import Wrapper
from motet.message import Delta, Reply, Request, Usage, abstain
from motet.spec import load
from motet.spec.source import DEFAULT
from motet.trace import CallStarted

CONFIG = load(DEFAULT)
FREE = (
    *("vote", "moa", "self-moa", "debate", "cascade", "adaptive-vote", "roundtable", "anchor-fusion", "entropy-judge"),
    *("patched-moa", "one-flow", "relay", "attention-moa", "chat-eval", "multi-persona", "fictitious-play"),
    *("ideation", "advisers"),
)
"""Mixtures in which nobody is asked for anything but replies."""


@dataclass(frozen=True)
class Obedient(Wrapper):
    """A model that draws its reply from the grammar it is held to, and else gives one of a few answers."""

    async def complete(self, request: Request) -> Reply:
        """What is allowed, drawn by the key of the request."""
        if not self.card.grammar:
            return abstain()
        grammar, seed = request.sampling.grammar, int(request.key[:8], 16)
        text = Grammar(grammar, seed).rule("root") if grammar else str(40 + seed % 3)
        return Reply(text, usage=Usage(1, prompt_tokens(self.backend, request), output=8))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """The same, in one piece."""
        async for delta in deltas(await self.complete(request)):
            yield delta


@pytest.mark.parametrize("name", CONFIG.mixtures)
async def test_what_is_held_to_a_form_is_read(name: str) -> None:
    """However senseless, it is read: no ballot, grade, verdict, list or record goes unread for its form."""
    held = 0
    for seed in range(6):
        result = await perform(CONFIG.agent(name), "What is 17 + 25?", seed=seed, wrap=Obedient)
        assert result.error is None
        unread = [warning for warning in result.warnings if "could not be read" in warning]
        assert not unread
        held += sum(bool(call.request.sampling.grammar) for call in result.trace if isinstance(call, CallStarted))
    assert bool(held) == (name not in FREE)


async def test_a_held_manager_can_recruit() -> None:
    """Where there is a market, the form of a plan has the letter for nobody; it comes up, and somebody is recruited."""
    called = set()
    for seed in range(12):
        result = await perform(CONFIG.agent("company"), "What is 17 + 25?", seed=seed, wrap=Obedient)
        called |= {call.agent for call in result.trace if isinstance(call, CallStarted)}
    assert "calculator" in called  # it is on the market alone
