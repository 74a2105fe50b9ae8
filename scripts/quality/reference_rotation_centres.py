"""Skinning with optimised centres of rotation (B. Le, J. Hodgins 2016), for comparison.

At rest each vertex gets a centre: the mean of the mesh's triangles, by their areas and by how alike
the weights of the vertex (p) and of the triangle (t, the mean of its corners) are:

    s(p, t) = sum over pairs of bones j, k of
              p_j p_k t_j t_k exp(-(p_j t_k - p_k t_j)^2 / sigma^2),   sigma = 0.1

In a pose the vertex turns about its centre by the blended rotation Q, and the centre c goes where
linear blending takes it: v' = Q (v - c) + sum w_b D_b c. A vertex of one bone has no centre and
needs none: any point gives the same.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dq_compensation.core.dual_quaternion import rotate_vectors
from dq_compensation.core.influences import Influences
from dq_compensation.core.pose import Pose
from dq_compensation.core.skinning import blended_dual_quaternions, linear_blend
from quality.body import Body, triangles_of

Array = NDArray[np.float64]
SIGMA = 0.1
# The similarities of this many pairs of a vertex and a triangle are in memory at a time.
_AT_A_TIME = 4_000_000


class RotationCentres:
    """A body, and the centre of each vertex.

    Attributes:
        centres: shape (n, 3), armature space, at rest; the vertex itself where it has none.
    """

    def __init__(self, body: Body) -> None:
        self._body = body
        self.centres = centres_of_rotation(body)

    def deform(self, pose: Pose) -> Array:
        """Shape (n, 3), in a pose."""
        body = self._body
        moved = (body.influences.weights[:, 0] > 0.0)[:, None]
        turns = blended_dual_quaternions(body.rest, body.influences, pose)[0]
        centres = linear_blend(self.centres, None, body.influences, pose)[0]
        found = rotate_vectors(turns, body.rest - self.centres) + centres
        return np.where(moved, found, body.rest)


def centres_of_rotation(body: Body) -> Array:
    """The centres, shape (n, 3): the sums over all triangles, one pair of bones at a time."""
    weights = _dense_weights(body.influences, body.skeleton.bone_count)
    rows, of_row = np.unique(weights, axis=0, return_inverse=True)
    shared, areas, moments = _triangles(body, weights)
    weighted, total = np.zeros((len(rows), 3)), np.zeros(len(rows))
    rows_of = [np.flatnonzero(column) for column in rows.T]
    shared_of = [np.flatnonzero(column) for column in shared.T]
    for j, k in combinations(range(body.skeleton.bone_count), 2):
        own = np.intersect1d(rows_of[j], rows_of[k], assume_unique=True)
        others = np.intersect1d(shared_of[j], shared_of[k], assume_unique=True)
        if not len(own) or not len(others):
            continue
        step = max(1, _AT_A_TIME // len(others))
        for some in np.split(own, range(step, len(own), step)):
            alike = _similarities(rows[some][:, [j, k]], shared[others][:, [j, k]])
            weighted[some] += alike @ moments[others]
            total[some] += alike @ areas[others]
    centred = total > 0.0
    centres = weighted / np.where(centred, total, 1.0)[:, None]
    return np.where(centred[of_row][:, None], centres[of_row], body.rest)


def _similarities(own: NDArray[np.float32], others: NDArray[np.float32]) -> NDArray[np.float32]:
    """The term of s of one pair of bones, (p, t), for weights (p, 2) and (t, 2)."""
    apart = np.outer(own[:, 0], others[:, 1]) - np.outer(own[:, 1], others[:, 0])
    return np.exp(-np.square(apart / np.float32(SIGMA))) * np.outer(own.prod(1), others.prod(1))


def _dense_weights(influences: Influences, bone_count: int) -> NDArray[np.float32]:
    weights = np.zeros((influences.vertex_count, bone_count), np.float32)
    for rows, bones, values in influences.slots():
        weights[np.arange(influences.vertex_count)[rows], bones] = values
    return weights


def _triangles(
    body: Body, weights: NDArray[np.float32]
) -> tuple[NDArray[np.float32], Array, Array]:
    """Distinct weights (t, B) of triangles, the areas (t,) and the moments (t, 3) behind each."""
    corners = triangles_of(body.faces)
    a, b, c = np.moveaxis(body.rest[corners], 1, 0)
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2.0
    mean = weights[corners].mean(axis=1)
    shared, of_triangle = np.unique(mean, axis=0, return_inverse=True)
    area, moments = np.zeros(len(shared)), np.zeros((len(shared), 3))
    np.add.at(area, of_triangle, areas)
    np.add.at(moments, of_triangle, areas[:, None] * (a + b + c) / 3.0)
    return shared, area, moments
