"""OneFlow: roles as turns of one conversation, whose prompts begin with the whole of the one before."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from acting import Doing, agent, down
from test_compose import ask, calls, shape

from motet import Budget, Chat, ModelAgent, Reply, Run, hear, perform
from motet.backend import prompt_tokens
from motet.backends.simulated import Simulated, World
from motet.clock import run_virtual
from motet.compose.one_flow import ROLES, OneFlow
from motet.errors import TooFewReplies, UsageError
from motet.message import Message, Request
from motet.outcome import Result

TEAM = ("Plan it.", "Solve it.", "Check it.", "Write the reply.")


def echoing() -> ModelAgent:
    """An agent that numbers its turns."""
    return agent("one", said=lambda request: f"turn {len(request.messages) // 2}")


def test_shape() -> None:
    """One call a role, all in series."""
    assert shape(OneFlow(agent("a"))) == (len(ROLES), len(ROLES))
    assert shape(OneFlow(agent("a"), TEAM)) == (4, 4)


def test_every_prompt_begins_with_the_whole_of_the_one_before() -> None:
    """And goes on with the reply to it, as the agent's own turn, and the next role."""
    result = ask(OneFlow(echoing(), TEAM))
    prompts = [call.request.messages for call in calls(result)]
    assert prompts[0] == (Message("user", "What?\n\nPlan it."),)
    for turn, (before, after) in enumerate(pairwise(prompts)):
        assert after == (*before, Message("assistant", f"turn {turn}"), Message("user", TEAM[turn + 1]))
    assert result.text == "turn 3"


def test_the_conversation_before_stays_in_front() -> None:
    """Earlier turns, system words and examples are part of the shared beginning."""
    chat = Chat.of([Message("system", "Be kind."), Message("user", "I am Ann."), Message("user", "Who am I?")])
    prompts = [call.request.messages for call in calls(run_virtual(perform(OneFlow(echoing()), chat)))]
    assert all(after[: len(before)] == before for before, after in pairwise(prompts))
    assert prompts[0][0] == Message("system", "Be kind.")


def test_what_was_heard_before_stays_in_front() -> None:
    """As a member of a mixture it hears others in one order in all its turns; a letter that one has stays its own."""
    said = [Reply(f"r{place}", id=f"id{place}") for place in range(6)]
    chat = hear(hear(Chat.of("r1"), said[:5], "Others:"), said[5:], labels=["B"])
    first, *later = calls(run_virtual(perform(OneFlow(echoing()), chat)))
    assert all(call.request.messages[: len(first.request.messages)] == first.request.messages for call in later)
    shown = re.findall(r'<reply id="(\w+)">\n(\w+)', first.request.text)
    assert [letter for letter, _ in shown] == ["A", "C", "D", "E", "F", "B"]
    assert sorted(text for _, text in shown) == [reply.text for reply in said]
    assert shown[-1] == ("B", "r5")
    assert set(first.heard) == {reply.id for reply in said}


def separately(model: ModelAgent) -> Doing:
    """The same roles as agents of their own: each told its role first, and hearing what those before it said."""

    async def do(chat: Chat, run: Run) -> Reply:
        said: list[Reply] = []
        for place, role in enumerate(TEAM):
            member = ModelAgent(model.backend, f"role {place}", system=role)
            said += await run.all([run.ask(member, hear(chat, said))])
        return said[-1]

    return Doing(do)


@pytest.mark.parametrize("tokens", [20, 200])
def test_the_reused_prefix_saves_what_is_predicted(tokens: int) -> None:
    """The backend reports as cached, to the token, each prompt but the last and the reply to it (n = 50, seed 2)."""
    world = World(seed=2)
    model = Simulated("m", world, tokens=tokens, tokens_sigma=0.2, reuses_prefix=True)
    one = ModelAgent(model, "one")
    questions = world.questions(50)

    async def asked(agent: OneFlow | Doing) -> list[Result]:
        return [await perform(agent, question.text) for question in questions]

    flow, apart = run_virtual(asked(OneFlow(one, TEAM))), run_virtual(asked(separately(one)))
    prompts = predicted = 0
    for result in flow:
        for before, after in pairwise(call.request for call in calls(result)):
            reply = after.messages[len(before.messages)]
            prompts += prompt_tokens(model, before)
            predicted += prompt_tokens(model, Request("m", (*before.messages, reply)))
    read, cached = sum(result.usage.input for result in flow), sum(result.usage.cached for result in flow)
    assert cached == predicted
    assert sum(result.usage.cached for result in apart) == 0, "another role in front, and nothing can be reused"
    fresh, paid = read - cached, sum(result.usage.input for result in apart)
    # of all prompt tokens: the prompts before each; these and the replies to them; and compared with roles apart
    shares = (prompts / read, cached / read, 1 - fresh / paid)
    assert shares == pytest.approx({20: (0.559, 0.853, 0.846), 200: (0.511, 0.973, 0.973)}[tokens], abs=0.002)


def test_a_role_that_fails_is_passed_over() -> None:
    """The next role goes on from what there is; the last reply that was given is the answer; both are noted."""
    shy = agent("shy", said=lambda request: down("context_length") if "Solve" in request.text else "said")
    result = ask(OneFlow(shy, TEAM[:2]))
    assert result.text == "said"
    assert "role 2 of 2 gave no reply" in result.warnings[0]
    mute = agent("mute", said=lambda request: Reply("", finish="abstain") if len(request.messages) == 1 else "said")
    assert isinstance(ask(OneFlow(mute, TEAM)).error, TooFewReplies)


def test_a_spent_purse_gives_the_last_turn() -> None:
    """The work so far is better than nothing."""
    result = ask(OneFlow(echoing(), TEAM), budget=Budget(calls=2))
    assert (result.text, result.stopped) == ("turn 1", "calls")


def test_what_makes_no_sense() -> None:
    """No roles, or one without words: refused."""
    with pytest.raises(UsageError, match="at least 1 roles"):
        OneFlow(agent("a"), ())
    with pytest.raises(UsageError, match="role without words"):
        OneFlow(agent("a"), ("Plan it.", " "))
