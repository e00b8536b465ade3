"""Scorers: how good is this reply, from 0 to 1. One file each.

* `Agreement`: the share of other answers that are the same
* `Logprob`: how sure the model was of its tokens
* `Judge`: the grade an agent gives
* `Exact`: 1 if the answer is one of the accepted ones
"""

from motet.score.agreement import Agreement
from motet.score.base import Scorer
from motet.score.exact import Exact
from motet.score.judge import Judge
from motet.score.logprob import Logprob

__all__ = ["Agreement", "Exact", "Judge", "Logprob", "Scorer"]
