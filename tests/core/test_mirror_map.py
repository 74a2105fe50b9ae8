"""The vertices of the other side, against brute force and known graphs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dq_compensation.analysis.mirror_map import partners_by_position, partners_by_topology


def test_without_vertices_there_is_nothing_to_do() -> None:
    assert len(partners_by_position(np.zeros((0, 3)), 0.1)) == 0
    assert len(partners_by_topology(np.zeros((0, 2), np.int32), 0)) == 0


def test_the_partner_is_the_vertex_nearest_to_the_mirror_image() -> None:
    rng = np.random.default_rng(3)
    side = rng.uniform((0.05, -1.0, -1.0), (1.0, 1.0, 1.0), (400, 3))
    middle = np.column_stack((np.zeros(30), rng.uniform(-1.0, 1.0, (30, 2))))
    shifted = side[:350] * (-1.0, 1.0, 1.0) + rng.normal(scale=0.01, size=(350, 3))
    points = rng.permutation(np.concatenate((side, middle, shifted)))
    tolerance = 0.03
    found = partners_by_position(points, tolerance)
    apart = np.linalg.norm(points[None] - (points * (-1.0, 1.0, 1.0))[:, None], axis=2)
    expected = np.where(apart.min(axis=1) <= tolerance, apart.argmin(axis=1), -1)
    np.testing.assert_array_equal(found, expected)
    assert 50 <= np.count_nonzero(found < 0) < 200


def _grid(width: int, height: int) -> NDArray[np.int32]:
    numbers = np.arange(width * height).reshape(height, width)
    across = np.stack((numbers[:, :-1].ravel(), numbers[:, 1:].ravel()), axis=1)
    down = np.stack((numbers[:-1].ravel(), numbers[1:].ravel()), axis=1)
    return np.concatenate((across, down)).astype(np.int32)


def test_topology_finds_the_other_side_wherever_the_vertices_are() -> None:
    # A grid is symmetrical in two ways; a tail at the middle of its lower edge leaves one of them.
    width, height = 7, 4
    edges = np.concatenate((_grid(width, height), [(3, width * height)]))
    numbers = np.arange(width * height).reshape(height, width)
    expected = np.append(numbers[:, ::-1].ravel(), width * height)
    np.testing.assert_array_equal(partners_by_topology(edges, width * height + 1), expected)


def test_topology_leaves_out_what_looks_the_same_more_than_twice() -> None:
    assert (partners_by_topology(_grid(4, 4), 16) == -1).all()
    # Two vertices without an edge are each other's partners, three are nobody's.
    np.testing.assert_array_equal(partners_by_topology(np.zeros((0, 2), np.int32), 2), [1, 0])
    assert (partners_by_topology(np.zeros((0, 2), np.int32), 3) == -1).all()
