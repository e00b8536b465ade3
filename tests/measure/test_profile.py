"""Behaviour profiles against loops and scipy's cosine."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cosine

from motet.measure.profile import behaviour_profiles, profile_cosine

ACTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40)


@settings(max_examples=60)
@given(ACTS)
def test_profiles_are_counted(acts: list[tuple[int, int]]) -> None:
    """Shares are counts over an agent's acts, in any order; likeness is scipy's cosine, NaN for the idle."""
    who, what = np.array(acts).T
    found = behaviour_profiles(who, what, m=4, kinds=5)
    counts, total = Counter(acts), Counter(who.tolist())
    likeness = profile_cosine(found)
    for j in range(4):
        if not total[j]:
            assert np.isnan(found[j]).all()
            assert np.isnan(likeness[j]).all()
            continue
        assert found[j] == pytest.approx([counts[(j, b)] / total[j] for b in range(5)])
        for k in range(4):
            if total[k]:
                assert likeness[j, k] == pytest.approx(1 - cosine(found[j], found[k]), abs=1e-12)
    assert behaviour_profiles(who[::-1], what[::-1], m=4, kinds=5) == pytest.approx(found, nan_ok=True)


def test_extremes() -> None:
    """Doing the same in other numbers is the same way; doing nothing in common is none of it."""
    assert profile_cosine([[1, 2], [10, 20], [0, 0]])[0, 1] == pytest.approx(1)
    assert profile_cosine([[1, 0], [0, 3]])[0, 1] == 0


def test_bad_input_is_refused() -> None:
    """Acts without agents, numbers below 0 or beyond the table, negative shares."""
    with pytest.raises(ValueError, match="an agent and a kind"):
        behaviour_profiles([0], [0, 1])
    with pytest.raises(ValueError, match="from 0"):
        behaviour_profiles([-1], [0])
    with pytest.raises(ValueError, match="beyond the 1 agents"):
        behaviour_profiles([1], [0], m=1)
    with pytest.raises(ValueError, match="not negative"):
        profile_cosine([[-1.0]])
