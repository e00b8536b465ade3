"""Compositions nest: a committee whose members are mixtures themselves, with one budget and one trace for all.

    python examples/nested.py

It runs on the embedded models: `make models` fetches them.
"""

import motet
from motet import Agent, Agreement, Budget, Cascade, Plurality, SelfMoA, Vote
from motet.compose.committee import Committee
from motet.spec import load
from motet.view import tree

QUESTION = "What is 17 + 25?"


def main(chat: Agent, few_shot: Agent, calculator: Agent, reviewer: Agent) -> None:
    """Build it, say what it would take at most, ask it, and show who was asked."""
    members: list[Agent] = [
        SelfMoA(chat, draws=2, name="draws made one"),
        Vote([chat, few_shot, calculator], Plurality({calculator.name: 3}), name="panel"),
        Cascade([few_shot, calculator], Agreement([calculator]), name="cheap first"),
    ]
    committee = Committee(members, reviewer, votes=1, explain=False)
    cost = motet.estimate(committee, QUESTION)
    print(f"at most {cost.calls} calls, {cost.depth} in series")
    result = motet.ask(QUESTION, committee, budget=Budget(calls=cost.calls))
    print(tree(result.trace))
    print(f"{result.text.strip()!r} after {result.usage.calls} calls; {result.outcome.state}")


if __name__ == "__main__":
    config = load()  # the reviewer is a very small model: it grades hardly better than chance
    names = ("smollm2-chat", "smollm2-few-shot", "calculator", "smollm2-office")
    main(*map(config.agent, names))
