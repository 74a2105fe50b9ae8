"""Takes posed positions back to rest: offsets of a shape with which a skinning gives them.

The skinning is one that Blender and game engines know: LINEAR, or DUAL_QUATERNION (Preserve
Volume). Each maps a vertex by an affine map of its own, v' = M v + t, in a given pose:

- LINEAR: M and t are the blended matrix of its bones.
- DUAL_QUATERNION: the blended real part does not depend on the vertex, and the dual part does so
  affinely, through the pivots of scaled bones. Without scale M is a rotation.

The offset that takes a shape v to the wanted position v* is M^-1 (v* - t) - v = M^-1 (v* - M v - t)
where M has an inverse. LINEAR loses it where bones are twisted by 180 degrees against each other:
there only a part of the difference can be reached, and what can be reached nearly costs offsets
without bounds. So singular values below `_FLATTENED` of the largest are damped, and an offset stays
within a given length: of all offsets within it, the one that comes nearest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..arrays import Float64s, Floats
from .dual_quaternion import matrices_from_quaternions, translation_from_dual_quaternion
from .influences import Influences
from .pose import Pose
from .skinning import blended_dual_quaternions, blended_matrices
from .vectors import extent

Target = Literal["LINEAR", "DUAL_QUATERNION"]
"""The deformer in the end: Blender's Armature modifier, plain or with Preserve Volume."""

# Singular values below this part of the largest count less and less: 1/s grows to this inverse and
# falls to 0 from there. It is what a twist of 177.7 degrees between equal weights leaves.
_FLATTENED = 0.02

# Differences below this part of the shape's extent are rounding: such vertices get no offset.
_ROUNDING = 1e-6

# Without a limit of the caller's, no offset is longer than this part of the shape's extent.
LONGEST = 0.25

_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class RestOffsets:
    """Offsets of a shape at rest, and how near they come.

    Attributes:
        offsets: shape (n, 3), float64, in the space of the shape; zeros where nothing differs.
        errors: shape (n,), float64; the distance from the wanted position that remains, in the
            same unit. Rounding but for the vertices that cannot be reached.
    """

    offsets: Float64s
    errors: Float64s


def rest_offsets(
    wanted: Floats,
    shape: Floats,
    influences: Influences,
    pose: Pose,
    target: Target = "LINEAR",
    *,
    mask: Floats | None = None,
    longest: float | None = None,
) -> RestOffsets:
    """The offsets of a shape with which the target's skinning gives the wanted positions.

    Args:
        wanted: shape (n, 3), armature space, posed.
        shape: shape (n, 3), armature space, at rest, every other shape key's value included.
        influences: of the n vertices. A vertex without any is moved by nothing: its offset is the
            difference itself.
        target: the skinning.
        mask: shape (n,), 0 to 1: how much of the skinning acts (the vertex group of an Armature
            modifier); None means all of it.
        longest: the longest offset that may be used; by default `LONGEST` of the shape's extent.
    """
    shape = np.asarray(shape, np.float64)
    wanted = np.asarray(wanted, np.float64)
    if wanted.shape != shape.shape or influences.vertex_count != len(shape):
        raise ValueError(
            f"rest_offsets: wanted {wanted.shape}, shape {shape.shape}, influences of "
            f"{influences.vertex_count} vertices"
        )
    size = extent(shape)
    longest = LONGEST * size if longest is None else longest
    maps = affine_maps(influences, pose, target, mask)
    missing = wanted - (np.einsum("nij,nj->ni", maps[:, :, :3], shape) + maps[:, :, 3])
    offsets = np.zeros_like(shape)
    errors = np.linalg.norm(missing, axis=1)
    rows = np.flatnonzero(errors > _ROUNDING * size)
    matrices, missing = maps[rows, :, :3], missing[rows]
    offsets[rows] = _nearest_offsets(matrices, missing, longest)
    reached = np.einsum("nij,nj->ni", matrices, offsets[rows])
    errors[rows] = np.linalg.norm(missing - reached, axis=1)
    return RestOffsets(offsets, errors)


def affine_maps(
    influences: Influences, pose: Pose, target: Target, mask: Floats | None = None
) -> Float64s:
    """The affine map of each vertex by the target's skinning: v' = M v + t.

    Arguments as for `rest_offsets`.

    Returns:
        shape (n, 3, 4), armature space; M and, in the last column, t.
    """
    if target == "LINEAR":
        maps = np.asarray(
            blended_matrices(pose.matrices[:, :3, :], influences, np.dtype(np.float64)), np.float64
        )
    elif target == "DUAL_QUATERNION":
        maps = _dual_quaternion_maps(influences, pose)
    else:
        raise ValueError(f"affine_maps: unknown target {target!r}")
    identity = np.eye(3, 4)
    maps[influences.weights[:, 0] <= 0.0] = identity
    if mask is not None:
        maps = identity + np.asarray(mask, np.float64)[:, None, None] * (maps - identity)
    return maps


def _dual_quaternion_maps(influences: Influences, pose: Pose) -> Float64s:
    """The affine maps of dual quaternion skinning, shape (n, 3, 4)."""
    count = influences.vertex_count
    maps = np.empty((count, 3, 4))
    origin = np.zeros((count, 3))
    real, dual = blended_dual_quaternions(origin, influences, pose)
    maps[:, :, :3] = matrices_from_quaternions(real)
    maps[:, :, 3] = translation_from_dual_quaternion(real, dual)
    if pose.any_scaled:
        # The translation is affine in the vertex: its columns are what unit steps add to it.
        rows = influences.moved_by(pose.scaled)
        order = influences.blending_order
        some = Influences(
            influences.bones[rows],
            influences.weights[rows],
            order[rows] if order is not None else None,
        )
        for axis in range(3):
            step = np.zeros((len(rows), 3))
            step[:, axis] = 1.0
            moved = translation_from_dual_quaternion(*blended_dual_quaternions(step, some, pose))
            maps[rows, :, axis] += moved - maps[rows, :, 3]
    return maps


def _nearest_offsets(matrices: Float64s, missing: Float64s, longest: float) -> Float64s:
    """The offsets o (m, 3) within a length for which M o comes nearest to `missing` (m, 3)."""
    determinants = np.linalg.det(matrices)
    sizes = np.linalg.norm(matrices, axis=(1, 2))
    # The product of the two larger singular values is at most half the sum of all squares, so this
    # is safe: no smallest singular value is below FLATTENED of the largest where it says `regular`.
    regular = 2.0 * np.abs(determinants) > _FLATTENED * sizes**3
    offsets = np.zeros_like(missing)
    solved = np.linalg.solve(matrices[regular], missing[regular][:, :, None])[:, :, 0]
    offsets[regular] = solved
    short = np.zeros(len(missing), np.bool_)
    short[regular] = np.linalg.norm(solved, axis=1) <= longest
    rest = np.flatnonzero(~short)
    if len(rest):
        offsets[rest] = _bounded_least_squares(matrices[rest], missing[rest], longest)
    return offsets


def _bounded_least_squares(matrices: Float64s, missing: Float64s, longest: float) -> Float64s:
    """As `_nearest_offsets`, for matrices of any kind, by their singular values.

    In the axes of the singular values s, the offset is g(s) times the difference: 1/s where s is
    large enough, s / (smallest that is)^2 below. Where that is too long, Tikhonov's s / (s^2 + l)
    with the l that gives the allowed length: the minimum of |M o - missing| for that length.
    """
    left, values, right = np.linalg.svd(matrices)
    along = np.einsum("nji,nj->ni", left, missing)
    smallest = _FLATTENED * values[:, :1]
    exists = smallest > 0.0
    gains = values / np.where(exists, np.maximum(values, smallest) ** 2, 1.0)
    damped = np.where(exists, gains, 0.0)
    answers = damped * along
    long = np.flatnonzero(np.linalg.norm(answers, axis=1) > longest)
    if len(long):
        # s / (s^2 / (s g) + l): the damped gain where l is 0.
        values, along, gains = values[long], along[long], damped[long]
        squares = np.where(gains > 0.0, values / np.where(gains > 0.0, gains, 1.0), 1.0)
        # With l above this the offset is shorter than allowed: |o| <= s_1 |missing| / l.
        upper = values[:, 0] * np.linalg.norm(along, axis=1) / max(longest, 1e-300)
        lower = np.zeros_like(upper)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (lower + upper)
            too_long = (
                np.linalg.norm(values * along / (squares + middle[:, None]), axis=1) > longest
            )
            lower, upper = np.where(too_long, middle, lower), np.where(too_long, upper, middle)
        answers[long] = values * along / (squares + upper[:, None])
    return np.einsum("nji,nj->ni", right, answers)
