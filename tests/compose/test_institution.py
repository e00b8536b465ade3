"""Institutions: who proposes, reviews, executes and corrects in each, and which is best for agents of which skill."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args, get_type_hints

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import ModelAgent, Reply, Scripted, perform
from motet.backend import deltas
from motet.backends.simulated import Simulated, World
from motet.backends.wrapper import Wrapper
from motet.compose.institution import INSTITUTIONS, Institution, Office
from motet.errors import TooFewReplies, UsageError
from motet.message import Delta, Message, Request

NAMES = "abcdefg"


def official(name: str, verdict: str = "clean", answer: str = "") -> ModelAgent:
    """An agent that says its name or the answer, and that verdict on whatever it reviews."""

    def said(request: Request) -> str:
        return f"So I find. Verdict: {verdict}" if "needs your consent" in request.text else answer or name

    return ModelAgent(Scripted(said, name=f"m-{name}"), name)


def society(**verdicts: str) -> list[ModelAgent]:
    """Seven agents, each with its verdict; consent if it is not told."""
    return [official(name, verdicts.get(name, "clean")) for name in NAMES]


def acts(result: object) -> list[str]:
    """Who was asked for what, in order: a review is marked, and so is what was heard."""
    return [
        call.agent + ("?" if "needs your consent" in call.request.text else "") + "".join(sorted(heard(call)))
        for call in calls(result)  # type: ignore[arg-type]
    ]


# ---- the seven


def test_there_are_seven() -> None:
    """The field names the seven institutions of the data, each of which begins with a draft."""
    assert set(get_args(get_type_hints(Institution)["institution"])) == set(INSTITUTIONS)
    assert len(INSTITUTIONS) == 7
    assert all(offices[0].does == "draft" and len(offices) > 1 for offices in INSTITUTIONS.values())


@pytest.mark.parametrize(
    ("name", "done", "answer"),
    [
        ("egypt", ["a", "ba"], "b"),
        ("qin_han", ["a", "ba", "cb", "dc"], "d"),
        ("mongol", ["a", "ba", "cb", "dc", "ed", "fe"], "f"),
        ("edo", ["a", "ba", "ca", "da", "ea", "f?b"], "b"),
        ("tang", ["a", "b?a", "ca", "dc", "ec", "fc", "gc", "ac", "bc", "c?d"], "d"),
        ("us_federal", ["a", "b?a", "c?a", "d?a", "e?a", "fa", "g?f"], "f"),
        ("athens", ["a", *(f"{each}?a" for each in "bcdefga"), "ca", "d?c"], "c"),
    ],
)
def test_what_each_does(name: str, done: Sequence[str], answer: str) -> None:
    """Where all consent: who is asked for what and hears whom, office by office, and whose answer it is."""
    result = ask(Institution(society(), name))  # type: ignore[arg-type]
    assert (acts(result), result.text, result.warnings) == (list(done), answer, [])


def test_shapes() -> None:
    """The most it can take: with 7 agents and 3 drafts."""
    found = {name: shape(Institution(society(), name)) for name in INSTITUTIONS}  # type: ignore[arg-type]
    assert found == {
        "egypt": (2, 2),
        "qin_han": (4, 4),
        "mongol": (6, 6),
        "edo": (7, 4),
        "tang": (3 * 2 + 1 + 6 + 2, 10),
        "us_federal": (3 * (1 + 4 + 7) + 3, 3 * (1 + 4 + 1) + 3),
        "athens": (3 * 8 + 3, 9),
    }


# ---- review


def test_a_draft_is_sent_back_with_the_objection() -> None:
    """Tang: the next agent drafts anew and hears why; its draft is reviewed by another and goes on."""
    result = ask(Institution(society(b="reject"), "tang"))
    assert acts(result)[:4] == ["a", "b?a", "bSo I find. Verdict: reject", "c?b"]
    assert not result.warnings


def test_another_bill_hears_no_objection() -> None:
    """The United States: a bill that falls in committee is followed by another, made without the first."""
    result = ask(Institution(society(b="reject"), "us_federal"))
    assert acts(result)[:4] == ["a", "b?a", "b", "c?b"]


def test_the_last_draft_stands() -> None:
    """After as many drafts as there may be, the last one is carried out, and that is noted."""
    result = ask(Institution(society(**dict.fromkeys(NAMES, "reject")), "tang", attempts=2))
    assert sum(act[1:2] == "?" for act in acts(result)) == 3  # two drafts, and what was carried out
    assert any("2 is the most there may be" in text for text in result.warnings)


def test_two_thirds_override_a_veto() -> None:
    """The president (the fourth gate) alone is overruled by all agents' votes; with three of seven against, not."""
    passed = ask(Institution(society(e="reject"), "us_federal"))
    assert "institution: a rejection was overridden" in passed.warnings
    assert passed.text == "f"
    failed = ask(Institution(society(e="reject", f="reject", g="reject"), "us_federal", attempts=1))
    assert not any("overridden" in text for text in failed.warnings)


def test_silence_overrides_nothing() -> None:
    """Of seven, six say nothing that can be read: a veto stands, and that they count as no consent is noted."""
    result = ask(Institution(society(e="reject", **dict.fromkeys("abcdfg", "well")), "us_federal", attempts=1))
    assert any("counts as no consent" in text for text in result.warnings)
    assert not any("overridden" in text for text in result.warnings)


@pytest.mark.parametrize(("against", "passes"), [("bcd", True), ("bcde", False)])
def test_an_assembly_decides_by_majority(against: str, passes: bool) -> None:
    """Athens: three of seven against do not stop a draft, four do."""
    result = ask(Institution(society(**dict.fromkeys(against, "reject")), "athens", attempts=1))
    assert any("stands though it was rejected" in text for text in result.warnings) != passes


def test_a_court_only_where_it_is_disputed() -> None:
    """Athens: an execution that gives the answer that was decided is reviewed by nobody."""
    result = ask(Institution([official(name, answer="It is 4.") for name in NAMES], "athens"), "2 + 2?")
    assert acts(result)[-1] == "cIt is 4."


def test_what_a_court_finds_wrong_is_carried_out_again() -> None:
    """The United States: after the court's objection another executes, who hears what was decided, and why."""
    result = ask(Institution(society(g="reject"), "us_federal"))
    assert acts(result)[-2:] == ["g?f", "aSo I find. Verdict: rejecta"]
    assert result.text == "a"


@pytest.mark.parametrize("said", ["I reject nothing, or all.", "Verdict: maybe", "Verdict: reject, clean"])
def test_nonsense_stops_nothing(said: str) -> None:
    """A verdict that can't be read is no objection, and that is noted."""
    judge = agent("b", said=lambda request: said if "needs your consent" in request.text else "b")
    society_ = [official("a"), judge, *(official(name) for name in "cdefg")]
    result = ask(Institution(society_, "tang"))
    assert acts(result)[:3] == ["a", "b?a", "ca"]
    assert any("no objection" in text for text in result.warnings)


# ---- vacancies, bad input


def test_a_vacancy_is_filled_by_the_next() -> None:
    """A dead proposer's place is taken by the next agent; with all dead there is no answer, and the error names all."""
    alive = [agent("a", said=down()), *society()[1:]]
    assert acts(ask(Institution(alive, "egypt"))) == ["a", "b", "bb"]
    dead = [agent(name, said=down()) for name in "abc"]
    error = ask(Institution(dead, "egypt")).error
    assert isinstance(error, TooFewReplies)
    assert all(name in str(error) for name in "abc")


def test_nobody_reviews_or_mends_its_own() -> None:
    """Where the next drafts or executes for a dead one, another reviews it; where all reject, another mends."""
    society_ = [agent("a", said=down()), *society(**dict.fromkeys(NAMES, "reject"))[1:]]
    assert acts(ask(Institution(society_, "tang")))[:4] == ["a", "b", "c?b", "cSo I find. Verdict: reject"]
    offices = [Office(does) for does in ("draft", "gate", "gate", "execute", "audit")]  # type: ignore[arg-type]
    for few in (2, 3, 4):
        done = acts(ask(Institution(society(**dict.fromkeys(NAMES, "reject"))[:few], offices=offices)))
        assert not any(f"{each}?{each}" in done for each in NAMES)
        assert done[-2][-1] != done[-1][0], "whoever executed what was found wrong executes it again"


def test_the_answer_is_made_of_what_was_executed() -> None:
    """Its source is the reply that it repeats, not what was heard for that."""
    result = ask(Institution(society(), "egypt"))
    assert result.checked().sources == (calls(result)[-1].key,)


def test_one_agent_holds_all_offices() -> None:
    """A society of one decides, reviews and executes by itself, in any institution."""
    for name in INSTITUTIONS:
        assert ask(Institution([official("a")], name)).text == "a"  # type: ignore[arg-type]


@pytest.mark.parametrize("offices", [[Office("execute")], [Office("draft"), Office("draft")]])
def test_offices_that_make_no_sense(offices: Sequence[Office]) -> None:
    """Who does not begin with one draft is refused."""
    with pytest.raises(UsageError, match="the first has to draft"):
        Institution(society(), offices=offices)


@pytest.mark.parametrize(
    "office",
    ["execute", Office("rule"), Office("execute", seats=-1), Office("gate", override=math.nan)],  # type: ignore[arg-type]
    ids=str,
)
def test_what_is_no_office(office: Office) -> None:
    """Other things and other doings, seats below 0 and shares that are no numbers are refused."""
    with pytest.raises(UsageError, match=r"is no office|seats of an office|override can't be"):
        Institution(society(), offices=[Office("draft"), office])


def test_an_institution_of_ones_own() -> None:
    """Offices as data: a draft, two of three consent, done."""
    own = [Office("draft"), Office("gate", seats=3)]
    assert acts(ask(Institution(society(b="reject"), offices=own))) == ["a", "b?a", "c?a", "d?a"]


# ---- on known truth

WORLD = World(seed=23, agreement=0.6)


@dataclass(frozen=True)
class Opinionated(Wrapper):
    """A simulated agent that consents to what it would say itself: its review is as good as its answers are."""

    backend: Simulated

    async def complete(self, request: Request) -> Reply:
        if "needs your consent" not in request.text:
            return await self.backend.complete(request)
        question = WORLD.find(request.text)
        assert question is not None
        alone = Request(request.model, (Message("user", question.text),), draw=f"review {request.draw}")
        fenced = re.findall(r'<reply id="\w+">\n(.*?)\n</reply>', request.text, re.DOTALL)
        same = self.backend.think(alone).answer == question.answer_in(fenced[-1])
        return Reply(f"Verdict: {'clean' if same else 'reject'}")

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        async for delta in deltas(await self.complete(request)):
            yield delta


def skilled(accuracy: float, discrimination: float) -> list[ModelAgent]:
    """Seven agents of that skill, whose errors have a little in common, and who else mostly do as they are told."""
    made = [
        Simulated(
            name, WORLD, accuracy, rho=0.2, within=0.5, discrimination=discrimination, conformity=0.6,
            tokens=5, tokens_sigma=0,
        )
        for name in NAMES
    ]  # fmt: skip
    return [ModelAgent(Opinionated(each), each.name) for each in made]


WEAK, STRONG = skilled(0.3, 0.05), skilled(0.75, 0.3)


def right(agents: Sequence[ModelAgent], n: int, names: Sequence[str] = tuple(INSTITUTIONS)) -> Mapping[str, float]:
    """The share of the first n questions that each institution of these agents answers right."""

    async def work(name: str) -> float:
        found = 0
        for question in WORLD.questions(n):
            result = await perform(Institution(agents, name), question.text)  # type: ignore[arg-type]
            found += question.answer_in(result.text) == question.gold
        return found / n

    return {name: asyncio.run(work(name)) for name in names}


def test_the_best_institution_changes_with_skill() -> None:
    """At n = 200, seed 23: agents of 30 % are better led by command than by assembly, agents of 75 % the reverse."""
    names = ("qin_han", "athens")
    weak, strong = right(WEAK, 200, names), right(STRONG, 200, names)
    assert weak["qin_han"] > weak["athens"] + 0.04
    assert strong["athens"] > strong["qin_han"] + 0.04


@pytest.mark.long
def test_the_gap_between_best_and_worst() -> None:
    """At n = 600, seed 23: 12 points among agents of 75 %, Athens 92 % and Qin-Han, the worst, 80 %; 5 points among
    agents of 30 %, Tang and Qin-Han 34 %, one question apart, and Athens, the worst, 29 %. (The paper's 57 are not
    reached where every question gets some answer.)
    """
    weak, strong = right(WEAK, 600), right(STRONG, 600)
    assert (max(weak, key=weak.__getitem__), min(weak, key=weak.__getitem__)) == ("tang", "athens")
    assert (max(strong, key=strong.__getitem__), min(strong, key=strong.__getitem__)) == ("athens", "qin_han")
    assert strong["athens"] - strong["qin_han"] == pytest.approx(0.117, abs=0.01)
    assert weak["tang"] - weak["qin_han"] == pytest.approx(1 / 600)
    assert weak["qin_han"] - weak["athens"] == pytest.approx(0.048, abs=0.01)
