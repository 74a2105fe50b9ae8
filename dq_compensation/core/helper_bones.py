"""Helper bones: dual quaternion skinning as plain linear skinning with some more bones.

A helper belongs to two bones that move the same skin, called parent and child. Its skinning matrix
is the dual quaternion blend of theirs, for fixed shares: linear blending between the bones and a
few helpers goes along the chords of the arc on which dual quaternions move the skin (Kavan,
Collins, O'Sullivan, Automatic linearization of nonlinear skinning, 2009). The chords lie inside of
the arc: a helper may also grow about its head with the angle between its bones, so that they lie on
either side of it. All of it is a smooth function of the pose, for a turn about any axis.

In Blender this is a bone with constraints, without a driver:

- It starts at `helper_heads`. What its parent does is taken from it (Limit Location, Rotation and
  Scale to its rest, Pose Space), then an Armature constraint follows: Preserve Volume on, the
  targets parent and child with the weights 1 - share and share.
- For the growth a second bone, the gauge, one for each pair. It has no parent, and nothing but an
  Armature constraint: Preserve Volume off, parent and child with the weights 1 - GAUGE_SHARE and
  GAUGE_SHARE. Its volume shrinks as the two are turned against each other. The helper's last
  constraint is a Copy Scale on it: Make Uniform, Power -growth, Offset without Additive, the owner
  in World Space, the target in Custom Space of the parent bone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .dual_quaternion import matrices_from_quaternions, translation_from_dual_quaternion
from .dual_quaternion_skinning import blended_dual_quaternions, bone_scales
from .influences import Influences
from .linear import blended_matrices
from .pose import Pose
from .skeleton import Skeleton

# The child's share of the gauge. With less than a half it never shrinks to nothing: to half of its
# thickness at 180 degrees.
GAUGE_SHARE = 0.25
# Bones that are scaled to less than this volume have none.
_NO_VOLUME = 1e-12


@dataclass(frozen=True)
class Helper:
    """A bone between two bones.

    Attributes:
        parent, child: the pair, indices of bones of the skeleton.
        share: of the child in the blend, 0 to 1; the parent has the rest.
        growth: how fast it grows about its head as the pair is turned against each other: its
            scale is V^(-growth / 3), with V of `gauge_volumes`. 0: it is rigid.
    """

    parent: int
    child: int
    share: float
    growth: float = 0.0


@dataclass(frozen=True, eq=False)
class HelperSkinning:
    """Plain linear skinning of a mesh by the bones of its skeleton and by helpers.

    Attributes:
        helpers: the H helpers.
        indices: shape (n, k), int32; rows of the skeleton's B bones, then B + the helper's index.
            0 where a vertex has fewer.
        weights: shape (n, k), float64, not negative, falling from left to right; each row's sum is
            1, or 0 for a vertex that no bone moves.
    """

    helpers: tuple[Helper, ...]
    indices: NDArray[np.int32]
    weights: NDArray[np.float64]


def helper_heads(helpers: Sequence[Helper], skeleton: Skeleton) -> NDArray[np.float64]:
    """Where helpers start at rest, and about which they grow, shape (H, 3), armature space.

    A hair's breadth beyond the head of the child: Blender's FBX importer would connect a bone that
    starts exactly where its parent ends, and a connected bone loses its location.
    """
    children = [helper.child for helper in helpers]
    heads, tails = skeleton.heads[children], skeleton.tails[children]
    return (heads + 1e-3 * (tails - heads)).reshape(-1, 3)


def helper_transforms(
    helpers: Sequence[Helper], pose: Pose, skeleton: Skeleton
) -> NDArray[np.float64]:
    """The skinning matrices of helpers: from rest to the pose, in armature space.

    Scaled bones are treated as the Armature constraint treats them: the blended scale, about the
    helper's head, then the blend of the rigid parts that take this head where the bones take it.

    Args:
        pose: of the skeleton's bones; a bendy bone counts as one straight bone.

    Returns:
        shape (H, 4, 4).
    """
    heads = helper_heads(helpers, skeleton)
    parents = np.array([helper.parent for helper in helpers], np.int32)
    children = np.array([helper.child for helper in helpers], np.int32)
    shares = np.array([helper.share for helper in helpers], np.float32)
    bones = np.stack((parents, children), axis=1)
    influences = Influences(bones, np.stack((1.0 - shares, shares), axis=1))
    real, dual = blended_dual_quaternions(heads, influences, pose)
    turned = matrices_from_quaternions(real)
    growth = np.array([helper.growth for helper in helpers])
    grown = gauge_volumes(parents, children, pose) ** (-growth / 3.0)
    scales = blended_matrices(bone_scales(pose), influences, np.dtype(np.float64))
    transforms = np.tile(np.eye(4), (len(heads), 1, 1))
    transforms[:, :3, :3] = turned @ scales * grown[:, None, None]
    moved = np.einsum("hij,hj->hi", turned, heads) + translation_from_dual_quaternion(real, dual)
    transforms[:, :3, 3] = moved - np.einsum("hij,hj->hi", transforms[:, :3, :3], heads)
    return transforms


def gauge_volumes(
    parents: NDArray[np.integer], children: NDArray[np.integer], pose: Pose
) -> NDArray[np.float64]:
    """What is left of a unit volume after linear blending with `GAUGE_SHARE`, shape (p,).

    det((1 - s) I + s P^-1 C) for the linear parts of parent and child: seen from the parent. Of two
    bones without scale that are turned against each other by t it is 1 - 2 s (1 - s) (1 - cos t).
    """
    relative = np.linalg.solve(_linear(pose, parents), _linear(pose, children))
    blended = (1.0 - GAUGE_SHARE) * np.eye(3) + GAUGE_SHARE * relative
    return np.maximum(np.abs(np.linalg.det(blended)), _NO_VOLUME)


def _linear(pose: Pose, bones: NDArray[np.integer]) -> NDArray[np.float64]:
    """The linear parts of bones, shape (p, 3, 3); the identity where a bone has no volume."""
    linear = pose.matrices[bones, :3, :3]
    flat = np.abs(np.linalg.det(linear)) < _NO_VOLUME
    return np.where(flat[:, None, None], np.eye(3), linear)


def skinned(
    skinning: HelperSkinning,
    rest: NDArray[np.floating],
    bone_matrices: NDArray[np.floating],
    helper_matrices: NDArray[np.floating],
) -> NDArray[np.float64]:
    """The deformed positions, as every engine computes them: v' = (sum w D) v.

    Args:
        rest: shape (n, 3), armature space.
        bone_matrices: shape (B, 4, 4), D of the skeleton's bones.
        helper_matrices: shape (H, 4, 4).

    Returns:
        shape (n, 3), armature space; a vertex that no bone moves stays where it is.
    """
    entries = np.concatenate((bone_matrices, helper_matrices))[:, :3]
    blended = np.zeros((len(rest), 3, 4))
    for column in range(skinning.weights.shape[1]):
        weights = skinning.weights[:, column, None, None]
        blended += weights * entries[skinning.indices[:, column]]
    moved = np.einsum("nij,nj->ni", blended[:, :, :3], rest) + blended[:, :, 3]
    return np.where(skinning.weights[:, :1] > 0.0, moved, rest)
