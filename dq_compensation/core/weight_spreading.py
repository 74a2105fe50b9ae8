"""Spreads weights along the edges of a mesh, from the vertices that have some to those without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# How often the filled vertices are averaged with their neighbours: several times for each ring
# that the weights had to cross, but not endlessly in a large area.
_ROUNDS_PER_RING = 4
_MOST_ROUNDS = 60


def islands(edges: NDArray[np.integer], vertex_count: int) -> NDArray[np.int64]:
    """Which connected part of the mesh each vertex belongs to.

    Args:
        edges: shape (m, 2), vertices.
        vertex_count: n.

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


@dataclass(frozen=True, eq=False)
class _Neighbours:
    """The edges that lead out of some vertices, sorted by those vertices.

    Attributes:
        of: shape (e,), the vertices.
        others: shape (e,), their neighbours.
        pulls: shape (e,), one over the length of the edge.
    """

    of: NDArray[np.int64]
    others: NDArray[np.int64]
    pulls: NDArray[np.floating]

    def where(self, keep: NDArray[np.bool_]) -> _Neighbours:
        return _Neighbours(self.of[keep], self.others[keep], self.pulls[keep])

    def means(self, values: NDArray[np.floating]) -> tuple[NDArray[np.int64], NDArray[np.floating]]:
        """The vertices, and the means (v, g) of their neighbours' rows, the nearer the heavier."""
        vertices, starts = np.unique(self.of, return_index=True)
        sums = np.add.reduceat(values[self.others] * self.pulls[:, None], starts, axis=0)
        return vertices, sums / np.add.reduceat(self.pulls, starts)[:, None]


def spread_weights(
    weights: NDArray[np.floating],
    known: NDArray[np.bool_],
    edges: NDArray[np.integer],
    positions: NDArray[np.floating],
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Fill in the weights of vertices from those that edges connect them with, smoothly.

    Ring by ring each vertex takes the mean of the neighbours that have weights, the nearer ones
    counting more. Then the filled ones are averaged with their neighbours, the others held: towards
    the harmonic function, which has no steps. A sum of 1 in the known rows stays 1.

    Args:
        weights: shape (n, g); rows of vertices that are not known do not count.
        known: shape (n,).
        edges: shape (m, 2), vertices.
        positions: shape (n, 3).

    Returns:
        shape (n, g), the known rows as they were, and shape (n,), which rows are filled now: a
        vertex that no edges lead to from a known one stays 0 and unfilled.
    """
    filled = known.copy()
    result = np.where(known[:, None], weights, weights.dtype.type(0.0))
    neighbours = _neighbours_of(~known, edges, positions)
    rings, left = 0, neighbours
    while True:
        reached = filled[left.others]
        if not reached.any():
            break
        vertices, means = left.where(reached).means(result)
        result[vertices] = means
        filled[vertices] = True
        left = left.where(~filled[left.of])
        rings += 1
    return smoothed_weights(result, filled & ~known, edges, positions, rings), filled


def smoothed_weights(
    weights: NDArray[np.floating],
    free: NDArray[np.bool_],
    edges: NDArray[np.integer],
    positions: NDArray[np.floating],
    rings: int,
) -> NDArray[np.floating]:
    """Average some vertices with their neighbours, again and again.

    Args:
        weights: shape (n, g).
        free: shape (n,); the others are held.
        edges: shape (m, 2), vertices.
        positions: shape (n, 3).
        rings: how far the averaging should reach; 0 leaves everything as it is.

    Returns:
        shape (n, g).
    """
    result = weights.copy()
    neighbours = _neighbours_of(free, edges, positions)
    if not len(neighbours.of):
        return result
    for _ in range(min(_ROUNDS_PER_RING * rings, _MOST_ROUNDS)):
        vertices, means = neighbours.means(result)
        # Half of the way: a checkerboard would swing for ever.
        result[vertices] = 0.5 * (result[vertices] + means)
    return result


def strongest_weights(weights: NDArray[np.floating], most: int) -> NDArray[np.floating]:
    """Keep the `most` largest weights of each row, without those of less than 1 %; sums become 1.

    Args:
        weights: shape (m, g), rows with a sum above 0.
        most: at least 1.
    """
    total = weights.sum(axis=1, keepdims=True)
    kept = weights / np.where(total > 0.0, total, 1.0)
    largest = kept.max(axis=1, keepdims=True, initial=0.0)
    kept = np.where((kept >= 0.01) | (kept == largest), kept, 0.0)
    if most < kept.shape[1]:
        cut = np.argpartition(kept, kept.shape[1] - most, axis=1)[:, : kept.shape[1] - most]
        np.put_along_axis(kept, cut, 0.0, axis=1)
    total = kept.sum(axis=1, keepdims=True)
    return kept / np.where(total > 0.0, total, 1.0)


def _neighbours_of(
    chosen: NDArray[np.bool_], edges: NDArray[np.integer], positions: NDArray[np.floating]
) -> _Neighbours:
    of = np.concatenate((edges[:, 0], edges[:, 1])).astype(np.int64)
    others = np.concatenate((edges[:, 1], edges[:, 0])).astype(np.int64)
    keep = np.flatnonzero(chosen[of])
    keep = keep[np.argsort(of[keep], kind="stable")]
    of, others = of[keep], others[keep]
    lengths = np.linalg.norm(positions[of] - positions[others], axis=1)
    # Vertices in one place pull most, but not without limit.
    shortest = 1e-3 * float(lengths.mean()) if len(lengths) else 1.0
    return _Neighbours(of, others, 1.0 / np.maximum(lengths, max(shortest, 1e-12)))
