"""Logprob: how sure the model was of its own tokens.

The geometric mean of the token probabilities, exp(mean log p): the length-normalised sequence probability (Murray
and Chiang, arXiv 1808.10006; used as confidence by Malinin and Gales, arXiv 2002.07650). `least` takes the least
sure token instead, which is stricter on long replies. It needs `logprobs` in the agent's sampling; a reply without
them scores 0, and that is noted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from motet.message import Chat, Reply
from motet.run import Run


@dataclass(frozen=True)
class Logprob:
    """The mean (or least) probability of the reply's tokens.

    Args:
        least: take the least sure token instead of the geometric mean.
    """

    least: bool = False

    async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
        if not reply.usable:
            return 0.0
        logs = [token.logprob for token in reply.logprobs]
        if not logs:
            run.note("a reply without token log-probabilities was to be scored by them: set logprobs = 1 in its agent")
            return 0.0
        return math.exp(min(0.0, min(logs) if self.least else sum(logs) / len(logs)))
