"""Fits plain linear skinning with helper bones to positions in many poses.

First each pair of bones that move the same skin gets as many helpers as it needs, of the kind that
fits best. Then each vertex gets the weights, on its own bones and on the helpers between them, that
leave the least squares of its distances in all poses. The motion of helpers is fixed, so each
vertex is a small convex problem of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from ..arrays import Booleans, Float32s, Float64s, Floats, Indices, Int32s, Integers
from ..core.helper_bones import SIDES, Helper, HelperSkinning, helper_transforms
from ..core.influences import Influences
from ..core.pose import Pose
from ..core.skeleton import Skeleton

# Convex weights by least squares, for many small problems at once: not negative, their sum 1.
#
# The weights w of a point that should be at b, from candidates a_k, minimise
#
#     |sum w_k a_k - b|^2 = w^T G w,    G_jk = (a_j - b) . (a_k - b),
#
# since the sum of w is 1. Up to their sum they are the solution u of
#
#     min 1/2 u^T G u - sum u,    u >= 0,    w = u / sum u
#
# (both have the same conditions of optimality: (G w)_k is the same number wherever w_k > 0, and not
# smaller elsewhere). That is a problem of non-negative least squares; the active set method is
# Lawson and Hanson's (1974) on the matrix G, as Bro and de Jong (1997) do it, for all problems in
# step.

# What is added to the diagonal of G, in its mean: far below what can be seen, far above rounding.
_RIDGE = 1e-10
# How far a gradient, which is 1 where a candidate would be at b, may be above 0 at the end.
_TOLERANCE = 1e-9
# In steps of the method for each candidate: three are many.
_MOST_STEPS = 10


def convex_weights(gram: Floats, allowed: Booleans | None = None) -> Float64s:
    """The weights of n problems that minimise w^T G w.

    Args:
        gram: shape (n, k, k), the matrices G, symmetric and not negative.
        allowed: shape (n, k), the candidates that may have a weight, at least one of each problem;
            None: all of them.

    Returns:
        shape (n, k), not negative, rows with the sum 1.
    """
    count, width = gram.shape[:2]
    if allowed is None:
        allowed = np.ones((count, width), np.bool_)
    diagonal = np.einsum("nkk->nk", gram)
    mean = np.where(allowed, diagonal, 0.0).sum(axis=1) / np.maximum(allowed.sum(axis=1), 1)
    scale = np.where(mean > 0.0, mean, 1.0)
    matrices = gram / scale[:, None, None] + _RIDGE * np.eye(width)
    solution = np.zeros((count, width))
    passive = np.zeros((count, width), np.bool_)
    rows = np.arange(count)
    for _ in range(_MOST_STEPS * width):
        gradient = 1.0 - np.einsum("njk,nk->nj", matrices[rows], solution[rows])
        gradient[passive[rows] | ~allowed[rows]] = -np.inf
        best = gradient.argmax(axis=1)
        rises = gradient[np.arange(len(rows)), best] > _TOLERANCE
        rows, best = rows[rises], best[rises]
        if not len(rows):
            break
        passive[rows, best] = True
        _settle(matrices, solution, passive, rows)
    return solution / solution.sum(axis=1, keepdims=True)


def _settle(matrices: Float64s, solution: Float64s, passive: Booleans, rows: Indices) -> None:
    """Solve for the passive candidates; candidates with a weight below 0 leave. In place."""
    while len(rows):
        found = _solved(matrices[rows], passive[rows])
        below = passive[rows] & (found <= 0.0)
        stuck = below.any(axis=1)
        solution[rows[~stuck]] = found[~stuck]
        rows, found, below = rows[stuck], found[stuck], below[stuck]
        old = solution[rows]
        steps = np.where(below, old / np.where(below, old - found, 1.0), np.inf)
        least = steps.min(axis=1, keepdims=True)
        passive[rows] &= ~(below & (steps <= least))
        solution[rows] = np.where(passive[rows], old + least * (found - old), 0.0)


def _solved(matrices: Float64s, passive: Booleans) -> Float64s:
    """Solutions of G u = 1 within the passive candidates, 0 elsewhere: shape (m, k)."""
    both = passive[:, :, None] & passive[:, None, :]
    systems = np.where(both, matrices, 0.0)
    diagonal = np.einsum("nkk->nk", systems)
    diagonal += ~passive
    return np.linalg.solve(systems, passive[:, :, None].astype(np.float64))[:, :, 0]


def sparse_convex_weights(gram: Floats, most: int) -> Float64s:
    """Convex weights of which at most so many are not 0 in each problem.

    Candidates leave one by one: the one without which the rest, weights free, does worst the least.

    Args:
        gram: of `convex_weights`.
        most: the largest number; 0 for any.
    """
    weights = convex_weights(gram)
    rows = np.arange(len(weights))
    while most:
        rows = rows[np.count_nonzero(weights[rows], axis=1) > most]
        if not len(rows):
            break
        used = weights[rows] > 0.0
        used[np.arange(len(rows)), _losses(gram[rows], weights[rows]).argmin(axis=1)] = False
        weights[rows] = convex_weights(gram[rows], used)
    return weights


def _losses(gram: Floats, weights: Float64s) -> Float64s:
    """Shape (n, k): by how much the loss of a candidate raises the error at least; inf if unused.

    With the other weights free, positive or not, it is w^2 / (G^-1)_kk.
    """
    used = weights > 0.0
    both = used[:, :, None] & used[:, None, :]
    mean = np.einsum("nkk->n", gram) / gram.shape[1]
    systems = np.where(both, gram, 0.0)
    diagonal = np.einsum("nkk->nk", systems)
    diagonal += np.where(used, 1e-9 * np.maximum(mean, 1e-30)[:, None], 1.0)
    inverse = np.einsum("nkk->nk", np.linalg.inv(systems))
    return np.where(used, weights**2 / np.maximum(inverse, 1e-300), np.inf)


# The weights of vertices on bones and helpers that fit positions in many poses best.


def _fitted_weights(
    matrices: Floats,
    candidates: Integers,
    rest: Floats,
    live: Floats,
    pose_weights: Floats,
    *,
    before: Floats,
    pull: float,
    most: int,
) -> Float64s:
    """Weights of the least squares of distances in all poses.

    Args:
        matrices: shape (P, M, 3, 4), skinning matrices of everything that can move a vertex.
        candidates: shape (m, k), what may move each vertex, rows of the matrices.
        rest, live: shapes (m, 3), (P, m, 3); where vertices are and where they should go.
        pose_weights: shape (P,).
        before: shape (m, k), weights near which they stay where the poses do not decide.
        pull: metres; what a weight that is 1 off costs.
        most: the largest number of weights of a vertex; 0 for any.

    Returns:
        shape (m, k), not negative, with the sum 1.
    """
    gram = _gram_matrices(matrices, candidates, rest, live, pose_weights)
    return sparse_convex_weights(gram + _pulled(before, pull), most)


def _gram_matrices(
    matrices: Floats, candidates: Integers, rest: Floats, live: Floats, pose_weights: Floats
) -> Float64s:
    """G of `convex_weights`, the sum over all poses, shape (m, k, k); see `_fitted_weights`."""
    count, width = candidates.shape
    gram = np.zeros((count, width, width))
    points = np.concatenate((rest, np.ones((count, 1))), axis=1)[:, :, None]
    rows = (3 * candidates[:, :, None] + np.arange(3)).reshape(count, -1)
    for each, wanted, weight in zip(matrices, live, pose_weights, strict=True):
        missed = (each.reshape(-1, 4)[rows] @ points).reshape(count, width, 3)
        missed -= wanted[:, None]
        gram += weight * (missed @ missed.transpose(0, 2, 1))
    return gram


def _pulled(before: Floats, pull: float) -> Float64s:
    """What G gains to keep weights, whose sum is 1, near others: pull^2 |w - before|^2."""
    away = np.eye(before.shape[1]) - before[:, None, :]
    return pull**2 * (away @ away.transpose(0, 2, 1))


# Which helpers a pair of bones gets: how many, and how they move.

MOST_HELPERS = 4

HelperKind = Literal["RIGID", "ROUND", "LIMB"]
"""How the helpers of a pair move, apart from those of one side.

RIGID: as the blend of the two bones. ROUND: they grow, so that the chords between them are outside
of the arc as often as inside. LIMB: they also shrink, and turn about points of the two limbs, as
skin does that keeps its distance from a limb.
"""
_KINDS: tuple[HelperKind, ...] = get_args(HelperKind)


@dataclass(frozen=True)
class Motion:
    """The motion of one helper; see `core.helper_bones.Helper`.

    Attributes:
        reach: how far its anchor is from the joint, in radii of the limb, along the limb of the
            bone whose share is larger; 0: no anchor.
    """

    share: float
    growth: float = 0.0
    shrink: float = 0.0
    reach: float = 0.0


def _mirrored(*motions: Motion) -> tuple[Motion, ...]:
    """Those of the parent's side, then the same of the child's side; one in the middle once."""
    other = (replace(each, share=1.0 - each.share) for each in motions[::-1] if each.share != 0.5)
    return (*motions, *other)


# Found by search, with the best weights for each trial: ROUND on a cylinder that dual quaternions
# deform, LIMB with the compensation MEASURED; bent by -40 to 120 degrees, twisted by up to 90, and
# both at once. The first keys are the numbers of helpers.
_MOTIONS: dict[HelperKind, dict[int, tuple[Motion, ...]]] = {
    "RIGID": {
        1: _mirrored(Motion(0.5)),
        2: _mirrored(Motion(0.32)),
        3: _mirrored(Motion(0.24), Motion(0.5)),
        4: _mirrored(Motion(0.19), Motion(0.4)),
    },
    "ROUND": {
        1: _mirrored(Motion(0.5, 0.81)),
        2: _mirrored(Motion(0.295, 0.236)),
        3: _mirrored(Motion(0.205, 0.125), Motion(0.5, 0.111)),
        4: _mirrored(Motion(0.161, 0.07), Motion(0.392, 0.066)),
    },
    "LIMB": {
        1: _mirrored(Motion(0.5, 0.651, 0.174)),
        2: _mirrored(Motion(0.307, 0.375, 0.177, 0.095)),
        3: _mirrored(Motion(0.11, 0.39, 0.442, 0.527), Motion(0.5, 0.507, -0.108)),
        4: _mirrored(Motion(0.126, 0.657, 0.933, 0.746), Motion(0.304, 0.249, 0.028)),
    },
}

# Weights below this do not make a vertex one of a pair.
LEAST_WEIGHT = 0.02
# So many vertices of a pair count for the number of its helpers.
_NEARLY_ALL = 0.9
# Helpers on either side are not equally far from the joint: Blender's FBX importer ends a bone in
# the middle of its children, and connects one that starts there, which then loses its location.
_BESIDE = 1e-3
# Helpers are tried on vertices that follow the two bones nearly alone, on so many of them and in so
# many poses.
_ALONE = 0.98
_LEAST_TRIED, _MOST_TRIED = 24, 120
_MOST_POSES = 24
# Skin that keeps its distance from the limbs does so on the outer side of a bend alone, in
# proportion to the bend. So beside either limb there may be helpers that a bend to one side
# narrows, by this part for each radian.
_NARROWING, _NARROW_SHARE = 0.4, 0.1
# Where the swing of a limb takes its skin along chords, helpers that go with either bone have these
# parts of its twist.
_TWISTS = (1.0 / 3.0, 2.0 / 3.0)
# These are taken where, with as few as leave not much more than all of them would, they leave less
# than this part of what the others leave alone.
_NOT_MUCH_MORE, _BETTER = 1.05, 0.98
_ABOUT = 1.05


@dataclass(frozen=True, eq=False)
class Fitting:
    """The skin before, the poses that it should have, and the limits of the fit.

    Attributes:
        skeleton: its bones, with axes and tails of limbs.
        weights: shape (n, B), of the bones, before.
        rest: shape (n, 3), armature space.
        poses: P of them, at least one.
        live: shape (P, n, 3), armature space; where the vertices should be in these poses.
        pose_weights: shape (P,), how much each pose counts.
        balls: the bones whose swing takes skin along chords and whose twist takes it on arcs.
        most: influences of a vertex; 0 for any number.
        pull: metres; see `_fitted_weights`.
        pieces: shape (n,), the rigid piece of each vertex, -1 for none; None: there are none. All
            vertices of a piece get the same weights.
    """

    skeleton: Skeleton
    weights: Floats
    rest: Floats
    poses: Sequence[Pose]
    live: Floats
    pose_weights: Floats
    balls: Collection[int]
    most: int
    pull: float
    pieces: Integers | None = None

    def vertices_of(self, parent: int, child: int) -> Indices:
        """The vertices that both bones move."""
        both = np.minimum(self.weights[:, parent], self.weights[:, child])
        return np.flatnonzero(both > LEAST_WEIGHT)


def _chord_errors(fitting: Fitting, pairs: Integers) -> Float64s:
    """By how much linear blending misses the arc of dual quaternions at each pair.

    Of the two bones, in the middle between them, scaled to what the weights of each vertex make of
    it: 4 w1 w2 / (w1 + w2); but not more than linear blending of all its bones is off. Root mean
    square over the poses; nine of ten vertices of the pair are off by less.

    Args:
        pairs: shape (J, 2), parents and children.

    Returns:
        shape (J,), metres.
    """
    middles = [Helper(int(parent), int(child), 0.5) for parent, child in pairs]
    of_helpers = [helper_transforms(middles, pose, fitting.skeleton) for pose in fitting.poses]
    most = _linear_errors(fitting)
    missed = np.zeros(len(pairs))
    for place, (parent, child) in enumerate(pairs.tolist()):
        rows = fitting.vertices_of(parent, child)
        one, other = fitting.weights[rows, parent], fitting.weights[rows, child]
        squares = np.zeros(len(rows))
        every = zip(fitting.poses, of_helpers, fitting.pose_weights, strict=True)
        for pose, helpers, pose_weight in every:
            chord = pose.matrices[[parent, child], :3].mean(axis=0) - helpers[place, :3]
            away = fitting.rest[rows] @ chord[:, :3].T + chord[:, 3]
            squares += pose_weight * np.einsum("ni,ni->n", away, away)
        if len(rows):
            misses = 4.0 * one * other / (one + other) * np.sqrt(squares)
            missed[place] = np.quantile(np.minimum(misses, most[rows]), _NEARLY_ALL)
    return missed


def _linear_errors(fitting: Fitting) -> Float64s:
    """How far linear blending is off at each vertex, root mean square over the poses: (n,)."""
    bones = fitting.skeleton.bone_count
    squares = np.zeros(len(fitting.rest))
    for pose, live, weight in zip(fitting.poses, fitting.live, fitting.pose_weights, strict=True):
        blended = (fitting.weights @ pose.matrices[:bones, :3].reshape(bones, 12)).reshape(-1, 3, 4)
        away = np.einsum("nij,nj->ni", blended[:, :, :3], fitting.rest) + blended[:, :, 3] - live
        squares += weight * np.einsum("ni,ni->n", away, away)
    return np.sqrt(squares)


def _helpers_of_pair(
    fitting: Fitting,
    parent: int,
    child: int,
    number: int,
    *,
    tolerance: float = 0.0,
    exactly: bool = False,
) -> list[Helper]:
    """The helpers of a pair with the best fit to the vertices of these two bones.

    Args:
        number: of helpers, 1 to 4, besides those that one side narrows and those that twist.
        tolerance: metres; what need not be fitted any better.
        exactly: whether these are among the number. With few there are none.
    """
    rigid = _made("RIGID", number, fitting, parent, child, 0.0)
    rows = fitting.vertices_of(parent, child)
    weights = fitting.weights[rows]
    rows = rows[weights[:, parent] + weights[:, child] > _ALONE]
    if len(rows) < _LEAST_TRIED:
        return rigid
    tried = rows[np.linspace(0, len(rows) - 1, min(len(rows), _MOST_TRIED)).astype(np.intp)]
    # The median distance from the axis of the child.
    axis = fitting.skeleton.limb_directions()[child]
    from_joint = fitting.rest[rows] - fitting.skeleton.heads[child]
    across = from_joint - (from_joint @ axis)[:, None] * axis
    radius = float(np.median(np.linalg.norm(across, axis=1)))
    sets = [rigid, *(_made(kind, number, fitting, parent, child, radius) for kind in _KINDS[1:])]
    special = [
        Helper(parent, child, share, narrowing=_NARROWING, side=side)
        for share in (_NARROW_SHARE, 1.0 - _NARROW_SHARE)
        for side in SIDES
    ]
    if child in fitting.balls:
        for part in _TWISTS:
            special.append(Helper(parent, child, 0.0, twisting=part))
            special.append(Helper(parent, child, 1.0, twisting=part - 1.0))
    trial = _Trial.of(fitting, tried, [helper for some in (*sets, special) for helper in some])
    places = np.arange(number * len(sets)).reshape(len(sets), number).tolist()
    left = [trial.left(each) for each in places]
    # The simplest of those that leave about the same.
    enough = [each <= _ABOUT * min(left) for each in left].index(True)
    best, least = places[enough], left[enough]
    if least > tolerance and (number == MOST_HELPERS or not exactly):
        sided = range(number * len(sets), len(trial.helpers))
        every = [*places[_KINDS.index("ROUND")], *sided]
        fewer, left_by_fewer = trial.pruned(every, tolerance, number if exactly else 0)
        if left_by_fewer < _BETTER * least:
            best = fewer
    return [trial.helpers[place] for place in best]


@dataclass(frozen=True, eq=False)
class _Trial:
    """What the best weights on two bones and some of these K helpers leave at m vertices.

    Attributes:
        gram, pulled: shape (m, 2 + K, 2 + K); see `_gram_matrices` and `_pulled`.
        most: influences of a vertex; 0 for any number.
    """

    helpers: Sequence[Helper]
    gram: Float64s
    pulled: Float64s
    most: int

    @classmethod
    def of(cls, fitting: Fitting, rows: Indices, helpers: Sequence[Helper]) -> _Trial:
        """Of vertices, in some of the poses."""
        count = len(fitting.poses)
        chosen = np.unique(np.linspace(0, count - 1, min(count, _MOST_POSES)).astype(np.intp))
        pair = [helpers[0].parent, helpers[0].child]
        poses = [fitting.poses[place] for place in chosen.tolist()]
        matrices = _moving_matrices(pair, helpers, poses, fitting.skeleton)
        candidates = np.tile(np.arange(matrices.shape[1]), (len(rows), 1))
        before = np.zeros(candidates.shape)
        before[:, :2] = fitting.weights[rows[:, None], pair]
        before /= before.sum(axis=1, keepdims=True)
        live = fitting.live[np.ix_(chosen, rows)]
        weights = fitting.pose_weights[chosen]
        weights = weights * (fitting.pose_weights.sum() / weights.sum())
        gram = _gram_matrices(matrices, candidates, fitting.rest[rows], live, weights)
        return cls(helpers, gram, gram + _pulled(before, fitting.pull), fitting.most)

    def left(self, places: Sequence[int]) -> float:
        """The error that these helpers leave, metres.

        The fourth root of the mean fourth power of the vertices' errors: the worst ones decide.
        """
        return self._solved(places)[1]

    def pruned(
        self, places: Sequence[int], tolerance: float, number: int
    ) -> tuple[list[int], float]:
        """As few of these helpers as leave not much more than all, and what they leave.

        Args:
            tolerance: metres, what they may leave.
            number: of helpers that are to be left; 0: as few as the tolerance needs.
        """
        found = list(places)
        worth, left = self._solved(found)
        most = max(tolerance, _NOT_MUCH_MORE * left)
        while len(found) > max(number, 1):
            fewer = np.delete(found, worth.argmin()).tolist()
            next_worth, next_left = self._solved(fewer)
            if not number and next_left > most:
                break
            found, worth, left = fewer, next_worth, next_left
        return found, left

    def _solved(self, places: Sequence[int]) -> tuple[Float64s, float]:
        """By how much the loss of each helper would raise the error about, and the error."""
        rows = np.array([0, 1, *(2 + place for place in places)])
        within = np.ix_(range(len(self.gram)), rows, rows)
        weights = sparse_convex_weights(self.pulled[within], self.most)
        squares = np.einsum("nj,njk,nk->n", weights, self.gram[within], weights)
        raised = _losses(self.pulled[within], weights)[:, 2:]
        raised = np.where(np.isfinite(raised), raised, 0.0)
        worth = ((squares[:, None] + raised) ** 2).sum(axis=0)
        return worth, float((squares**2).mean() ** 0.25)


def _moving_matrices(
    bones: Sequence[int] | slice,
    helpers: Sequence[Helper],
    poses: Sequence[Pose],
    skeleton: Skeleton,
) -> Float64s:
    """The skinning matrices of bones, then of helpers, in P poses: shape (P, M, 3, 4)."""
    found = []
    for pose in poses:
        of_helpers = helper_transforms(helpers, pose, skeleton)
        found.append(np.concatenate((pose.matrices[bones], of_helpers))[:, :3])
    return np.stack(found)


def _made(
    kind: HelperKind, number: int, fitting: Fitting, parent: int, child: int, radius: float
) -> list[Helper]:
    """The helpers of a kind.

    Args:
        radius: of the limb, metres.
    """
    skeleton = fitting.skeleton
    found = []
    for motion in _MOTIONS[kind][number]:
        anchor, along = -1, 0.0
        if motion.reach:
            anchor = parent if motion.share < 0.5 else child
            axis = skeleton.tails[anchor] - skeleton.heads[anchor]
            length = float(np.linalg.norm(axis))
            joint = float((skeleton.heads[child] - skeleton.heads[anchor]) @ axis) / length**2
            reach = motion.reach * radius / length
            along = joint - reach if anchor == parent else reach + _BESIDE
            along = min(max(along, 0.0), 1.0)
        found.append(
            Helper(parent, child, motion.share, motion.growth, motion.shrink, anchor, along)
        )
    return found


# Pairs with fewer vertices get no helper.
_LEAST_VERTICES = 8
# What a weight that is 1 off costs, in tolerances.
_PULL = 0.02
# So many numbers of a chunk of vertices are worked on at a time.
_CHUNK = 2_000_000
# How much of the work it is to choose the helpers.
_CHOOSING = 0.4


@dataclass(frozen=True, eq=False)
class FitOptions:
    """The limits of a fit, and what counts in it.

    Attributes:
        helpers: of each pair that needs any, 1 to 4; 0: as few as the tolerance needs.
        most_influences: of a vertex, helpers included; 0: any number.
        tolerance: above 0, metres of the armature's space, root mean square over the poses; pairs
            whose linear blending is off by less get no helper.
        pieces: shape (n,), of `Fitting`.
        pose_weights: shape (P,), how much each pose counts; None: alike, with the sum 1.
    """

    helpers: int = 0
    most_influences: int = 4
    tolerance: float = 0.0005
    pieces: Integers | None = None
    pose_weights: Floats | None = None


def shared_pairs(influences: Influences, skeleton: Skeleton) -> Int32s:
    """The pairs of bones that move the same skin.

    Returns:
        shape (J, 2), parent and child: the ancestor first; of unrelated bones the one that comes
        first in the skeleton.
    """
    follows = (_dense(influences, skeleton.bone_count) > LEAST_WEIGHT).astype(np.float32)
    together = follows.T @ follows
    first, second = np.nonzero(np.triu(together, 1) >= _LEAST_VERTICES)
    # Ancestors come first in a skeleton.
    return np.stack((first, second), axis=1).astype(np.int32)


def _dense(influences: Influences, bone_count: int) -> Float32s:
    """The weights of all bones on each vertex, shape (n, B)."""
    weights = np.zeros((influences.vertex_count, bone_count), np.float32)
    for rows, bones, values in influences.slots():
        weights[np.arange(influences.vertex_count)[rows], bones] = values
    return weights


def fit_helpers(
    influences: Influences,
    skeleton: Skeleton,
    rest: Floats,
    poses: Sequence[Pose],
    live: Floats,
    pairs: Integers,
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
    pose_weights = options.pose_weights
    if pose_weights is None:
        pose_weights = np.full(len(poses), 1.0 / len(poses))
    pieces = options.pieces
    fitting = Fitting(skeleton, bones, rest, poses, live, pose_weights, balls, most, pull, pieces)
    needed = np.ceil(np.sqrt(_chord_errors(fitting, pairs) / options.tolerance) - 1.0)
    counts = needed.clip(0, MOST_HELPERS).astype(int)
    helpers: list[Helper] = []
    for place, ((parent, child), count) in enumerate(
        zip(pairs.tolist(), counts.tolist(), strict=True)
    ):
        if count:
            helpers += _helpers_of_pair(
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
) -> Generator[float, None, tuple[Int32s, Float64s]]:
    """Indices and weights of `HelperSkinning`, for all helpers."""
    bones, count = fitting.weights, fitting.skeleton.bone_count
    matrices = _moving_matrices(slice(count), helpers, fitting.poses, fitting.skeleton)
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
            found = _fitted_weights(
                matrices,
                ids,
                fitting.rest[rows],
                fitting.live[:, rows],
                fitting.pose_weights,
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
    for piece in _blended_pieces(fitting):
        ids = np.flatnonzero(candidates[piece[0]])
        gram = _gram_matrices(
            matrices,
            np.tile(ids, (len(piece), 1)),
            fitting.rest[piece],
            fitting.live[:, piece],
            fitting.pose_weights,
        ).mean(axis=0, keepdims=True)
        before = np.where(ids < count, bones[piece[0], np.minimum(ids, count - 1)], 0.0)
        found = sparse_convex_weights(gram + _pulled(before[None], fitting.pull), most)[0]
        order = np.argsort(-found, kind="stable")[:most]
        indices[piece, : len(order)], weights[piece, : len(order)] = ids[order], found[order]
    indices[weights == 0.0] = 0
    return indices, weights


def _blended_pieces(fitting: Fitting) -> list[Indices]:
    """The vertices of each rigid piece that several bones move."""
    if fitting.pieces is None:
        return []
    several = np.count_nonzero(fitting.weights, axis=1) > 1
    rows = np.flatnonzero(several & (fitting.pieces >= 0))
    rows = rows[np.argsort(fitting.pieces[rows], kind="stable")]
    ends = np.flatnonzero(np.diff(fitting.pieces[rows])) + 1
    return [piece for piece in np.split(rows, ends) if len(piece)]


def _without_unused(
    helpers: Sequence[Helper], indices: Int32s, weights: Float64s, bone_count: int
) -> HelperSkinning:
    """The skinning without helpers that no vertex follows."""
    used = np.unique(indices[weights > 0.0])
    used = used[used >= bone_count]
    place = np.arange(bone_count + len(helpers), dtype=np.int32)
    place[used] = bone_count + np.arange(len(used), dtype=np.int32)
    kept = tuple(helpers[row - bone_count] for row in used.tolist())
    return HelperSkinning(kept, place[indices], weights)
