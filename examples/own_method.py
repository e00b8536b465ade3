"""A method of one's own in twenty lines: two agents answer, and a third is asked only if they disagree.

    python examples/own_method.py

It runs on the embedded models: `make models` fetches them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import motet
from motet import Agent, Chat, Plurality, Reply, Run
from motet.normalise import same
from motet.spec import load
from motet.view import tree


@dataclass(frozen=True)
class TieBreak:
    """The answer of the first two if they agree, else the plurality of all three."""

    agents: Sequence[Agent]
    name: str = "tie-break"

    async def __call__(self, chat: Chat, run: Run) -> Reply:
        first, second, third = self.agents
        replies = await run.all([run.ask(first, chat), run.ask(second, chat)])
        if len(replies) == 2 and same(replies[0].text, replies[1].text):
            return replies[0]
        replies += await run.all([run.ask(third, chat)], need=0)
        return await Plurality()(chat, replies, run)


if __name__ == "__main__":
    config = load()
    members = [config.agent(name) for name in ("smollm2-chat", "gemma3-few-shot", "smollm2-few-shot")]
    result = motet.ask("What is the capital of France?", TieBreak(members))
    print(result.text)
    print(tree(result.trace))
