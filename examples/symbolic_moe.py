"""Experts recruited by skill, for a batch of questions at once: each model gets its calls in one go.

    python examples/symbolic_moe.py

It runs on the embedded models: `make models` fetches them. A rule stands in for a model that names skills.
"""

import asyncio
from itertools import groupby

from motet import Agent, ModelAgent, Plurality, Scripted
from motet.batch import ask_batch
from motet.compose.symbolic_moe import SymbolicMoE, profile
from motet.spec import load
from motet.trace import CallEnded

QUESTIONS = ("What is the capital of Japan?", "What is 17 * 23?", "Who wrote Hamlet?", "What is 15% of 240?")
GRADED = (  # the skills that earlier questions took, and whether each expert was right
    [(["knowledge"], True), (["arithmetic"], False), (["knowledge"], False), (["arithmetic"], False)],
    [(["knowledge"], True), (["arithmetic"], True), (["knowledge"], True)],
    [(["arithmetic"], True), (["arithmetic"], True)],
)
RULE = Scripted(lambda call: "Keywords: " + ("arithmetic" if any(map(str.isdigit, call.text[:20])) else "knowledge"))


def main(*experts: Agent) -> None:
    """Make profiles, recruit by them, and show who was called when."""
    profiles = {expert.name: profile(graded) for expert, graded in zip(experts, GRADED, strict=True)}
    mixture = SymbolicMoE(experts, Plurality(), ModelAgent(RULE, "rule"), profiles, k=2, draws=1, recruit="top")
    results = asyncio.run(ask_batch(mixture, QUESTIONS))
    for question, result in zip(QUESTIONS, results, strict=True):
        print(question, result.text.strip(), "from", ", ".join(reply.agent for reply in result.replies[1:]))
    calls = sorted((event.at, event.agent) for each in results for event in each.trace if isinstance(event, CallEnded))
    print(" → ".join(f"{len(list(some))} x {name}" for name, some in groupby(name for _, name in calls)))


if __name__ == "__main__":
    main(*map(load().agent, ("smollm2-chat", "gemma3-few-shot", "calculator")))
