"""Where a mixture helped and where it harmed: the clearest cases of each, to be read.

A mixture has helped where it is right and the best member is not, and harmed the other way round. The clearest of the
first kind are those that the fewest members got right by themselves, and of the second those that most of them did.

>>> from motet.bench.cell import Cell
>>> cells = [Cell("t", "a", 0, 0.0, "full"), Cell("t", "b", 0, 1.0, "full"), Cell("t", "v", 0, 1.0, "full")]
>>> helped(Sheet.of(cells), "v", "a", ["a", "b"])
['t']
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from motet.bench.sheet import Sheet
from motet.measure.arrays import Floats

MOST = 10
"""Cases of each kind that a report shows."""


def helped(sheet: Sheet, mixture: str, best: str, members: Sequence[str], most: int = MOST) -> list[str]:
    """Tasks on which a mixture did better than the best member, the clearest first."""
    return _clearest(sheet, sheet.scores(mixture) - sheet.scores(best), -_right(sheet, members), most)


def harmed(sheet: Sheet, mixture: str, best: str, members: Sequence[str], most: int = MOST) -> list[str]:
    """Tasks on which it did worse, the clearest first."""
    return _clearest(sheet, sheet.scores(best) - sheet.scores(mixture), _right(sheet, members), most)


def _right(sheet: Sheet, members: Sequence[str]) -> Floats:
    """(tasks,) the share of members that are right by themselves; 0 where nothing is known of them."""
    several: Floats = np.mean([sheet.right(member) for member in members], axis=0)
    return several


def _clearest(sheet: Sheet, gain: Floats, then: Floats, most: int) -> list[str]:
    places = np.flatnonzero(np.nan_to_num(gain) > 0)
    order = sorted(places.tolist(), key=lambda place: (-gain[place], -then[place], place))
    return [sheet.tasks[place] for place in order[:most]]
