"""Baselines: copies at an equal budget, placebos, members, bounds; each against what is counted by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from motet.agent import ModelAgent
from motet.aggregate import Best, Plurality, Synthesize
from motet.backends.function import Function
from motet.backends.scripted import Scripted
from motet.bench.baselines import MOST_DRAWS, PLAIN_VOTE, matches
from motet.bench.cell import Cell
from motet.bench.contrast import contrast
from motet.bench.entrants import copies_of, entrants, leaves
from motet.bench.placebo import WORDS, filler
from motet.bench.results import results
from motet.bench.run import Arm, read_run
from motet.bench.runner import run_suite
from motet.bench.sheet import Sheet
from motet.bench.suite import load_suite
from motet.compose.debate import Debate
from motet.compose.moa import MixtureOfAgents
from motet.compose.vote import Vote
from motet.journal import Journal
from motet.message import Chat, Reply, Request, Sampling, Usage
from motet.run import Agent, Run
from motet.score import Judge

SUITE = load_suite("arithmetic", n=20)
RIGHT = {task.input: task.target[0] for task in SUITE.tasks}
SAMPLE = Chat.of("2 + 2?")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """A journal of its own."""
    with Journal(tmp_path / "journal.sqlite") as made:
        yield made


def sometimes(name: str, share: float, **options: object) -> ModelAgent:
    """A model whose draws are right with some probability, each by its own seed."""

    def say(request: Request) -> str:
        lucky = request.sample_seed % 1000 < 1000 * share
        return RIGHT[request.question] if lucky else str(request.sample_seed)

    return ModelAgent(Scripted(say, name=name), name, **options)  # type: ignore[arg-type]


def parts(named: dict[str, Agent], **options: bool) -> dict[str, str]:
    """Who answers, and what for."""
    return {name: each.part for name, each in entrants(named, SAMPLE, **options).items()}


def test_who_answers() -> None:
    """Members of all mixtures, nested ones too, each once; the plain vote unless it is there; placebos of listeners."""
    a, b, c = (sometimes(name, 0.5) for name in "abc")
    weighed = Vote((a, b), aggregate=Plurality({"a": 2}), name="weighed")
    moa = MixtureOfAgents((Vote((b, c), name="inner"), a), Synthesize(a), name="moa")
    expected = {"a": "member", "b": "member", "c": "member", "weighed": "mixture", "moa": "mixture"}
    assert parts({"weighed": weighed, "moa": moa}) == {
        **expected,
        PLAIN_VOTE: "vote",
        "moa, placebo": "placebo",
    }
    assert parts({"weighed": weighed, "moa": moa}, baselines=False) == expected
    assert parts({"weighed": weighed}, members=False) == {"weighed": "mixture"}
    assert parts({"a": a, "v": Vote((a, b), name="v")}) == {"a": "member", "b": "member", "v": "mixture"}
    assert [leaf.name for leaf in leaves(moa)] == ["b", "c", "a"]


def test_copies_are_worth_what_a_mixture_takes() -> None:
    """Draws of the best member that can vary, for each mixture by calls, tokens and dollars, rounded; capped at 40."""
    use = {"a": Usage(1, 10, output=10, usd=0.01), "b": Usage(1, 100, output=100, usd=0.02)}
    use |= {"v": Usage(5, 110, output=100, usd=0.05), "w": Usage(90, 20)}
    cells = [
        Cell(str(task), arm, 0, float(task < right), "full", alone=use[arm])
        for arm, right in (("a", 3), ("b", 2), ("v", 4), ("w", 1))
        for task in range(5)
    ]
    sheet = Sheet.of(cells)
    assert [(each.mixture, each.by, each.draws, each.capped) for each in matches(sheet, ["v", "w"], "a")] == [
        ("v", "calls", 5, False),
        ("v", "tokens", 11, False),
        ("v", "usd", 5, False),
        ("w", "calls", MOST_DRAWS, True),
        ("w", "tokens", 1, False),
    ]
    given = entrants({"v": Vote((sometimes("a", 0.5), sometimes("b", 0.5)), name="v")}, SAMPLE)
    assert list(copies_of(given)(sheet)) == ["a x5", "a x11"]
    greedy = Vote((sometimes("a", 0.5, sampling=Sampling(temperature=0)), sometimes("b", 0.5)), name="v")
    assert list(copies_of(entrants({"v": greedy}, SAMPLE))(sheet)) == ["b x2", "b x3", "b x5"]
    sums = Vote((ModelAgent(Function(lambda text: "4", "a"), "a"), sometimes("b", 0.5)), name="v")
    assert {each.of for each in copies_of(entrants({"v": sums}, SAMPLE))(sheet).values()} == {"b"}


def test_self_consistency_is_run_compared_and_shared(journal: Journal) -> None:
    """Copies come when members have answered, share their draws, and gain what a vote of draws gains; again, nobody is
    asked.
    """
    a, b = sometimes("a", 0.6), sometimes("b", 0.1)
    given = entrants({"v": Vote((a, b, sometimes("c", 0.1)), name="v")}, SAMPLE)

    def go() -> Sheet:
        return asyncio.run(run_suite(SUITE, given, journal=journal, name="r", more=copies_of(given)))

    sheet = go()
    asked = len(a.backend.requests)  # type: ignore[attr-defined]
    assert sheet.arms[-2:] == ("a x3", "a x4")  # as many calls, and the fewest that take as many tokens
    assert asked == 20 * 4
    found = results(sheet, read_run(journal, "r").opening.arms)
    (equal,) = [each for each in found.equal_budget if each.by == "calls"]
    by_hand = contrast("v", sheet.scores("v"), "a x3", sheet.scores("a x3"))
    assert by_hand is not None
    assert (equal.mixture, equal.copies, equal.versus.wins, equal.versus.losses) == (
        "v",
        "a x3",
        by_hand.wins,
        by_hand.losses,
    )
    assert sheet.scores("a x3").mean() >= sheet.scores("v").mean()
    assert go().scores("a x3").tolist() == sheet.scores("a x3").tolist()
    assert len(a.backend.requests) == asked  # type: ignore[attr-defined]
    assert len(read_run(journal, "r").openings) == 2


def test_a_placebo_hears_filler_of_the_same_length(journal: Journal) -> None:
    """Listeners get as many tokens and none of the words; who hears nobody is asked the same, so panels are shared."""

    def listen(request: Request) -> str:
        text = request.text
        return RIGHT[request.question] if RIGHT[request.question] in text.replace(request.question, "") else "no idea"

    knows = ModelAgent(Scripted(lambda request: f"I say it is {RIGHT[request.question]}", name="knows"), "knows")
    copier = ModelAgent(Scripted(listen, name="copier"), "copier")
    moa = MixtureOfAgents((knows, copier), Synthesize(copier), layers=1, name="moa")
    given = entrants({"moa": moa}, SAMPLE)
    sheet = asyncio.run(run_suite(SUITE, given, journal=journal, name="r"))
    assert sheet.scores("moa").mean() == 1
    assert sheet.scores("moa, placebo").mean() == 0
    found = results(sheet, read_run(journal, "r").opening.arms)
    (worth,) = found.placebos
    assert (worth.arm, worth.other, worth.difference, worth.wins) == ("moa", "moa, placebo", 1.0, 20)
    requests: list[Request] = copier.backend.requests  # type: ignore[attr-defined]
    assert len(requests) == 20 * 3  # alone once for all arms, then as a writer with words and with filler
    heard = [request.text for request in requests if "<reply" in request.text]
    real, filled = [text for text in heard if "I say" in text], [text for text in heard if " ".join(WORDS[:2]) in text]
    assert len(real) == len(filled) == 20
    assert not any(RIGHT[task.input] in text.replace(task.input, "") for task in SUITE.tasks for text in filled
                   if task.input in text and len(RIGHT[task.input]) > 2)  # fmt: skip
    count = copier.backend.count
    assert all(abs(count(one) - count(other)) <= 4 for one, other in zip(sorted(real), sorted(filled), strict=True))


def test_a_debate_has_a_placebo_and_a_vote_has_none() -> None:
    """Whether agents hear one another is seen in what the mixture does, not declared."""
    a, b = sometimes("a", 0.5), sometimes("b", 0.5)
    assert "d, placebo" in parts({"d": Debate((a, b), name="d")})
    assert "v, placebo" not in parts({"v": Vote((a, b), name="v")})


@pytest.mark.parametrize("tokens", [0, 1, 7, 50, 333])
def test_filler_is_as_long_as_asked(tokens: int) -> None:
    """Within a word of the length asked for, and at least a word."""
    agent = sometimes("a", 0.5)
    text = filler(tokens, agent)
    assert text
    assert abs(agent.backend.count(text) - tokens) <= 2


def test_bounds_and_groups() -> None:
    """The random member's and the oracle's shares, and the groups by difficulty and topic, counted by hand."""
    right = {"a": "110010", "b": "101000", "v": "111010"}
    use = Usage(1, 4, output=2, usd=0.5)
    cells = [
        Cell(f"t{place}", arm, 0, float(each), "full", alone=use)
        for arm, marks in right.items()
        for place, each in enumerate(marks)
    ]
    given = entrants({"v": Vote((sometimes("a", 0.5), sometimes("b", 0.5)), name="v")}, SAMPLE)
    arms = [Arm(name, each.part, "") for name, each in given.items()]
    topics = {f"t{place}": "even" if place % 2 == 0 else "odd" for place in range(6)}
    found = results(Sheet.of(cells), arms, topics=topics)
    assert found.random_member is not None
    assert found.oracle is not None
    assert found.random_member.right == pytest.approx(5 / 12)
    assert (found.random_member.calls, found.random_member.tokens, found.random_member.usd) == (1, 6, 0.5)
    assert found.oracle.right == pytest.approx(4 / 6)
    assert (found.oracle.calls, found.oracle.usd) == (2, 1.0)
    assert [(group.name, group.tasks, group.right["v"]) for group in found.difficulty] == [
        ("no member right", 2, 0.0),
        ("up to half of them", 3, 1.0),
        ("every member right", 1, 1.0),
    ]
    assert [(group.name, group.tasks, group.right["a"]) for group in found.topics] == [
        ("even", 3, pytest.approx(2 / 3)),
        ("odd", 3, pytest.approx(1 / 3)),
    ]


def test_all_right_is_pass_hat_k() -> None:
    """The share of tasks that are right in every draw."""
    cells = [Cell(str(task), "a", draw, float(task + draw < 4), "full") for task in range(5) for draw in range(3)]
    (line,) = results(Sheet.of(cells), [Arm("a", "member", "")]).lines
    assert (line.tasks, line.right, line.all_right) == (5, pytest.approx(9 / 15), pytest.approx(2 / 5))


def test_a_mixture_that_takes_no_placeholders() -> None:
    """Without baselines it is benched, all that it is made of beside it; with them it is said why it can't be."""

    @dataclass(frozen=True)
    class Adds:
        agents: tuple[ModelAgent, ...]
        name: str = "adds"

        async def __call__(self, chat: Chat, run: Run) -> Reply:
            said = await run.all(run.ask(each, chat) for each in self.agents)
            return Reply(str(sum(int(reply.text) for reply in said)))

    adds = Adds((sometimes("a", 0.5), sometimes("b", 0.5)))
    assert list(entrants({"adds": adds}, SAMPLE, baselines=False)) == ["a", "b", "adds"]
    with pytest.raises(ValueError, match="placeholder"):
        entrants({"adds": adds}, SAMPLE)


def test_judges_are_no_members() -> None:
    """Who is asked about the replies only, and never the question, neither answers alone nor votes."""
    a, b, judge = sometimes("a", 0.5), sometimes("b", 0.5), sometimes("judge", 0.5)
    given = entrants({"picks": Vote((a, b), aggregate=Best(Judge(judge)), name="picks")}, SAMPLE)
    assert [name for name, each in given.items() if each.part == "member"] == ["a", "b"]
    assert [each.name for each in leaves(given["plain vote"].agent)] == ["a", "b"]
    both = entrants({"picks": Vote((a, judge), aggregate=Best(Judge(judge)), name="picks")}, SAMPLE)
    assert [name for name, each in both.items() if each.part == "member"] == ["a", "judge"]


def test_placebos_can_be_left_out_alone() -> None:
    """The plain vote stays."""
    a, b = sometimes("a", 0.5), sometimes("b", 0.5)
    moa = {"moa": MixtureOfAgents((a, b), Synthesize(a), name="moa")}
    assert list(entrants(moa, SAMPLE)) == ["a", "b", "moa", "plain vote", "moa, placebo"]
    assert list(entrants(moa, SAMPLE, placebos=False)) == ["a", "b", "moa", "plain vote"]
