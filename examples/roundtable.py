"""Weights learned from graded history: who was right on which topic decides whose vote counts how much there.

    python examples/roundtable.py

It runs on the embedded models: `make models` fetches them.
"""

from collections.abc import Sequence

import motet
from motet import Agent, Vote
from motet.answer import right
from motet.bench.suite import load_suite
from motet.compose.roundtable import Roundtable, learn
from motet.spec import load

QUESTION = "Arithmetic: what is 17 * 23?"  # the topic is found by its name


def main(players: Sequence[Agent], n: int = 12) -> None:
    """Grade the players on n questions, show the table that makes, and ask with it."""
    graded = []
    for task in load_suite("general", n=n).tasks:
        for reply in motet.ask(task.input, Vote(players)).replies:
            if reply.state == "ok":  # who abstains has not erred
                graded.append((reply.agent, task.topic, float(right(reply.text, task.target, task.input))))
    table = Roundtable(players, learn(graded, classes=len(players)))  # so many different answers at most
    for player, row in table.table.items():
        print(f"{player:18}", "  ".join(f"{topic} {weight:+.1f}" for topic, weight in row.items()))
    print("a plain vote says", motet.ask(QUESTION, Vote(players)).text.strip())
    print("the roundtable says", motet.ask(QUESTION, table).text.strip())


if __name__ == "__main__":
    config = load()
    main([config.agent(name) for name in ("smollm2-chat", "smollm2-few-shot", "gemma3-few-shot", "calculator")])
