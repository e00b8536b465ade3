"""motet: an engine for mixtures of heterogeneous agents.

>>> import asyncio
>>> agents = [ModelAgent(Scripted(said, name=said), f"agent {said}") for said in ("4", "four", "5")]
>>> asyncio.run(perform(Vote(agents), "What is 2 + 2?")).text
'4'
"""

from motet.agent import ModelAgent
from motet.aggregate import Best, Borda, Plurality, Synthesize
from motet.api import ask, ask_async
from motet.backends.function import Function
from motet.backends.scripted import Scripted
from motet.budget import Budget
from motet.compose import Cascade, Council, Debate, MixtureOfAgents, SelfMoA, Vote
from motet.errors import MotetError
from motet.estimate import estimate
from motet.message import Chat, Message, Reply, Request, Sampling, Usage, hear
from motet.outcome import Outcome, Result
from motet.perform import perform
from motet.prompt import Example
from motet.run import Agent, Run
from motet.score import Agreement, Exact, Judge, Logprob
from motet.tool import tool
from motet.trace import Trace

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "Agreement",
    "Best",
    "Borda",
    "Budget",
    "Cascade",
    "Chat",
    "Council",
    "Debate",
    "Exact",
    "Example",
    "Function",
    "Judge",
    "Logprob",
    "Message",
    "MixtureOfAgents",
    "ModelAgent",
    "MotetError",
    "Outcome",
    "Plurality",
    "Reply",
    "Request",
    "Result",
    "Run",
    "Sampling",
    "Scripted",
    "SelfMoA",
    "Synthesize",
    "Trace",
    "Usage",
    "Vote",
    "__version__",
    "ask",
    "ask_async",
    "estimate",
    "hear",
    "perform",
    "tool",
]
