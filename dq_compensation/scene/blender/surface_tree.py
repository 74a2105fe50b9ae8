"""Searches on a surface by Blender's tree of triangles, apart: solvers need NumPy only."""

from __future__ import annotations

import numpy as np
from mathutils.bvhtree import BVHTree

from ...arrays import Float64s, Floats, Indices, Int64s, Integers


class SurfaceTree:
    """`analysis.flesh.surface_search.SurfaceSearch`, for positions (n, 3) and triangles (t, 3)."""

    def __init__(self, positions: Floats, triangles: Integers) -> None:
        self._triangles = np.asarray(triangles)
        self._tree = BVHTree.FromPolygons(
            positions.tolist(), triangles.tolist(), all_triangles=True
        )

    def nearest(self, points: Floats) -> tuple[Float64s, Indices]:
        """The nearest places (m, 3), and their triangles (m,)."""
        find = self._tree.find_nearest
        found = [find(point) for point in points.tolist()]
        places = np.array([each[0] for each in found], np.float64).reshape(-1, 3)
        return places, np.array([each[2] for each in found], np.intp)

    def crossings(self) -> Int64s:
        """The pairs of triangles that cross and share no vertex, (k, 2), lower index first."""
        pairs = np.array(self._tree.overlap(self._tree), np.int64).reshape(-1, 2)
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        first, second = self._triangles[pairs[:, 0]], self._triangles[pairs[:, 1]]
        shared = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
        return pairs[~shared]
