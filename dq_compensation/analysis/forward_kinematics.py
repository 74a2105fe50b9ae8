"""Forward kinematics without Blender: bones follow their parents."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..core.dual_quaternion import matrices_from_quaternions
from ..core.skeleton import Skeleton
from .corrective_joints import Quaternion


def posed_matrices(skeleton: Skeleton, rotations: Mapping[int, Quaternion]) -> NDArray[np.float64]:
    """The skinning transforms D_b of a skeleton of which some bones are rotated.

    Every bone follows its parent with rotation, as Blender's bones do by default.

    Args:
        rotations: by the bone's index, its unit quaternion (w, x, y, z) in its rest axes; the
            other bones are at rest in their parents.

    Returns:
        shape (B, 4, 4), armature space; see `skinning_transform`.
    """
    moved = np.tile(np.eye(4), (skeleton.bone_count, 1, 1))
    for bone, parent in enumerate(skeleton.parents):
        if parent >= 0:
            moved[bone] = moved[parent]
        if bone in rotations:
            rest = skeleton.rest[bone]
            quaternion = np.asarray(rotations[bone], np.float64)
            turn = np.eye(4)
            turn[:3, :3] = matrices_from_quaternions(quaternion[None])[0]
            moved[bone] = skinning_transform(moved[bone], rest, turn)
    return moved


def skinning_transform(
    parent: NDArray[np.float64], rest: NDArray[np.float64], basis: NDArray[np.float64]
) -> NDArray[np.float64]:
    """D_b = D_parent A_b M_b A_b^-1: how far a bone is moved from its rest pose.

    Args:
        parent: shape (..., 4, 4), D of the parent.
        rest: shape (4, 4), A, armature space.
        basis: shape (..., 4, 4), M, what the bone does in its rest axes.
    """
    return parent @ rest @ basis @ np.linalg.inv(rest)
