"""Trait teams: who argues in which trait and hears whom, how verdicts teach, and that planted preferences are found."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, ModelAgent
from motet.compose.trait_teams import TRAITS, TraitTeams, drawn
from motet.errors import TooFewReplies, UsageError
from motet.message import Request
from motet.outcome import Result

SMALL = {"bold": "you dare", "calm": "you wait", "dry": "you state", "warm": "you smile"}


def trait(request: Request) -> str:
    """The trait that an agent is told to have."""
    found = re.search(r"You are (\w+):", request.text)
    assert found is not None
    return found.group(1)


SPEAKER = agent("speaker", said=lambda request: f"We say it {trait(request)}.")


def prefers(*liked: str, by: float = 1.0, otherwise: float = 0.0) -> ModelAgent:
    """A judge that finds for a team that speaks in a liked trait with one chance, for another with another."""

    def said(request: Request) -> str:
        teams = dict(re.findall(r'<reply id="(\w)">\n(.*?)\n</reply>', request.text, re.DOTALL))
        rng = random.Random(request.key)
        worth = {
            name: (by if any(t in text for t in liked) else otherwise) + rng.random() for name, text in teams.items()
        }
        return f"Verdict: {max(worth, key=lambda name: worth[name])}"

    return agent("judge", said=said)


def second_traits(result: Result) -> list[str]:
    """The trait of the second team, of one member, in each trial."""
    contests = [
        call for call in calls(result) if "contests that" in call.request.text and "sum up" not in call.request.text
    ]
    return [trait(call.request) for call in contests]


# ---- the trial


def test_shape() -> None:
    """Trials × (2 × size × rounds + 3) calls; 2 × rounds + 2 in series a trial."""
    assert shape(TraitTeams([SPEAKER], agent("j"))) == (15, 6)
    assert shape(TraitTeams([SPEAKER], agent("j"), size=1, rounds=1, trials=2)) == (10, 8)


def test_who_says_what() -> None:
    """Each team has unlike traits; the second hears the first before it speaks; the judge hears two summaries."""
    result = ask(TraitTeams([SPEAKER], prefers("bold"), SMALL, first=["bold", "dry"], size=2, rounds=1, trials=1))
    first, second = [call.request for call in calls(result)[:2]], [call.request for call in calls(result)[2:4]]
    assert [trait(request) for request in first] == ["bold", "dry"]
    assert len({trait(request) for request in second}) == 2
    assert sorted(heard(calls(result)[2])) == ["We say it bold.", "We say it dry."]
    assert not heard(calls(result)[0])
    assert len(heard(calls(result)[-1])) == 2


def test_the_judge_is_blind() -> None:
    """It is not told which team spoke first: either summary stands first, as the run's seed has it."""
    teams = TraitTeams([SPEAKER], prefers("bold"), SMALL, ["bold"], 1, 1, 1, losses={"bold": 99})
    firsts = {heard(calls(ask(teams, seed=seed))[-1])[0] == "We say it bold." for seed in range(12)}
    assert firsts == {True, False}


def test_members_are_played_in_turn() -> None:
    """The same agents play both teams, so that traits are all that differs."""
    others = [agent(name, said=lambda request: trait(request)) for name in "ab"]
    result = ask(TraitTeams(others, prefers("bold"), size=3, rounds=1, trials=1))
    assert [call.agent for call in calls(result)[:6]] == ["a", "b", "a"] * 2


def test_the_winner_s_summary_is_given() -> None:
    """The team that won most trials; the first where they won as many."""
    won = ask(
        TraitTeams([SPEAKER], prefers("calm"), SMALL, ["bold"], 1, 1, 1, losses={"bold": 99, "dry": 99, "warm": 99})
    )
    assert won.text == "We say it calm."
    lost = ask(TraitTeams([SPEAKER], prefers("bold"), SMALL, ["bold"], 1, 1, 1, losses={"bold": 99}))
    assert lost.text == "We say it bold."
    assert len(lost.checked().sources) == 2


@pytest.mark.parametrize("nonsense", ["Both.", "Verdict: A or B", "", down()], ids=["text", "both", "", "dead"])
def test_a_verdict_that_cannot_be_read_teaches_nothing(nonsense: object) -> None:
    """The first team's summary is given, and it is noted."""
    result = ask(TraitTeams([SPEAKER], agent("judge", said=lambda request: nonsense), SMALL, ["bold"], 1, 1, 2))
    assert result.text == "We say it bold."
    assert any("no verdict that could be read" in warning for warning in result.warnings)
    assert not any("best record" in warning for warning in result.warnings)


def test_a_case_that_lost_is_not_given() -> None:
    """The team that won most trials is heard with the last case that won, not with that of a trial it lost."""
    told = iter(f"case {number}" for number in range(99))
    speaker = agent("s", said=lambda request: f"{trait(request)} {next(told)}")
    verdicts = iter(["calm", "calm", "bold"])

    def said(request: Request) -> str:
        teams = dict(re.findall(r'<reply id="(\w)">\n(.*?)\n</reply>', request.text, re.DOTALL))
        wanted = next(verdicts)
        return f"Verdict: {next(name for name, text in teams.items() if wanted in text)}"

    pair = {"bold": "you dare", "calm": "you wait"}
    fields = {"losses": {"bold": 10**6}, "wins": {"calm": 10**6}}
    result = ask(TraitTeams([speaker], agent("judge", said=said), pair, ["bold"], 1, 1, 3, **fields))  # type: ignore[arg-type]
    assert result.text == "calm case 7"  # each trial has four statements, of which the fourth sums up its second team


def test_a_team_that_says_nothing() -> None:
    """The other is not told that it was answered, nobody wins, and that is noted; so is a summary that fails."""
    mute = agent("m", said=lambda request: down("context_length") if trait(request) == "bold" else "We wait.")
    fields = {"losses": {"bold": 10**6}, "wins": {"calm": 10**6}}
    pair = {"bold": "you dare", "calm": "you wait"}
    result = ask(TraitTeams([mute], prefers("calm"), pair, ["bold"], 1, 1, 1, **fields))  # type: ignore[arg-type]
    assert result.text == "We wait."
    assert any("said nothing in a trial" in warning for warning in result.warnings)
    assert not any("contests that" in call.request.text for call in calls(result))
    brief = agent("b", said=lambda request: down("context_length") if "sum up" in request.text else trait(request))
    result = ask(TraitTeams([brief], prefers("calm"), pair, ["bold"], 1, 1, 1, **fields))  # type: ignore[arg-type]
    assert result.text == "calm"
    assert any("gave no summary" in warning for warning in result.warnings)


def test_the_dead() -> None:
    """Members that are dead say nothing; a silent table is an error that names them."""
    dead = agent("dead", said=down())
    result = ask(TraitTeams([dead, SPEAKER], prefers("bold"), SMALL, size=2, trials=1))
    assert (result.text[:10], result.outcome.state) == ("We say it ", "degraded")
    error = ask(TraitTeams([dead], prefers("bold"), SMALL, size=2)).error
    assert isinstance(error, TooFewReplies)
    assert "dead" in str(error)


def test_a_spent_purse() -> None:
    """What was said first is given."""
    result = ask(TraitTeams([SPEAKER], prefers("bold"), SMALL, ["bold"], 1, 1, 1), budget=Budget(calls=1))
    assert (result.text, result.stopped) == ("We say it bold.", "calls")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TraitTeams([], SPEAKER), "at least 1 agents"),
        (lambda: TraitTeams([SPEAKER], SPEAKER, SMALL, size=5), "at least 5 traits, and has 4"),
        (lambda: TraitTeams([SPEAKER], SPEAKER, SMALL, ["rude"], 1), "knows no trait rude"),
        (lambda: TraitTeams([SPEAKER], SPEAKER, wins={"bold": -1}), "wins can't be or hold -1"),
    ],
)
def test_what_makes_no_sense(make: Callable[[], object], said: str) -> None:
    """It is refused when it is made."""
    with pytest.raises(UsageError, match=said):
        make()


# ---- the bandit finds planted preferences


def test_the_bandit_finds_planted_traits() -> None:
    """Teams of 2 of 9 traits win by 0.2, and 0.3 more for each of two planted ones: of 400 trials at 10 seeds, the last
    100 have over 85 % planted traits, where chance has 22 %, and every seed over 60 %.
    """
    planted = {"quantitative", "charismatic"}
    shares = []
    for seed in range(10):
        rng = random.Random(seed)
        wins: Counter[str] = Counter()
        losses: Counter[str] = Counter()
        picked: list[str] = []
        for _ in range(400):
            team = drawn(TRAITS, wins, losses, 2, rng)
            won = rng.random() < 0.2 + 0.3 * len(planted & set(team))
            (wins if won else losses).update(team)
            picked += team
        shares.append(sum(each in planted for each in picked[-200:]) / 200)
    assert sum(shares) / len(shares) > 0.85
    assert min(shares) > 0.6


def test_the_mixture_finds_planted_traits() -> None:
    """Against a team that is never liked, a judge that prefers `warm`: of 40 trials of one question, most of the last
    20 are argued in it, and the note says so; the record can be carried on.
    """
    judge = prefers("warm", by=0.8)
    result = ask(TraitTeams([SPEAKER], judge, SMALL, ["bold"], 1, 1, 40))
    late = second_traits(result)[-20:]
    assert late.count("warm") >= 12
    assert any("best record: warm" in warning for warning in result.warnings)
    assert result.text == "We say it warm." or late[-1] != "warm"
    carried = ask(
        TraitTeams([SPEAKER], judge, SMALL, ["bold"], 1, 1, 3, wins={"warm": 40}, losses={"warm": 2, "dry": 9})
    )
    assert second_traits(carried).count("warm") >= 2
