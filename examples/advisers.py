"""Reliabilities learned from outcomes: who was right so far counts more, by Bayes' rule, until it outweighs the rest.

    python examples/advisers.py

It runs on the embedded models: `make models` fetches them.
"""

from collections.abc import Sequence

import motet
from motet import Agent, Reply, Vote
from motet.compose.advisers import Advisers, answers, learned
from motet.spec import load

GRADED = {"What is 12 * 3?": "36", "What is 7 + 8?": "15", "What is 81 / 9?": "9", "What is 14 * 6?": "84"}
QUESTION = "What is 17 * 23?"


def main(advisers: Sequence[Agent]) -> None:
    """Ask questions whose answers come out, count who was right, show what is known of each, and ask one more."""
    state: dict[str, tuple[float, float]] = {}
    for question, truth in GRADED.items():
        said = [
            Reply(reply.text, agent=reply.agent)
            for reply in motet.ask(question, Advisers(advisers, state)).replies
            if reply.state == "ok"
        ]
        state = learned(state, answers(said, question), truth)
    for name, (right, wrong) in state.items():
        print(f"{name:18} right in {right / (right + wrong):.0%}, from {right + wrong:g} counts")
    print("a plain vote says", motet.ask(QUESTION, Vote(advisers)).text.strip())
    print("the advisers say", motet.ask(QUESTION, Advisers(advisers, state)).text.strip())


if __name__ == "__main__":
    main([load().agent(name) for name in ("smollm2-chat", "smollm2-few-shot", "gemma3-few-shot", "calculator")])
