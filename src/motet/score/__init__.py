"""Scorers: how good is this reply, from 0 to 1. One file each.

By what is known of the right answer:

* `Exact`: 1 if the answer is one of the accepted ones, in whatever dress
* `Choice`: 1 if a right option is picked, by letter or by text
* `Numeric`: 1 if it is a number within a tolerance
* `Maths`: 1 if it is mathematically equal
* `Verbatim`: 1 if it is equal to the letter
* `Contains`, `Regex`: 1 if the reply holds a text, or a pattern is found in it
* `UnitTests`: 1 if its code passes tests, in a sandbox

By what others say:

* `Judge`: the grade an agent gives
* `Versus`: whether an agent prefers it to a reference, asked in both orders
* `Agreement`: the share of other answers that are the same

By the reply alone:

* `Logprob`: how sure the model was of its tokens
"""

from motet.score.agreement import Agreement
from motet.score.base import Scorer
from motet.score.choice import Choice
from motet.score.contains import Contains
from motet.score.exact import Exact
from motet.score.judge import Judge
from motet.score.logprob import Logprob
from motet.score.maths import Maths
from motet.score.numeric import Numeric
from motet.score.regex import Regex
from motet.score.unit_tests import UnitTests
from motet.score.verbatim import Verbatim
from motet.score.versus import Versus

__all__ = [
    "Agreement",
    "Choice",
    "Contains",
    "Exact",
    "Judge",
    "Logprob",
    "Maths",
    "Numeric",
    "Regex",
    "Scorer",
    "UnitTests",
    "Verbatim",
    "Versus",
]
