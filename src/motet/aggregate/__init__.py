"""Aggregators: several replies in, one out. One file each.

* `Plurality`: the answer most agents give, weighted if wanted
* `Best`: the reply that a scorer scores highest
* `Synthesize`: an agent writes one reply from all
* `Borda`: agents rank the replies blind; the positions are added up
"""

from motet.aggregate.base import Aggregator
from motet.aggregate.best import Best
from motet.aggregate.borda import Borda
from motet.aggregate.plurality import Plurality
from motet.aggregate.synthesize import Synthesize

__all__ = ["Aggregator", "Best", "Borda", "Plurality", "Synthesize"]
