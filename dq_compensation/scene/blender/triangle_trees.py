"""Trees of triangles, apart: by Blender, what is near and what crosses; solvers are NumPy only."""

from __future__ import annotations

import numpy as np
from mathutils.bvhtree import BVHTree

from ...analysis.surface.skin_crossings import share_corners
from ...arrays import Float64s, Floats, Indices, Integers


def overlapping_triangles(
    positions: Floats, triangles: Integers, others: Integers | None = None
) -> Indices:
    """Pairs of triangles (k, 2) that cross, each once, the lower row first.

    Args:
        positions: shape (n, 3).
        triangles: shape (t, 3): one of each pair is among them.
        others: shape (o, 3): their rows follow.
    """
    if not len(triangles):
        return np.zeros((0, 2), np.intp)
    tree = tree_of(positions, triangles)
    within = _overlaps(tree)
    if others is None or not len(others):
        return within
    return np.concatenate(
        (within, _overlaps(tree, tree_of(positions, others)) + (0, len(triangles)))
    )


def tree_of(positions: Floats, triangles: Integers) -> BVHTree:
    """The tree of triangles (t, 3), among all positions."""
    is_used = np.zeros(len(positions), np.bool_)
    is_used[triangles] = True
    corners = (np.cumsum(is_used) - 1)[triangles]
    return BVHTree.FromPolygons(positions[is_used].tolist(), corners.tolist(), all_triangles=True)


def _overlaps(tree: BVHTree, other: BVHTree | None = None) -> Indices:
    """Pairs of triangles (k, 2) of two trees that cross; of one, each once, the lower row first."""
    pairs = np.array(tree.overlap(other or tree), np.intp).reshape(-1, 2)
    return pairs if other is not None else pairs[pairs[:, 0] < pairs[:, 1]]


class SurfaceTree:
    """`analysis.flesh.surface_search.SurfaceSearch`, for positions (n, 3) and triangles (t, 3)."""

    def __init__(self, positions: Floats, triangles: Integers) -> None:
        self._triangles = np.asarray(triangles)
        self._tree = tree_of(positions, self._triangles)

    def nearest(self, points: Floats) -> tuple[Float64s, Indices]:
        """The nearest places (m, 3), and their triangles (m,)."""
        find = self._tree.find_nearest
        found = [find(point) for point in points.tolist()]
        places = np.array([each[0] for each in found], np.float64).reshape(-1, 3)
        return places, np.array([each[2] for each in found], np.intp)

    def first_hits(self, points: Floats, ways: Floats, farthest: float) -> Indices:
        """The triangles (m,) that rays from points (m, 3) along unit ways meet first, or -1."""
        cast = self._tree.ray_cast
        rays = zip(points.tolist(), ways.tolist(), strict=True)
        found = [cast(point, way, farthest)[2] for point, way in rays]
        return np.array([-1 if each is None else each for each in found], np.intp)

    def crossings(self) -> Indices:
        """The pairs of triangles that cross and share no vertex, (k, 2), lower index first."""
        pairs = _overlaps(self._tree)
        return pairs[~share_corners(self._triangles, pairs)]
