"""A team whose roles are all one model, as agents of their own and as one conversation: what is not read twice.

    python examples/one_flow.py

It runs on an embedded model: `make models` fetches it.
"""

from dataclasses import replace

import motet
from motet import MixtureOfAgents, ModelAgent, Synthesize
from motet.compose.one_flow import OneFlow
from motet.spec import load

QUESTION = "Tom has 5 marbles and buys 7 more. How many marbles does he have now?"
ROLES = ("Say what is given and what is asked.", "Work it out step by step.", "Check the work, then give the answer.")


def main(agent: ModelAgent) -> None:
    """Ask both, and compare what they read."""
    analyst, solver, reviewer = (replace(agent, name=f"{agent.name} {n}", system=role) for n, role in enumerate(ROLES))
    team = MixtureOfAgents([analyst], Synthesize(reviewer), layers=2, later=[[solver]], residual=True, name="team")
    for mixture in (team, OneFlow(agent, ROLES, name="one conversation")):
        result = motet.ask(QUESTION, mixture)
        used = result.usage
        print(f"{mixture.name}: {used.calls} calls, {used.input} prompt tokens, {used.cached} of them read before")
        print(f"    {result.text.strip()}")


if __name__ == "__main__":
    agent = load().agent("smollm2-chat")
    assert isinstance(agent, ModelAgent)
    main(replace(agent, instruction=""))
