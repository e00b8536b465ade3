"""The live view: what it draws of a run, and that it always fits."""

from __future__ import annotations

import asyncio
import io

import pytest
from rich.console import Console

from motet import Debate, ModelAgent, Scripted, perform
from motet.cli.live import View
from motet.errors import BackendError, Failure
from motet.message import Chat, Reply, Usage
from motet.trace import AskEnded, AskFailed, AskStarted, CallFailed, Event, Hedged, RunStarted, Streamed


def drawn(view: View, *, height: int = 25, width: int = 100, encoding: str = "utf-8") -> str:
    """What a terminal of that size shows."""
    written = io.BytesIO()
    file = io.TextIOWrapper(written, encoding=encoding)
    Console(file=file, width=width, height=height, color_system=None).print(view)
    file.flush()
    return written.getvalue().decode(encoding)


def fed(*events: Event) -> View:
    """A view that was told these."""
    view = View()
    for event in (RunStarted(path="", run="r", agent="a", chat=Chat.of("q")), *events):
        view(event)
    return view


def test_a_whole_run() -> None:
    """Rounds, whom each heard (not itself), who failed, and the sum."""
    view = View()
    agents = [ModelAgent(Scripted(said, name=said), f"agent-{said}") for said in ("4", "5")]
    down = ModelAgent(Scripted([BackendError("connect", "no way")], name="x"), "down")
    asyncio.run(perform(Debate([*agents, down]), "2 + 2?", watchers=[view]))
    lines = drawn(view).splitlines()
    assert lines[0].startswith("✓ debate  0.0 s")
    assert lines[1] == "  ✓ agent-4  0.0 s  4"
    assert lines[3] == "  ✗ down  0.0 s  connect: no way"
    assert lines[4] == "  ✓ agent-4  0.0 s  ← agent-5  4"
    assert lines[6].startswith("5 calls · ")


def test_what_goes_on() -> None:
    """Whoever has not answered thinks; a hedge, an abstention and the answer as it is written are shown."""
    view = fed(
        AskStarted(path="/a", agent="a"),
        AskStarted(path="/a/b", agent="b"),
        AskStarted(path="/a/c", agent="c"),
        Hedged(path="/a/b", agent="b", other="d"),
        AskEnded(path="/a/c", agent="c", reply=Reply("", finish="abstain"), leaf=True, at=1.25),
        CallFailed(path="/a/b", agent="b", key="k", kind="late", text="", usage=Usage(calls=1, input=1200, usd=0.5)),
        Streamed(path="/a", agent="a", text="The answer\n"),
        Streamed(path="/a", agent="a", text="is"),
    )
    out = drawn(view)
    assert "b  0.0 s  late: d was asked as well" in out
    assert "– c  1.2 s  abstained" in out
    assert "\nThe answer is\n" in out
    assert "1 call · 1,200 tokens · $0.5000 · " in out


@pytest.mark.parametrize("height", [5, 10, 24])
def test_it_fits(height: int) -> None:
    """Of hundreds of asks as many are shown as fit, those who think before those who have answered."""
    events: list[Event] = [AskStarted(path=f"/a/{n}", agent=f"agent-{n}") for n in range(300)]
    events += [
        AskFailed(path=f"/a/{n}", failure=Failure(f"agent-{n}", "server", "x" * 500)) for n in range(300) if n != 77
    ]
    lines = drawn(fed(*events), height=height, width=60).splitlines()
    assert len(lines) <= height
    assert all(len(line) <= 60 for line in lines)
    assert any("agent-77 " in line for line in lines)
    assert any("more" in line for line in lines)


def test_without_unicode() -> None:
    """A terminal without Unicode gets letters instead of signs."""
    ended = AskEnded(path="/a", agent="a", reply=Reply("naïve"), leaf=True)
    out = drawn(fed(AskStarted(path="/a", agent="a"), ended), encoding="ascii")
    assert out.splitlines()[0] == "+ a  0.0 s  na?ve"
