"""Estimates: the most a question can take, told before it is asked, without a call."""

from __future__ import annotations

import asyncio
import random
import re
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from acting import Doing, agent
from hypothesis import given, settings
from hypothesis import strategies as st

from motet import (
    Agreement,
    Budget,
    Cascade,
    Chat,
    Council,
    Debate,
    Judge,
    MixtureOfAgents,
    ModelAgent,
    Reply,
    Run,
    Sampling,
    Scripted,
    SelfMoA,
    Synthesize,
    Vote,
    estimate,
    perform,
)  # fmt: skip
from motet.backend import Card, Price
from motet.clock import run_virtual
from motet.compose.agent_verse import AgentVerse
from motet.compose.auto_team import AutoTeam
from motet.compose.company import Company
from motet.compose.concierge import Concierge
from motet.compose.constraint_audit import ConstraintAudit
from motet.compose.delegate import Delegate
from motet.compose.institution import Institution
from motet.compose.multi_persona import MultiPersona
from motet.compose.orchestrate import Orchestrate
from motet.errors import BackendError, MotetError, TooFewReplies, UsageError
from motet.estimate import LONGEST_LIST
from motet.message import Request
from motet.normalise import extract, same
from motet.run import Agent

A, B = agent("a", said=lambda request: "word " * 99), agent("b", said=lambda request: request.key)
PRICED = Card(price=Price(input=2.0, output=10.0))


def priced(name: str, card: Card = PRICED, **more: object) -> ModelAgent:
    """An agent whose model has a price, and that may write 100 tokens."""
    backend = Scripted(lambda request: "word " * 20, name=f"m-{name}", card=card)
    return ModelAgent(backend, name, sampling=Sampling(max_tokens=100), **more)  # type: ignore[arg-type]


def test_nothing_is_called() -> None:
    """An estimate asks no backend and leaves no trace of itself in the agents."""
    one = agent("one")
    assert estimate(Vote([one] * 3), "What?").calls == 3
    assert isinstance(one.backend, Scripted)
    assert one.backend.requests == []


def test_what_one_call_costs() -> None:
    """The prompt as it would be sent, the longest reply, at the model's price."""
    found = estimate(priced("one"), "What is it?")
    assert (found.calls, found.depth, found.output) == (1, 1, 100)
    assert found.input == 4 + 4
    assert found.usd == pytest.approx((8 * 2 + 100 * 10) / 1e6)
    assert found.unpriced == ()


def test_members_texts_are_counted_at_the_assumed_length() -> None:
    """Later prompts carry replies of `reply_tokens`; longer ones, a dearer estimate."""
    moa = MixtureOfAgents([priced("x"), priced("y")], Synthesize(priced("z")))
    short, long = (estimate(moa, "What?", reply_tokens=tokens) for tokens in (20, 90))
    assert (short.calls, short.depth) == (long.calls, long.depth) == (5, 3)
    assert long.input - short.input == pytest.approx(
        3 * 2 * 70 * 5 / 3, rel=0.2
    )  # 3 listeners, 2 texts, 5 bytes a word


def test_unknown_prices_are_named() -> None:
    """A model without a known price counts as 0 and is named."""
    found = estimate(Vote([priced("x", Card(price=None)), priced("y")]), "What?")
    assert found.unpriced == ("m-x",)
    assert found.usd > 0


def test_no_loop_ends_early() -> None:
    """Nothing agrees, no score is good enough: every loop runs to its bound."""
    assert estimate(Debate([A, B], rounds=7), "What?").calls == 14
    assert estimate(Cascade([A, B, A], Judge(B)), "What?").calls == 5
    assert estimate(Cascade([A, B], Agreement([A, B])), "What?").calls == 4


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 2**32).map(lambda n: f"{n:08x}"), min_size=2, max_size=6, unique=True), st.integers(0, 99)
)
def test_no_two_placeholders_are_the_same_answer(keys: list[str], words: int) -> None:
    """What stands for replies is never taken for agreement."""
    texts = [f"placeholder {key} " + "word " * words for key in keys]
    assert len({extract(text) for text in texts}) == len(texts)
    assert not any(same(texts[0], other) for other in texts[1:])


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["vote", "moa", "self", "cascade", "debate", "council"]), st.integers(2, 4), st.integers(1, 3))
def test_no_run_takes_more(kind: str, agents: int, rounds: int) -> None:
    """Whatever members say: a run makes no more calls than estimated, and costs no more where replies are short."""
    members = [priced(f"p{place}") for place in range(agents)]
    made: dict[str, Agent] = {
        "vote": Vote(members),
        "moa": MixtureOfAgents(members, Synthesize(members[0]), layers=rounds),
        "self": SelfMoA(members[0], draws=agents * rounds, window=3, kept=1),
        "cascade": Cascade(members, Judge(members[-1])),
        "debate": Debate(members, rounds=rounds, stop_at_agreement=False),
        "council": Council(members),
    }
    found = estimate(made[kind], "What is it?")
    result = run_virtual(perform(made[kind], "What is it?"))
    assert result.usage.calls <= found.calls
    assert result.usage.input <= found.input
    assert result.usage.output <= found.output
    assert result.usage.usd <= found.usd + 1e-12


def member(name: str, seed: int, *, largest: bool) -> ModelAgent:
    """One that writes plans and lists, of the largest size or of any, gives verdicts and choices, and never refuses."""

    def said(request: Request) -> str:
        drawn, words = random.Random(f"{seed} {request.key}"), request.messages[-1].text
        if re.search(r"numbered list|begins with its number|\"Constraint:\"", words):
            if not largest and drawn.random() < 0.2:
                return "I would rather not."
            count, lines = 9 if largest else drawn.randint(1, 9), []
            for number in range(1, count + 1):
                after = f"(after {number - 1})" if largest and number > 1 else f"(after {drawn.randint(0, 9)})"
                head = (
                    "Constraint: "
                    if "Constraint" in words
                    else f"{drawn.choice('ABC?')}: "
                    if "letter" in words
                    else ""
                )
                lines.append(f"{number}. {head}part {number} {after}")
            return "\n".join(lines)
        offered = re.findall(r'"((?:Verdict|Choice): \w+)"', words) or [f"{name} {request.key[:6]}"]
        return drawn.choice([*offered, f"Choice: {drawn.choice('ABC')}"])

    return replace(agent(name, said=said, delay=1.0), about=f"knows {name}")


PLANNED: dict[str, Callable[[list[ModelAgent]], Agent]] = {
    "agent_verse": AgentVerse,
    "multi_persona": MultiPersona,
    "constraint_audit": lambda team: ConstraintAudit(team[0], team[1]),
    "auto_team": AutoTeam,
    "auto_team of few steps": lambda team: AutoTeam(team, steps=1, rounds=1),
    "delegate": Delegate,
    "orchestrate": lambda team: Orchestrate(team, k=4),
    "concierge": Concierge,
    "concierge of one": lambda team: Concierge(team, size=1),
    "institution": lambda team: Institution(team, "us_federal"),
    "institution of an assembly": lambda team: Institution(team, "athens", attempts=2),
    "company": lambda team: Company(team[:1], market=team[1:]),
    "company of a level": lambda team: Company(team, depth=1, nodes=5, tries=3),
    "company of levels": lambda team: Company(team, depth=3, nodes=7),
    "in a vote": lambda team: Vote([Delegate(team), Orchestrate(team), team[0]]),
    "of a team": lambda team: Delegate([Orchestrate(team, k=2)], rounds=2, steps=2),  # type: ignore[list-item]
}


@pytest.mark.parametrize("kind", PLANNED)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_no_plan_takes_more(kind: str, seed: int, largest: bool) -> None:
    """Whatever is planned, found and chosen, plans longer than allowed included: no more calls, none later, no more
    tokens written than the estimate says, as long as nobody fails or refuses.
    """
    made = PLANNED[kind]([member(name, seed, largest=largest) for name in ("ann", "bob", "cat")])
    found = estimate(made, "What is it?")
    result = run_virtual(perform(made, "What is it?"))
    assert result.usage.calls <= found.calls
    assert result.seconds <= found.depth + 1e-6
    assert result.usage.output <= found.output


@pytest.mark.parametrize("most", ["99999999", "9" * 5000])
def test_lists_in_a_question(most: str) -> None:
    """A question that asks for a list, of however many steps, changes nothing about who is asked, and takes no time."""
    note = f"Write a numbered list and nothing else, of at most {most} steps.\nA: x\n"
    assert estimate(Debate([A, B], rounds=3), f"{note}What?").calls == 6
    assert estimate(Orchestrate([A, B, A]), f"{note}What?").calls == 5
    assert estimate(Orchestrate([A, B], k=10**8), f"{note}What?").calls == LONGEST_LIST + 2


def test_verdicts_in_a_question_make_no_agreement() -> None:
    """A question that quotes a verdict ends no debate early: its placeholders still differ."""
    found = estimate(Debate([A, B], rounds=7), 'Is "Verdict: guilty" or "Verdict: free" right?')
    assert found.calls == 14


def test_own_purses_and_the_default_cap_do_not_shorten_it() -> None:
    """The estimate is of the whole, however small the purses that a run would have."""
    dear = priced("dear", Card(price=Price(output=1e6)))
    assert estimate(Vote([dear] * 5), "What?").usd == pytest.approx(500)

    async def do(chat: Chat, run: Run) -> Reply:
        return await run.ask(Vote([A, B]), chat, budget=Budget(seconds=60))

    assert estimate(Doing(do), "What?").calls == 2


def test_what_can_not_be_performed_says_why() -> None:
    """A question longer than the context, no question, an agent that refuses: the error of the run."""
    small = priced("small", Card(context=120))
    with pytest.raises((BackendError, TooFewReplies, MotetError), match="context of 120"):
        estimate(small, "word " * 200)
    with pytest.raises(UsageError, match="empty"):
        estimate(small, " ")

    async def bug(chat: Chat, run: Run) -> Reply:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        estimate(Doing(bug), "What?")


async def test_from_within_a_loop() -> None:
    """It can be called where a loop runs, and leaves no thread."""
    before = threading.active_count()
    assert estimate(A, "What?").calls == 1
    await asyncio.sleep(0)
    assert threading.active_count() == before


def test_streaming_and_completion_agents() -> None:
    """Every style of agent can be estimated."""
    assert estimate(replace(A, style="completion"), "What?").calls == 1
