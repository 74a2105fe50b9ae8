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

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .influences import Influences
from .limb_joints import LimbJoints
from .pose import Pose
from .skeleton import Ancestry, LimbAxis, Skeleton
from .swing_joints import SwingJoints
from .vectors import dots, smooth_step

# Distances from the joint, in lengths of the shorter limb, between which compensation fades: beyond
# lies skin that the two limbs do not carry (a palm, for the joints of a finger).
_NEAR, _FAR = 0.5, 1.0
# The share of the weaker bone from which skin beside its limb goes back to that limb in full.
_TOGETHER = 0.35
# Stands for a distance of 0 where one divides by it.
TINY = 1e-30


@dataclass(frozen=True, eq=False)
class MeasuredJoints:
    """The joint that each vertex is measured against; once per binding.

    With 1 and 2 the two strongest bones: they have a joint only where one is an ancestor of the
    other, in the hierarchy or else by the joints of the mesh; of the joints between them the
    nearest one counts, so that limbs that are split into several bones bend where they should. The
    amount is

        (w1 + w2) (1 - w3 / w2) near together hinged (product of `hinge_confidence`)

    The weights' factor fades before another bone takes the second place. `near` falls smoothly from
    1 to 0 as the vertex's distance from the joint goes from half of the shorter limb to all of it.
    `together` is 1 where the strongest bone is of the limb that is nearer, and else rises smoothly
    from 0 where the weaker bone has no share: what only one bone moves cannot go to the other's
    limb, and what is beside it must not go alone. `hinged` is 1 without `swings`; with them it
    falls to 0 where bones of other parts of the body move the vertex, too (`swing_joints`). The
    product is over the joints between the bones.

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
    ) -> MeasuredJoints:
        """Find the joints.

        Args:
            positions: shape (n, 3), armature space, at rest and without shape keys.
            mesh_parents: of `LimbJoints.of`.
            ball_joints: whether it acts where limbs leave the body, too.
            sides: for these, shape (B,), of the bones: `body_tree.body_parents`.
        """
        count = len(positions)
        limbs = LimbJoints.of(skeleton, limb_axis, mesh_parents)
        joints, bones = np.zeros(count, np.int32), np.zeros(count, np.int32)
        amounts = np.zeros(count, positions.dtype)
        swings = None
        if ball_joints:
            of = (positions, influences, skeleton, limb_axis, mesh_parents)
            swings = SwingJoints.of(*of, sides)
        measured = cls(limbs, joints, bones, amounts, swings)
        if influences.width < 2 or not count:
            return measured
        weights = influences.weights
        chains = _Chains.of(skeleton, limbs)
        kinship, ways = chains.kinship(influences.bones[:, 0], influences.bones[:, 1])
        rows = np.flatnonzero((kinship != 0) & (weights[:, 1] > 0.0))
        first, second = influences.bones[rows, 0], influences.bones[rows, 1]
        w1, w2 = weights[rows, 0].astype(np.float64), weights[rows, 1].astype(np.float64)
        w3 = weights[rows, 2] if influences.width > 2 else np.zeros(len(rows))
        below = kinship[rows] < 0
        nearest, distances, confidence = chains.nearest(
            positions[rows],
            ways[rows],
            descendants=np.where(below, first, second),
            ancestors=np.where(below, second, first),
        )
        lengths = np.maximum(limbs.lengths[nearest], TINY)
        near = 1.0 - smooth_step(distances / lengths, _NEAR, _FAR)
        from_joint = positions[rows] - limbs.heads[nearest]
        to_forth = np.linalg.norm(from_ray(from_joint, limbs.forth[nearest]), axis=1)
        to_back = np.linalg.norm(from_ray(from_joint, limbs.back[nearest]), axis=1)
        beside_child = to_forth <= to_back
        together = smooth_step(w2 / (w1 + w2), 0.0, _TOGETHER)
        together = np.where(beside_child == below, 1.0, together)
        joints[rows] = nearest
        bones[rows] = np.where(beside_child, limbs.children[nearest], limbs.parents[nearest])
        if swings is not None:
            together *= swings.hinged[rows]
        amounts[rows] = (w1 + w2) * (1.0 - w3 / w2) * near * together * confidence
        return measured

    @property
    def joint_counts(self) -> tuple[int, int]:
        """The numbers of joints with compensation: of the hierarchy, and of the mesh."""
        of_mesh = len(self.bones_of_mesh_joints)
        return len(np.unique(self.joints[self.rows])) - of_mesh, of_mesh

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

        Args:
            rows: shape (m,), which vertices.
            rest, deformed: shape (m, 3), armature space, before and after dual quaternion skinning.

        Returns:
            shape (m, 3), armature space, of the dtype of `deformed`.
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


@dataclass(frozen=True, eq=False)
class _Chains:
    """Joints between pairs of bones, on two ways up: by the hierarchy, and by the mesh, too.

    Attributes:
        parents: shape (2, B), the bone above each bone on either way; -1 for none.
        joints: shape (2, B), the joint between them, a row of `limbs`.
    """

    limbs: LimbJoints
    ancestries: tuple[Ancestry, ...]
    parents: NDArray[np.int32]
    joints: NDArray[np.int32]

    @classmethod
    def of(cls, skeleton: Skeleton, limbs: LimbJoints) -> _Chains:
        count = limbs.bone_count
        parents = np.tile(skeleton.parents, (2, 1))
        joints = np.tile(np.arange(count, dtype=np.int32), (2, 1))
        ancestries = (skeleton.ancestry,)
        of_mesh = limbs.children[count:]
        if len(of_mesh):
            parents[1, of_mesh] = limbs.parents[count:]
            joints[1, of_mesh] = np.arange(count, count + len(of_mesh))
            ancestries = (skeleton.ancestry, Ancestry.of(parents[1]))
        return cls(limbs, ancestries, parents, joints)

    def kinship(
        self, first: NDArray[np.integer], second: NDArray[np.integer]
    ) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
        """The kinship of pairs of bones, and by which way: 0, the hierarchy, goes first."""
        found, *by_mesh = (ancestry.kinship(first, second) for ancestry in self.ancestries)
        if not by_mesh:
            return found, np.zeros(len(found), np.intp)
        unrelated = found == 0
        return np.where(unrelated, by_mesh[0], found), unrelated.astype(np.intp)

    def nearest(
        self,
        points: NDArray[np.floating],
        ways: NDArray[np.intp],
        *,
        descendants: NDArray[np.integer],
        ancestors: NDArray[np.integer],
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """The joint nearest to each point, its distance, and the product of `hinge_confidence`."""
        heads, confidence = self.limbs.heads, self.limbs.hinge_confidence
        nearest = self.joints[ways, descendants]
        from_head = points - heads[nearest]
        squares = dots(from_head, from_head)
        products = confidence[nearest]
        bones, rows = descendants, np.arange(len(points))
        while True:
            bones = self.parents[ways[rows], bones]
            # Nothing is compensated where the product is 0 already.
            going = (bones != ancestors[rows]) & (products[rows] > 0.0)
            bones, rows = bones[going], rows[going]
            if not len(rows):
                return nearest, np.sqrt(squares), products
            joints = self.joints[ways[rows], bones]
            products[rows] *= confidence[joints]
            from_head = points[rows] - heads[joints]
            lengths = dots(from_head, from_head)
            nearer = lengths < squares[rows]
            nearest[rows[nearer]] = joints[nearer]
            squares[rows[nearer]] = lengths[nearer]


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
