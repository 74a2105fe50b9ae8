"""Seams of two strips that meet: their vertices, and how far the weights differ there."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dq_compensation.analysis.surface.seams import MeshSeams, SeamMesh, find_seam, seam_points
from dq_compensation.core.influences import Influences

ROWS, BONES = 12, 7


def strip(left: float, weights: np.ndarray) -> SeamMesh:
    """Quads from `left` to one further along X; weights of shape (2 * ROWS, BONES)."""
    heights = np.arange(ROWS, dtype=np.float64)
    sides = [np.stack((np.full(ROWS, x), heights, 0.0 * heights), 1) for x in (left, left + 1.0)]
    low = np.arange(ROWS - 1)
    corners = np.stack((low, low + ROWS, low + ROWS + 1, low + 1), axis=1).ravel()
    vertices, bones = np.nonzero(weights)
    influences = Influences.from_triples(vertices, bones, weights[vertices, bones], 2 * ROWS)
    return SeamMesh(np.concatenate(sides), influences, np.arange(0, len(corners), 4), corners)


def test_weights_of_a_seam_are_compared_bone_by_bone() -> None:
    """With other numbers of influences on either side, and with equal rows among them."""
    rng = np.random.default_rng(0)
    weights = rng.random((2, 2 * ROWS, BONES))
    weights[0, :, 3:] = 0.0
    weights /= weights.sum(axis=2, keepdims=True)
    # The right side of one is the left side of the other: every third vertex has the same weights.
    weights[1, :ROWS:3] = weights[0, ROWS::3]
    one, other = strip(0.0, weights[0]), strip(1.0, weights[1])
    seam = find_seam(one, other, 10.0)
    assert seam is not None
    # At both ends of the seam the faces lie beside each other; the weights of one are the same.
    assert sorted(seam.one.tolist()) == list(range(ROWS, 2 * ROWS - 1))
    assert (seam.one - ROWS).tolist() == seam.other.tolist()
    expected = np.abs(weights[0, seam.one] - weights[1, seam.other]).max(axis=1)
    # Weights are float32.
    assert np.abs(seam.differences - expected).max() <= 1e-6
    assert (expected == 0.0).sum() == 4


def test_a_seam_needs_no_open_edge_and_a_copy_has_none() -> None:
    """Two strips that meet, a cap over one of their ends, and a copy of the other one."""
    rng = np.random.default_rng(1)
    weights = rng.random((2, 2 * ROWS, BONES))
    weights /= weights.sum(axis=2, keepdims=True)
    weights[1, :ROWS] = weights[0, ROWS:]
    one, other = strip(0.0, weights[0]), strip(1.0, weights[1])
    starts = np.append(other.face_starts, len(other.corner_vertex))
    corners = np.append(other.corner_vertex, np.arange(ROWS))
    capped = SeamMesh(other.positions, other.influences, starts, corners)
    seam = find_seam(one, capped, 10.0)
    assert seam is not None
    assert sorted(seam.one.tolist()) == list(range(ROWS, 2 * ROWS))
    assert (seam.one - ROWS).tolist() == seam.other.tolist()
    assert find_seam(one, one, 10.0) is None
    points = seam_points([one, capped, one])
    count = 2 * ROWS
    assert points[ROWS:count].tolist() == points[count : count + ROWS].tolist()
    assert len(np.unique(points)) == len(points) - ROWS
    assert not np.isin(points[2 * count :], points[: 2 * count]).any()


def test_the_seams_of_many_meshes_are_those_of_each_two() -> None:
    """Three strips in a row, a copy of the first, and one far away."""
    rng = np.random.default_rng(2)
    weights = rng.random((3, 2 * ROWS, BONES))
    weights /= weights.sum(axis=2, keepdims=True)
    weights[1, :ROWS], weights[2, :ROWS] = weights[0, ROWS:], weights[1, ROWS:]
    row = [strip(float(left), each) for left, each in enumerate(weights)]
    meshes = (*row, strip(0.0, weights[0]), strip(40.0, weights[1]))
    every = MeshSeams(meshes, 10.0)
    found = set()
    for first, second in combinations(range(len(meshes)), 2):
        seam, alone = every.between(first, second), find_seam(meshes[first], meshes[second], 10.0)
        assert (seam is None) == (alone is None)
        if seam is not None and alone is not None:
            found.add((first, second))
            assert seam.one.tolist() == alone.one.tolist()
            assert seam.other.tolist() == alone.other.tolist()
            assert seam.differences.tolist() == alone.differences.tolist()
    assert found == {(0, 1), (1, 2), (1, 3)}
