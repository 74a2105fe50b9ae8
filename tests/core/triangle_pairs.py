"""Pairs of triangles that cross, found one by one: an independent answer to trees of boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def crossing_triangles(
    positions: NDArray[np.floating],
    triangles: NDArray[np.integer],
    others: NDArray[np.integer] | None = None,
) -> NDArray[np.intp]:
    """Pairs (k, 2) one of which has a side that goes through the other one; as `Overlaps`.

    A side from p to q goes through a triangle where p and q are on two sides of its plane, and the
    place between is inside all its sides (Moeller and Trumbore 1997).
    """
    every = triangles if others is None else np.concatenate((triangles, others))
    other = positions[every].astype(np.float64)
    one = other[: len(triangles)]
    near = np.ones((len(one), len(other)), np.bool_)
    for axis in range(3):
        ours, theirs = one[:, :, axis], other[:, :, axis]
        near &= ours.max(axis=1)[:, None] >= theirs.min(axis=1)
        near &= theirs.max(axis=1) >= ours.min(axis=1)[:, None]
    pairs = np.argwhere(np.triu(near, 1))
    first, second = one[pairs[:, 0]], other[pairs[:, 1]]
    return pairs[_pierces(first, second) | _pierces(second, first)]


def _pierces(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Shape (k,), whether a side of a triangle (k, 3, 3) goes through another one (k, 3, 3)."""
    found = np.zeros(len(one), np.bool_)
    first, along, across = other[:, 0], other[:, 1] - other[:, 0], other[:, 2] - other[:, 0]
    for corner in range(3):
        start = one[:, corner]
        way = one[:, (corner + 1) % 3] - start
        normal = np.cross(way, across)
        determinant = (along * normal).sum(axis=1)
        safe = np.where(np.abs(determinant) < 1e-12, np.inf, determinant)
        away = start - first
        turned = np.cross(away, along)
        u, v = (away * normal).sum(axis=1) / safe, (way * turned).sum(axis=1) / safe
        t = (across * turned).sum(axis=1) / safe
        found |= (u > 0.0) & (v > 0.0) & (u + v < 1.0) & (t > 0.0) & (t < 1.0)
    return found
