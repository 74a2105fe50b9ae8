"""Bulging-free dual quaternion skinning (Y. Kim, J. Han 2014), for comparison.

After dual quaternion skinning, a vertex that is farther from its bone than at rest goes back along
the shortest way, to its rest distance. Its bone is the nearest one at rest of those that move it; a
bone is the segment from its head to its tail. With c the nearest point of the posed segment

    v' = c + min(1, |v - c_rest| / |dq(v) - c|) (dq(v) - c)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.pose import Pose
from dq_compensation.core.skinning import dual_quaternion_skinning
from dq_compensation.core.vectors import dots, transformed_points
from quality.body import Body

Array = NDArray[np.float64]
_TINY = 1e-30


class BulgingFree:
    """A body, and the bone and the rest distance of each vertex.

    Args:
        body: at rest.
    """

    def __init__(self, body: Body) -> None:
        self._body = body
        count = len(body.rest)
        self.bones = np.full(count, -1, np.int32)
        self.distances = np.full(count, np.inf)
        heads, tails = body.skeleton.heads, body.skeleton.tails
        for rows, bones, _ in body.influences.slots():
            points = body.rest[rows]
            away = points - nearest_on_segments(points, heads[bones], tails[bones])
            lengths = np.linalg.norm(away, axis=1)
            nearer = lengths < self.distances[rows]
            self.distances[rows] = np.where(nearer, lengths, self.distances[rows])
            self.bones[rows] = np.where(nearer, bones, self.bones[rows])

    def deform(self, pose: Pose) -> Array:
        """Shape (n, 3), in a pose."""
        body, bones = self._body, self.bones
        dual = dual_quaternion_skinning(body.rest, None, body.influences, pose)[0]
        matrices = pose.matrices[: body.skeleton.bone_count]
        heads = np.array(
            [transformed_points(m, p) for m, p in zip(matrices, body.skeleton.heads, strict=True)]
        )
        tails = np.array(
            [transformed_points(m, p) for m, p in zip(matrices, body.skeleton.tails, strict=True)]
        )
        nearest = nearest_on_segments(dual, heads[bones], tails[bones])
        away = dual - nearest
        lengths = np.maximum(np.linalg.norm(away, axis=1), _TINY)
        shares = np.minimum(1.0, self.distances / lengths)
        return np.where(bones[:, None] >= 0, nearest + shares[:, None] * away, dual)


def nearest_on_segments(points: Array, starts: Array, ends: Array) -> Array:
    """The nearest points (m, 3) of segments, from `starts` to `ends` (m, 3), to points (m, 3)."""
    along = ends - starts
    shares = dots(points - starts, along) / np.maximum(dots(along, along), _TINY)
    return starts + np.clip(shares, 0.0, 1.0)[:, None] * along
