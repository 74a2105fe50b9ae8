"""Fits plain linear skinning with helper bones to positions in many poses.

First each pair of bones that move the same skin gets as many helpers as it needs, of the kind that
fits best. Then each vertex gets the weights, on its own bones and on the helpers between them, that
leave the least squares of its distances in all poses. The motion of helpers is fixed, so each
vertex is a small convex problem of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.helper_bones import Helper, HelperSkinning
from ...core.influences import Influences
from ...core.pose import Pose
from ...core.skeleton import Skeleton
from .helper_kinds import (
    LEAST_WEIGHT,
    MOST_HELPERS,
    Fitting,
    chord_errors,
    helpers_of_pair,
    moving_matrices,
)
from .helper_weights import fitted_weights

# Pairs with fewer vertices get no helper.
LEAST_VERTICES = 8
# What a weight that is 1 off costs, in tolerances.
_PULL = 0.02
# So many numbers of a chunk of vertices are worked on at a time.
_CHUNK = 2_000_000
# How much of the work it is to choose the helpers.
_CHOOSING = 0.4


@dataclass(frozen=True)
class FitOptions:
    """The limits of a fit.

    Attributes:
        helpers: of each pair that needs any, 1 to 4; 0: as few as the tolerance needs.
        most_influences: of a vertex, helpers included; 0: any number.
        tolerance: above 0, metres of the armature's space, root mean square over the poses; pairs
            whose linear blending is off by less get no helper.
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
    follows = (_dense(influences, skeleton.bone_count) > LEAST_WEIGHT).astype(np.float32)
    together = follows.T @ follows
    first, second = np.nonzero(np.triu(together, 1) >= LEAST_VERTICES)
    # Ancestors come first in a skeleton.
    return np.stack((first, second), axis=1).astype(np.int32)


def _dense(influences: Influences, bone_count: int) -> NDArray[np.float32]:
    """The weights of all bones on each vertex, shape (n, B)."""
    weights = np.zeros((influences.vertex_count, bone_count), np.float32)
    for rows, bones, values in influences.slots():
        weights[np.arange(influences.vertex_count)[rows], bones] = values
    return weights


def fit_helpers(
    influences: Influences,
    skeleton: Skeleton,
    rest: NDArray[np.floating],
    poses: Sequence[Pose],
    live: NDArray[np.floating],
    pairs: NDArray[np.integer],
    *,
    balls: Collection[int] = (),
    options: FitOptions,
) -> Generator[float, None, HelperSkinning]:
    """Fit helpers and weights.

    Linear blending of two bones goes along the chord of an arc. In the middle it misses the arc by
    e; with h helpers the chords are shorter and it misses by about e / (h + 1)^2. That says how
    many helpers a pair needs.

    Args:
        influences: of the skeleton's bones.
        rest: shape (n, 3), armature space.
        poses: P of them, at least one.
        live: shape (P, n, 3), armature space; where the vertices should be in these poses.
        pairs: shape (J, 2), the pairs of bones that may get helpers; see `shared_pairs`.
        balls: the bones whose swing takes skin along chords and whose twist takes it on arcs.

    Yields:
        how much is done, 0 to 1.

    Returns:
        the helpers that some vertex uses, and all weights.
    """
    bones = _dense(influences, skeleton.bone_count).astype(np.float64)
    pull = _PULL * options.tolerance
    most = options.most_influences
    fitting = Fitting(skeleton, bones, rest, poses, live, balls, most, pull)
    needed = np.ceil(np.sqrt(chord_errors(fitting, pairs) / options.tolerance) - 1.0)
    counts = needed.clip(0, MOST_HELPERS).astype(int)
    helpers: list[Helper] = []
    for place, ((parent, child), count) in enumerate(
        zip(pairs.tolist(), counts.tolist(), strict=True)
    ):
        if count:
            helpers += helpers_of_pair(
                fitting,
                parent,
                child,
                options.helpers or count,
                tolerance=options.tolerance,
                exactly=options.helpers > 0,
            )
        yield _CHOOSING * place / len(pairs)
    done = yield from _fit_weights(fitting, helpers)
    return _without_unused(helpers, *done, skeleton.bone_count)


def _fit_weights(
    fitting: Fitting, helpers: Sequence[Helper]
) -> Generator[float, None, tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Indices and weights of `HelperSkinning`, for all helpers."""
    bones, count = fitting.weights, fitting.skeleton.bone_count
    matrices = moving_matrices(slice(count), helpers, fitting.poses, fitting.skeleton)
    parents = [helper.parent for helper in helpers]
    children = [helper.child for helper in helpers]
    between = (bones[:, parents] > 0.0) & (bones[:, children] > 0.0)
    candidates = np.concatenate((bones > 0.0, between), axis=1)
    numbers = np.count_nonzero(candidates, axis=1)
    most = fitting.most or int(numbers.max(initial=1))
    indices = np.zeros((len(bones), most), np.int32)
    weights = np.zeros((len(bones), most))
    done = 0
    for number in np.unique(numbers[numbers > 0]).tolist():
        of_number = np.flatnonzero(numbers == number)
        chosen = np.nonzero(candidates[of_number])[1].reshape(len(of_number), number)
        size = max(1, _CHUNK // (number * max(number, 12)))
        for start in range(0, len(of_number), size):
            rows, ids = of_number[start : start + size], chosen[start : start + size]
            own = ids < count
            before = np.where(own, bones[rows[:, None], np.where(own, ids, 0)], 0.0)
            found = fitted_weights(
                matrices,
                ids,
                fitting.rest[rows],
                fitting.live[:, rows],
                before=before,
                pull=fitting.pull,
                most=most,
            )
            width = min(most, number)
            order = np.argsort(-found, axis=1, kind="stable")[:, :width]
            weights[rows, :width] = np.take_along_axis(found, order, axis=1)
            indices[rows, :width] = np.take_along_axis(ids, order, axis=1)
            done += len(rows)
            yield _CHOOSING + (1.0 - _CHOOSING) * done / len(bones)
    indices[weights == 0.0] = 0
    return indices, weights


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
