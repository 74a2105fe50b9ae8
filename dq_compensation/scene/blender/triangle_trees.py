"""Trees of triangles: Blender finds what is near, and what crosses."""

from __future__ import annotations

import numpy as np
from mathutils.bvhtree import BVHTree

from ...arrays import Floats, Indices, Integers


def overlapping_triangles(
    positions: Floats, triangles: Integers, others: Integers | None = None
) -> Indices:
    """Pairs of triangles (k, 2) that cross, each once.

    Args:
        positions: shape (n, 3).
        triangles: shape (t, 3): rows of them are first in the pairs.
        others: shape (o, 3): rows of them are second; None: the same, the lower row is first.
    """
    if not len(triangles) or (others is not None and not len(others)):
        return np.zeros((0, 2), np.intp)
    tree = tree_of(positions, triangles)
    other = tree if others is None else tree_of(positions, others)
    pairs = np.array(tree.overlap(other), np.intp).reshape(-1, 2)
    return pairs if others is not None else pairs[pairs[:, 0] < pairs[:, 1]]


def tree_of(positions: Floats, triangles: Integers) -> BVHTree:
    """The tree of triangles (t, 3), among all positions."""
    is_used = np.zeros(len(positions), np.bool_)
    is_used[triangles] = True
    corners = (np.cumsum(is_used) - 1)[triangles]
    return BVHTree.FromPolygons(positions[is_used].tolist(), corners.tolist(), all_triangles=True)
