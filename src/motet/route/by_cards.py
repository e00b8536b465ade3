"""By cards: an agent reads what is known of the others, and chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.ballot import read_ranking
from motet.form import ranking_form
from motet.message import Chat, Message
from motet.prompt import next_labels
from motet.route.base import Forecast
from motet.run import Agent, Run

CHOOSE = (
    "Do not answer this; choose who shall. Below are agents, each with a letter and with what is known of it. First "
    "come those whose field is that of the question, then those made for the kind of work it takes; if there is a "
    "generalist, one should be among them. Give your reason in a sentence, then end with one line that begins with "
    '"Ranking:" and lists the letters of the {k} best, the best first.'
)

NEAR = 0.1
"""How much of quality lies between the first and the last of those that were named alike."""


@dataclass(frozen=True)
class ByCards:
    """An agent chooses by the others' cards: by their `about`, under letters, never by their names.

    Who is not chosen comes last, in the order given. Where no agent has a card, or the choice can't be read, that order
    stands, and that is noted. A choice has no qualities: who is chosen is forecast near 1, who is not near 0.5.

    Args:
        agent: who chooses.
        note: what it is told; `{k}` stands for how many are wanted.
    """

    agent: Agent
    note: str = CHOOSE

    async def __call__(self, chat: Chat, agents: Sequence[Agent], run: Run, k: int) -> Sequence[Forecast]:
        cards = [str(getattr(agent, "about", "")).strip() for agent in agents]
        labels = next_labels(chat, len(agents))  # replies have letters already
        named: Sequence[str] | None = ()
        if any(cards):
            known = [f"{name}: {card or 'nothing is known'}" for name, card in zip(labels, cards, strict=True)]
            asked = chat.add(Message("user", "\n".join([self.note.replace("{k}", str(k)), *known])))
            said = await run.all([run.ask(self.agent, asked.held(ranking_form(labels)))], need=0)
            named = read_ranking(said[0].text, labels) if said else None
            if named is None:
                run.note("the choice by cards could not be read; the agents stand in the order given")
        else:
            run.note("no agent has a card (`about`) to be chosen by; they stand in the order given")
        ranked = dict.fromkeys([*(named or ()), *labels])  # who was named comes first
        top = len(named or ())
        qualities = [(1 if place < top else 0.5) - NEAR * place / len(ranked) for place in range(len(ranked))]
        return [Forecast(labels.index(name), quality) for name, quality in zip(ranked, qualities, strict=True)]
