r"""How a task is asked: the one function that makes a chat of it.

>>> from motet.bench.task import Suite, Task
>>> task = Task("1", "Which is the capital of Peru?", ("B",), choices=("Cusco", "Lima"))
>>> chat = chat_of(task, Suite("s", (task,), instructions="Give only the letter."))
>>> print(chat.question)
Which is the capital of Peru?
<BLANKLINE>
A) Cusco
B) Lima
>>> [(message.role, message.text) for message in chat.messages][0]
('system', 'Give only the letter.')
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from motet.bench.task import Attachment, Suite, Task
from motet.message import Chat, Message
from motet.prompt import label


def chat_of(task: Task, suite: Suite | None = None) -> Chat:
    """A task as an agent is asked it.

    Instructions are the system's words; then come the suite's examples as turns; then the question in a turn of its
    own, with its options as "A) …" lines and its attachments as fenced text below. So `chat.question`, which
    tools and answer extraction go by, is the question and what belongs to it, and nothing else.

    Args:
        task: what is asked.
        suite: whose instructions and examples go before it; None for the bare question.
    """
    return Chat(tuple(_messages(task, suite)))


def options_of(choices: tuple[str, ...]) -> str:
    r"""Options as lettered lines.

    >>> options_of(("red", "green"))
    'A) red\nB) green'
    """
    return "\n".join(f"{label(place)}) {text}" for place, text in enumerate(choices))


def _messages(task: Task, suite: Suite | None) -> Iterator[Message]:
    said = task.messages or (Message("user", task.input),)
    told = [suite.instructions] if suite is not None and suite.instructions else []
    told += [message.text for message in said if message.role == "system"]
    if told:
        yield Message("system", "\n\n".join(told))
    for example in suite.examples if suite is not None else ():
        yield Message("user", example.question)
        yield Message("assistant", example.answer)
    turns = [message for message in said if message.role != "system"]
    asked = max(place for place, message in enumerate(turns) if message.role == "user")
    for place, message in enumerate(turns):
        yield msgspec.structs.replace(message, text=_question(message.text, task)) if place == asked else message


def _question(words: str, task: Task) -> str:
    blocks = [words, options_of(task.choices), *map(_attached, task.attachments)]
    return "\n\n".join(block for block in blocks if block)


def _attached(attachment: Attachment) -> str:
    runs = [len(run) for run in re.findall(r"`{3,}", attachment.text)]
    fence = "`" * max([3, *(run + 1 for run in runs)])  # longer than any inside, so that the text can't end it
    return f"{attachment.name}:\n{fence}\n{attachment.text}\n{fence}"
