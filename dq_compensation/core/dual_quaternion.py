"""Quaternions and dual quaternions, in batches.

A quaternion is (w, x, y, z), as in mathutils. A unit dual quaternion is a pair of two arrays, real
and dual, each (..., 4): the rigid transform "rotate by `real`, then translate by t" has
`dual = 1/2 t real` with t as the quaternion (0, t) (Kavan et al. 2008). Two dual quaternions that
differ by the sign of both parts are the same transform.

All functions work on the last axis, broadcast over the others and keep the dtype of what they get.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Booleans, Floats, Integers
from .vectors import cross


def concatenate_quaternions(second: Floats, first: Floats) -> Floats:
    """The product `second first`: the rotation `first`, then `second`. Shapes (..., 4)."""
    w2, x2, y2, z2 = np.moveaxis(second, -1, 0)
    w1, x1, y1, z1 = np.moveaxis(first, -1, 0)
    return np.stack(
        (
            w2 * w1 - x2 * x1 - y2 * y1 - z2 * z1,
            w2 * x1 + x2 * w1 + y2 * z1 - z2 * y1,
            w2 * y1 - x2 * z1 + y2 * w1 + z2 * x1,
            w2 * z1 + x2 * y1 - y2 * x1 + z2 * w1,
        ),
        axis=-1,
    )


def quaternion_conjugate(quaternions: Floats) -> Floats:
    """(w, -x, -y, -z); the inverse of a unit quaternion. Shape (..., 4)."""
    return quaternions * np.array([1, -1, -1, -1], dtype=quaternions.dtype)


def normalized_quaternions(quaternions: Floats) -> Floats:
    """Unit quaternions, shape (..., 4); the identity where the length is 0."""
    lengths = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    safe = np.where(lengths > 0.0, lengths, lengths.dtype.type(1.0))
    identity = np.array([1, 0, 0, 0], dtype=quaternions.dtype)
    return np.where(lengths > 0.0, quaternions / safe, identity)


def rotate_vectors(quaternions: Floats, vectors: Floats) -> Floats:
    """Vectors (..., 3) rotated by unit quaternions (..., 4): v + 2 r x (r x v + w v)."""
    w, axis = quaternions[..., :1], quaternions[..., 1:]
    return vectors + 2 * cross(axis, cross(axis, vectors) + w * vectors)


ALIKE = 0.9995
"""Quaternions whose cosine is larger are blended linearly: a slerp divides by the sine of the angle
between them. The two differ by 1e-8 there."""


def quaternions_from_axis_angle(axes: Floats, angles: Floats) -> Floats:
    """Unit axes (..., 3) and angles (...) in radians to quaternions (..., 4)."""
    half = 0.5 * angles[..., None]
    return np.concatenate((np.cos(half), np.sin(half) * axes), axis=-1)


# Rotations that differ by exactly 180 degrees have a dot product of 0, but for rounding: mirrored
# bones do. Nothing says which way round to blend them; this much decides that they face each other,
# so that float32 and float64 agree.
FACING_TOLERANCE = 2e-7


def faces_away(quaternions: Floats, others: Floats, lengths: Floats | float = 1.0) -> Booleans:
    """Whether unit `quaternions` (n, 4) have to change sign to blend the short way with `others`.

    Args:
        quaternions: shape (n, 4), unit.
        others: shape (n, 4).
        lengths: shape (n,), about the lengths of `others`; they scale the tolerance.
    """
    return np.einsum("ni,ni->n", quaternions, others) < -FACING_TOLERANCE * lengths


# The symmetric matrix 4 q q^T of a rotation R is linear in R (Bar-Itzhack 2000): this maps the nine
# entries of R, row by row, to the sixteen of the matrix without its unit diagonal.
_OUTER = np.zeros((9, 16))
for _entry, _diagonal in ((0, (1, 1, -1, -1)), (4, (1, -1, 1, -1)), (8, (1, -1, -1, 1))):
    _OUTER[_entry, [0, 5, 10, 15]] = _diagonal
for _entry, _sign, _row, _column in (
    (7, 1, 0, 1), (5, -1, 0, 1), (2, 1, 0, 2), (6, -1, 0, 2), (3, 1, 0, 3), (1, -1, 0, 3),
    (1, 1, 1, 2), (3, 1, 1, 2), (2, 1, 1, 3), (6, 1, 1, 3), (5, 1, 2, 3), (7, 1, 2, 3),
):  # fmt: skip
    _OUTER[_entry, 4 * _row + _column] = _sign
    _OUTER[_entry, 4 * _column + _row] = _sign


def quaternions_from_matrices(matrices: Floats, taken: Integers | None = None) -> Floats:
    """Rotation matrices (B, 3, 3) to unit quaternions (B, 4) with w >= 0.

    Args:
        taken: shape (B,), the row of 4 q q^T that is taken, 0 for w to 3 for z; by default the
            longest one, so that it is accurate at every angle, 180 degrees too.
    """
    count = len(matrices)
    outer = matrices.reshape(count, 9) @ _OUTER.astype(matrices.dtype, copy=False)
    outer[:, ::5] += 1
    taken = outer[:, ::5].argmax(axis=1) if taken is None else taken
    rows = outer.reshape(count, 4, 4)[np.arange(count), taken]
    rows /= np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    rows *= np.where(rows[:, :1] < 0, -1, 1).astype(rows.dtype)
    return rows


def matrices_from_quaternions(quaternions: Floats) -> Floats:
    """Unit quaternions (..., 4) to rotation matrices (..., 3, 3)."""
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    entries = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in entries], axis=-2)


# The dual part is bilinear: this maps the twelve products of the entries of t (rows of four) and of
# the real part to it. One product of matrices instead of a dozen small operations on columns.
_HALF_PRODUCT = np.zeros((12, 4))
for _t, (_w, _x, _y, _z) in enumerate(((1, 0, 3, 2), (2, 3, 0, 1), (3, 2, 1, 0))):
    _signs = ((-1, 1, -1, 1), (-1, 1, 1, -1), (-1, -1, 1, 1))[_t]
    _HALF_PRODUCT[[4 * _t + _w, 4 * _t + _x, 4 * _t + _y, 4 * _t + _z], range(4)] = _signs
_HALF_PRODUCT *= 0.5


def dual_from_translation(real: Floats, translations: Floats) -> Floats:
    """The dual part 1/2 (0, t) real of "rotate, then translate". Shapes (..., 4), (..., 3)."""
    products = translations[..., :, None] * real[..., None, :]
    return products.reshape(*products.shape[:-2], 12) @ _HALF_PRODUCT.astype(real.dtype, copy=False)


def translation_from_dual_quaternion(real: Floats, dual: Floats) -> Floats:
    """The translation, 2 dual conj(real), of unit dual quaternions. Shapes (..., 4) to (..., 3)."""
    w, axis = real[..., :1], real[..., 1:]
    return 2 * (w * dual[..., 1:] - dual[..., :1] * axis + cross(axis, dual[..., 1:]))


def normalized_dual_quaternions(real: Floats, dual: Floats) -> tuple[Floats, Floats]:
    """Both parts divided by the length of the real part; the identity where that is 0.

    A blended dual part is in general not orthogonal to the real part. That part of it does not
    reach a transformed point (Kavan et al. 2008), so it stays.
    """
    lengths = np.linalg.norm(real, axis=-1, keepdims=True)
    exists = lengths > 0.0
    safe = np.where(exists, lengths, lengths.dtype.type(1.0))
    identity = np.array([1, 0, 0, 0], dtype=real.dtype)
    return np.where(exists, real / safe, identity), np.where(
        exists, dual / safe, dual.dtype.type(0)
    )


def transform_points(real: Floats, dual: Floats, points: Floats) -> Floats:
    """Points (..., 3) transformed by unit dual quaternions (..., 4), (..., 4)."""
    return rotate_vectors(real, points) + translation_from_dual_quaternion(real, dual)
