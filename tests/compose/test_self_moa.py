"""Self-MoA through a window: what of it is the answer, what becomes of a synthesis that fails, and of a spent purse."""

from __future__ import annotations

from acting import agent, down
from test_compose import ask, calls, heard

from motet import Budget, ModelAgent, SelfMoA
from motet.message import Request
from motet.trace import Event, Streamed


def folding(*syntheses: object) -> ModelAgent:
    """An agent that draws d1, d2 and so on, and makes these of what it hears."""
    drawn, made = iter(range(1, 100)), iter(syntheses)
    return agent("one", said=lambda request: next(made) if "<reply" in request.text else f"d{next(drawn)}")


def test_only_the_last_synthesis_is_streamed() -> None:
    """What is made on the way is no answer: no client sees it, and each window hears the synthesis before it."""
    words: list[str] = []

    def watch(event: Event) -> None:
        words.extend([event.text] if isinstance(event, Streamed) else [])

    one = folding("s1", "s2", "s3")
    result = ask(SelfMoA(one, draws=9, window=4, kept=1), stream=True, watchers=[watch])
    assert ("".join(words), result.text) == ("s3", "s3")
    assert [sorted(heard(call)) for call in calls(result)[9:]] == [
        ["d1", "d2", "d3", "d4"], ["d5", "d6", "d7", "s1"], ["d8", "d9", "s2"],
    ]  # fmt: skip


def test_a_synthesis_on_the_way_that_fails() -> None:
    """The most frequent answer stands for it in the next window, and that is noted."""
    result = ask(SelfMoA(folding(down("context_length"), "s2"), draws=3, window=2, kept=1))
    assert (result.text, sorted(heard(calls(result)[-1]))) == ("s2", ["d1", "d3"])
    assert any("a synthesis on the way failed" in warning for warning in result.warnings)


def test_the_synthesis_so_far_is_given_when_the_money_ends() -> None:
    """A budget that ends between two windows leaves what the first gave."""
    result = ask(SelfMoA(folding("s1"), draws=3, window=2, kept=1), budget=Budget(calls=4))
    assert (result.text, result.stopped) == ("s1", "calls")


def test_draws_that_are_alike_are_drawn_and_heard_apart() -> None:
    """Two windows that read the same are two draws of the aggregator."""

    def same(request: Request) -> str:
        return "4"

    result = ask(SelfMoA(agent("one", said=same), draws=3, window=2, kept=1))
    assert len({call.key for call in calls(result)}) == result.usage.calls == 5
