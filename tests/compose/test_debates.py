"""The debate protocols: who speaks when and hears what, who ends it, and what they are worth on known truth.

The claims are those of Zhang et al., "Stop Overvaluing Multi-Agent Debate", arXiv 2502.08788, and of Chen et al.,
"Diversity Collapse in Multi-Agent LLM Systems", arXiv 2604.18005.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from acting import agent, down
from benchmark import benchmark
from test_compose import ask, calls, heard, shape

from motet import Budget, Chat, Debate, ModelAgent, Reply, Synthesize, Vote, perform
from motet.backends.simulated import World
from motet.clock import run_virtual
from motet.compose.agent_verse import CONCLUDE, REVISE, AgentVerse
from motet.compose.chat_eval import ROLES, ChatEval
from motet.compose.multi_persona import MultiPersona
from motet.compose.roles import BE
from motet.compose.tit_for_tat import DECIDE, JUDGE, OBJECT, REPLY, TitForTat
from motet.errors import UsageError
from motet.measure.contraction import contraction_ratio
from motet.message import Request, hear
from motet.outcome import Result
from motet.run import Agent
from motet.topology import Alone, Full, Sparse, Star

A, B, C = (agent(name) for name in "abc")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FENCED = re.compile(r'<reply id="(\w+)">\n(.*?)\n</reply>', re.DOTALL)
Says = Callable[[Request], object]


def names(result: Result) -> list[str]:
    """Who was called, in order."""
    return [call.agent for call in calls(result)]


def prompt(result: Result, place: int) -> str:
    """The last turn of the prompt of a call."""
    return calls(result)[place].request.messages[-1].text


def judging(*verdicts: str, otherwise: str = "so be it") -> ModelAgent:
    """A judge that gives these verdicts in order; one in <> names the letter of that text."""
    left = list(verdicts)

    def said(request: Request) -> str:
        if '"Verdict: CONTINUE"' not in request.text:
            return otherwise
        letters = {text: letter for letter, text in FENCED.findall(request.text)}
        verdict = left.pop(0)
        return f"I looked. Verdict: {letters[verdict[1:-1]] if verdict.startswith('<') else verdict}"

    return agent("judge", said=said)


# ---- shapes


@pytest.mark.parametrize(
    ("composition", "calls", "depth"),
    [
        (TitForTat([A, B]), 9, 9),  # (agents + 1) × rounds, all in series
        (TitForTat([A, B, C], A, rounds=2), 8, 8),
        (TitForTat([A, B], rounds=1), 3, 3),
        (ChatEval([A, B, C]), 6, 6),  # agents × rounds, all in series
        (ChatEval([A, B, C], talk="simultaneous"), 6, 2),  # rounds in series
        (ChatEval([A, B, C], talk="summarized", rounds=3), 9 + 2, 5),
        (ChatEval([A, B], aggregate=Synthesize(C)), 5, 5),
        (AgentVerse([A, B, C]), 2 * (2 + 3 * 3) + 1, 2 * (2 * 3 + 2) + 1),
        (AgentVerse([A, B], turns=1, rounds=1), 4, 4),
        (AgentVerse([A, B, C], structure="horizontal"), 2 * (1 + 3) + 1, 9),
        (MultiPersona([A, B]), 1 + 2 * 4, 1 + 2 * 2),
        (MultiPersona([A], count=1, rounds=1), 3, 3),
        (MultiPersona([A, B, C], ["You doubt.", "You count."], rounds=3), 3 * 3, 6),
    ],
)
def test_shapes(composition: Agent, calls: int, depth: int) -> None:
    """Calls and depth are what the docstring of each says."""
    assert shape(composition) == (calls, depth)


# ---- tit for tat


def test_sides_answer_each_other() -> None:
    """The first affirms, the second is told to object, then each hears the other's last words; the judge decides."""
    result = ask(TitForTat([A, B], judging("CONTINUE"), rounds=2))
    assert names(result) == ["a", "b", "judge", "a", "b", "judge"]
    assert [sorted(heard(call)) for call in calls(result)] == [[], ["a"], ["a", "b"], ["b"], ["a"], ["a", "b"]]
    told = [prompt(result, place) for place in range(6)]
    assert [OBJECT in told[1], REPLY in told[3], REPLY in told[4]] == [True] * 3
    assert (JUDGE in told[2], DECIDE in told[5], result.text) == (True, True, "so be it")
    assert not result.warnings


@pytest.mark.parametrize("side", ["a", "b"])
def test_the_judge_ends_it(side: str) -> None:
    """As soon as it is for a side, that side's reply is given; all that it judged are the sources."""
    result = ask(TitForTat([A, B], judging("CONTINUE", f"<{side}>"), rounds=5))
    assert names(result) == ["a", "b", "judge"] * 2
    assert (result.text, len(result.checked().sources)) == (side, 2)
    assert not result.warnings


def test_the_judge_is_blind() -> None:
    """It is not told who affirmed: either stands first, as the run's seed has it."""
    orders = {tuple(heard(calls(ask(TitForTat([A, B], judging("<a>")), seed=seed))[2])) for seed in range(12)}
    assert orders == {("a", "b"), ("b", "a")}


def test_agreement_ends_it_without_a_judge() -> None:
    """Where all sides say the same there is nothing to judge, but for those who want it as in the paper."""
    same = [agent("x", said="4"), agent("y", said="It is 4.")]
    assert names(ask(TitForTat(same, judging()), "2 + 2?")) == ["x", "y"]
    asked = ask(TitForTat(same, judging("<4>"), stop_at_agreement=False), "2 + 2?")
    assert (names(asked), asked.text) == (["x", "y", "judge"], "4")


@pytest.mark.parametrize("nonsense", ["I like both.", "Verdict: Z", "Verdict: A or B", "Verdict:", "both sides"])
def test_a_verdict_that_cannot_be_read_goes_on(nonsense: str) -> None:
    """Nobody wins by it, and that is noted; so with a vote for nobody."""
    judge = agent("judge", said=lambda request: nonsense if '"Verdict: CONTINUE"' in request.text else "the end")
    result = ask(TitForTat([A, B], judge))
    assert (result.text, result.usage.calls) == ("the end", 9)
    assert any("no verdict that could be read; the debate goes on" in warning for warning in result.warnings)


def test_three_sides() -> None:
    """Each hears what was said since its own last turn."""
    result = ask(TitForTat([A, B, C], judging("CONTINUE"), rounds=2))
    assert [sorted(heard(call)) for call in calls(result)] == [
        [], ["a"], ["a", "b"], ["a", "b", "c"], ["b", "c"], ["a", "c"], ["a", "b"], ["a", "b", "c"],
    ]  # fmt: skip


def test_dead_sides_and_judges() -> None:
    """One side alone is right without debate; a dead judge leaves the first of the sides' answers; all is noted."""
    dead = agent("dead", said=down("auth"))
    alone = ask(TitForTat([dead, B], judging()))
    assert (alone.text, names(alone), alone.outcome.state) == ("b", ["dead", "b"], "single")
    headless = ask(TitForTat([A, B], dead))
    assert (headless.text, headless.outcome.state) == ("a", "degraded")
    assert any("the judge gave no answer" in warning for warning in headless.warnings)
    deserted = iter(["x", down("context_length")])
    result = ask(TitForTat([A, agent("y", said=lambda request: next(deserted))], judging("CONTINUE")))
    assert names(result) == ["a", "y", "judge", "a", "y", "judge"]
    assert any("fewer than two sides are left to speak" in warning for warning in result.warnings)


@pytest.mark.parametrize("make", [TitForTat, ChatEval])
def test_who_is_left_alone_in_a_turn_is_not_asked_again(make: Callable[..., Agent]) -> None:
    """Once the other is gone there is nothing new to answer: no call whose prompt would end with one's own words."""
    said = chain(["4"], repeat(down("context_length")))
    leaving = agent("leaving", said=lambda request: next(said))
    result = ask(make([leaving, agent("y", said="5")], rounds=3), "2 + 2?")
    spoke = [call for call in calls(result) if call.request.messages[-1].text != DECIDE]
    assert names(result)[:4] == ["leaving", "y", *(["leaving", "leaving"] if make is TitForTat else ["leaving"])]
    assert all(call.request.messages[-1].role == "user" for call in spoke)
    assert names(result).count("y") == 1


def test_what_the_judge_saw_is_what_the_answer_is_made_of() -> None:
    """Letters begin after those that the question came with; a letter that was heard before is nobody here."""
    heard_before = hear(Chat.of("What?"), [Reply("x", id="r1"), Reply("y", id="r2")])

    async def put(judge: ModelAgent) -> Result:
        return await perform(TitForTat([A, B], judge, rounds=2), heard_before)

    result = run_virtual(put(judging("<b>")))
    assert (result.text, len(result.checked().sources)) == ("b", 2)
    letters = FENCED.findall(prompt(result, 2))
    assert sorted(letter for letter, text in letters if text in "ab") == ["C", "D"]
    assert run_virtual(put(judging("A"))).text == "so be it"


def test_a_spent_purse_leaves_no_side() -> None:
    """With nobody left to speak the judge is not said to have heard one."""
    result = ask(TitForTat([A, B], judging("CONTINUE")), budget=Budget(calls=3))
    assert any("fewer than two sides" in warning for warning in result.warnings)


def test_a_spent_purse_gives_what_was_said() -> None:
    """The affirmative's answer is offered."""
    result = ask(TitForTat([A, B], judging("CONTINUE")), budget=Budget(calls=3))
    assert (result.text, result.stopped) == ("a", "calls")


# ---- chat-eval


def test_one_by_one() -> None:
    """They speak in turn, each in its role, and hear at once what was said before."""
    result = ask(ChatEval([A, B, C]))
    assert names(result) == ["a", "b", "c"] * 2
    assert [sorted(heard(call)) for call in calls(result)] == [
        [], ["a"], ["a", "b"], ["b", "c"], ["a", "c"], ["a", "b"],
    ]  # fmt: skip
    assert [call.request.messages[0].text for call in calls(result)] == [*ROLES[:3]] * 2
    turns = [message.text for message in calls(result)[4].request.messages if message.role == "assistant"]
    assert turns == ["b"]


def test_without_roles_simultaneous_talk_is_a_debate() -> None:
    """It makes the very same calls."""
    chat = ask(ChatEval([A, B, C], (), talk="simultaneous", rounds=3, name="debate"))
    assert [call.key for call in calls(chat)] == [call.key for call in calls(ask(Debate([A, B, C], rounds=3)))]


def test_a_summary_stands_for_the_words() -> None:
    """After each round but the last the summarizer hears all that was said; the others hear the summary alone."""
    sums = iter(["first sum", "second sum"])
    result = ask(ChatEval([A, B], talk="summarized", summarizer=agent("s", said=lambda _: next(sums)), rounds=3))
    assert names(result) == ["a", "b", "s", "a", "b", "s", "a", "b"]
    assert [sorted(heard(call)) for call in calls(result)] == [
        [], [], ["a", "b"], ["first sum"], ["first sum"], ["a", "b", "first sum"], ["second sum"], ["second sum"],
    ]  # fmt: skip
    roles = [[message.role for message in call.request.messages] for call in calls(result)]
    assert roles[3] == roles[6] == ["system", "user", "assistant", "user"]


def test_without_a_summary_the_words_are_heard() -> None:
    """A dead summarizer costs nobody a word, and that is noted."""
    result = ask(ChatEval([A, B], talk="summarized", summarizer=agent("s", said=down("auth"))))
    assert [sorted(heard(call)) for call in calls(result)][3:] == [["b"], ["a"]]
    assert any("no summary came" in warning for warning in result.warnings)


def test_a_summary_that_did_not_come_costs_the_next_no_word() -> None:
    """What was not summed up is summed up the next time, each reply once, those of who has left included."""
    sums = iter(["", "a sum"])
    said = {name: iter([f"{name} 1", f"{name} 2", f"{name} 3"]) for name in "ab"}
    team = [agent(name, said=lambda _, name=name: next(said[name])) for name in "ab"]
    gone = iter(["gone 1", down("context_length")])
    team.append(agent("c", said=lambda _: next(gone)))
    result = ask(ChatEval(team, talk="summarized", summarizer=agent("s", said=lambda _: next(sums)), rounds=3))
    second = [call for call in calls(result) if call.agent == "s"][1]
    assert sorted(heard(second)) == ["a 1", "a 2", "b 1", "b 2", "gone 1"]


@pytest.mark.parametrize("talk", ["one_by_one", "simultaneous", "summarized"])
def test_chat_eval_ends_at_agreement_and_without_listeners(talk: Any) -> None:
    """All alike end it; so does one who is left alone, with a note."""
    same = [agent(name, said="4") for name in "xyz"]
    assert ask(ChatEval(same, talk=talk, rounds=5), "2 + 2?").usage.calls == 3
    said = iter(["5", down("context_length")])
    leaving = agent("leaving", said=lambda request: next(said))
    result = ask(ChatEval([agent("x", said="4"), leaving], talk=talk, rounds=5, summarizer=C), "2 + 2?")
    assert any("nobody is left to talk with" in warning for warning in result.warnings)
    assert result.text == "4"


# ---- agent-verse


def critic(name: str, *verdicts: str) -> ModelAgent:
    """A critic that says its name, with these verdicts in order, then that it agrees."""
    left = list(verdicts)
    return agent(name, said=lambda _: f"{name} says so. Verdict: {left.pop(0) if left else 'AGREE'}")


def solver(*roles: str, name: str = "solver") -> ModelAgent:
    """An agent that recruits these roles, and else counts its proposals."""
    count = iter(range(1, 99))
    listed = "\n".join(f"{place}. {role}" for place, role in enumerate(roles, 1))
    return agent(name, said=lambda r: listed if "with its number" in r.text else f"proposal {next(count)}")


def test_critics_in_roles_until_all_agree() -> None:
    """The critics get the roles, fenced; the solver hears those against it alone; agreement ends it."""
    team = [solver("a chemist", "a lawyer"), critic("b", "DISAGREE"), critic("c")]
    result = ask(AgentVerse(team, rounds=1))
    assert names(result) == ["solver", "solver", "b", "c", "solver", "b", "c"]
    assert [heard(call) for call in calls(result)] == [
        [], [], ["a chemist", "proposal 1"], ["a lawyer", "proposal 1"], ["b says so. Verdict: DISAGREE"],
        ["a chemist", "proposal 2"], ["a lawyer", "proposal 2"],
    ]  # fmt: skip
    assert all(BE in prompt(result, place) for place in (2, 3))
    assert not any(message.role == "system" for call in calls(result) for message in call.request.messages)
    assert REVISE in prompt(result, 4)
    assert (result.text, result.warnings) == ("proposal 2", [])


def test_turns_are_bounded() -> None:
    """Critics that never agree are heard so often, and no more."""
    result = ask(AgentVerse([solver("x"), critic("b", *["DISAGREE"] * 9)], rounds=1, turns=2))
    assert (result.text, names(result).count("b")) == ("proposal 3", 2)
    assert result.warnings == ["agent-verse: critics disagreed in each of 2 turns; the last revision was not reviewed"]


def test_the_evaluator_sends_it_back() -> None:
    """Its advice is heard by the recruiter, by the critics and by the solver; 8 of 10 is accepted."""
    grades = iter(["Say why. Grade: 7", "Grade: 8"])
    judge = agent("e", said=lambda _: next(grades))
    result = ask(AgentVerse([solver("x"), critic("b")], evaluator=judge, rounds=5))
    assert names(result) == ["solver", "solver", "b", "e"] * 2
    advised = ["Say why. Grade: 7" in heard(call) for call in calls(result)]
    assert advised == [False] * 4 + [True, True, True, False]
    assert (result.text, result.warnings) == ("proposal 2", [])


@pytest.mark.parametrize("said", ["It is fine.", "Grade: good", "Grade: 11", ""])
def test_a_grade_that_cannot_be_read_accepts_nothing(said: str) -> None:
    """It is sent back until the rounds are over, unless the evaluator says nothing at all; both are noted."""
    result = ask(AgentVerse([solver("x"), critic("b")], evaluator=agent("e", said=said), rounds=3))
    assert names(result).count("e") == (2 if said else 1)
    assert result.text == ("proposal 3" if said else "proposal 1")
    told = "accepts nothing" if said else "said nothing; the reply stands"
    assert any(told in warning for warning in result.warnings)
    assert any("not evaluated" in warning for warning in result.warnings) == bool(said)


@pytest.mark.parametrize(
    ("roles", "cast"),
    [
        (("a chemist",), ["a chemist", ""]),
        (("a chemist", "A Chemist"), ["a chemist", ""]),
        (("a", "b", "c", "d"), ["a", "b"]),
        ((), ["", ""]),
    ],
    ids=["too few", "repeated", "too many", "none"],
)
def test_roles_that_are_missing_or_repeated(roles: tuple[str, ...], cast: list[str]) -> None:
    """Who is left without one answers as it is, and that is noted."""
    result = ask(AgentVerse([solver(*roles), critic("b"), critic("c")], rounds=1))
    told = [[text for text in heard(call) if text != "proposal 1"] for call in calls(result)[2:4]]
    assert told == [[role] if role else [] for role in cast]
    noted = {"nobody was recruited": not roles, "only 1 of 2 roles": bool(roles) and "" in cast}
    for words, there in noted.items():
        assert any(words in warning for warning in result.warnings) == there


def test_a_critic_without_a_verdict_is_against_it() -> None:
    """What can't be read is no agreement, and is noted."""
    result = ask(AgentVerse([solver("x"), agent("b", said="Hm, AGREE with what?")], rounds=1, turns=1))
    assert (result.text, len(result.warnings)) == ("proposal 2", 2)
    assert any("no agreement" in warning for warning in result.warnings)


def test_horizontal() -> None:
    """The critics speak in turn, each hearing those before; the solver makes one reply of it."""
    result = ask(AgentVerse([solver("x", "y"), B, C], structure="horizontal", rounds=1))
    assert names(result) == ["solver", "b", "c", "solver"]
    assert [sorted(heard(call)) for call in calls(result)] == [[], ["x"], ["b", "y"], ["b", "c"]]
    assert CONCLUDE in prompt(result, 3)


def test_what_a_group_said_is_not_lost() -> None:
    """If nobody makes one reply of it, the most frequent answer is given, made of all, and that is noted."""

    def says(answer: str) -> Says:
        return lambda request: "" if CONCLUDE in request.text else answer

    team = [agent("solver", said=""), *(agent(name, said=says(said)) for name, said in zip("bcd", "544", strict=True))]
    result = ask(AgentVerse(team, structure="horizontal", rounds=1), "2 + 2?")
    assert (result.text, len(result.checked().sources)) == ("4", 3)
    assert any("the most frequent answer, is given instead" in warning for warning in result.warnings)


@pytest.mark.parametrize("structure", ["vertical", "horizontal"])
def test_another_solves_where_the_solver_is_dead(structure: Any) -> None:
    """A dead solver is missing, and the next agent is asked; with dead critics the proposal stands."""
    dead = agent("dead", said=down("auth"))
    result = ask(AgentVerse([dead, solver("x", name="b"), critic("c")], structure=structure, rounds=1))
    assert (result.text.startswith("proposal"), result.outcome.state) == (True, "degraded")
    assert any("dead gave no reply; b solves in its place" in warning for warning in result.warnings)
    alone = ask(AgentVerse([solver("x"), dead], structure=structure, rounds=1))
    assert alone.text == "proposal 1"


def test_nobody_is_told_that_another_proposal_is_its_own() -> None:
    """Only who made a proposal revises it: if it does not, that stands, and is noted; so after an evaluation."""
    left = iter(["1. x", "4", "", "1. x", "", ""])
    team = [agent("a", said=lambda _: next(left)), critic("b", "DISAGREE", "DISAGREE")]
    result = ask(AgentVerse(team, evaluator=agent("e", said="Grade: 2"), turns=3), "2 + 2?")
    assert (names(result), result.text) == (["a", "a", "b", "a", "e", "a", "a", "b", "a"], "4")
    assert any("the proposal was not revised; it stands" in warning for warning in result.warnings)
    own = [[m.text for m in call.request.messages if m.role == "assistant"] for call in calls(result)]
    assert [texts for call, texts in zip(calls(result), own, strict=True) if call.agent != "a"] == [[]] * 3


# ---- multi-persona


def test_personas_advise_then_criticise() -> None:
    """The leader names them; others play them in turn; it hears their advice, then those against its proposal."""
    result = ask(MultiPersona([solver("a chemist", "a lawyer"), critic("b", "", "DISAGREE"), critic("c")], count=2))
    assert names(result) == ["solver", "b", "c", "solver", "b", "c", "solver"]
    assert [sorted(heard(call)) for call in calls(result)] == [
        [], ["a chemist"], ["a lawyer"], ["b says so. Verdict:", "c says so. Verdict: AGREE"],
        ["a chemist", "proposal 1"], ["a lawyer", "proposal 1"], ["b says so. Verdict: DISAGREE"],
    ]  # fmt: skip
    assert result.text == "proposal 2"
    told = "multi-persona: a persona was not content with each proposal before the last; proposal 2 stands"
    assert result.warnings == [told]


def test_a_leader_without_advice() -> None:
    """It answers without, and that is noted."""
    result = ask(MultiPersona([A, agent("b", said="")], ["You doubt."], rounds=1))
    assert (result.text, heard(calls(result)[1])) == ("a", [])
    assert any("no persona gave advice" in warning for warning in result.warnings)


def test_one_agent_plays_all() -> None:
    """With one agent it is the paper's method: the same model in every part."""
    result = ask(MultiPersona([solver("a", "b", "c", name="one")], rounds=1))
    assert (names(result), result.text) == (["one"] * 5, "proposal 4")


def test_fixed_personas_are_system_words() -> None:
    """They are the composition's own, and save the call that would name them."""
    result = ask(MultiPersona([A, critic("b")], ["You doubt."], rounds=2))
    assert names(result) == ["b", "a", "b"]
    assert [call.request.messages[0].role for call in calls(result)] == ["system", "user", "system"]


def test_a_dead_leader_leaves_the_advice() -> None:
    """The most frequent answer of the personas is given, and that is noted."""
    dead = agent("dead", said=down("auth"))
    result = ask(MultiPersona([dead, agent("b", said="4"), agent("c", said="5")], ["x", "y", "z"]), "2 + 2?")
    assert result.text == "4"
    assert any("the leader made no proposal" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TitForTat([A]), "at least 2 agents"),
        (lambda: TitForTat([A, B], rounds=0), "at least 1 rounds"),
        (lambda: ChatEval([A]), "at least 2 agents"),
        (lambda: ChatEval([A, B], roles=["You doubt.", " "]), "chat-eval: roles can't be"),
        (lambda: AgentVerse([A]), "at least 2 agents"),
        (lambda: AgentVerse([A, B], turns=0), "at least 1 turns"),
        (lambda: ChatEval([A, B], talk="one-by-one"), "give one_by_one, simultaneous or summarized"),  # type: ignore[arg-type]
        (lambda: AgentVerse([A, B], accept=-1), "accept can't be"),
        (lambda: AgentVerse([A, B], accept=80), "give a grade from 0 to 10"),
        (lambda: AgentVerse([A, B], structure="flat"), "give vertical or horizontal"),  # type: ignore[arg-type]
        (lambda: MultiPersona([]), "at least 1 agents"),
        (lambda: MultiPersona([A], count=0), "at least 1 personas"),
        (lambda: MultiPersona([A], personas=[""]), "multi-persona: personas can't be"),
    ],
)
def test_what_makes_no_sense(make: Callable[[], object], said: str) -> None:
    """It is refused when it is made, with what to do."""
    with pytest.raises(UsageError, match=said):
        make()


# ---- on known truth


@pytest.fixture(scope="module")
def debates() -> dict[str, Any]:
    """What the benchmark measures with, so that what is on record is what is checked here."""
    return benchmark("debates")


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """What is on record."""
    found: dict[str, Any] = json.loads((BENCHMARKS / "results" / "debates.json").read_text())
    return found


def gains(debates: dict[str, Any], listener: str, kind: str, n: int, within: float = 0.8) -> tuple[float, float]:
    """What a society of minds gains over as many calls of one of the copies, and of the agents in turn, in points."""
    world = World(seed=5)
    agents = debates["team"](world, kind, listener, within)
    one = debates["team"](world, "copies", listener, within)[:1]
    found = asyncio.run(debates["outcome"](Debate(agents), world, n))
    draws = round(found.calls)
    turns = [Vote([who[place % len(who)] for place in range(draws)]) for who in (one, agents)]
    votes = [asyncio.run(debates["outcome"](vote, world, n)) for vote in turns]
    copies, mixed = (100 * float(found.right.mean() - vote.right.mean()) for vote in votes)
    return copies, mixed


def test_among_equal_copies_there_is_nothing_to_gain(debates: dict[str, Any]) -> None:
    """At n = 30 and 100, seed 5: copies that make the same errors say the same from the start, however well they
    listen; copies that differ but recognise nothing gain no more on self-consistency than chance may give, 6 points.
    """
    assert gains(debates, "discriminating", "copies", 30, within=1.0)[0] == 0
    assert gains(debates, "conforming", "copies", 100)[0] < 6


def test_among_unlike_agents_listeners_that_discriminate_gain(debates: dict[str, Any]) -> None:
    """At n = 100, seed 5: 10 points and more over self-consistency, and more than voting of as many calls gains."""
    copies, mixed = gains(debates, "discriminating", "unlike", 100)
    assert copies > 10
    assert mixed > 3


def test_conformity_costs_what_theory_says(record: dict[str, Any], debates: dict[str, Any]) -> None:
    """On record: five followers are worse off debating than voting by 1 to 4 points at every conformity, and what was
    measured is within 0.3 points of its interval of what the same model of errors gives, which is computed anew here.
    """
    for row in record["conformity"]:
        assert row["low"] - 0.3 <= row["expected"] <= row["high"] + 0.3
        assert row["gain"] < 0 if row["conformity"] else row["gain"] == 0
        assert -4 < row["expected"] < -1 or row["conformity"] == 0
    theory = 100 * (debates["expected"](0.5, 2, n=100_000) - debates["expected"](0.5, 1, n=100_000))
    (found,) = (row for row in record["conformity"] if (row["conformity"], row["rounds"]) == (0.5, 2))
    assert theory == pytest.approx(found["expected"], abs=0.4)


def test_followers_differ_from_voters_only_by_following(debates: dict[str, Any]) -> None:
    """Without conformity a debate is the vote of the first answers, question by question."""
    world = World(seed=5)
    agents = debates["followers"](world, 0.0)
    vote, debate = (asyncio.run(debates["outcome"](Debate(agents, rounds=r), world, 20)) for r in (1, 3))
    assert (vote.right == debate.right).all()


def test_diversity_contracts_with_density_and_authority(debates: dict[str, Any]) -> None:
    """At n = 25, seed 5, four rounds: who hears everybody keeps less than half of what who hears one keeps; hearing
    one and the same agent costs as much again as hearing another one each time.
    """
    world = World(seed=5, wrong=20)
    apart = debates["diversity"](world, Alone(), 0.5, 2, 25)

    def left(topology: object) -> float:
        return float(contraction_ratio(debates["diversity"](world, topology, 0.5, 4, 25), apart, paired=True).value)

    one, all_, same = left(Sparse(1)), left(Full()), left(Star())
    assert 0.6 < one < 0.85
    assert all_ < one - 0.2
    assert same < one - 0.2


def test_what_is_on_record(record: dict[str, Any]) -> None:
    """Of every protocol on record: if listeners discriminate, unlike teams are over 5 points better than copies, and
    beyond self-consistency of as many calls; if they conform, copies are not, and unlike teams do not reach their own
    vote, but for the debate of two, who mostly agree at once.
    """
    rows = [row for row in record["protocols"] if "votes" in row]
    accuracy = {(row["listener"], row["team"], row["protocol"]): row["accuracy"] for row in rows}
    assert len(accuracy) == 2 * 2 * 8
    for row in rows:
        votes = {vote["of"]: vote for vote in row["votes"] if vote["by"] == "calls"}
        match row["listener"], row["team"]:
            case "discriminating", "unlike":
                assert row["accuracy"] > accuracy["discriminating", "copies", row["protocol"]] + 0.05
                assert votes["copies"]["low"] > 0
            case "conforming", "copies":
                assert votes["copies"]["gain"] < 0
            case "conforming", "unlike" if row["protocol"] != "tit for tat":
                assert votes["unlike"]["high"] < 0


@pytest.mark.long
def test_it_is_measured_again(debates: dict[str, Any]) -> None:
    """At n = 1000, seed 5: the society of minds of unlike agents gains over 15 points on self-consistency if they
    discriminate, and loses over 5 to their vote if they conform; that of conforming copies gains nothing.
    """
    assert gains(debates, "conforming", "copies", 1000)[0] < 1
    assert gains(debates, "discriminating", "unlike", 1000)[0] > 15
    assert gains(debates, "conforming", "unlike", 1000)[1] < -5
