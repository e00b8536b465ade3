"""The run: numbering, quorum, stragglers, hedges, single flight, offers, outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TypeVar

import pytest

from motet import Budget, Chat, ModelAgent, Reply, Run, Scripted, Usage, Vote, perform
from motet.backend import Card, Price
from motet.clock import run_virtual
from motet.errors import AgentFailed, BackendError, BudgetExceeded, TooFewReplies, UsageError
from motet.message import Delta, Request, Sampling
from motet.outcome import Result
from motet.replay import replay
from motet.trace import AskFailed, CallEnded, CallFailed, CallStarted, Event, Hedged, Streamed, Trace

T = TypeVar("T")


@dataclass(frozen=True)
class Doing:
    """An agent that does what a function says."""

    do: Callable[[Chat, Run], Awaitable[Reply]]
    name: str = "doing"

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        return await self.do(chat, run)


def agent(name: str, said: object = None, delay: float = 0.0, **card: object) -> ModelAgent:
    """A scripted agent that says its own name, or what is given."""
    script = name if said is None else said
    backend = Scripted(
        script if isinstance(script, str) or callable(script) else [script], name=f"m-{name}", delay=delay
    )  # type: ignore[list-item,arg-type]
    if card:
        backend.card = Card(**card)  # type: ignore[arg-type]
    return ModelAgent(backend, name)


def go(do: Callable[[Chat, Run], Awaitable[Reply]], **options: object) -> Result:
    """Perform a function as an agent, in virtual time."""
    return virtual(perform(Doing(do), "What?", **options))  # type: ignore[arg-type]


def virtual(work: Coroutine[object, object, T]) -> T:
    """Run in virtual time."""
    return run_virtual(work)


def down(kind: str = "server") -> BackendError:
    """A failing backend's error."""
    return BackendError(kind, "down", status=503)  # type: ignore[arg-type]


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
