"""NSED: the broker is exact, votes cost their square, everybody reviews everybody else, weak answers are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product, repeat
from math import inf

import pytest
from acting import agent, down
from hypothesis import given
from hypothesis import strategies as st
from test_compose import ask, calls, heard, shape

from motet import Budget, ModelAgent, Reply
from motet.compose.nsed import NSED, quadratic
from motet.errors import TooFewReplies, UsageError
from motet.measure.knapsack import seated
from motet.message import Request
from motet.trace import Noted


def notes(result: object) -> list[str]:
    """What a run noted."""
    return [event.text for event in result.trace if isinstance(event, Noted)]  # type: ignore[attr-defined]


# ---- the broker


def brute(
    values: Sequence[Mapping[str, float]], costs: Sequence[float], seats: Sequence[str], limit: float
) -> tuple[float, float]:
    """The highest worth and the least cost of it, by trying every seating."""
    best = (0.0, 0.0)
    for seating in product([None, *range(len(seats))], repeat=len(values)):
        taken = [seat for seat in seating if seat is not None]
        cost = sum(costs[agent] for agent, seat in enumerate(seating) if seat is not None)
        if len(set(taken)) == len(taken) and cost <= limit:
            worth = sum(values[agent].get(seats[seat], 0) for agent, seat in enumerate(seating) if seat is not None)
            best = max(best, (worth, -cost))
    return best[0], -best[1]


def worth_of(
    plan: Mapping[int, str], values: Sequence[Mapping[str, float]], costs: Sequence[float]
) -> tuple[float, float]:
    """What a seating is worth and costs."""
    return sum(values[agent].get(role, 0) for agent, role in plan.items()), sum(costs[agent] for agent in plan)


def test_broker_is_brute_force_on_every_small_knapsack() -> None:
    """All knapsacks of up to 4 peers with worths and costs of 0 to 2, at every limit: same worth, same cost."""
    kinds = list(product(range(3), repeat=2))
    for n in (1, 2, 3, 4):
        pools = product(kinds, repeat=n) if n < 4 else combinations_with_replacement(kinds, n)
        for pool in pools:
            values, costs = [{"": float(worth)} for worth, _ in pool], [float(cost) for _, cost in pool]
            teams = [team for k in range(n + 1) for team in combinations(pool, k)]
            sums = [(sum(worth for worth, _ in team), sum(cost for _, cost in team)) for team in teams]
            for limit in range(2 * n + 1):
                best = max((worth, -cost) for worth, cost in sums if cost <= limit)
                plan = seated(values, costs, [""] * n, limit)
                assert worth_of(plan, values, costs) == (best[0], -best[1]), (pool, limit)


def test_broker_is_brute_force_on_every_small_casting() -> None:
    """All ways in which 2 agents are worth 0 to 2 in 2 roles and cost 1 or 2, at every limit; each role filled once."""
    for worths in product(range(3), repeat=4):
        values = [{"x": worths[0], "y": worths[1]}, {"x": worths[2], "y": worths[3]}]
        for costs, limit in product(product((1, 2), repeat=2), range(5)):
            plan = seated(values, costs, ["x", "y"], limit)
            assert len(set(plan.values())) == len(plan)
            assert worth_of(plan, values, costs) == brute(values, costs, ["x", "y"], limit)


@given(
    st.lists(
        st.tuples(st.dictionaries(st.sampled_from("xyz"), st.integers(0, 9)), st.integers(0, 9)), min_size=1, max_size=5
    ),
    st.lists(st.sampled_from("xyz"), min_size=1, max_size=4),
    st.integers(0, 30),
)
def test_broker_is_brute_force(agents: list[tuple[dict[str, int], int]], seats: list[str], limit: int) -> None:
    """Several seats of one role among others, agents with no worth in some: same worth, same cost."""
    values, costs = [values for values, _ in agents], [cost for _, cost in agents]
    assert worth_of(seated(values, costs, seats, limit), values, costs) == brute(values, costs, seats, limit)


def test_broker_adds_decimals_as_people_do() -> None:
    """0.1 + 0.2 fit into 0.3; without a limit everybody has a seat; a large pool is no trouble."""
    assert len(seated([{"": 1}, {"": 1}], [0.1, 0.2], ["", ""], 0.3)) == 2
    assert len(seated([{"": 1}] * 40, range(40), [""] * 40, inf)) == 40


# ---- quadratic voting


@pytest.mark.parametrize("credits", [1, 7, 100])
def test_votes_are_paid_exactly(credits: int) -> None:
    """All reviews of up to 3 proposals with grades 0 to 10: whole credits, the squares of the votes, never too many."""
    for n in (1, 2, 3):
        for grades in product(range(11), repeat=n):
            signed = [2 * Fraction(grade) / 10 - 1 for grade in grades]
            votes = quadratic(signed, credits)
            paid = [round(vote * vote) for vote in votes]
            assert all(abs(vote) == each**0.5 for vote, each in zip(votes, paid, strict=True))
            asked = sum(abs(grade) for grade in signed)
            assert min(asked, 1) * credits - n < sum(paid) <= min(asked, 1) * credits
            assert all(
                (vote > 0) - (vote < 0) in (0, (grade > 0) - (grade < 0))
                for vote, grade in zip(votes, signed, strict=True)
            )


def test_votes_grow_with_the_root() -> None:
    """Four times the size is twice the votes; a review that says everything strongly has to share."""
    assert quadratic([Fraction(1, 5), Fraction(4, 5)], 100) == [20**0.5, 80**0.5]
    assert quadratic([Fraction(1, 5)], 100)[0] * 2 == pytest.approx(quadratic([Fraction(4, 5)], 100)[0])
    assert quadratic([1, 1, -1, -1], 100) == [5, 5, -5, -5]


# ---- the deliberation


def member(name: str, say: Callable[[Request], str], grade: Callable[[str], str]) -> ModelAgent:
    """Proposes what `say` says, and grades what it is shown."""

    def script(request: Request) -> str:
        if "Grade" not in request.text:
            return say(request)
        return grade(request.text.rpartition('<reply id="')[2].partition("\n")[2].partition("\n")[0])

    return agent(name, script)


def saying(texts: Iterator[str]) -> Callable[[Request], str]:
    """Says one text after the other."""
    return lambda request: next(texts)


def fixed(name: str, said: str, grades: Mapping[str, str]) -> ModelAgent:
    """Always says the same, and grades by the text."""
    return member(name, saying(repeat(said)), lambda text: grades.get(text, "Grade: 5"))


FAIR = {"4": "Grade: 9", "four": "Grade: 9", "5": "Grade: 1", "6": "Grade: 2"}


def test_everybody_reviews_everybody_else() -> None:
    """N proposals, N (N - 1) reviews, each of one reply that is not one's own, blind."""
    team = [fixed(name, said, FAIR) for name, said in zip("abc", ("4", "5", "6"), strict=True)]
    result = ask(NSED(team, rounds=1))
    told = calls(result)
    assert len(told) == 9
    own = dict(zip("abc", ("4", "5", "6"), strict=True))
    reviews = [(call.agent, *heard(call)) for call in told[3:]]
    assert sorted(reviews) == sorted((by, said) for by in "abc" for of, said in own.items() if of != by)
    assert result.text == "4"


def test_rejected_answers_are_forgotten() -> None:
    """What reviewers reject is not heard again; with one answer left it ends at once."""
    team = [fixed(name, said, FAIR) for name, said in zip("abc", ("5", "4", "four"), strict=True)]
    result = ask(NSED(team))
    assert (result.text, result.usage.calls) == ("4", 9)


def test_what_is_left_is_heard_and_fades() -> None:
    """Supported answers are heard in the next round, in one text each; one nobody repeats fades by gamma and goes."""
    likes = {"4": "Grade: 10", "four": "Grade: 10", "5": "Grade: 6", "6": "Grade: 0"}
    said = {"a": ["4"] * 4, "b": ["5", "4", "4", "4"], "c": ["6", "four", "4", "4"]}

    def team() -> list[ModelAgent]:
        turns = {name: iter(texts) for name, texts in said.items()}
        return [member(name, saying(turns[name]), lambda text: likes[text]) for name in "abc"]

    result = ask(NSED(team(), rounds=4))
    proposed = [sorted(heard(call)) for call in calls(result) if "Grade" not in call.request.text]
    assert proposed == [[]] * 3 + [["4", "5"]] * 9  # 8 votes, then 4, 2, 1
    assert result.text == "4"
    assert ask(NSED(team(), rounds=4, gamma=0.1)).usage.calls == 18  # less than one vote: only one answer is left
    assert ask(NSED(team(), rounds=4, conviction=0.6)).usage.calls == 9  # the leader is strong enough at once


def test_own_support_decides_not_numbers() -> None:
    """Two who say the same wrong thing lose to one whom both graded well."""
    grades = {"4": "Grade: 10", "5": "Grade: 6"}
    team = [fixed("a", "5", grades), fixed("b", "5", grades), fixed("c", "4", grades)]
    assert ask(NSED(team, rounds=1)).text == "4"


@pytest.mark.parametrize("nonsense", ["no idea", "Grade: 99"])
def test_unreadable_reviews(nonsense: str) -> None:
    """A review that can't be read counts nothing; if none can be, each proposal counts one vote. Both are noted."""
    team = [member(name, saying(repeat(said)), lambda text: nonsense) for name, said in zip("abc", "554", strict=True)]
    result = ask(NSED(team, rounds=1))
    assert result.text == "5"
    assert any("each of its proposals counts one vote" in note for note in notes(result))
    some = ask(NSED([*team[1:], fixed("d", "6", FAIR)], rounds=1))
    assert some.text == "4"  # the one reviewer who can be read likes it
    assert notes(some) == [
        "b gave no grade that could be read; that review counts for nothing",
        "c gave no grade that could be read; that review counts for nothing",
    ]


def test_everything_rejected() -> None:
    """If nothing keeps a vote's support the least rejected of the last round is given, and that is noted."""
    grades = {"4": "Grade: 4", "5": "Grade: 0", "6": "Grade: 0"}
    result = ask(NSED([fixed(name, said, grades) for name, said in zip("abc", "564", strict=True)], rounds=2))
    assert result.text == "4"
    assert result.usage.calls == 18
    assert "no proposal has a vote's support left" in notes(result)[0]


def test_dead_and_mute_members() -> None:
    """One dead member is neither reviewed nor reviewing; a lone proposal is given; nobody at all is an error."""
    team = [fixed("a", "4", FAIR), fixed("b", "5", FAIR), agent("x", down())]
    assert ask(NSED(team, rounds=1)).text == "4"
    alone = ask(NSED([team[0], team[2]]))
    assert (alone.text, alone.usage.calls) == ("4", 2)
    assert notes(alone) == ["round 1 of 3 left a leader strong enough, so it is the last"]
    mute = [agent(name, Reply("", finish="abstain")) for name in "xy"]
    assert isinstance(ask(NSED(mute)).error, TooFewReplies)


def test_a_further_round_without_proposals() -> None:
    """If nobody proposes again, what was left stands, and that is noted."""

    def once(text: str) -> Callable[[Request], str]:
        def say(request: Request) -> str:
            if "<reply" in request.text:
                raise down("context_length")
            return text

        return say

    team = [member(name, once(said), lambda text: "Grade: 8") for name, said in zip("ab", "45", strict=True)]
    result = ask(NSED(team))
    assert result.text == "4"
    assert "nobody proposed anything in a further round" in notes(result)[0]


def test_a_spent_budget_gives_the_best_so_far() -> None:
    """After the first round its leader is what a spent purse gives."""
    grades = {"4": "Grade: 10", "5": "Grade: 7", "6": "Grade: 7"}
    team = [fixed(name, said, grades) for name, said in zip("abc", "564", strict=True)]
    assert ask(NSED(team), budget=Budget(calls=10)).text == "4"
    assert ask(NSED(team), budget=Budget(calls=3)).text == "5"  # no review could be made


# ---- the team


def test_roles_and_limit() -> None:
    """The broker seats whom the limit allows; each of them is told its role, and nobody else is asked."""
    pool = [fixed(name, "4", FAIR) for name in "abc"]
    roles = {"solve": "Solve it.", "check": "Look for mistakes."}
    value = {"a": {"solve": 9, "check": 1}, "b": {"solve": 8, "check": 8}, "c": {"solve": 1, "check": 2}}
    cost = {"a": 5.0, "b": 5.0, "c": 1.0}
    rich = NSED(pool, roles=roles, value=value, cost=cost, limit=10)
    poor = NSED(pool, roles=roles, value=value, cost=cost, limit=6)
    assert rich.team == {0: "solve", 1: "check"}
    assert poor.team == {0: "solve", 2: "check"}
    result = ask(rich)
    told = {call.agent: call.request.text for call in calls(result)[:2]}
    assert "Solve it." in told["a"]
    assert "Look for mistakes." in told["b"]
    assert "c" not in {call.agent for call in calls(result)}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"agents": []}, "at least 2 agents"),
        ({"agents": [agent("a")]}, "at least 2 agents"),
        ({"rounds": 0}, "at least 1 rounds"),
        ({"credits": 0}, "at least 1 credits"),
        ({"gamma": 1.5}, "gamma can't be 1.5"),
        ({"conviction": -1}, "conviction can't be -1"),
        ({"limit": 3, "cost": {"a": 1}}, "give a cost of 0 or more for b"),
        ({"cost": {"a": -1}}, "give a cost of 0 or more for a"),
        ({"limit": 3, "cost": {"a": 2, "b": 2}}, "fewer than 2 agents have a seat"),
        ({"roles": {"solve": "Solve it."}}, "fewer than 2 agents have a seat"),
    ],
)
def test_refusals(wrong: dict[str, object], said: str) -> None:
    """What makes no sense is refused, and says what to do."""
    with pytest.raises(UsageError, match=said):
        NSED(**{"agents": [agent("a"), agent("b")], **wrong})  # type: ignore[arg-type]


def test_shapes() -> None:
    """N × N calls a round, two in series; the most there can be when nothing agrees."""
    team = [agent(name) for name in "abc"]
    assert shape(NSED(team)) == (27, 6)
    assert shape(NSED(team[:2], rounds=1)) == (4, 2)
