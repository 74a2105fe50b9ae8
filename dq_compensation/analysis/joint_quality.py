"""The mathematics of bulge and pinch: how well skin keeps its shape where a joint is bent.

The ideal limb is two capsules that share the joint: however it bends, a point of the skin keeps its
distance from the nearer one of the two limb axes. *Bulge* is how much that distance grows at the
worst vertex, *pinch* how much it shrinks. Only the outer side of the bend counts, since the inner
side has to fold, and only the skin that is compensated at the joint: one bone alone moves the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Float64s, Floats, Indices
from ..core.dual_quaternion import matrices_from_quaternions
from ..core.limb_joints import LimbJoints
from ..core.measured_joints import MeasuredJoints, from_ray
from ..core.skeleton import Skeleton

# Fewer vertices on the outer side say nothing about a joint.
_LEAST_VERTICES = 3
# The sine between two limbs from which they have a plane of their own in which the joint bends.
_HAS_PLANE = 0.05


@dataclass(frozen=True, eq=False)
class JointBend:
    """A joint that is bent, and the skin on the outer side of the bend.

    Attributes:
        joint: a row of the `LimbJoints`.
        rows: shape (m,), the vertices.
        matrices: shape (B, 4, 4), D_b of every bone in the bent pose, armature space.
        distances: shape (m,), from the nearer limb axis at rest.
    """

    limbs: LimbJoints
    joint: int
    rows: Indices
    matrices: Float64s
    distances: Float64s

    @property
    def radius(self) -> float:
        """The mean distance of the skin from the nearer limb axis at rest."""
        return float(self.distances.mean())

    def bulge_and_pinch(self, positions: Floats) -> tuple[float, float]:
        """The largest ways of vertices away from the limb axes, and towards them.

        Args:
            positions: shape (n, 3), all vertices in the bent pose, armature space.

        Returns:
            two lengths, 0 or more.
        """
        limbs, joint = self.limbs, self.joint
        child = self.matrices[limbs.children[joint]]
        parent = self.matrices[limbs.parents[joint]]
        head = child[:3, :3] @ limbs.heads[joint] + child[:3, 3]
        axes = child[:3, :3] @ limbs.forth[joint], parent[:3, :3] @ limbs.back[joint]
        farther = _distances(positions[self.rows] - head, *axes) - self.distances
        return max(0.0, float(farther.max())), max(0.0, -float(farther.min()))


def joint_bends(
    positions: Floats, measured: MeasuredJoints, skeleton: Skeleton, degrees: float
) -> list[JointBend]:
    """Every compensated joint, bent alone; those with too little skin are left out.

    The child and the bones below it turn about the joint by `degrees` from rest: in the plane of
    the two limbs, farther than they are bent already; where they have none, about the child's X.

    Args:
        positions: shape (n, 3), at rest, armature space.
    """
    limbs = measured.limbs
    found = []
    for joint in np.unique(measured.joints[measured.rows]).tolist():
        rows = measured.rows[measured.joints[measured.rows] == joint]
        axis = _bend_axis(limbs, joint, skeleton)
        from_joint = positions[rows].astype(np.float64) - limbs.heads[joint]
        inwards = np.cross(axis, limbs.forth[joint] - limbs.back[joint])
        outer = from_joint @ inwards < 0.0
        if np.count_nonzero(outer) < _LEAST_VERTICES:
            continue
        distances = _distances(from_joint[outer], limbs.forth[joint], limbs.back[joint])
        matrices = _bent(skeleton, limbs, joint, axis, degrees)
        found.append(JointBend(limbs, joint, rows[outer], matrices, distances))
    return found


def _bend_axis(limbs: LimbJoints, joint: int, skeleton: Skeleton) -> Float64s:
    """The unit axis about which a joint bends, shape (3,); the other limb turns by it inwards."""
    forth = limbs.forth[joint]
    axis = np.cross(forth, limbs.back[joint])
    if np.linalg.norm(axis) < _HAS_PLANE:
        own = skeleton.rest[limbs.children[joint], :3, :3]
        # A limb may lie along X.
        across = [own[:, column] - (own[:, column] @ forth) * forth for column in (0, 2)]
        axis = max(across, key=lambda each: float(np.linalg.norm(each)) > 0.5)
    return axis / np.linalg.norm(axis)


def _bent(
    skeleton: Skeleton, limbs: LimbJoints, joint: int, axis: Float64s, degrees: float
) -> Float64s:
    """D_b of every bone where the child of a joint is turned about it, with all bones below."""
    half = np.radians(degrees) / 2.0
    quaternion = np.array([np.cos(half), *(np.sin(half) * axis)])
    turned = np.eye(4)
    turned[:3, :3] = matrices_from_quaternions(quaternion[None])[0]
    turned[:3, 3] = limbs.heads[joint] - turned[:3, :3] @ limbs.heads[joint]
    moves = np.zeros(skeleton.bone_count, np.bool_)
    moves[limbs.children[joint]] = True
    for bone, parent in enumerate(skeleton.parents):  # parents come first
        moves[bone] |= parent >= 0 and moves[parent]
    return np.where(moves[:, None, None], turned, np.eye(4))


def _distances(from_joint: Floats, forth: Floats, back: Floats) -> Float64s:
    """The distances (m,) of points from the nearer one of two rays, which begin at the joint."""
    first, second = (from_ray(from_joint, ray[None]) for ray in (forth, back))
    return np.sqrt(np.minimum((first**2).sum(axis=1), (second**2).sum(axis=1)), dtype=np.float64)
