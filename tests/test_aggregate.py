"""Aggregators: several replies in, one out, that says what it was made of."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from acting import Doing, agent, down, go
from hypothesis import given
from hypothesis import strategies as st

from motet import Best, Borda, Chat, Exact, Plurality, Reply, Run, Synthesize
from motet.aggregate import Aggregator
from motet.aggregate.borda import borda
from motet.aggregate.plurality import plurality, tally
from motet.message import Request
from motet.outcome import Result
from motet.trace import AskEnded, CallStarted

ANSWERS = ("Paris", "It is Lyon.", "paris", "The answer is Paris.")


def made_of(aggregate: Aggregator, *texts: str) -> Result:
    """Members m0, m1, … say the texts, and one reply is made of theirs."""

    async def do(chat: Chat, run: Run) -> Reply:
        members = [agent(f"m{place}", said=text, delay=len(texts) - place) for place, text in enumerate(texts)]
        return await aggregate(chat, await run.all(run.ask(member, chat) for member in members), run)

    return go(do)


def sources(result: Result) -> set[str]:
    """The members whose replies the result names as its sources."""
    ids = {event.reply.id: event.agent for event in result.trace if isinstance(event, AskEnded)}
    return {ids[source] for source in result.checked().sources}


# ---- plurality


def test_plurality_counts_answers_not_words() -> None:
    """The most frequent answer wins as its first voter put it, and everybody who voted is a source."""
    result = made_of(Plurality(), *ANSWERS)
    assert result.text == "Paris"
    assert sources(result) == {"m0", "m1", "m2", "m3"}
    assert result.usage.calls == 4


def test_ties_go_to_the_first_whoever_was_faster() -> None:
    """Members answer last to first here; the vote is in the order of asking."""
    assert made_of(Plurality(), "4", "5").text == "4"
    assert made_of(Plurality(), "4", "5", "5", "4").text == "4"


def test_weights() -> None:
    """A vote counts as much as its voter's weight."""
    assert made_of(Plurality({"m1": 2.5}), "4", "5", "4").text == "5"
    assert made_of(Plurality({"m1": 1.5}), "4", "5", "4").text == "4"
    assert made_of(Plurality({"m0": 0, "nobody": 9}), "4", "5").text == "5"


@given(st.lists(st.sampled_from(["4", "four", "5", "6"]), min_size=1, max_size=9))
def test_the_plurality_has_the_most_votes(texts: list[str]) -> None:
    """No other answer has more, and the votes are as many as the voters."""
    replies = [Reply(text) for text in texts]
    votes = tally(replies)
    assert sum(votes.values()) == len(texts)
    assert tally([plurality(replies)]).keys() <= {answer for answer in votes if votes[answer] == max(votes.values())}


def test_no_votes() -> None:
    """A vote of nobody is a mistake."""
    with pytest.raises(ValueError, match="no replies"):
        plurality([])


# ---- best


def test_best_takes_the_highest_score() -> None:
    """The reply that scores highest, the first of equals."""
    assert made_of(Best(Exact(["5"])), "4", "5", "five").text == "5"
    assert made_of(Best(Exact(["9"])), "4", "5").text == "4"


def test_best_scores_side_by_side() -> None:
    """Scoring takes as long as one score, and each has numbers of its own."""
    judge = agent("judge", said=lambda request: "Grade: 9" if "five" in request.text else "Grade: 2", delay=10)

    class Judged:
        async def __call__(self, chat: Chat, reply: Reply, run: Run) -> float:
            said = await run.ask(judge, chat.note(reply.text))
            return float(said.text.split()[-1])

    result = made_of(Best(Judged()), "4", "five", "6")
    assert (result.text, result.seconds) == ("five", pytest.approx(13))
    assert sources(result) == {"m0", "m1", "m2"}


# ---- synthesize


def test_synthesize_hears_everybody_and_writes() -> None:
    """The writer gets question, note and fenced replies, without names; its reply is the result."""
    result = made_of(Synthesize(agent("writer", said="All in all: 5.")), "4", "5")
    call = [event for event in result.trace if isinstance(event, CallStarted)][-1]
    assert result.text == "All in all: 5."
    text = call.request.messages[-1].text
    assert text.startswith("What?\n\nBelow are replies of others")
    assert text.count("<reply id=") == 2
    assert len(call.heard) == 2
    assert not any(name in text for name in ("m0", "m1", "writer"))


@pytest.mark.parametrize("said", [down(), Reply("", finish="abstain"), " ", Reply("half", finish="length")])
def test_a_failed_synthesis_is_a_plurality(said: object) -> None:
    """A writer that is dead, mute, or cut does not lose the members' answers; it is noted."""
    result = made_of(Synthesize(agent("writer", said=said)), "4", "5", "5")
    assert result.text == "5"
    assert result.warnings == ["doing: the synthesis failed; the most frequent answer is given instead"]


def test_a_dead_member_as_writer() -> None:
    """The writer was a member and died as one: it is not called again, and the plurality is given."""
    dead = agent("dead", said=down())

    async def do(chat: Chat, run: Run) -> Reply:
        replies = await run.all(run.ask(member, chat) for member in (dead, agent("a", said="4")))
        return await Synthesize(dead)(chat, replies, run)

    result = go(do)
    assert (result.text, result.usage.calls) == ("4", 2)


# ---- borda


def voter(name: str, *preferred: str) -> object:
    """An agent that ranks what it sees by its preference, by the letters it sees them under."""

    def said(request: Request) -> str:
        import re

        shown = dict(re.findall(r'<reply id="(\w+)">\n(.*)\n</reply>', request.text))
        order = sorted(shown, key=lambda letter: preferred.index(shown[letter]))
        return f"Ranking: {', '.join(order)}"

    return agent(name, said=said)


def test_borda_adds_up_positions() -> None:
    """The Borda winner need not be anybody's favourite: 4 is second for all and beats the split favourites."""
    voters = [voter("v1", "5", "4", "6", "7"), voter("v2", "6", "4", "7", "5"), voter("v3", "7", "4", "5", "6")]
    result = made_of(Borda(voters), "5", "6", "7", "4")  # type: ignore[arg-type]
    assert result.text == "4"
    assert sources(result) == {"m0", "m1", "m2", "m3"}


def test_borda_is_blind_and_the_same_for_all() -> None:
    """Every voter sees the same letters for the same replies, and no names."""
    voters = [voter("v1", "4", "5"), voter("v2", "5", "4")]
    result = made_of(Borda(voters), "4", "5")  # type: ignore[arg-type]
    texts = {event.request.text for event in result.trace if isinstance(event, CallStarted) and event.agent[0] == "v"}
    assert len(texts) == 1
    assert "m0" not in texts.pop()


def test_unreadable_ballots_count_for_nothing() -> None:
    """Nonsense is no vote and is noted; if nobody votes, the plurality decides."""
    half: Sequence[object] = [
        voter("v1", "5", "4"),
        agent("v2", said="A and B are both fine."),
        agent("v3", said=down()),
    ]
    result = made_of(Borda(half), "4", "5")  # type: ignore[arg-type]
    assert result.text == "5"
    assert result.warnings == ["doing: a ballot of v2 could not be read and counts for nothing"]
    none = made_of(Borda([agent("v", said="no")]), "4", "5", "5")
    assert none.text == "5"
    assert any("no ballot could be read" in warning for warning in none.warnings)


def test_one_reply_needs_no_ballot() -> None:
    """With one candidate nobody is asked."""
    assert made_of(Borda([agent("v")]), "4").usage.calls == 1


@given(st.lists(st.permutations("ABCD").map(lambda order: list(order)[:3]), max_size=6))
def test_borda_points_add_up(ballots: list[list[str]]) -> None:
    """Each ballot gives out the same points, whatever it leaves out; the order is that of the points."""
    points = borda(ballots, "ABCD")
    assert sum(points.values()) == pytest.approx(6 * len(ballots))
    assert list(points.values()) == sorted(points.values(), reverse=True)
    assert set(points) == set("ABCD")


def test_ballots_inside_a_mixture_are_not_mixed_up() -> None:
    """The voters hear others' words already: the letters of the ballot are still those of the replies it ranks."""
    from motet import hear

    async def do(chat: Chat, run: Run) -> Reply:
        before = hear(chat, [Reply("x", id="x"), Reply("y", id="y")], "Earlier.")
        replies = await run.all(run.ask(agent(text, said=text), before) for text in ("4", "5", "6"))
        voters = [voter("v1", "6", "5", "4", "x", "y"), voter("v2", "6", "4", "5", "y", "x")]
        return await Borda(voters)(before, replies, run)  # type: ignore[arg-type]

    assert go(do).text == "6"


def test_a_doing_agent_can_vote() -> None:
    """Voters are agents, so a composition can be one."""

    async def say(chat: Chat, run: Run) -> Reply:
        return Reply("Ranking: B, A")

    assert made_of(Borda([Doing(say, "v")]), "4", "5").text in ("4", "5")
