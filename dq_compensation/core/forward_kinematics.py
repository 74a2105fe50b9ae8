"""Poses a skeleton by rotations of its bones, without Blender."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .corrective_joints import Quaternion
from .dual_quaternion import matrices_from_quaternions
from .skeleton import Skeleton


def posed_matrices(skeleton: Skeleton, rotations: Mapping[int, Quaternion]) -> NDArray[np.float64]:
    """The skinning transforms D_b of a skeleton of which some bones are rotated.

    Every bone follows its parent with rotation, as Blender's bones do by default.

    Args:
        skeleton: at rest.
        rotations: by the bone's index, its unit quaternion (w, x, y, z) in its rest axes; the
            other bones are at rest in their parents.

    Returns:
        shape (B, 4, 4), armature space: D_b = D_parent A_b R_b A_b^-1.
    """
    moved = np.tile(np.eye(4), (skeleton.bone_count, 1, 1))
    for bone, parent in enumerate(skeleton.parents):
        if parent >= 0:
            moved[bone] = moved[parent]
        if bone in rotations:
            rest = skeleton.rest[bone]
            turn = np.eye(4)
            turn[:3, :3] = matrices_from_quaternions(np.asarray(rotations[bone], np.float64)[None])[
                0
            ]
            moved[bone] = moved[bone] @ rest @ turn @ np.linalg.inv(rest)
    return moved
