"""OneFlow: a team whose roles are all one model, run as one conversation, so that what was read is not read again.

Xu et al., "Rethinking the Value of Multi-Agent Workflow: A Strong Single Agent Baseline", arXiv 2601.12307. Their
finding: where all agents of a workflow are one model with different prompts, that model can play the roles one after
the other in a conversation of many turns. It does as well, and costs less, since the prompt of each turn begins with
the whole of the one before, whose keys and values are in the cache. So this is the baseline of every team of one model;
it says nothing of teams of different models, which share no cache. The paper's abstract and summaries of it were read;
there is no public code, and how the roles are told is inferred: each as a turn of the user, in order. Left out is the
search (Monte Carlo, with a designing and a criticising model) by which the paper finds a workflow: that is done once,
before any question, and what it gives is `roles`. The default roles are motet's.

What is saved: with prompts of p1 < p2 < … < pk tokens, all but the last are read once instead of again and again, so
p1 + … + p(k-1) of all p1 + … + pk tokens (and the replies but the last, where the cache keeps what was written).

The team's earlier words stand as the model's own turns, not fenced: they are its own. What was heard of others before
(where it is itself a member of a mixture) gets its letters and its order once, for all roles: shuffled anew in each
turn, it would be read anew. A role that gives no usable reply
is passed over and noted.

Shape: one call a role, all in series; needs a backend that keeps prompt prefixes, as most do.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import ClassVar

from motet.compose.base import at_least
from motet.errors import TooFewReplies, UsageError
from motet.message import Chat, Reply, recall
from motet.prompt import label, labelled
from motet.run import Agent, Run

ROLES = (
    "Begin as the analyst: say what is asked and what is given, and how to go about it. Do not answer it yet.",
    "Now be the solver: work it out step by step, and answer it.",
    "Now be the reviewer: check the work above for errors, as if it were not yours. Then give the one reply that is to "
    "be given, corrected where it was wrong, without mentioning the review.",
)


@dataclass(frozen=True)
class OneFlow:
    """Roles that one agent plays one after the other in one conversation; the last role's reply is given.

    Args:
        agent: who plays them all.
        roles: what the agent is told in each turn.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> agent = ModelAgent(Scripted(["A capital is asked for.", "Lyon.", "Paris."]), "geographer")
    >>> asyncio.run(perform(OneFlow(agent), "Capital of France?")).text
    'Paris.'
    """

    also_known_as: ClassVar = ("single-agent workflow", "one conversation for a team of one model")

    agent: Agent
    roles: Sequence[str] = ROLES
    name: str = "one-flow"

    def __post_init__(self) -> None:
        at_least(1, "roles", self.roles, self.name)
        if not all(role.strip() for role in self.roles):
            raise UsageError(f"{self.name} has a role without words: say what the agent is to do in each")

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        said: Reply | None = None
        chat = _settled(chat, run.rng)
        for turn, role in enumerate(self.roles, 1):
            ask = run.answer if turn == len(self.roles) else run.ask
            replies = await run.all([ask(self.agent, chat.note(role))], need=0)
            if not replies:
                run.note(f"role {turn} of {len(self.roles)} gave no reply and is passed over")
                continue
            said = run.offer(replies[0])
            chat = recall(chat.note(role), said)
        if said is None:
            raise TooFewReplies(1, 0, run.missing, run.abstained)
        return said


def _settled(chat: Chat, rng: random.Random) -> Chat:
    """`chat` with letters on all that was heard, so that every prompt made of it shows them in one order."""
    used = {message.name for message in chat.heard}
    heard = labelled(chat.heard, rng, (name for name in map(label, count()) if name not in used))
    return Chat(
        tuple(next(heard) if each.source and each.role == "user" else each for each in chat.messages), chat.form
    )
