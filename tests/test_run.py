"""The run: numbering, quorum, stragglers, hedges, single flight, offers, outcomes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from acting import Doing, agent, check_settled, check_trace, down, go
from hypothesis import given, settings
from hypothesis import strategies as st

from motet import Budget, Chat, ModelAgent, Reply, Run, Scripted, Synthesize, Usage, Vote, perform
from motet.backend import Card, Price
from motet.clock import run_virtual
from motet.errors import AgentFailed, BackendError, BudgetExceeded, TooFewReplies, UsageError
from motet.message import Delta, Request, Sampling
from motet.outcome import Result
from motet.replay import replay
from motet.trace import (
    AskFailed,
    CallEnded,
    CallFailed,
    CallStarted,
    Event,
    Hedged,
    Streamed,
    Trace,
)

virtual = run_virtual


# ---- draws


def test_asking_again_is_a_new_draw_and_nesting_a_first_draw_is_the_same() -> None:
    """The second ask of the same thing has another key; a first draw inside a first draw shares the plain one's key."""
    one = agent("one", said=lambda request: request.key)

    async def do(chat: Chat, run: Run) -> Reply:
        first, second = await run.all([run.ask(one, chat), run.ask(one, chat)])
        nested = await run.ask(Vote([one]), chat)
        again = await run.ask(Vote([one]), chat)
        assert first.text != second.text
        assert nested.text == first.text
        assert again.text not in (first.text, second.text)
        return first

    result = go(do)
    assert result.usage.calls == 3
    assert result.usage.saved_calls == 1


def test_draws_are_numbered_where_they_are_asked() -> None:
    """Keys do not depend on which task runs first: asks made in one order and awaited in another keep their numbers."""
    one = agent("one", said=lambda request: request.draw or "first")

    async def do(chat: Chat, run: Run) -> Reply:
        asks = [run.ask(one, chat) for _ in range(3)]
        late = await asks[2]
        early = await asks[0]
        assert (early.text, late.text) == ("first", "2.0")
        return early

    go(do)


def test_two_backends_under_one_name_are_refused() -> None:
    """Their replies could not be told apart, so it is an error, not a wrong answer."""
    a, b = ModelAgent(Scripted("a", name="same"), "a"), ModelAgent(Scripted("b", name="same"), "b")
    with pytest.raises(UsageError, match="both called 'same'"):
        virtual(perform(Vote([a, b]), "What?"))


# ---- quorum and stragglers


def test_all_leaves_out_the_unusable_and_keeps_the_order() -> None:
    """Empty, cut, abstained and failed replies are absent; the rest come in the order they were asked."""
    members = [
        agent("slow", delay=2),
        agent("empty", said=""),
        agent("cut", said=Reply("half an ans", finish="length")),
        agent("mute", said=Reply("", finish="abstain")),
        agent("dead", said=down()),
        agent("fast"),
    ]

    async def do(chat: Chat, run: Run) -> Reply:
        replies = await run.all(run.ask(member, chat) for member in members)
        assert [reply.agent for reply in replies] == ["slow", "fast"]
        return replies[0]

    outcome = go(do).outcome
    assert outcome.state == "degraded"
    assert outcome.answered == ("fast", "slow")
    assert outcome.abstained == ("mute",)
    assert {(missing.agent, missing.kind) for missing in outcome.missing} == {
        ("empty", "empty"),
        ("cut", "cut"),
        ("dead", "server"),
    }


def test_too_few_replies_says_who_and_why() -> None:
    """A missed quorum names each missing agent, its kind and its status."""

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all([run.ask(agent("up"), chat), run.ask(agent("bad", said=down()), chat)], need=2))[0]

    result = go(do)
    assert result.reply is None
    assert isinstance(result.error, TooFewReplies)
    assert [(failure.agent, failure.kind, failure.status) for failure in result.error.failures] == [
        ("bad", "server", 503)
    ]
    assert result.outcome.state == "failed"
    with pytest.raises(TooFewReplies, match="bad: server"):
        _ = result.text


def test_grace_goes_on_without_the_slow() -> None:
    """Once `need` have answered and `grace` passed, the slow are cancelled, recorded as late, and their calls end."""
    members = [agent("a", delay=1), agent("b", delay=2), agent("c", delay=60), agent("d", delay=2.4)]

    async def do(chat: Chat, run: Run) -> Reply:
        replies = await run.all((run.ask(member, chat) for member in members), need=2, grace=0.5)
        assert [reply.agent for reply in replies] == ["a", "b", "d"]
        return replies[0]

    result = go(do)
    assert result.seconds == pytest.approx(2.5)
    assert [(failure.agent, failure.kind) for failure in result.outcome.missing] == [("c", "late")]
    assert any(isinstance(event, CallFailed) and event.kind == "late" for event in result.trace)
    assert result.usage.calls == 4, "a cancelled call was made, and is counted"


def test_grace_without_a_quorum_waits_for_all() -> None:
    """Grace begins only when enough have answered."""
    members = [agent("a", delay=1), agent("b", delay=9)]

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all((run.ask(member, chat) for member in members), need=2, grace=0.1))[1]

    assert go(do).seconds == pytest.approx(9)


def test_grace_does_not_begin_with_a_failure() -> None:
    """Who takes what comes waits for the slow as long as everybody who answered at once is dead."""
    members = [agent("dead", said=down()), agent("b", delay=9), agent("c", delay=60)]

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all((run.ask(member, chat) for member in members), need=0, grace=0.5))[0]

    result = go(do)
    assert (result.text, result.seconds) == ("b", pytest.approx(9.5))
    assert {failure.agent: failure.kind for failure in result.outcome.missing} == {"dead": "server", "c": "late"}


def test_each_keeps_the_seats() -> None:
    """A failed agent leaves its seat empty; the others keep theirs."""

    async def do(chat: Chat, run: Run) -> Reply:
        said = await run.each({"x": run.ask(agent("a"), chat), "y": run.ask(agent("b", said=down()), chat)})
        assert list(said) == ["x"]
        return said["x"]

    go(do)


def test_a_bug_is_loud() -> None:
    """What an agent's own code raises is raised as it is, and its siblings are cancelled."""

    async def do(chat: Chat, run: Run) -> Reply:
        async def bug(chat: Chat, run: Run) -> Reply:
            raise KeyError("a bug")

        return (await run.all([run.ask(Doing(bug, "buggy"), chat), run.ask(agent("slow", delay=50), chat)]))[0]

    with pytest.raises(KeyError, match="a bug"):
        go(do)


# ---- the dead


def test_the_dead_are_not_called_again() -> None:
    """After a deadly failure the agent is not called again in the same question, and that is said."""
    dead = agent("dead", said=down())

    async def do(chat: Chat, run: Run) -> Reply:
        for _ in range(3):
            assert await run.all([run.ask(dead, chat)], need=0) == []
        return await run.ask(agent("other"), chat)

    result = go(do)
    assert sum(isinstance(event, CallStarted) and event.agent == "dead" for event in result.trace) == 1
    kinds = [event.failure.kind for event in result.trace if isinstance(event, AskFailed)]
    assert kinds == ["server", "dead", "dead"]
    assert [failure.kind for failure in result.outcome.missing] == ["server"], "the first reason is the one told"


def test_a_refused_question_does_not_kill() -> None:
    """A failure that lies in the question (too long, filtered) leaves the agent to answer the next."""
    picky = agent("picky", said=lambda request: down("context_length") if "long" in request.question else "fine")

    async def do(chat: Chat, run: Run) -> Reply:
        assert await run.all([run.ask(picky, Chat.of("too long"))], need=0) == []
        return await run.ask(picky, chat)

    assert go(do).text == "fine"


# ---- hedges


def hedging(first: ModelAgent, second: ModelAgent, after: float = 1.0) -> Result:
    """Ask `first`, hedged by `second`."""

    async def do(chat: Chat, run: Run) -> Reply:
        return await run.ask(first, chat, hedge=second, after=after)

    return go(do)


def test_a_hedge_answers_for_the_late() -> None:
    """The second draw starts when the first is late; the first usable reply wins and the other is cancelled."""
    result = hedging(agent("slow", delay=30), agent("spare", delay=1))
    assert result.text == "spare"
    assert result.seconds == pytest.approx(2)
    assert result.outcome.state == "full", "the seat answered: nobody is missing"
    assert result.usage.calls == 2, "the cancelled call is counted"


def test_no_hedge_when_in_time() -> None:
    """A reply in time needs no second draw."""
    result = hedging(agent("quick", delay=0.5), agent("spare"))
    assert result.text == "quick"
    assert not any(isinstance(event, Hedged) for event in result.trace)


def test_a_hedge_answers_at_once_for_the_failed() -> None:
    """A first draw that fails before it is late is hedged at once; both failing is a failure."""
    result = hedging(agent("broken", said=down()), agent("spare", delay=0.5), after=100)
    assert (result.text, round(result.seconds, 1)) == ("spare", 0.5)
    failed = hedging(agent("broken", said=down()), agent("also", said=down()))
    assert isinstance(failed.error, AgentFailed | BackendError)


def test_the_slow_one_wins_if_the_hedge_fails() -> None:
    """The hedge failing does not lose the first draw."""
    result = hedging(agent("slow", delay=5), agent("broken", said=down()))
    assert (result.text, round(result.seconds)) == ("slow", 5)


# ---- single flight


def test_same_key_is_called_once_and_shared() -> None:
    """Two agents that send the same request share one call; the second pays nothing and is counted as saved."""
    backend = Scripted("said", name="m", delay=1)
    twins = [ModelAgent(backend, "a"), ModelAgent(backend, "b")]
    result = virtual(perform(Vote(twins), "What?"))
    assert len(backend.requests) == 1
    assert (result.usage.calls, result.usage.saved_calls) == (1, 1)
    assert {reply.agent for reply in result.replies} == {"a", "b"}


def test_a_shared_call_outlives_the_one_who_made_it() -> None:
    """If whoever made the shared call is cancelled, the other asker makes it."""
    backend = Scripted("said", name="m", delay=2)
    first, second = ModelAgent(backend, "first"), ModelAgent(backend, "second")

    async def do(chat: Chat, run: Run) -> Reply:
        hasty = asyncio.ensure_future(run.ask(first, chat).reply())
        await asyncio.sleep(0.5)
        patient = asyncio.ensure_future(run.ask(second, chat).reply())
        await asyncio.sleep(0.5)
        hasty.cancel()
        return await patient

    result = go(do)
    assert result.text == "said"
    assert len(backend.requests) == 2


# ---- offers, budgets, deadlines


def test_a_spent_budget_gives_the_best_offered() -> None:
    """The reply offered with the best score is given, and says which limit stopped the run."""

    async def do(chat: Chat, run: Run) -> Reply:
        run.offer(await run.ask(agent("good"), chat), score=0.9)
        run.offer(await run.ask(agent("worse"), chat), score=0.1)
        return await run.ask(agent("third"), chat)

    result = go(do, budget=Budget(calls=2))
    assert (result.text, result.stopped, result.checked().stopped) == ("good", "calls", "calls")
    assert result.outcome.state == "degraded"


def test_a_spent_budget_without_an_offer_is_an_error() -> None:
    """Nothing offered: a clear error that names the limit."""

    async def do(chat: Chat, run: Run) -> Reply:
        await run.ask(agent("one"), chat)
        return await run.ask(agent("two"), chat)

    result = go(do, budget=Budget(calls=1))
    assert isinstance(result.error, BudgetExceeded)
    assert "budget of 1 calls is spent" in str(result.error)


def test_seconds_end_the_run_in_time() -> None:
    """The clock of the outer purse cancels what is under way, and the best offered is given."""

    async def do(chat: Chat, run: Run) -> Reply:
        run.offer(await run.ask(agent("quick", delay=1), chat))
        return await run.ask(agent("slow", delay=100), chat)

    result = go(do, budget=Budget(seconds=3))
    assert (result.text, result.stopped) == ("quick", "seconds")
    assert result.seconds == pytest.approx(3)


def test_an_agents_own_purse_is_its_own_affair() -> None:
    """An ask whose own purse is spent has failed; the run goes on."""

    async def do(chat: Chat, run: Run) -> Reply:
        poor = run.ask(Vote([agent("a"), agent("b")], need=2), chat, budget=Budget(calls=1))
        slow = run.ask(agent("slow", delay=60), chat, budget=Budget(seconds=2))
        replies = await run.all([poor, slow, run.ask(agent("c"), chat)])
        return replies[0]

    result = go(do)
    assert result.text == "c"
    assert {(failure.agent, failure.kind) for failure in result.outcome.missing} >= {
        ("vote", "budget"),
        ("slow", "budget"),
    }
    assert result.seconds == pytest.approx(2)


def test_64_calls_at_once_through_a_budget_of_10() -> None:
    """Reserve, then settle: exactly 10 of 64 calls are made."""
    one = agent("one", delay=1)

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all(run.ask(one, chat) for _ in range(64)))[0]

    result = go(do, budget=Budget(calls=10))
    assert result.usage.calls == 10
    assert sum(isinstance(event, CallStarted) for event in result.trace) == 10


def test_usd_is_never_overspent_and_waits_for_what_is_free_again() -> None:
    """20 calls at once, each 1 USD at the worst and 0.1 in fact, on 2 USD: all are made, two at a time."""
    running = most = 0

    @dataclass
    class Priced:
        name: str = "priced"
        card: Card = Card(price=Price(output=1e6 / 100))  # 0.01 USD a token

        async def complete(self, request: Request) -> Reply:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(1)
            running -= 1
            return Reply("word", usage=Usage(1, 10, output=10))

        async def stream(self, request: Request):  # type: ignore[no-untyped-def]
            yield Delta(reply=await self.complete(request))

        def count(self, text: str) -> int:
            return 10 if text else 0

    priced = ModelAgent(Priced(), "priced", sampling=Sampling(max_tokens=100))

    async def do(chat: Chat, run: Run) -> Reply:
        replies = await run.all(run.ask(priced, chat) for _ in range(20))
        assert len(replies) == 20
        return replies[0]

    result = go(do, budget=Budget(usd=2))
    assert result.usage.usd == pytest.approx(2)
    assert most == 2


def test_output_is_clipped_to_what_is_left() -> None:
    """With nothing else under way, the last call may still write what the purse pays for."""
    long = agent("long", said=lambda request: f"{request.max_tokens}")

    async def do(chat: Chat, run: Run) -> Reply:
        return await run.ask(long, chat)

    assert 0 < int(go(do, budget=Budget(tokens=100)).text) < 100


# ---- streaming and acting


def test_only_the_answer_streams() -> None:
    """Tokens of the ask that is the answer reach the watchers, through every level of nesting; others do not."""
    heard: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Streamed):
            heard.append(event.text)

    async def inner(chat: Chat, run: Run) -> Reply:
        await run.ask(agent("adviser", said="not this"), chat)
        return await run.answer(agent("speaker", said="these three words"), chat)

    async def do(chat: Chat, run: Run) -> Reply:
        return await run.answer(Doing(inner, "inner"), chat)

    assert go(do, stream=True, watchers=[watch]).text == "these three words"
    assert heard == ["these ", "three ", "words"]
    heard.clear()
    go(do, watchers=[watch])
    assert heard == []


def test_randomness_comes_from_the_place() -> None:
    """The same seed and place draw the same numbers; another seed draws others."""

    async def do(chat: Chat, run: Run) -> Reply:
        return Reply(str(run.rng.random()))

    assert go(do, seed=1).text == go(do, seed=1).text != go(do, seed=2).text


# ---- replay of what time decided


@pytest.mark.parametrize(
    "budget",
    [{}, {"calls": 2}, {"calls": 4}, {"seconds": 2.5}, {"seconds": 0.5}, {"tokens": 60}],
    ids=lambda budget: str(budget) or "none",
)
def test_what_time_and_money_decided_replays(budget: dict[str, float]) -> None:
    """Stragglers, hedges, clipped purses and deadlines come out of the trace as they went in, with no call made."""
    members = [agent("a", delay=1), agent("b", delay=2), agent("c", delay=60), agent("d", said=down())]

    async def do(chat: Chat, run: Run) -> Reply:
        asks = [run.ask(members[0], chat), run.ask(members[2], chat, hedge=agent("h", delay=1), after=1)]
        replies = await run.all([*asks, run.ask(members[1], chat), run.ask(members[2], chat)], need=2, grace=0.2)
        run.offer(replies[-1])
        more = await run.all([run.ask(member, chat) for member in members], need=1, grace=0.1)
        return more[-1]

    result = go(do, budget=Budget(**budget))  # type: ignore[arg-type]
    trace = Trace.from_jsonl(result.trace.to_jsonl())
    for member in members:
        member.backend.script = "a call was made"  # type: ignore[attr-defined]
    again = virtual(replay(trace, Doing(do)))
    assert again.reply == result.reply
    assert again.outcome == result.outcome
    assert again.replies == result.replies
    assert (again.usage, again.seconds, again.stopped) == (result.usage, result.seconds, result.stopped)
    assert str(again.error) == str(result.error)


# ---- accounting


def test_wrong_usage_is_replaced_and_kept() -> None:
    """Missing, negative and absurd counts are replaced by our own count, flagged, and kept as reported."""
    claims = [Usage(1, -5, output=3), Usage(1, 0, output=0), Usage(1, 9, output=10**9), Usage(1, 10**9, output=2)]
    for claim in claims:
        reply = Reply("five words are said here", usage=claim)
        result = virtual(perform(agent("odd", said=lambda request, reply=reply: reply), "What?"))
        if claim == Usage(1, 0, output=0):
            assert result.usage.input > 0
        used = result.checked()
        ended = next(event for event in result.trace if isinstance(event, CallEnded))
        assert 0 < result.usage.input < 50
        assert 0 < result.usage.output < 50
        assert ended.reply.reported == claim
        assert any("our own count is used" in warning for warning in result.warnings)
        assert used.text == "five words are said here"


def test_cost_by_agent_adds_up() -> None:
    """What each agent cost adds up to what the run cost, failed and cancelled calls included."""
    members = [agent("a", delay=1), agent("b", delay=90), agent("bad", said=down())]

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all((run.ask(member, chat) for member in members), need=1, grace=0.1))[0]

    result = go(do)
    assert set(result.by_agent) == {"a", "b", "bad"}
    assert sum(result.by_agent.values(), Usage()) == result.usage
    assert result.usage.calls == 3


# ---- at the deadline


def test_a_deadline_takes_what_is_there() -> None:
    """Two of three have answered and the third hangs: at the deadline the vote is taken among the two."""
    members = [agent("a", said="4", delay=1), agent("b", said="4", delay=2), agent("c", said="5", delay=10**6)]
    result = virtual(perform(Vote(members), "2 + 2?", budget=Budget(seconds=3)))
    assert (result.text, result.stopped, result.seconds) == ("4", "seconds", pytest.approx(3))
    assert result.outcome.state == "degraded"
    assert [(failure.agent, failure.kind) for failure in result.outcome.missing] == [("c", "stopped")]
    assert [(reply.agent, reply.state) for reply in result.replies] == [("a", "ok"), ("b", "ok"), ("c", "failed")]


def test_a_deadline_that_leaves_no_time_for_the_aggregator() -> None:
    """The synthesis is not to be had in time, so the plurality is taken, in time."""
    members = [agent("a", said="4", delay=1), agent("b", said="4", delay=1)]
    vote = Vote(members, Synthesize(agent("writer", delay=60)))
    result = virtual(perform(vote, "2 + 2?", budget=Budget(seconds=3)))
    assert (result.text, result.stopped, result.seconds) == ("4", "seconds", pytest.approx(3))
    assert any("synthesis failed" in warning for warning in result.warnings)


def test_what_a_mixture_inside_had_offered_is_not_lost() -> None:
    """A purse that ends while a nested composition is at work: its best offer is its reply."""

    async def inner(chat: Chat, run: Run) -> Reply:
        run.offer(await run.ask(agent("first"), chat))
        return await run.ask(agent("second", delay=60), chat)

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all([run.ask(Doing(inner, "inner"), chat)]))[0]

    for budget in (Budget(calls=1), Budget(seconds=1)):
        limit = "calls" if budget.calls else "seconds"
        result = go(do, budget=budget)
        assert (result.text, result.stopped, result.outcome.state) == ("first", limit, "single")


def test_a_purse_that_cut_a_fan_out_short_is_named() -> None:
    """A vote that the budget reduced to two is degraded, and says by which limit."""
    result = virtual(perform(Vote([agent(name) for name in "abc"]), "What?", budget=Budget(calls=2)))
    assert (result.text, result.stopped, result.outcome.state) == ("a", "calls", "degraded")


def test_what_hangs_outside_a_call_is_cancelled_soon_after() -> None:
    """An agent that waits for something else than a call has a quarter of a second more, then the best is given."""

    async def do(chat: Chat, run: Run) -> Reply:
        run.offer(await run.ask(agent("quick"), chat))
        await asyncio.sleep(10**6)
        raise AssertionError

    result = go(do, budget=Budget(seconds=3))
    assert (result.text, result.stopped, result.seconds) == ("quick", "seconds", pytest.approx(3.25))


def test_no_time_at_all() -> None:
    """A budget of 0 seconds is spent before the first call, also on a clock that begins at 0."""
    result = virtual(perform(agent("a"), "What?", budget=Budget(seconds=0)))
    assert isinstance(result.error, BudgetExceeded)
    assert (result.usage.calls, result.stopped, result.seconds) == (0, "seconds", 0)


def test_a_backend_that_notices_the_deadline_first() -> None:
    """A call that times out because our own time is up is the purse's affair: the agent is not dead for the rest."""
    prompt = agent("prompt", said=lambda request: down("timeout") if request.deadline else "later", delay=1)

    async def do(chat: Chat, run: Run) -> Reply:
        assert await run.all([run.ask(prompt, chat, budget=Budget(seconds=1))], need=0) == []
        return await run.ask(prompt, chat)

    result = go(do)
    assert result.text == "later"
    assert [failure.kind for failure in result.outcome.missing] == ["budget"]


# ---- purses within purses


def test_a_purse_around_the_runs_own_ends_the_run_like_its_own() -> None:
    """The day's purse around the question's: spent, the result is the best offered, not an exception."""

    async def do(chat: Chat, run: Run) -> Reply:
        run.offer(await run.ask(agent("one"), chat))
        return await run.ask(agent("two"), chat)

    day = Budget(calls=1)
    result = go(do, budget=Budget(calls=5, parent=day))
    assert (result.text, result.stopped) == ("one", "calls")
    again = go(do, budget=Budget(calls=5, parent=day))
    assert isinstance(again.error, BudgetExceeded)
    assert again.error.budget is day
    assert day.used.calls == 1


def test_the_clock_of_a_purse_around_the_runs_own_ticks() -> None:
    """Seconds limit a run also when an outer purse has them."""
    result = virtual(perform(agent("slow", delay=60), "What?", budget=Budget(calls=5, parent=Budget(seconds=2))))
    assert (result.stopped, result.seconds) == ("seconds", pytest.approx(2))


def test_a_purse_is_in_one_place() -> None:
    """A purse cannot be taken out of the one it is in, so that no purse around it goes uncharged."""
    day, own = Budget(calls=9), Budget(calls=5)

    async def elsewhere(chat: Chat, run: Run) -> Reply:
        return await run.ask(agent("a"), chat, budget=Budget(calls=5, parent=day))

    with pytest.raises(UsageError, match=r"Budget\(calls=5\) is inside or around another purse already"):
        go(elsewhere)

    async def around(chat: Chat, run: Run) -> Reply:
        async def inner(chat: Chat, run: Run) -> Reply:
            return await run.ask(agent("a"), chat, budget=own)

        return await run.ask(Doing(inner, "inner"), chat, budget=Budget(calls=3))

    with pytest.raises(UsageError, match="inside or around"):
        go(around, budget=own)


def test_one_purse_for_several_asks() -> None:
    """Asks may share a purse in the same place: together they keep to it."""

    async def do(chat: Chat, run: Run) -> Reply:
        purse = Budget(calls=2)
        replies = await run.all([run.ask(agent(name), chat, budget=purse) for name in "abcd"])
        assert [reply.agent for reply in replies] == ["a", "b"]
        return replies[0]

    result = go(do)
    assert result.usage.calls == 2
    assert result.stopped == "", "an ask's own purse is not the run's"


def test_a_call_that_failed_late_is_charged_at_the_worst() -> None:
    """After a cut or a timeout upstream may want its money: the purse holds it back, the report has the prompt."""
    bad = agent("bad", said=down("cut"), price=Price(input=1.0, output=10.0))
    budget = Budget(usd=1)
    result = virtual(perform(bad, "What?", budget=budget))
    assert budget.used.usd == pytest.approx((6 * 1 + 512 * 10) / 1e6)
    assert (result.usage.input, result.usage.output, result.usage.usd) == (6, 0, pytest.approx(6e-6))
    refused = Budget(usd=1)
    virtual(perform(agent("no", said=down("rate_limit"), price=Price(input=1.0)), "What?", budget=refused))
    assert (refused.used.usd, refused.used.calls) == (0, 1)


def test_compute_priced_by_the_second_is_stopped() -> None:
    """A purse of 1 USD, at 0.6 a second and 1 s a call: what it takes is known afterwards, then there is no third."""
    second = agent("second", delay=1, price=Price(second=0.6))

    async def do(chat: Chat, run: Run) -> Reply:
        for _ in range(5):
            run.offer(await run.ask(second, chat))
        raise AssertionError

    result = go(do, budget=Budget(usd=1))
    assert (result.usage.calls, result.stopped) == (1, "usd")
    assert result.usage.usd == pytest.approx(0.6)


# ---- hedges, again


def test_a_bug_in_a_hedged_agent_is_loud() -> None:
    """What a hedged agent's own code raises comes out as it is, and no task is left."""

    async def bug(chat: Chat, run: Run) -> Reply:
        await asyncio.sleep(1)
        raise KeyError("a bug")

    async def do(chat: Chat, run: Run) -> Reply:
        return await run.ask(Doing(bug, "buggy"), chat, hedge=agent("spare", delay=5), after=0)

    with pytest.raises(KeyError, match="a bug"):
        go(do)


@pytest.mark.parametrize("delays", [(1, 5), (5, 1)])
def test_if_both_fail_the_first_draw_says_why(delays: tuple[float, float]) -> None:
    """Whichever of the two fails first, it is the failure of the agent that was asked which is told."""
    first = agent("first", said=down("server"), delay=delays[0])
    spare = agent("spare", said=down("quota"), delay=delays[1])
    result = hedging(first, spare, after=0)
    assert result.outcome.missing[-1].kind == "server"
    assert "server" in str(result.error)


def test_who_answered_is_told_not_who_was_asked() -> None:
    """The hedge answered: it is the one named, in the outcome and in the replies."""
    result = hedging(agent("slow", delay=30), agent("spare", delay=1))
    assert result.outcome.answered == ("spare",)
    assert [(reply.agent, reply.state) for reply in result.replies] == [("slow", "failed"), ("spare", "ok")]


def test_the_first_draw_counts_if_both_come_together() -> None:
    """Of two usable replies in the same moment it is the first draw's, whatever the order of sets."""
    for _ in range(20):
        assert hedging(agent("first", delay=2), agent("spare", delay=1), after=1).text == "first"


def test_a_hedge_that_lost_is_replayed() -> None:
    """A hedge that was started and cancelled is part of the run, and of its replay."""
    first, spare = agent("first", delay=2), agent("spare", delay=60)

    async def do(chat: Chat, run: Run) -> Reply:
        return await run.ask(first, chat, hedge=spare, after=1)

    result = go(do)
    again = virtual(replay(result.trace, Doing(do)))
    assert again.replies == result.replies
    assert [reply.agent for reply in again.replies] == ["first", "spare"]


def test_a_straggler_that_had_answered_is_not_lost() -> None:
    """A hedged ask cancelled in the very moment in which its hedge answers has answered."""
    slow = agent("slow", said=Reply("", finish="length"))

    async def do(chat: Chat, run: Run) -> Reply:
        asks = [run.ask(agent("quick"), chat), run.ask(slow, chat, hedge=agent("spare", delay=0.5))]
        return (await run.all(asks, need=1, grace=0.5))[-1]

    assert go(do).text == "spare"


# ---- calls that are shared, and those that are not


@dataclass
class Obeying:
    """A backend that writes as many words as it may, until its request's deadline."""

    name: str = "obeying"
    card: Card = Card()
    delay: float = 1.0
    requests: list[Request] = field(default_factory=list)

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        await asyncio.sleep(self.delay)
        tokens = min(20, request.max_tokens)
        return Reply("word " * tokens, finish="stop" if tokens == 20 else "length", usage=Usage(1, 5, output=tokens))

    async def stream(self, request: Request):  # type: ignore[no-untyped-def]
        yield Delta(reply=await self.complete(request))

    def count(self, text: str) -> int:
        return len(text.split())


def test_a_reply_that_anothers_purse_cut_is_not_shared() -> None:
    """Two agents send the same request; the purse of the first lets it write 4 words. The second gets all 20."""
    backend = Obeying()
    poor, rich = ModelAgent(backend, "poor"), ModelAgent(backend, "rich")

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all([run.ask(poor, chat, budget=Budget(tokens=9)), run.ask(rich, chat)]))[0]

    result = go(do)
    assert (result.checked().text, result.outcome.answered) == ("word " * 20, ("rich",))
    assert result.usage.calls == 2
    again = virtual(replay(Trace.from_jsonl(result.trace.to_jsonl()), Doing(do)))
    assert (again.reply, again.outcome, len(backend.requests)) == (result.reply, result.outcome, 2)


def test_a_call_that_anothers_deadline_ended_is_made_again() -> None:
    """The first of two that share a call has 1 second, the call takes 3: the second still gets its reply."""
    backend = Obeying(delay=3)
    hasty, patient = ModelAgent(backend, "hasty"), ModelAgent(backend, "patient")

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all([run.ask(hasty, chat, budget=Budget(seconds=1)), run.ask(patient, chat)]))[0]

    result = go(do)
    assert (result.outcome.answered, result.seconds) == (("patient",), pytest.approx(4))
    assert [failure.kind for failure in result.outcome.missing] == ["budget"]


def test_a_refusal_is_shared_and_a_passing_failure_is_not() -> None:
    """Same key, same backend: a refused key fails both at once; after a failure that may pass, the second tries."""
    for kind, calls in (("auth", 1), ("server", 2)):
        backend = Scripted([down(kind), "fine"], name="m", delay=1)
        twins = [ModelAgent(backend, "a"), ModelAgent(backend, "b")]
        result = virtual(perform(Vote(twins), "What?"))
        assert len(backend.requests) == calls
        assert (result.reply is None) == (kind == "auth")


def test_whoever_waits_for_the_purse_does_not_call_the_dead() -> None:
    """Draws of one agent that wait for each other's money are not sent to an endpoint that has just refused it."""
    dear = agent("dear", said=down("auth"), delay=1, price=Price(output=1e6 / 512))
    result = virtual(perform(Vote([dear] * 5), "What?", budget=Budget(usd=1)))
    assert result.usage.calls == 1
    assert {failure.kind for failure in result.error.failures} == {"auth", "dead"}  # type: ignore[union-attr]


def test_shared_calls_replay_whoever_comes_first_then() -> None:
    """In a replay nothing takes time, so another may be first at a shared call: who paid stays the same."""
    backend = Scripted("said", name="m", delay=1)
    first, second = ModelAgent(backend, "first"), ModelAgent(backend, "second")

    async def late(chat: Chat, run: Run) -> Reply:
        await run.ask(agent("other", delay=0.5), chat.note("x"))
        return await run.ask(first, chat)

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all([run.ask(Doing(late, "late"), chat), run.ask(second, chat)]))[0]

    result = go(do)
    assert {reply.agent: reply.seconds for reply in result.replies} == {"other": 0.5, "first": 0.0, "second": 1.0}
    assert virtual(replay(result.trace, Doing(do))).replies == result.replies


# ---- names


def test_two_agents_under_one_name_are_refused() -> None:
    """Their costs and failures could not be told apart."""
    with pytest.raises(UsageError, match="both called 'same'"):
        virtual(perform(Vote([ModelAgent(Scripted(name, name=name), "same") for name in "ab"]), "What?"))

    async def do(chat: Chat, run: Run) -> Reply:
        await run.all([run.ask(agent("x", said=down()), chat)], need=0)
        return await run.ask(ModelAgent(Scripted("fine", name="other"), "x"), chat)

    with pytest.raises(UsageError, match="both called 'x'"):
        go(do)


def test_odd_names_keep_their_places() -> None:
    """Names with the signs of paths, with nothing in them, or alike once those are replaced do not mix up."""
    names = ["a/b", "a_b", "a#b", "", "~", ".0", "a\n\x00\u2028", "\ud800"]
    vote = Vote([agent(name, said=str(place)) for place, name in enumerate(names)], name="v/o#t~e")
    result = virtual(perform(vote, "What?"))
    check_trace(result.trace)
    assert [reply.agent for reply in result.replies] == names
    assert result.outcome.state == "full"
    text = result.trace.to_jsonl()
    assert Trace.from_jsonl(text).to_jsonl() == text


def test_the_same_agent_many_times_and_deep() -> None:
    """A mixture of itself, six deep, and one agent forty times: it ends, and every draw is counted."""
    one = agent("one", said=lambda request: request.draw or "first")
    nested = Vote([one], name="v0")
    for depth in range(1, 6):
        nested = Vote([nested, one], name=f"v{depth}")
    assert virtual(perform(nested, "What?")).text == "first"
    assert virtual(perform(Vote([one] * 40), "What?")).usage.calls == 40


# ---- odd words


@settings(max_examples=40)
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=[])), min_size=2, max_size=3), st.text(min_size=1))
def test_any_text_goes_through(said: list[str], question: str) -> None:
    """Whatever members say and users ask (surrogates, NUL, separators): it is traced, read back and replayed."""
    members = [agent(f"m{place}", said=lambda request, text=text: text) for place, text in enumerate(said)]
    vote = Vote(members, Synthesize(agent("writer", said=lambda request: request.messages[-1].text)))
    result = virtual(perform(vote, f"? {question}"))
    trace = Trace.from_jsonl(result.trace.to_jsonl())
    assert trace.events == result.trace.events
    assert virtual(replay(trace, vote)).reply == result.reply


def test_a_megabyte_goes_through() -> None:
    """A question and replies of a megabyte each are asked, counted, voted on and replayed."""
    long = "word " * 200_000
    vote = Vote([agent("a", said=long), agent("b", said=long)])
    result = virtual(perform(vote, long))
    assert result.text == long
    assert virtual(replay(Trace.from_jsonl(result.trace.to_jsonl()), vote)).reply == result.reply


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), -1.0])
def test_numbers_that_json_does_not_know(number: float) -> None:
    """What a backend reports as dollars, seconds or probabilities can always be written down and read."""
    from motet.message import Token

    usage = Usage(1, 8, output=2, usd=number, seconds=number)
    reply = Reply("odd", usage=usage, logprobs=(Token("odd", number, (("even", number),)),))
    result = virtual(perform(agent("odd", said=reply), "What?"))
    trace = Trace.from_jsonl(result.trace.to_jsonl())
    assert trace.events == result.trace.events
    assert result.usage.usd == 0
    assert result.usage.seconds == 0
    assert any("USD reported" in warning for warning in result.warnings)


# ---- outcomes


def test_an_agent_of_plain_python_answers_too() -> None:
    """Who asks nobody is a single agent, with its reply among the members' and its name among those who answered."""

    async def four(chat: Chat, run: Run) -> Reply:
        return Reply("4")

    result = virtual(
        perform(Vote([Doing(four, "python"), agent("model", said="4"), agent("x", said=down())]), "2 + 2?")
    )
    assert result.outcome.answered == ("model", "python")
    assert result.outcome.state == "degraded"
    assert [(reply.agent, reply.text) for reply in result.replies][:2] == [("python", "4"), ("model", "4")]


def test_everybody_abstains() -> None:
    """Nobody has anything to say: a failure that says so, with nobody missing."""
    mute = [agent(name, said=Reply("", finish="abstain")) for name in "ab"]
    result = virtual(perform(Vote(mute), "What?"))
    assert str(result.error) == "0 usable replies, 1 needed — a: abstained; b: abstained"
    assert (result.outcome.state, result.outcome.abstained) == ("failed", ("a", "b"))
    alone = virtual(perform(mute[0], "What?"))
    assert "nothing to say" in str(alone.error)


def test_a_forwarded_failure_replays() -> None:
    """A composition that passes on the failure of a dead, late or poor member fails in a replay for the same reason."""
    dead = agent("dead", said=down())

    async def forward(chat: Chat, run: Run) -> Reply:
        await run.all([run.ask(dead, chat)], need=0)
        return await run.ask(dead, chat)

    async def late(chat: Chat, run: Run) -> Reply:
        await run.all([run.ask(agent("slow", delay=60), chat), run.ask(agent("q"), chat)], need=0, grace=1)
        raise TooFewReplies(1, 0, run.missing, run.abstained)

    async def poor(chat: Chat, run: Run) -> Reply:
        return await run.ask(agent("a"), chat, budget=Budget(calls=0))

    for do in (forward, late, poor):
        result = go(do)
        again = virtual(replay(result.trace, Doing(do)))
        assert (str(again.error), again.outcome) == (str(result.error), result.outcome)
        assert result.outcome.state == "failed"


def test_too_few_because_of_the_purse_says_so() -> None:
    """A composition that takes what comes and then has nothing tells that it was the money."""

    async def do(chat: Chat, run: Run) -> Reply:
        await run.all([run.ask(agent("a"), chat)], need=0)
        raise TooFewReplies(1, 0, run.missing, run.abstained)

    result = go(do, budget=Budget(calls=0))
    assert "a: stopped: the budget of 0 calls is spent" in str(result.error)
    assert result.stopped == "calls"


# ---- cancelling


def test_a_cancelled_run_says_stopped_not_late() -> None:
    """Ctrl-C and a client that leaves are no stragglers."""
    events: list[Event] = []

    async def work() -> None:
        task = asyncio.ensure_future(perform(Vote([agent("a", delay=9)]), "What?", watchers=[events.append]))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    virtual(work())
    check_trace(events)
    kinds = {event.failure.kind for event in events if isinstance(event, AskFailed)}
    kinds |= {event.kind for event in events if isinstance(event, CallFailed)}
    assert kinds == {"stopped"}


def test_many_stragglers_are_waited_for_in_no_time() -> None:
    """Grace costs the same for each ask, however many there are."""
    one = agent("one", delay=1, said=lambda request: "x")

    async def do(chat: Chat, run: Run) -> Reply:
        return (await run.all((run.ask(one, chat) for _ in range(2000)), need=1500, grace=1))[0]

    import time

    began = time.process_time()
    assert go(do).usage.calls == 2000
    assert time.process_time() - began < 5


def test_parts_fail_in_their_order() -> None:
    """Of several parts that fail it is the first in order whose failure is raised, whoever is faster; a bug is loud."""

    async def do(chat: Chat, run: Run) -> Reply:
        async def slow(part: Run) -> Reply:
            return await part.ask(agent("slow", said=down(), delay=5), chat)

        async def quick(part: Run) -> Reply:
            raise TooFewReplies(9, 0)

        return (await run.parts([slow, quick]))[0]

    assert "slow: server" in str(go(do).error)

    async def buggy(chat: Chat, run: Run) -> Reply:
        async def work(part: Run) -> Reply:
            raise KeyError("a bug")

        return (await run.parts([work]))[0]

    with pytest.raises(KeyError, match="a bug"):
        go(buggy)


def test_a_watcher_that_fails_leaves_nothing_open() -> None:
    """What a watcher raises is loud; the stream it interrupted is closed, and the purse has its reservation back."""
    closed: list[bool] = []

    @dataclass
    class Streaming(Obeying):
        async def stream(self, request: Request):  # type: ignore[no-untyped-def]
            try:
                yield Delta(text="one ")
                yield Delta(text="two")
                yield Delta(reply=Reply("one two", usage=Usage(1, 5, output=2)))
            finally:
                closed.append(True)

    def watch(event: Event) -> None:
        if isinstance(event, Streamed if stream else CallStarted):
            raise KeyError("a bug")

    for stream in (True, False):
        budget = Budget(tokens=1000)
        with pytest.raises(KeyError, match="a bug"):
            virtual(perform(ModelAgent(Streaming(), "a"), "What?", stream=stream, watchers=[watch], budget=budget))
        check_settled(budget)
    assert closed == [True]
