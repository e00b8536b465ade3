"""Topologies: who hears whom; nobody hears itself or somebody who is not there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.spec.registry import variants
from motet.topology import Alone, Chain, Full, Ring, Sparse, Star, Topology

EVERY = [*(make() for make in variants(Topology).values()), Ring(3), Star(2), Sparse(5, seed=1), Sparse(0)]


@pytest.mark.parametrize("topology", EVERY, ids=repr)
@given(n=st.integers(1, 12), round=st.integers(1, 4))
def test_every_topology(topology: Topology, n: int, round: int) -> None:
    """Places are those of others, each once, the same each time."""
    for i in range(n):
        heard = list(topology(n, i, round))
        assert heard == list(topology(n, i, round))
        assert len(set(heard)) == len(heard)
        assert set(heard) <= set(range(n)) - {i}


def test_shapes() -> None:
    """Each hears whom its name says."""
    assert [Full()(3, i, 1) for i in range(3)] == [(1, 2), (0, 2), (0, 1)]
    assert [Alone()(3, i, 1) for i in range(3)] == [(), (), ()]
    assert [Chain()(3, i, 1) for i in range(3)] == [(), (0,), (1,)]
    assert [sorted(Ring()(5, i, 1)) for i in range(5)] == [[1, 4], [0, 2], [1, 3], [2, 4], [0, 3]]
    assert sorted(Ring(2)(5, 0, 1)) == [1, 2, 3, 4]
    assert list(Ring()(2, 0, 1)) == [1]
    assert [Star(1)(3, i, 1) for i in range(3)] == [(1,), (0, 2), (1,)]
    assert Star(4)(3, 0, 1) == (1,)


def test_sparse_is_drawn_anew_each_round() -> None:
    """So many others, other ones in other rounds and for other seeds; all there are, if there are fewer."""
    rounds = [tuple(Sparse(2)(9, 0, round)) for round in range(1, 9)]
    assert {len(heard) for heard in rounds} == {2}
    assert len(set(rounds)) > 3
    assert [Sparse(2, seed=1)(9, 0, round) for round in range(1, 9)] != rounds
    assert list(Sparse(7)(3, 0, 1)) == [1, 2]
