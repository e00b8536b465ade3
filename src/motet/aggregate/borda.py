"""Borda: agents rank the replies blind; a reply scores one point for every reply it is ranked above.

The Borda count (1784). Who is left out of a ballot shares its last places. A ballot that can't be read counts
for nothing and is noted; if none can be read, the plurality of the answers decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.aggregate.plurality import Plurality
from motet.ballot import read_ranking
from motet.form import ranking_form
from motet.message import Chat, Message, Reply, chosen, hear
from motet.prompt import shuffled
from motet.run import Agent, Run

NOTE = (
    "Below are replies of others to this, each with a letter. Rank them from best to worst: the most correct first, "
    'then the clearest. Give your reasons in a sentence, then end with one line that begins with "Ranking:" and '
    "lists the letters, the best first."
)


def borda(ballots: Sequence[Sequence[str]], candidates: Sequence[str]) -> dict[str, float]:
    """Points of each candidate over all ballots, best first; equals keep their order.

    >>> borda([["B", "A", "C"], ["B"]], ["A", "B", "C"])
    {'B': 4.0, 'A': 1.5, 'C': 0.5}
    """
    points = dict.fromkeys(candidates, 0.0)
    for ballot in ballots:
        unranked = [name for name in candidates if name not in ballot]
        for place, name in enumerate(ballot):
            points[name] += len(candidates) - 1 - place
        for name in unranked:
            points[name] += (len(unranked) - 1) / 2
    return dict(sorted(points.items(), key=lambda item: -item[1]))


async def ranked(
    voters: Sequence[Agent], chat: Chat, replies: Sequence[Reply], run: Run, note: str = NOTE
) -> list[Reply] | None:
    """The replies in the order that the voters' blind ballots give them; None if no ballot could be read.

    The replies stand in one shuffled order under neutral letters; each voter sees the same.
    """
    shown, labels = shuffled(chat, replies, run.rng)
    asked = hear(chat.add(Message("user", note)), shown, labels=labels).held(ranking_form(labels))  # now to rank
    said = await run.all((run.ask(voter, asked) for voter in voters), need=0)
    ballots = []
    for reply in said:
        ballot = read_ranking(reply.text, labels)
        if ballot is None:
            run.note(f"a ballot of {reply.agent} could not be read and counts for nothing")
        else:
            ballots.append(ballot)
    if not ballots:
        return None
    by_label = dict(zip(labels, shown, strict=True))
    return [by_label[name] for name in borda(ballots, labels)]


@dataclass(frozen=True)
class Borda:
    """The reply that the voters' blind ballots put first.

    Args:
        voters: who ranks.
        note: what they are told.
    """

    voters: Sequence[Agent]
    note: str = NOTE

    async def __call__(self, chat: Chat, replies: Sequence[Reply], run: Run) -> Reply:
        if len(replies) == 1:
            return replies[0]
        order = await ranked(self.voters, chat, replies, run, self.note)
        if order is None:
            run.note("no ballot could be read; the most frequent answer is given instead")
            return await Plurality()(chat, replies, run)
        return chosen(order[0], order)
