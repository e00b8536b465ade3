"""Roundtable Policy: players answer, and each counts as much as a table of its past says, topic by topic.

Yao, Dong, Yang, Li and Du, "Roundtable Policy: Confidence-Weighted-Consensus Aggregation Improves Multi-Agent-System
Reasoning", arXiv 2509.16839. Read: its abstract, a summary, and the project's public page and figure captions
(AI4SciDisc/roundtable; the method's code is not there). *Players* answer; *graders* score past answers, each score
with its confidence; from these comes the *confidence-weight table*, one number a player and task; at inference a
*fusion agent* makes one answer of all, guided by the table. Its ablation, Best-Single-Model Policy, takes the answer
of the player with the highest weight.

Inferred: the formula of the table, which what was read does not state. `learn` takes graded outcomes from anywhere (a
suite's scores, a judge's grades) and gives each player, for each topic, the log-odds that it is right,

    w = log((K - 1) p / (1 - p)),    p = (sum of grades + 1/2) / (number of grades + 1),

which weighs independent voters best (Nitzan and Paroush 1982; the halves: Krichevsky and Trofimov 1981), and in which
little evidence counts little: the uncertainty that the paper's graders state. A player worse than chance on a topic has
a negative weight: its vote speaks against its answer. The table is plain data in the configuration; nothing is learned
while questions are answered.

Differences: without a `fusion` agent the weights are votes, which needs no further call; the topic is found by its name
in the question, or by a `sorter` (a table of one topic needs neither); players' texts are fenced and shuffled, and the
fusion agent sees letters and shares, never names. A player the table does not know counts as the average of those it
knows.

Shape: one call a player, all at once; one before them with a `sorter`, one after them with a `fusion` agent; at most 3
in series. Needs a table, or it is a plain vote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import ClassVar

from motet.aggregate import Plurality
from motet.ballot import read_choice
from motet.compose.base import at_least, finite
from motet.form import choice_form
from motet.message import Chat, Message, Reply, chosen, hear
from motet.prompt import label, shuffled
from motet.route.by_topic import topics_in
from motet.run import Agent, Run

NOTE = (
    "Below are replies of others to this, each with a letter. How far each can be relied on in such matters, from what "
    "its author got right before, in percent of the whole: {shares}. Weigh them by that, check what they disagree on, "
    "and give the one reply that should be given, without mentioning the others or their weights."
)
SORT = (
    "Don't answer the above. Which of these topics does it belong to?\n{topics}\n"
    'End with one line that begins with "Choice:" and has one letter.'
)


def learn(graded: Iterable[tuple[str, str, float]], *, classes: int = 2) -> dict[str, dict[str, float]]:
    """The table of weights that graded outcomes make.

    Args:
        graded: a player, a topic and a grade from 0 (wrong) to 1 (right), for every answer that was graded.
        classes: K, how many answers there are to choose from; where answers are open, how many different ones agents
            give to a question at most. With 2 there, an agent that is right on less than half speaks against its own
            answers, though chance would be right far more rarely.

    Returns:
        Log-odds of being right, by player and topic.

    Raises:
        ValueError: a grade is outside 0 to 1, or there are fewer than two classes.

    >>> learn([("ann", "sums", 1.0)] * 9 + [("bob", "sums", 1.0), ("bob", "sums", 0.0)])["ann"]
    {'sums': 2.944}
    """
    from motet.measure.weighted import log_odds

    seen: dict[tuple[str, str], list[float]] = {}
    for player, topic, grade in graded:
        seen.setdefault((player, topic), []).append(grade)
    means, counts = [fmean(grades) for grades in seen.values()], [len(grades) for grades in seen.values()]
    if any(not 0 <= grade <= 1 for grades in seen.values() for grade in grades):
        raise ValueError("grades are from 0 (wrong) to 1 (right)")
    table: dict[str, dict[str, float]] = {}
    for (player, topic), weight in zip(seen, log_odds(means, classes=classes, items=counts), strict=True):
        table.setdefault(player, {})[topic] = round(float(weight), 3)
    return table


@dataclass(frozen=True)
class Roundtable:
    """The answer with the most weight, or a fusion of all that knows the weights.

    If the fusion agent gives no usable reply, the weighted vote is taken, and that is noted.

    Args:
        players: who answers. Ties go to the one named first.
        table: the weight of each player on each topic, by their names; `learn` makes one.
        fusion: who makes one reply of all, told the weights; the weighted vote if None.
        best_single: take the reply of the player with the highest weight instead (the paper's ablation).
        sorter: who says which topic a question belongs to; the topic that it names if None.
        note: what the fusion agent is told; `{shares}` stands for the weights.
        grace: seconds to wait for the slow once one has answered; None waits for all.

    >>> import asyncio
    >>> from motet import ModelAgent, Scripted, perform
    >>> ann, bob, cat = (ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "5", "five"))
    >>> table = {"agent 4": {"sums": 2.0}, "agent 5": {"sums": 0.8}, "agent five": {"sums": 0.9}}
    >>> asyncio.run(perform(Roundtable([ann, bob, cat], table), "Of sums: 2 + 2?")).text
    '4'
    """

    also_known_as: ClassVar = ("Roundtable Policy", "confidence-weighted consensus")

    players: Sequence[Agent]
    table: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    fusion: Agent | None = None
    best_single: bool = False
    sorter: Agent | None = None
    note: str = NOTE
    grace: float | None = None
    name: str = "roundtable"

    def __post_init__(self) -> None:
        at_least(1, "players", self.players, self.name)
        finite(self.name, table=self.table)

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that the table knows, in its order."""
        return tuple(dict.fromkeys(topic for row in self.table.values() for topic in row))

    def weights(self, topic: str | None) -> dict[str, float]:
        """What each player counts on a topic: its mean over the topics where the table does not say."""
        known = {name: row.get(topic or "", fmean(row.values())) for name, row in self.table.items() if row}
        given = {player.name: known[player.name] for player in self.players if player.name in known}
        unknown = fmean(given.values()) if given else 1.0
        return {player.name: given.get(player.name, unknown) for player in self.players}

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        weights = self.weights(await self._topic(chat, run))
        replies = await run.all((run.ask(player, chat) for player in self.players), grace=self.grace)
        run.offer(replies[0])
        if self.best_single:
            best = max(replies, key=lambda reply: weights[reply.agent])
            return chosen(best, replies)
        voted = run.offer(await Plurality(weights)(chat, replies, run))
        if self.fusion is None:
            return voted
        shown, labels = shuffled(chat, replies, run.rng)
        whole = sum(max(0.0, weights[reply.agent]) for reply in shown)
        parts = [max(0.0, weights[reply.agent]) / whole if whole else 1 / len(shown) for reply in shown]
        shares = ", ".join(f"{letter} {part:.0%}" for letter, part in zip(labels, parts, strict=True))
        asked = hear(chat, shown, self.note.replace("{shares}", shares), labels)
        fused = await run.all([run.answer(self.fusion, asked)], need=0)
        if fused:
            return fused[0]
        run.note("the fusion failed; the weighted vote is given instead")
        return voted

    async def _topic(self, chat: Chat, run: Run) -> str | None:
        """The topic of the table that the question belongs to; None if that can't be told."""
        topics, found = self.topics, None
        if not topics:
            run.note("the table is empty: every player counts alike")
            return None
        if len(topics) == 1:
            found = topics[0]
        elif self.sorter is None:
            named = topics_in(chat.question, topics)
            found = named[0] if len(named) == 1 else None
        else:
            letters = {label(place): topic for place, topic in enumerate(topics)}
            listed = "\n".join(f"{letter}: {topic}" for letter, topic in letters.items())
            asked = chat.add(Message("user", SORT.replace("{topics}", listed)))  # the question is now to sort
            for said in await run.all([run.ask(self.sorter, asked.held(choice_form([*letters], "Choice")))], need=0):
                found = letters.get(read_choice(said.text, list(letters)) or "")
        if found is None:
            run.note("no topic of the table was found for this question: each player counts as it does on average")
        return found
