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

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..arrays import Float64s, Floats, Indices, Int32s, Integers
from .joint_candidates import JointCandidates
from .limb_joints import LimbJoints
from .pose import Pose
from .ropes import rope_joints
from .skeleton import JointStrengths
from .skin_at_rest import SkinAtRest
from .swing_joints import SwingJoints
from .vectors import dots, smooth_step

# The share of the nearer limb from which skin beside it goes back to it in full.
_TOGETHER = 0.35
# The weight that other bones may always have, until nothing is compensated.
_FEW = 0.05
# Stands for a distance of 0 where one divides by it.
TINY = 1e-30
# The confidence (`hinge_confidence`) below which a bone begins another part of the body.
_SURE = 0.5


@dataclass(frozen=True, eq=False)
class MeasuredJoints:
    """The joint that each vertex is measured against; once per binding.

    Of the joints between bones that move a vertex the one counts that bends it most
    (`JointCandidates`): limbs may be split into several bones, and weights may be wide. With
    `below` and `above` what hangs on the joint on either side, the amount is

        (below + above) own alone near limb together hinged (`hinge_confidence` of the joint)

    `own = max(0, 1 - r / (min(below, above) / 2 + 0.05))` fades where other bones move the vertex,
    too: r is what is left of its weights. `alone`, `near` and `limb` are of
    `JointCandidates.chosen`. `together` rises smoothly from 0 where the nearer limb has no share in
    `below + above` to 1 where it has 0.35: what only one limb moves cannot go to the other, and
    what is beside it must not go alone. `hinged` is 1 without `swings`; with them it falls to 0
    where bones of other parts of the body move the vertex, too (`swing_joints`).

    Attributes:
        joints: shape (n,), int32; rows of `limbs`.
        bones: shape (n,), int32; the bone of the limb that is nearer: the joint's child or parent.
        amounts: shape (n,), 0 to 1, of the dtype of the positions; what is compensated.
        ropes: shape (J,), 0 to 1, of `rope_joints`.
        swings: what happens where limbs leave the body, afterwards; None where nothing does.
    """

    limbs: LimbJoints
    joints: Int32s
    bones: Int32s
    amounts: Floats
    ropes: Float64s
    swings: SwingJoints | None = None

    @classmethod
    def of(
        cls, skin: SkinAtRest, *, ball_joints: bool = False, strengths: JointStrengths = ()
    ) -> MeasuredJoints:
        """Find the joints.

        Args:
            ball_joints: whether it acts where limbs leave the body, too.
            strengths: how much of it acts at the heads of some bones.
        """
        limbs = LimbJoints.of(skin.skeleton, skin.limb_axis, skin.mesh_parents)
        swings = SwingJoints.of(skin, strengths) if ball_joints else None
        positions, count = skin.positions, len(skin.positions)
        joints, bones = np.zeros(count, np.int32), np.zeros(count, np.int32)
        amounts = np.zeros(count, positions.dtype)
        if skin.influences.width < 2 or not count:
            return cls(limbs, joints, bones, amounts, np.zeros(len(limbs.heads)), swings)
        candidates = JointCandidates.of(skin, limbs)
        ropes = rope_joints(skin, limbs, candidates)
        rows, chosen, fades = candidates.chosen(positions, ropes, strengths)
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
        fades *= smooth_step(shares, 0.0, _TOGETHER) * limbs.acting[found]
        if swings is not None:
            fades *= swings.hinged[rows]
        joints[rows] = found
        bones[rows] = np.where(beside_child, limbs.children[found], limbs.parents[found])
        amounts[rows] = both * fades
        return cls(limbs, joints, bones, amounts, ropes, swings)

    def towards(self, other: MeasuredJoints, shares: Floats) -> MeasuredJoints:
        """The same where skin goes over to skin whose joints were found elsewhere.

        Args:
            other: found for the same vertices.
            shares: shape (n,), 0 to 1, how much its amounts count; where that is all, so does its
                joint.
        """
        ours, theirs = self.limbs, other.limbs
        named = np.minimum(other.joints, len(ours.children) - 1)
        same_joint = (ours.children[named] == theirs.children[other.joints]) & (
            ours.parents[named] == theirs.parents[other.joints]
        )
        taken = same_joint & ((shares >= 1.0) | ((shares > 0.0) & (self.amounts == 0.0)))
        joints = np.where(taken, named, self.joints).astype(np.int32)
        bones = np.where(taken, other.bones, self.bones)
        alike = same_joint & (joints == named) & (bones == other.bones)
        both = self.amounts + shares * (other.amounts - self.amounts)
        amounts = np.where(alike, both, self.amounts).astype(self.amounts.dtype)
        swings = self.swings
        if swings is not None and other.swings is not None:
            swings = swings.towards(other.swings, shares)
        return replace(self, joints=joints, bones=bones, amounts=amounts, swings=swings)

    def at(self, rows: Integers) -> MeasuredJoints:
        """The same for some vertices."""
        return replace(
            self,
            joints=self.joints[rows],
            bones=self.bones[rows],
            amounts=self.amounts[rows],
            swings=None if self.swings is None else self.swings.at(rows),
        )

    @property
    def points_aside(self) -> bool:
        """Whether any vertex is measured against a limb that points aside: `LimbJoints.aside`."""
        joints, bones = self.joints[self.rows], self.bones[self.rows]
        return bool(
            ((bones == self.limbs.children[joints]) & (self.limbs.aside[joints] > 0.0)).any()
        )

    @property
    def rope_bones(self) -> Int32s:
        """The bones at whose heads a rope bends: nothing is compensated there, or little."""
        return np.unique(self.limbs.children[self.ropes > 0.5])

    @property
    def joint_counts(self) -> tuple[int, int]:
        """The numbers of joints with compensation: of the hierarchy, and of the mesh."""
        found = np.unique(self.joints[self.rows])
        of_mesh = int(np.count_nonzero(found >= self.limbs.skeleton.bone_count))
        return len(found) - of_mesh, of_mesh

    @property
    def joint_bones(self) -> Int32s:
        """The bones at whose heads vertices are compensated."""
        return np.unique(self.limbs.children[self.joints[self.rows]])

    @property
    def bones_of_mesh_joints(self) -> Int32s:
        """The bones at whose heads vertices are compensated at a joint of the mesh."""
        found = np.unique(self.joints[self.rows])
        return self.limbs.children[found[found >= self.limbs.skeleton.bone_count]]

    @cached_property
    def rows(self) -> Indices:
        """The vertices that have a joint."""
        return np.flatnonzero(self.amounts)

    def displacements(self, rows: Integers, rest: Floats, deformed: Floats, pose: Pose) -> Floats:
        """From where dual quaternions have put vertices back towards the nearer limb.

        At rest, with the joint J and the ray r of the limb, let o = v - J be the vertex from the
        joint and a = o - max(0, o . r) r from the limb. In the pose, with J', r' = R r for the
        rotation R of the limb's bone, and v' after dual quaternion skinning, likewise o' = v' - J'
        and f = o' - max(-reach, o' . r') r'. Then

            e = min(max(0, |f| - size |a| - max(0, gap)), size (|o| - |a|) + max(0, -gap))
            result = -straightness e f / |f|

        straightness: of the limb, 1 unless its bone is a bendy one that is curved, or the limb
        turns about the parent's and points aside (`PosedJoints`); size: how thick the limb is
        scaled. Where the child is moved off the parent's end by g, to J', gap is the
        part of g across the parent's limb, less what half of the part along it is more, and reach
        is max(0, g . r'): the limb goes on to the parent's end. Turning about J keeps |o|, so that
        skin of one joint never needs more than the second bound, and nothing is ever moved farther;
        next to the joint, where the nearer limb changes, it is 0 without a gap. Blending a turn by
        t with a shift by g takes what is half and half by |g| / (2 cos(t / 4)). Where the skin is
        as near to the limb as at rest, as at rest, in a twist and on the inner side of a bend, e is
        0.

        Arguments, shapes and spaces as of `compensation.Compensation.displacements`.
        """
        dtype = deformed.dtype
        limbs, posed = self.limbs, self.limbs.posed(pose)
        joints, sides = self.joints[rows], limbs.sides(self.joints[rows], self.bones[rows])
        rays = limbs.rays(joints, self.bones[rows]).astype(dtype, copy=False)
        posed_rays = posed.rays.astype(dtype, copy=False)[joints, sides]
        straightness = posed.straightness.astype(dtype, copy=False)[joints, sides]
        reaches = posed.reaches.astype(dtype, copy=False)[joints, sides]
        heads, posed_heads, sizes, gaps = (
            values.astype(dtype, copy=False)[joints]
            for values in (limbs.heads, posed.heads, posed.sizes, posed.gaps)
        )
        rest_distance, max_correction = distances_at_rest(rest - heads, rays)
        away = from_ray(deformed - posed_heads, posed_rays, reaches)
        distances = np.linalg.norm(away, axis=1)
        too_far = distances - sizes * rest_distance - np.maximum(gaps, 0.0)
        farthest = np.maximum(sizes * max_correction, 0.0) + np.maximum(-gaps, 0.0)
        too_far = np.clip(too_far, 0.0, farthest)
        shares = -straightness * too_far / np.maximum(distances, dtype.type(TINY))
        return (shares[:, None] * away).astype(dtype, copy=False)


def from_ray(from_joint: Floats, ray: Floats, reach: Floats | float = 0.0) -> Floats:
    """The vectors (m, 3) from the nearest points of rays, which begin this far behind the joint."""
    return from_joint - np.maximum(dots(from_joint, ray), -reach)[:, None] * ray


def distances_at_rest(from_joint: Floats, ray: Floats) -> tuple[Floats, Floats]:
    """The distance of vertices from their limb, and by how much it is less than from the joint.

    Args:
        from_joint: shape (m, 3), from the joint to the vertex, at rest.
        ray: shape (m, 3), unit, along the limb.

    Returns:
        two arrays of shape (m,): the rest distance, and the longest correction that a vertex needs.
    """
    distances = np.linalg.norm(from_ray(from_joint, ray), axis=1)
    return distances, np.linalg.norm(from_joint, axis=1) - distances


IdleReason = Literal["ROPE", "ANOTHER_PART", "LITTLE_SKIN"]


def idle_joints(
    skin: SkinAtRest, measured: MeasuredJoints, done: Collection[int]
) -> dict[int, IdleReason]:
    """Why nothing is done at the heads of bones that move skin and hang on others.

    Args:
        skin: with whole limbs.
        done: bones at whose heads something is done.
    """
    limbs, ropes = measured.limbs, measured.rope_bones
    confidence = np.zeros(skin.skeleton.bone_count)
    np.maximum.at(confidence, limbs.children, limbs.hinge_confidence)
    moves = skin.influences.moving_bones(skin.skeleton.bone_count)
    found: dict[int, IdleReason] = {}
    for bone in np.flatnonzero(moves & (skin.body_parents >= 0)).tolist():
        if bone not in done:
            found[bone] = "LITTLE_SKIN" if confidence[bone] >= _SURE else "ANOTHER_PART"
            found[bone] = "ROPE" if bone in ropes else found[bone]
    return found
