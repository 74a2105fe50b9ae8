"""COMPENSATED: dual quaternion skinning without its bulge at bent joints (Rudenko 2020).

Here are the published curves; MEASURED, which knows where the limbs are, is in `measured_joints`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np

from ..arrays import Floats, Int32s, Integers
from .dual_quaternion import concatenate_quaternions, quaternion_conjugate, rotate_vectors
from .influences import Influences
from .pose import Pose, limb_straightness
from .skeleton import Ancestry, JointStrengths, Skeleton, strength_of_bones
from .skin_at_rest import SkinAtRest
from .skinning import dual_quaternion_skinning
from .swing_joints import SwingJoints
from .vectors import dots, unit_or

PublishedCurve = Literal["FITTED", "SMOOTH", "MODELLED", "SLIDES"]
Curve = Literal["MEASURED", PublishedCurve]
PUBLISHED_CURVES: tuple[PublishedCurve, ...] = get_args(PublishedCurve)

# The published cubics l = a x + b x^2 + c x^3, in radii; each is 0 at 0 and (nearly) at 1/2.
CURVE_COEFFICIENTS: dict[PublishedCurve, tuple[float, float, float]] = {
    "FITTED": (2.2, -9.6, 10.4),
    "SMOOTH": (2.2, -8.8, 8.8),
    "MODELLED": (2.29, -9.14, 9.12),
    "SLIDES": (2.2, -8.1, 7.4),
}

# Below this sine of half the angle between two bones, rounding decides where their axis is.
LEAST_SINE = 1e-3
# Limbs that point against each other have no bisector: their sum is shorter than this.
LEAST_BISECTOR = 1e-6


def curve_value(x: Floats, curve: PublishedCurve = "FITTED") -> Floats:
    """The depth of the bulge in radii where the weaker bone has the share x, 0 to 1/2."""
    first, second, third = CURVE_COEFFICIENTS[curve]
    return x * (first + x * (second + x * third))


def compensation_amounts(skin: SkinAtRest, curve: PublishedCurve = "FITTED") -> Floats:
    """The amounts of a published curve, from weights and rest shape; once per binding.

    sign f(x) (w1 + w2) (1 - w3 / w2) radius, with x = w2 / (w1 + w2). The sign is + where the
    strongest bone is an ancestor of the second, - where it is a descendant, and 0 where the two are
    unrelated: towards the joint from both of its sides. (Rudenko's sign is the opposite; with limb
    directions that point outwards it makes the bulge larger.) The weights' last factor lets the
    compensation fade before another bone takes the second place. The radius is the distance from
    the axis line of the strongest bone, through its head along its limb direction.

    Args:
        skin: its `mesh_parents` relate bones that the hierarchy does not.
        curve: which of the published cubics is f.

    Returns:
        shape (n,), in units of length, of the dtype of the positions.
    """
    positions, influences, skeleton = skin.positions, skin.influences, skin.skeleton
    count = len(positions)
    if influences.width < 2 or not count:
        return np.zeros(count, positions.dtype)
    first, second = influences.bones[:, 0], influences.bones[:, 1]
    w1 = influences.weights[:, 0].astype(np.float64)
    w2 = influences.weights[:, 1].astype(np.float64)
    w3 = influences.weights[:, 2] if influences.width > 2 else np.zeros(count)
    blended = w2 > 0.0
    both = np.where(blended, w1 + w2, 1.0)
    fade = 1.0 - w3 / np.where(blended, w2, 1.0)
    directions = skeleton.limb_directions(skin.limb_axis)[first]
    from_head = positions - skeleton.heads[first]
    radii = np.linalg.norm(from_head - dots(from_head, directions)[:, None] * directions, axis=1)
    signs = np.where(blended, _kinship(first, second, skin), 0)
    return (signs * curve_value(w2 / both, curve) * both * fade * radii).astype(positions.dtype)


def _kinship(first: Integers, second: Integers, skin: SkinAtRest) -> Integers:
    """`Ancestry.kinship` by the hierarchy; where it has none, by the joints of the mesh."""
    kinship = skin.skeleton.ancestry.kinship(first, second)
    if skin.mesh_parents is None:
        return kinship
    by_mesh = Ancestry.of(skin.skeleton.joined_parents(skin.mesh_parents)).kinship(first, second)
    return np.where(kinship == 0, by_mesh, kinship)


class Compensation(Protocol):
    """The displacements that COMPENSATED adds to dual quaternion skinning, and their amounts."""

    @property
    def amounts(self) -> Floats:
        """Shape (n,), what multiplies the displacements; 0 where nothing is compensated."""
        ...

    @property
    def joint_bones(self) -> Int32s:
        """The bones at whose heads vertices are compensated, each once."""
        ...

    @property
    def swings(self) -> SwingJoints | None:
        """The joints that move the skin on where limbs leave the body; None without any."""
        ...

    def displacements(self, rows: Integers, rest: Floats, deformed: Floats, pose: Pose) -> Floats:
        """The displacements of the vertices in a pose.

        Args:
            rows: shape (m,), which vertices.
            rest, deformed: shape (m, 3), armature space, before and after dual quaternions.

        Returns:
            shape (m, 3), armature space, of the dtype of `deformed`.
        """
        ...


@dataclass(frozen=True, eq=False)
class PublishedCompensation:
    """The compensation by one of the published curves.

    Attributes:
        skeleton: of the bones.
        limb_directions: shape (B, 3), unit, at rest; `Skeleton.limb_directions`.
        rows: shape (n, 2), int32; the rows of a pose for the two strongest bones of each vertex: at
            the ends of bendy bones that are towards each other.
        children: shape (n,), int32; of the two strongest bones the one behind the joint.
        amounts: shape (n,), of `compensation_amounts`.
    """

    skeleton: Skeleton
    limb_directions: Floats
    rows: Int32s
    children: Int32s
    amounts: Floats

    @property
    def joint_bones(self) -> Int32s:
        """The bones at whose heads vertices are compensated."""
        return np.unique(self.children[self.amounts != 0.0])

    @property
    def swings(self) -> None:
        """The published curves have nothing for shoulders and hips."""
        return

    @property
    def bones(self) -> Int32s:
        """Shape (n, 2), the two strongest bones of each vertex."""
        return self.skeleton.bone_of_row[self.rows]

    @classmethod
    def of(
        cls, skin: SkinAtRest, curve: PublishedCurve = "FITTED", strengths: JointStrengths = ()
    ) -> PublishedCompensation:
        """The compensation by a curve, less of it at the heads of some bones."""
        influences, skeleton = skin.influences, skin.skeleton
        amounts = compensation_amounts(skin, curve)
        bones = influences.bones[:, [0, min(1, influences.width - 1)]]
        first, second = bones.T
        children = first
        if skeleton.bone_count:
            kinship = _kinship(first, second, skin)
            children = np.where(kinship > 0, second, first)
        if strengths:
            of_bones = strength_of_bones(strengths, skeleton.bone_count)
            amounts *= of_bones[children].astype(amounts.dtype)
        if skeleton.bendy is not None:
            amounts[skeleton.curved_at_rest[bones].any(axis=1)] = 0.0
            above = skeleton.ancestry.kinship(bones, bones[:, ::-1]) > 0
            bones = np.where(above, skeleton.end_rows[bones], skeleton.start_rows[bones])
        return cls(skeleton, skeleton.limb_directions(skin.limb_axis), bones, children, amounts)

    def displacements(
        self,
        rows: Integers,
        rest: Floats,  # noqa: ARG002 - the curves need the bones alone
        deformed: Floats,
        pose: Pose,
    ) -> Floats:
        """`_compensation_offsets` of the bones of each vertex; 0 where a bendy bone is curved."""
        first, second = self.rows[rows].T
        directions = self.limb_directions[self.skeleton.bone_of_row]
        offsets = _compensation_offsets(first, second, pose, directions, deformed.dtype)
        if self.skeleton.bendy is None:
            return offsets
        straight = limb_straightness(self.skeleton, pose)
        straight = straight[self.skeleton.bone_of_row].astype(deformed.dtype)
        return offsets * (straight[first] * straight[second])[:, None]


def compensated_skinning(
    positions: Floats,
    normals: Floats | None,
    influences: Influences,
    pose: Pose,
    compensation: Compensation,
    amounts: Floats,
) -> tuple[Floats, Floats | None]:
    """Dual quaternion skinning plus `amounts` times the displacements of a compensation.

    Args:
        positions: shape (n, 3), float32 or float64, armature space.
        normals: shape (n, 3), unit, or None.
        amounts: shape (n,), those of the compensation times what the artist painted and the factor.

    Returns:
        positions and unit normals, as `dual_quaternion_skinning`; the normals are its own.
    """
    deformed, normals = dual_quaternion_skinning(positions, normals, influences, pose)
    amounts = np.asarray(amounts).astype(deformed.dtype, copy=False)
    rows = np.flatnonzero(amounts) if influences.width > 1 else np.zeros(0, np.intp)
    if len(rows):
        offsets = compensation.displacements(rows, positions[rows], deformed[rows], pose)
        deformed[rows] += amounts[rows, None] * offsets
    return deformed, normals


def _compensation_offsets(
    first: Integers, second: Integers, pose: Pose, limb_directions: Floats, dtype: np.dtype
) -> Floats:
    """The directions in which pairs of bones compensate, times the share for their bend.

    With rq = q1 conj(q2), sign chosen so that rq.w >= 0, the axis is rq's, the bisector that of the
    two posed limb directions, and the offset is the bisector without its part along the axis (so
    that a twist about the limb has none), times min(1, 2 sqrt(1 - rq.w)). It is 0 where the bones
    have not turned against each other and where the limbs point against each other.

    Args:
        first, second: shape (m,), rows of the pose, for the strongest and the second bone.
        limb_directions: shape (R, 3), unit, at rest, of the bone of each row of the pose.
        dtype: of the result.

    Returns:
        shape (m, 3), armature space, at most 1 long.
    """
    rotations = pose.rotations.astype(dtype, copy=False)
    posed = rotate_vectors(rotations, np.asarray(limb_directions).astype(dtype, copy=False))
    bisectors = unit_or(posed[first] + posed[second], 0.0, LEAST_BISECTOR)
    relative = concatenate_quaternions(rotations[first], quaternion_conjugate(rotations[second]))
    axes = unit_or(relative[:, 1:], 0.0, LEAST_SINE)
    bent = np.any(axes != 0.0, axis=1, keepdims=True)
    across = bisectors - axes * dots(axes, bisectors)[:, None]
    # The same number as sqrt(1 - rq.w), which float32 would lose to cancellation at small angles.
    sines = np.sum(relative[:, 1:] ** 2, axis=1)
    bends = np.minimum(1.0, 2.0 * np.sqrt(sines / (1.0 + np.abs(relative[:, 0]))))
    return np.where(bent, across * bends[:, None], across.dtype.type(0.0)).astype(dtype)
