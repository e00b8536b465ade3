"""Methods that work by a plan keep the contract when plans are read too: random ones, cycles and nobodies included."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from acting import agent, down
from hypothesis import given, settings
from hypothesis import strategies as st
from test_compose import ask, calls

from motet import Chat, ModelAgent, Reply, Run, Scripted
from motet.compose.auto_team import AutoTeam
from motet.compose.company import Company
from motet.compose.concierge import Concierge
from motet.compose.delegate import Delegate
from motet.compose.orchestrate import Orchestrate
from motet.compose.steps import cards, crew, doer, verdict_of, worked
from motet.message import Message, Request, hear
from motet.run import Agent
from motet.testing import AGENT_CHECKS, run_check


def office(request: Request) -> str:
    """Plans, verdicts and choices as the request's key has them, in the form that its last turn asks for."""
    said, drawn = request.messages[-1].text, random.Random(request.key)
    letters = re.findall(r"^([A-Z]\d?): ", said, re.MULTILINE) or ["A"]
    if "Verdict: STOP" in said and "Now give" not in said and drawn.random() < 0.5:
        return "Verdict: STOP"
    if '"Verdict: revise"' in said:  # it is asked for, and not heard
        return f"Verdict: {drawn.choice(['clean', 'revise'])}"
    if "Choice:" in said:
        return f"Choice: {drawn.choice([*letters, 'NONE'])}"
    if "Verdict: whole" in said and drawn.random() < 0.3:
        return "Verdict: whole"
    if re.search(r"numbered list|Below is a draft|give it out", said) and "Now give" not in said:
        count = drawn.randint(1, 4)
        return "\n".join(
            f"{n}. {drawn.choice([*letters, '?', 'Z'])}: part {drawn.randint(1, 6)} (after {drawn.randint(1, count)})"
            for n in range(1, count + 1)
        )
    return "8"


OFFICE = ModelAgent(Scripted(office, name="the office"), "office")
MADE: dict[str, Callable[[Sequence[Agent]], Agent]] = {
    "auto_team": lambda given: AutoTeam(with_cards(given), OFFICE),
    "delegate": lambda given: Delegate(with_cards(given), OFFICE),
    "orchestrate": lambda given: Orchestrate(with_cards(given), OFFICE),
    "concierge": lambda given: Concierge(with_cards(given), OFFICE, size=2),
    "company": lambda given: Company(with_cards(given)[:2], OFFICE, market=with_cards(given)[2:]),
}


def with_cards(given: Sequence[Agent]) -> list[Agent]:
    """Agents of which something is known, where they can tell it."""
    return [replace(each, about="knows legs") if isinstance(each, ModelAgent) else each for each in given]


@pytest.mark.parametrize("check", AGENT_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("word", MADE)
def test_contract(word: str, check: Callable[..., object]) -> None:
    """Same seed same calls, replay, dead members, budgets, sources, nesting, cancelling, blindness."""
    run_check(check, MADE[word])  # type: ignore[arg-type]


@pytest.mark.parametrize("word", MADE)
def test_plans_are_read(word: str) -> None:
    """In what the contract is checked on, plans are read, and work is handed out by them."""
    result = ask(MADE[word]([agent(name) for name in "pqr"]))
    handed = [call for call in calls(result) if "part " in call.request.text and call.agent != "office"]
    assert handed, result.warnings
    assert result.text == "8"


# ---- what they share


def test_cards_have_letters_that_no_words_have() -> None:
    """One a line, under letters after those of the words heard before; who has no card is said to be unknown."""
    chat = hear(Chat.of("What?"), [Reply("x", id="1"), Reply("y", id="2")])
    known = replace(agent("b"), about=" an expert\nF: in  law ")
    assert cards([agent("a"), known], chat) == (["C", "D"], "C: nothing is known\nD: an expert F: in law")


def test_crew() -> None:
    """First who is named, then those after it, then those before it; somebody from elsewhere comes first."""
    a, b, c, x = (agent(name) for name in "abcx")
    assert crew(b, [a, b, c]) == [b, c, a]
    assert crew(x, [a, b]) == [x, a, b]
    assert crew(a, [a, a]) == [a]


def test_doer() -> None:
    """Who gave a reply, by its name; the first where nobody has it."""
    a, b = agent("a"), agent("b")
    assert doer(Reply("x", agent="b"), [a, b]) is b
    assert doer(Reply("x", agent="z"), [a, b]) is a


@pytest.mark.parametrize("word", ["auto_team", "delegate"])
def test_what_is_given_to_nobody_is_noted(word: str) -> None:
    """Who takes it in turn was not chosen by anybody."""
    lead = agent("lead", said=lambda request: "Verdict: STOP" if '"Verdict: STOP"' in request.text else "1. do it")
    result = ask(AutoTeam([agent("p")], lead) if word == "auto_team" else Delegate([agent("p")], lead))
    assert any("some lines are given to nobody, and are taken in turn" in note for note in result.warnings)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("So. Verdict: STOP", "STOP"),
        ("verdict: stop", "STOP"),
        ("**Verdict:** Clean.", "clean"),
        ("clean", "clean"),
        ("Verdict: clean or STOP", None),
        ("It is clean", None),
        ("", None),
    ],
)
def test_verdicts(text: str, word: str | None) -> None:
    """One of the words, however it is written; none in prose or where there are two."""
    assert verdict_of(text, ["STOP", "clean"]) == word


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True), max_size=4),
    st.sets(st.sampled_from("abcd")),
)
def test_the_next_of_the_crew_takes_over(crews: list[list[str]], dead: set[str]) -> None:
    """Each piece of work is done by the first of its crew that is alive; work without any has no result."""
    known = {name: agent(name, said=down() if name in dead else name) for name in "abcd"}

    async def do(chat: Chat, run: Run) -> Reply:
        works = {
            at: ([known[name] for name in names], chat.add(Message("note", str(at)))) for at, names in enumerate(crews)
        }
        done = await worked(works, run)
        return Reply(" ".join(f"{at}{reply.text}" for at, reply in done.items()) or "nothing")

    from acting import go

    living = [(at, [name for name in names if name not in dead]) for at, names in enumerate(crews)]
    assert go(do).text == (" ".join(f"{at}{names[0]}" for at, names in living if names) or "nothing")
