"""Mixture-of-Agents by the layer: who is asked in which, and what each hears of those before."""

from __future__ import annotations

import pytest
from acting import agent, down
from test_compose import ask, calls, heard, shape

from motet import Budget, MixtureOfAgents, ModelAgent, Plurality, Synthesize
from motet.errors import UsageError
from motet.message import Request
from motet.spec import build, describe

A, B, C, D = (agent(name) for name in "abcd")


def teller(name: str) -> ModelAgent:
    """An agent that says its name and how many replies it heard."""
    return agent(name, said=lambda request: f"{name}{request.text.count('<reply id=')}")


def test_residual_history_is_heard() -> None:
    """With `residual` every layer and the aggregator hear all earlier layers; without, only the one before."""
    p, q = teller("p"), teller("q")
    result = ask(MixtureOfAgents([p, q], Synthesize(agent("writer")), layers=3, residual=True))
    told = [sorted(heard(call)) for call in calls(result)]
    first, second, third = ["p0", "q0"], ["p2", "q2"], ["p4", "q4"]
    both = sorted(first + second)
    assert told == [[], [], first, first, both, both, sorted(both + third)]
    plain = ask(MixtureOfAgents([p, q], Synthesize(agent("writer")), layers=3))
    assert [len(heard(call)) for call in calls(plain)] == [0, 0, 2, 2, 2, 2, 2]


def test_residual_takes_no_more_calls() -> None:
    """The history makes prompts longer, and nothing else."""
    assert shape(MixtureOfAgents([A, B, C], Synthesize(A), layers=3, residual=True)) == (10, 4)


def test_a_vote_over_the_history_counts_every_layer() -> None:
    """The last layer's answer comes first where votes are tied, and the earlier layers vote too."""
    turning = agent("t", said=lambda request: "5" if "<reply" in request.text else "4")
    assert ask(MixtureOfAgents([turning], Plurality(), residual=True)).text == "5"
    firm = agent("f", said="4")
    assert ask(MixtureOfAgents([turning, turning, firm], Plurality(), residual=True)).text == "4"
    assert ask(MixtureOfAgents([turning, turning, firm], Plurality())).text == "5"


def test_layers_have_agents_of_their_own() -> None:
    """Layers are asked whom `later` gives for them, and `proposers` where it gives nobody."""
    result = ask(MixtureOfAgents([A, B], Synthesize(D), layers=4, later=[[C], []]))
    assert [call.agent for call in calls(result)] == ["a", "b", "c", "a", "b", "a", "b", "d"]
    assert [sorted(heard(call)) for call in calls(result)] == [
        [], [], ["a", "b"], ["c"], ["c"], ["a", "b"], ["a", "b"], ["a", "b"],
    ]  # fmt: skip


@pytest.mark.parametrize("layers", [1, 2])
def test_agents_for_layers_that_are_not_there(layers: int) -> None:
    """Proposers for more layers than there are: refused, with the number that is needed."""
    with pytest.raises(UsageError, match="give layers=3"):
        MixtureOfAgents([A], Plurality(), layers=layers, later=[[B], [C]])


def test_layers_are_written_down_and_read_back() -> None:
    """Proposers by layer are lists of names in a document, and make an equal mixture again."""
    made = MixtureOfAgents((A, B), Synthesize(D), layers=3, later=((C,), (A, D)), residual=True)
    document = describe(made)
    written = document["mixtures"]["moa"]  # type: ignore[index]
    assert written["later"] == [["c"], ["a", "d"]]
    models = {each.backend.name: each.backend for each in (A, B, C, D)}
    assert build(document, models=models) == made
    assert "later" not in describe(MixtureOfAgents((A, B), Synthesize(D)))["mixtures"]["moa"]  # type: ignore[index]


def test_a_layer_in_which_everybody_fails() -> None:
    """The layers before it stand, in both forms, and who is dead is not asked again."""

    def short(request: Request) -> object:
        return down("context_length") if "<reply" in request.text else "4"

    stubborn = agent("s", said=short)
    for residual in (False, True):
        result = ask(MixtureOfAgents([A, B], Synthesize(C), layers=3, later=[[stubborn]], residual=residual))
        assert [sorted(heard(call)) for call in calls(result)][-3:] == (
            [["a", "b"], ["a", "b"], ["a", "a", "b", "b"]] if residual else [["a", "b"]] * 3
        )
        assert any("nobody answered in layer 2" in warning for warning in result.warnings)
    dead = agent("dead", said=down("auth"))
    result = ask(MixtureOfAgents([A, dead], Synthesize(C), residual=True))
    assert (result.text, result.outcome.state) == ("c", "degraded")
    assert [call.agent for call in calls(result)] == ["a", "dead", "a", "c"]


def test_the_best_so_far_is_given_when_the_money_ends() -> None:
    """A budget that ends in a later layer leaves the reply of the layer before."""
    result = ask(MixtureOfAgents([teller("p"), teller("q")], Synthesize(C), layers=3), budget=Budget(calls=4))
    assert (result.text, result.stopped) == ("p2", "calls")


def test_grace_in_every_layer() -> None:
    """The slow are not waited for in later layers either."""
    slow = agent("slow", delay=60)
    result = ask(MixtureOfAgents([A], Synthesize(C), later=[[B, slow]], grace=1))
    assert result.seconds == pytest.approx(1)
    assert heard(calls(result)[-1]) == ["b"]
