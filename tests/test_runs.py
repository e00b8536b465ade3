"""Kept runs: written as they happen, found again, let go when there are too many; never at the cost of an answer."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from acting import agent

from motet import Result, Vote, perform, runs
from motet.clock import run_virtual
from motet.errors import MotetError, UsageError
from motet.runs import Keeper, folder, kept, load, summaries
from motet.trace import Event, RunStarted, Trace, line


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs are kept in a folder of the test's own."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def run(run_id: str = "", keeper: Keeper | None = None, said: str = "4\u2028é") -> tuple[Result, Keeper]:
    """Perform a vote and keep it."""
    keeper = keeper or Keeper()
    result = run_virtual(
        perform(Vote([agent("a", said=said)]), "2 + 2?", watchers=[keeper], stream=True, run_id=run_id)
    )
    keeper.close()
    return result, keeper


def test_a_run_is_kept_as_it_was() -> None:
    """What is read is what happened."""
    result, keeper = run()
    assert keeper.path == folder() / f"{result.run_id}.jsonl"
    assert load(result.run_id).events == result.trace.events
    assert load("last").events == load(result.run_id[:-1]).events == load(str(keeper.path)).events
    assert keeper.trouble == ""


def test_it_is_written_while_it_happens() -> None:
    """After each event the file holds all events so far, so that a kill loses nothing that was said."""
    keeper = Keeper()
    seen: list[Event] = []

    def look(event: Event) -> None:
        seen.append(event)
        assert keeper.path is not None
        assert Trace.from_jsonl(keeper.path.read_text(encoding="utf-8")).events == seen

    run_virtual(perform(Vote([agent("a")]), "What?", watchers=[keeper, look]))
    keeper.close()
    assert len(seen) > 5


def test_a_torn_run_is_read_as_far_as_it_goes() -> None:
    """Cut anywhere, also inside a character, the whole events are read."""
    result, keeper = run()
    assert keeper.path is not None
    data = keeper.path.read_bytes()
    for cut in [*range(0, len(data), 5), *range(len(data) - 80, len(data))]:
        keeper.path.write_bytes(data[:cut])
        events = load(result.run_id).events
        assert events == result.trace.events[: len(events)]
        assert data[:cut].count(b"\n") <= len(events) <= data[:cut].count(b"\n") + 1


@pytest.mark.parametrize("garbage", [b"garbage\n", b"\xff\xfe\n", b"{}\n", b"\x00\n"])
def test_a_file_that_is_no_trace_is_named(garbage: bytes) -> None:
    """Garbage is an error with file and line; lists go on past it."""
    result, keeper = run("20260101-000000-aaaaaa")
    assert keeper.path is not None
    keeper.path.write_bytes(line(result.trace.events[0]).encode() + garbage + b"{}\n")
    with pytest.raises(MotetError, match=r"aaaaaa\.jsonl: line 2 of the trace is no event"):
        load("20260101")
    run("20260102-000000-bbbbbb")
    assert [trace is not None for _, trace in summaries(9)] == [True, False]


def test_runs_are_listed_newest_first() -> None:
    """The names begin with the date; only so many are listed."""
    names = [f"2026010{day}-000000-aaaaaa" for day in (2, 1, 3)]
    for name in names:
        run(name)
    assert [path.stem for path in kept()] == sorted(names, reverse=True)
    assert [path.stem for path, _ in summaries(2)] == sorted(names, reverse=True)[:2]
    assert load("last").events == load(max(names)).events


def test_which_run_is_meant() -> None:
    """The beginning of one name is enough; of several it is ambiguous; an exact name wins; none is said to be none."""
    for name in ("2026-a", "2026-ab", "2026-b"):
        run(name)
    assert isinstance(load("2026-b").events[0], RunStarted)
    assert load("2026-a").events[0].run == "2026-a"  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="3 runs begin with '2026': 2026-b, 2026-ab, 2026-a"):
        load("2026")
    with pytest.raises(UsageError, match=r"there is no run '2027' in .*runs: `motet trace list` shows the 3 kept ones"):
        load("2027")
    for path in ("nowhere.jsonl", "no/where", "x\x00.jsonl"):
        with pytest.raises(UsageError, match="there is no trace file"):
            load(path)


def test_nothing_kept_yet() -> None:
    """Without any run there is none, and none is last."""
    assert kept() == []
    assert list(summaries(5)) == []
    with pytest.raises(UsageError, match="there is no run 'last'"):
        load("last")


def test_the_oldest_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond so many the oldest files go; files elsewhere never do."""
    monkeypatch.setattr(runs, "KEPT", 2)
    elsewhere = folder().parent / "mine.jsonl"
    for day in range(1, 5):
        run(f"2026010{day}")
    run(keeper=Keeper(elsewhere))
    assert [path.stem for path in kept()] == ["20260104", "20260103"]
    assert elsewhere.is_file()


def test_a_full_disk_does_not_cost_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing fails in the middle: the answer is given, and what is wrong is said once."""
    keeper = Keeper()
    written = 0

    def full(event: Event) -> str:
        nonlocal written
        written += 1
        if written > 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return line(event)

    monkeypatch.setattr(runs, "line", full)
    result, _ = run(keeper=keeper)
    assert result.text == "4\u2028é"
    assert keeper.trouble == f"the run could not be kept in {keeper.path}: No space left on device"
    assert written == 4
    assert len(load(result.run_id)) == 3


def test_a_folder_that_can_not_be_made_does_not_cost_the_answer(home: Path) -> None:
    """A file stands where the folder should be: the answer is given."""
    home.parent.mkdir(exist_ok=True)
    home.write_text("in the way")
    result, keeper = run()
    assert result.text == "4\u2028é"
    assert "could not be kept" in keeper.trouble
    folder_in_the_way = home.parent / "other"
    folder_in_the_way.mkdir()
    result, keeper = run(keeper=Keeper(folder_in_the_way))
    assert result.text == "4\u2028é"
    assert "Is a directory" in keeper.trouble


def test_closing_twice_and_without_a_run() -> None:
    """A keeper that has written nothing, or is closed already, closes quietly."""
    keeper = Keeper()
    keeper.close()
    keeper.close()
    assert kept() == []
