"""Skinning: linear, dual-quaternion, and spherical joint blending, each with its source."""

from __future__ import annotations

import numpy as np

from ..arrays import Float64s, Floats, Int32s
from .dual_quaternion import (
    dual_from_translation,
    faces_away,
    matrices_from_quaternions,
    normalized_dual_quaternions,
    rotate_vectors,
    transform_points,
)
from .influences import Influences
from .pose import Pose
from .vectors import unit_or


def blended_matrices(matrices: Floats, influences: Influences, dtype: np.dtype) -> Floats:
    """The weighted sums of matrices over the influences of each vertex.

    Args:
        matrices: shape (B, ...), one for each bone.
        dtype: of the result.

    Returns:
        shape (n, ...); zeros for a vertex without influences.
    """
    entries = matrices.reshape(len(matrices), -1).astype(dtype, copy=False)
    sums = np.zeros((influences.vertex_count, entries.shape[1]), dtype)
    for rows, bones, weights in influences.slots():
        sums[rows] += weights[:, None].astype(dtype, copy=False) * entries[bones]
    return sums.reshape(-1, *matrices.shape[1:])


def _cofactors(matrices: Floats) -> Floats:
    """Cofactor matrices (..., 3, 3), which transform normals; the inverse transpose times det."""
    x, y, z = matrices[..., 0], matrices[..., 1], matrices[..., 2]
    return np.stack((np.cross(y, z), np.cross(z, x), np.cross(x, y)), axis=-1)


def _transformed_normals(matrices: Floats, normals: Floats) -> Floats:
    """Unit normals (n, 3) of surfaces that the 3x3 matrices (n, 3, 3) transform.

    A normal that a matrix without a volume turns into nothing stays as it was.
    """
    turned = np.einsum("nij,nj->ni", _cofactors(matrices), normals)
    return unit_or(turned, normals)


def linear_blend(
    positions: Floats, normals: Floats | None, influences: Influences, pose: Pose
) -> tuple[Floats, Floats | None]:
    """Transform each vertex once, by its blended matrix: v' = (sum w_i D_i) v.

    Args:
        positions: shape (n, 3), float32 or float64, armature space.
        normals: shape (n, 3), unit, or None.

    Returns:
        positions and unit normals (None without normals), of the dtype of `positions`. Vertices
        without influences are where they were. Normals go by the cofactor of the blended matrix.
    """
    blended = blended_matrices(pose.matrices[:, :3, :], influences, positions.dtype)
    moved = (influences.weights[:, 0] > 0.0)[:, None]
    deformed = np.einsum("nij,nj->ni", blended[:, :, :3], positions) + blended[:, :, 3]
    deformed = np.where(moved, deformed, positions)
    if normals is None:
        return deformed, None
    turned = _transformed_normals(blended[:, :, :3], normals)
    return deformed, np.where(moved, turned, normals)


def dual_quaternion_skinning(
    positions: Floats, normals: Floats | None, influences: Influences, pose: Pose
) -> tuple[Floats, Floats | None]:
    """Dual quaternion linear blending (Kavan et al. 2008), with bone scale as Blender treats it.

    The bones' unit dual quaternions are added with the weights, each with the sign that agrees with
    the sum so far, and the sum is divided by the length of its real part. Where bones have turned
    by more than 180 degrees against each other, the signs depend on the order; it is the blending
    order of the influences, so that the result is Blender's. (Aligning to the strongest bone
    instead moved up to a sixth of a human's vertices by up to a fifth of its height, in poses of
    arbitrary rotations; none in mild ones.)
    A scaled bone has no dual quaternion; for one vertex it has: its rotation R, with the
    translation that takes the vertex v where the scaled matrix takes it, D v - R v.

    Args:
        positions: shape (n, 3), float32 or float64, armature space.
        normals: shape (n, 3), unit, or None.

    Returns:
        positions and unit normals (None without normals), of the dtype of `positions`. Vertices
        without influences are where they were. Normals follow the blended rotation, after the
        blended scales.
    """
    real, dual = blended_dual_quaternions(positions, influences, pose)
    deformed = transform_points(real, dual, positions)
    if normals is None:
        return deformed, None
    return deformed, rotated_normals(real, normals, influences, pose)


def blended_dual_quaternions(
    positions: Floats, influences: Influences, pose: Pose
) -> tuple[Floats, Floats]:
    """The blended, normalised dual quaternion of each vertex: real and dual, shapes (n, 4).

    The identity for a vertex without influences. Arguments as for `dual_quaternion_skinning`.
    """
    dtype = positions.dtype
    rotations = pose.rotations.astype(dtype, copy=False)
    duals = pose.duals.astype(dtype, copy=False)
    real = np.zeros((len(positions), 4), dtype)
    dual = np.zeros((len(positions), 4), dtype)
    total = np.zeros(len(positions), dtype)
    for rows, bones, weights in influences.slots(in_blending_order=True):
        bone_real = rotations[bones]
        bone_dual = duals[bones]
        if pose.any_scaled:
            _move_as_scaled(bone_dual, bone_real, bones, positions[rows], pose)
        away = faces_away(bone_real, real[rows], total[rows])
        total[rows] += weights
        signed = np.where(away, -weights, weights).astype(dtype, copy=False)[:, None]
        real[rows] += signed * bone_real
        dual[rows] += signed * bone_dual
    return normalized_dual_quaternions(real, dual)


def _move_as_scaled(
    bone_dual: Floats, bone_real: Floats, bones: Int32s, positions: Floats, pose: Pose
) -> None:
    """Set the dual parts (m, 4) of the scaled ones among `bones` for the vertices (m, 3)."""
    which = np.flatnonzero(pose.scaled[bones])
    if not len(which):
        return
    matrices = pose.preserving[:, :3, :].astype(positions.dtype, copy=False)[bones[which]]
    points = positions[which]
    taken = np.einsum("mij,mj->mi", matrices[:, :, :3], points) + matrices[:, :, 3]
    real = bone_real[which]
    bone_dual[which] = dual_from_translation(real, taken - rotate_vectors(real, points))


def bone_scales(pose: Pose) -> Float64s:
    """The scale of each bone before its rotation: R^-1 D without translation, shape (B, 3, 3).

    The identity, exactly, where a bone is not scaled.
    """
    scales = np.tile(np.eye(3), (len(pose.matrices), 1, 1))
    if pose.any_scaled:
        rotations = matrices_from_quaternions(pose.rotations[pose.scaled])
        scales[pose.scaled] = rotations.transpose(0, 2, 1) @ pose.matrices[pose.scaled, :3, :3]
    return scales


def rotated_normals(real: Floats, normals: Floats, influences: Influences, pose: Pose) -> Floats:
    """Unit normals (n, 3): the blended scales' effect, then the blended rotations `real` (n, 4)."""
    if pose.any_scaled:
        scales = blended_matrices(bone_scales(pose), influences, normals.dtype)
        moved = (influences.weights[:, 0] > 0.0)[:, None]
        normals = np.where(moved, _transformed_normals(scales, normals), normals)
    return rotate_vectors(real, normals)
