"""Spreads weights along the edges of a mesh to the vertices without weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Conjugate gradients end when they change no weight by more than this, or after so many rounds.
_STILL = 1e-5
_MOST_ROUNDS = 300
# Rows of edges times groups that are held in memory at once.
_MOST_NUMBERS = 4_000_000


def islands(edges: NDArray[np.integer], vertex_count: int) -> NDArray[np.int64]:
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

    def vertices(self) -> NDArray[np.int64]:
        """Shape (v,), the distinct vertices, rising."""
        return np.unique(self.of)

    def sums(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """For each of `vertices` the sum (v, g) of its neighbours' rows times the pulls."""
        return np.add.reduceat(values[self.others] * self.pulls[:, None], self._starts(), axis=0)

    def degrees(self) -> NDArray[np.floating]:
        """For each of `vertices` the sum (v, 1) of the pulls."""
        return np.add.reduceat(self.pulls, self._starts())[:, None]

    def _starts(self) -> NDArray[np.intp]:
        return np.unique(self.of, return_index=True)[1]


def spread_weights(
    weights: NDArray[np.floating],
    known: NDArray[np.bool_],
    edges: NDArray[np.integer],
    positions: NDArray[np.floating],
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Fill in the weights of vertices from those that edges connect them with, smoothly.

    Ring by ring each vertex takes the mean of the neighbours that have weights, the nearer ones
    counting more. From there conjugate gradients find the harmonic function: every filled vertex
    is the mean of all its neighbours. A sum of 1 in the known rows stays 1.

    Args:
        weights: shape (n, g); rows of vertices that are not known do not count.
        known: shape (n,).
        edges: shape (m, 2), vertices.
        positions: shape (n, 3).

    Returns:
        shape (n, g), the known rows as they were, and shape (n,), which rows are filled now: a
        vertex that no edges lead to from a known one stays 0 and unfilled.
    """
    neighbours = _neighbours_of(~known, edges, positions)
    start = np.where(known[:, None], weights, 0.0)
    columns = max(1, _MOST_NUMBERS // max(1, len(neighbours.of)))
    parts = [start[:, first : first + columns] for first in range(0, start.shape[1], columns)]
    filled = known.copy()
    results = []
    for part in parts:
        result, filled = _ring_by_ring(part, known, neighbours)
        results.append(_harmonic(result, neighbours.where(filled[neighbours.of])))
    return (np.concatenate(results, axis=1) if results else start), filled


def _ring_by_ring(
    weights: NDArray[np.floating], known: NDArray[np.bool_], neighbours: _Neighbours
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    result, filled, left = weights.copy(), known.copy(), neighbours
    while True:
        reached = filled[left.others]
        if not reached.any():
            return result, filled
        ring = left.where(reached)
        vertices = ring.vertices()
        result[vertices] = ring.sums(result) / ring.degrees()
        filled[vertices] = True
        left = left.where(~filled[left.of])


def _harmonic(weights: NDArray[np.floating], neighbours: _Neighbours) -> NDArray[np.floating]:
    """Solve degree x - sum of pulls x' = 0 for the rows that `neighbours` are of; others stay."""
    if not len(neighbours.of):
        return weights
    result, vertices, degrees = weights.copy(), neighbours.vertices(), neighbours.degrees()
    residual = neighbours.sums(result) - degrees * result[vertices]
    step = residual / degrees
    size = (residual * step).sum(axis=0)
    along = np.zeros_like(result)
    along[vertices] = step
    for _ in range(_MOST_ROUNDS):
        turned = degrees * along[vertices] - neighbours.sums(along)
        curvature = (along[vertices] * turned).sum(axis=0)
        lengths = np.where(curvature > 0.0, size / np.where(curvature > 0.0, curvature, 1.0), 0.0)
        change = lengths * along[vertices]
        result[vertices] += change
        if np.abs(change).max() < _STILL:
            break
        residual = residual - lengths * turned
        step = residual / degrees
        new_size = (residual * step).sum(axis=0)
        along[vertices] = step + along[vertices] * new_size / np.where(size > 0.0, size, 1.0)
        size = new_size
    return np.maximum(result, 0.0)


def averaged_weights(
    weights: NDArray[np.floating],
    edges: NDArray[np.integer],
    positions: NDArray[np.floating],
    rounds: int,
) -> NDArray[np.floating]:
    """Average all vertices with their neighbours, some times.

    Args:
        weights: shape (n, g).
        edges: shape (m, 2), vertices.
        positions: shape (n, 3).

    Returns:
        shape (n, g).
    """
    result = weights.copy()
    neighbours = _neighbours_of(np.ones(len(weights), np.bool_), edges, positions)
    if not len(neighbours.of):
        return result
    vertices, degrees = neighbours.vertices(), neighbours.degrees()
    for _ in range(rounds):
        # Half of the way: a checkerboard would swing for ever.
        result[vertices] = 0.5 * (result[vertices] + neighbours.sums(result) / degrees)
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
