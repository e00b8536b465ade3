"""What a fair reading of a mixture needs beside it.

* each member alone, and the best of them;
* the plain vote of all members;
* self-consistency (arXiv 2203.11171): as many draws of the best member as the mixture makes calls, or as take as many
  tokens, or as many dollars. Smit et al. (arXiv 2311.17371) and Wang et al. (arXiv 2402.18272) found that much of what
  debates gain over one answer is had by spending the same on such draws;
* the placebo of every mixture whose agents hear one another (`motet.bench.placebo`);
* a member picked at random, and the bound of an oracle that always picks a right one: these need no calls.

Which calls are the same is told by their keys, so members' answers are asked for once: every mixture, vote and baseline
works on the same panel of replies, to the byte.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from motet.agent import ModelAgent
from motet.bench.sheet import Sheet
from motet.compose.vote import Vote
from motet.run import Agent

By = Literal["calls", "tokens", "usd"]
PLAIN_VOTE: Final = "plain vote"
MOST_DRAWS: Final = 40
"""Draws of self-consistency at most: as many as were tried where it was published, and gains had ended before."""


class Match(msgspec.Struct, frozen=True):
    """So many draws of a member are worth a mixture's calls, tokens or dollars.

    Args:
        mixture: the arm.
        by: what is matched.
        draws: how many: the fewest that take at least as much, or `MOST_DRAWS`.
        capped: whether it would be more than that.
        budget: what an answer of the mixture takes.
        copies: what so many draws take.
    """

    mixture: str
    by: By
    draws: int
    capped: bool
    budget: float
    copies: float


def plain_vote(members: Mapping[str, Agent]) -> Vote:
    """The vote of all members, each with one voice.

    >>> from motet import Scripted
    >>> plain_vote({name: ModelAgent(Scripted("4", name=name), name) for name in "ab"}).name
    'plain vote'
    """
    return Vote(tuple(members.values()), name=PLAIN_VOTE)


def copies(agent: Agent, draws: int) -> Vote:
    """Self-consistency: the vote of several draws of one agent."""
    return Vote((agent,) * draws, name=f"{agent.name} x{draws}")


def varies(agent: Agent) -> bool:
    """Whether draws of an agent may differ at all: a greedy model's and a plain function's do not."""
    if not isinstance(agent, ModelAgent):
        return True
    able = agent.backend.card.reports_usage and agent.sampling.temperature != 0
    return able and bool(getattr(agent.backend, "varies", True))


def best(sheet: Sheet, arms: Sequence[str]) -> str | None:
    """The arm with the best mean score; the first of several; None if none was graded.

    Arms of which too much failed or has no grade are left out unless all are so, and means are taken over the tasks
    that all the others were graded on, where there are any.
    """
    known = [arm for arm in arms if arm in sheet.columns and np.isfinite(sheet.scores(arm)).any()]
    known = [arm for arm in known if not sheet.columns[arm].unfit] or known
    if not known:
        return None
    scores = np.stack([sheet.scores(arm) for arm in known])
    common = np.isfinite(scores).all(axis=0)
    means = scores[:, common].mean(axis=1) if common.any() else np.nanmean(scores, axis=1)
    return known[int(np.argmax(means))]


def matches(sheet: Sheet, mixtures: Sequence[str], member: str) -> list[Match]:
    """How many draws of a member are worth each mixture's answer.

    Args:
        sheet: answers of the mixtures and of the member.
        mixtures: the arms to match.
        member: whose draws.

    Returns:
        For each mixture one by calls, and one by tokens and by dollars where both of them have any.
    """
    found = []
    one = _means(sheet, member)
    for mixture in mixtures:
        if mixture not in sheet.columns or not sheet.columns[mixture].there.any():
            continue
        whole = _means(sheet, mixture)
        for by, own in one.items():
            if own > 0 and whole[by] > 0:
                worth = max(1, math.ceil(whole[by] / own - 1e-9))
                draws = min(worth, MOST_DRAWS)
                found.append(Match(mixture, by, draws, worth > draws, whole[by], draws * own))
    return found


def _means(sheet: Sheet, arm: str) -> dict[By, float]:
    """What an answer of an arm takes alone, on average."""
    column = sheet.columns[arm]
    count = max(1, int(column.there.sum()))
    return {
        "calls": float(column.calls.sum()) / count,
        "tokens": float(column.input.sum() + column.output.sum()) / count,
        "usd": float(column.usd.sum()) / count,
    }
