"""The report of a run: what it says, what it shows, and two runs side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from browser import browser, needs_browser

from motet.agent import ModelAgent
from motet.aggregate import Plurality, Synthesize
from motet.backends.scripted import Scripted
from motet.bench.cases import harmed, helped
from motet.bench.compare import compare
from motet.bench.compare import sections as compared
from motet.bench.entrants import copies_of, entrants
from motet.bench.report import browser as items
from motet.bench.report import sections
from motet.bench.results import results
from motet.bench.run import BenchRun, read_run
from motet.bench.runner import run_suite
from motet.bench.task import Suite, Task
from motet.compose.moa import MixtureOfAgents
from motet.compose.vote import Vote
from motet.errors import BackendError, UsageError
from motet.journal import Journal
from motet.message import Chat, Reply, Request
from motet.page.items import Items
from motet.page.page import Rows, Section, Words, page

HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>\u2028\x00"
TASKS = tuple(
    Task(f"t{number}", f"What is {number} + 1? {HOSTILE}", (str(number + 1),), topic=("even", "odd")[number % 2])
    for number in range(24)
)
SUITE = Suite("sums", TASKS, "Apache-2.0", "made here")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Journal]:
    """A journal with two runs, in the second of which `a` is better."""
    with Journal(tmp_path_factory.mktemp("report") / "journal.sqlite") as made:
        for name, share in (("first", 12), ("second", 24)):
            asyncio.run(run_suite(SUITE, given(share), journal=made, name=name, repeat=2, more=copies_of(given(share))))
        yield made


def knows(name: str, share: int, start: int = 0) -> ModelAgent:
    """A model that knows some of the answers, and fails or has nothing to say now and then."""

    def say(request: Request) -> Reply:
        number = int(request.question.split()[2])
        if name == "c" and number == 5:
            raise BackendError("server", f"down {HOSTILE}", retry=False)
        if name == "c" and number == 6:
            return Reply("", finish="abstain")
        return Reply(str(number + 1) if start <= number < start + share else f"{name} knows not {HOSTILE}")

    return ModelAgent(Scripted(say, name=f"{name}{share}"), name)


def given(share: int) -> dict[str, object]:
    """A vote and a mixture of agents of three members."""
    a, b, c = knows("a", share), knows("b", 12, 6), knows("c", 12, 12)
    vote = Vote((a, b, c), aggregate=Plurality({"b": 1.5}), name="vote")
    moa = MixtureOfAgents((a, b, c), Synthesize(b), layers=1, name="moa")
    return entrants({"vote": vote, "moa": moa}, Chat.of("What is 1 + 1?"))  # type: ignore[return-value]


def report(journal: Journal, name: str) -> tuple[BenchRun, list[Section]]:
    """A run and its report."""
    run = read_run(journal, name)
    sheet = run.sheet()
    topics = {task.id: task.topic for task in run.tasks.values()}
    found = results(sheet, run.opening.arms, topics=topics)
    return run, [*sections(run, sheet, found), items(run, sheet, found)]


def test_sections_say_what_was_found(journal: Journal) -> None:
    """Each section is there that a fair reading needs, with the figures of the sheet."""
    run, made = report(journal, "first")
    titles = [section.title for section in made]
    for title in ("Verdict", "How good", "What an answer takes", "For the same budget", "The ceiling",
                  "What hearing one another is worth", "Quality and cost", "By topic", "How this was made",
                  "Where vote helped and harmed", "Every task"):  # fmt: skip
        assert title in titles
    arms = next(block for block in made[1].blocks if isinstance(block, Rows))
    rows = {row[0]: dict(zip(arms.columns, row, strict=False)) for row in arms.rows}
    sheet = run.sheet()
    for arm in sheet.arms:
        assert rows[arm]["right"] == f"{100 * sheet.scores(arm).mean():.1f} %"
    assert rows["oracle"]["right"] == "100.0 %"
    assert any("24 tasks, each 2 times" in block.text for block in made[0].blocks if isinstance(block, Words))


def test_items_hold_every_answer_and_who_heard_whom(journal: Journal) -> None:
    """Each task with each arm's draws; of a mixture who was asked, and what was heard; tags to find tasks by."""
    run, made = report(journal, "first")
    (block,) = made[-1].blocks
    assert isinstance(block, Items)
    assert [item.id for item in block.items] == [task.id for task in TASKS]
    arms = {arm.name for arm in run.opening.arms}
    for item in block.items:
        assert {answer.arm for answer in item.answers} == {f"{arm}, draw {draw}" for arm in arms for draw in (1, 2)}
    moa = next(answer for answer in block.items[8].answers if answer.arm == "moa, draw 1")
    assert [ask.agent for ask in moa.asks] == ["a", "b", "c", "b"]
    assert list(moa.asks[3].heard) == [0, 1, 2]
    tags = {item.id: set(item.tags) for item in block.items}
    assert "failed" in tags["t5"]
    assert "members differ" in tags["t8"]
    sheet = run.sheet()
    best = results(sheet, run.opening.arms).best_member
    assert best is not None
    for item in block.items:
        place = sheet.tasks.index(item.id)
        better = sheet.scores("vote")[place] > sheet.scores(best)[place]
        assert ("vote helped" in item.tags) == bool(better)


def test_cases_are_where_it_helped_and_harmed(journal: Journal) -> None:
    """The tasks on which the mixture is right and the best member is not, and the other way round."""
    sheet = read_run(journal, "first").sheet()
    members = ["a", "b", "c"]
    won = {task for task, one, other in zip(sheet.tasks, sheet.scores("vote"), sheet.scores("a"), strict=True)
           if one > other}  # fmt: skip
    assert set(helped(sheet, "vote", "a", members, 100)) == won
    assert len(helped(sheet, "vote", "a", members, 3)) == min(3, len(won))
    assert not set(harmed(sheet, "vote", "a", members, 100)) & won


def test_two_runs_are_compared_on_what_both_have(journal: Journal) -> None:
    """Paired, an arm each; what differs is said; what can't be compared is refused."""
    first, second = read_run(journal, "first"), read_run(journal, "second")
    found = compare(first, second)
    by_arm = {each.arm: each for each in found.contrasts}
    assert (by_arm["a"].wins, by_arm["a"].losses, by_arm["a"].difference) == (12, 0, pytest.approx(12 / 24))
    assert by_arm["b"].difference == 0
    assert found.tasks == 24
    assert any("made" in each for each in found.differs)
    text = [block.text for section in compared(found) for block in section.blocks if isinstance(block, Words)]
    assert any(each.startswith("Clearly changed: a +50.0") for each in text)
    with pytest.raises(UsageError, match="is one run"):
        compare(first, first)
    other = msgspec.structs.replace(TASKS[0], input="What is 7 + 2?")
    asyncio.run(run_suite(Suite("o", (other,)), {"a": knows("a", 1)}, journal=journal, name="other"))
    with pytest.raises(UsageError, match="another question"):
        compare(first, read_run(journal, "other"))


def test_runs_are_found_by_their_beginning(journal: Journal) -> None:
    """By name, by the beginning of one, or `last`; what is unknown or fits several is refused."""
    assert read_run(journal, "fir").name == "first"
    with pytest.raises(UsageError, match="no run of bench is called 'x'"):
        read_run(journal, "x")
    with Journal(journal.path.parent / "two.sqlite") as two:
        for name in ("ab", "ac"):
            asyncio.run(run_suite(Suite("o", TASKS[:1]), {"a": knows("a", 1)}, journal=two, name=name))
        with pytest.raises(UsageError, match="2 runs begin with 'a'"):
            read_run(two, "a")
        assert read_run(two, "last").name == "ac"


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
async def test_the_page_is_drawn(journal: Journal, tmp_path: Path, width: int, scheme: str) -> None:
    """In Chromium: no complaint, no script of a reply's, nothing beyond the window, and every task listed."""
    path = tmp_path / "page.html"
    path.write_text(page("sums", report(journal, "first")[1]), encoding="utf-8")
    async with browser() as tab:
        await tab.open(path, width, scheme=scheme)
        assert tab.complaints == []
        assert await tab.run("window.hacked") is None
        assert await tab.run("document.documentElement.scrollWidth") <= width
        assert "24" in await tab.run("document.querySelector('main').innerText")
