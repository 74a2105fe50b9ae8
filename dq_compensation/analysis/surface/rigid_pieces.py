"""Pieces of a mesh: islands of its edges, points in one place, and pieces that move as one."""

from __future__ import annotations

import numpy as np

from ...arrays import Booleans, Floats, Indices, Int64s, Integers
from ...core.influences import Influences


def islands(edges: Integers, vertex_count: int) -> Int64s:
    """Which connected part of the mesh each vertex belongs to.

    Args:
        edges: shape (m, 2), vertices.

    Returns:
        shape (n,); the least vertex of the part.
    """
    labels = np.arange(vertex_count, dtype=np.int64)
    ends = np.asarray(edges, np.int64).reshape(-1, 2)
    while len(ends):
        ends = labels[ends]
        ends = ends[ends[:, 0] != ends[:, 1]]
        # Parts that touch are hooked onto the least one, and the chains that come of it shortened.
        np.minimum.at(labels, ends.max(axis=1), ends.min(axis=1))
        while True:
            shorter = labels[labels]
            if np.array_equal(shorter, labels):
                break
            labels = shorter
    return labels


# How far weights may differ that count as the same.
_ALIKE = 1e-5


def points_of_vertices(positions: Floats, influences: Influences) -> Indices:
    """Shape (n,), 0 to m - 1: vertices in one place with the same weights are one of m points."""
    if not len(positions):
        return np.zeros(0, np.intp)
    order = np.lexsort(positions.T)
    steps = (positions[order[1:]] != positions[order[:-1]]).any(axis=1)
    places = np.empty(len(positions), np.intp)
    places[order] = np.append(0, np.cumsum(steps))
    first = np.unique(places, return_index=True)[1][places]
    alone = ~_same_weights(influences, first)
    places[alone] = places.max() + 1 + np.arange(np.count_nonzero(alone))
    return np.unique(places, return_inverse=True)[1].reshape(-1)


def rigid_pieces(
    positions: Floats, influences: Influences, edges: Integers, parts: Int64s | None = None
) -> Int64s:
    """The rigid piece that each vertex belongs to: armour, a robot's part, a button, an eye.

    A rigid piece is a connected part of the mesh, of more than one point, whose vertices all have
    the same weights: it follows its bones as one thing. Vertices in one place with the same weights
    are one point, so that a piece may be split along its seams.

    Args:
        positions: shape (n, 3), at rest.
        influences: of the n vertices, as they are painted.
        edges: shape (m, 2), vertices.
        parts: `islands` of the edges, if they are known.

    Returns:
        shape (n,); one number for the vertices of a piece, -1 for vertices of none.
    """
    labels = islands(edges, len(positions)) if parts is None else parts
    rigid = _whole(_same_weights(influences, labels), labels)
    if not rigid[edges].any():  # most characters: this costs little
        return np.full(len(positions), -1, np.int64)
    points = points_of_vertices(positions, influences)
    ends = points[edges]
    labels = islands(ends[ends[:, 0] != ends[:, 1]], int(points.max()) + 1)[points]
    first = np.unique(labels, return_index=True, return_inverse=True)[1:]
    rigid = _whole(_same_weights(influences, first[0][first[1].reshape(-1)]), labels)
    rigid &= np.bincount(labels, (labels != points))[labels] > 0
    return np.where(rigid, labels, -1)


def _whole(alike: Booleans, labels: Integers) -> Booleans:
    """Shape (n,): whether all vertices with the same label are alike."""
    return np.bincount(labels, ~alike)[labels] == 0


def _same_weights(influences: Influences, others: Integers) -> Booleans:
    """Shape (n,): whether each vertex has the weights of another one, shape (n,)."""
    bones, weights = influences.bones, influences.weights
    same = np.abs(weights - weights[others]) <= _ALIKE
    same &= (bones == bones[others]) | (weights <= _ALIKE)
    return same.all(axis=1)
