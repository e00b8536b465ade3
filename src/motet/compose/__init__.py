"""Compositions: one published way to wire agents a file. Each is itself an agent.

A new file here is found by itself: by `motet mixtures`, by the configuration, by the contract suite.
"""

from motet.compose.cascade import Cascade
from motet.compose.council import Council
from motet.compose.debate import Debate
from motet.compose.moa import MixtureOfAgents
from motet.compose.self_moa import SelfMoA
from motet.compose.vote import Vote

__all__ = ["Cascade", "Council", "Debate", "MixtureOfAgents", "SelfMoA", "Vote"]
