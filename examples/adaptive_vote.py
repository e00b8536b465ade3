"""A vote that stops once it is decided: it asks little where an agent agrees with itself, and on where it does not.

    python examples/adaptive_vote.py

It runs on an embedded model: `make models` fetches it.
"""

import motet
from motet import Agent, Vote
from motet.compose.adaptive_vote import AdaptiveVote
from motet.spec import load

QUESTIONS = ("What is the capital of France?", "Who painted The Starry Night?", "Name an animal.")
DRAWS = 12


def main(agent: Agent) -> None:
    """Put each question to the full vote and to the one that stops; the draws are the same."""
    saved = 0
    for question in QUESTIONS:
        full = motet.ask(question, Vote([agent] * DRAWS))
        adaptive = motet.ask(question, AdaptiveVote([agent] * DRAWS))
        saved += full.usage.calls - adaptive.usage.calls
        print(question)
        for what, result in (("all", full), ("adaptive", adaptive)):
            print(f"    {what:9}{result.usage.calls:3} calls  {result.text.strip()}")
    print(f"{saved} of {DRAWS * len(QUESTIONS)} calls saved")


if __name__ == "__main__":
    main(load().agent("smollm2-chat"))
