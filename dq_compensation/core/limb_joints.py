"""The joints between limbs: of the hierarchy, and of the mesh where the hierarchy knows none.

The limbs of a joint are two rays from it: forth along the child's limb, back along the parent's.

Leaves on limbs: twist bones, share bones and correctives, which lie on the limb of another bone.

Game rigs share a limb out among its bone and leaves of it. The skin of such a leaf is on the
limb, and the joint at the limb's end is a joint of the leaf's skin, too.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Int32s, Integers
from .pose import Pose, limb_straightness
from .skeleton import LimbAxis, Skeleton
from .vectors import cross, dots, extent, smooth_step, unit_or

# Cosines of the angle at which one limb continues the other at rest: below the first it is another
# part of the body (a thigh at a pelvis, an eyelid at a head), above the second a limb.
_ANOTHER_PART, _SAME_LIMB = 0.3, 0.7
# A limb that is scaled to less than this along its length has no direction: what is left of it is
# rounding in float32.
SHORTEST_RAY = 1e-4
# A child's limb that points aside from the parent's, by this sine, from the first number to the
# second, lets go of the skin where it turns about the parent's, up to where half of its turn, by
# squares, is a bend; it keeps nothing where it does not bend. The last number stands for rounding.
_ASIDE = (0.09, 0.2)
BENT_AS_TURNED, LEAST_TURN = 2.0, 1e-6
# Where a limb is pulled apart or pushed together, blending takes the skin at the joint half of the
# way along.
LOOSENED = 0.5


@dataclass(frozen=True, eq=False)
class LimbJoints:
    """The joints of a skeleton at rest, armature space.

    Joint j < B is at the head of bone j, between it and its parent. The joints from B on are those
    of the mesh: each is at the head of a bone that continues another one, although neither is above
    the other.

    The joints of SPHERICAL_JOINT are shared by sets of bones: `core.spherical_joints.JointSets`.

    Attributes:
        children: shape (J,), the bone behind the joint, at whose head it is.
        parents: shape (J,), the bone before the joint; a root is its own.
        heads: shape (J, 3), where the joints are.
        forth: shape (J, 3), unit, along the limb of the child.
        back: shape (J, 3), unit, from the joint back along the limb of the parent.
        hinge_confidence: shape (J,), 0 to 1: how surely the two limbs are one limb with a joint in
            it, and not two parts of the body.
        lengths: shape (J,), of the shorter of the two limbs.
        skeleton: whose bones they are between.
    """

    children: Int32s
    parents: Int32s
    heads: Float64s
    forth: Float64s
    back: Float64s
    hinge_confidence: Float64s
    lengths: Float64s
    skeleton: Skeleton

    @classmethod
    def of(
        cls, skeleton: Skeleton, limb_axis: LimbAxis = "AUTO", mesh_parents: Int32s | None = None
    ) -> LimbJoints:
        """The joints of a skeleton.

        The parent's limb comes from its head to the joint, or with an axis that the user named
        along that.

        Args:
            mesh_parents: shape (B,), the bone that each bone continues on the mesh; -1 for none.
        """
        found = cls.by_parents(skeleton, limb_axis, skeleton.parents)
        if mesh_parents is None or not (joined := mesh_parents >= 0).any():
            return found
        of_mesh = cls.by_parents(skeleton, limb_axis, skeleton.joined_parents(mesh_parents))
        names = [each.name for each in fields(cls) if each.name != "skeleton"]
        both = ((vars(found)[name], vars(of_mesh)[name]) for name in names)
        arrays = (np.concatenate((one, other[joined])) for one, other in both)
        return cls(*arrays, skeleton=skeleton)

    @classmethod
    def by_parents(cls, skeleton: Skeleton, limb_axis: LimbAxis, parents: Int32s) -> LimbJoints:
        """The joints at the heads of all bones, which have these parents, -1 for roots."""
        heads, bones = skeleton.heads, np.arange(skeleton.bone_count, dtype=np.int32)
        is_child = parents >= 0
        forth = skeleton.limb_directions(limb_axis, parents)
        parents = np.where(is_child, parents, bones).astype(np.int32)
        ways, lengths, shorter = skeleton.limbs_at_joints(parents)
        long = lengths > 1e-5 * extent(heads)
        before = forth[parents]
        if limb_axis == "AUTO":
            before = np.where(long[:, None], ways / np.where(long, lengths, 1.0)[:, None], before)
        continues = np.minimum(dots(before, forth), dots(before, forth[parents]))
        confidence = hinge_confidence(continues)
        confidence = np.where(is_child & long, confidence, 0.0)
        return cls(bones, parents, heads, forth, -before, confidence, shorter, skeleton)

    @property
    def acting(self) -> Booleans:
        """Shape (J,): where neither bone is `Skeleton.curved_at_rest`."""
        curved = self.skeleton.curved_at_rest
        return ~(curved[self.children] | curved[self.parents])

    @cached_property
    def aside(self) -> Float64s:
        """Shape (J,), 0 to 1: how much the child's limb points aside from the parent's at rest."""
        sines = np.linalg.norm(cross(self.forth, self.back), axis=1)
        return np.where(self.hinge_confidence > 0.0, smooth_step(sines, *_ASIDE), 0.0)

    @cached_property
    def identity(self) -> bytes:
        """Tells which joints and limbs there are: equal for equal ones of one skeleton."""
        of_mesh = np.stack((self.children, self.parents))[:, self.skeleton.bone_count :]
        return of_mesh.tobytes() + np.stack((self.forth, self.back)).tobytes()

    def posed(self, pose: Pose) -> PosedJoints:
        """The joints in a pose: between the start of the child and the end of the parent."""
        start, end = self.skeleton.start_rows[self.children], self.skeleton.end_rows[self.parents]
        rows = pose.matrices[start, :3]
        heads = (rows @ self._points)[:, :, 0]
        apart = heads - (pose.matrices[end, :3] @ self._points)[:, :, 0]
        sizes = np.ones(len(heads))
        if pose.any_scaled:
            scaled = np.flatnonzero(pose.scaled[start])
            along, parts = self.forth[scaled], rows[scaled, :, :3]
            across = parts - (parts @ along[:, :, None]) * along[:, None, :]
            sizes[scaled] = np.linalg.norm(across, ord=2, axis=(1, 2))
            sizes = np.maximum(sizes, sizes[self.parents])
        rays = np.stack(
            (
                (rows[:, :, :3] @ self.forth[:, :, None])[:, :, 0],
                (pose.matrices[end, :3, :3] @ self.back[:, :, None])[:, :, 0],
            ),
            axis=1,
        )
        straight = limb_straightness(self.skeleton, pose)
        straight = np.stack((straight[self.children], straight[self.parents]), axis=1)
        rays = unit_or(rays, 0.0, SHORTEST_RAY)
        # The parent's limb as the child turns it, and the child's as the parent does.
        others = (
            rows[:, :, :3] @ self.back[:, :, None],
            pose.matrices[end, :3, :3] @ self.forth[:, :, None],
        )
        swings, turns = (
            np.sum((unit_or(other[:, :, 0], 0.0, SHORTEST_RAY) - rays[:, side]) ** 2, axis=1)
            + LEAST_TURN
            for other, side in zip(others, (1, 0), strict=True)
        )
        lost = 1.0 - np.minimum(BENT_AS_TURNED * swings / turns, 1.0)
        straight[:, 0] *= 1.0 - self.aside * lost
        along = (rays @ apart[:, :, None])[:, :, 0]
        gaps = np.linalg.norm(apart - along[:, 1:] * rays[:, 1], axis=1)
        gaps = np.minimum(gaps, 2.0 * gaps - LOOSENED * np.abs(along[:, 1]))
        return PosedJoints(heads, rays, straight, sizes, gaps, np.maximum(along, 0.0))

    def sides(self, joints: Integers, bones: Integers) -> Indices:
        """Shape (m,): 0 where the bone is the child of the joint, 1 where it is the parent."""
        return (bones != self.children[joints]).astype(np.intp)

    def rays(self, joints: Integers, bones: Integers) -> Float64s:
        """Shape (m, 3): along the limb of each bone, the child or the parent of the joint."""
        beside_child = (bones == self.children[joints])[:, None]
        return np.where(beside_child, self.forth[joints], self.back[joints])

    @cached_property
    def _points(self) -> Float64s:
        """The heads as columns (x, y, z, 1), shape (J, 4, 1)."""
        return np.concatenate((self.heads, np.ones((len(self.heads), 1))), axis=1)[:, :, None]


def hinge_confidence(continues: Floats) -> Floats:
    """The confidence that two limbs are one, by the cosine of the angle between them at rest."""
    return smooth_step(continues, _ANOTHER_PART, _SAME_LIMB)


@dataclass(frozen=True, eq=False)
class PosedJoints:
    """The joints in a pose, armature space.

    Attributes:
        heads: shape (J, 3), where the children take their heads.
        rays: shape (J, 2, 3), unit, along the child's limb and back along the parent's; 0 where
            they are scaled to nothing.
        straightness: shape (J, 2), 0 to 1, of these limbs; below 1 where bendy bones are curved,
            and where a child's limb that points aside (`LimbJoints.aside`) turns about the
            parent's: a hand that is twisted by a forearm. With s the squared distance between the
            ends of the parent's ray as either bone turns it, and t likewise of the child's, it is
            1 - aside (1 - min(1, 2 s / t)).
        sizes: shape (J,), how thick the limbs are scaled, across their length: the thicker one.
        gaps: shape (J,), how far the joint has come away from the line of the parent's limb; less
            what half of its way along that line is more. Below 0 skin at the joint may be too far
            by as much, although no turn takes it farther from the joint.
        reaches: shape (J, 2), how far each limb goes on beyond the joint, over the gap along it to
            the parent's end: a limb that is pulled apart, or pushed together, stays one limb.
    """

    heads: Float64s
    rays: Float64s
    straightness: Float64s
    sizes: Float64s
    gaps: Float64s
    reaches: Float64s
