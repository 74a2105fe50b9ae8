"""The pose of a skeleton: the matrix of every bone, and its rigid part as a dual quaternion.

A pose has R rows: the B bones of the skeleton, then the ends of the segments of its bendy bones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Booleans, Float64s, Floats
from ..errors import PoseError
from ..wording import listed
from .dual_quaternion import (
    dual_from_translation,
    matrices_from_quaternions,
    quaternions_from_matrices,
)
from .skeleton import Skeleton
from .vectors import cross, dots, smooth_step, unit_or

# A matrix whose columns' dot products differ from the identity's by more than this has a scale;
# the same limit as in Blender's mat4_to_dquat.
NOT_ORTHONORMAL = 1e-5
# Likewise of the lengths of a posed bone's axes: the square of how far they are from 1 together.
_STRETCHED_AXES = 1e-8
# An axis that is scaled to less than this has no direction: what is left of it is rounding.
NO_LENGTH = 1e-5
_IDENTITY = np.eye(3)
_NEXT = [1, 2, 0]
_LAST = [2, 0, 1]


@dataclass(frozen=True, eq=False)
class Pose:
    """The pose of a skeleton, in armature space. Quaternions are (w, x, y, z).

    Attributes:
        matrices: shape (R, 4, 4), float64; D_b = B_b A_b^-1, what `PoseBone.matrix_channel` is.
            The identity at rest.
        rotations: shape (R, 4), float64; unit quaternions of the rigid parts, w >= 0.
        duals: shape (R, 4), float64; the dual parts of the rigid transforms. The rigid transform
            of a scaled bone rotates, and takes the bone's head to where it is posed, as Blender's.
        scaled: shape (R,), bool; where the matrix is not its rigid part alone.
        preserving: shape (R, 4, 4), float64; what Preserve Volume makes of `matrices`: others only
            where the axes of a bone at rest are not orthonormal, as in files of Blender 2.7.
    """

    matrices: Float64s
    rotations: Float64s
    duals: Float64s
    scaled: Booleans
    preserving: Float64s

    @property
    def any_scaled(self) -> bool:
        """Whether any bone has a scale."""
        return bool(self.scaled.any())

    @classmethod
    def rest(cls, skeleton: Skeleton) -> Pose:
        """The pose in which no bone has moved."""
        return cls.from_matrices(np.tile(np.eye(4), (skeleton.bone_count, 1, 1)), skeleton)

    @classmethod
    def from_matrices(cls, matrices: Floats, skeleton: Skeleton) -> Pose:
        """Split the matrices of the bones into rigid parts and scales, as Preserve Volume does.

        Args:
            matrices: shape (R, 4, 4), D_b = B_b A_b^-1 in armature space. Shape (B, 4, 4) will do:
                then bendy bones are as straight as at rest.
            skeleton: its rest frames say along which axes a bone was scaled.

        Raises:
            PoseError: a matrix has an entry that is not finite.
        """
        matrices = np.asarray(matrices, dtype=np.float64)
        if len(matrices) == skeleton.bone_count:
            matrices = matrices[skeleton.bone_of_row]
        if matrices.shape != (skeleton.row_count, 4, 4):
            raise ValueError(
                f"Pose: matrices of shape {matrices.shape} for {skeleton.bone_count} bones"
            )
        if not np.isfinite(matrices).all():
            broken = np.flatnonzero(~np.isfinite(matrices).all(axis=(1, 2)))
            broken = np.unique(skeleton.bone_of_row[broken])
            names = listed([skeleton.names[bone] for bone in broken])
            raise PoseError(f"The pose of these bones is not a finite number: {names}")
        rotation_matrices = matrices[:, :3, :3]
        translations = matrices[:, :3, 3]
        scaled = is_scaled(rotation_matrices)
        if scaled.any():
            which = np.flatnonzero(scaled)
            rigid = _rigid_parts(rotation_matrices[which], skeleton.frames[which, :3, :3])
            heads = skeleton.frames[which, :3, 3]
            posed_heads = np.einsum("bij,bj->bi", rotation_matrices[which], heads)
            carried_heads = np.einsum("bij,bj->bi", rigid, heads)
            rotation_matrices = rotation_matrices.copy()
            rotation_matrices[which] = rigid
            translations = translations.copy()
            translations[which] += posed_heads - carried_heads
        rotations = quaternions_from_matrices(rotation_matrices)
        duals = dual_from_translation(rotations, translations)
        preserving, skewed = matrices, skeleton.skewed_rows
        if len(skewed):
            at_rest = skeleton.frames[skewed]
            lengths = np.linalg.norm(matrices[skewed, :3, :3] @ at_rest[:, :3, :3], axis=1)
            split = scaled[skewed] | (np.sum((lengths - 1.0) ** 2, axis=1) > _STRETCHED_AXES)
            skewed, at_rest = skewed[split], at_rest[split]
            preserving = matrices.copy()
            preserving[skewed] = _preserving(matrices[skewed], at_rest)
            scaled[skewed] = True
        rotations, duals = np.asarray(rotations, np.float64), np.asarray(duals, np.float64)
        return cls(matrices, rotations, duals, scaled, preserving)


def is_scaled(linear: Floats) -> Booleans:
    """Whether matrices are not rotations: shape (B,), of shape (B, 3, 3)."""
    gram = linear.transpose(0, 2, 1) @ linear
    gram -= _IDENTITY
    stretched = np.abs(gram, out=gram).reshape(-1, 9).max(axis=1, initial=0.0) > NOT_ORTHONORMAL
    x, y, z = np.ascontiguousarray(linear.transpose(2, 1, 0))
    x_cross_y = x[_NEXT] * y[_LAST] - x[_LAST] * y[_NEXT]
    return stretched | ((x_cross_y * z).sum(axis=0) < 0.0)


def _preserving(matrices: Float64s, rest: Float64s) -> Float64s:
    """What Preserve Volume makes of the matrices of bones whose axes at rest are not orthonormal.

    Blender's mat4_to_dquat makes the posed axes orthonormal, X. The rigid part X A^-1 of D is then
    no rotation, as the scale A X^-1 D A A^-1 about the head h expects. It rotates by the quaternion
    q of that all the same, so that v goes to q A X^-1 D (v - h) + D h + (q - X A^-1) h.

    Args:
        matrices, rest: shape (s, 4, 4), D and A.

    Returns:
        shape (s, 4, 4).
    """
    heads, axes = rest[:, :3, 3:], rest[:, :3, :3]
    rigid = _orthonormal_axes(matrices[:, :3, :3] @ axes) @ np.linalg.inv(axes)
    turned = matrices_from_quaternions(_quaternions_as_blender(rigid))
    found = matrices.copy()
    found[:, :3, :3] = turned @ np.linalg.inv(rigid) @ matrices[:, :3, :3]
    kept = matrices[:, :3, :3] - found[:, :3, :3] + turned - rigid
    found[:, :3, 3] += (kept @ heads)[:, :, 0]
    return found


def _quaternions_as_blender(matrices: Float64s) -> Floats:
    """Unit quaternions (s, 4) of matrices (s, 3, 3) near rotations, as of Blender's mat3_to_quat.

    Of a matrix that is no rotation each row of 4 q q^T says another one: it takes this one.
    """
    matrices = matrices / np.linalg.norm(matrices, axis=1, keepdims=True)
    x, y, z = matrices[:, 0, 0], matrices[:, 1, 1], matrices[:, 2, 2]
    rows = np.where(z < 0.0, np.where(x > y, 1, 2), np.where(x < -y, 3, 0))
    return quaternions_from_matrices(matrices, rows)


def _rigid_parts(linear: Float64s, rest: Float64s) -> Floats:
    """The rotations that Blender's mat4_to_dquat takes for the rigid parts of scaled bones.

    Args:
        linear: shape (s, 3, 3), of D_b.
        rest: shape (s, 3, 3), of A_b; Blender holds some 7e-5 off orthonormal.

    Returns:
        shape (s, 3, 3), rotations, as exact as `rest`.
    """
    return _orthonormal_axes(linear @ rest) @ rest.transpose(0, 2, 1)


def _orthonormal_axes(posed: Float64s) -> Floats:
    """The posed axes of bones made orthonormal; shapes (s, 3, 3), columns.

    Y stays, then X as far as it can, else Z. A bone that is scaled to nothing gets the armature's
    own axes. Where a single axis is scaled to nothing, rounding decides what Blender takes for its
    direction; here it has none.
    """
    x, z = posed[:, :, 0], posed[:, :, 2]
    y = unit_or(posed[:, :, 1], 0.0, NO_LENGTH)
    x_exists = dots(x, x) >= NO_LENGTH**2
    # Blender asks these of axes that are not normalised, so long and sheared ones fail.
    x_serves = x_exists & (dots(y, x) < 1.0)
    z_serves = ~x_exists | (dots(x, z) < 1.0)
    from_x = unit_or(cross(x, y), 0.0, NO_LENGTH)
    from_z = cross(unit_or(cross(y, z), 0.0, NO_LENGTH), y)
    from_y = cross(unit_or(cross(y, y[:, _NEXT]), 0.0, NO_LENGTH), y)
    new_z = np.where(x_serves[:, None], from_x, np.where(z_serves[:, None], from_z, from_y))
    axes = np.stack((cross(y, new_z), y, new_z), axis=2)
    axes[~np.any(new_z != 0.0, axis=1)] = _IDENTITY
    return axes


# Cosines of the angle between a bendy bone, from its head to its tail in a pose, and the direction
# of either end: below the first (10 degrees) it is curved and nothing is compensated at it, above
# the second (2.5 degrees) it counts as straight.
CURVED, STRAIGHT = 0.9848078, 0.9990482


def limb_straightness(skeleton: Skeleton, pose: Pose) -> Float64s:
    """The share to which the limbs of all bones are as straight as at rest: shape (B,), 0 to 1.

    Let c be the direction from a bendy bone's head to its tail at rest, c' that from where its
    first segment takes the head to where its last one takes the tail, d and e what these two
    segments make of c, as directions. Then the lesser of d . c' and e . c' goes by `smooth_step`
    from `CURVED` to `STRAIGHT`. Other bones are straight.
    """
    found = np.ones(skeleton.bone_count)
    if skeleton.bendy is None:
        return found
    bones = skeleton.bendy.bones
    heads, tails = skeleton.heads[bones], skeleton.tails[bones]
    starts, ends = skeleton.start_rows[bones], skeleton.end_rows[bones]
    chords = unit_or(tails - heads, 0.0)
    posed = _moved(pose.matrices[ends], tails) - _moved(pose.matrices[starts], heads)
    posed = unit_or(posed, 0.0)
    cosines = [dots(_turned(pose.matrices[rows], chords), posed) for rows in (starts, ends)]
    found[bones] = smooth_step(np.minimum(*cosines), CURVED, STRAIGHT)
    return found


def _turned(matrices: Float64s, directions: Float64s) -> Float64s:
    """Directions (m, 3), each by its own matrix (m, 4, 4)."""
    return unit_or(np.einsum("mij,mj->mi", matrices[:, :3, :3], directions), 0.0)


def _moved(matrices: Float64s, points: Float64s) -> Float64s:
    """Points (m, 3), each by its own matrix (m, 4, 4)."""
    return np.einsum("mij,mj->mi", matrices[:, :3, :3], points) + matrices[:, :3, 3]
