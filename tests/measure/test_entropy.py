"""Entropies against scipy, against loops, and against distributions whose entropy is known."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.spatial.distance import jensenshannon

from motet.measure.entropy import answer_entropy, entropy_parts, token_entropies, token_entropy

TABLES = st.tuples(st.integers(1, 6), st.integers(1, 7)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 4))
)


@settings(max_examples=80)
@given(TABLES)
def test_answer_entropy_is_scipys(answers: np.ndarray) -> None:
    """Row by row it is scipy's entropy of the counts; no answers, no entropy; order does not matter."""
    found = answer_entropy(answers)
    for row, value in zip(answers.tolist(), found, strict=True):
        counts = list(Counter(answer for answer in row if answer >= 0).values())
        assert value == pytest.approx(stats.entropy(counts) if counts else math.nan, nan_ok=True, abs=1e-12)
    assert answer_entropy(answers[:, ::-1]) == pytest.approx(found, nan_ok=True)


def test_parts_are_jensen_shannon() -> None:
    """Of two agents, what lies between is scipy's Jensen-Shannon distance squared; the parts sum to the total."""
    answers = np.random.default_rng(0).integers(0, 4, (20, 2, 9))
    found = entropy_parts(answers)
    for i, item in enumerate(answers):
        first, second = (np.bincount(samples, minlength=4) for samples in item)
        assert found.between[i] == pytest.approx(jensenshannon(first, second) ** 2)
        assert found.within[i] == pytest.approx((stats.entropy(first) + stats.entropy(second)) / 2)
    assert found.total == pytest.approx(found.within + found.between)


def test_parts_without_answers() -> None:
    """Agents count alike whatever they answered; one that gave no answer does not count; nobody, no entropy."""
    found = entropy_parts([[[0, 0], [1, -1], [-1, -1]], [[-1, -1], [-1, -1], [-1, -1]]])
    assert found.total[0] == found.between[0] == pytest.approx(math.log(2))
    assert found.within[0] == 0
    assert np.isnan([found.total[1], found.within[1], found.between[1]]).all()


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 6))
def test_truncated_entropy_is_a_bound(seed: int, k: int) -> None:
    """The lumped entropy never exceeds the true one, both are exact with all tokens, and order does not matter."""
    p = np.sort(np.random.default_rng(seed).dirichlet(np.full(6, 0.4)))[::-1] + 1e-9
    p /= p.sum()
    shown = np.log(p)[None, :k]
    true = stats.entropy(p)
    assert token_entropies(shown)[0] <= true + 1e-12
    assert token_entropies(shown, lumped=False)[0] == pytest.approx(stats.entropy(p[:k]), abs=1e-12)
    assert token_entropies(shown[:, ::-1])[0] == pytest.approx(token_entropies(shown)[0])
    if k == 6:
        assert token_entropies(shown)[0] == pytest.approx(true)


def test_features_are_those_of_the_tokens() -> None:
    """Mean, maximum, final and unseen mass; alternatives that are not shown change nothing."""
    table = np.log([[0.9, 0.1], [0.5, 0.5], [0.6, 0.1]])
    values = [stats.entropy([0.9, 0.1]), math.log(2), stats.entropy([0.6, 0.1, 0.3])]
    found = token_entropy(table)
    assert (found.mean, found.max, found.final) == pytest.approx((np.mean(values), max(values), values[-1]))
    assert found.unseen == pytest.approx(0.1)
    padded = np.column_stack([table, np.full(3, -np.inf), np.full(3, np.nan)])
    assert token_entropy(np.vstack([padded, np.full(4, np.nan)])) == found
    empty = token_entropy(np.empty((0, 5)))
    assert empty.tokens == 0
    assert math.isnan(empty.mean)


def test_bad_input_is_refused() -> None:
    """Probabilities instead of logarithms, and tables of another shape."""
    with pytest.raises(ValueError, match="are these logarithms"):
        token_entropy([[0.9, 0.1]])
    with pytest.raises(ValueError, match="tokens by alternatives"):
        token_entropy([0.0])
    with pytest.raises(ValueError, match="items by agents by samples"):
        entropy_parts([[0, 1]])
    with pytest.raises(ValueError, match="whole numbers"):
        answer_entropy([[0.5]])
