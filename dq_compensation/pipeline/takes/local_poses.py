"""Poses of nodes relative to the nodes above them: location, rotation and scale of each.

A node is a bone, or the end of a segment of a bendy bone: a row of a `Pose`. Relative to its parent
it is T R S: scaled along its own axes, then rotated, then moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...arrays import Booleans, Float64s, Floats, Indices, Int32s
from ...core.dual_quaternion import (
    ALIKE,
    dual_from_translation,
    matrices_from_quaternions,
    normalized_dual_quaternions,
    normalized_quaternions,
    quaternions_from_matrices,
    translation_from_dual_quaternion,
)

Interpolation = Literal["SLERP", "DUAL_QUATERNION"]

# Axes whose cosines are smaller than this are at right angles but for rounding.
_RIGHT_ANGLE = 1e-6
# Axes shorter than this, as part of the longest, have no direction.
_NO_LENGTH = 1e-6


@dataclass(frozen=True, eq=False)
class LocalPoses:
    """I poses of N nodes; any leading axes will do in the place of (I, N).

    Attributes:
        locations: shape (I, N, 3).
        rotations: shape (I, N, 4), unit quaternions (w, x, y, z).
        scales: shape (I, N, 3); all three are negative where a node is mirrored.
    """

    locations: Floats
    rotations: Floats
    scales: Floats

    @classmethod
    def from_matrices(cls, matrices: Float64s) -> LocalPoses:
        """Take matrices apart, shape (..., 4, 4).

        Sheared ones come out as the nearest rotation (polar decomposition) and the scale along its
        axes; `matrices` then gives others than these.
        """
        linear = matrices[..., :3, :3].reshape(-1, 3, 3)
        lengths = np.linalg.norm(linear, axis=1)
        longest = lengths.max(axis=1, initial=0.0, keepdims=True)
        flat = lengths <= _NO_LENGTH * longest
        axes = linear / np.where(flat, 1.0, lengths)[:, None, :]
        axes *= np.where(np.linalg.det(linear) < 0.0, -1.0, 1.0)[:, None, None]
        gram = axes.transpose(0, 2, 1) @ axes
        odd = flat.any(axis=1) | (np.abs(gram - np.eye(3)).max(axis=(1, 2)) > _RIGHT_ANGLE)
        axes[odd] = _nearest_rotations(axes[odd], flat[odd])
        shape = matrices.shape[:-2]
        return cls(
            matrices[..., :3, 3].copy(),
            quaternions_from_matrices(axes).reshape(*shape, 4),
            np.einsum("nij,nij->nj", axes, linear).reshape(*shape, 3),
        )

    def matrices(self) -> Float64s:
        """The products T R S, shape (I, N, 4, 4)."""
        found = np.zeros((*self.locations.shape[:-1], 4, 4))
        found[..., :3, :3] = matrices_from_quaternions(self.rotations) * self.scales[..., None, :]
        found[..., :3, 3] = self.locations
        found[..., 3, 3] = 1.0
        return found

    def __getitem__(self, index: object) -> LocalPoses:
        """The same of some poses or nodes."""
        picked = (self.locations[index], self.rotations[index], self.scales[index])  # type: ignore[index]
        return LocalPoses(*picked)


def blended_poses(
    first: LocalPoses, second: LocalPoses, shares: Floats, interpolation: Interpolation = "SLERP"
) -> LocalPoses:
    """Poses between two, node by node, the short way round.

    SLERP: locations linearly, rotations by slerp (Shoemake 1985). DUAL_QUATERNION: both by the
    normalised linear blend of dual quaternions (Kavan et al. 2008). Scales linearly in both.

    Args:
        shares: of the second, 0 to 1; broadcast over (I, N).
    """
    share = np.asarray(shares, np.float64)[..., None]
    one, other = first.rotations, second.rotations
    cosines = np.einsum("...i,...i->...", one, other)[..., None]
    other = np.where(cosines < 0.0, -other, other)
    scales = first.scales + share * (second.scales - first.scales)
    if interpolation == "DUAL_QUATERNION":
        dual = dual_from_translation(one, first.locations)
        dual = dual + share * (dual_from_translation(other, second.locations) - dual)
        real, dual = normalized_dual_quaternions(one + share * (other - one), dual)
        return LocalPoses(translation_from_dual_quaternion(real, dual), real, scales)
    cosines = np.minimum(np.abs(cosines), 1.0)
    angles = np.arccos(np.minimum(cosines, ALIKE))
    alike = cosines > ALIKE
    of_one = np.where(alike, 1.0 - share, np.sin((1.0 - share) * angles))
    of_other = np.where(alike, share, np.sin(share * angles))
    locations = first.locations + share * (second.locations - first.locations)
    return LocalPoses(locations, normalized_quaternions(of_one * one + of_other * other), scales)


def cross_faded(first: LocalPoses, second: LocalPoses, factors: Floats) -> LocalPoses:
    """Poses on the way from one take to another.

    Args:
        first, second: of the same nodes, I poses each.
        factors: shape (I,), 0 is the first, 1 is the second.
    """
    return blended_poses(first, second, np.asarray(factors)[:, None])


def chained_poses(matrices: Float64s, levels: tuple[Indices, ...], parents: Int32s) -> Float64s:
    """The products down the hierarchy, one level of it after the other.

    Args:
        matrices: shape (I, N, 4, 4), each relative to its parent.
        levels: the nodes without parents, their children, and so on.
        parents: shape (N,), -1 for none.

    Returns:
        shape (I, N, 4, 4), armature space.
    """
    found = matrices.copy()
    for level in levels[1:]:
        found[:, level] = found[:, parents[level]] @ matrices[:, level]
    return found


def _nearest_rotations(axes: Float64s, flat: Booleans) -> Float64s:
    """The rotations nearest to axes in columns (n, 3, 3); where `flat` (n, 3), any will do."""
    left, _, right = np.linalg.svd(np.where(flat[:, None, :], 0.0, axes))
    signs = np.linalg.det(left) * np.linalg.det(right)
    left[:, :, 2] *= signs[:, None]
    return left @ right
