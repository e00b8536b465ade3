"""Conformity against a loop over cells, and with agents whose conformity is planted."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from motet.measure.conformity import _opposed_majority, conformity

CUBES = st.tuples(st.integers(2, 4), st.integers(1, 4), st.integers(2, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 2))
)


def majority(row: list[int], j: int) -> int | None:
    """The answer of more than half of the others that answered, if it opposes agent j's."""
    others = [answer for k, answer in enumerate(row) if k != j and answer >= 0]
    for answer, count in Counter(others).items():
        if row[j] >= 0 and answer != row[j] and 2 * count > len(others):
            return answer
    return None


@settings(max_examples=120)
@given(CUBES)
def test_it_is_a_loop_over_cells(answers: np.ndarray) -> None:
    """Every share, step by step, is what a loop over items and agents counts."""
    found = conformity(answers)
    for step in range(len(answers) - 1):
        seen: Counter[str] = Counter()
        for before, after in zip(answers[step].tolist(), answers[step + 1].tolist(), strict=True):
            for j, (own, new) in enumerate(zip(before, after, strict=True)):
                if own < 0 or new < 0:
                    continue
                against = majority(before, j)
                seen.update(cells=1, changed=own != new, opposed=against is not None)
                seen.update(adopted=against == new, resisted=against is not None and own == new)
                seen.update(swayed=against is None and own != new)
        free = seen["cells"] - seen["opposed"]
        for name, of in (
            ("changed", "cells"), ("opposed", "cells"), ("adopted", "opposed"), ("resisted", "opposed"),
        ):  # fmt: skip
            expected = seen[name] / seen[of] if seen[of] else math.nan
            assert getattr(found, name)[step] == pytest.approx(expected, nan_ok=True)
        assert found.swayed[step] == pytest.approx(seen["swayed"] / free if free else math.nan, nan_ok=True)
        assert found.cells[step] == seen["cells"]
    assert conformity(answers[:, ::-1, ::-1]).adopted == pytest.approx(found.adopted, nan_ok=True)


def test_planted_conformity_is_recovered() -> None:
    """Agents that go over to an opposed majority 3 times in 10, and else keep their answer, are found out."""
    drawn = np.random.default_rng(0)
    rounds = [drawn.integers(0, 3, (4000, 5))]
    for _ in range(2):
        against = _opposed_majority(rounds[-1])
        go = (against >= 0) & (drawn.random(against.shape) < 0.3)
        rounds.append(np.where(go, against, rounds[-1]))
    found = conformity(rounds)
    assert found.adopted == pytest.approx([0.3, 0.3], abs=0.03)
    assert found.resisted == pytest.approx(1 - found.adopted)
    assert found.swayed.tolist() == [0, 0]
    assert found.agents == pytest.approx([0.3] * 5, abs=0.05)


def test_extremes() -> None:
    """Agents of one mind are never opposed; two that differ oppose each other; a tie opposes nobody."""
    assert conformity(np.zeros((3, 2, 4), dtype=int)).opposed.tolist() == [0, 0]
    assert _opposed_majority([[0, 1]]).tolist() == [[1, 0]]
    assert _opposed_majority([[0, 1, 1, 2, 2]]).tolist() == [[-1] * 5]
    assert _opposed_majority([[-1, 1, 1]]).tolist() == [[-1, -1, -1]]


def test_bad_input_is_refused() -> None:
    """One round, one agent, texts."""
    for shape in ((1, 3, 3), (2, 3, 1)):
        with pytest.raises(ValueError, match="two or more"):
            conformity(np.zeros(shape, dtype=int))
    with pytest.raises(ValueError, match="whole numbers"):
        conformity(np.zeros((2, 3, 3)))
