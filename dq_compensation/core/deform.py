"""One door to every method of deformation."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .compensation import compensated_skinning
from .dual_quaternion_skinning import dual_quaternion_skinning
from .influences import Influences
from .linear import linear_blend, unit_or
from .measured_joints import MeasuredJoints, measured_skinning
from .pose import Pose
from .spherical_joint import JointSets, spherical_joint_skinning

Method = Literal["LINEAR", "DUAL_QUATERNION", "COMPENSATED", "SPHERICAL_JOINT"]
METHODS: tuple[Method, ...] = get_args(Method)

# The methods that blend weights take back to LINEAR, vertex by vertex.
BLENDED_METHODS: frozenset[Method] = frozenset(("DUAL_QUATERNION", "COMPENSATED"))


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
    blend: NDArray[np.floating] | None = None,
) -> tuple[NDArray[np.floating], NDArray[np.floating] | None]:
    """Deform vertices with one of the methods.

    With `blend`, v' = v_linear + blend (v_method - v_linear), and likewise the normals, which are
    normalised then.

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
        blend: shape (n,), 0 to 1, for `BLENDED_METHODS`: 1 is the method, 0 is LINEAR. None: 1.

    Returns:
        positions and unit normals (None without normals), of the dtype of `positions`. The
        arguments are not changed.

    Raises:
        ValueError: an argument that the method needs is missing, or shapes do not agree.
    """
    _check_shapes(positions, normals, influences, blend)
    if not len(pose.matrices) or not len(positions):
        return positions.copy(), None if normals is None else normals.copy()
    if normals is not None:
        normals = normals.astype(positions.dtype, copy=False)
    deformed = _deformed(
        method, positions, normals, influences, pose, limb_directions, amounts, measured, sets
    )
    if blend is None or method not in BLENDED_METHODS:
        return deformed
    return _blended(linear_blend(positions, normals, influences, pose), deformed, blend)


def _deformed(  # noqa: PLR0913, PLR0917 - those of `deform`
    method: Method,
    positions: NDArray[np.floating],
    normals: NDArray[np.floating] | None,
    influences: Influences,
    pose: Pose,
    limb_directions: NDArray[np.floating] | None,
    amounts: NDArray[np.floating] | None,
    measured: MeasuredJoints | None,
    sets: JointSets | None,
) -> tuple[NDArray[np.floating], NDArray[np.floating] | None]:
    """`deform` where the method acts alone."""
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


def _blended(
    linear: tuple[NDArray[np.floating], NDArray[np.floating] | None],
    whole: tuple[NDArray[np.floating], NDArray[np.floating] | None],
    blend: NDArray[np.floating],
) -> tuple[NDArray[np.floating], NDArray[np.floating] | None]:
    """Positions and unit normals between two results; at 0 and 1 they are exactly those."""
    share = blend.astype(whole[0].dtype, copy=False)[:, None]
    positions = (1.0 - share) * linear[0] + share * whole[0]
    if linear[1] is None or whole[1] is None:
        return positions, None
    return positions, unit_or((1.0 - share) * linear[1] + share * whole[1], whole[1])


def _check_shapes(
    positions: NDArray[np.floating],
    normals: NDArray[np.floating] | None,
    influences: Influences,
    blend: NDArray[np.floating] | None,
) -> None:
    if positions.ndim != 2 or positions.shape[1] != 3:
        raise ValueError(f"deform: positions of shape {positions.shape}, expected (n, 3)")
    if influences.vertex_count != len(positions):
        raise ValueError(
            f"deform: influences of {influences.vertex_count} vertices for {len(positions)}"
        )
    if normals is not None and normals.shape != positions.shape:
        raise ValueError(f"deform: normals of shape {normals.shape} for {positions.shape}")
    if blend is not None and blend.shape != (len(positions),):
        raise ValueError(f"deform: blend of shape {blend.shape} for {len(positions)} vertices")
