"""The placebo of a mixture: its agents hear as much as ever, and learn nothing.

Whatever a single agent would hear of the others is replaced by filler of as many tokens. The agents, the calls and the
length of every prompt stay what they are, so what a mixture has beyond its placebo comes from the words that were
heard, not from more calls or longer prompts. (A control arm of this kind is common practice in medicine; the wording
of the filler is motet's own.)

>>> from motet import ModelAgent, Scripted
>>> from motet.message import Reply, hear
>>> agent, heard = ModelAgent(Scripted(""), "a"), hear(Chat.of("2 + 2?"), [Reply("I add them up: 4", id="r1")])
>>> [message.text for message in placebo(agent, heard).messages]
['2 + 2?', 'A reply was given']
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import Final

import msgspec

from motet.agent import ModelAgent
from motet.message import Chat, Message
from motet.run import Agent

WORDS: Final = "A reply was given here, and what it said has been left out of this copy.".split()
"""A sentence that says nothing of any question, and over again: models read it as text, which a row of dots is not."""


def placebo(agent: Agent, chat: Chat) -> Chat:
    """What an agent is told in place of a chat.

    Args:
        agent: who is told; a composition is told what there is, since its own agents are asked in turn.
        chat: what was said and heard.

    Returns:
        The chat, with filler for every text heard from others. What the agent said itself stays.
    """
    if not isinstance(agent, ModelAgent) or not chat.heard:
        return chat
    return Chat(tuple(_filled(message, agent) for message in chat.messages), chat.form)


def _filled(message: Message, agent: ModelAgent) -> Message:
    if not message.source or message.role != "user":
        return message
    return msgspec.structs.replace(message, text=filler(agent.backend.count(message.text), agent))


def filler(tokens: int, agent: ModelAgent) -> str:
    """Words that say nothing, about `tokens` long as the agent's model counts them; a word at least."""
    count = agent.backend.count
    each = max(1, count(" ".join(WORDS))) / len(WORDS)
    words = max(1, round(tokens / each))
    text = " ".join(islice(cycle(WORDS), words))
    off = tokens - count(text)  # a sentence in the middle of its repetition may count a little otherwise
    return " ".join(islice(cycle(WORDS), max(1, words + round(off / each))))
