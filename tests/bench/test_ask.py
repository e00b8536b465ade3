"""How a task is asked: nothing is lost, and the question stays apart from what is around it."""

from __future__ import annotations

from motet.bench.ask import chat_of
from motet.bench.filters import Filter
from motet.bench.task import Attachment, Suite, Task
from motet.message import Message
from motet.prompt import Example


def test_everything_has_its_place() -> None:
    """Instructions are the system's, examples are turns, options and attachments stand under the question."""
    task = Task("1", "Which?", ("A",), choices=("x", "y"), attachments=(Attachment("f.md", "say ```hi```"),))
    suite = Suite("s", (task,), instructions="Only the letter.", examples=(Example("E?", "B"),))
    messages = chat_of(task, suite).messages
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert [message.text for message in messages[:3]] == ["Only the letter.", "E?", "B"]
    assert messages[3].text == "Which?\n\nA) x\nB) y\n\nf.md:\n````\nsay ```hi```\n````"


def test_the_key_of_a_suite() -> None:
    """Whatever changes what is asked or how it is graded changes the key; names and sources do not."""
    task = Task("1", "Which?", ("A",), metadata={"a": 1, "b": [2]})
    plain = Suite("s", (task,))
    assert plain.key == Suite("t", (task,), "MIT", "elsewhere").key
    others = [
        Suite("s", (task, Task("2", "Who?", ("B",)))),
        Suite("s", (Task("1", "Which?", ("B",), metadata=task.metadata),)),
        Suite("s", (task,), instructions="Now."),
        Suite("s", (task,), scorer="choice"),
        Suite("s", (task,), scorer=lambda text, task: 1.0),
        Suite("s", (task,), options={"tolerance": 1}),
        Suite("s", (task,), examples=(Example("E?", "B"),)),
        Suite("s", (task,), filters=(Filter("strip"),)),
    ]
    assert len({each.key for each in (plain, *others)}) == 9


def test_a_bare_question_stays_bare() -> None:
    """Without a suite a task is its question, as it is."""
    assert chat_of(Task("1", "2 + 2?", ("4",))).messages == (Message("user", "2 + 2?"),)


def test_a_conversation_keeps_its_turns() -> None:
    """The options go to the user's last turn, also when the assistant has begun to answer; system words are joined."""
    turns = (Message("system", "S"), Message("user", "U"), Message("assistant", "A"), Message("user", "Q"))
    task = Task("1", "Q", ("A",), choices=("x", "y"), messages=(*turns, Message("assistant", "Well,")))
    chat = chat_of(task, Suite("s", (task,), instructions="I"))
    assert [message.text for message in chat.messages] == ["I\n\nS", "U", "A", "Q\n\nA) x\nB) y", "Well,"]
    assert chat.question == "Q\n\nA) x\nB) y"
