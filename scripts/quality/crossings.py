"""Skin that passes through itself: pairs of triangles of one mesh that cross each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from quality.body import triangles_of

Array = NDArray[np.float64]

# In metres at rest: skin farther apart only meets, as a hand and a calf. Weights cannot help that.
FAR_APART = 0.35


@dataclass(frozen=True, eq=False)
class Crossings:
    """The crossings of a mesh, without those that it has at rest.

    Attributes:
        triangles: shape (t, 3), vertices.
        centres: shape (t, 3), of the triangles at rest.
        at_rest: shape (k, 2), the pairs of triangles that cross at rest.
    """

    triangles: NDArray[np.int32]
    centres: Array
    at_rest: NDArray[np.int64]

    @classmethod
    def of(cls, rest: Array, faces: NDArray[np.int32]) -> Crossings:
        """Find what crosses at rest.

        Args:
            rest: shape (n, 3).
            faces: shape (f, 4), quads; each is split from its first corner.
        """
        triangles = triangles_of(faces)
        return cls(triangles, rest[triangles].mean(axis=1), crossing_pairs(rest, triangles))

    def count(self, deformed: Array) -> int:
        """How many pairs cross in deformed positions (n, 3) that do not at rest."""
        pairs = crossing_pairs(deformed, self.triangles)
        first, second = self.centres[pairs[:, 0]], self.centres[pairs[:, 1]]
        pairs = pairs[np.linalg.norm(first - second, axis=1) < FAR_APART]
        known = set(map(tuple, self.at_rest.tolist()))
        return sum(pair not in known for pair in map(tuple, pairs.tolist()))


def crossing_pairs(positions: Array, triangles: NDArray[np.int32]) -> NDArray[np.int64]:
    """Pairs of triangles (k, 2) that cross and share no vertex, the lower index first.

    Args:
        positions: shape (n, 3).
        triangles: shape (t, 3).
    """
    tree = BVHTree.FromPolygons(positions.tolist(), triangles.tolist())
    pairs = np.array(tree.overlap(tree), np.int64).reshape(-1, 2)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    first, second = triangles[pairs[:, 0]], triangles[pairs[:, 1]]
    shared = (first[:, :, None] == second[:, None, :]).any(axis=(1, 2))
    return pairs[~shared]
