"""Finds the movement that takes a mesh to where its skin fits the joints of its skeleton.

A joint is at the head of a bone. The skin that the bone shares with the bone before it surrounds
the joint, so the centre of this skin should be there. The movement that takes these centres to the
heads solves a weighted Procrustes problem (Kabsch 1976, Umeyama 1991). It is solved again and again
with less weight for joints that stay far off: hips, shoulders and faces share skin on one side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..arrays import Booleans, Float64s, Floats, Indices, Int32s
from ..core.influences import Influences
from ..core.skeleton import Skeleton
from ..core.vectors import extent, transformed_points

# A vertex counts at a joint where the product of the two bones' weights reaches this, and a joint
# from so many vertices on: a ring of the finger of a simple mesh.
_LEAST_PRODUCT, _FEWEST = 0.02, 4
# Rounds of the fit; the weight of a joint falls from this distance on, in radii.
_ROUNDS, _NEAR = 30, 0.5
# Joints nearer to the centre than a radius are inside. Of the human with each of four rigs, as a
# whole and in parts (a glove, shoes, trousers, a shirt), 73 to 100 % are, and of a head with the
# bones of its face half; of the human turned by 10 degrees or moved by 5 cm, 17 to 53 %.
_MOST_INSIDE, _HALF_INSIDE = 0.7, 0.5
# Where the mesh is misplaced, at most 75 % of those are inside that could be. For the same humans
# where they fit, the best movement brings so little that it is 95 % and more.
_FEWER_INSIDE = 0.75
# A movement of the whole brings every joint nearer to its centre or leaves it: for each one inside
# that it takes away by a part of the radius, so many come nearer. Of the whole human moved by 2 cm
# or 5 degrees and more, 9.5 and more do; where half of the bones are off, mostly 1 to 9.
_CLEARLY, _NEARER_FOR_EACH_FARTHER = 0.25, 9.5
# A place that is among few to choose from is sure when so many joints come inside by it. A fitted
# movement needs as many as it has freedoms: fewer joints may come inside by chance.
_FEWEST_GAINED = 2
# The ends of a hard edge follow one bone each, by this weight. A vertex blends two bones where the
# weaker one has that share.
_HARD, _BLENDS = 0.9, 0.1
# The rotation about the line of the joints is known if they lie so far beside it, in radii.
_BESIDE_LINE = 1.0

Movement = Float64s
"""Shape (4, 4), applied to columns: a rotation, a translation and an even scale; armature space."""


@dataclass(frozen=True, eq=False)
class SkinnedJoints:
    """The joints of a skeleton that bend the skin of a mesh, at rest, in armature space.

    Attributes:
        bones: shape (j,), the bone at whose head each joint is.
        heads: shape (j, 3), where the joints are.
        centres: shape (j, 3), of the skin that the bone shares with the one before it.
        radii: shape (j,), root mean square distance of this skin from its centre.
    """

    bones: Indices
    heads: Float64s
    centres: Float64s
    radii: Float64s

    @classmethod
    def of(cls, positions: Floats, influences: Influences, skeleton: Skeleton) -> SkinnedJoints:
        """The joints between each bone and the nearest one above it that moves the mesh.

        Args:
            positions: shape (n, 3), armature space.
        """
        rows, children, shares = _shared_skin(influences, skeleton)
        count = skeleton.bone_count

        def means(values: Floats) -> Float64s:
            return np.bincount(children, shares * values, count) / np.maximum(sums, 1e-30)

        sums = np.bincount(children, shares, count)
        points = positions[rows]
        centres = np.stack([means(points[:, axis]) for axis in range(3)], axis=1)
        radii = np.sqrt(means(np.sum((points - centres[children]) ** 2, axis=1)))
        enough = np.bincount(children, minlength=count) >= _FEWEST
        enough &= np.isfinite(radii) & (radii > 1e-6 * extent(positions))
        bones = np.flatnonzero(enough)
        return cls(bones, skeleton.heads[bones], centres[bones], radii[bones])

    def distances(self, movement: Movement) -> Float64s:
        """Shape (j,): how far the joints are from the centres, in radii, after a movement."""
        moved = transformed_points(movement, self.centres)
        return np.linalg.norm(moved - self.heads, axis=1) / (scale_of(movement) * self.radii)

    def inside(self, movement: Movement) -> Booleans:
        """Shape (j,): which joints are inside of the skin that they bend, after a movement."""
        return self.distances(movement) < 1.0

    @cached_property
    def show_rotation(self) -> bool:
        """Whether there are joints enough, and not on one line, to tell how a mesh is turned."""
        spread = np.linalg.svd(self.centres - self.centres.mean(axis=0), compute_uv=False)
        beside = spread[1:].max(initial=0.0) / np.sqrt(len(self.bones))
        return len(self.bones) >= 6 and bool(beside >= _BESIDE_LINE * np.median(self.radii))

    def fitted(self, scaled: bool) -> tuple[Movement, int]:
        """The movement that fits best, and how many freedoms it has."""
        weights = self.radii**-2
        movement = np.eye(4)
        for _ in range(_ROUNDS):
            fit = (self.centres, self.heads, weights)
            movement = _procrustes(*fit, turned=self.show_rotation, scaled=scaled)
            near = 1.0 + (self.distances(movement) / _NEAR) ** 2
            weights = (near * self.radii) ** -2
        return movement, 3 + 3 * self.show_rotation + scaled


def find_movement(
    joints: SkinnedJoints,
    plain: Callable[[Movement], Iterable[Movement]],
    now: SkinnedJoints | None = None,
) -> Movement | None:
    """The movement that a misplaced mesh needs; None where it fits, or nothing fits it clearly.

    Args:
        plain: movements near the given one that are likelier than others, the likeliest first.
        now: the same joints where the mesh is, if it has another shape than the one that is moved.
    """
    now = joints if now is None else now
    # What is inside already leaves no movement enough to bring inside.
    inside, count = int(now.inside(np.eye(4)).sum()), len(joints.bones)
    if count - inside < _FEWEST_GAINED or inside > _FEWER_INSIDE * count:
        return None
    for scaled in (False, True)[: 1 + joints.show_rotation]:
        fitted, freedoms = joints.fitted(scaled)
        # What the joints' own scatter makes of a median.
        best = np.median(joints.distances(fitted)) + 1.0 / np.sqrt(len(joints.bones))
        for movement in plain(fitted):
            as_good = np.median(joints.distances(movement)) <= best
            if as_good and _is_needed(now, joints, movement, _FEWEST_GAINED, _HALF_INSIDE):
                return movement
        if _is_needed(now, joints, fitted, freedoms, _MOST_INSIDE):
            return fitted
    return None


def scale_of(movement: Movement) -> float:
    """The factor by which a movement makes things larger."""
    return float(np.cbrt(np.linalg.det(movement[:3, :3])))


def _is_needed(
    unmoved: SkinnedJoints,
    joints: SkinnedJoints,
    movement: Movement,
    least_gained: int,
    least_inside: float,
) -> bool:
    """Whether a movement brings joints inside that are not inside now, and leaves few outside."""
    inside = unmoved.inside(np.eye(4))
    now, then = int(inside.sum()), int(joints.inside(movement).sum())
    nearer = unmoved.distances(np.eye(4)) / scale_of(movement) - joints.distances(movement)
    farther_count = int((inside & (nearer < -_CLEARLY)).sum())
    return bool(
        then >= least_inside * len(joints.bones)
        and now <= _FEWER_INSIDE * then
        and then - now >= least_gained
        and (nearer > _CLEARLY).sum() >= _NEARER_FOR_EACH_FARTHER * farther_count
    )


def with_hard_edges(
    positions: Float64s, influences: Influences, edges: Int32s, bone_count: int
) -> tuple[Float64s, Influences]:
    """The vertices of a mesh, and the middles of its hard edges, which follow two bones alike.

    Where weights go from one bone to another from one vertex to the next, no vertex shows the
    joint. Edges count between bones that more edges than vertices have in common.

    Args:
        positions: shape (n, 3).
        edges: shape (m, 2).
    """
    strongest = influences.bones[:, 0].astype(np.int64)
    codes = np.sort(strongest[edges], axis=1) @ (bone_count, 1)
    hard = (influences.weights[edges, 0] >= _HARD).all(axis=1)
    hard &= strongest[edges[:, 0]] != strongest[edges[:, 1]]
    if not hard.any():
        return positions, influences
    counts = np.bincount(codes[hard], minlength=bone_count**2)
    if influences.width > 1:
        blends = influences.bones[influences.weights[:, 1] >= _BLENDS, :2].astype(np.int64)
        counts -= np.bincount(np.sort(blends, axis=1) @ (bone_count, 1), minlength=len(counts))
    hard &= counts[codes] > 0
    middles = positions[edges[hard]].mean(axis=1)
    added = np.zeros((len(middles), max(influences.width, 2)))
    bones, weights = (
        np.concatenate((np.pad(each, ((0, 0), (0, added.shape[1] - each.shape[1]))), added))
        for each in (influences.bones, influences.weights)
    )
    bones[len(positions) :, :2], weights[len(positions) :, :2] = strongest[edges[hard]], 0.5
    return (
        np.concatenate((positions, middles)),
        Influences(bones.astype(np.int32), weights.astype(np.float32)),
    )


def _shared_skin(influences: Influences, skeleton: Skeleton) -> tuple[Indices, Indices, Float64s]:
    """The vertices that a bone shares with the one before it, the bone, the product of weights."""
    used = influences.moving_bones(skeleton.bone_count)
    parents = skeleton.parents.copy()
    for bone, parent in enumerate(parents.tolist()):  # parents come first
        if parent >= 0 and not used[parent]:
            parents[bone] = parents[parent]
    rows, children = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
    shares = [np.zeros(0)]
    for second in range(1, influences.weights.shape[1]):
        has = np.flatnonzero(influences.weights[:, second] > 0.0)
        others = influences.bones[has, second]
        for first in range(second):
            bones = influences.bones[has, first]
            product = influences.weights[has, first] * influences.weights[has, second]
            for child, parent in ((bones, others), (others, bones)):
                joined = (parents[child] == parent) & (product >= _LEAST_PRODUCT)
                rows.append(has[joined])
                children.append(child[joined].astype(np.intp))
                shares.append(product[joined].astype(np.float64))
    return np.concatenate(rows), np.concatenate(children), np.concatenate(shares)


def _procrustes(
    points: Float64s, targets: Float64s, weights: Float64s, *, turned: bool, scaled: bool
) -> Movement:
    """The movement with the least weighted squares of distances between points and targets."""
    shares = weights / weights.sum()
    middle, goal = shares @ points, shares @ targets
    points, targets = points - middle, targets - goal
    covariance = (shares[:, None] * targets).T @ points
    linear = np.eye(3)
    if turned:
        left, _, right = np.linalg.svd(covariance)
        left[:, 2] *= np.sign(np.linalg.det(left @ right))  # a rotation, no mirror image
        linear = left @ right
    if scaled:
        size = float(np.sum(linear * covariance) / max(np.sum(shares @ points**2), 1e-30))
        linear = max(size, 1e-9) * linear
    movement = np.eye(4)
    movement[:3, :3], movement[:3, 3] = linear, goal - linear @ middle
    return movement
