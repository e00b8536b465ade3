"""What is asked: a `Task` is one question with its accepted answers, a `Suite` is a named list of them and how they
are graded.

    >>> task = Task("capital", "Which is the capital of Peru?", ("B",), choices=("Cusco", "Lima"))
    >>> task.answers
    ('B', 'Lima')
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from motet.bench.filters import Filter
from motet.message import Message, digest
from motet.prompt import Example, label


class Attachment(msgspec.Struct, frozen=True):
    """A file that belongs to a question, as text: its name and what is in it."""

    name: str
    text: str


class Task(msgspec.Struct, frozen=True):
    """One question with its accepted answers.

    Args:
        id: unique within its suite.
        input: the question; of a conversation, the words of its last user turn.
        target: the accepted answers, the canonical one first; never empty. Where there are choices, these are letters;
            where code is asked for, the tests that it has to pass.
        topic: what it is about; "" where the suite does not say.
        metadata: whatever else the suite knows about it; `level` is how hard it is, 1 the easiest.
        choices: the options without their letters, in order; () for a free answer.
        messages: the conversation, if it is more than one question; it ends with `input`.
        attachments: files that belong to it.
    """

    id: str
    input: str
    target: tuple[str, ...]
    topic: str = ""
    metadata: Mapping[str, object] = msgspec.field(default_factory=dict)
    choices: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    attachments: tuple[Attachment, ...] = ()

    @property
    def answers(self) -> tuple[str, ...]:
        """The accepted answers, and the texts of the options that are accepted letters."""
        letters = {label(place): text for place, text in enumerate(self.choices)}
        return (*self.target, *(letters[answer] for answer in self.target if answer in letters))


class Suite(msgspec.Struct, frozen=True):
    """Tasks under one name.

    Args:
        name: what reports call it.
        tasks: in the order of the file; never empty when loaded.
        licence: an SPDX identifier; "" where the file does not say.
        source: where the tasks come from.
        instructions: what an agent is told besides the question; "" for nothing.
        scorer: how replies are graded: the word of a scorer, `package.module:name` of one or of a function, or a
            function. A function takes the reply's text and the task, and gives right or wrong, or 0 to 1.
        options: settings of the scorer, such as a tolerance.
        examples: questions with answers, shown before each question.
        filters: what is done to a reply's text before it is graded, in order.
    """

    name: str
    tasks: tuple[Task, ...]
    licence: str = ""
    source: str = ""
    instructions: str = ""
    scorer: str | Callable[[str, Task], float] = "exact"
    options: Mapping[str, object] = msgspec.field(default_factory=dict)
    examples: tuple[Example, ...] = ()
    filters: tuple[Filter, ...] = ()

    @property
    def key(self) -> str:
        """A hash of all that decides how it is asked and graded: another key, other results.

        The name, the licence and the source do not count. A function counts by its name, not by what it does.

        >>> task = Task("1", "2 + 2?", ("4",))
        >>> suite, other = Suite("a", (task,)), Suite("a", (task,), scorer="maths")
        >>> suite.key == Suite("b", (task,)).key, suite.key == other.key
        (True, False)
        """
        scorer = self.scorer
        if not isinstance(scorer, str):
            scorer = f"{getattr(scorer, '__module__', '')}:{getattr(scorer, '__qualname__', type(scorer).__qualname__)}"
        return digest([self.tasks, self.instructions, scorer, self.options, self.examples, self.filters])
