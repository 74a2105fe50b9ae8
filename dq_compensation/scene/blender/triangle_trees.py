"""Trees of triangles, apart: by Blender, what is near and what crosses; solvers are NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from mathutils.bvhtree import BVHTree

from ...analysis.surface.skin_crossings import share_corners
from ...arrays import Float64s, Floats, Indices, Integers

# Farther than any place: the default of Blender's trees.
_FARTHEST = 1e19


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
        self._positions, self._triangles = positions, np.asarray(triangles)
        self._tree = tree_of(positions, self._triangles)

    @property
    def triangle_count(self) -> int:
        """How many triangles it has."""
        return len(self._triangles)

    @cached_property
    def box(self) -> Float64s:
        """Shape (2, 3), the lowest and the highest corner of the box of the triangles."""
        corners = self._positions[self._triangles].reshape(-1, 3)
        return np.stack((corners.min(axis=0), corners.max(axis=0))).astype(np.float64)

    def nearest(self, points: Floats) -> tuple[Float64s, Indices]:
        """The nearest places (m, 3), and their triangles (m,)."""
        find = self._tree.find_nearest
        found = [find(point) for point in points.tolist()]
        places = np.array([each[0] for each in found], np.float64).reshape(-1, 3)
        return places, np.array([each[2] for each in found], np.intp)

    def nearer(self, points: Floats, distances: Floats) -> tuple[Indices, Float64s, Indices]:
        """What is nearer to points (m, 3) than these distances (m,).

        Returns:
            the points for which something is, shape (k,); the nearest places, shape (k, 3); their
            triangles, shape (k,).
        """
        find, pairs = self._tree.find_nearest, zip(points.tolist(), distances.tolist(), strict=True)
        found = [find(point, distance) for point, distance in pairs]
        rows = np.array([row for row, each in enumerate(found) if each[2] is not None], np.intp)
        places = np.array([found[row][0] for row in rows.tolist()], np.float64).reshape(-1, 3)
        return rows, places, np.array([found[row][2] for row in rows.tolist()], np.intp)

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


class JoinedTrees:
    """`NearestSearch` on several surfaces, each with its tree.

    Attributes:
        starts: shape (k + 1,), the first triangle of each surface, one behind the other.
    """

    def __init__(self, trees: Sequence[SurfaceTree]) -> None:
        self._trees = trees
        self.starts = np.cumsum([0, *(tree.triangle_count for tree in trees)])

    def nearest(self, points: Floats, farthest: float = _FARTHEST) -> tuple[Float64s, Indices]:
        """The nearest places (m, 3), and their triangles (m,).

        Where nothing is nearer than `farthest`, the place is the point, and the triangle -1.
        """
        places, triangles = np.array(points, np.float64), np.full(len(points), -1)
        distances = np.full(len(points), farthest)
        apart = [_from_box(places, tree.box) for tree in self._trees]
        order = sorted(range(len(apart)), key=lambda row: float(apart[row].sum()))
        for each in order:
            near = np.flatnonzero(apart[each] < distances)
            rows, found, of_tree = self._trees[each].nearer(points[near], distances[near])
            rows = near[rows]
            places[rows], triangles[rows] = found, of_tree + self.starts[each]
            distances[rows] = np.linalg.norm(found - points[rows], axis=1)
        return places, triangles


def _from_box(points: Float64s, box: Float64s) -> Float64s:
    """Shape (m,), how far points (m, 3) are from a box."""
    return np.linalg.norm(np.maximum(0.0, np.maximum(box[0] - points, points - box[1])), axis=1)
