"""Two institutions of the same agents: a chain of command, and a council whose draft all citizens vote on.

    python examples/institution.py

Rules stand in for models: each official answers by itself, and consents to whatever it would have said.
"""

import asyncio
import random

from motet import ModelAgent, Request, Scripted, perform
from motet.compose.institution import Institution


def official(seat: int, skill: float) -> ModelAgent:
    """One that is right about a question with this chance, whenever it is asked about it."""

    def said(call: Request) -> str:
        number = call.messages[0].text.split()[1]
        own = f"the answer is {'blue' if random.Random(f'{seat} {number}').random() < skill else 'red'}"
        consent = "Verdict: clean" if own in call.text else "Verdict: reject"
        return consent if "needs your consent" in call.text else own

    return ModelAgent(Scripted(said, name=f"m{seat}"), f"official {seat}")


def main(questions: int = 100) -> None:
    """How often each institution is right, of good officials and of poor ones, and what it takes."""
    for skill in (0.75, 0.3):
        officials = [official(seat, skill) for seat in range(5)]
        for institution in (Institution(officials, "qin_han"), Institution(officials, "athens")):
            asked = [asyncio.run(perform(institution, f"Question {n} : red or blue?")) for n in range(questions)]
            right = sum(each.text == "the answer is blue" for each in asked)
            calls = sum(each.usage.calls for each in asked) / questions
            print(f"skill {skill}  {institution.institution:8} {right:3} right  {calls:4.1f} calls each")


if __name__ == "__main__":
    main()
