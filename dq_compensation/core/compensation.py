"""COMPENSATED: dual quaternion skinning without its bulge at bent joints (Rudenko 2020).

Here are the published curves; MEASURED, which knows where the limbs are, is in `measured_joints`.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from .dual_quaternion import (
    concatenate_quaternions,
    quaternion_conjugate,
    rotate_vectors,
)
from .dual_quaternion_skinning import dual_quaternion_skinning
from .influences import Influences
from .measured_joints import MeasuredJoints
from .pose import Pose
from .skeleton import LimbAxis, Skeleton

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

# Below this sine of half the angle between two bones there is no axis to tell from rounding.
_NO_AXIS = 1e-3


def curve_value(x: NDArray[np.floating], curve: PublishedCurve = "FITTED") -> NDArray[np.floating]:
    """The depth of the bulge in radii where the weaker bone has the share x, 0 to 1/2."""
    first, second, third = CURVE_COEFFICIENTS[curve]
    return x * (first + x * (second + x * third))


def compensation_amounts(
    positions: NDArray[np.floating],
    influences: Influences,
    skeleton: Skeleton,
    limb_axis: LimbAxis = "AUTO",
    curve: Curve = "FITTED",
    *,
    base_form: bool = False,
) -> NDArray[np.floating]:
    """What the compensation of each vertex takes from weights and rest shape, once per binding.

    MEASURED: the amounts of `MeasuredJoints`, shares of 0 to 1. Of a published curve:

    sign f(x) (w1 + w2) (1 - w3 / w2) radius, with x = w2 / (w1 + w2). The sign is + where the
    strongest bone is an ancestor of the second, - where it is a descendant, and 0 where the two are
    unrelated: towards the joint from both of its sides. (Rudenko's sign is the opposite; with limb
    directions that point outwards it makes the bulge larger.) The weights' last factor lets the
    compensation fade before another bone takes the second place. The radius is the distance from
    the axis line of the strongest bone, through its head along its limb direction.

    Args:
        positions: shape (n, 3), armature space, at rest and without shape keys.
        influences: of the n vertices.
        skeleton: the bones.
        limb_axis: where the limbs point.
        curve: MEASURED, or which of the published cubics is f.
        base_form: sign f(w2) radius only, as in the first form of the method.

    Returns:
        shape (n,), in units of length (MEASURED: of 1), of the dtype of `positions`.
    """
    if curve == "MEASURED":
        return MeasuredJoints.of(positions, influences, skeleton, limb_axis).amounts
    count = len(positions)
    if influences.width < 2 or not count:
        return np.zeros(count, positions.dtype)
    first, second = influences.bones[:, 0], influences.bones[:, 1]
    w1 = influences.weights[:, 0].astype(np.float64)
    w2 = influences.weights[:, 1].astype(np.float64)
    blended = w2 > 0.0
    if base_form:
        shares = curve_value(w2, curve)
    else:
        w3 = influences.weights[:, 2] if influences.width > 2 else np.zeros(count)
        both = np.where(blended, w1 + w2, 1.0)
        fade = 1.0 - w3 / np.where(blended, w2, 1.0)
        shares = curve_value(w2 / both, curve) * both * fade
    directions = skeleton.limb_directions(limb_axis)[first]
    from_head = positions - skeleton.heads[first]
    along = np.einsum("ni,ni->n", from_head, directions)
    radii = np.linalg.norm(from_head - along[:, None] * directions, axis=1)
    signs = np.where(blended, skeleton.kinship(first, second), 0)
    return (signs * shares * radii).astype(positions.dtype)


def compensated_skinning(
    positions: NDArray[np.floating],
    normals: NDArray[np.floating] | None,
    influences: Influences,
    pose: Pose,
    limb_directions: NDArray[np.floating],
    amounts: NDArray[np.floating],
    *,
    base_form: bool = False,
) -> tuple[NDArray[np.floating], NDArray[np.floating] | None]:
    """Dual quaternion skinning plus `compensation_offsets` times `amounts`.

    Args:
        positions: shape (n, 3), float32 or float64, armature space.
        normals: shape (n, 3), unit, or None.
        influences: of the n vertices.
        pose: of the skeleton that the influences name.
        limb_directions: shape (B, 3), unit, at rest; `Skeleton.limb_directions`.
        amounts: shape (n,), `compensation_amounts` times what the artist painted and the factor.
        base_form: as in `compensation_amounts`.

    Returns:
        positions and unit normals, as `dual_quaternion_skinning`; the normals are its own.
    """
    deformed, normals = dual_quaternion_skinning(positions, normals, influences, pose)
    amounts = np.asarray(amounts).astype(deformed.dtype, copy=False)
    rows = np.flatnonzero(amounts) if influences.width > 1 else np.zeros(0, np.intp)
    if len(rows):
        first, second = influences.bones[rows, 0], influences.bones[rows, 1]
        offsets = compensation_offsets(
            first, second, pose, limb_directions, deformed.dtype, base_form=base_form
        )
        deformed[rows] += amounts[rows, None] * offsets
    return deformed, normals


def compensation_offsets(
    first: NDArray[np.integer],
    second: NDArray[np.integer],
    pose: Pose,
    limb_directions: NDArray[np.floating],
    dtype: np.dtype,
    *,
    base_form: bool = False,
) -> NDArray[np.floating]:
    """The directions in which pairs of bones compensate, with the share that the bend asks for.

    With rq = q1 conj(q2), sign chosen so that rq.w >= 0, the axis is rq's, the bisector that of the
    two posed limb directions, and the offset is the bisector without its part along the axis (so
    that a twist about the limb has none), times min(1, 2 sqrt(1 - rq.w)). It is 0 where the bones
    have not turned against each other and where the limbs point against each other.

    Args:
        first, second: shape (m,), the strongest and the second bone.
        pose: of the skeleton.
        limb_directions: shape (B, 3), unit, at rest.
        dtype: of the result.
        base_form: the bisector, as in the first form of the method.

    Returns:
        shape (m, 3), armature space, at most 1 long.
    """
    rotations = pose.rotations.astype(dtype, copy=False)
    posed = rotate_vectors(rotations, np.asarray(limb_directions).astype(dtype, copy=False))
    bisectors = _unit_or_zero(posed[first] + posed[second], 1e-6)
    relative = concatenate_quaternions(rotations[first], quaternion_conjugate(rotations[second]))
    axes = _unit_or_zero(relative[:, 1:], _NO_AXIS)
    bent = np.any(axes != 0.0, axis=1, keepdims=True)
    if base_form:
        return np.where(bent, bisectors, bisectors.dtype.type(0.0))
    across = bisectors - axes * np.einsum("mi,mi->m", axes, bisectors)[:, None]
    # The same number as sqrt(1 - rq.w), which float32 would lose to cancellation at small angles.
    sines = np.sum(relative[:, 1:] ** 2, axis=1)
    bends = np.minimum(1.0, 2.0 * np.sqrt(sines / (1.0 + np.abs(relative[:, 0]))))
    return np.where(bent, across * bends[:, None], across.dtype.type(0.0)).astype(dtype)


def _unit_or_zero(vectors: NDArray[np.floating], shortest: float) -> NDArray[np.floating]:
    """Normalised rows of (m, 3); zero where a row is shorter than `shortest`."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    exists = lengths >= shortest
    one = lengths.dtype.type(1.0)
    return np.where(exists, vectors / np.where(exists, lengths, one), vectors.dtype.type(0.0))
