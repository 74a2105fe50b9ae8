"""MEASURED compensation: the skin keeps its distance from the limbs on either side of a joint.

"Measured" is said here of vertices: how far each is from its limb. The measured transitions of
Setup Check are something else: where the weights of two bones cross over.

Dual quaternion blending turns the skin about the joint (Kavan et al. 2008), by the angle that its
weights ask for. Skin that lies beside a limb and has not turned as far as the limb sticks out from
it: by z sin(d) where it is z from the joint and d behind. No curve over the weights can know that,
since real weights need not be half and half at the joint. So it is measured: how much farther the
deformed vertex is from the limb's axis than at rest; it goes back as far as that. The idea that a
bulge is a distance from the bone that has grown is Kim and Han's (Bulging-free dual quaternion
skinning, 2014); what follows, with the way back, the fades and the bounds, is our own derivation.

The limbs of a joint are two rays from it (`limb_joints`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from ..arrays import Float64s, Floats, Indices, Int32s, Integers
from .influences import Influences
from .limb_joints import LimbJoints, SkinAtRest, SkinEdit
from .pose import Pose
from .skeleton import JointStrengths
from .swing_joints import SwingJoints
from .vectors import dots, smooth_step, unit_or

# The joints between the bones of a vertex, and the one that bends its skin most.
#
# Limbs are split into several bones, and weights are wide: the two strongest bones of skin at an
# elbow may both be of the upper arm. So all joints count that have weights on either side. What
# hangs on a joint there is the sum of the weights, each times the product of `hinge_confidence`
# between the joint and its bone.
#
# A *row* is a part of the tree of bones that move the mesh (`body_tree`) in which none branches
# off: a finger without the palm, an arm from the collarbone to the hand.
#
# A *rope* (a tail, a tentacle, a hose, a fin) has bones in a row and weights that are wider than
# these. Its middle is the smooth curve that dual quaternions make, not the line from joint to
# joint: nothing bulges there, and skin that went back to that line would make lumps.


# Distances from the joint, in lengths of the shorter limb, between which compensation fades: beyond
# lies skin that the two limbs do not carry (a palm, for the joints of a finger).
_NEAR, _FAR = 0.5, 1.0
# What is added to distances in the score of a joint, in the same lengths.
_AT_JOINT = 0.05
# Stands for a length of 0 where one divides by it.
_SHORTEST = 1e-30
# A rope is where weights cross over as wide as this, in radii of the skin, and no skin between two
# joints follows its own bone alone by as much as this: from the first number to the second. As they
# are painted elbows have 0.6 to 1.3 and 0.96 to 1, ropes 2.4 to 13 and 0.36 to 0.82.
_WIDE, _ALONE = (1.1, 1.5), (0.85, 0.93)
# Where all bones of the row share their skin, as short ones do, those widths are less by this: from
# the first share that any of them has alone to the second.
_NARROWER, _SHARED = 0.4, (0.65, 0.85)
# Joints are of a rope as their neighbours are: by the mean of what is found at these and at that
# many before and behind.
_ONE_ROPE, _NEIGHBOURS = (0.2, 0.5), 2
# So wide are hoses, whatever is alone: between straight pieces of a limb there are up to 2.7.
_VERY_WIDE = (3.0, 4.0)
# So many vertices of a joint show a rope: from the first number to the second.
_ENOUGH = (8.0, 16.0)
# The least radius of skin, in lengths of the shorter limb.
_THIN = 1e-3
# The mean of shares to this power is nearly the largest one.
_LARGEST = 16
# Cosines of the angle between two bones of a row: below the first a limb ends there, above the
# second it goes on straight.
_BENT, _STRAIGHT = 0.8, 0.95


@dataclass(frozen=True, eq=False)
class BoneRows:
    """What candidates need of the bones and their rows, whatever they weigh.

    Attributes:
        limbs: the joints of the skeleton.
        trees: the bones' parents, shape (B,), by the hierarchy, and with the joints of the mesh;
            the joint at the head of each bone, shape (B,); and `_products` of both, shape (B, B).
        rows: shape (B,), the first bone of the row that each bone is in.
        lengths: shape (B,), of the shorter of the two limbs at the joint of each bone.
    """

    limbs: LimbJoints
    trees: Sequence[tuple[Int32s, Indices, Float64s]]
    rows: Indices
    lengths: Float64s

    @classmethod
    def of(cls, skin: SkinAtRest, limbs: LimbJoints) -> BoneRows:
        """The rows of the bones of a skin."""
        skeleton = skin.skeleton
        count, confidence = skeleton.bone_count, limbs.hinge_confidence
        joints, of_mesh = np.arange(count), np.arange(count, len(limbs.children))
        shares = _products(skeleton.parents, confidence[joints])
        trees = [(skeleton.parents, joints.copy(), shares)]
        if skin.mesh_parents is not None and len(of_mesh):
            joints[limbs.children[count:]] = of_mesh
            parents = skeleton.joined_parents(skin.mesh_parents)
            trees.append((parents, joints, _products(parents, confidence[joints])))
        return cls(limbs, trees, *_rows(skin, limbs, joints))


@dataclass(frozen=True, eq=False)
class JointCandidates:
    """Vertices and joints between the bones that move them; a pair may be there twice.

    Attributes:
        limbs: the joints of the skeleton.
        vertices: shape (e,).
        joints: shape (e,), rows of `limbs`.
        below, above: shape (e,), more than 0; what hangs on the joint behind and before it.
        rows: shape (e,), the first bone of the row that the joint's child is in.
        lengths: shape (e,), of the shorter of the two limbs at the joint. Limbs go on straight
            within a row. Where a row begins, they are single bones.
    """

    limbs: LimbJoints
    vertices: Indices
    joints: Indices
    below: Float64s
    above: Float64s
    rows: Indices
    lengths: Float64s

    @classmethod
    def of(cls, influences: Influences, bones: BoneRows) -> JointCandidates:
        """The candidates at the joints of the hierarchy, and at those of the mesh.

        Args:
            bones: of the skin that has the influences.
        """
        limbs = bones.limbs
        found = [_of_tree(influences, limbs, *tree) for tree in bones.trees]
        vertices, joints, below, above = (
            np.concatenate(parts) for parts in zip(*found, strict=True)
        )
        children = limbs.children[joints]
        rows, lengths = bones.rows[children], bones.lengths[children]
        return cls(limbs, vertices, joints, below, above, rows, lengths)

    def widths(self, positions: Floats) -> tuple[Float64s, Float64s]:
        """Over how many radii of the skin the weights of each joint cross over, shape (J,).

        The share x of what is behind the joint is taken for a step that a Gaussian of the width c
        has smoothed: x = 1/2 (1 + erf(z / (c r sqrt 2))), z along the limb. c is found by least
        squares of z by the quantile of x (Tukey's lambda distribution has it to 0.3 %). Vertices
        count by (x (1 - x))^2, so that c changes with the weights and never jumps.

        Returns:
            the widths; and how many vertices that are alike would say as much, shape (J,).
        """
        limbs, joints, both = self.limbs, self.joints, self.below + self.above
        count, shares = len(limbs.heads), self.below / both
        amounts = (shares * (1.0 - shares)) ** 2 * both
        sums = np.maximum(np.bincount(joints, amounts, count), _SHORTEST)

        def means(values: Floats) -> Float64s:
            return np.bincount(joints, amounts * values, count) / sums

        along = unit_or(limbs.forth - limbs.back, limbs.forth)[joints]
        away = positions[self.vertices] - limbs.heads[joints]
        z = dots(away, along)
        radii = means(np.linalg.norm(away - z[:, None] * along, axis=1))
        quantiles = (shares**0.135 - (1.0 - shares) ** 0.135) / 0.1975
        quantiles -= means(quantiles)[joints]
        widths = means(quantiles * z) / np.maximum(means(quantiles**2), 1e-12)
        counts = sums**2 / np.maximum(np.bincount(joints, amounts**2, count), _SHORTEST)
        return widths / np.maximum(radii, np.maximum(_THIN * limbs.lengths, _SHORTEST)), counts

    def chosen(
        self, positions: Floats, ropes: Float64s, strengths: JointStrengths = ()
    ) -> tuple[Indices, Indices, Float64s]:
        """The joint that bends each vertex most, by the largest score.

            score = x (1 - x) (below + above) (its `hinge_confidence`) near / (d + 0.05)

        x is the share of `below`, d the distance from the joint in lengths of the shorter limb;
        `near` falls smoothly from 1 to 0 as d goes from 0.5 to 1. Within a row it does not matter
        which joint is chosen: vertices beside a bone are measured against it from either end. So
        `near` is the largest of the row then. A joint of another row has another limb: with s the
        largest score of these, `alone = 1 - (s / score)^4` falls to 0 before it is chosen.
        `limb` is 1 less the mean of `ropes` over all candidates, by x (1 - x) (below + above):
        how much each of them bends the skin.

        Where joints are left out, they are a row of their own, at which nothing acts: skin beside
        them fades towards them. What strengths of joints from 0 to 1 give is the integral over t
        from 0 to 1 of what is without the joints whose strength is below t (Lovasz 1983): exact
        where all are 0 or 1, linear in between, and as smooth from vertex to vertex as these.

        Args:
            positions: shape (n, 3), armature space, at rest and without shape keys.
            ropes: shape (J,), of `rope_joints`.
            strengths: of the joints at the heads of some bones.

        Returns:
            three arrays of shape (m,): the vertices that have a joint, rising; which of the
            candidates it is; `alone near limb`, with the strengths.
        """
        limbs, vertices, both = self.limbs, self.vertices, self.below + self.above
        apart = np.linalg.norm(positions[vertices] - limbs.heads[self.joints], axis=1)
        distances = apart / np.maximum(self.lengths, _SHORTEST)
        near = 1.0 - smooth_step(distances, _NEAR, _FAR)
        scores = self.below * self.above / both * limbs.hinge_confidence[self.joints]
        scores *= near / (distances + _AT_JOINT)
        rising = np.argsort(scores, kind="stable")[np.count_nonzero(scores <= 0.0) :]
        vertices = vertices[rising]
        best = np.full(len(positions), -1)
        best[vertices] = rising  # the last one of a vertex stays
        limb = np.ones(len(positions))
        if ropes.any():
            shares = (self.below * self.above / both)[rising]
            roped = np.bincount(vertices, shares * ropes[self.joints[rising]], len(positions))
            limb -= roped / np.maximum(np.bincount(vertices, shares, len(positions)), _SHORTEST)
        found, children = np.flatnonzero(best >= 0), limbs.children[self.joints]
        fades = np.zeros(len(found))
        for share, left_out in _levels(strengths):
            rows = self.rows
            if left_out:
                rows = np.where(np.isin(children, left_out), -1, rows)
            in_row = rows[rising] == rows[best[vertices]]
            rivals, nearest = np.zeros(len(positions)), np.zeros(len(positions))
            rivals[vertices[~in_row]] = scores[rising[~in_row]]
            np.maximum.at(nearest, vertices[in_row], near[rising[in_row]])
            alone = 1.0 - (rivals[found] / scores[best[found]]) ** 4
            fades += share * alone * nearest[found] * (rows[best[found]] >= 0)
        return found, best[found], fades * limb[found]


def _levels(strengths: JointStrengths) -> Iterator[tuple[float, list[int]]]:
    """Parts of the way from 0 to 1, and the bones whose strengths are below each."""
    steps = sorted({0.0, 1.0, *(strength for _, strength in strengths)})
    for below, above in pairwise(steps):
        yield above - below, [bone for bone, strength in strengths if strength < above]


@dataclass(frozen=True, eq=False)
class RopeSigns:
    """What shows ropes: how weights cross over at joints, and what bones have alone.

    Attributes:
        rows: shape (J,), the first bone of the row of each joint; -1 for those without candidates.
        widths, counts: shape (J,), of `JointCandidates.widths`.
        bends: shape (J,), how much each joint bends the skin.
        alone: shape (B,), of `_alone`.
        vertices, joints: shape (e,), the candidates, in any order.
        bones: by which they were found.
    """

    rows: Indices
    widths: Float64s
    counts: Float64s
    bends: Float64s
    alone: Float64s
    vertices: Indices
    joints: Indices
    bones: BoneRows

    @classmethod
    def of(cls, skin: SkinAtRest, candidates: JointCandidates, bones: BoneRows) -> RopeSigns:
        """The signs on a skin.

        Args:
            candidates: of the skin, with the weights as they are painted, by the bones.
        """
        count = len(candidates.limbs.heads)
        rows = np.full(count, -1)
        rows[candidates.joints] = candidates.rows
        below, above = candidates.below, candidates.above
        bends = np.bincount(candidates.joints, below * above / (below + above), count)
        widths, counts = candidates.widths(skin.positions)
        found = candidates.vertices, candidates.joints
        return cls(rows, widths, counts, bends, _alone(skin), *found, bones)

    def after(self, edit: SkinEdit, skin: SkinAtRest) -> RopeSigns:
        """The signs on a skin after an edit: found anew where they are of its vertices.

        Args:
            skin: as it is now; all that is known of its bones is the same.
        """
        edited = np.zeros(len(skin.positions), np.bool_)
        edited[edit.vertices] = True
        was_edited = edited[self.vertices]
        now = JointCandidates.of(skin.influences.at(edit.vertices), self.bones)
        joints = np.zeros(len(self.rows), np.bool_)
        joints[self.joints[was_edited]] = joints[now.joints] = True
        bones = edit.touched(skin)
        near = edited.copy()
        near[self.vertices[joints[self.joints]]] = True
        near[skin.influences.moved_by(bones)] = True
        beside = skin.at(np.flatnonzero(near))
        candidates = JointCandidates.of(beside.influences, self.bones)
        found = RopeSigns.of(beside, candidates, self.bones)
        return replace(
            self,
            rows=np.where(joints, found.rows, self.rows),
            widths=np.where(joints, found.widths, self.widths),
            counts=np.where(joints, found.counts, self.counts),
            bends=np.where(joints, found.bends, self.bends),
            alone=np.where(bones, found.alone, self.alone),
            vertices=np.concatenate((self.vertices[~was_edited], edit.vertices[now.vertices])),
            joints=np.concatenate((self.joints[~was_edited], now.joints)),
        )

    def ropes(self, skin: SkinAtRest, limbs: LimbJoints) -> Float64s:
        """Shape (J,), 0 to 1: how surely each joint is one of a rope, and not of a limb.

        With the width c, and the larger share u of `alone` of its two bones, it rises
        smoothly as c goes from 1.1 to 1.5 radii and as u falls from 0.93 to 0.85. Bones at an end
        have no u, and do not count. Whatever u is, it rises as c goes from 3 to 4. Where no
        bone of a row of several joints has an u of 0.65 to 0.85, c counts for up to 0.4 more: the
        weights of short bones are no wider than these. Fewer than 8 vertices show no rope: fingers
        of low-poly meshes have wide weights. What is neither limb nor rope is farther from the
        ideal of either: so joints are of a rope as the mean of this goes from 0.2 to 0.5, over
        the joint and two of its row on the side where it is less, by 3, 2 and 1 times how much each
        bends the skin: one joint with wide weights makes its limb no rope.

        Args:
            skin: whose bones they are.
        """
        rows, widths = self.rows, self.widths
        largest = np.maximum(self.alone[limbs.children], self.alone[limbs.parents])
        largest[largest < 0.0] = 1.0
        of_row = np.zeros(len(largest))
        known = np.flatnonzero(rows >= 0)
        np.maximum.at(of_row, rows[known], largest[known])
        of_row[np.bincount(rows[known], minlength=len(of_row)) == 1] = 1.0
        shared = np.where(rows >= 0, 1.0 - smooth_step(of_row[rows], *_SHARED), 0.0)
        limbs_alone = smooth_step(largest, *_ALONE) * (1.0 - smooth_step(widths, *_VERY_WIDE))
        wide = smooth_step(widths + _NARROWER * shared, *_WIDE)
        wide *= smooth_step(self.counts, *_ENOUGH)
        found = wide * (1.0 - limbs_alone)

        # The joints one after the other in a row.
        joint_at = np.full(skin.skeleton.bone_count, -1)
        joint_at[limbs.children[known]] = known
        before = joint_at[np.maximum(skin.body_parents[limbs.children[known]], 0)]
        follows = (before >= 0) & (rows[before] == rows[known]) & (before != known)
        before, behind = before[follows], known[follows]
        means = [
            _mean_along(found, self.bends, here, there)
            for here, there in ((before, behind), (behind, before))
        ]
        several = np.union1d(before, behind)  # what is alone has no neighbours to go by
        found[several] = smooth_step(np.minimum(*means), *_ONE_ROPE)[several]
        for bone, kind in skin.kinds:
            found[limbs.children == bone] = kind == "ROW"
        return found


def rope_joints(
    skin: SkinAtRest,
    limbs: LimbJoints,
    candidates: tuple[JointCandidates, BoneRows] | None = None,
    edit: SkinEdit | None = None,
) -> Float64s:
    """Shape (J,), 0 to 1: how surely each joint is one of a rope; see `RopeSigns.ropes`.

    They are found on all meshes of the character. Softness changes no limb into a rope: the weights
    count as they were painted.

    Args:
        candidates: of the skin, if they are known, with the bones by which they were found.
        edit: of the skin, if nothing is known of its bones that is not true after it.
    """
    body = skin.body
    if body not in _ropes_of_bodies:
        painted = body.as_painted
        alike = (each for each in _ropes_of_bodies if each.as_painted.is_equal_to(painted))
        other = None if painted is body else next(alike, None)  # with other soft weights
        before = None if edit is None else _ropes_of_bodies.get(edit.before.body)
        if other is not None:
            _ropes_of_bodies[body] = _ropes_of_bodies[other]
            return _ropes_of_bodies[body][1]
        if edit is not None and before is not None and painted is skin:
            signs = before[0].after(edit, skin)
        else:
            if candidates is None or painted is not skin:
                bones = BoneRows.of(painted, limbs)
                candidates = JointCandidates.of(painted.influences, bones), bones
            signs = RopeSigns.of(painted, *candidates)
        _ropes_of_bodies[body] = signs, signs.ropes(painted, limbs)
    return _ropes_of_bodies[body][1]


def rope_shares(skin: SkinAtRest) -> Float64s:
    """Shape (n,), 0 to 1: how much of each vertex bones have that bend as a rope at either end."""
    limbs = LimbJoints.of(skin.skeleton, skin.limb_axis, skin.mesh_parents)
    ropes, of_bones = rope_joints(skin, limbs), np.zeros(skin.skeleton.bone_count)
    for bones in (limbs.children, limbs.parents):
        np.maximum.at(of_bones, bones, ropes)
    weights = skin.influences.weights.astype(np.float64)
    shares = np.einsum("nk,nk->n", weights, of_bones[skin.influences.bones])
    # The sums of float32 weights are a little less than 1.
    return np.minimum(1.001 * shares, 1.0)


# All meshes of a character ask for the same.
_ropes_of_bodies: WeakKeyDictionary[SkinAtRest, tuple[RopeSigns, Float64s]] = WeakKeyDictionary()


IdleReason = Literal["ROPE", "ANOTHER_PART", "LITTLE_SKIN"]
# The confidence (`hinge_confidence`) below which a bone begins another part of the body.
_SURE = 0.5


def idle_joints(
    skin: SkinAtRest, measured: MeasuredJoints, done: Collection[int]
) -> dict[int, IdleReason]:
    """Why nothing is done at the heads of bones that move skin and hang on others.

    Args:
        skin: with whole limbs.
        done: bones at whose heads something is done.
    """
    limbs, ropes = measured.limbs, measured.rope_bones
    confidence = np.zeros(skin.skeleton.bone_count)
    np.maximum.at(confidence, limbs.children, limbs.hinge_confidence)
    moves = skin.influences.moving_bones(skin.skeleton.bone_count)
    found: dict[int, IdleReason] = {}
    for bone in np.flatnonzero(moves & (skin.body_parents >= 0)).tolist():
        if bone not in done:
            found[bone] = "LITTLE_SKIN" if confidence[bone] >= _SURE else "ANOTHER_PART"
            found[bone] = "ROPE" if bone in ropes else found[bone]
    return found


def _mean_along(found: Float64s, bends: Float64s, here: Indices, there: Indices) -> Float64s:
    """The mean over each joint and those that follow it, the nearer ones counting more, shape (J,).

    Args:
        found, bends: shape (J,): what the mean is of; how much each joint counts.
        here, there: joints, and those that come after them in one direction.
    """
    after = np.stack((found * bends, bends))
    sums = (_NEIGHBOURS + 1) * after
    for counts in range(_NEIGHBOURS, 0, -1):
        nearer, after = after, np.zeros_like(after)
        after[:, here] = nearer[:, there]
        sums += counts * after
    return sums[0] / np.maximum(sums[1], _SHORTEST)


def _alone(skin: SkinAtRest) -> Float64s:
    """Shape (B,): how much of the skin between its two joints a bone has alone, 0 to 1.

    It is the largest share, but for a few vertices: sum of w^17 / sum of w^16. -1 for bones that
    have no joint at one of their ends.
    """
    influences, skeleton, parents = skin.influences, skin.skeleton, skin.body_parents
    count = skeleton.bone_count
    hangs = (parents >= 0) & skin.moves
    between = (parents >= 0) & (np.bincount(parents[hangs], minlength=count) > 0)
    ways = skeleton.limb_directions(skin.limb_axis, parents)
    lengths = skeleton.limb_lengths(np.where(parents >= 0, parents, np.arange(count)))
    sums = np.zeros((2, count))
    for rows, bones, weights in influences.slots():
        along = dots(skin.positions[rows] - skeleton.heads[bones], ways[bones])
        inside = (along > 0.0) & (along < lengths[bones])
        powers = inside * weights.astype(np.float64) ** _LARGEST
        sums += np.stack([np.bincount(bones, each, count) for each in (powers, powers * weights)])
    return np.where(between, sums[1] / np.maximum(sums[0], _SHORTEST), -1.0)


def _of_tree(
    influences: Influences,
    limbs: LimbJoints,
    parents: Int32s,
    joints: Indices,
    shares: Float64s,
) -> tuple[Indices, Indices, Float64s, Float64s]:
    """Vertices, joints, `below` and `above`, of bones with these parents (B,), -1 for none.

    Args:
        joints: shape (B,), the joint at the head of each bone.
        shares: shape (B, B), `_products` of their confidence.
    """
    confidence, bone_count = limbs.hinge_confidence[joints], len(parents)
    counts = influences.counts()
    has_joint = (parents >= 0) & (confidence > 0.0)
    steps = [(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0), np.zeros(0))]
    for count in range(2, influences.width + 1):
        moved = np.flatnonzero(counts == count)
        moving = influences.bones[moved, :count].astype(np.intp)
        weights = influences.weights[moved, :count].astype(np.float64)
        places, slots = np.nonzero(has_joint[moving])
        bones = moving[places, slots].astype(np.intp)
        while len(bones):
            # `take` of whole rows and of flat places is several times faster than indices.
            others, their = moving.take(places, axis=0), weights.take(places, axis=0)
            up = parents[bones]
            above = dots(their, shares.take(others * bone_count + up[:, None]))
            below = dots(their, shares.take(bones[:, None] * bone_count + others))
            going = above > 0.0
            steps.append((moved[places[going]], bones[going], below[going], above[going]))
            # The way up goes on to the next bone that moves the vertex, which has its own.
            going &= has_joint[up] & (others != up[:, None]).all(axis=1)
            bones, places = up[going].astype(np.intp), places[going]
    vertices, bones, below, above = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    return vertices, joints[bones], below, above


def _rows(skin: SkinAtRest, limbs: LimbJoints, joints: Indices) -> tuple[Indices, Float64s]:
    """The row of each bone, shape (B,), and `lengths` of the joint at its head, shape (B,).

    Args:
        joints: shape (B,), the joint at the head of each bone.
    """
    parents = skin.body_parents
    has_parent = parents >= 0
    children = np.bincount(parents[has_parent & skin.moves], minlength=len(parents))
    goes_on = has_parent & (children[parents] <= 1)
    rows = np.arange(len(parents))
    while goes_on[rows].any():
        rows = np.where(goes_on[rows], parents[rows], rows)
    straight = smooth_step(-dots(limbs.back[joints], limbs.forth[joints]), _BENT, _STRAIGHT)
    reaches = _products(parents, np.where(goes_on, straight, 0.0))
    own = limbs.skeleton.limb_lengths(np.where(has_parent, parents, rows))
    # An importer may not know how long the last bone is: a limb goes on to where that begins.
    known = np.where(np.bincount(parents[has_parent], minlength=len(parents)) > 0, own, 0.0)
    shorter = np.minimum(np.maximum(reaches @ known, own), (known @ reaches)[parents])
    return rows, np.where(goes_on, shorter, limbs.lengths[joints])


def _products(parents: Int32s, factors: Float64s) -> Float64s:
    """Shape (B, B): products of the joints' factors on the way up to a bone from one below it.

    The bone above comes first; 1 for a bone itself, 0 where the first is not above the second.
    """
    found = np.zeros((len(parents), len(parents)))
    below = above = np.arange(len(parents))
    products = np.ones(len(parents))
    while len(below):
        found[above, below] = products
        products, above = products * factors[above], parents[above]
        going = (above >= 0) & (products > 0.0)
        below, above, products = below[going], above[going], products[going]
    return found


# MEASURED compensation: the skin keeps its distance from the limbs on either side of a joint.


# The share of the nearer limb from which skin beside it goes back to it in full.
_TOGETHER = 0.35
# The weight that other bones may always have, until nothing is compensated.
_FEW = 0.05
# Stands for a distance of 0 where one divides by it.
TINY = 1e-30


@dataclass(frozen=True, eq=False)
class MeasuredJoints:
    """The joint that each vertex is measured against; once per binding.

    Of the joints between bones that move a vertex the one counts that bends it most
    (`JointCandidates`): limbs may be split into several bones, and weights may be wide. With
    `below` and `above` what hangs on the joint on either side, the amount is

        (below + above) own alone near limb together hinged (`hinge_confidence` of the joint)

    `own = max(0, 1 - r / (min(below, above) / 2 + 0.05))` fades where other bones move the vertex,
    too: r is what is left of its weights. `alone`, `near` and `limb` are of
    `JointCandidates.chosen`. `together` rises smoothly from 0 where the nearer limb has no share in
    `below + above` to 1 where it has 0.35: what only one limb moves cannot go to the other, and
    what is beside it must not go alone. `hinged` is 1 without `swings`; with them it falls to 0
    where bones of other parts of the body move the vertex, too (`swing_joints`).

    Attributes:
        joints: shape (n,), int32; rows of `limbs`.
        bones: shape (n,), int32; the bone of the limb that is nearer: the joint's child or parent.
        amounts: shape (n,), 0 to 1, of the dtype of the positions; what is compensated.
        ropes: shape (J,), 0 to 1, of `rope_joints`.
        swings: what happens where limbs leave the body, afterwards; None where nothing does.
    """

    limbs: LimbJoints
    joints: Int32s
    bones: Int32s
    amounts: Floats
    ropes: Float64s
    swings: SwingJoints | None = None

    @classmethod
    def of(
        cls, skin: SkinAtRest, *, ball_joints: bool = False, strengths: JointStrengths = ()
    ) -> MeasuredJoints:
        """Find the joints.

        Args:
            ball_joints: whether it acts where limbs leave the body, too.
            strengths: how much of it acts at the heads of some bones.
        """
        limbs = LimbJoints.of(skin.skeleton, skin.limb_axis, skin.mesh_parents)
        swings = SwingJoints.of(skin, strengths) if ball_joints else None
        if skin.influences.width < 2 or not len(skin.positions):
            return cls._of(skin, limbs, None, np.zeros(len(limbs.heads)), strengths, swings)
        rows = BoneRows.of(skin, limbs)
        candidates = JointCandidates.of(skin.influences, rows)
        ropes = rope_joints(skin, limbs, (candidates, rows))
        return cls._of(skin, limbs, candidates, ropes, strengths, swings)

    @classmethod
    def _of(
        cls,
        skin: SkinAtRest,
        limbs: LimbJoints,
        candidates: JointCandidates | None,
        ropes: Float64s,
        strengths: JointStrengths,
        swings: SwingJoints | None,
    ) -> MeasuredJoints:
        positions, count = skin.positions, len(skin.positions)
        joints, bones = np.zeros(count, np.int32), np.zeros(count, np.int32)
        amounts = np.zeros(count, positions.dtype)
        if candidates is None:
            return cls(limbs, joints, bones, amounts, ropes, swings)
        rows, chosen, fades = candidates.chosen(positions, ropes, strengths)
        found = candidates.joints[chosen]
        below, above = candidates.below[chosen], candidates.above[chosen]
        from_joint = positions[rows] - limbs.heads[found]
        to_forth = np.linalg.norm(from_ray(from_joint, limbs.forth[found]), axis=1)
        to_back = np.linalg.norm(from_ray(from_joint, limbs.back[found]), axis=1)
        beside_child = to_forth <= to_back
        both = below + above
        shares = np.where(beside_child, below, above) / both
        others = np.maximum(1.0 - both, 0.0) / (0.5 * np.minimum(below, above) + _FEW)
        fades *= np.maximum(1.0 - others, 0.0) * limbs.hinge_confidence[found]
        fades *= smooth_step(shares, 0.0, _TOGETHER)
        if swings is not None:
            fades *= swings.hinged[rows]
        joints[rows] = found
        bones[rows] = np.where(beside_child, limbs.children[found], limbs.parents[found])
        amounts[rows] = both * fades
        return cls(limbs, joints, bones, amounts, ropes, swings)

    def after(
        self, edit: SkinEdit, skin: SkinAtRest, strengths: JointStrengths = ()
    ) -> MeasuredJoints | None:
        """The joints of a skin after an edit, where these are those before it, as `of` finds them.

        They are found anew of its vertices, and of those at joints whose `ropes` are other ones
        now.

        Returns:
            None where more has changed than the skin of some bones.
        """
        limbs, known = self.limbs, edit.before
        if skin.influences.width < 2 or not skin.has_bones_of(known):
            return None
        ropes = rope_joints(skin, limbs, edit=edit)
        vertices, signs = edit.vertices, _ropes_of_bodies[skin.body][0]
        is_body = skin.body is skin.as_painted
        if (differs := ropes != self.ropes).any():
            if not is_body:
                return None
            vertices = np.union1d(vertices, signs.vertices[differs[signs.joints]])
        some, swings, some_swings = skin.at(vertices), self.swings, None
        if swings is not None:
            some_swings = SwingJoints.of(some, strengths, swings.bones)
            swings = swings.with_vertices(vertices, some_swings)
        rows = signs.bones if is_body else BoneRows.of(skin, limbs)
        candidates = JointCandidates.of(some.influences, rows)
        found = MeasuredJoints._of(some, limbs, candidates, ropes, strengths, some_swings)
        joints, bones, amounts = self.joints.copy(), self.bones.copy(), self.amounts.copy()
        joints[vertices], bones[vertices] = found.joints, found.bones
        amounts[vertices] = found.amounts
        return MeasuredJoints(limbs, joints, bones, amounts, ropes, swings)

    def towards(self, other: MeasuredJoints, shares: Floats) -> MeasuredJoints:
        """The same where skin goes over to skin whose joints were found elsewhere.

        Args:
            other: found for the same vertices.
            shares: shape (n,), 0 to 1, how much its amounts count; where that is all, so does its
                joint.
        """
        ours, theirs = self.limbs, other.limbs
        named = np.minimum(other.joints, len(ours.children) - 1)
        same_joint = (ours.children[named] == theirs.children[other.joints]) & (
            ours.parents[named] == theirs.parents[other.joints]
        )
        taken = same_joint & ((shares >= 1.0) | ((shares > 0.0) & (self.amounts == 0.0)))
        joints = np.where(taken, named, self.joints).astype(np.int32)
        bones = np.where(taken, other.bones, self.bones)
        alike = same_joint & (joints == named) & (bones == other.bones)
        both = self.amounts + shares * (other.amounts - self.amounts)
        amounts = np.where(alike, both, self.amounts).astype(self.amounts.dtype)
        swings = self.swings
        if swings is not None and other.swings is not None:
            swings = swings.towards(other.swings, shares)
        return replace(self, joints=joints, bones=bones, amounts=amounts, swings=swings)

    @property
    def points_aside(self) -> bool:
        """Whether any vertex is measured against a limb that points aside: `LimbJoints.aside`."""
        joints, bones = self.joints[self.rows], self.bones[self.rows]
        return bool(
            ((bones == self.limbs.children[joints]) & (self.limbs.aside[joints] > 0.0)).any()
        )

    @property
    def rope_bones(self) -> Int32s:
        """The bones at whose heads a rope bends: nothing is compensated there, or little."""
        return np.unique(self.limbs.children[self.ropes > 0.5])

    @property
    def joint_counts(self) -> tuple[int, int]:
        """The numbers of joints with compensation: of the hierarchy, and of the mesh."""
        found = np.unique(self.joints[self.rows])
        of_mesh = int(np.count_nonzero(found >= self.limbs.skeleton.bone_count))
        return len(found) - of_mesh, of_mesh

    @property
    def joint_bones(self) -> Int32s:
        """The bones at whose heads vertices are compensated."""
        return np.unique(self.limbs.children[self.joints[self.rows]])

    @property
    def bones_of_mesh_joints(self) -> Int32s:
        """The bones at whose heads vertices are compensated at a joint of the mesh."""
        found = np.unique(self.joints[self.rows])
        return self.limbs.children[found[found >= self.limbs.skeleton.bone_count]]

    @cached_property
    def rows(self) -> Indices:
        """The vertices that have a joint."""
        return np.flatnonzero(self.amounts)

    def displacements(self, rows: Integers, rest: Floats, deformed: Floats, pose: Pose) -> Floats:
        """From where dual quaternions have put vertices back towards the nearer limb.

        At rest, with the joint J and the ray r of the limb, let o = v - J be the vertex from the
        joint and a = o - max(0, o . r) r from the limb. In the pose, with J', r' = R r for the
        rotation R of the limb's bone, and v' after dual quaternion skinning, likewise o' = v' - J'
        and f = o' - max(-reach, o' . r') r'. Then

            e = min(max(0, |f| - size |a| - max(0, gap)), size (|o| - |a|) + max(0, -gap))
            result = -straightness e f / |f|

        straightness: of the limb, 1 unless its bone is a bendy one that is curved, or the limb
        turns about the parent's and points aside (`PosedJoints`); size: how thick the limb is
        scaled. Where the child is moved off the parent's end by g, to J', gap is the
        part of g across the parent's limb, less what half of the part along it is more, and reach
        is max(0, g . r'): the limb goes on to the parent's end. Turning about J keeps |o|, so that
        skin of one joint never needs more than the second bound, and nothing is ever moved farther;
        next to the joint, where the nearer limb changes, it is 0 without a gap. Blending a turn by
        t with a shift by g takes what is half and half by |g| / (2 cos(t / 4)). Where the skin is
        as near to the limb as at rest, as at rest, in a twist and on the inner side of a bend, e is
        0.

        Arguments, shapes and spaces as of `compensation.Compensation.displacements`.
        """
        dtype = deformed.dtype
        limbs, posed = self.limbs, self.limbs.posed(pose)
        joints, sides = self.joints[rows], limbs.sides(self.joints[rows], self.bones[rows])
        rays = limbs.rays(joints, self.bones[rows]).astype(dtype, copy=False)
        posed_rays = posed.rays.astype(dtype, copy=False)[joints, sides]
        straightness = posed.straightness.astype(dtype, copy=False)[joints, sides]
        reaches = posed.reaches.astype(dtype, copy=False)[joints, sides]
        heads, posed_heads, sizes, gaps = (
            values.astype(dtype, copy=False)[joints]
            for values in (limbs.heads, posed.heads, posed.sizes, posed.gaps)
        )
        rest_distance, max_correction = distances_at_rest(rest - heads, rays)
        away = from_ray(deformed - posed_heads, posed_rays, reaches)
        distances = np.linalg.norm(away, axis=1)
        too_far = distances - sizes * rest_distance - np.maximum(gaps, 0.0)
        farthest = np.maximum(sizes * max_correction, 0.0) + np.maximum(-gaps, 0.0)
        too_far = np.clip(too_far, 0.0, farthest)
        shares = -straightness * too_far / np.maximum(distances, dtype.type(TINY))
        return (shares[:, None] * away).astype(dtype, copy=False)


def from_ray(from_joint: Floats, ray: Floats, reach: Floats | float = 0.0) -> Floats:
    """The vectors (m, 3) from the nearest points of rays, which begin this far behind the joint."""
    return from_joint - np.maximum(dots(from_joint, ray), -reach)[:, None] * ray


def distances_at_rest(from_joint: Floats, ray: Floats) -> tuple[Floats, Floats]:
    """The distance of vertices from their limb, and by how much it is less than from the joint.

    Args:
        from_joint: shape (m, 3), from the joint to the vertex, at rest.
        ray: shape (m, 3), unit, along the limb.

    Returns:
        two arrays of shape (m,): the rest distance, and the longest correction that a vertex needs.
    """
    distances = np.linalg.norm(from_ray(from_joint, ray), axis=1)
    return distances, np.linalg.norm(from_joint, axis=1) - distances
