"""Finds the nearest of many points by the cells of a grid."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Indices, Int64s


def nearest_within(points: Floats, places: Floats, tolerance: float) -> Indices:
    """The nearest of the points (n, 3) to each place (k, 3) within a distance.

    Returns:
        shape (k,); -1 where none of the points is that near.
    """
    partners = np.full(len(places), -1, np.intp)
    if not len(points) or not len(places):
        return partners
    # Within the tolerance of a place lie at most 8 cells twice as large, from its low corner on.
    lowest = np.minimum(points.min(axis=0), places.min(axis=0)) - tolerance
    cells = np.floor((points - lowest) / (2.0 * tolerance)).astype(np.int64)
    corners = np.floor((places - tolerance - lowest) / (2.0 * tolerance)).astype(np.int64)
    sizes = np.maximum(cells.max(axis=0), corners.max(axis=0)) + 2
    keys = cell_keys(cells, sizes)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    best = np.full(len(places), tolerance**2)
    for corner in np.ndindex(2, 2, 2):
        wanted = cell_keys(corners + corner, sizes)
        starts = np.searchsorted(keys, wanted, side="left")
        ends = np.searchsorted(keys, wanted, side="right")
        rows = np.flatnonzero(starts < ends)
        while len(rows):
            candidates = order[starts[rows]]
            squares = np.sum((points[candidates] - places[rows]) ** 2, axis=1)
            nearer = squares <= best[rows]
            best[rows[nearer]] = squares[nearer]
            partners[rows[nearer]] = candidates[nearer]
            starts[rows] += 1
            rows = rows[starts[rows] < ends[rows]]
    return partners


def cell_keys(cells: Int64s, sizes: Int64s) -> Int64s:
    """One number for each cell, shape (n,), of its three."""
    return (cells[:, 0] * sizes[1] + cells[:, 1]) * sizes[2] + cells[:, 2]
