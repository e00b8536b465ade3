"""The marginal value of each agent to the pool: what the oracle loses if it is left out.

    marginal_j = v(N) - v(N without j),  v(S) the share of items that any agent of S has right
               = the share of items that j alone has right

It is what an agent brings that no other one can replace, and zero for each of two copies of one agent; its Shapley
value (`motet.measure.shapley`) shares out what they have in common. With cells between 0 and 1 it is the expected
value of one sample each, mean_i c_ij Π_{l≠j} (1 - c_il).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats, as_correct


def marginal(correct: npt.ArrayLike) -> Floats:
    """What the oracle loses without each agent.

    Args:
        correct: (n, m), no cell missing.

    Returns:
        (m,) shares of items, from 0 to the agent's quality.

    Raises:
        ValueError: the table is not such a one.

    >>> marginal([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]).tolist()
    [0.25, 0.0, 0.25]
    """
    table = as_correct(correct)
    wrong = 1 - table
    ones = np.ones((len(wrong), 1))
    # Products from the left and from the right of each column: a division would fail where an agent is never wrong.
    left = np.cumprod(np.hstack([ones, wrong[:, :-1]]), axis=1)
    right = np.cumprod(np.hstack([ones, wrong[:, :0:-1]]), axis=1)[:, ::-1]
    found: Floats = (table * left * right).mean(axis=0)
    return found
