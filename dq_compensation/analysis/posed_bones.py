"""Rotations of bones, and forward kinematics without Blender: bones follow their parents."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import Float64s, Int32s
from ..core.dual_quaternion import matrices_from_quaternions
from ..core.skeleton import Skeleton, depths

Quaternion = tuple[float, float, float, float]
"""(w, x, y, z), of unit length; of a bone, in its rest axes."""

Axis = tuple[float, float, float]
"""A unit vector in a bone's rest axes."""

OWN_AXIS: Axis = (0.0, 1.0, 0.0)


def swing(degrees: float, azimuth: float) -> Quaternion:
    """The swing by an angle about the axis (cos azimuth, 0, sin azimuth); azimuth in radians."""
    return twist(degrees, (float(np.cos(azimuth)), 0.0, float(np.sin(azimuth))))


def twist(degrees: float, axis: Axis = OWN_AXIS) -> Quaternion:
    """The twist by an angle about the bone, or about another axis."""
    half = np.radians(degrees) / 2.0
    x, y, z = (float(np.sin(half) * part) for part in axis)
    return (float(np.cos(half)), x, y, z)


def posed_matrices(
    skeleton: Skeleton, rotations: Mapping[int, Quaternion], parents: Int32s | None = None
) -> Float64s:
    """The skinning transforms D_b of a skeleton of which some bones are rotated.

    Every bone follows its parent with rotation, as Blender's bones do by default.

    Args:
        rotations: by the bone's index, its unit quaternion (w, x, y, z) in its rest axes; the
            other bones are at rest in their parents.
        parents: shape (B,), what bones follow; by default their parents.

    Returns:
        shape (B, 4, 4), armature space; see `skinning_transform`.
    """
    moved = np.tile(np.eye(4), (skeleton.bone_count, 1, 1))
    parents = skeleton.parents if parents is None else parents
    for bone in np.argsort(depths(parents), kind="stable").tolist():
        parent = parents[bone]
        if parent >= 0:
            moved[bone] = moved[parent]
        if bone in rotations:
            rest = skeleton.rest[bone]
            quaternion = np.asarray(rotations[bone], np.float64)
            turn = np.eye(4)
            turn[:3, :3] = matrices_from_quaternions(quaternion[None])[0]
            moved[bone] = skinning_transform(moved[bone], rest, turn)
    return moved


def skinning_transform(parent: Float64s, rest: Float64s, basis: Float64s) -> Float64s:
    """D_b = D_parent A_b M_b A_b^-1: how far a bone is moved from its rest pose.

    Args:
        parent: shape (..., 4, 4), D of the parent.
        rest: shape (4, 4), A, armature space.
        basis: shape (..., 4, 4), M, what the bone does in its rest axes.
    """
    return parent @ rest @ basis @ np.linalg.inv(rest)
