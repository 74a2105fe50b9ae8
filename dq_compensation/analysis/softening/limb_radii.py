"""How thick limbs are where a vertex is, and the bones that are no limbs: features of a face."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...core.body_tree import body_parents
from ...core.influences import Influences
from ...core.skeleton import Skeleton

# A bone that branches off is no limb where all that hangs on it ends between these distances from
# the axis of the limb that it hangs on, in radii: lips, lids and jaw of the human 1.2 to 1.8, its
# breasts 1.4; its toes from 1.96 on, thumbs 2.5, heads and limbs more. Twist bones end within.
_BENEATH_SKIN, _OUT_OF_SKIN = 0.8, 1.9


def distances_to_bones(
    points: NDArray[np.floating], skeleton: Skeleton, bones: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Shape (m,), from points (m, 3) to the lines from head to tail of bones (m,)."""
    heads, ways = skeleton.heads[bones], (skeleton.tails - skeleton.heads)[bones]
    away = points - heads
    squares = np.maximum((ways * ways).sum(axis=1), 1e-30)
    along = ((away * ways).sum(axis=1) / squares).clip(0.0, 1.0)
    return np.linalg.norm(away - along[:, None] * ways, axis=1)


def limb_radii(
    positions: NDArray[np.floating], influences: Influences, skeleton: Skeleton
) -> NDArray[np.float64]:
    """Shape (n,), the distance of each vertex from its bones, by their weights; 0 without any."""
    radii = np.zeros(len(positions))
    for rows, bones, weights in influences.slots():
        radii[rows] += weights * distances_to_bones(positions[rows], skeleton, bones)
    return radii


def feature_bones(
    positions: NDArray[np.floating],
    areas: NDArray[np.floating],
    influences: Influences,
    skeleton: Skeleton,
    sides: NDArray[np.integer] | None = None,
) -> NDArray[np.bool_]:
    """The bones that are closer to each other than the skin is thick: of a face, or muscles.

    Args:
        positions: shape (n, 3), armature space, at rest.
        areas: shape (n,), of the skin.
        sides: of `body_parents`.

    Returns:
        shape (B,).
    """
    count = skeleton.bone_count
    parents = body_parents(skeleton, influences, sides=sides)
    skin, reached = np.zeros(count), np.zeros(count)
    for rows, bones, weights in influences.slots():
        amounts = weights * areas[rows]
        apart = distances_to_bones(positions[rows], skeleton, bones)
        skin += np.bincount(bones, amounts, count)
        reached += np.bincount(bones, amounts * apart, count)
    radii = reached / np.maximum(skin, 1e-30)
    moves = skin > 0.0
    branches = np.bincount(parents[moves & (parents >= 0)], minlength=count) > 1

    # How far what hangs on each bone gets away from the limb that the bone hangs on.
    farthest = np.zeros(count)
    bones = limbs = np.flatnonzero(moves & (parents >= 0))
    while len(bones):
        for ends in (skeleton.heads, skeleton.tails):
            apart = distances_to_bones(ends[bones], skeleton, parents[limbs])
            np.maximum.at(farthest, limbs, apart)
        limbs = parents[limbs]
        going = parents[limbs] >= 0
        bones, limbs = bones[going], limbs[going]
    hangs = moves & (parents >= 0) & branches[parents]
    ratios = farthest / np.maximum(radii[parents], 1e-30)
    features = hangs & (ratios > _BENEATH_SKIN) & (ratios < _OUT_OF_SKIN)
    above = parents
    while (above >= 0).any():
        features |= features[above] & (above >= 0)
        above = np.where(above >= 0, parents[above], -1)
    return features & moves
