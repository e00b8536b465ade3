"""Behaviour profiles: what an agent does, as shares of coded behaviours, and how alike two agents' ways are.

    profile_j(b) = share of agent j's coded acts that are of kind b
    cosine(j, k) = Σ_b profile_j(b) profile_k(b) / (|profile_j| |profile_k|)

1 is the same mix of behaviours, 0 nothing in common. Profiles of few acts are noisy, and noise lowers the cosine.

Shares of coded acts as an actor's profile are those of interaction process analysis: Bales (1950). Inferred: the
cosine as likeness, which the literature on agents' traces uses without a common source.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from motet.measure.arrays import Floats


def behaviour_profiles(
    agents: npt.ArrayLike, acts: npt.ArrayLike, *, m: int | None = None, kinds: int | None = None
) -> Floats:
    """The share of each kind of behaviour among each agent's acts.

    Args:
        agents: (t,) the column number of who acted.
        acts: (t,) the number of the kind of behaviour, from 0.
        m: how many agents; left out, as many as occur.
        kinds: how many kinds; left out, as many as occur.

    Returns:
        (m, kinds), rows summing to 1; a row of NaN for an agent that did nothing.

    Raises:
        ValueError: lengths differ, or a number is negative or too large.

    >>> behaviour_profiles([0, 0, 1], [0, 1, 1]).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    who, what = np.asarray(agents), np.asarray(acts)
    if who.shape != what.shape or who.ndim != 1 or not who.size:
        raise ValueError(f"each act needs an agent and a kind; these have the shapes {who.shape} and {what.shape}")
    if who.dtype.kind not in "iu" or what.dtype.kind not in "iu" or min(who.min(), what.min()) < 0:
        raise ValueError("agents and kinds of behaviour are whole numbers from 0")
    rows, columns = m or int(who.max()) + 1, kinds or int(what.max()) + 1
    if who.max() >= rows or what.max() >= columns:
        raise ValueError(f"agent {who.max()} or kind {what.max()} is beyond the {rows} agents and {columns} kinds")
    counts = np.zeros((rows, columns))
    np.add.at(counts, (who, what), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    return np.where(total > 0, counts / np.maximum(total, 1), np.nan)


def profile_cosine(profiles: npt.ArrayLike) -> Floats:
    """How alike each two profiles are.

    Args:
        profiles: (m, kinds) shares or counts, not negative.

    Returns:
        (m, m) from 0 to 1; NaN for an agent that did nothing.

    Raises:
        ValueError: it is no such table.

    >>> profile_cosine([[1.0, 0.0], [0.0, 1.0]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    table = np.asarray(profiles, dtype=float)
    if table.ndim != 2 or not table.size or (table < 0).any():
        raise ValueError(f"agents by kinds, not negative, are needed; these have the shape {table.shape}")
    length = np.sqrt((table**2).sum(axis=1, keepdims=True))
    active = np.isfinite(length) & (length > 0)
    unit = np.where(active, table / np.where(active, length, 1), np.nan)
    likeness: Floats = np.minimum(unit @ unit.T, 1.0)
    return likeness
