"""One door to every method of deformation."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .compensation import compensated_skinning
from .dual_quaternion_skinning import dual_quaternion_skinning
from .influences import Influences
from .linear import linear_blend
from .measured_joints import MeasuredJoints, measured_skinning
from .pose import Pose
from .spherical_joint import JointSets, spherical_joint_skinning

Method = Literal["LINEAR", "DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT"]
METHODS: tuple[Method, ...] = get_args(Method)


def deform(  # noqa: PLR0913 - one door, and most arguments belong to one method
    method: Method,
    positions: NDArray[np.floating],
    normals: NDArray[np.floating] | None,
    influences: Influences,
    pose: Pose,
    *,
    limb_directions: NDArray[np.floating] | None = None,
    amounts: NDArray[np.floating] | None = None,
    measured: MeasuredJoints | None = None,
    sets: JointSets | None = None,
) -> tuple[NDArray[np.floating], NDArray[np.floating] | None]:
    """Deform vertices with one of the methods.

    Args:
        method: which.
        positions: shape (n, 3), float32 or float64, armature space.
        normals: shape (n, 3), unit, or None.
        influences: of the n vertices.
        pose: of the skeleton that the influences name.
        limb_directions: shape (B, 3), for COMPENSATED with a published curve.
        amounts: shape (n,), for COMPENSATED.
        measured: for COMPENSATED with MEASURED, instead of the limb directions.
        sets: for SPHERICAL_JOINT.

    Returns:
        positions and unit normals (None without normals), of the dtype of `positions`. The
        arguments are not changed.

    Raises:
        ValueError: an argument that the method needs is missing, or shapes do not agree.
    """
    _check_shapes(positions, normals, influences)
    if not len(pose.matrices) or not len(positions):
        return positions.copy(), None if normals is None else normals.copy()
    if normals is not None:
        normals = normals.astype(positions.dtype, copy=False)
    if method == "LINEAR":
        return linear_blend(positions, normals, influences, pose)
    if method == "DUAL_QUATERNION":
        return dual_quaternion_skinning(positions, normals, influences, pose)
    if method == "COMPENSATED":
        if measured is not None and amounts is not None:
            return measured_skinning(positions, normals, influences, pose, measured, amounts)
        if limb_directions is None or amounts is None:
            raise ValueError("deform: COMPENSATED needs limb_directions and amounts")
        return compensated_skinning(positions, normals, influences, pose, limb_directions, amounts)
    if method == "SPHERICAL_JOINT":
        if sets is None:
            raise ValueError("deform: SPHERICAL_JOINT needs the joint sets")
        return spherical_joint_skinning(positions, normals, influences, pose, sets)
    raise ValueError(f"deform: unknown method {method!r}")


def _check_shapes(
    positions: NDArray[np.floating], normals: NDArray[np.floating] | None, influences: Influences
) -> None:
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise ValueError(f"deform: positions of shape {positions.shape}, expected (n, 3)")
    if influences.vertex_count != len(positions):
        raise ValueError(
            f"deform: influences of {influences.vertex_count} vertices for {len(positions)}"
        )
    if normals is not None and normals.shape != positions.shape:
        raise ValueError(f"deform: normals of shape {normals.shape} for {positions.shape}")
