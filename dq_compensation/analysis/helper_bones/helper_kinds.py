"""Which helpers a pair of bones gets: how many, and how they move."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...core.helper_bones import SIDES, Helper, helper_transforms
from ...core.pose import Pose
from ...core.skeleton import Skeleton
from ..convex_weights import losses, sparse_convex_weights
from .helper_weights import gram_matrices, pulled

MOST_HELPERS = 4

HelperKind = Literal["RIGID", "ROUND", "LIMB"]
"""How the helpers of a pair move, apart from those of one side.

RIGID: as the blend of the two bones. ROUND: they grow, so that the chords between them are outside
of the arc as often as inside. LIMB: they also shrink, and turn about points of the two limbs, as
skin does that keeps its distance from a limb.
"""
KINDS: tuple[HelperKind, ...] = get_args(HelperKind)


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
MOTIONS: dict[HelperKind, dict[int, tuple[Motion, ...]]] = {
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
        skeleton: its bones.
        weights: shape (n, B), of the bones, before.
        rest: shape (n, 3), armature space.
        poses: P of them, at least one.
        live: shape (P, n, 3), armature space; where the vertices should be in these poses.
        balls: the bones whose swing takes skin along chords and whose twist takes it on arcs.
        most: influences of a vertex; 0 for any number.
        pull: metres; see `fitted_weights`.
    """

    skeleton: Skeleton
    weights: NDArray[np.floating]
    rest: NDArray[np.floating]
    poses: Sequence[Pose]
    live: NDArray[np.floating]
    balls: Collection[int]
    most: int
    pull: float

    def vertices_of(self, parent: int, child: int) -> NDArray[np.intp]:
        """The vertices that both bones move."""
        both = np.minimum(self.weights[:, parent], self.weights[:, child])
        return np.flatnonzero(both > LEAST_WEIGHT)


def chord_errors(fitting: Fitting, pairs: NDArray[np.integer]) -> NDArray[np.float64]:
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
        for pose, helpers in zip(fitting.poses, of_helpers, strict=True):
            chord = pose.matrices[[parent, child], :3].mean(axis=0) - helpers[place, :3]
            away = fitting.rest[rows] @ chord[:, :3].T + chord[:, 3]
            squares += np.einsum("ni,ni->n", away, away)
        if len(rows):
            misses = 4.0 * one * other / (one + other) * np.sqrt(squares / len(fitting.poses))
            missed[place] = np.quantile(np.minimum(misses, most[rows]), _NEARLY_ALL)
    return missed


def _linear_errors(fitting: Fitting) -> NDArray[np.float64]:
    """How far linear blending is off at each vertex, root mean square over the poses: (n,)."""
    bones = fitting.skeleton.bone_count
    squares = np.zeros(len(fitting.rest))
    for pose, live in zip(fitting.poses, fitting.live, strict=True):
        blended = (fitting.weights @ pose.matrices[:bones, :3].reshape(bones, 12)).reshape(-1, 3, 4)
        away = np.einsum("nij,nj->ni", blended[:, :, :3], fitting.rest) + blended[:, :, 3] - live
        squares += np.einsum("ni,ni->n", away, away)
    return np.sqrt(squares / len(fitting.poses))


def helpers_of_pair(
    fitting: Fitting,
    parent: int,
    child: int,
    number: int,
    *,
    tolerance: float = 0.0,
    exactly: bool = False,
) -> list[Helper]:
    """The helpers of a pair that fit best the vertices that follow these two bones.

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
    sets = [rigid, *(_made(kind, number, fitting, parent, child, radius) for kind in KINDS[1:])]
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
        every = [*places[KINDS.index("ROUND")], *sided]
        fewer, left_by_fewer = trial.pruned(every, tolerance, number if exactly else 0)
        if left_by_fewer < _BETTER * least:
            best = fewer
    return [trial.helpers[place] for place in best]


@dataclass(frozen=True, eq=False)
class _Trial:
    """What the best weights on two bones and some of these K helpers leave at m vertices.

    Attributes:
        gram, pulled: shape (m, 2 + K, 2 + K); see `gram_matrices` and `pulled`.
        most: influences of a vertex; 0 for any number.
    """

    helpers: Sequence[Helper]
    gram: NDArray[np.float64]
    pulled: NDArray[np.float64]
    most: int

    @classmethod
    def of(cls, fitting: Fitting, rows: NDArray[np.intp], helpers: Sequence[Helper]) -> _Trial:
        """Of vertices, in some of the poses."""
        count = len(fitting.poses)
        chosen = np.unique(np.linspace(0, count - 1, min(count, _MOST_POSES)).astype(np.intp))
        pair = [helpers[0].parent, helpers[0].child]
        poses = [fitting.poses[place] for place in chosen.tolist()]
        matrices = moving_matrices(pair, helpers, poses, fitting.skeleton)
        candidates = np.tile(np.arange(matrices.shape[1]), (len(rows), 1))
        before = np.zeros(candidates.shape)
        before[:, :2] = fitting.weights[rows[:, None], pair]
        before /= before.sum(axis=1, keepdims=True)
        live = fitting.live[np.ix_(chosen, rows)]
        gram = gram_matrices(matrices, candidates, fitting.rest[rows], live)
        return cls(helpers, gram, gram + pulled(before, fitting.pull), fitting.most)

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

    def _solved(self, places: Sequence[int]) -> tuple[NDArray[np.float64], float]:
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
) -> NDArray[np.float64]:
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
    for motion in MOTIONS[kind][number]:
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
