"""A trial over documents: each side looks up evidence, the court admits some, and a judge who does not know whose
answer is whose decides. Rules stand in for models, so that it runs anywhere.

    python examples/courtroom.py
"""

import re

import motet
from motet import ModelAgent, Request, Scripted
from motet.compose.courtroom import Courtroom

DOCUMENTS = ["Work on the dam began in 1924.", "The dam was opened in 1931.", "Some say the dam is from 1899."]
LOOKED_FOR = {"plaintiff": "work began", "defence": "opened"}
CASE = {"plaintiff": "It dates from 1924, when work began.", "defence": "It dates from 1931, when it was opened."}


def counsel(side: str) -> ModelAgent:
    """Looks for the words of its side, and states its case."""
    search = f"Search: {LOOKED_FOR[side]}"
    return ModelAgent(Scripted(lambda call: search if '"Search:"' in call.text else CASE[side], name=side), side)


def bench(call: Request) -> str:
    """Admits whatever is no hearsay, and finds for the side that goes by the opening."""
    shown = re.findall(r'<reply id="(\w+)">\n(.*?)\n</reply>', call.text, re.DOTALL)
    if "Scores:" in call.messages[-1].text:
        return "Scores: " + ", ".join(f"{name}={2 if 'Some say' in text else 9}" for name, text in shown)
    return "Verdict: " + next((name for name, text in shown if "opened" in text and len(name) < 3), "OPEN")


if __name__ == "__main__":
    judge = ModelAgent(Scripted(bench, name="bench"), "judge")
    trial = Courtroom([judge], counsel("plaintiff"), counsel("defence"), documents=DOCUMENTS, rounds=1, k=1)
    result = motet.ask("When is the dam from?", trial)
    print(result.text)
    print(f"{result.usage.calls} calls:", ", ".join(reply.agent for reply in result.replies))
