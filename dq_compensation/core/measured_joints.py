"""MEASURED compensation: the skin keeps its distance from the limbs on either side of a joint.

"Measured" is said here of vertices: how far each is from its limb. The measured transitions of
Setup Check are something else: where the weights of two bones cross over.

Dual quaternion blending turns the skin about the joint (Kavan et al. 2008), by the angle that its
weights ask for. Skin that lies beside a limb and has not turned as far as the limb sticks out from
it: by z sin(d) where it is z from the joint and d behind. No curve over the weights can know that,
since real weights need not be half and half at the joint. So it is measured: how much farther the
deformed vertex is from the limb's axis than at rest; it goes back as far as that. The idea that a
bulge is a distance from the bone that has grown is Kim and Han's (Bulging-free dual quaternion
skinning, 2014); what follows, with the way back, the fades and the bounds, is our own derivation.

The limbs of a joint are two rays from it (`limb_joints`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .influences import Influences
from .joint_candidates import JointCandidates
from .limb_joints import LimbJoints
from .pose import Pose
from .skeleton import LimbAxis, Skeleton
from .swing_joints import SwingJoints
from .vectors import dots, smooth_step

# The share of the nearer limb from which skin beside it goes back to it in full.
_TOGETHER = 0.35
# The weight that other bones may always have, until nothing is compensated.
_FEW = 0.05
# Stands for a distance of 0 where one divides by it.
TINY = 1e-30


@dataclass(frozen=True, eq=False)
class MeasuredJoints:
    """The joint that each vertex is measured against; once per binding.

    Of the joints between bones that move a vertex the one counts that bends it most
    (`JointCandidates`): limbs may be split into several bones, and weights may be wide. With
    `below` and `above` what hangs on the joint on either side, the amount is

        (below + above) own alone near together hinged (`hinge_confidence` of the joint)

    `own = max(0, 1 - r / (min(below, above) / 2 + 0.05))` fades where other bones move the vertex,
    too: r is what is left of its weights. `alone` and `near` are of `JointCandidates.chosen`.
    `together` rises smoothly from 0 where the nearer limb has no share in `below + above` to 1
    where it has 0.35: what only one limb moves cannot go to the other, and what is beside it must
    not go alone. `hinged` is 1 without `swings`; with them it falls to 0 where bones of other parts
    of the body move the vertex, too (`swing_joints`).

    Attributes:
        joints: shape (n,), int32; rows of `limbs`.
        bones: shape (n,), int32; the bone of the limb that is nearer: the joint's child or parent.
        amounts: shape (n,), 0 to 1, of the dtype of the positions; what is compensated.
        swings: what happens where limbs leave the body, afterwards; None where nothing does.
    """

    limbs: LimbJoints
    joints: NDArray[np.int32]
    bones: NDArray[np.int32]
    amounts: NDArray[np.floating]
    swings: SwingJoints | None = None

    @classmethod
    def of(
        cls,
        positions: NDArray[np.floating],
        influences: Influences,
        skeleton: Skeleton,
        limb_axis: LimbAxis = "AUTO",
        mesh_parents: NDArray[np.int32] | None = None,
        *,
        ball_joints: bool = False,
        sides: NDArray[np.integer] | None = None,
        left_out: Sequence[int] = (),
    ) -> MeasuredJoints:
        """Find the joints.

        Args:
            positions: shape (n, 3), armature space, at rest and without shape keys.
            mesh_parents: of `LimbJoints.of`.
            ball_joints: whether it acts where limbs leave the body, too.
            sides: shape (B,), of the bones: `body_tree.body_parents`.
            left_out: the bones at whose heads nothing is compensated.
        """
        count = len(positions)
        limbs = LimbJoints.of(skeleton, limb_axis, mesh_parents)
        joints, bones = np.zeros(count, np.int32), np.zeros(count, np.int32)
        amounts = np.zeros(count, positions.dtype)
        swings = None
        if ball_joints:
            of = (positions, influences, skeleton, limb_axis, mesh_parents)
            swings = SwingJoints.of(*of, sides, left_out=left_out)
        measured = cls(limbs, joints, bones, amounts, swings)
        if influences.width < 2 or not count:
            return measured
        candidates = JointCandidates.of(influences, limbs, sides, left_out)
        rows, chosen, fades = candidates.chosen(positions)
        found = candidates.joints[chosen]
        below, above = candidates.below[chosen], candidates.above[chosen]
        from_joint = positions[rows] - limbs.heads[found]
        to_forth = np.linalg.norm(from_ray(from_joint, limbs.forth[found]), axis=1)
        to_back = np.linalg.norm(from_ray(from_joint, limbs.back[found]), axis=1)
        beside_child = to_forth <= to_back
        both = below + above
        shares = np.where(beside_child, below, above) / both
        others = np.maximum(1.0 - both, 0.0) / (0.5 * np.minimum(below, above) + _FEW)
        fades *= np.maximum(1.0 - others, 0.0) * limbs.hinge_confidence[found]
        fades *= smooth_step(shares, 0.0, _TOGETHER)
        if swings is not None:
            fades *= swings.hinged[rows]
        fades[np.isin(limbs.children[found], left_out)] = 0.0
        joints[rows] = found
        bones[rows] = np.where(beside_child, limbs.children[found], limbs.parents[found])
        amounts[rows] = both * fades
        return measured

    @property
    def joint_counts(self) -> tuple[int, int]:
        """The numbers of joints with compensation: of the hierarchy, and of the mesh."""
        of_mesh = len(self.bones_of_mesh_joints)
        return len(np.unique(self.joints[self.rows])) - of_mesh, of_mesh

    @property
    def joint_bones(self) -> NDArray[np.int32]:
        """The bones at whose heads vertices are compensated."""
        return np.unique(self.limbs.children[self.joints[self.rows]])

    @property
    def bones_of_mesh_joints(self) -> NDArray[np.int32]:
        """The bones at whose heads vertices are compensated at a joint of the mesh."""
        found = np.unique(self.joints[self.rows])
        return self.limbs.children[found[found >= self.limbs.bone_count]]

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The vertices that have a joint."""
        return np.flatnonzero(self.amounts)

    def displacements(
        self,
        rows: NDArray[np.integer],
        rest: NDArray[np.floating],
        deformed: NDArray[np.floating],
        pose: Pose,
    ) -> NDArray[np.floating]:
        """From where dual quaternions have put vertices back towards the nearer limb.

        At rest, with the joint J and the ray r of the limb, let o = v - J be the vertex from the
        joint and a = o - max(0, o . r) r from the limb. In the pose, with J', r' = R r for the
        rotation R of the limb's bone, and v' after dual quaternion skinning, likewise o' = v' - J'
        and f = o' - max(0, o' . r') r'. Then

            e = min(max(0, |f| - size |a| - gap), size (|o| - |a|))
            result = -straightness e f / |f|

        straightness: of the limb, 1 unless its bone is a bendy one that is curved; size: how thick
        the limb is scaled; gap: between it and the other limb. Turning about J keeps |o|, so that
        skin of one joint never needs more than the second bound, and nothing is ever moved farther;
        next to the joint, where the nearer limb changes, it is 0. Where the skin is as near to the
        limb as at rest, as at rest, in a twist and on the inner side of a bend, e is 0.

        Arguments, shapes and spaces as of `compensation.Compensation.displacements`.
        """
        dtype = deformed.dtype
        limbs, posed = self.limbs, self.limbs.posed(pose)
        joints, sides = self.joints[rows], limbs.sides(self.joints[rows], self.bones[rows])
        rays = limbs.rays(joints, self.bones[rows]).astype(dtype, copy=False)
        posed_rays = posed.rays.astype(dtype, copy=False)[joints, sides]
        straightness = posed.straightness.astype(dtype, copy=False)[joints, sides]

        def of_joints(values: NDArray[np.float64]) -> NDArray[np.floating]:
            return values.astype(dtype, copy=False)[joints]

        sizes, gaps = of_joints(posed.sizes), of_joints(posed.gaps)
        rest_distance, max_correction = distances_at_rest(rest - of_joints(limbs.heads), rays)
        away = from_ray(deformed - of_joints(posed.heads), posed_rays)
        distances = np.linalg.norm(away, axis=1)
        too_far = distances - sizes * rest_distance - gaps
        too_far = np.clip(too_far, 0.0, np.maximum(sizes * max_correction, 0.0))
        shares = -straightness * too_far / np.maximum(distances, dtype.type(TINY))
        return (shares[:, None] * away).astype(dtype, copy=False)


def from_ray(from_joint: NDArray[np.floating], ray: NDArray[np.floating]) -> NDArray[np.floating]:
    """The vectors (m, 3) from the nearest points of rays to points."""
    return from_joint - np.maximum(dots(from_joint, ray), 0.0)[:, None] * ray


def distances_at_rest(
    from_joint: NDArray[np.floating], ray: NDArray[np.floating]
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """The distance of vertices from their limb, and by how much it is less than from the joint.

    Args:
        from_joint: shape (m, 3), from the joint to the vertex, at rest.
        ray: shape (m, 3), unit, along the limb.

    Returns:
        two arrays of shape (m,): the rest distance, and the longest correction that a vertex needs.
    """
    distances = np.linalg.norm(from_ray(from_joint, ray), axis=1)
    return distances, np.linalg.norm(from_joint, axis=1) - distances
