"""Five ways to debate one question, side by side: what each says, and what it takes.

    python examples/debate_protocols.py

It runs on the embedded models: `make models` fetches them. What it gains, and for whom: docs/explanation/debates.md.
"""

from collections.abc import Sequence

import motet
from motet import Agent, Debate
from motet.compose.agent_verse import AgentVerse
from motet.compose.chat_eval import ChatEval
from motet.compose.multi_persona import MultiPersona
from motet.compose.tit_for_tat import TitForTat
from motet.spec import load

QUESTION = "What is the capital of Japan?"


def main(agents: Sequence[Agent], judge: Agent) -> None:
    """Put the question to each protocol, and show its answer, its calls and its warnings."""
    protocols = [
        Debate(agents),
        TitForTat(agents, judge, rounds=2),
        ChatEval(agents, talk="simultaneous"),
        AgentVerse(agents, evaluator=judge, structure="horizontal"),
        MultiPersona(agents, ["You know places.", "You doubt what you hear."]),
    ]
    for protocol in protocols:
        most = motet.estimate(protocol, QUESTION)
        result = motet.ask(QUESTION, protocol)
        print(f"{protocol.name:13} {result.usage.calls:2} of {most.calls:2} calls  {result.text.strip()!r}")
        print(*(f"    {warning}" for warning in dict.fromkeys(result.warnings)), sep="\n")


if __name__ == "__main__":
    names = ("gemma3-few-shot", "smollm2-chat", "smollm2-few-shot")
    main([load().agent(name) for name in names], load().agent("gemma3-few-shot"))
