"""Smoothing and mirroring of painted weights, against dense matrices and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dq_compensation.analysis.mesh_graph import mirrored_weights, smoothed_weights
from dq_compensation.analysis.mirror_map import partners_by_position, partners_by_topology

# A triangle, a tail, and a vertex without an edge.
EDGES = np.array([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)])
WEIGHTS = np.array([1.0, 0.2, 0.0, 0.7, 1.0, 0.4], np.float32)


def _dense_smoothing(factor: float, movable: NDArray[np.bool_]) -> NDArray[np.float64]:
    adjacency = np.zeros((6, 6))
    adjacency[EDGES[:, 0], EDGES[:, 1]] = adjacency[EDGES[:, 1], EDGES[:, 0]] = 1.0
    degrees = adjacency.sum(axis=1)
    step = np.eye(6)
    for vertex in np.flatnonzero(movable & (degrees > 0)):
        step[vertex] = factor * adjacency[vertex] / degrees[vertex]
        step[vertex, vertex] += 1.0 - factor
    return step


@pytest.mark.parametrize("iterations", [1, 7])
@pytest.mark.parametrize("chosen", [None, [0, 3]])
def test_smoothing_is_a_power_of_a_matrix(iterations: int, chosen: list[int] | None) -> None:
    movable = np.ones(6, np.bool_) if chosen is None else np.isin(np.arange(6), chosen)
    expected = np.linalg.matrix_power(_dense_smoothing(0.3, movable), iterations) @ WEIGHTS
    vertices = None if chosen is None else np.array(chosen)
    found = smoothed_weights(WEIGHTS, EDGES, factor=0.3, iterations=iterations, vertices=vertices)
    np.testing.assert_allclose(found, expected, atol=1e-6)  # float32


def test_smoothing_for_ever_ends_within_the_weights() -> None:
    found = smoothed_weights(WEIGHTS, EDGES, factor=0.5, iterations=2000)
    # What a random walk meets is in proportion to its degree.
    degrees = np.array([2, 2, 3, 2, 1])
    np.testing.assert_allclose(found[:5], np.average(WEIGHTS[:5], weights=degrees), atol=1e-6)
    assert found[5] == WEIGHTS[5]


def test_without_vertices_there_is_nothing_to_do() -> None:
    none, edges = np.zeros(0, np.float32), np.zeros((0, 2), np.int32)
    assert len(smoothed_weights(none, edges)) == 0
    assert len(partners_by_position(np.zeros((0, 3)), 0.1)) == 0
    assert len(partners_by_topology(edges, 0)) == 0


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


@pytest.mark.parametrize(
    ("from_positive", "expected"),
    [(True, [0.1, 0.1, 0.5, 0.9, 0.8]), (False, [0.2, 0.2, 0.5, 0.9, 0.8])],
)
def test_one_side_is_written_and_the_other_and_the_middle_stay(
    from_positive: bool, expected: list[float]
) -> None:
    # 0 and 1 are partners; 2 is in the middle; 3 and 4 have none.
    positions = np.array([(1.0, 0, 0), (-1.0, 0, 0), (0, 0, 0), (2.0, 0, 0), (-3.0, 0, 0)])
    weights = np.array([0.1, 0.2, 0.5, 0.9, 0.8], np.float32)
    partners = np.array([1, 0, 2, -1, -1])
    found, unmatched = mirrored_weights(weights, positions, partners, from_positive=from_positive)
    np.testing.assert_array_equal(found, np.array(expected, np.float32))
    assert unmatched.tolist() == ([4] if from_positive else [3])
