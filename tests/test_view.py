"""Views: the tree of who was asked, and who heard whom, derived from the trace alone."""

from __future__ import annotations

import re

from acting import agent, down, go
from hypothesis import given
from hypothesis import strategies as st

from motet import Chat, Council, Message, MixtureOfAgents, Plurality, Reply, Run, Synthesize, Vote, perform
from motet.clock import run_virtual
from motet.trace import AskEnded, AskStarted, Trace
from motet.view import SHOWN, dot, edges, mermaid, nodes, shortened, summary, tree

A, B = agent("a", said="4", delay=1), agent("b", said="5", delay=2)


def trace(composition: object) -> Trace:
    """The trace of a run, written and read."""
    result = run_virtual(perform(composition, "2 + 2?"))  # type: ignore[arg-type]
    return Trace.from_jsonl(result.trace.to_jsonl())


def test_the_tree() -> None:
    """Everybody who was asked, under whom it was asked by, with state, time and words."""
    inner = Vote([A, agent("mute", said=Reply("", finish="abstain"))], name="inner")
    assert tree(trace(Vote([inner, B, agent("x", said=down())]))) == "\n".join(
        [
            "vote  ok  2.00s  4",
            "├── inner  ok  1.00s  4",
            "│   ├── a  ok  1.00s  4",
            "│   └── mute  abstained  0.00s",
            "├── b  ok  2.00s  5",
            "└── x  failed  0.00s  server: down",
        ]
    )


def test_parts_and_hedges_have_their_place() -> None:
    """What was asked in a part stands under whoever has the part; a hedge beside whom it hedges."""

    async def do(chat: Chat, run: Run) -> Reply:
        async def work(part: Run) -> Reply:
            return await part.ask(A, chat)

        await run.parts([work])
        return await run.ask(agent("slow", delay=9), chat, hedge=B, after=1)

    shown = tree(go(do).trace)
    assert [line.split("  ")[0] for line in shown.splitlines()] == ["doing", "├── a", "├── slow", "└── b"]


def test_who_heard_whom() -> None:
    """Edges lead from a reply to those made from it: heard in a prompt, counted, or chosen."""
    found = {(one.path, other.path) for one, other in edges(trace(MixtureOfAgents([A, B], Synthesize(A), layers=2)))}
    assert found == {
        ("/moa/a", "/moa/a#1"), ("/moa/b", "/moa/a#1"), ("/moa/a", "/moa/b#1"), ("/moa/b", "/moa/b#1"),
        ("/moa/a#1", "/moa/a#2"), ("/moa/b#1", "/moa/a#2"), ("/moa/a#2", "/moa"),
    }  # fmt: skip
    voted = {(one.path, other.path) for one, other in edges(trace(Vote([A, B])))}
    assert voted == {("/vote/a", "/vote"), ("/vote/b", "/vote")}


def test_a_run_under_way() -> None:
    """Who has not ended yet is thinking; an end without a beginning does not break the view."""
    started = Trace([AskStarted(path="/vote", agent="vote"), AskStarted(path="/vote/a", agent="a")])
    assert tree(started) == "vote  thinking  0.00s\n└── a  thinking  0.00s"
    orphan = Trace([AskEnded(path="/vote/a", agent="a", reply=Reply("4", id="r"))])
    assert [node.text for node in nodes(orphan)] == ["4"]
    assert tree(Trace()) == mermaid(Trace()).partition("\n")[2] == ""


def test_mermaid_and_dot() -> None:
    """Both show every ask once and every edge."""
    of = trace(Council([A, B]))
    for text, arrow in ((mermaid(of), "-->"), (dot(of), "->")):
        assert len(re.findall(r"^    n\d+ ?\[", text, re.MULTILINE)) == len(nodes(of)) == 6
        assert len(re.findall(rf"^    n\d+ {arrow} n\d+;?$", text, re.MULTILINE)) == len(edges(of))
    assert mermaid(of).startswith("flowchart LR\n")
    assert dot(of).startswith("digraph motet {\n")
    assert dot(of).endswith("}\n")


@given(st.text(), st.text(min_size=1))
def test_no_text_breaks_a_view(said: str, name: str) -> None:
    """Whatever agents are called and say: a line each, closed strings, nothing that moves a terminal's cursor."""
    of = Trace([AskStarted(path="/x", agent=name), AskEnded(path="/x", agent=name, reply=Reply(said, id="r"))])
    assert len(tree(of).splitlines()) <= 1
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", tree(of))
    assert len(mermaid(of).splitlines()) == 2
    assert len(re.findall(r'(?<!\\)(?:\\\\)*"', dot(of))) == 2
    assert mermaid(of).count('"') == 2


def test_shortened() -> None:
    """A text is shown on one line, cut where it is too long, without what a terminal would obey."""
    assert shortened(" a\n b\tc ") == "a b c"
    assert shortened("x" * 61) == "x" * 59 + "…"
    assert shortened("x" * 60) == "x" * 60
    assert shortened("\x1b[31mred\x07") == "\ufffd[31mred\ufffd"
    assert len(shortened("a " * 10**6)) == SHOWN
    assert shortened("") == ""


def test_the_summary() -> None:
    """A run in a few values, also of one that has not ended."""
    whole = trace(Vote([A, B], Plurality()))
    found = summary(whole)
    assert {name: found[name] for name in ("agent", "question", "outcome", "calls", "answer", "seconds")} == {
        "agent": "vote",
        "question": "2 + 2?",
        "outcome": "full",
        "calls": 2,
        "answer": "4",
        "seconds": 2,
    }
    assert "answer" not in summary(Trace(whole.events[:-1]))
    assert summary(Trace()) == {}
    failed = trace(Vote([agent("x", said=down())]))
    assert (summary(failed)["answer"], summary(failed)["outcome"]) == (None, "failed")


def test_a_question_of_many_turns() -> None:
    """The summary shows the last question."""
    chat = [Message("user", "first"), Message("assistant", "x"), Message("user", "second")]
    assert summary(run_virtual(perform(A, chat)).trace)["question"] == "second"
