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
    second = triangles if others is None else others
    one, other = positions[triangles], positions[second]
    met = _pierces(one, other) | _pierces(other, one).T
    if others is None:
        met = np.triu(met, 1)
    return np.argwhere(met)


def _pierces(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Shape (t, o), whether a side of a triangle (t, 3, 3) goes through another one (o, 3, 3)."""
    found = np.zeros((len(one), len(other)), np.bool_)
    first, along, across = other[:, 0], other[:, 1] - other[:, 0], other[:, 2] - other[:, 0]
    for corner in range(3):
        start = one[:, corner][:, None]
        way = one[:, (corner + 1) % 3][:, None] - start
        normal = np.cross(way, across[None])
        determinant = (along * normal).sum(axis=2)
        safe = np.where(np.abs(determinant) < 1e-12, np.inf, determinant)
        away = start - first
        u = (away * normal).sum(axis=2) / safe
        turned = np.cross(away, along[None])
        v = (way * turned).sum(axis=2) / safe
        t = (across * turned).sum(axis=2) / safe
        found |= (u > 0.0) & (v > 0.0) & (u + v < 1.0) & (t > 0.0) & (t < 1.0)
    return found
