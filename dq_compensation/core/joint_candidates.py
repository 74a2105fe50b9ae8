"""The joints between the bones that move a vertex, and the one that bends its skin most.

Limbs are split into several bones, and weights are wide: the two strongest bones of skin at an
elbow may both be of the upper arm. So all joints count that have weights on either side. What
hangs on a joint there is the sum of the weights, each times the product of `hinge_confidence`
between the joint and its bone.

A *row* is a part of the tree of bones that move the mesh (`SkinAtRest.body`) in which none branches
off: a finger without the palm, an arm from the collarbone to the hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..arrays import Float64s, Floats, Indices, Int32s
from .influences import Influences
from .limb_joints import LimbJoints
from .skeleton import JointStrengths
from .skin_at_rest import SkinAtRest
from .vectors import dots, smooth_step, unit_or

# Distances from the joint, in lengths of the shorter limb, between which compensation fades: beyond
# lies skin that the two limbs do not carry (a palm, for the joints of a finger).
_NEAR, _FAR = 0.5, 1.0
# What is added to distances in the score of a joint, in the same lengths.
_AT_JOINT = 0.05
# Stands for a length of 0 where one divides by it.
SHORTEST = 1e-30
# The least radius of skin, in lengths of the shorter limb.
_THIN = 1e-3
# Cosines of the angle between two bones of a row: below the first a limb ends there, above the
# second it goes on straight.
_BENT, _STRAIGHT = 0.8, 0.95


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
    def of(cls, skin: SkinAtRest, limbs: LimbJoints) -> JointCandidates:
        """The candidates at the joints of the hierarchy, and at those of the mesh.

        Args:
            limbs: of the bones of the skin.
        """
        skeleton, influences = skin.skeleton, skin.influences
        count, confidence = skeleton.bone_count, limbs.hinge_confidence
        joints, of_mesh = np.arange(count), np.arange(count, len(limbs.children))
        shares = _products(skeleton.parents, confidence[joints])
        found = [_of_tree(influences, limbs, skeleton.parents, joints, shares)]
        if skin.mesh_parents is not None and len(of_mesh):
            joints = joints.copy()
            joints[limbs.children[count:]] = of_mesh
            parents = skeleton.joined_parents(skin.mesh_parents)
            shares = _products(parents, confidence[joints])
            found.append(_of_tree(influences, limbs, parents, joints, shares))
        vertices, of_vertices, below, above = (
            np.concatenate(parts) for parts in zip(*found, strict=True)
        )
        children = limbs.children[of_vertices]
        rows, lengths = _rows(skin, limbs, joints)
        return cls(limbs, vertices, of_vertices, below, above, rows[children], lengths[children])

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
        sums = np.maximum(np.bincount(joints, amounts, count), SHORTEST)

        def means(values: Floats) -> Float64s:
            return np.bincount(joints, amounts * values, count) / sums

        along = unit_or(limbs.forth - limbs.back, limbs.forth)[joints]
        away = positions[self.vertices] - limbs.heads[joints]
        z = dots(away, along)
        radii = means(np.linalg.norm(away - z[:, None] * along, axis=1))
        quantiles = (shares**0.135 - (1.0 - shares) ** 0.135) / 0.1975
        quantiles -= means(quantiles)[joints]
        widths = means(quantiles * z) / np.maximum(means(quantiles**2), 1e-12)
        counts = sums**2 / np.maximum(np.bincount(joints, amounts**2, count), SHORTEST)
        return widths / np.maximum(radii, np.maximum(_THIN * limbs.lengths, SHORTEST)), counts

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
        distances = apart / np.maximum(self.lengths, SHORTEST)
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
            limb -= roped / np.maximum(np.bincount(vertices, shares, len(positions)), SHORTEST)
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
