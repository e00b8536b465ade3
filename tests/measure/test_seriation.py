"""Similar agents side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from motet.measure.seriation import by_similarity


def similarities(m: int, seed: int) -> np.ndarray:
    """A symmetric matrix with distinct entries."""
    values = np.random.default_rng(seed).random((m, m))
    matrix = (values + values.T) / 2
    np.fill_diagonal(matrix, 1)
    return matrix


@given(st.integers(2, 25), st.integers(0, 100))
def test_every_cluster_stands_together(m: int, seed: int) -> None:
    """Each cluster of scipy's average linkage is a run of neighbours in the order."""
    matrix = similarities(m, seed)
    order = by_similarity(matrix)
    assert sorted(order.tolist()) == list(range(m))
    tree = linkage(squareform(1 - matrix, checks=False), "average")
    place = np.argsort(order)
    for labels in cut_tree(tree).T:
        for label in set(labels.tolist()):
            places = np.sort(place[labels == label])
            assert places[-1] - places[0] == len(places) - 1


def test_odd_matrices() -> None:
    """None, one, and agents of which nothing is known."""
    assert by_similarity(np.zeros((0, 0))).tolist() == []
    assert by_similarity([[1.0]]).tolist() == [0]
    assert sorted(by_similarity(np.full((3, 3), np.nan)).tolist()) == [0, 1, 2]
    with pytest.raises(ValueError, match="square"):
        by_similarity([[1.0, 2.0]])
