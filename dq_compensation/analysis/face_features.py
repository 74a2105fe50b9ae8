"""How thick limbs are where a vertex is, and the bones that are no limbs: features of a face."""

from __future__ import annotations

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Integers
from ..core.influences import Influences
from ..core.skeleton import BoneKinds, Skeleton, bones_not_of, bones_of
from ..core.skin_at_rest import SkinAtRest

# A bone that branches off is no limb where all that hangs on it ends between these distances from
# the axis of the limb that it hangs on, in radii: lips, lids and jaw of the human 1.2 to 1.8, its
# breasts 1.4; its toes from 1.96 on, thumbs 2.5, heads and limbs more. Twist bones end within.
_BENEATH_SKIN, _OUT_OF_SKIN = 0.8, 1.9

# Stubby arms and thumbs end there, too. A limb has more than this share of the skin that it moves
# for itself (limbs of the human 0.77 to 0.96, its face 0.05 to 0.61), and its skin is larger than
# the opening in which it begins by this factor (2.9 to 15; jaws 2.4, breasts 1.2).
_OWN, _OUT = 0.7, 2.6


def ways_from_bones(points: Floats, skeleton: Skeleton, bones: Integers) -> Float64s:
    """Shape (m, 3), to points (m, 3) from the lines from head to tail of bones (m,)."""
    heads, ways = skeleton.heads[bones], (skeleton.tails - skeleton.heads)[bones]
    away = points - heads
    squares = np.maximum((ways * ways).sum(axis=1), 1e-30)
    along = ((away * ways).sum(axis=1) / squares).clip(0.0, 1.0)
    return away - along[:, None] * ways


def distances_to_bones(points: Floats, skeleton: Skeleton, bones: Integers) -> Float64s:
    """Shape (m,), the lengths of `ways_from_bones`."""
    return np.linalg.norm(ways_from_bones(points, skeleton, bones), axis=1)


def limb_radii(positions: Floats, influences: Influences, skeleton: Skeleton) -> Float64s:
    """Shape (n,), the distance of each vertex from its bones, by their weights; 0 without any."""
    radii = np.zeros(len(positions))
    for rows, bones, weights in influences.slots():
        radii[rows] += weights * distances_to_bones(positions[rows], skeleton, bones)
    return radii


def feature_bones(
    positions: Floats,
    areas: tuple[Floats, Floats],
    influences: Influences,
    skeleton: Skeleton,
    sides: Integers | None = None,
    kinds: BoneKinds = (),
) -> Booleans:
    """The bones that are closer to each other than the skin is thick: of a face, or muscles.

    Args:
        positions: shape (n, 3), armature space, at rest.
        areas: of the skin, shape (n,), and their vectors, (n, 3), as `SkinSurface` has them.
        sides, kinds: of `SkinAtRest`. Bones below a part of a face are parts of it, too, but for
            what the user takes for something else.

    Returns:
        shape (B,).
    """
    count = skeleton.bone_count
    parents = SkinAtRest(positions, influences, skeleton, sides=sides).parents_by_skin
    skin, reached = np.zeros(count), np.zeros(count)
    for rows, bones, weights in influences.slots():
        amounts = weights * areas[0][rows]
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
    for bone in np.flatnonzero(features).tolist():
        features[bone] = not _sticks_out(_hanging_on(bone, parents), areas, influences)
    features[bones_of(kinds, "FACE")] = True
    hangs = parents >= 0
    others = bones_not_of(kinds, "FACE")
    hangs[others] = features[others] = False
    while (more := hangs & features[parents] & ~features).any():
        features |= more
    return features & moves


def _hanging_on(bone: int, parents: Integers) -> Booleans:
    """Shape (B,): a bone and those that hang on it."""
    found, above = np.arange(len(parents)) == bone, parents
    while (going := above >= 0).any():
        found |= going & (above == bone)
        above = np.where(going, parents[above], -1)
    return found


def _sticks_out(bones: Booleans, areas: tuple[Floats, Floats], influences: Influences) -> bool:
    """Whether bones, shape (B,), have skin of their own that leaves the body: a limb.

    The vectors of its area add up to that of the opening in which it begins: a patch is as large as
    its opening, half a ball twice.
    """
    chosen = bones[influences.bones]
    rows = np.flatnonzero(chosen.any(axis=1))
    # By einsum: the threads of BLAS wait for each other longer than this takes.
    shares = np.einsum("nk,nk->n", influences.weights[rows], chosen[rows], dtype=np.float64)
    parts = shares * areas[0][rows]
    opening = np.linalg.norm(np.einsum("n,nk->k", shares, areas[1][rows]))
    skin = parts.sum()
    return bool(np.einsum("n,n", shares, parts) > _OWN * skin and skin > _OUT * opening)
