"""Fits plain linear skinning with helper bones to positions in many poses.

First each pair of bones that move the same skin gets as many helpers as it needs. Then each vertex
gets the weights, on its own bones and on the helpers between them, that leave the least squares of
its distances in all poses. The motion of helpers is fixed (`core.helper_bones`), so each vertex is
a small convex problem of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.helper_bones import Helper, HelperSkinning, helper_transforms
from ..core.influences import Influences
from ..core.pose import Pose
from ..core.skeleton import Skeleton
from .convex_weights import sparse_convex_weights

MOST_HELPERS = 4
# The shares of the child, by the number of helpers of a pair.
SHARES: dict[int, tuple[float, ...]] = {
    1: (0.5,),
    2: (0.32, 0.68),
    3: (0.24, 0.5, 0.76),
    4: (0.19, 0.4, 0.6, 0.81),
}

# Weights below this do not make a vertex one of a pair; pairs with fewer vertices get no helper.
LEAST_WEIGHT = 0.02
LEAST_VERTICES = 8

# What a weight that is 1 off costs, in tolerances: where poses do not decide, weights stay near
# those of the bones.
_PULL = 0.02
# So many numbers of a chunk of vertices are worked on at a time.
_CHUNK = 2_000_000


@dataclass(frozen=True)
class FitOptions:
    """What the fit may use.

    Attributes:
        helpers: of each pair that needs any, 1 to 4; 0: as few as the tolerance needs.
        most_influences: of a vertex, helpers included; 0: any number.
        tolerance: metres, of the armature's space; pairs whose linear blending is off by less get
            no helper.
    """

    helpers: int = 0
    most_influences: int = 4
    tolerance: float = 0.0005


def shared_pairs(influences: Influences, skeleton: Skeleton) -> NDArray[np.int32]:
    """The pairs of bones that move the same skin.

    Returns:
        shape (J, 2), parent and child: the ancestor first; of unrelated bones the one that comes
        first in the skeleton.
    """
    follows = _follows(influences, skeleton.bone_count, LEAST_WEIGHT).astype(np.float32)
    together = follows.T @ follows
    first, second = np.nonzero(np.triu(together, 1) >= LEAST_VERTICES)
    # Ancestors come first in a skeleton.
    return np.stack((first, second), axis=1).astype(np.int32)


def _follows(influences: Influences, bone_count: int, least: float) -> NDArray[np.bool_]:
    """Shape (n, B): which bones have more than this weight on each vertex."""
    return _dense(influences, bone_count) > least


def _dense(influences: Influences, bone_count: int) -> NDArray[np.float32]:
    """The weights of all bones on each vertex, shape (n, B)."""
    weights = np.zeros((influences.vertex_count, bone_count), np.float32)
    for rows, bones, values in influences.slots():
        weights[np.arange(influences.vertex_count)[rows], bones] = values
    return weights


def helpers_of_pairs(
    weights: NDArray[np.floating],
    rest: NDArray[np.floating],
    poses: Sequence[Pose],
    skeleton: Skeleton,
    pairs: NDArray[np.integer],
    options: FitOptions,
) -> list[Helper]:
    """The helpers that pairs need.

    Linear blending of two bones goes along the chord of an arc. In the middle it misses the arc by
    e; with h helpers the chords are shorter and it misses by about e / (h + 1)^2.

    Args:
        weights: shape (n, B), of the bones.
        pairs: shape (J, 2).

    Returns:
        those of a pair together.
    """
    middles = [Helper(int(parent), int(child), 0.5) for parent, child in pairs]
    missed = np.zeros(len(pairs))
    of_helpers = [helper_transforms(middles, pose, skeleton)[:, :3] for pose in poses]
    for place, (parent, child) in enumerate(pairs):
        one, other = weights[:, parent], weights[:, child]
        rows = np.flatnonzero((one > LEAST_WEIGHT) & (other > LEAST_WEIGHT))
        share = 4.0 * one[rows] * other[rows] / (one[rows] + other[rows])
        away = np.zeros(len(rows))
        for pose, helpers in zip(poses, of_helpers, strict=True):
            chord = pose.matrices[[parent, child], :3].mean(axis=0) - helpers[place]
            moved = rest[rows] @ chord[:, :3].T + chord[:, 3]
            away = np.maximum(away, np.einsum("ni,ni->n", moved, moved))
        missed[place] = np.max(share * np.sqrt(away), initial=0.0)
    needed = np.ceil(np.sqrt(missed / options.tolerance) - 1.0).clip(0, MOST_HELPERS).astype(int)
    found: list[Helper] = []
    for (parent, child), count in zip(pairs.tolist(), needed.tolist(), strict=True):
        number = options.helpers if options.helpers and count else count
        found += [Helper(parent, child, share) for share in SHARES.get(number, ())]
    return found


def fit_helpers(
    influences: Influences,
    skeleton: Skeleton,
    rest: NDArray[np.floating],
    poses: Sequence[Pose],
    live: NDArray[np.floating],
    pairs: NDArray[np.integer],
    *,
    options: FitOptions,
) -> Generator[float, None, HelperSkinning]:
    """Fit helpers and weights.

    Args:
        influences: of the skeleton's bones.
        rest: shape (n, 3), armature space.
        poses: P of them.
        live: shape (P, n, 3), armature space; where the vertices should be in these poses.
        pairs: shape (J, 2), the pairs of bones that may get helpers; see `shared_pairs`.

    Yields:
        how much is done, 0 to 1.

    Returns:
        the helpers that some vertex uses, and all weights.
    """
    bones = _dense(influences, skeleton.bone_count).astype(np.float64)
    helpers = helpers_of_pairs(bones, rest, poses, skeleton, pairs, options)
    matrices = np.stack(
        [
            np.concatenate((pose.matrices, helper_transforms(helpers, pose, skeleton)))[:, :3]
            for pose in poses
        ]
    )
    parents = [helper.parent for helper in helpers]
    children = [helper.child for helper in helpers]
    between = (bones[:, parents] > 0.0) & (bones[:, children] > 0.0)
    candidates = np.concatenate((bones > 0.0, between), axis=1)
    counts = np.count_nonzero(candidates, axis=1)
    most = options.most_influences or int(counts.max(initial=1))
    indices = np.zeros((len(rest), most), np.int32)
    weights = np.zeros((len(rest), most))
    done = 0
    for count in np.unique(counts[counts > 0]).tolist():
        of_count = np.flatnonzero(counts == count)
        chosen = np.nonzero(candidates[of_count])[1].reshape(len(of_count), count)
        size = max(1, _CHUNK // (count * max(count, 12)))
        for start in range(0, len(of_count), size):
            rows, ids = of_count[start : start + size], chosen[start : start + size]
            gram = _gram(matrices, ids, rest[rows], live[:, rows])
            own = np.where(ids < skeleton.bone_count, ids, 0)
            before = np.where(ids < skeleton.bone_count, bones[rows[:, None], own], 0.0)
            gram += (_PULL * options.tolerance) ** 2 * _pull(before)
            found = sparse_convex_weights(gram, np.ones(ids.shape, np.bool_), most)
            width = min(most, count)
            order = np.argsort(-found, axis=1, kind="stable")[:, :width]
            weights[rows, :width] = np.take_along_axis(found, order, axis=1)
            indices[rows, :width] = np.take_along_axis(ids, order, axis=1)
            done += len(rows)
            yield done / len(rest)
    indices[weights == 0.0] = 0
    return _without_unused(helpers, indices, weights, skeleton.bone_count)


def _gram(
    matrices: NDArray[np.floating],
    ids: NDArray[np.integer],
    rest: NDArray[np.floating],
    live: NDArray[np.floating],
) -> NDArray[np.float64]:
    """G of `convex_weights`, the mean over poses, shape (m, k, k).

    Args:
        matrices: shape (P, B + H, 3, 4).
        ids: shape (m, k), the candidates of each vertex.
        rest, live: shapes (m, 3), (P, m, 3).
    """
    gram = np.zeros((len(ids), ids.shape[1], ids.shape[1]))
    points = np.concatenate((rest, np.ones((len(rest), 1))), axis=1)[:, :, None]
    for each, wanted in zip(matrices, live, strict=True):
        away = (each.reshape(-1, 4)[_rows_of(ids)] @ points).reshape(len(ids), -1, 3)
        away -= wanted[:, None]
        gram += away @ away.transpose(0, 2, 1)
    return gram / max(len(matrices), 1)


def _rows_of(ids: NDArray[np.integer]) -> NDArray[np.integer]:
    """The three rows of each matrix among rows of all matrices: shape (m, 3 k)."""
    return (3 * ids[:, :, None] + np.arange(3)).reshape(len(ids), -1)


def _pull(before: NDArray[np.floating]) -> NDArray[np.float64]:
    """The matrix of |w - before|^2 for weights with the sum 1: shape (m, k, k)."""
    away = np.eye(before.shape[1]) - before[:, None, :]
    return away @ away.transpose(0, 2, 1)


def _without_unused(
    helpers: Sequence[Helper],
    indices: NDArray[np.int32],
    weights: NDArray[np.float64],
    bone_count: int,
) -> HelperSkinning:
    """The skinning without helpers that no vertex follows."""
    used = np.unique(indices[weights > 0.0])
    used = used[used >= bone_count]
    place = np.arange(bone_count + len(helpers), dtype=np.int32)
    place[used] = bone_count + np.arange(len(used), dtype=np.int32)
    kept = tuple(helpers[row - bone_count] for row in used.tolist())
    return HelperSkinning(kept, place[indices], weights)
