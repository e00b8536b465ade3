"""Diversity against scipy's pairwise distances and loops over pairs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist

from motet.measure import diversity
from motet.measure.diversity import (
    alignment,
    dissimilarity,
    distinct_n,
    lexical_diversity,
    novelty,
    semantic_diversity,
    value_diversity,
    words,
)

TABLES = st.tuples(st.integers(1, 6), st.integers(2, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(-1, 4))
)
TEXTS = st.lists(st.text(alphabet="ab c.", max_size=8), min_size=2, max_size=6)


def pair(a: np.ndarray, b: np.ndarray, scale: np.ndarray | None) -> float:
    """The distance of two agents, question by question."""
    both = [i for i in range(len(a)) if a[i] >= 0 and b[i] >= 0]
    if not both:
        return math.nan
    return float(np.mean([float(a[i] != b[i]) if scale is None else abs(a[i] - b[i]) / scale[i] for i in both]))


@settings(max_examples=80)
@given(TABLES, st.booleans())
def test_values_are_loops(answers: np.ndarray, ordered: bool) -> None:
    """Dissimilarity, diversity and alignment are loops over pairs and questions, missing answers left out."""
    n, m = answers.shape
    options = np.arange(n) + 5 if ordered else None
    scale = options - 1.0 if options is not None else None
    pairs = {(j, k): pair(answers[:, j], answers[:, k], scale) for j, k in itertools.combinations(range(m), 2)}
    matrix = dissimilarity(answers, options)
    for (j, k), expected in pairs.items():
        assert matrix[j, k] == pytest.approx(expected, nan_ok=True)
        assert matrix[k, j] == pytest.approx(expected, nan_ok=True)
    known = [value for value in pairs.values() if not math.isnan(value)]
    assert value_diversity(answers, options) == pytest.approx(np.mean(known) if known else math.nan, nan_ok=True)
    reference = np.where(answers[:, 0] < 0, -2, answers[:, 0])
    expected = [1 - pair(answers[:, 0], answers[:, k], scale) for k in range(m)]
    assert alignment(answers, reference, options) == pytest.approx(expected, nan_ok=True)


def test_nominal_is_hamming() -> None:
    """Without missing answers it is scipy's Hamming distance; copies of an agent have none."""
    answers = np.random.default_rng(0).integers(0, 4, (50, 8))
    assert value_diversity(answers) == pytest.approx(pdist(answers.T, "hamming").mean())
    assert value_diversity(np.repeat(answers[:, :1], 4, axis=1)) == 0


@settings(max_examples=80)
@given(TEXTS)
def test_lexical_is_jaccard(texts: list[str]) -> None:
    """It is the mean Jaccard distance of the pairs' word sets; distinct-n is a set's size over a list's."""
    sets = [set(words(text)) for text in texts]
    pairs = [1 - len(a & b) / len(a | b) if a | b else 0.0 for a, b in itertools.combinations(sets, 2)]
    assert lexical_diversity(texts) == pytest.approx(np.mean(pairs))
    grams = [pair for text in texts for pair in itertools.pairwise(words(text))]
    assert distinct_n(texts) == pytest.approx(len(set(grams)) / len(grams) if grams else math.nan, nan_ok=True)


def test_semantic_is_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Diversity is scipy's mean cosine distance; novelty that to the nearest before, also block by block."""
    vectors = np.random.default_rng(1).normal(0.3, 1, (40, 6))
    assert semantic_diversity(vectors) == pytest.approx(pdist(vectors, "cosine").mean())
    assert semantic_diversity(vectors * np.arange(1, 41)[:, None]) == pytest.approx(semantic_diversity(vectors))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = [math.nan] + [1 - (unit[:i] @ unit[i]).max() for i in range(1, 40)]
    assert novelty(vectors) == pytest.approx(expected, nan_ok=True)
    monkeypatch.setattr(diversity, "BLOCK", 7)
    assert novelty(vectors) == pytest.approx(expected, nan_ok=True)


def test_extremes() -> None:
    """Copies have no diversity and no novelty; unrelated texts have all of it."""
    assert semantic_diversity(np.ones((5, 3))) == pytest.approx(0)
    assert novelty(np.ones((3, 2)))[1:] == pytest.approx([0, 0])
    assert lexical_diversity(["one two", "One, two!"]) == 0
    assert lexical_diversity(["one", "two", "three"]) == 1


def test_bad_input_is_refused() -> None:
    """One agent, one text, options that do not fit, an embedding of nothing."""
    with pytest.raises(ValueError, match="one agent alone"):
        value_diversity([[1]])
    with pytest.raises(ValueError, match="at least 2 each"):
        value_diversity([[1, 2]], [1])
    with pytest.raises(ValueError, match="1 texts"):
        lexical_diversity(["a"])
    with pytest.raises(ValueError, match="text 1 has no length"):
        semantic_diversity([[1, 0], [0, 0]])
    with pytest.raises(ValueError, match="as many right answers"):
        alignment([[1, 2]], [1, 2])
