"""Weights on a mesh: spread along its edges, averaged, and found alike in pieces."""

from __future__ import annotations

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Integers
from .mesh_graph import MeshGraph, smooth_values, with_unused_row

# The fill ends when it changes no weight by this much in a round.
_STILL = 1e-5

# Rows of edges times groups that are held in memory at once.
_MOST_NUMBERS = 4_000_000


def spread_weights(
    weights: Floats, known: Booleans, edges: Integers, positions: Floats
) -> tuple[Floats, Booleans]:
    """Fill in the weights of vertices from their neighbours along edges, smoothly.

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
    graph = _graph_of(edges, positions)
    start = np.where(known[:, None], weights, 0.0)
    columns = max(1, _MOST_NUMBERS // max(1, graph.pulls.size))
    parts = [start[:, first : first + columns] for first in range(0, start.shape[1], columns)]
    filled = known.copy()
    results = []
    for part in parts:
        result, filled = _ring_by_ring(part, known, graph)
        rows = np.flatnonzero(filled & ~known)
        massless = np.zeros(len(rows))
        smooth = [smooth_values(graph, values, rows, massless, _STILL) for values in result.T]
        result[rows] = np.maximum(np.stack(smooth, axis=1), 0.0)
        results.append(result)
    return (np.concatenate(results, axis=1) if results else start), filled


def _ring_by_ring(weights: Floats, known: Booleans, graph: MeshGraph) -> tuple[Float64s, Booleans]:
    """Shape (n, g), and shape (n,), which rows are filled."""
    # 1 beside the weights where a vertex is filled: its neighbours' pulls count then.
    result = with_unused_row(np.column_stack((weights, known.astype(np.float64))))
    left = np.flatnonzero(~known)
    while len(left):
        sums = graph.at(left).pulled(result)
        reached = sums[:, -1] > 0.0
        if not reached.any():
            break
        result[left[reached]] = sums[reached] / sums[reached, -1:]
        left = left[~reached]
    return result[:-1, :-1], result[:-1, -1] > 0.0


def averaged_weights(weights: Floats, edges: Integers, positions: Floats, rounds: int) -> Floats:
    """Average all vertices with their neighbours, some times.

    Args:
        weights: shape (n, g).
        edges: shape (m, 2), vertices.
        positions: shape (n, 3).

    Returns:
        shape (n, g).
    """
    graph = _graph_of(edges, positions)
    connected = np.flatnonzero(graph.degrees)
    near, result = graph.at(connected), with_unused_row(weights)
    for _ in range(rounds):
        # Half of the way: a checkerboard would swing for ever.
        mean = near.pulled(result) / near.degrees[:, None]
        result[connected] = 0.5 * (result[connected] + mean)
    return result[:-1]


def strongest_weights(weights: Floats, most: int) -> Floats:
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


def _graph_of(edges: Integers, positions: Floats) -> MeshGraph:
    """Each edge pulls by one over its length."""
    lengths = np.linalg.norm(positions[edges[:, 0]] - positions[edges[:, 1]], axis=1)
    # Vertices in one place pull most, but not without limit.
    shortest = 1e-3 * float(lengths.mean()) if len(lengths) else 1.0
    return MeshGraph.of(edges, 1.0 / np.maximum(lengths, max(shortest, 1e-12)), len(positions))
