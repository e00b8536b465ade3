"""Relay: the stronger leads, the weaker finishes."""

from __future__ import annotations

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Agreement, Budget, Exact, Judge, Logprob, ModelAgent, Reply, Sampling, perform
from motet.backends.simulated import Simulated, World
from motet.clock import run_virtual
from motet.compose.relay import LEAD, Relay
from motet.errors import TooFewReplies, UsageError
from motet.outcome import Result
from motet.run import Agent

STRONG = agent("strong", said="It begins so")
WEAK = agent("weak", said=lambda request: "finished" if "<reply" in request.text else "alone")


def test_shapes() -> None:
    """Two calls in series; with a score, the weaker's own and the score as well."""
    assert shape(Relay(STRONG, WEAK)) == (2, 2)
    assert shape(Relay(STRONG, WEAK, Judge(agent("j")))) == (4, 4)


def test_the_weaker_hears_the_beginning() -> None:
    """The stronger is told to give the beginning only; the weaker hears it, fenced, and its reply is given."""
    result = ask(Relay(STRONG, WEAK))
    lead, finish = calls(result)
    assert (lead.agent, finish.agent, result.text) == ("strong", "weak", "finished")
    assert LEAD in lead.request.text
    assert heard(finish) == ["It begins so"]
    assert "It begins so" not in lead.request.text


def test_a_beginning_that_was_cut_is_used() -> None:
    """Asked the bare question, the stronger's limit makes the hint of its reply: the paper's form."""
    cut = agent("strong", said=Reply("It begins", finish="length"))
    result = ask(Relay(cut, WEAK, lead=""))
    assert calls(result)[0].request.text == "What?"
    assert (heard(calls(result)[1]), result.text) == (["It begins"], "finished")


def test_the_reactive_form_leads_only_where_it_must() -> None:
    """The weaker's own reply is given if it scores enough."""
    result = ask(Relay(STRONG, WEAK, Exact(["alone"])))
    assert (result.text, result.usage.calls) == ("alone", 1)
    result = ask(Relay(STRONG, WEAK, Exact(["other"])))
    assert (result.text, [call.agent for call in calls(result)]) == ("finished", ["weak", "strong", "weak"])
    result = ask(Relay(STRONG, WEAK, Judge(agent("judge", said="Hm."))))
    assert result.text == "finished", "a judgement that can't be read accepts nothing"


@pytest.mark.parametrize("led", [down(), Reply("", finish="abstain"), " ", Reply(" ", finish="length")], ids=str)
def test_without_the_stronger_the_weaker_answers_alone(led: object) -> None:
    """Noted; in the reactive form its first reply stands."""
    result = ask(Relay(agent("strong", said=lambda request: led), WEAK))
    assert result.text == "alone"
    assert "did not lead" in result.warnings[0]
    result = ask(Relay(agent("strong", said=lambda request: led), WEAK, Exact(["other"])))
    assert (result.text, [call.agent for call in calls(result)]) == ("alone", ["weak", "strong"])


def test_without_the_weaker_the_hint_is_given() -> None:
    """Unless it was cut: then the weaker's first reply, or a clear error."""
    dead = agent("weak", said=down())
    result = ask(Relay(STRONG, dead))
    assert result.text == "It begins so"
    assert "did not finish" in result.warnings[0]
    cut = agent("strong", said=lambda request: Reply("It begins", finish="length"))
    assert isinstance(ask(Relay(cut, dead)).error, TooFewReplies)
    once = agent("weak", said=lambda request: down() if "<reply" in request.text else "alone")
    assert ask(Relay(cut, once, Exact(["other"]))).text == "alone"
    assert isinstance(ask(Relay(agent("strong", said=down()), dead)).error, TooFewReplies)


def test_a_spent_purse_gives_what_there_is() -> None:
    """The hint, if nothing else."""
    result = ask(Relay(STRONG, WEAK), budget=Budget(calls=1))
    assert (result.text, result.stopped) == ("It begins so", "calls")
    result = ask(Relay(STRONG, WEAK, Exact(["other"])), budget=Budget(calls=1))
    assert (result.text, result.stopped) == ("alone", "calls")


def test_thresholds_that_make_no_sense() -> None:
    """Scores are from 0 to 1."""
    with pytest.raises(UsageError, match="from 0 to 1"):
        Relay(STRONG, WEAK, Agreement([WEAK]), accept=2)


def test_led_by_the_stronger_the_weaker_is_better() -> None:
    """Right in 5 of 10 alone, in 8 of 10 led by one right in 9 of 10; reactive, for fewer leads (n = 200, seed 4)."""
    world = World(seed=4)
    strong = ModelAgent(Simulated("strong", world, accuracy=0.9), "strong")
    model = Simulated("weak", world, accuracy=0.5, discrimination=0.7, auroc=0.9)
    weak = ModelAgent(model, "weak", sampling=Sampling(logprobs=1))
    questions = world.questions(200)

    def asked(agent: Agent) -> tuple[float, int]:
        """Accuracy, and how often the stronger was asked."""

        async def work() -> list[Result]:
            return [await perform(agent, question.text) for question in questions]

        results = run_virtual(work())
        right = sum(q.answer_in(r.text) == q.gold for q, r in zip(questions, results, strict=True))
        return right / 200, sum(call.agent == "strong" for result in results for call in calls(result))

    alone, _ = asked(weak)
    led, leads = asked(Relay(strong, weak))
    reactive, fewer = asked(Relay(strong, weak, Logprob(), accept=0.7))
    assert (alone, led, reactive) == pytest.approx((0.51, 0.845, 0.82))
    assert (leads, fewer) == (200, 122)
