"""The mathematics that fits plain linear skinning with helper bones to positions in many poses.

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

from ...analysis.convex_weights import (
    fitted_weights,
    gram_matrices,
    losses,
    pulled_matrices,
    sparse_convex_weights,
)
from ...analysis.ranges_of_motion import LEAST_WEIGHT
from ...arrays import Booleans, Float64s, Floats, Indices, Int32s, Integers
from ...core.influences import Influences
from ...core.pose import Pose
from ...core.skeleton import Skeleton
from ...steps import part_of
from ..correctives.key_budget import Spending
from .helper_bones import SIDES, Helper, HelperSkinning, Side, helper_transforms
from .helper_budget import Candidates, within_budget

_MOST_HELPERS = 4

HelperKind = Literal["RIGID", "ROUND", "LIMB", "BOTH"]
"""How the helpers of a pair move, apart from those of one side.

RIGID: as the blend of the two bones. ROUND: they grow, so that the chords between them are outside
of the arc as often as inside. LIMB: they also shrink, and turn about points of the two limbs, as
skin does that keeps its distance from a limb. BOTH: likewise, for bends and twists at once.
"""
_KINDS: tuple[HelperKind, ...] = get_args(HelperKind)


@dataclass(frozen=True)
class Motion:
    """The motion of one helper; see `pipeline.bones.helper_bones.Helper`.

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
# both at once. BOTH: bent to all sides by up to 120 degrees and twisted by up to 90 at once, by the
# largest errors. The first keys are the numbers of helpers.
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
    "BOTH": {
        1: _mirrored(Motion(0.5, 0.651, 0.174)),
        2: _mirrored(Motion(0.366, 0.152, 0.088, 0.045)),
        3: _mirrored(Motion(0.207, 0.007, 0.17, 0.131), Motion(0.5, 0.352, -0.059)),
        4: _mirrored(Motion(0.117, -0.012, 0.254, 0.442), Motion(0.342, 0.137, -0.01)),
    },
}

# What a weight that is 1 off costs, in tolerances.
_PULL = 0.02
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
# So many vertices say which helpers the budget is for.
_MOST_SAMPLED = 3000
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
class FitOptions:
    """The limits of a fit, and what counts in it.

    Attributes:
        helpers: of each pair that needs any, 1 to 4; 0: as few as the tolerance needs.
        most_influences: of a vertex, helpers included; 0: any number.
        tolerance: above 0, metres of the armature's space, root mean square over the poses; pairs
            whose linear blending is off by less get no helper.
        pieces: shape (n,), of `Fitting`.
        pose_weights: shape (P,), how much each pose counts; None: alike, with the sum 1.
        mirrored: shape (B,), the other side's bone of each, itself where there is none; None: of
            all. What one side gets the other one does, too.
        budget: how many helpers there may be in all; None: any number.
    """

    helpers: int = 0
    most_influences: int = 4
    tolerance: float = 0.0005
    pieces: Integers | None = None
    pose_weights: Floats | None = None
    mirrored: Integers | None = None
    budget: int | None = None


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
        pull: metres; see `fitted_weights`.
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

    @property
    def some_poses(self) -> Indices:
        """The poses by which helpers are chosen."""
        return _spread(len(self.poses), _MOST_POSES)

    def counts_in(self, chosen: Indices) -> Float64s:
        """How much some poses count, as much as all of them."""
        counts = self.pose_weights[chosen]
        return counts * (self.pose_weights.sum() / counts.sum())

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


def _helpers_of_pairs(
    fitting: Fitting,
    pairs: Sequence[tuple[int, int]],
    number: int,
    mirrored: Integers,
    *,
    tolerance: float = 0.0,
    exactly: bool = False,
) -> list[list[Helper]]:
    """The helpers of a pair, or of it and its mirror image, with the best fit to their vertices.

    Args:
        pairs: one or two.
        number: of helpers of each, 1 to 4, besides those that one side narrows and that twist.
        mirrored: of `FitOptions`.
        tolerance: metres; what need not be fitted any better.
        exactly: whether these are among the number. With few there are none.

    Returns:
        for each pair as many, in the same order.
    """
    rows, radii = zip(*(_own_vertices(fitting, *pair) for pair in pairs), strict=True)
    rigid = [_made("RIGID", number, fitting, *pair, 0.0) for pair in pairs]
    if min(map(len, rows)) < _LEAST_TRIED:
        return rigid
    every: list[list[Helper]] = []
    for pair, radius, first in zip(pairs, radii, rigid, strict=True):
        every.append([*first])
        for kind in _KINDS[1:]:
            every[-1] += _made(kind, number, fitting, *pair, radius)
    every[0] += _special(fitting, *pairs[0])
    for other in every[1:]:
        other += [
            mirror_image(each, mirrored, fitting.skeleton)
            for each in every[0][len(_KINDS) * number :]
        ]
    tried = [each[_spread(len(each), _MOST_TRIED)] for each in rows]
    trials = [_Trial.of(fitting, *each) for each in zip(tried, every, strict=True)]
    trial = _Trial.together(trials)
    places = np.arange(number * len(_KINDS)).reshape(len(_KINDS), number).tolist()
    left = [trial.left(each) for each in places]
    # The simplest of those that leave about the same.
    enough = [each <= _ABOUT * min(left) for each in left].index(True)
    best, least = places[enough], left[enough]
    if least > tolerance and (number == _MOST_HELPERS or not exactly):
        sided = range(number * len(_KINDS), len(every[0]))
        some = [*places[_KINDS.index("ROUND")], *sided]
        fewer, left_by_fewer = trial.pruned(some, tolerance, number if exactly else 0)
        if left_by_fewer < _BETTER * least:
            best = fewer
    return [[helpers[place] for place in best] for helpers in every]


def _own_vertices(fitting: Fitting, parent: int, child: int) -> tuple[Indices, float]:
    """The vertices that follow a pair nearly alone; their median distance from the child's axis."""
    rows = fitting.vertices_of(parent, child)
    weights = fitting.weights[rows]
    rows = rows[weights[:, parent] + weights[:, child] > _ALONE]
    axis = fitting.skeleton.limb_directions()[child]
    from_joint = fitting.rest[rows] - fitting.skeleton.heads[child]
    across = from_joint - (from_joint @ axis)[:, None] * axis
    return rows, float(np.median(np.linalg.norm(across, axis=1))) if len(rows) else 0.0


def _special(fitting: Fitting, parent: int, child: int) -> list[Helper]:
    """The helpers of a pair narrowed from one side, and the twisting ones."""
    found = [
        Helper(parent, child, share, narrowing=_NARROWING, side=side)
        for share in (_NARROW_SHARE, 1.0 - _NARROW_SHARE)
        for side in SIDES
    ]
    if child in fitting.balls:
        for part in _TWISTS:
            found.append(Helper(parent, child, 0.0, twisting=part))
            found.append(Helper(parent, child, 1.0, twisting=part - 1.0))
    return found


def mirror_image(helper: Helper, mirrored: Integers, skeleton: Skeleton) -> Helper:
    """The other side's helper: of its bones, at X = 0 of the armature."""
    parent, child = int(mirrored[helper.parent]), int(mirrored[helper.child])
    anchor = int(mirrored[helper.anchor]) if helper.anchor >= 0 else -1
    side = helper.side
    if side:
        # An axis about which something turns: its part along the mirrored one stays.
        axis = skeleton.rest[helper.child, :3, "XYZ".index(side[-1])] * (1.0, -1.0, -1.0)
        along = skeleton.rest[child, :3, :3].T @ axis * (-1.0 if side[0] == "-" else 1.0)
        x, _, z = along.tolist()
        nearest: dict[Side, float] = {"X": x, "-X": -x, "Z": z, "-Z": -z}
        side = max(nearest, key=lambda each: nearest[each])
    return replace(helper, parent=parent, child=child, anchor=anchor, side=side)


def _spread(count: int, most: int) -> Indices:
    """At most so many of a number of places, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))


@dataclass(frozen=True, eq=False)
class _Trial:
    """What the best weights on two bones and some of these K helpers leave at m vertices.

    Attributes:
        gram, pulled: shape (m, 2 + K, 2 + K); see `gram_matrices` and `pulled_matrices`.
        most: influences of a vertex; 0 for any number.
    """

    helpers: Sequence[Helper]
    gram: Float64s
    pulled: Float64s
    most: int

    @classmethod
    def of(cls, fitting: Fitting, rows: Indices, helpers: Sequence[Helper]) -> _Trial:
        """Of vertices, in some of the poses."""
        chosen = fitting.some_poses
        pair = [helpers[0].parent, helpers[0].child]
        poses = [fitting.poses[place] for place in chosen.tolist()]
        matrices = moving_matrices(pair, helpers, poses, fitting.skeleton)
        candidates = np.tile(np.arange(matrices.shape[1]), (len(rows), 1))
        before = np.zeros(candidates.shape)
        before[:, :2] = fitting.weights[rows[:, None], pair]
        before /= before.sum(axis=1, keepdims=True)
        live = fitting.live[np.ix_(chosen, rows)]
        weights = fitting.counts_in(chosen)
        gram = gram_matrices(matrices, candidates, fitting.rest[rows], live, weights)
        return cls(helpers, gram, gram + pulled_matrices(before, fitting.pull), fitting.most)

    @classmethod
    def together(cls, trials: Sequence[_Trial]) -> _Trial:
        """The trial of several pairs with the same helpers each."""
        gram, pulled = (
            np.concatenate([getattr(trial, name) for trial in trials])
            for name in ("gram", "pulled")
        )
        return cls(trials[0].helpers, gram, pulled, trials[0].most)

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
        raised = losses(self.pulled[within], weights)[:, 2:]
        raised = np.where(np.isfinite(raised), raised, 0.0)
        worth = ((squares[:, None] + raised) ** 2).sum(axis=0)
        return worth, float((squares**2).mean() ** 0.25)


def moving_matrices(
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


# So many numbers of a chunk of vertices are worked on at a time.
_CHUNK = 2_000_000
# How much of the work it is to choose the helpers.
_CHOOSING = 0.4


@dataclass(frozen=True, eq=False)
class FittedHelpers:
    """Helpers within a budget, and what others would leave.

    Attributes:
        spending: what more and fewer helpers leave.
    """

    skinning: HelperSkinning
    spending: Spending


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
) -> Generator[float, None, FittedHelpers]:
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
    bones = influences.dense(skeleton.bone_count).astype(np.float64)
    pull, most, pieces = _PULL * options.tolerance, options.most_influences, options.pieces
    pose_weights = options.pose_weights
    if pose_weights is None:
        pose_weights = np.full(len(poses), 1.0 / len(poses))
    fitting = Fitting(skeleton, bones, rest, poses, live, pose_weights, balls, most, pull, pieces)
    mirrored = options.mirrored
    if mirrored is None:
        mirrored = np.arange(skeleton.bone_count)
    needed = np.ceil(np.sqrt(_chord_errors(fitting, pairs) / options.tolerance) - 1.0)
    known = [(int(parent), int(child)) for parent, child in pairs]
    counts = dict(zip(known, needed.clip(0, _MOST_HELPERS).astype(int).tolist(), strict=True))
    helpers: list[Helper] = []
    done: set[tuple[int, int]] = set()
    for place, pair in enumerate(known):
        image = (int(mirrored[pair[0]]), int(mirrored[pair[1]]))
        both = [pair, image] if image != pair and image in counts else [pair]
        if pair not in done and (count := max(counts[each] for each in both)):
            found = _helpers_of_pairs(
                fitting,
                both,
                options.helpers or count,
                mirrored,
                tolerance=options.tolerance,
                exactly=options.helpers > 0,
            )
            helpers += [helper for some in found for helper in some]
        done.update(both)
        yield _CHOOSING / 2.0 * place / len(pairs)
    choosing = _CHOOSING / 2.0
    images = [mirror_image(helper, mirrored, skeleton) for helper in helpers]
    sample = _sample(fitting, helpers)
    steps = within_budget(sample, helpers, images, options.budget, options.most_influences)
    kept, spending = yield from part_of(steps, choosing, choosing)
    helpers = [helpers[place] for place in kept]
    matrices = moving_matrices(slice(skeleton.bone_count), helpers, poses, skeleton)
    steps = fit_weights(fitting, candidates_of(fitting, helpers), matrices)
    indices, weights = yield from part_of(steps, _CHOOSING, 1.0 - _CHOOSING)
    skinning = _without_unused(helpers, indices, weights, skeleton.bone_count)
    return FittedHelpers(skinning, spending)


def _sample(fitting: Fitting, helpers: Sequence[Helper]) -> list[Candidates]:
    """What the helpers do for some of the vertices that may follow any, in some of the poses."""
    count, chosen = fitting.skeleton.bone_count, fitting.some_poses
    candidates = candidates_of(fitting, helpers)
    rows = np.flatnonzero(candidates[:, count:].any(axis=1))
    rows = rows[_spread(len(rows), _MOST_SAMPLED)] if len(rows) else rows
    poses = [fitting.poses[place] for place in chosen.tolist()]
    matrices = moving_matrices(slice(count), helpers, poses, fitting.skeleton)
    numbers = np.count_nonzero(candidates[rows], axis=1)
    found = []
    for number in np.unique(numbers).tolist():
        some = rows[numbers == number]
        ids = np.nonzero(candidates[some])[1].reshape(len(some), number)
        live, counts = fitting.live[np.ix_(chosen, some)], fitting.counts_in(chosen)
        gram = gram_matrices(matrices, ids, fitting.rest[some], live, counts)
        own = ids < count
        before = np.where(own, fitting.weights[some[:, None], np.where(own, ids, 0)], 0.0)
        pulled = gram + pulled_matrices(before, fitting.pull)
        found.append(Candidates(ids - count, gram, pulled))
    return found


def candidates_of(fitting: Fitting, helpers: Sequence[Helper]) -> Booleans:
    """Shape (n, B + H), what may move each vertex: its bones, and the helpers between them."""
    parents = [helper.parent for helper in helpers]
    children = [helper.child for helper in helpers]
    follows = fitting.weights > 0.0
    return np.concatenate((follows, follows[:, parents] & follows[:, children]), axis=1)


def fit_weights(
    fitting: Fitting, candidates: Booleans, matrices: Floats
) -> Generator[float, None, tuple[Int32s, Float64s]]:
    """Indices and weights of `HelperSkinning`.

    Args:
        candidates: of `candidates_of`.
        matrices: shape (P, B + H, 3, 4), skinning matrices of bones and helpers.

    Yields:
        how much is done, 0 to 1.
    """
    bones, count = fitting.weights, fitting.skeleton.bone_count
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
            yield done / len(bones)
    for piece in _blended_pieces(fitting):
        ids = np.flatnonzero(candidates[piece[0]])
        gram = gram_matrices(
            matrices,
            np.tile(ids, (len(piece), 1)),
            fitting.rest[piece],
            fitting.live[:, piece],
            fitting.pose_weights,
        ).mean(axis=0, keepdims=True)
        before = np.where(ids < count, bones[piece[0], np.minimum(ids, count - 1)], 0.0)
        found = sparse_convex_weights(gram + pulled_matrices(before[None], fitting.pull), most)[0]
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
